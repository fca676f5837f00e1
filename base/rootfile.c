/* SPDX-License-Identifier: MIT */
/* See rootfile.h. */
#include "rootfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "closing.h"
#include "process_path.h"
#include "readfile.h"

/* Linux follows 40 links. */
enum { MAX_DEPTH = 64, MAX_LINKS = 40 };

/* The folders that are open on the way to a file, the root first. The last may be the file. */
struct walk {
	int fds[MAX_DEPTH];
	size_t depth;
	char rest[2 * PATH_MAX]; /* what is still to walk */
	int links;
};

static void back_to(struct walk *walk, size_t depth)
{
	while (walk->depth > depth)
		close(walk->fds[--walk->depth]);
}

/* Puts the target of a link before the rest. An absolute one begins at the root again. */
static int follow(struct walk *walk, int link, const char *rest)
{
	char target[PATH_MAX], whole[sizeof(walk->rest)];
	ssize_t length = readlinkat(link, "", target, sizeof(target));

	if (length < 0)
		return errno;
	if (++walk->links > MAX_LINKS)
		return ELOOP;
	if ((size_t)length + strlen(rest) >= sizeof(whole) || length == sizeof(target))
		return ENAMETOOLONG;
	if (length && *target == '/')
		back_to(walk, 1);
	snprintf(whole, sizeof(whole), "%.*s%s", (int)length, target, rest);
	memcpy(walk->rest, whole, strlen(whole) + 1);
	return 0;
}

/* Goes to a name in the last folder. `rest` is what follows the name. */
static int enter(struct walk *walk, const char *name, const char *rest)
{
	CLEANUP_CLOSE int fd =
		openat(walk->fds[walk->depth - 1], name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat about;

	if (fd < 0 || fstat(fd, &about) < 0)
		return errno;
	if (S_ISLNK(about.st_mode))
		return follow(walk, fd, rest);
	if (*rest && !S_ISDIR(about.st_mode))
		return ENOTDIR;
	if (walk->depth == MAX_DEPTH)
		return ENAMETOOLONG;
	memmove(walk->rest, rest, strlen(rest) + 1);
	walk->fds[walk->depth++] = fd;
	fd = -1;
	return 0;
}

/* Walks to the end of walk->rest. `name` is that of the last file or folder. */
static int go(struct walk *walk, char *name)
{
	int error = 0;

	while (!error && *walk->rest) {
		const char *from = walk->rest + strspn(walk->rest, "/");
		size_t length = strcspn(from, "/");

		if (length > NAME_MAX)
			return ENAMETOOLONG;
		memcpy(name, from, length);
		name[length] = '\0';
		from += length;
		if (length && !streq(name, ".") && !streq(name, "..")) {
			error = enter(walk, name, from);
			continue;
		}
		if (streq(name, "..") && walk->depth > 1)
			back_to(walk, walk->depth - 1);
		memmove(walk->rest, from, strlen(from) + 1);
	}
	return error;
}

/* Opens what the walk led to. A file is opened by its name, because an O_PATH descriptor cannot be
 * read. */
static int open_last(const struct walk *walk, const char *name, int flags)
{
	int last = walk->fds[walk->depth - 1];
	struct stat about;

	if (flags & O_PATH && !(flags & O_DIRECTORY))
		return fcntl(last, F_DUPFD_CLOEXEC, 0);
	if (fstat(last, &about) < 0)
		return -1;
	if (S_ISDIR(about.st_mode))
		return openat(last, ".", flags);
	return openat(walk->fds[walk->depth - 2], name, flags | O_NOFOLLOW);
}

int root_open(const char *root, const char *path, int flags)
{
	struct walk walk = {.depth = 1};
	char name[NAME_MAX + 1] = "";
	int fd = -1, error;

	flags |= O_CLOEXEC;
	/* With O_PATH the kernel refuses these. */
	if (!(flags & O_PATH))
		flags |= O_NONBLOCK | O_NOCTTY;
	if (!*root)
		return open(path, flags);
	if (strlen(path) >= sizeof(walk.rest)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(walk.rest, sizeof(walk.rest), "%s", path);
	walk.fds[0] = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (walk.fds[0] < 0)
		return -1;
	error = go(&walk, name);
	if (!error) {
		fd = open_last(&walk, name, flags);
		error = errno;
	}
	back_to(&walk, 0);
	errno = error;
	return fd;
}

int root_stat(const char *root, const char *path, struct stat *ret)
{
	CLEANUP_CLOSE int fd = root_open(root, path, O_PATH);

	return fd < 0 || fstat(fd, ret) < 0 ? errno : 0;
}

int root_read(const char *root, const char *path, size_t max, char **text, size_t *size)
{
	struct stat about;
	CLEANUP_CLOSE int fd = -1;
	/* Some devices act when they are opened, so the kind of the file is looked at first. */
	int error = root_stat(root, path, &about);

	if (error)
		return error;
	if (!S_ISREG(about.st_mode))
		return S_ISDIR(about.st_mode) ? EISDIR : ENOTSUP;
	fd = root_open(root, path, O_RDONLY);
	return fd < 0 ? errno : read_all(fd, max, text, size);
}

DIR *root_folder(const char *root, const char *path)
{
	int fd = root_open(root, path, O_RDONLY | O_DIRECTORY);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !folder) {
		if (errno == ENOMEM)
			memory_ran_out();
		close(fd);
	}
	return folder;
}

/* The path of an open file, as the kernel names it. False: errno has the reason. */
static bool path_of(int fd, char *ret, size_t size)
{
	return read_link(ret, size, PROCESS_PATH(PROCESS_SELF, "fd/%d", fd));
}

int root_real(const char *root, const char *path, char *ret, size_t size)
{
	char top[4096] = "";
	CLEANUP_CLOSE int fd = root_open(root, path, O_PATH), root_fd = -1;
	size_t length;

	if (fd < 0)
		return errno;
	if (*root)
		root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if ((*root && (root_fd < 0 || !path_of(root_fd, top, sizeof(top)))) ||
	    !path_of(fd, ret, size))
		return errno;
	length = streq(top, "/") ? 0 : strlen(top);
	if (length && strncmp(ret, top, length) == 0)
		memmove(ret, ret + length, strlen(ret + length) + 1);
	return 0;
}
