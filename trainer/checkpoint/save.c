/* SPDX-License-Identifier: MIT */
/* Writes a checkpoint to the disk atomically. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "atomic_file.h"
#include "base.h"
#include "checkpoint/contents.h"
#include "checkpoint/folder.h"
#include "closing.h"
#include "memory.h"
#include "write_all.h"

#define TEMPORARY ".checkpoint-"

struct saving {
	struct checkpoint_folder folder;
	char name[CHECKPOINT_NAME];
	struct train_error *error;
};

static bool failed(const struct saving *s, const char *what)
{
	int error = errno;
	const char *remedy = write_remedy(error);

	return train_fail(
		s->error, TRAIN_FAILED, "%s/%s: cannot %s: %s; %s%s%s", s->folder.path, s->name,
		what, strerror(error), remedy ? remedy : "", remedy ? ", or " : "",
		error == ENOENT ? "make the folder above it first" : "write to another folder");
}

static bool open_or_make_folder(struct saving *s, const char *path)
{
	bool made = mkdir(path, 0777) == 0;
	CLEANUP_CLOSE int above = -1;

	if ((!made && errno != EEXIST) || !folder_open(&s->folder, path))
		return failed(s, "open its folder");
	if (!made)
		return true;
	above = openat(s->folder.fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return (above >= 0 && atomic_sync_folder(above)) || failed(s, "make its folder");
}

/* A writer holds a lock, which ends with its process. */
static void remove_if_left(int folder, const char *name)
{
	CLEANUP_CLOSE int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlinkat(folder, name, 0);
}

/* Removes files of killed writers, because their space is needed now. */
static void remove_left_over(const struct saving *s)
{
	CLEANUP_FOLDER DIR *dir = entries_of(s->folder.fd);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (starts_with(entry->d_name, TEMPORARY))
			remove_if_left(s->folder.fd, entry->d_name);
}

/* Only the next process needs the lock. */
static bool create(const struct saving *s, struct atomic_file *file)
{
	if (!atomic_create(file, s->folder.fd, TEMPORARY, 0666))
		return false;
	flock(file->fd, LOCK_EX | LOCK_NB);
	return true;
}

static bool write_temporary(const struct saving *s, int fd, const struct checkpoint *what)
{
	CLEANUP(contents_free) struct contents contents = {.count = 0};
	CLEANUP_FREE char *path = NULL;
	CLEANUP_FREE struct safetensors_text *texts =
		xcalloc(what->text_count + PROGRESS_TEXTS + 2, sizeof(*texts));
	struct progress_texts progress;
	size_t count = 0;

	xasprintf(&path, "%s/%s", s->folder.path, s->name);
	if (!contents_make(&contents, what, s->error))
		return false;
	texts[count++] = (struct safetensors_text){"format", "pt"};
	texts[count++] = (struct safetensors_text){"checkpoint", CHECKPOINT_VERSION};
	progress_print(&progress, &what->progress);
	memcpy(texts + count, progress.texts, sizeof(progress.texts));
	count += PROGRESS_TEXTS;
	for (size_t i = 0; i < what->text_count; i++)
		texts[count++] = what->texts[i];
	return safetensors_write(fd, path, contents.tensors, contents.count, texts, count,
				 s->error);
}

/* Renamed before it is closed, which gives up the lock. */
static bool write_and_rename(const struct saving *s, const struct checkpoint *what)
{
	struct atomic_file file;
	bool good;

	if (!create(s, &file))
		return failed(s, "make a file beside it");
	good = write_temporary(s, file.fd, what) &&
	       (atomic_publish(&file, s->name) || failed(s, file.failed));
	atomic_close(&file);
	return good;
}

/* Later steps are another run's, or damaged: they are not counted and not removed. */
static bool remove_earlier(struct saving *s, int64_t step, int keep)
{
	CLEANUP_FREE int64_t *steps = NULL;
	size_t count;
	int kept = 0;

	if (keep <= 0)
		return true;
	if (!folder_steps(&steps, &count, &s->folder))
		return failed(s, "list the checkpoints beside");
	for (size_t i = 0; i < count; i++) {
		if (steps[i] > step || kept++ < keep)
			continue;
		folder_name(s->name, steps[i]);
		if (unlinkat(s->folder.fd, s->name, 0) < 0 && errno != ENOENT)
			return failed(s, "remove");
	}
	return true;
}

bool checkpoint_save(const char *folder, const struct checkpoint *what, int keep,
		     struct train_error *error)
{
	struct saving s = {.folder = {folder, -1}, .error = error};
	bool good;

	folder_name(s.name, what->progress.step);
	if (!open_or_make_folder(&s, folder))
		return false;
	remove_left_over(&s);
	good = write_and_rename(&s, what) && remove_earlier(&s, what->progress.step, keep);
	folder_close(&s.folder);
	return good;
}

bool checkpoint_try(const char *folder, struct train_error *error)
{
	struct saving s = {.folder = {folder, -1}, .error = error};
	bool made = mkdir(folder, 0777) == 0, created = false;
	struct atomic_file file;
	int why;

	if ((made || errno == EEXIST) && folder_open(&s.folder, folder))
		created = create(&s, &file);
	why = errno;
	if (created)
		atomic_close(&file);
	folder_close(&s.folder);
	if (made)
		rmdir(folder);
	return created ||
	       train_fail(error, TRAIN_BAD_INPUT, "--checkpoint %s: cannot write there: %s; %s",
			  folder, strerror(why),
			  why == ENOENT ? "make the folder above it first" : "name another folder");
}
