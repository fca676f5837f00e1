/* SPDX-License-Identifier: MIT */
/* Simulated devices: what the backends of the CPU have in common. Their streams are always empty
 * when a call returns. */
#ifndef TRAIN_BACKEND_CPU_H
#define TRAIN_BACKEND_CPU_H

#include "backend/backend.h"
#include "backend/cpu/team.h"

/* The first member of the devices of these backends. */
struct cpu_device {
	struct device base;
	struct cpu_team team;
	int fetched, taken; /* counted since the device was opened */
	unsigned char results[MAX_FETCH][FETCH_BYTES];
};

static inline const struct cpu_team *cpu_team_of(const struct device *device)
{
	return &((const struct cpu_device *)device)->team;
}

/* A new device of `size` bytes, which begins with struct cpu_device; the caller opens its team. The
 * calling thread is moved to the device's cores and flushes denormals; threads that it starts later
 * inherit both. Freed by free(). NULL with the error noted. */
void *cpu_device_new(size_t size, const struct backend *backend,
		     const struct device_options *options, struct train_error *error);

BACKEND_CALL(allocate) cpu_allocate;
BACKEND_CALL(allocate_zeros) cpu_allocate_zeros;
BACKEND_CALL(release) cpu_release;
BACKEND_CALL(write) cpu_write;
BACKEND_CALL(read) cpu_read;
BACKEND_CALL(copy) cpu_copy;
BACKEND_CALL(zero) cpu_zero;
BACKEND_CALL(fetch) cpu_fetch;
BACKEND_CALL(take) cpu_take;
BACKEND_CALL(add) cpu_add;
BACKEND_CALL(loss) cpu_loss;

/* Adds up values over ranks, in their order: all get the same bits. all: room for the values of
 * each. */
bool cpu_add_ranks(const struct batch_ranks *ranks, double *values, double *all, int64_t count,
		   struct train_error *error);

BACKEND_CALL(data_open) cpu_data_open;
BACKEND_CALL(data_fills) cpu_data_fills;
BACKEND_CALL(data_fill) cpu_data_fill;
BACKEND_CALL(data_close) cpu_data_close;

BACKEND_CALL(optimize_new) cpu_optimize_new;
BACKEND_CALL(optimize_measure) cpu_optimize_measure;
BACKEND_CALL(optimize_norm) cpu_optimize_norm;
BACKEND_CALL(optimize_run) cpu_optimize_run;
BACKEND_CALL(optimize_begin) cpu_optimize_begin;
BACKEND_CALL(optimize_early) cpu_optimize_early;
BACKEND_CALL(optimize_end) cpu_optimize_end;
BACKEND_CALL(optimize_state) cpu_optimize_state;
BACKEND_CALL(optimize_set_steps) cpu_optimize_set_steps;
BACKEND_CALL(optimize_free) cpu_optimize_free;

BACKEND_CALL(event_new) cpu_event_new;
BACKEND_CALL(event_record) cpu_event_record;
BACKEND_CALL(event_abort) cpu_event_abort;
BACKEND_CALL(event_wait) cpu_event_wait;
BACKEND_CALL(event_free) cpu_event_free;
BACKEND_CALL(finish) cpu_finish;
BACKEND_CALL(recording_new) cpu_recording_new;
BACKEND_CALL(recording_run) cpu_recording_run;
BACKEND_CALL(recording_free) cpu_recording_free;

/* The entries of a backend's table that the backends of the CPU share. */
#define CPU_DEVICE_CALLS \
	.allocate = cpu_allocate, .allocate_zeros = cpu_allocate_zeros, .release = cpu_release, \
	.write = cpu_write, .write_ahead = cpu_write, .read = cpu_read, .copy = cpu_copy, \
	.zero = cpu_zero, .fetch = cpu_fetch, .take = cpu_take, .add = cpu_add, .loss = cpu_loss, \
	.data_open = cpu_data_open, .data_fills = cpu_data_fills, .data_fill = cpu_data_fill, \
	.data_close = cpu_data_close, .optimize_new = cpu_optimize_new, \
	.optimize_measure = cpu_optimize_measure, .optimize_norm = cpu_optimize_norm, \
	.optimize_run = cpu_optimize_run, .optimize_begin = cpu_optimize_begin, \
	.optimize_early = cpu_optimize_early, .optimize_end = cpu_optimize_end, \
	.optimize_state = cpu_optimize_state, .optimize_set_steps = cpu_optimize_set_steps, \
	.optimize_free = cpu_optimize_free, .event_new = cpu_event_new, \
	.event_record = cpu_event_record, .event_abort = cpu_event_abort, \
	.event_wait = cpu_event_wait, .event_free = cpu_event_free, .finish = cpu_finish, \
	.recording_new = cpu_recording_new, .recording_run = cpu_recording_run, \
	.recording_free = cpu_recording_free

#endif
