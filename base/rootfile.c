/* SPDX-License-Identifier: MIT */
#include "rootfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "readfile.h"

int root_open(const char *root, const char *path, int flags)
{
	struct open_how how = {.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int top, fd, error;

	flags |= O_CLOEXEC;
	/* With O_PATH the kernel refuses these. */
	if (!(flags & O_PATH))
		flags |= O_NONBLOCK | O_NOCTTY;
	if (!*root)
		return open(path, flags);
	top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return -1;
	how.flags = (uint64_t)flags;
	fd = (int)syscall(SYS_openat2, top, path, &how, sizeof(how));
	error = errno == ENOSYS || errno == EPERM ? EXDEV : errno;
	close(top);
	errno = error;
	return fd;
}

int root_read(const char *root, const char *path, size_t max, char **text, size_t *size)
{
	struct stat about;
	int fd = root_open(root, path, O_PATH), error = 0;

	/* Some devices act when they are opened, so the kind of the file is looked at first. */
	if (fd < 0)
		return errno;
	if (fstat(fd, &about) < 0)
		error = errno;
	close(fd);
	if (!error && S_ISDIR(about.st_mode))
		error = EISDIR;
	if (!error && !S_ISREG(about.st_mode))
		error = ENOTSUP;
	if (error)
		return error;
	fd = root_open(root, path, O_RDONLY);
	if (fd < 0)
		return errno;
	error = read_all(fd, max, text, size);
	close(fd);
	return error;
}

int root_stat(const char *root, const char *path, struct stat *ret)
{
	int fd = root_open(root, path, O_PATH), error = 0;

	if (fd < 0)
		return errno;
	if (fstat(fd, ret) < 0)
		error = errno;
	close(fd);
	return error;
}

DIR *root_folder(const char *root, const char *path)
{
	int fd = root_open(root, path, O_RDONLY | O_DIRECTORY);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !folder)
		close(fd);
	return folder;
}

/* The path of an open file, as the kernel names it. False: errno has the reason. */
static bool path_of(int fd, char *ret, size_t size)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, ret, size);
	if (n >= 0 && (size_t)n >= size) {
		errno = ENAMETOOLONG;
		n = -1;
	}
	if (n >= 0)
		ret[n] = '\0';
	return n >= 0;
}

int root_real(const char *root, const char *path, char *ret, size_t size)
{
	char top[4096] = "";
	int fd = root_open(root, path, O_PATH), root_fd = -1, error = 0;
	size_t length;

	if (fd < 0)
		return errno;
	if (*root)
		root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if ((*root && (root_fd < 0 || !path_of(root_fd, top, sizeof(top)))) ||
	    !path_of(fd, ret, size))
		error = errno;
	if (root_fd >= 0)
		close(root_fd);
	close(fd);
	length = streq(top, "/") ? 0 : strlen(top);
	if (!error && length && strncmp(ret, top, length) == 0)
		memmove(ret, ret + length, strlen(ret + length) + 1);
	return error;
}
