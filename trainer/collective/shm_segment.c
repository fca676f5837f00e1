/* SPDX-License-Identifier: MIT */
/* See shm_segment.h. */
#include "base/clock.h"
#include "collective/shm_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "closing.h"

enum { LINGER_MS = 2000 };

enum attempt { ATTEMPT_GOOD, ATTEMPT_AGAIN, ATTEMPT_FAILED };

/* Held for microseconds, unless its holder is stopped. */
static bool enter_door(const struct rendezvous *rendezvous)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < 5000; i++) {
		if (shm_try_lock(rendezvous->fd, F_WRLCK, SHM_LOCK_DOOR))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static void leave_door(const struct rendezvous *rendezvous)
{
	shm_try_lock(rendezvous->fd, F_UNLCK, SHM_LOCK_DOOR);
}

static bool all_joined(const struct rendezvous *rendezvous)
{
	return atomic_load(&rendezvous->control->joined) >= rendezvous->control->world;
}

/* Called with the door locked. Another segment may have the name now, and must stay. */
static void take_name(const struct rendezvous *rendezvous)
{
	struct stat st;

	if (fstat(rendezvous->fd, &st) == 0 && st.st_nlink > 0)
		shm_unlink(rendezvous->name);
}

static bool no_room(const struct rendezvous *rendezvous, size_t bytes, int why,
		    struct train_error *error)
{
	return train_fail(
		error, TRAIN_FAILED,
		"/dev/shm%s: no room for %zu bytes (%s): make /dev/shm larger (containers: "
		"--shm-size), or run the ranks as threads",
		rendezvous->name, bytes, strerror(why));
}

static bool allocate(const struct rendezvous *rendezvous, uint64_t offset, size_t bytes,
		     struct train_error *error)
{
	int why;

	do
		why = posix_fallocate(rendezvous->fd, (off_t)offset, (off_t)bytes);
	while (why == EINTR);
	return why == 0 || no_room(rendezvous, bytes, why, error);
}

static void *map_at(const struct rendezvous *rendezvous, uint64_t offset, size_t bytes,
		    struct train_error *error)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, rendezvous->fd,
			    (off_t)offset);

	if (memory != MAP_FAILED)
		return memory;
	train_fail(error, TRAIN_FAILED, "/dev/shm%s: cannot map %zu bytes: %s", rendezvous->name,
		   bytes, strerror(errno));
	return NULL;
}

static bool begin(struct rendezvous *rendezvous, struct train_error *error)
{
	void *memory;

	if (ftruncate(rendezvous->fd, 0) != 0)
		return train_fail(error, TRAIN_FAILED, "/dev/shm%s: cannot be emptied: %s",
				  rendezvous->name, strerror(errno));
	if (!allocate(rendezvous, 0, rendezvous->bytes, error))
		return false;
	memory = map_at(rendezvous, 0, rendezvous->bytes, error);
	if (!memory)
		return false;
	rendezvous->mapped = rendezvous->bytes;
	shm_control_at(rendezvous, memory);
	shm_control_begin(rendezvous);
	return true;
}

static enum attempt wrong_world(const struct rendezvous *rendezvous, int world,
				struct train_error *error)
{
	shm_fail(rendezvous, error,
		 "/dev/shm%s: a rank came with a world of %d ranks, and others have a world of %d: "
		 "set the same WORLD_SIZE for all ranks, and give each run its own name",
		 rendezvous->name, rendezvous->options.world, world);
	return ATTEMPT_FAILED;
}

/* Whether a failed rank still waits for this one, to give it the reason. Otherwise that was another
 * run. */
static bool awaited(const struct rendezvous *rendezvous)
{
	const struct shm_control_block *control = rendezvous->control;
	int rank = rendezvous->options.rank;

	return atomic_load(&control->lingering) > 0 &&
	       (rank >= control->world || !atomic_load(&control->slots[rank].joined));
}

/* The segment that other ranks of this run created, or those of another run with the same name. */
static enum attempt join(struct rendezvous *rendezvous, size_t size, struct train_error *error)
{
	void *memory;
	int world;

	if (size < sizeof(struct shm_control_block))
		goto foreign;
	memory = map_at(rendezvous, 0, size, error);
	if (!memory)
		return ATTEMPT_FAILED;
	rendezvous->mapped = size;
	shm_control_at(rendezvous, memory);
	if (!shm_control_ours(rendezvous->control))
		goto foreign;
	world = rendezvous->control->world;
	if (atomic_load(&rendezvous->control->failed) != 0 && !awaited(rendezvous)) {
		shm_unlink(rendezvous->name);
		return ATTEMPT_AGAIN;
	}
	return world == rendezvous->options.world ? ATTEMPT_GOOD
						  : wrong_world(rendezvous, world, error);
foreign:
	train_fail(error, TRAIN_FAILED,
		   "/dev/shm%s: in use by another version of this program: run one version only",
		   rendezvous->name);
	return ATTEMPT_FAILED;
}

/* Called with the door locked. */
static enum attempt join_or_begin(struct rendezvous *rendezvous, struct train_error *error)
{
	enum attempt got = ATTEMPT_FAILED;
	struct stat st;

	if (fstat(rendezvous->fd, &st) != 0) {
		train_fail(error, TRAIN_FAILED, "/dev/shm%s: %s", rendezvous->name,
			   strerror(errno));
		return ATTEMPT_FAILED;
	}
	if (st.st_nlink == 0)
		return ATTEMPT_AGAIN;
	if (shm_locked(rendezvous->fd, SHM_LOCK_MEMBERS))
		got = join(rendezvous, (size_t)st.st_size, error);
	else if (begin(rendezvous, error))
		got = ATTEMPT_GOOD;
	else
		shm_unlink(rendezvous->name);
	if (got == ATTEMPT_GOOD && !shm_try_lock(rendezvous->fd, F_RDLCK, SHM_LOCK_MEMBERS)) {
		train_fail(error, TRAIN_FAILED, "/dev/shm%s: cannot be locked: %s",
			   rendezvous->name, strerror(errno));
		got = ATTEMPT_FAILED;
	}
	if (got == ATTEMPT_GOOD &&
	    atomic_exchange(&rendezvous->control->slots[rendezvous->options.rank].joined, 1) == 0)
		atomic_fetch_add(&rendezvous->control->joined, 1);
	if (got == ATTEMPT_GOOD && all_joined(rendezvous))
		take_name(rendezvous);
	return got;
}

static bool open_file(struct rendezvous *rendezvous, struct train_error *error)
{
	struct stat st;

	rendezvous->fd = shm_open(rendezvous->name, O_RDWR | O_CREAT, 0600);
	if (rendezvous->fd < 0)
		return train_fail(error, TRAIN_FAILED, "/dev/shm%s: cannot be opened: %s%s",
				  rendezvous->name, strerror(errno),
				  errno == EACCES ? ": it belongs to another user" : "");
	if (fstat(rendezvous->fd, &st) == 0 && st.st_uid == geteuid())
		return true;
	return train_fail(error, TRAIN_FAILED,
			  "/dev/shm%s: belongs to user %u: give this run another name",
			  rendezvous->name, (unsigned)st.st_uid);
}

static void close_segment(struct rendezvous *rendezvous)
{
	if (rendezvous->mapped > 0)
		munmap(rendezvous->control, rendezvous->mapped);
	if (rendezvous->fd >= 0)
		close(rendezvous->fd);
	rendezvous->mapped = 0;
	rendezvous->fd = -1;
}

static enum attempt attempt(struct rendezvous *rendezvous, struct train_error *error)
{
	enum attempt got = ATTEMPT_FAILED;

	if (open_file(rendezvous, error)) {
		if (enter_door(rendezvous)) {
			got = join_or_begin(rendezvous, error);
			leave_door(rendezvous);
		} else {
			train_fail(error, TRAIN_FAILED,
				   "/dev/shm%s: a process has held its lock for seconds: end "
				   "stopped processes",
				   rendezvous->name);
		}
	}
	if (got != ATTEMPT_GOOD)
		close_segment(rendezvous);
	return got;
}

/* If the segment was removed meanwhile, the rank begins again. */
static void remove_leftover(const char *name)
{
	struct rendezvous other = {.fd = shm_open(name, O_RDWR, 0)};
	struct stat st;

	if (other.fd < 0)
		return;
	if (fstat(other.fd, &st) == 0 && st.st_uid == geteuid() && st.st_nlink > 0 &&
	    shm_try_lock(other.fd, F_WRLCK, SHM_LOCK_DOOR) &&
	    !shm_locked(other.fd, SHM_LOCK_MEMBERS) && fstat(other.fd, &st) == 0 && st.st_nlink > 0)
		shm_unlink(name);
	close(other.fd);
}

/* Segments of runs with other names that were killed before all ranks had joined. */
static void sweep(const struct rendezvous *rendezvous)
{
	CLEANUP_FOLDER DIR *folder = opendir("/dev/shm");
	char name[sizeof(rendezvous->name) + 1];
	int prefix = snprintf(name, sizeof(name), "gpumap-train-%u-", (unsigned)geteuid());

	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		if (strncmp(entry->d_name, name, (size_t)prefix) != 0 ||
		    strcmp(entry->d_name, rendezvous->name + 1) == 0)
			continue;
		snprintf(name + prefix, sizeof(name) - (size_t)prefix, "%s",
			 entry->d_name + prefix);
		remove_leftover(name);
	}
}

bool shm_segment_open(struct rendezvous *rendezvous, struct train_error *error)
{
	enum attempt got;

	snprintf(rendezvous->name, sizeof(rendezvous->name), "/gpumap-train-%u-%s",
		 (unsigned)geteuid(), rendezvous->options.name);
	rendezvous->mapped = 0;
	do
		got = attempt(rendezvous, error);
	while (got == ATTEMPT_AGAIN);
	if (got != ATTEMPT_GOOD)
		return false;
	sweep(rendezvous);
	if (shm_good(rendezvous, error))
		return true;
	shm_segment_close(rendezvous);
	return false;
}

void shm_segment_linger(struct rendezvous *rendezvous)
{
	int limit_ms = rendezvous->options.timeout_ms;

	if (rendezvous->lingers_ns || all_joined(rendezvous))
		return;
	if (limit_ms == 0 || limit_ms > LINGER_MS)
		limit_ms = LINGER_MS;
	rendezvous->lingers_ns = clock_ns() + (int64_t)limit_ms * 1000000;
	atomic_fetch_add(&rendezvous->control->lingering, 1);
}

static void end_linger(struct rendezvous *rendezvous)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	if (!rendezvous->lingers_ns)
		return;
	while (clock_ns() < rendezvous->lingers_ns && !all_joined(rendezvous))
		nanosleep(&pause, NULL);
	atomic_fetch_sub(&rendezvous->control->lingering, 1);
}

void shm_segment_close(struct rendezvous *rendezvous)
{
	end_linger(rendezvous);
	if (enter_door(rendezvous)) {
		shm_try_lock(rendezvous->fd, F_UNLCK, SHM_LOCK_MEMBERS);
		if (all_joined(rendezvous) || !shm_locked(rendezvous->fd, SHM_LOCK_MEMBERS))
			take_name(rendezvous);
		leave_door(rendezvous);
	}
	close_segment(rendezvous);
}

bool shm_segment_enter(struct rendezvous *rendezvous, int rank, struct train_error *error)
{
	struct shm_slot *slot = &rendezvous->control->slots[rank];

	if (!shm_try_lock(rendezvous->fd, F_WRLCK, SHM_LOCK_RANKS + rank))
		return shm_fail(rendezvous, error,
				"rank %d is there twice, in processes %d and %d: give each its own "
				"RANK, and each run a name of its own",
				rank, atomic_load(&slot->process), (int)getpid());
	atomic_store(&slot->process, (int32_t)getpid());
	return true;
}

void shm_segment_leave(struct rendezvous *rendezvous, int rank)
{
	shm_try_lock(rendezvous->fd, F_UNLCK, SHM_LOCK_RANKS + rank);
}

bool shm_segment_map(struct rendezvous *rendezvous, struct shm_map *map, uint64_t offset,
		     uint64_t capacity, struct train_error *error)
{
	void *memory = map_at(rendezvous, offset, capacity, error);

	if (!memory)
		return false;
	shm_segment_unmap(map);
	*map = (struct shm_map){memory, offset, capacity};
	return true;
}

void shm_segment_unmap(struct shm_map *map)
{
	if (map->memory)
		munmap(map->memory, map->capacity);
	*map = (struct shm_map){NULL, 0, 0};
}

bool shm_segment_grow(struct rendezvous *rendezvous, struct shm_map *map, size_t bytes,
		      struct train_error *error)
{
	uint64_t unit = 1 << 16, capacity = (bytes + unit - 1) / unit * unit;
	uint64_t offset, old = map->offset, old_capacity = map->capacity;

	if (capacity < bytes || capacity > (uint64_t)1 << 60)
		return no_room(rendezvous, bytes, EFBIG, error);
	offset = atomic_fetch_add(&rendezvous->control->memory_end, capacity);
	if (!allocate(rendezvous, offset, capacity, error) ||
	    !shm_segment_map(rendezvous, map, offset, capacity, error))
		return false;
	if (old_capacity > 0)
		fallocate(rendezvous->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)old,
			  (off_t)old_capacity);
	return true;
}
