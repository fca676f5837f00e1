/* SPDX-License-Identifier: MIT */
#include "writefile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS = 100 };

struct output {
	const char *path, *what;
	gpumap_report *report;
	mode_t mode;        /* what the umask leaves of it */
	int folder;         /* open; -1: not yet */
	const char *name;   /* the last part of the path */
	char temporary[64]; /* in the folder; "" when there is none */
};

static int fail(const struct output *out, const char *why, const char *fix)
{
	return report_fail(out->report, GPUMAP_EFILE, FINDING_FILE_ACCESS,
			   ABOUT(.origin = out->path, .fix = fix), "cannot write %s: %s", out->what,
			   why);
}

static int fail_errno(const struct output *out)
{
	int error = errno;
	const char *fix = NULL;

	if (error == ENOSPC || error == EDQUOT)
		fix = "free some space, or write to another folder";
	else if (error == ENOENT || error == ENOTDIR)
		fix = "make the folder first";
	else if (error == EACCES || error == EPERM || error == EROFS)
		fix = "write to a folder of your own";
	return fail(out, strerror(error), fix);
}

static bool write_all(int fd, struct span text)
{
	while (text.length) {
		ssize_t n = write(fd, text.text, text.length);

		if (n < 0 && errno == EAGAIN) { /* somebody's standard output does not block */
			struct pollfd wait = {.fd = fd, .events = POLLOUT};

			if (poll(&wait, 1, -1) < 0 && errno != EINTR)
				return false;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		text.text += n;
		text.length -= (size_t)n;
	}
	return true;
}

static int open_folder(struct output *out)
{
	const char *slash = strrchr(out->path, '/');
	CLEANUP_FREE char *folder = NULL;

	out->name = slash ? slash + 1 : out->path;
	if (!*out->name)
		return fail(out, "the path names no file", "write FOLDER/NAME.ini");
	folder = slash ? strndup(out->path, (size_t)(slash - out->path) + 1) : strdup(".");
	if (!folder)
		return report_nomem(out->report);
	out->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return out->folder < 0 ? fail_errno(out) : GPUMAP_OK;
}

static int check_target(const struct output *out)
{
	struct stat st;

	if (fstatat(out->folder, out->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? GPUMAP_OK : fail_errno(out);
	if (S_ISLNK(st.st_mode))
		return fail(out, "it is a symbolic link", "name the file that it points to");
	if (S_ISDIR(st.st_mode))
		return fail(out, "it is a folder", "write FOLDER/NAME.ini");
	if (!S_ISREG(st.st_mode))
		return fail(out, "it is no regular file", "write to - for standard output");
	return GPUMAP_OK;
}

static int open_temporary(struct output *out)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		int fd;

		snprintf(out->temporary, sizeof(out->temporary), ".gpumap-%ld-%d.tmp",
			 (long)getpid(), i);
		fd = openat(out->folder, out->temporary,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, out->mode);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			break;
	}
	out->temporary[0] = '\0';
	return -1;
}

/* The new name must outlive a crash as the content does. Folders that may not be
 * read, and file systems without it, leave that to the kernel. */
static bool sync_folder(const struct output *out)
{
	int fd = openat(out->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool good;

	if (fd < 0)
		return true;
	good = fsync(fd) == 0 || errno == EINVAL;
	close(fd);
	return good;
}

static int write_and_rename(struct output *out, struct span text)
{
	int fd = open_temporary(out);

	if (fd < 0)
		return fail_errno(out);
	if (!write_all(fd, text) || fsync(fd) < 0) {
		int r = fail_errno(out);

		close(fd);
		return r;
	}
	if (close(fd) < 0 || renameat(out->folder, out->temporary, out->folder, out->name) < 0)
		return fail_errno(out);
	out->temporary[0] = '\0';
	return sync_folder(out) ? GPUMAP_OK : fail_errno(out);
}

static int write_output(struct output out, struct span text)
{
	int r;

	if (streq(out.path, "-")) {
		out.path = "standard output";
		return write_all(STDOUT_FILENO, text) ? GPUMAP_OK : fail_errno(&out);
	}
	r = open_folder(&out);
	if (r == GPUMAP_OK)
		r = check_target(&out);
	if (r == GPUMAP_OK)
		r = write_and_rename(&out, text);
	if (out.temporary[0])
		unlinkat(out.folder, out.temporary, 0);
	if (out.folder >= 0)
		close(out.folder);
	return r;
}

int write_file(const char *path, struct span text, const char *what, gpumap_report *report)
{
	struct output out = {path, what, report, 0644, -1, NULL, ""};

	return write_output(out, text);
}

int write_script(const char *path, struct span text, const char *what, gpumap_report *report)
{
	struct output out = {path, what, report, 0755, -1, NULL, ""};

	return write_output(out, text);
}
