/* SPDX-License-Identifier: MIT */
/* Locks on bytes of the segment, which the kernel releases however a process ends. */
#include "collective/shm_segment.h"

#include <errno.h>
#include <fcntl.h>

static bool lock(int fd, int call, short type, int at, struct flock *found)
{
	*found = (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
	return fcntl(fd, call, found) == 0;
}

bool shm_try_lock(int fd, short type, int at)
{
	struct flock found;

	return lock(fd, F_OFD_SETLK, type, at, &found);
}

bool shm_locked(int fd, int at)
{
	struct flock found;

	return lock(fd, F_OFD_GETLK, F_WRLCK, at, &found) && found.l_type != F_UNLCK;
}

bool shm_segment_lives(const struct rendezvous *rendezvous, int rank)
{
	return shm_locked(rendezvous->fd, SHM_LOCK_RANKS + rank);
}

bool shm_segment_reason(const struct rendezvous *rendezvous, bool begin)
{
	/* Two writers at once do less harm than none, so a failing lock counts as no writer. */
	return shm_try_lock(rendezvous->fd, begin ? F_WRLCK : F_UNLCK, SHM_LOCK_REASON) ||
	       (errno != EAGAIN && errno != EACCES);
}
