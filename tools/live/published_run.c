/* SPDX-License-Identifier: MIT */
/*
 * The file is a sequence of texts that each end with a NUL: MAGIC, "run=ID", and for each rank
 * "rank=N", "state=...", and the variables that it has. The state has a fixed size, so that one
 * short write changes it.
 */
#include "live/published_run.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "closing.h"
#include "plan/job.h"
#include "readfile.h"
#include "strbuf.h"
#include "text.h"
#include "write_all.h"

#define MAGIC "gpumap run 1"

#ifndef MFD_NOEXEC_SEAL /* in headers older than Linux 6.3; older kernels refuse it */
#define MFD_NOEXEC_SEAL 0x8U
#endif

enum { STATE_SIZE = 64, MAX_BYTES = 16 << 20, MAX_LOOKS = 100 };

/* The variables of a rank, and their names in the file. */
static const struct {
	const char *key, *variable;
	size_t member;
} variables[] = {
	{"visible", "CUDA_VISIBLE_DEVICES", offsetof(struct live_rank, visible)},
	{"order", "CUDA_DEVICE_ORDER", offsetof(struct live_rank, order)},
	{"gpus", RUN_GPUS, offsetof(struct live_rank, gpus)},
};

/* --- writing ------------------------------------------------------------------------ */

/* "1 4711 123456789 -1 0 0", filled up with blanks: state, pid, time, exit status, signal, stopped.
 */
static void state_text(char ret[STATE_SIZE], const struct launch_exit *rank)
{
	enum live_state state = !rank ? LIVE_STARTING : rank->end_ns ? LIVE_ENDED : LIVE_RUNNING;
	struct timespec now = {0};
	int n;

	clock_gettime(CLOCK_BOOTTIME, &now);
	n = snprintf(ret, STATE_SIZE, "%d %d %lld %d %d %d", (int)state, rank ? (int)rank->pid : 0,
		     (long long)now.tv_sec * 1000000000 + now.tv_nsec, rank ? rank->status : -1,
		     rank ? rank->signal : 0, rank && rank->stopped);
	memset(ret + n, ' ', (size_t)(STATE_SIZE - 1 - n));
	ret[STATE_SIZE - 1] = '\0';
}

static void put(struct strbuf *buf, const char *key, const char *value)
{
	strbuf_puts(buf, key);
	strbuf_puts(buf, "=");
	strbuf_add(buf, value, strlen(value) + 1);
}

static void put_rank(struct strbuf *buf, size_t *place, const struct launch_rank *rank)
{
	char text[STATE_SIZE];

	snprintf(text, sizeof(text), "%d", rank->rank);
	put(buf, "rank", text);
	*place = buf->length + strlen("state=");
	state_text(text, NULL);
	put(buf, "state", text);
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const char *value =
			environ_find((const char *const *)rank->envp, variables[i].variable);

		if (value)
			put(buf, variables[i].key, value);
	}
}

int run_memory_file(const char *name)
{
	/* glibc has no such function before 2.27. */
	int fd = (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	return fd < 0 && errno == EINVAL ? (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC) : fd;
}

void run_live_open(struct run_live *ret, const char *run, const struct launch_rank *ranks,
		   size_t count)
{
	CLEANUP(strbuf_free) struct strbuf buf = {0};

	*ret = (struct run_live){.fd = -1, .count = count};
	ret->places = calloc(count + 1, sizeof(*ret->places));
	if (!ret->places)
		return;
	strbuf_add(&buf, MAGIC, sizeof(MAGIC));
	put(&buf, "run", run);
	for (size_t i = 0; i < count; i++)
		put_rank(&buf, &ret->places[i], &ranks[i]);
	if (!buf.failed)
		ret->fd = run_memory_file(RUN_LIVE_NAME);
	if (ret->fd >= 0 && write_all(ret->fd, buf.text, buf.length) != buf.length)
		close_variable(&ret->fd);
}

void run_live_rank(const struct run_live *live, size_t index, const struct launch_exit *rank)
{
	char text[STATE_SIZE];

	if (live->fd < 0)
		return;
	state_text(text, rank);
	/* Its pages exist already, so it cannot fail for want of memory. */
	if (pwrite(live->fd, text, sizeof(text), (off_t)live->places[index]) < 0)
		return;
}

void run_live_close(struct run_live *live)
{
	if (live->places)
		close_variable(&live->fd);
	free(live->places);
	*live = (struct run_live){.fd = -1};
}

/* --- reading ------------------------------------------------------------------------ */

static bool read_state(struct live_rank *rank, const char *text)
{
	int state, stopped;
	long long at;

	if (sscanf(text, "%d %d %lld %d %d %d", &state, &rank->pid, &at, &rank->status,
		   &rank->signal, &stopped) != 6 ||
	    state < LIVE_STARTING || state > LIVE_ENDED || rank->pid < (state == LIVE_RUNNING))
		return false;
	rank->state = (enum live_state)state;
	rank->at_ns = at;
	rank->stopped = stopped != 0;
	return true;
}

static bool read_entry(struct live_run *run, size_t *room, const char *text)
{
	const char *value = strchr(text, '=');
	struct span key = {text, value ? (size_t)(value - text) : 0};
	struct live_rank *rank = run->count ? &run->ranks[run->count - 1] : NULL;

	if (!value)
		return false;
	value++;
	if (span_is(key, "rank")) {
		rank = ARRAY_NEXT(run->ranks, run->count, *room);
		*rank = (struct live_rank){.rank = span_number(span_of(value), INT32_MAX),
					   .status = -1};
		return rank->rank >= 0;
	}
	if (span_is(key, "run"))
		run->run = value;
	if (rank && span_is(key, "state"))
		return read_state(rank, value);
	for (size_t i = 0; rank && i < ARRAY_SIZE(variables); i++)
		if (span_is(key, variables[i].key))
			*(const char **)((char *)rank + variables[i].member) = value;
	return true;
}

/* The launcher may write a state meanwhile, so what was read is right if a second look shows the
 * same. */
static bool read_settled(char **ret, size_t *size, int fd)
{
	for (int i = 0; i < MAX_LOOKS; i++) {
		CLEANUP_FREE char *before = *ret;
		size_t length = *size;

		*ret = NULL;
		if (lseek(fd, 0, SEEK_SET) < 0 || read_all(fd, MAX_BYTES, ret, size))
			return false;
		if (before && length == *size && memcmp(before, *ret, length) == 0)
			return true;
	}
	return false;
}

int live_run_read(struct live_run *ret, int fd)
{
	CLEANUP(live_run_free) struct live_run run = {0};
	size_t size = 0, room = 0;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !read_settled(&run.text, &size, fd) ||
	    !streq(run.text, MAGIC))
		return GPUMAP_EINPUT;
	run.file = st.st_ino;
	for (size_t i = sizeof(MAGIC); i < size; i += strlen(run.text + i) + 1)
		if (!read_entry(&run, &room, run.text + i))
			return GPUMAP_EINPUT;
	if (!run.run)
		return GPUMAP_EINPUT;
	*ret = run;
	run = (struct live_run){0};
	return GPUMAP_OK;
}

void live_run_free(struct live_run *run)
{
	free(run->text);
	free(run->ranks);
	*run = (struct live_run){0};
}
