/* SPDX-License-Identifier: MIT */
/*
 * A trial: one kernel with one shape. Its buffers lie on the host and on the device; the reference
 * runs on those of the host, the kernel on those of the device, and what both wrote is compared.
 */
#ifndef KERNELS_TRIAL_H
#define KERNELS_TRIAL_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>

#include "data/random.h"
#include "kernels/launchers.h"
#include "tests/trainer/kernels/references.h"
#include "kernels/scaler.h"

enum { MAX_BUFFERS = 16, MAX_VIEWS = 2, GUARD_BYTES = 256, POISON = 0xa5 };

enum place { HOST, DEVICE, PLACES };

/* How what a kernel has written may differ from the reference's. */
enum closeness {
	EXACT,   /* not at all, but all NaN are equal */
	ROUNDED, /* by `value` of the table */
	SUMMED,  /* by `value`, and by `sum` times the root of the number of values */
	/* SUMMED, and then rounded, where the sums may round to neighbours: by twice `value` */
	SUMMED_ROUNDED,
};

/* Part of a buffer that is compared. */
struct view {
	size_t offset;
	int64_t count;
	bool integers; /* of 4 bytes each; else of `type` */
	enum value_type type;
	enum closeness closeness;
	double summed; /* how many values */
};

struct buffer {
	const char *name;
	size_t bytes;
	void *at[PLACES];
	void *before; /* what both had at first */
	void *first;  /* what the device had after the first run; each run must repeat it */
	bool written, scratch;
	struct view views[MAX_VIEWS];
	int view_count;
};

/* Numbers of a shape, as each kernel reads them. */
struct shape {
	const char *name;
	enum value_type type, to;
	int64_t n;
	int32_t a, b, c, d, e;
	unsigned flags; /* of the kernel */
	bool large;     /* measured; left out where time is short */
};

struct trial {
	const struct shape *shape;
	struct random_generator random;
	cudaStream_t stream;
	struct buffer buffers[MAX_BUFFERS];
	int count;
	double moved; /* bytes that the kernel must read and write */
	bool poisons; /* scratch too */
	/* NULL, or writes addresses of the device into what its buffers have at first. */
	void (*place)(struct trial *t);
};

struct kernel_test {
	const char *name;
	const struct shape *shapes;
	int shape_count;
	void (*prepare)(struct trial *t);
	/* Runs the kernel or the reference. */
	cudaError_t (*run)(struct trial *t, enum place place);
};

/* One for each kernel of the list. */
#define KERNEL(name, args_struct) extern const struct kernel_test test_##name;
#include "kernels/kernels.def"
#undef KERNEL

#define SHAPES(shapes) (shapes), (int)(sizeof(shapes) / sizeof((shapes)[0]))

/* The kernel or its reference. */
#define RUN(name, t, place, args) \
	((place) == DEVICE ? kernel_##name((args), (t)->stream) \
			   : (reference_##name(args), cudaSuccess))

/* These add buffers to a trial, in the order in which a test asks for their addresses. */
struct buffer *add_buffer(struct trial *t, const char *name, size_t bytes);
struct buffer *add_scratch(struct trial *t, size_t bytes);
struct buffer *add_scaler(struct trial *t, float scale);
/* An input of random values: multiples of 1/16 from -4 to 4, or rarely NaN and infinities. */
struct buffer *add_values(struct trial *t, const char *name, enum value_type type, int64_t count,
			  bool bad);
/* An output, which begins poisoned and is compared with this closeness. */
struct buffer *add_output(struct trial *t, const char *name, enum value_type type, int64_t count,
			  enum closeness closeness);
void add_view(struct buffer *b, struct view view);
/* The buffer's address in a place; NULL for a buffer of no bytes. */
void *at(const struct trial *t, int buffer, enum place place);
/* The address of its n-th value; n is 0 where there are none. */
void *at_value(const struct trial *t, int buffer, enum place place, enum value_type type,
	       int64_t n);

/* Fills the buffers from the seed and runs the reference, on the host alone. */
void trial_prepare(struct trial *t, const struct kernel_test *test, uint64_t seed);
/* After it: runs the kernel twice, and writes the first difference into `why`. *greatest is the
 * greatest ratio of a difference to its tolerance. A failing call of CUDA ends the process. */
bool trial_check(struct trial *t, const struct kernel_test *test, char *why, size_t size,
		 double *greatest);
/* Microseconds of a run of the kernel on the device, after trial_check(), and of a copy that moves
 * as many bytes. */
double trial_time(struct trial *t, const struct kernel_test *test);
double trial_copy_time(const struct trial *t);
void trial_free(struct trial *t);

/* Ends this process; why_ended gets the call and its error. */
enum { WHY_BYTES = 512 };
extern char *why_ended;
void must(cudaError_t code, const char *call);
#define MUST(call) must(call, #call)

#endif
