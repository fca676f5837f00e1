/* SPDX-License-Identifier: MIT */
/* See metrics_lines.h. */
#include "report/metrics_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "memory.h"
#include "report/atomic_stream.h"
#include "report/format.h"
#include "write_all.h"

/* How a line begins. */
#define LINE(type) "{\"$schema\":\"urn:gpumap:schema:metrics:1\",\"type\":\"" type "\",\"step\":"

enum { BUFFER = 1 << 16, LONGEST = 1024, FLUSH_NS = 100000000 };

struct lines {
	int fd;
	bool regular;
	int64_t written; /* bytes of the file */
	int64_t flushed; /* when */
	size_t used;     /* of the buffer, whole lines */
	char *name;
	char buffer[BUFFER];
};

static bool unfit(const char *name, const char *why, struct train_error *error)
{
	return train_fail(error, TRAIN_BAD_INPUT,
			  "%s: %s, so it cannot be continued; name the file of the run that is "
			  "resumed, or none",
			  name, why);
}

static bool cut(const struct lines *lines, int64_t keep, struct plot *plot,
		struct train_error *error)
{
	char last = 0;
	struct stat st;

	if (fstat(lines->fd, &st) < 0)
		return output_failed(lines->name, "open", error);
	if (!S_ISREG(st.st_mode))
		return unfit(lines->name, "no regular file", error);
	if (st.st_size < keep) {
		char why[128];

		snprintf(why, sizeof(why), "it has %" PRId64 " bytes, and had %" PRId64,
			 (int64_t)st.st_size, keep);
		return unfit(lines->name, why, error);
	}
	if (pread(lines->fd, &last, 1, keep - 1) != 1)
		return output_failed(lines->name, "read", error);
	if (last != '\n')
		return unfit(lines->name, "another file", error);
	if (plot && !lines_read(lines->fd, lines->name, keep, plot, error))
		return false;
	if (ftruncate(lines->fd, keep) < 0 || lseek(lines->fd, keep, SEEK_SET) < 0)
		return output_failed(lines->name, "cut", error);
	return true;
}

static bool open_file(struct lines *lines, int64_t keep, struct plot *plot,
		      struct train_error *error)
{
	int flags = keep ? O_RDWR : O_WRONLY | O_CREAT | O_TRUNC;
	struct stat st;

	lines->fd = open(lines->name, flags | O_NOCTTY | O_CLOEXEC, 0666);
	if (lines->fd < 0 && keep && errno == ENOENT)
		return unfit(lines->name, "not there", error);
	if (lines->fd < 0)
		return output_failed(lines->name, "open", error);
	lines->regular = fstat(lines->fd, &st) == 0 && S_ISREG(st.st_mode);
	return !keep || cut(lines, keep, plot, error);
}

static void release(struct lines *lines)
{
	if (lines->fd >= 0)
		close(lines->fd);
	free(lines->name);
	free(lines);
}

bool lines_open(struct lines **ret, const char *name, int64_t keep, struct plot *plot,
		struct train_error *error)
{
	struct lines *lines = xmalloc(sizeof(*lines));

	lines->fd = -1;
	lines->used = 0;
	lines->written = keep;
	lines->flushed = clock_ns();
	lines->name = xstrdup(name);
	if (!open_file(lines, keep, plot, error)) {
		release(lines);
		return false;
	}
	*ret = lines;
	return true;
}

/* On failure no part of a line stays in the file. */
static bool flush(struct lines *lines, struct train_error *error)
{
	bool whole;

	lines->flushed = clock_ns();
	whole = write_all(lines->fd, lines->buffer, lines->used) == lines->used;
	if (whole) {
		lines->written += (int64_t)lines->used;
	} else {
		output_failed(lines->name, "write", error);
		if (lines->regular && ftruncate(lines->fd, lines->written) == 0)
			lseek(lines->fd, lines->written, SEEK_SET);
	}
	lines->used = 0;
	return whole;
}

bool lines_close(struct lines *lines, struct train_error *error)
{
	bool good;

	if (!lines)
		return true;
	good = flush(lines, error);
	if (close(lines->fd) < 0 && good)
		good = output_failed(lines->name, "write", error);
	lines->fd = -1;
	release(lines);
	return good;
}

bool lines_position(struct lines *lines, int64_t *bytes, struct train_error *error)
{
	if (!flush(lines, error))
		return false;
	if (lines->regular && fsync(lines->fd) < 0)
		return output_failed(lines->name, "write", error);
	*bytes = lines->regular ? lines->written : 0;
	return true;
}

/* --- lines ------------------------------------------------------------------------ */

static void put(struct lines *lines, const char *text)
{
	size_t length = strlen(text);

	memcpy(lines->buffer + lines->used, text, length);
	lines->used += length;
}

static void put_integer(struct lines *lines, const char *key, int64_t value)
{
	char text[NUMBER_TEXT];

	snprintf(text, sizeof(text), "%" PRId64, value);
	put(lines, key);
	put(lines, text);
}

static void put_double(struct lines *lines, const char *key, double value)
{
	char text[NUMBER_TEXT];

	put(lines, key);
	put(lines, number_exact(text, value));
}

static bool make_room(struct lines *lines, struct train_error *error)
{
	return lines->used + LONGEST <= BUFFER || flush(lines, error);
}

bool lines_step(struct lines *lines, const struct step_metrics *step, struct train_error *error)
{
	if (!make_room(lines, error))
		return false;
	put_integer(lines, LINE("step"), step->step);
	put_integer(lines, ",\"epoch\":", step->epoch);
	put_integer(lines, ",\"samples\":", step->samples);
	put_double(lines, ",\"loss\":", step->loss);
	put_double(lines, ",\"accuracy\":", step->accuracy);
	put_double(lines, ",\"lr\":", step->lr);
	put_double(lines, ",\"seconds\":", step->seconds);
	if (step->slowest_rank < 0)
		put(lines, ",\"slowest_rank\":null");
	else
		put_integer(lines, ",\"slowest_rank\":", step->slowest_rank);
	put_double(lines, ",\"slowest_seconds\":", step->slowest_seconds);
	put_double(lines, ",\"mean_seconds\":", step->mean_seconds);
	put_double(lines, ",\"exposed_seconds\":", step->exposed_seconds);
	put_double(lines, ",\"gradient_norm\":", step->gradient_norm);
	put_double(lines, ",\"scale\":", step->scale);
	put(lines, step->skipped ? ",\"skipped\":true}\n" : ",\"skipped\":false}\n");
	return clock_ns() - lines->flushed < FLUSH_NS || flush(lines, error);
}

bool lines_evaluation(struct lines *lines, const struct evaluation_metrics *evaluation,
		      struct train_error *error)
{
	if (!make_room(lines, error))
		return false;
	put_integer(lines, LINE("evaluation"), evaluation->step);
	put_integer(lines, ",\"epoch\":", evaluation->epoch);
	put_integer(lines, ",\"samples\":", evaluation->samples);
	put_double(lines, ",\"loss\":", evaluation->loss);
	put_double(lines, ",\"accuracy\":", evaluation->accuracy);
	put_double(lines, ",\"seconds\":", evaluation->seconds);
	put(lines, "}\n");
	return flush(lines, error);
}
