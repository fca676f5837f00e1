/* SPDX-License-Identifier: MIT */
/* The locks of one GPU: its vendor file in sysfs, its file in the folder, then a slot or a MIG
 * instance. */
#include "lease/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "closing.h"
#include "lease/units.h"

/* How long to wait for the guard of a GPU, which is held for microseconds. */
enum { TAKE_MS = 100, LOOK_MS = 10 };

/* -1 with ENOENT: sysfs has no such device, as in WSL and some containers. */
static int open_sysfs(const struct lease_folder *folder, const gpumap_device *unit,
		      const char *name)
{
	errno = ENOENT;
	if (folder->sysfs < 0 || !unit->gpu->pci)
		return -1;
	return openat(folder->sysfs, FORMAT("%s/%s", unit->gpu->pci, name),
		      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Locks the guard of a GPU, which jobs of all folders have while they test its locks or lock it.
 * False with errno; without the file, *ret is -1. */
static bool lock_guard(int *ret, const struct lease_folder *folder, const gpumap_device *unit,
		       int ms)
{
	const struct timespec pause = {0, 1000000};
	int fd = open_sysfs(folder, unit, "device");
	bool locked = false;

	for (int i = 0; fd >= 0 && !locked && i < ms; i++) {
		locked = lease_try(fd, false);
		if (!locked)
			nanosleep(&pause, NULL);
	}
	if (fd >= 0 && !locked) {
		close(fd);
		errno = EWOULDBLOCK;
		return false;
	}
	*ret = fd;
	return true;
}

int lease_vendor(const struct lease_folder *folder, const gpumap_device *unit)
{
	return open_sysfs(folder, unit, "vendor");
}

/* --- taking ------------------------------------------------------------------------------ */

/* What a job takes of a GPU. */
enum share {
	SHARE_ALL,   /* the whole GPU */
	SHARE_FIRST, /* a slot or an instance, where the folder has none that is held */
	SHARE_MORE   /* a slot or an instance */
};

/* An exclusive lock shows that no job of another folder has the GPU. It then becomes a shared one.
 */
static bool lock_as(int fd, enum share share)
{
	if (share != SHARE_MORE && !lease_try(fd, false))
		return false;
	return share == SHARE_ALL || lease_try(fd, true);
}

/* Locks the files of the GPU, and its slot or instance. False with errno; some may be open then. */
static bool lock_files(struct lease_locks *locks, const struct lease_folder *folder,
		       const gpumap_device *unit, size_t slots)
{
	const char *name = LEASE_NAME(unit->gpu);
	const bool instance = is_instance(unit);
	enum share share = SHARE_ALL;

	if (slots > 1 || instance) {
		struct lease_walk walk = lease_walk(folder, name);

		/* Whether another slot, or another instance, is held. */
		for (share = SHARE_FIRST; lease_next(&walk);)
			share = instance == !walk.slots ? SHARE_MORE : share;
		if (walk.code != GPUMAP_OK)
			return false;
	}
	locks->vendor = lease_vendor(folder, unit);
	if (locks->vendor < 0 ? errno != ENOENT : !lock_as(locks->vendor, share))
		return false;
	/* What others put in its place keeps no one from the GPU: the lease's own file counts. */
	locks->file = lease_file(folder, name, O_RDONLY, true);
	if ((locks->file < 0 || !lock_as(locks->file, share)) &&
	    (lease_lacks(errno) || (locks->file >= 0 && errno == EWOULDBLOCK)))
		return false;
	locks->part = slots > 1 || instance;
	locks->own = lease_own_file(folder, unit, slots);
	return locks->own >= 0;
}

bool lease_lock(struct lease_locks *ret, const struct lease_folder *folder,
		const gpumap_device *unit, size_t slots)
{
	struct lease_locks locks = NO_LOCKS;
	CLEANUP_CLOSE int guard = -1;

	/* For a whole GPU it only keeps away the tests of other folders. */
	if (!lock_guard(&guard, folder, unit, TAKE_MS) && (slots > 1 || is_instance(unit)))
		return false;
	if (lock_files(&locks, folder, unit, slots)) {
		*ret = locks;
		return true;
	}
	lease_unlock(&locks);
	return false;
}

void lease_unlock(struct lease_locks *locks)
{
	close_variable(&locks->vendor);
	close_variable(&locks->file);
	close_variable(&locks->own);
	*locks = NO_LOCKS;
}

bool lease_has_lock(const struct lease_locks *locks)
{
	CLEANUP_FREE char *info = lease_own_fdinfo(locks->own);
	bool exclusive;
	int64_t owner;

	return info && lease_lock_in(&exclusive, &owner, info);
}

/* --- looking ----------------------------------------------------------------------------- */

static enum lease_state state_of(const struct lease_folder *folder, int fd, int64_t *owner)
{
	bool exclusive;

	if (fd < 0)
		return errno == ENOENT ? LEASE_FREE : LEASE_UNKNOWN;
	if (!lease_is_locked(folder, fd, &exclusive))
		return LEASE_FREE;
	if (!folder->seen && errno != EWOULDBLOCK)
		return LEASE_UNKNOWN;
	*owner = lease_locker(folder, fd);
	return exclusive ? LEASE_HELD : LEASE_SHARED;
}

/* The same of a file of the folder. */
static enum lease_state state_of_file(const struct lease_folder *folder, const gpumap_device *unit,
				      int64_t *owner)
{
	CLEANUP_CLOSE int fd = lease_file(folder, LEASE_NAME(unit), O_RDONLY, false);

	enum lease_state state = state_of(folder, fd, owner);

	/* Others may put anything there, and who takes the GPU has to lock it. */
	return state == LEASE_UNKNOWN && !lease_lacks(errno) ? LEASE_FREE : state;
}

const char *lease_hidden_by(struct quoted *ret, const gpumap_device *unit, int why)
{
	return lease_lacks(why)
		       ? strerror(why)
		       : format_text(ret, "%s/vendor in sysfs: %s", unit->gpu->pci, strerror(why));
}

/* The same of the vendor file. The test may lock it, so it is closed before anything else. */
static enum lease_state state_of_vendor(const struct lease_folder *folder,
					const gpumap_device *unit, int64_t *owner)
{
	CLEANUP_CLOSE int guard = -1, fd = -1;

	/* A guard that stays locked does not hide the state. */
	if (!folder->seen)
		lock_guard(&guard, folder, unit, LOOK_MS);
	fd = lease_vendor(folder, unit);
	return state_of(folder, fd, owner);
}

enum lease_state lease_held(const struct lease_folder *folder, const gpumap_device *unit,
			    int64_t *owner)
{
	enum lease_state state, again;

	*owner = 0;
	state = state_of_vendor(folder, unit, owner);
	if (state != LEASE_FREE && state != LEASE_SHARED)
		return state;
	again = state_of_file(folder, unit->gpu, owner);
	return again == LEASE_FREE ? state : again;
}
