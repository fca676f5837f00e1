/* SPDX-License-Identifier: MIT */
#include "collective/shm_segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Bytes that are locked: by who looks whether a segment is in use, by all that use it, by ranks. */
enum { LOCK_DOOR, LOCK_MEMBERS, LOCK_RANKS };

enum { LINGER_MS = 2000 };

enum attempt { ATTEMPT_GOOD, ATTEMPT_AGAIN, ATTEMPT_FAILED };

static bool lock(int fd, int call, short type, int at, struct flock *found)
{
	*found = (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
	return fcntl(fd, call, found) == 0;
}

static bool try_lock(int fd, short type, int at)
{
	struct flock found;

	return lock(fd, F_OFD_SETLK, type, at, &found);
}

/* By another: who asks does not see its own. */
static bool locked(int fd, int at)
{
	struct flock found;

	return lock(fd, F_OFD_GETLK, F_WRLCK, at, &found) && found.l_type != F_UNLCK;
}

bool shm_segment_lives(const struct meeting *meeting, int rank)
{
	return locked(meeting->fd, LOCK_RANKS + rank);
}

/* Held for microseconds, unless its holder is stopped. */
static bool enter_door(const struct meeting *meeting)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < 5000; i++) {
		if (try_lock(meeting->fd, F_WRLCK, LOCK_DOOR))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static void leave_door(const struct meeting *meeting)
{
	try_lock(meeting->fd, F_UNLCK, LOCK_DOOR);
}

static bool all_joined(const struct meeting *meeting)
{
	return atomic_load(&meeting->board->joined) >= meeting->board->world;
}

/* Behind the door. It has one name: another segment that has it now is not ours to remove. */
static void take_name(const struct meeting *meeting)
{
	struct stat st;

	if (fstat(meeting->fd, &st) == 0 && st.st_nlink > 0)
		shm_unlink(meeting->name);
}

static bool no_room(const struct meeting *meeting, size_t bytes, int why, struct train_error *error)
{
	return train_fail(
		error, TRAIN_FAILED,
		"/dev/shm%s: no room for %zu bytes (%s): make /dev/shm larger (containers: "
		"--shm-size), or run the ranks as threads",
		meeting->name, bytes, strerror(why));
}

static bool allocate(const struct meeting *meeting, uint64_t offset, size_t bytes,
		     struct train_error *error)
{
	int why;

	do
		why = posix_fallocate(meeting->fd, (off_t)offset, (off_t)bytes);
	while (why == EINTR);
	return why == 0 || no_room(meeting, bytes, why, error);
}

static void *map_at(const struct meeting *meeting, uint64_t offset, size_t bytes,
		    struct train_error *error)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, meeting->fd, (off_t)offset);

	if (memory != MAP_FAILED)
		return memory;
	train_fail(error, TRAIN_FAILED, "/dev/shm%s: cannot map %zu bytes: %s", meeting->name,
		   bytes, strerror(errno));
	return NULL;
}

static bool begin(struct meeting *meeting, struct train_error *error)
{
	void *memory;

	if (ftruncate(meeting->fd, 0) != 0)
		return train_fail(error, TRAIN_FAILED, "/dev/shm%s: cannot be emptied: %s",
				  meeting->name, strerror(errno));
	if (!allocate(meeting, 0, meeting->bytes, error))
		return false;
	memory = map_at(meeting, 0, meeting->bytes, error);
	if (!memory)
		return false;
	meeting->mapped = meeting->bytes;
	shm_board_at(meeting, memory);
	shm_board_begin(meeting);
	return true;
}

static enum attempt wrong_world(const struct meeting *meeting, int world, struct train_error *error)
{
	shm_fail(
		meeting, error,
		"/dev/shm%s: a rank came with a world of %d ranks, and others have one of %d: give "
		"all the same WORLD_SIZE, and each run a name of its own",
		meeting->name, meeting->options.world, world);
	return ATTEMPT_FAILED;
}

/* Whether one that failed still waits for this rank, to tell it why. Else that was another run. */
static bool awaited(const struct meeting *meeting)
{
	const struct shm_board *board = meeting->board;
	int rank = meeting->options.rank;

	return atomic_load(&board->lingering) > 0 &&
	       (rank >= board->world || !atomic_load(&board->slots[rank].joined));
}

/* What other ranks of this run created, or of another one that has the same name. */
static enum attempt join(struct meeting *meeting, size_t size, struct train_error *error)
{
	void *memory;
	int world;

	if (size < sizeof(struct shm_board))
		goto foreign;
	memory = map_at(meeting, 0, size, error);
	if (!memory)
		return ATTEMPT_FAILED;
	meeting->mapped = size;
	shm_board_at(meeting, memory);
	if (!shm_board_ours(meeting->board))
		goto foreign;
	world = meeting->board->world;
	if (atomic_load(&meeting->board->failed) != 0 && !awaited(meeting)) {
		shm_unlink(meeting->name);
		return ATTEMPT_AGAIN;
	}
	return world == meeting->options.world ? ATTEMPT_GOOD : wrong_world(meeting, world, error);
foreign:
	train_fail(error, TRAIN_FAILED,
		   "/dev/shm%s: in use by another version of this program: run one version only",
		   meeting->name);
	return ATTEMPT_FAILED;
}

/* Behind the door. */
static enum attempt join_or_begin(struct meeting *meeting, struct train_error *error)
{
	enum attempt got = ATTEMPT_FAILED;
	struct stat st;

	if (fstat(meeting->fd, &st) != 0) {
		train_fail(error, TRAIN_FAILED, "/dev/shm%s: %s", meeting->name, strerror(errno));
		return ATTEMPT_FAILED;
	}
	if (st.st_nlink == 0)
		return ATTEMPT_AGAIN;
	if (locked(meeting->fd, LOCK_MEMBERS))
		got = join(meeting, (size_t)st.st_size, error);
	else if (begin(meeting, error))
		got = ATTEMPT_GOOD;
	else
		shm_unlink(meeting->name);
	if (got == ATTEMPT_GOOD && !try_lock(meeting->fd, F_RDLCK, LOCK_MEMBERS)) {
		train_fail(error, TRAIN_FAILED, "/dev/shm%s: cannot be locked: %s", meeting->name,
			   strerror(errno));
		got = ATTEMPT_FAILED;
	}
	if (got == ATTEMPT_GOOD &&
	    atomic_exchange(&meeting->board->slots[meeting->options.rank].joined, 1) == 0)
		atomic_fetch_add(&meeting->board->joined, 1);
	if (got == ATTEMPT_GOOD && all_joined(meeting))
		take_name(meeting);
	return got;
}

static bool open_file(struct meeting *meeting, struct train_error *error)
{
	struct stat st;

	meeting->fd = shm_open(meeting->name, O_RDWR | O_CREAT, 0600);
	if (meeting->fd < 0)
		return train_fail(error, TRAIN_FAILED, "/dev/shm%s: cannot be opened: %s%s",
				  meeting->name, strerror(errno),
				  errno == EACCES ? ": it belongs to another user" : "");
	if (fstat(meeting->fd, &st) == 0 && st.st_uid == geteuid())
		return true;
	return train_fail(error, TRAIN_FAILED,
			  "/dev/shm%s: belongs to user %u: give this run another name",
			  meeting->name, (unsigned)st.st_uid);
}

static void close_segment(struct meeting *meeting)
{
	if (meeting->mapped > 0)
		munmap(meeting->board, meeting->mapped);
	if (meeting->fd >= 0)
		close(meeting->fd);
	meeting->mapped = 0;
	meeting->fd = -1;
}

static enum attempt attempt(struct meeting *meeting, struct train_error *error)
{
	enum attempt got = ATTEMPT_FAILED;

	if (open_file(meeting, error)) {
		if (enter_door(meeting)) {
			got = join_or_begin(meeting, error);
			leave_door(meeting);
		} else {
			train_fail(error, TRAIN_FAILED,
				   "/dev/shm%s: a process holds its lock for seconds: end what is "
				   "stopped",
				   meeting->name);
		}
	}
	if (got != ATTEMPT_GOOD)
		close_segment(meeting);
	return got;
}

/* Whoever comes to a segment that was removed under its hands begins again. */
static void remove_leftover(const char *name)
{
	struct meeting other = {.fd = shm_open(name, O_RDWR, 0)};
	struct stat st;

	if (other.fd < 0)
		return;
	if (fstat(other.fd, &st) == 0 && st.st_uid == geteuid() && st.st_nlink > 0 &&
	    try_lock(other.fd, F_WRLCK, LOCK_DOOR) && !locked(other.fd, LOCK_MEMBERS) &&
	    fstat(other.fd, &st) == 0 && st.st_nlink > 0)
		shm_unlink(name);
	close(other.fd);
}

/* What runs under other names left behind that were killed before all ranks were there. */
static void sweep(const struct meeting *meeting)
{
	DIR *folder = opendir("/dev/shm");
	char name[sizeof(meeting->name) + 1];
	int prefix = snprintf(name, sizeof(name), "gpumap-train-%u-", (unsigned)geteuid());

	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		if (strncmp(entry->d_name, name, (size_t)prefix) != 0 ||
		    strcmp(entry->d_name, meeting->name + 1) == 0)
			continue;
		snprintf(name + prefix, sizeof(name) - (size_t)prefix, "%s",
			 entry->d_name + prefix);
		remove_leftover(name);
	}
	if (folder)
		closedir(folder);
}

bool shm_segment_open(struct meeting *meeting, struct train_error *error)
{
	enum attempt got;

	snprintf(meeting->name, sizeof(meeting->name), "/gpumap-train-%u-%s", (unsigned)geteuid(),
		 meeting->options.name);
	meeting->mapped = 0;
	do
		got = attempt(meeting, error);
	while (got == ATTEMPT_AGAIN);
	if (got != ATTEMPT_GOOD)
		return false;
	sweep(meeting);
	if (shm_good(meeting, error))
		return true;
	shm_segment_part(meeting);
	return false;
}

void shm_segment_linger(struct meeting *meeting)
{
	int limit_ms = meeting->options.timeout_ms;

	if (meeting->lingers_ns || all_joined(meeting))
		return;
	if (limit_ms == 0 || limit_ms > LINGER_MS)
		limit_ms = LINGER_MS;
	meeting->lingers_ns = shm_now_ns() + (int64_t)limit_ms * 1000000;
	atomic_fetch_add(&meeting->board->lingering, 1);
}

static void end_linger(struct meeting *meeting)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	if (!meeting->lingers_ns)
		return;
	while (shm_now_ns() < meeting->lingers_ns && !all_joined(meeting))
		nanosleep(&pause, NULL);
	atomic_fetch_sub(&meeting->board->lingering, 1);
}

void shm_segment_part(struct meeting *meeting)
{
	end_linger(meeting);
	if (enter_door(meeting)) {
		try_lock(meeting->fd, F_UNLCK, LOCK_MEMBERS);
		if (all_joined(meeting) || !locked(meeting->fd, LOCK_MEMBERS))
			take_name(meeting);
		leave_door(meeting);
	}
	close_segment(meeting);
}

bool shm_segment_enter(struct meeting *meeting, int rank, struct train_error *error)
{
	struct shm_slot *slot = &meeting->board->slots[rank];

	if (!try_lock(meeting->fd, F_WRLCK, LOCK_RANKS + rank))
		return shm_fail(meeting, error,
				"rank %d is there twice, in processes %d and %d: give each its own "
				"RANK, and each run a name of its own",
				rank, atomic_load(&slot->process), (int)getpid());
	atomic_store(&slot->process, (int32_t)getpid());
	return true;
}

void shm_segment_leave(struct meeting *meeting, int rank)
{
	try_lock(meeting->fd, F_UNLCK, LOCK_RANKS + rank);
}

bool shm_segment_map(struct meeting *meeting, struct shm_map *map, uint64_t offset,
		     uint64_t capacity, struct train_error *error)
{
	void *memory = map_at(meeting, offset, capacity, error);

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

bool shm_segment_grow(struct meeting *meeting, struct shm_map *map, size_t bytes,
		      struct train_error *error)
{
	uint64_t unit = 1 << 16, capacity = (bytes + unit - 1) / unit * unit;
	uint64_t offset, old = map->offset, old_capacity = map->capacity;

	if (capacity < bytes || capacity > (uint64_t)1 << 60)
		return no_room(meeting, bytes, EFBIG, error);
	offset = atomic_fetch_add(&meeting->board->memory_end, capacity);
	if (!allocate(meeting, offset, capacity, error) ||
	    !shm_segment_map(meeting, map, offset, capacity, error))
		return false;
	if (old_capacity > 0)
		fallocate(meeting->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)old,
			  (off_t)old_capacity);
	return true;
}
