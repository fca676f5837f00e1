/* SPDX-License-Identifier: MIT */
/* Writes a file so that it is whole or not there, and reports why it cannot. */
#include "text/writefile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "atomic_file.h"
#include "write_all.h"

struct output {
	const char *path, *what;
	gpumap_report *report;
	mode_t mode;      /* before the umask */
	int folder;       /* open; -1: not yet */
	const char *name; /* the last part of the path */
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
	const char *fix = write_remedy(error);

	if (error == ENOMEM)
		return report_nomem(out->report);
	if (error == ENOSPC || error == EDQUOT)
		fix = "free some space, or write to another folder";
	else if (error == ENOENT || error == ENOTDIR)
		fix = "make the folder first";
	else if (error == EACCES || error == EPERM || error == EROFS || error == ELOOP)
		fix = "write to a folder of your own";
	return fail(out, strerror(error), fix);
}

/* Standard output may be non-blocking. */
static bool write_text(int fd, struct span text)
{
	struct pollfd wait = {.fd = fd, .events = POLLOUT};
	size_t done = write_all(fd, text.text, text.length);

	while (done < text.length) {
		if (errno != EAGAIN || (poll(&wait, 1, -1) < 0 && errno != EINTR))
			return false;
		done += write_all(fd, text.text + done, text.length - done);
	}
	return true;
}

static int open_folder(struct output *out)
{
	out->folder = atomic_folder(out->path, &out->name);
	if (!*out->name)
		return fail(out, "the path names no file", "write FOLDER/NAME.ini");
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
		return fail(out, "it is not a regular file", "write to - for standard output");
	return GPUMAP_OK;
}

static int write_and_rename(const struct output *out, struct span text)
{
	struct atomic_file file;
	int r = GPUMAP_OK;

	if (!atomic_create(&file, out->folder, ".gpumap-", out->mode) ||
	    !write_text(file.fd, text) || !atomic_publish(&file, out->name))
		r = fail_errno(out);
	atomic_close(&file);
	return r;
}

static int write_output(struct output out, struct span text)
{
	int r;

	if (streq(out.path, "-")) {
		out.path = "standard output";
		return write_text(STDOUT_FILENO, text) ? GPUMAP_OK : fail_errno(&out);
	}
	r = open_folder(&out);
	if (r == GPUMAP_OK)
		r = check_target(&out);
	if (r == GPUMAP_OK)
		r = write_and_rename(&out, text);
	if (out.folder >= 0)
		close(out.folder);
	return r;
}

int write_file(const char *path, struct span text, const char *what, gpumap_report *report)
{
	struct output out = {path, what, report, 0644, -1, NULL};

	return write_output(out, text);
}

int write_script(const char *path, struct span text, const char *what, gpumap_report *report)
{
	struct output out = {path, what, report, 0755, -1, NULL};

	return write_output(out, text);
}
