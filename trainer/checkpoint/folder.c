/* SPDX-License-Identifier: MIT */
/* See folder.h. */
#include "checkpoint/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "checkpoint/checkpoint.h"
#include "closing.h"
#include "memory.h"

const char *folder_name(char name[CHECKPOINT_NAME], int64_t step)
{
	snprintf(name, CHECKPOINT_NAME, "checkpoint-%012" PRId64 ".safetensors", step);
	return name;
}

bool folder_open(struct checkpoint_folder *folder, const char *path)
{
	folder->path = path;
	folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return folder->fd >= 0;
}

void folder_close(struct checkpoint_folder *folder)
{
	close_variable(&folder->fd);
}

/* Only names that folder_name writes. */
static bool step_of(int64_t *step, const char *name)
{
	const char *digits = strchr(name, '-');
	char written[CHECKPOINT_NAME];

	if (!digits)
		return false;
	*step = strtoll(digits + 1, NULL, 10);
	return *step >= 0 && strcmp(folder_name(written, *step), name) == 0;
}

static int descending(const void *a, const void *b)
{
	int64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x < y) - (x > y);
}

static bool collect(int64_t **steps, size_t *count, DIR *dir)
{
	const struct dirent *entry;
	size_t room = 0;

	while (errno = 0, (entry = readdir(dir))) {
		int64_t step;

		if (step_of(&step, entry->d_name))
			*ARRAY_NEXT(*steps, *count, room) = step;
	}
	return errno == 0;
}

bool folder_steps(int64_t **steps, size_t *count, const struct checkpoint_folder *folder)
{
	CLEANUP_FOLDER DIR *dir = entries_of(folder->fd);

	*steps = NULL;
	*count = 0;
	if (!dir || !collect(steps, count, dir))
		return false;
	if (*count)
		qsort(*steps, *count, sizeof(**steps), descending);
	return true;
}

/* --- the newest that is good ----------------------------------------------------- */

/* If the file is damaged or not finite, *ret stays NULL and the result is true; error has the
 * reason. */
static bool try(struct safetensors **ret, const struct checkpoint_folder *folder, int64_t step,
		struct train_error *error)
{
	char name[CHECKPOINT_NAME];
	CLEANUP_FREE char *path = NULL;
	struct checkpoint_progress progress;
	CLEANUP_CLOSE int fd = -1;

	xasprintf(&path, "%s/%s", folder->path, folder_name(name, step));
	fd = openat(folder->fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		train_fail(error, TRAIN_FAILED,
			   "%s: cannot open: %s; make it readable, or remove it", path,
			   strerror(errno));
	} else if (safetensors_read(ret, fd, path, error)) {
		if (!checkpoint_progress(&progress, *ret, error) ||
		    !checkpoint_finite(*ret, error)) {
			safetensors_free(*ret);
			*ret = NULL;
		}
	}
	return error->status != TRAIN_FAILED;
}

/* The steps in a folder; if it does not exist *steps and *count stay as they are. */
static bool list(struct checkpoint_folder *in, int64_t **steps, size_t *count, const char *folder,
		 struct train_error *error)
{
	if (!folder_open(in, folder))
		return errno == ENOENT || train_fail(error, TRAIN_BAD_INPUT,
						     "%s: cannot open: %s; name another folder",
						     folder, strerror(errno));
	return folder_steps(steps, count, in) ||
	       train_fail(error, TRAIN_FAILED, "%s: cannot list: %s; name another folder", folder,
			  strerror(errno));
}

bool checkpoint_none(const char *folder, struct train_error *error)
{
	FOLDER in = {.fd = -1};
	char name[CHECKPOINT_NAME];
	CLEANUP_FREE int64_t *steps = NULL;
	size_t count = 0;

	if (!list(&in, &steps, &count, folder, error))
		return false;
	if (!count)
		return true;
	return train_fail(error, TRAIN_BAD_INPUT,
			  "%s has checkpoints, %s the latest; write --resume to continue from it, "
			  "or name another folder",
			  folder, folder_name(name, steps[0]));
}

bool checkpoint_newest(struct safetensors **ret, const char *folder,
		       void (*refused)(void *data, const char *why), void *data,
		       struct train_error *error)
{
	FOLDER in = {.fd = -1};
	struct safetensors *file = NULL;
	CLEANUP_FREE int64_t *steps = NULL;
	size_t count = 0;
	bool good = list(&in, &steps, &count, folder, error);

	for (size_t i = 0; good && !file && i < count; i++) {
		struct train_error why = {.status = TRAIN_OK};

		good = try(&file, &in, steps[i], &why);
		if (!good)
			*error = why;
		else if (!file)
			refused(data, why.text);
	}
	if (good && count && !file)
		good = train_fail(error, TRAIN_BAD_INPUT,
				  "%s: all %zu checkpoints are damaged, or of a run that diverged; "
				  "name another folder",
				  folder, count);
	if (good)
		*ret = file;
	return good;
}
