/* SPDX-License-Identifier: MIT */
/*
 * The name has the start of the process too, so a note that is left behind is no other process's.
 * Only the user of the process is believed, and only a note that is locked: its guard ends the
 * lease. The file stays open for writing as long as the lease lasts: a file of the folder that is
 * closed after writing wakes those who wait.
 */
#include "lease/note.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lease/claim.h"
#include "closing.h"
#include "memory.h"
#include "process_path.h"
#include "process_stat.h"
#include "readfile.h"
#include "write_all.h"

#define NOTE "note-"

enum { MAX_NOTE = 4096 };

int64_t lease_note_now(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* False: there is no such process, or it has ended. */
static bool note_name(struct quoted *ret, int64_t owner)
{
	struct process_stat stat;

	if (owner <= 0 || !process_stat_read(&stat, (pid_t)owner) || stat.dead)
		return false;
	format_text(ret, NOTE "%lld-%llu", (long long)owner, (unsigned long long)stat.start);
	return true;
}

/* Whether the process of a note is running. A guard may have made its note, and not locked it yet.
 */
static bool is_of_living(const char *name)
{
	struct span rest = span_of(name + strlen(NOTE)), pid;
	struct quoted living;

	span_split(&rest, '-', &pid);
	return note_name(&living, span_number(pid, INT32_MAX)) && streq(name, living.text);
}

/* Removes notes that no one holds, as far as this user may. The processes of some are not visible
 * here, as those of containers. */
static void sweep(const struct lease_folder *folder)
{
	CLEANUP_FOLDER DIR *dir = entries_of(folder->fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		CLEANUP_CLOSE int fd =
			starts_with(entry->d_name, NOTE) && !is_of_living(entry->d_name)
				? lease_file(folder, entry->d_name, O_RDONLY, false)
				: -1;

		if (fd >= 0 && lease_try(fd, false))
			lease_file_remove(folder, entry->d_name);
	}
}

static bool write_note(int fd, const struct lease_note *note)
{
	const char *text =
		FORMAT("end %lld\nidle %lld\n", (long long)note->end_ms, (long long)note->idle_ms);

	return write_all(fd, text, strlen(text)) == strlen(text);
}

static void write_in(struct lease_note_file *ret, const struct lease_folder *folder, int64_t owner,
		     const struct lease_note *note)
{
	struct quoted name;
	char absolute[PATH_MAX];
	char *path = NULL;
	int fd;

	sweep(folder);
	if (!note_name(&name, owner) || !realpath(folder->path, absolute) ||
	    xasprintf(&path, "%s/%s", absolute, name.text) < 0)
		return;
	fd = lease_file(folder, name.text, O_WRONLY | O_EXCL, true);
	if (fd >= 0 && lease_try(fd, false) && write_note(fd, note)) {
		*ret = (struct lease_note_file){fd, path};
		return;
	}
	if (fd >= 0) {
		lease_file_remove(folder, name.text);
		close(fd);
	}
	free(path);
}

void lease_note_write(struct lease_note_file *ret, const gpumap_claim *claim, int64_t owner,
		      const struct lease_note *note)
{
	CLEANUP(lease_folder_close) struct lease_folder folder = NO_FOLDER;

	*ret = (struct lease_note_file){.fd = -1};
	lease_folder_open(&folder, claim->folder, claim->sysfs, false, NULL);
	if (folder.fd >= 0)
		write_in(ret, &folder, owner, note);
}

void lease_note_remove(struct lease_note_file *file)
{
	if (file->fd < 0)
		return;
	unlink(file->path);
	close(file->fd);
	free(file->path);
	*file = (struct lease_note_file){.fd = -1};
}

/* --- reading ------------------------------------------------------------------------------ */

static bool is_of(int fd, int64_t owner)
{
	struct stat note, process;

	return fstat(fd, &note) == 0 && stat(PROCESS_FOLDER(owner), &process) == 0 &&
	       (note.st_uid == process.st_uid || note.st_uid == 0);
}

static bool parse(struct lease_note *ret, const char *text)
{
	struct lease_note note = {-1, -1};
	struct span rest = span_of(text), line;

	while (span_split(&rest, '\n', &line)) {
		struct span key;

		if (!span_split(&line, ' ', &key) || !line.text)
			continue;
		if (span_is(key, "end"))
			note.end_ms = span_number(line, INT64_MAX);
		else if (span_is(key, "idle"))
			note.idle_ms = span_number(line, INT64_MAX);
	}
	*ret = note;
	return note.end_ms >= 0 || note.idle_ms >= 0;
}

bool lease_note_read_in(struct lease_note *ret, const struct lease_folder *folder, int64_t owner)
{
	struct lease_folder all_levels = *folder;
	CLEANUP_FREE char *text = NULL;
	struct quoted name;
	CLEANUP_CLOSE int fd = -1;
	size_t size;

	*all_levels.prefix = '\0';
	if (folder->fd >= 0 && note_name(&name, owner))
		fd = lease_file(&all_levels, name.text, O_RDONLY, false);
	if (fd >= 0 && lease_locker(folder, fd) > 0 && is_of(fd, owner) &&
	    read_all(fd, MAX_NOTE, &text, &size) == 0)
		return parse(ret, text);
	return false;
}

bool lease_note_read(struct lease_note *ret, const gpumap_claim *claim, int64_t owner)
{
	CLEANUP(lease_folder_close) struct lease_folder folder = NO_FOLDER;

	return lease_folder_open(&folder, claim->folder, claim->sysfs, false, NULL) == GPUMAP_OK &&
	       lease_note_read_in(ret, &folder, owner);
}
