/* SPDX-License-Identifier: MIT */
/*
 * The files of leases: one for each GPU, slot or MIG instance that is leased. It belongs to who
 * leases, so no other user can remove it, and its lock shows that the lease is active. Its name has
 * what it is. Who takes a lease locks the file first, and then looks for too many: of two who do so
 * at the same time at least one sees the other, whatever happened to the gate.
 */
#include "lease/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lease/units.h"
#include "closing.h"
#include "process_stat.h"

enum { MAX_TRIES = 16, MAX_SWEPT = 64 };

/* --- those of all --------------------------------------------------------------------------- */

static bool is_lease(struct lease_file_name *ret, const struct lease_folder *folder,
		     const char *name, const char *gpu)
{
	const size_t prefix = strlen(folder->prefix);

	return lease_concerns(folder, name) && starts_with(name + prefix, gpu ? gpu : LEASE_GPU) &&
	       lease_name_read(ret, name + prefix) && (ret->slots || lease_is_part(ret)) &&
	       (!gpu || span_is(ret->gpu, gpu) || lease_names_instance(ret->gpu, gpu));
}

/* Whether the lock of a file is held. One that is left behind is removed: in a folder with the
 * sticky bit only its owner and root can do that. */
static bool is_held(const struct lease_folder *folder, const char *name, int fd, size_t *swept)
{
	bool exclusive;

	if (lease_is_locked(folder, fd, &exclusive))
		return exclusive;
	if (!folder->seen && ((*swept)++ < MAX_SWEPT || geteuid() == 0))
		unlinkat(folder->fd, name, 0);
	return false;
}

struct lease_walk lease_walk(const struct lease_folder *folder, const char *gpu)
{
	struct lease_walk walk = {.folder = folder, .gpu = gpu, .fd = -1};

	walk.dir = entries_of(folder->fd);
	if (folder->fd >= 0 && !walk.dir)
		walk.code = errno == ENOMEM ? GPUMAP_ENOMEM : GPUMAP_EFILE;
	return walk;
}

/* Opens the file of a lease. False: it is another file, or not held. */
static bool walk_to(struct lease_walk *walk, const char *name)
{
	struct lease_file_name file;

	if (!is_lease(&file, walk->folder, name, walk->gpu))
		return false;
	walk->fd = lease_file(walk->folder, name + strlen(walk->folder->prefix), O_RDONLY, false);
	walk->lacks = walk->fd < 0 && lease_lacks(errno) ? errno : walk->lacks;
	walk->unit = file.gpu;
	walk->slots = lease_names_instance(file.gpu, NULL) ? 0 : file.slots;
	return walk->fd >= 0 && is_held(walk->folder, name, walk->fd, &walk->swept);
}

bool lease_next(struct lease_walk *walk)
{
	struct dirent *entry;

	if (!walk->dir)
		return false;
	do {
		close_variable(&walk->fd);
		entry = readdir(walk->dir);
	} while (entry && !walk_to(walk, entry->d_name));
	if (entry)
		return true;
	closedir(walk->dir);
	walk->dir = NULL;
	errno = walk->lacks;
	walk->code = walk->lacks ? GPUMAP_EFILE : GPUMAP_OK;
	return false;
}

bool lease_is_owner(int64_t pid, int fd)
{
	struct timespec now = {0}, up = {0};
	struct process_stat process;
	struct stat file;
	int64_t user = pid > 0 ? process_effective_user((pid_t)pid) : -1;

	if (user < 0 || fstat(fd, &file) < 0 || user == (int64_t)file.st_uid ||
	    !process_stat_read(&process, (pid_t)pid))
		return true;
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	return up.tv_sec - (int64_t)process.start / sysconf(_SC_CLK_TCK) >=
	       now.tv_sec - file.st_ctim.tv_sec;
}

/* --- one's own ------------------------------------------------------------------------------ */

/* Whether the lease of the file `own` has room beside those that others have of the GPU. */
static bool has_room(const struct lease_folder *folder, const gpumap_device *unit, size_t slots,
		     ino_t own)
{
	const char *name = LEASE_NAME(unit);
	struct lease_walk walk = lease_walk(folder, LEASE_NAME(unit->gpu));
	struct lease_load load = NO_LOAD;
	bool instances = false, same = false; /* an instance of it is leased, and this one */
	struct stat st;

	while (lease_next(&walk)) {
		if (fstat(walk.fd, &st) < 0 || st.st_ino == own)
			continue;
		if (walk.slots)
			load_add(&load, walk.slots);
		instances = instances || !walk.slots;
		same = same || (!walk.slots && span_is(walk.unit, name));
	}
	if (walk.code != GPUMAP_OK)
		return false;
	errno = EWOULDBLOCK;
	return is_instance(unit) ? !load.used && !same : !instances && load_room(&load, slots) > 0;
}

/* Makes the file and locks it; -1 with errno. Another process may test its lock meanwhile, or find
 * it unlocked and remove it: then errno is EAGAIN. */
static int make_own(const struct lease_folder *folder, const char *name, ino_t *number)
{
	int fd = lease_file(folder, name, O_RDWR | O_EXCL, true);
	struct stat st;

	if (fd < 0)
		return -1;
	if (lease_try(fd, false) && fstat(fd, &st) == 0 && st.st_nlink) {
		*number = st.st_ino;
		return fd;
	}
	lease_file_remove(folder, name);
	close(fd);
	errno = EAGAIN;
	return -1;
}

int lease_own_file(const struct lease_folder *folder, const gpumap_device *unit, size_t slots)
{
	struct quoted room = {{0}};
	const char *own = room.text;
	int fd = -1, why;
	ino_t number = 0;

	for (int i = 0; fd < 0 && i < MAX_TRIES; i++) {
		format_text(&room, "%s" LEASE_SLOT "%" PRIu64 LEASE_OF "%zu", LEASE_NAME(unit),
			    lease_next_number(), slots);
		fd = make_own(folder, own, &number);
		if (fd < 0 && errno != EAGAIN && errno != EEXIST)
			return -1;
	}
	if (fd < 0 || has_room(folder, unit, slots, number))
		return fd;
	why = errno;
	lease_file_remove(folder, own);
	close(fd);
	errno = why;
	return -1;
}
