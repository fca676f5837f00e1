/* SPDX-License-Identifier: MIT */
#include "report/whole.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS = 100 };

static bool failed(const struct whole *whole, const char *what, struct train_error *error)
{
	int status = errno;

	return train_fail(error, TRAIN_FAILED, "%s: cannot %s: %s; %sname another file",
			  whole->name, what, strerror(status),
			  status == ENOSPC || status == EDQUOT ? "free some space, or " : "");
}

static int open_beside(struct whole *whole)
{
	const char *slash = strrchr(whole->path, '/');
	int folder = slash ? (int)(slash - whole->path) + 1 : 0;

	for (int i = 0; i < ATTEMPTS; i++) {
		int fd;

		free(whole->temporary);
		if (asprintf(&whole->temporary, "%.*s.gpumap-%ld-%d.tmp", folder, whole->path,
			     (long)getpid(), i) < 0) {
			whole->temporary = NULL;
			errno = ENOMEM;
			return -1;
		}
		fd = open(whole->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			  0666);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

/* A link stays one: its target is what is replaced. */
static char *target_of(const char *name, bool *plain)
{
	struct stat st;
	bool there = stat(name, &st) == 0;

	*plain = !there || S_ISREG(st.st_mode);
	return there && *plain ? realpath(name, NULL) : strdup(name);
}

bool whole_open(struct whole *ret, const char *name, struct train_error *error)
{
	struct whole whole = {.name = name};
	size_t length = strlen(name);
	bool plain = true;
	int fd = -1;

	if (length == 0 || name[length - 1] == '/')
		return train_fail(error, TRAIN_BAD_INPUT, "%s: no name of a file; name one",
				  length ? name : "''");
	whole.path = target_of(name, &plain);
	if (whole.path)
		fd = plain ? open_beside(&whole) : open(name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		whole.stream = fdopen(fd, "w");
	if (whole.stream) {
		*ret = whole;
		return true;
	}
	failed(&whole, "create", error);
	if (fd >= 0) {
		close(fd);
		if (whole.temporary)
			unlink(whole.temporary);
	}
	free(whole.temporary);
	free(whole.path);
	return false;
}

void whole_drop(struct whole *whole)
{
	fclose(whole->stream);
	if (whole->temporary)
		unlink(whole->temporary);
	free(whole->temporary);
	free(whole->path);
	*whole = (struct whole){.name = NULL};
}

bool whole_close(struct whole *whole, struct train_error *error)
{
	bool good = fflush(whole->stream) == 0 && !ferror(whole->stream);

	if (good && whole->temporary)
		good = fsync(fileno(whole->stream)) == 0;
	if (!good)
		failed(whole, "write", error);
	if (fclose(whole->stream) < 0 && good)
		good = failed(whole, "write", error);
	if (good && whole->temporary && rename(whole->temporary, whole->path) < 0)
		good = failed(whole, "write", error);
	if (!good && whole->temporary)
		unlink(whole->temporary);
	free(whole->temporary);
	free(whole->path);
	*whole = (struct whole){.name = NULL};
	return good;
}
