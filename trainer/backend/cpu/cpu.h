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

/* A new device of `size` bytes, which begins with struct cpu_device; the caller opens its team. The
 * calling thread is moved to the device's cores and flushes denormals; threads that it starts later
 * inherit both. Freed by free(). NULL with the error noted. */
void *cpu_device_new(size_t size, const struct backend *backend,
		     const struct device_options *options, struct train_error *error);

void *cpu_allocate(struct device *device, size_t bytes, const char *what,
		   struct train_error *error);
void *cpu_allocate_zeros(struct device *device, size_t bytes, const char *what,
			 struct train_error *error);
void cpu_release(struct device *device, void *memory);
bool cpu_write(struct device *device, void *to, const void *host, size_t bytes,
	       struct train_error *error);
bool cpu_read(struct device *device, void *host, const void *from, size_t bytes,
	      struct train_error *error);
bool cpu_copy(struct device *device, void *to, const struct device *other, const void *from,
	      size_t bytes, struct train_error *error);
bool cpu_zero(struct device *device, void *to, size_t bytes, struct train_error *error);
bool cpu_fetch(struct device *device, const void *from, size_t bytes, struct train_error *error);
bool cpu_take(struct device *device, void *host, size_t bytes, struct train_error *error);
bool cpu_add(struct device *device, float *sum, const float *more, int64_t count,
	     struct train_error *error);
bool cpu_loss(struct op **op, struct device *device, const struct layout *logits,
	      struct train_error *error);

/* Adds up values over ranks, in their order: all get the same bits. all: room for the values of
 * each. */
bool cpu_add_ranks(const struct batch_ranks *ranks, double *values, double *all, int64_t count,
		   struct train_error *error);

bool cpu_data_open(struct device_data **data, struct device *device, const struct dataset *dataset,
		   struct train_error *error);
bool cpu_data_fills(const struct layout *images);
bool cpu_data_fill(struct device_data *data, const struct data_batch *batch,
		   struct train_error *error);
void cpu_data_close(struct device_data *data);

bool cpu_optimize_new(struct optimize **optimize, struct device *device,
		      const struct optimize_options *options, struct train_error *error);
bool cpu_optimize_measure(struct optimize *optimize, struct gradient_measure *measure,
			  struct train_error *error);
bool cpu_optimize_norm(struct optimize *optimize, struct gradient_measure *measure,
		       struct train_error *error);
bool cpu_optimize_run(struct optimize *optimize, const struct update_control *control,
		      const struct gradient_measure *measure, struct train_error *error);
bool cpu_optimize_begin(struct optimize *optimize, const struct update_control *control,
			struct train_error *error);
bool cpu_optimize_early(struct optimize *optimize, struct train_error *error);
bool cpu_optimize_end(struct optimize *optimize, struct train_error *error);
void *cpu_optimize_state(struct optimize *optimize, int index, const char **name);
bool cpu_optimize_set_steps(struct optimize *optimize, int64_t steps, struct train_error *error);
void cpu_optimize_free(struct optimize *optimize);

bool cpu_event_new(struct event **event, struct device *device, struct train_error *error);
bool cpu_event_record(struct event *event, struct train_error *error);
void cpu_event_abort(struct event *event);
bool cpu_event_wait(struct device *device, struct event *event, uint64_t times,
		    struct train_error *error);
void cpu_event_free(struct event *event);
bool cpu_finish(struct device *device, struct train_error *error);
bool cpu_recording_new(struct recording **step, struct device *device,
		       bool (*issue)(void *argument, struct train_error *error), void *argument,
		       struct train_error *error);
bool cpu_recording_run(struct recording *step, struct train_error *error);
void cpu_recording_free(struct recording *step);

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
