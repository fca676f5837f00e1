/* SPDX-License-Identifier: MIT */
/*
 * The private parts of the CUDA backend. Activations lie in NHWC, filters in KRSC (out, kernel,
 * kernel, in); channels are padded to what cuDNN's tensor cores want. Everything but an update
 * beside backward (cuda/optimize.c) is put on the device's one stream, so all operations share its
 * scratch.
 */
#ifndef TRAIN_BACKEND_CUDA_H
#define TRAIN_BACKEND_CUDA_H

#include "backend/backend.h"
#include "backend/cuda/calls.h"
#include "kernels/kernels.h"

enum { CUDA_WHERE = 96, CUDA_UUID = 48, CUDA_WRITES = 8, CUDA_WRITE_BYTES = 1 << 18 };

struct cuda_block; /* memory that was allocated (cuda/memory.c) */

struct cuda_device {
	struct device base;
	const struct cuda_calls *calls;
	int ordinal; /* CUDA's number of the device in this process */
	char pci[32], uuid[CUDA_UUID];
	char where[CUDA_WHERE]; /* for messages: "GPU 3 (0000:5e:00.0, GPU-...)" */
	bool exact, deterministic;
	uint64_t kind; /* equal for GPUs of one kind */
	struct cuda_block *blocks;
	bool has_bfloat16;
	uint64_t reached; /* GPUs whose memory this one can read, a bit for each ordinal */
	cudaStream_t stream;
	/* For inputs and results of steps, so that a step need not wait for a copy. */
	cudaStream_t inputs, outputs;
	cudnnHandle_t cudnn;
	cublasLtHandle_t cublaslt;

	/* Workspace of the libraries and of the kernels (kernels.h), shared by all operations. It
	 * grows when operations are planned, so its address is read when they run. */
	void *workspace, *scratch;
	size_t workspace_bytes, scratch_bytes;

	/* Results in flight to the host: pinned memory, and an event for each. */
	unsigned char *results;
	cudaEvent_t fetched[MAX_FETCH];
	int fetches, takes;   /* counted since the device was opened */
	cudaEvent_t computed; /* what the last fetch copies */

	/* Writes in flight from the host, one piece in each slot. From memory that is not pinned
	 * CUDA would block. */
	unsigned char *writing;
	cudaEvent_t written[CUDA_WRITES];
	unsigned writes; /* pieces since the device was opened */
	/* The device's stream at the last two calls of write_ahead, and the last copy. */
	cudaEvent_t before_inputs[2], inputs_written;
	unsigned writes_ahead; /* calls */

	struct cuda_marks *marks; /* of time lines, or NULL (cuda/stream.c) */
};

/* An operation. */
struct cuda_order {
	int padded; /* channels with padding */
};

struct cuda_filter {
	int out, in, height, width;
};

struct cuda_op {
	struct op base;
	struct cuda_order input_order, output_order; /* for NHWC layouts */
	struct cuda_filter host;                     /* its weights, without padding */
};

static inline struct cuda_device *cuda_device_of(const struct op *op)
{
	return (struct cuda_device *)op->device;
}

/* The table of calls: that of the real libraries, or a test's. It is loaded once, and stays. */
const struct cuda_calls *cuda_calls_get(struct train_error *error);

/* Makes it the current device of the calling thread. */
bool cuda_use(struct cuda_device *device, struct train_error *error);

/* cuda_use() before something is freed. After a failure of the device there is no error, and
 * everything that can be freed is. */
void cuda_use_last(struct cuda_device *device);

/* One call of a library; false with a message that names the call if it failed. */
#define CUDA_DO(device, library, name, arguments, error) \
	cuda_done(device, CUDA_LIBRARY_##library, (int)(device)->calls->name arguments, #name, \
		  error)
bool cuda_done(const struct cuda_device *device, enum cuda_library library, int status,
	       const char *call, struct train_error *error);
#define CUDA_KERNEL(device, name, args, error) \
	CUDA_KERNEL_ON(device, (device)->stream, name, args, error)
/* The same on another stream of the device. */
#define CUDA_KERNEL_ON(device, stream, name, args, error) \
	CUDA_DO(device, KERNELS, kernel_##name, (args, stream), error)

/* A call that frees something. */
#define CUDA_END(device, library, name, arguments) \
	cuda_done(device, CUDA_LIBRARY_##library, (int)(device)->calls->name arguments, #name, \
		  &TRAIN_TOLERATED)

/* Opens the library for this device, unless it is open. The first operation that needs the library
 * calls this when it is planned. */
bool cuda_want_cudnn(struct cuda_device *device, struct train_error *error);
bool cuda_want_cublaslt(struct cuda_device *device, struct train_error *error);
/* Makes room in the shared workspace. */
bool cuda_want_workspace(struct cuda_device *device, size_t bytes, struct train_error *error);
bool cuda_want_scratch(struct cuda_device *device, size_t bytes, struct train_error *error);

/* --- cuda/nhwc.c */

cudnnDataType_t cuda_cudnn_type(enum value_type type);
cudaDataType_t cuda_type(enum value_type type);
/* Channels are padded to a multiple of this. */
int cuda_channel_multiple(enum value_type type);
int cuda_padded(enum value_type type, int64_t channels);
/* An NHWC layout whose padding is noted in *order. */
struct layout cuda_nhwc(const struct layout *shape, int64_t channels, int64_t height, int64_t width,
			struct cuda_order *order);
bool cuda_is_nhwc(const struct layout *layout);
/* The padded number of channels; in host order their number. */
int cuda_channels(const struct layout *layout);
BACKEND_CALL(same_layout) cuda_same_layout;
BACKEND_CALL(convert) cuda_convert;

/* --- cuda/memory.c */

BACKEND_CALL(allocate) cuda_allocate;
BACKEND_CALL(allocate_zeros) cuda_allocate_zeros;
/* If too little is free, *memory is NULL, which is not an error. */
bool cuda_try_allocate(struct cuda_device *device, size_t bytes, const char *what, void **memory,
		       struct train_error *error);
BACKEND_CALL(release) cuda_release;
BACKEND_CALL(write) cuda_write;
BACKEND_CALL(write_ahead) cuda_write_ahead;
BACKEND_CALL(read) cuda_read;
BACKEND_CALL(copy) cuda_copy;
BACKEND_CALL(zero) cuda_zero;
BACKEND_CALL(fetch) cuda_fetch;
BACKEND_CALL(take) cuda_take;
BACKEND_CALL(add) cuda_add;

/* --- cuda/stream.c */

BACKEND_CALL(event_new) cuda_event_new;
BACKEND_CALL(event_record) cuda_event_record;
BACKEND_CALL(event_wait) cuda_event_wait;
BACKEND_CALL(event_abort) cuda_event_abort;
BACKEND_CALL(event_free) cuda_event_free;
BACKEND_CALL(mark) cuda_mark;
/* The same for another stream of the device. */
int64_t cuda_mark_on(struct cuda_device *device, cudaStream_t stream);
BACKEND_CALL(mark_ns) cuda_mark_ns;
void cuda_marks_free(struct cuda_device *device);
BACKEND_CALL(finish) cuda_finish;
BACKEND_CALL(recording_new) cuda_recording_new;
BACKEND_CALL(recording_run) cuda_recording_run;
BACKEND_CALL(recording_free) cuda_recording_free;

/* --- cuda/wait.c: waiting with the device's watcher, for which CUDA's own waits would never end
 * once another rank is gone. Do not call them during a capture. */

/* Waits until all work on the device's stream is done. */
bool cuda_wait_stream(struct cuda_device *device, struct train_error *error);
/* Waits until an event, recorded on any stream of the device, has occurred. */
bool cuda_wait_event(struct cuda_device *device, cudaEvent_t event, struct train_error *error);

/* --- cuda/time_candidates.c: chooses one of several ways to compute the same values */

enum { CUDA_WAYS = 48, CUDA_WAY_WORDS = 9, CUDA_KEY_WORDS = 12 };

/* A way to compute an operation: its library's number for it, and the bytes of workspace that it
 * needs. If it does not run, it is tried once more with more_workspace bytes more. */
struct cuda_way {
	uint64_t words[CUDA_WAY_WORDS];
	size_t workspace, more_workspace;
};

struct cuda_ways {
	const char *what; /* for messages: "cuDNN", "cuBLASLt" */
	/* in the order of the library, which puts the best first */
	struct cuda_way list[CUDA_WAYS];
	int count;
	struct cuda_way known;        /* one of the list: chosen if none can be timed */
	struct train_error why;       /* if the list is empty: why the first way failed */
	uint64_t key[CUDA_KEY_WORDS]; /* the operation; kind: of the device */
	size_t operands;              /* bytes that the operation reads and writes */
	/* Puts a way on the device's stream, with operands and workspace that are aligned to 256.
	 */
	bool (*run)(void *argument, const struct cuda_way *way, void *operands, void *workspace,
		    struct train_error *error);
	void *argument;
};

/*
 * Chooses one of the ways that runs and can be recorded. Call it when an operation is planned,
 * never during a capture. On a deterministic device this is the first, else the fastest: the first
 * 16 that run are timed, the best 6 of them more than once. This is done once for each key and kind
 * of GPU in this process, so that replicas compute alike. chosen->workspace is what the way needs.
 * A way with too large a workspace is chosen only if there is no other. The trials use memory of
 * the device, one choice of this process at a time. If memory is short, ways with a large workspace
 * are left out; if nothing can be tried, `known` is chosen. Waits. False: no way runs, and the
 * reason is that of the first; or the device failed.
 */
bool cuda_choose(struct cuda_device *device, struct cuda_ways *ways, struct cuda_way *chosen,
		 struct train_error *error);

/* Between these calls no thread of this process records a way: creating or freeing a handle of a
 * library may wait for the GPU, which would abort a capture. */
void cuda_captures_lock(void);
void cuda_captures_unlock(void);

/* --- operations */

op_make cuda_convolution, cuda_linear, cuda_addition, cuda_batch_norm, cuda_max_pool,
	cuda_mean_pool;
BACKEND_CALL(convolution_pool) cuda_convolution_pool;
BACKEND_CALL(loss) cuda_loss;

/* --- cuda/nhwc.c */

/* For struct op_calls: between (out, in, height, width) of the host and (out, height, width, in) of
 * the device, by `host` of the operation. */
bool cuda_weight_write(struct op *op, void *to, const void *host, struct train_error *error);
bool cuda_weight_read(struct op *op, void *host, const void *from, struct train_error *error);

/* Converts values to another type. */
bool cuda_cast(struct cuda_device *device, void *to, enum value_type to_type, const void *from,
	       enum value_type from_type, int64_t count, struct train_error *error);
/* The gradient of a bias; relu: the output, or NULL. */
bool cuda_bias_gradient(const struct op *op, const struct op_args *args, bool relu, float *sums,
			struct train_error *error);

/* --- cuda/data.c, cuda/optimize.c */

BACKEND_CALL(data_open) cuda_data_open;
BACKEND_CALL(data_fills) cuda_data_fills;
BACKEND_CALL(data_fill) cuda_data_fill;
BACKEND_CALL(data_close) cuda_data_close;

BACKEND_CALL(optimize_new) cuda_optimize_new;
BACKEND_CALL(optimize_measure) cuda_optimize_measure;
BACKEND_CALL(optimize_norm) cuda_optimize_norm;
BACKEND_CALL(optimize_run) cuda_optimize_run;
BACKEND_CALL(optimize_begin) cuda_optimize_begin;
BACKEND_CALL(optimize_early) cuda_optimize_early;
BACKEND_CALL(optimize_end) cuda_optimize_end;
BACKEND_CALL(optimize_state) cuda_optimize_state;
BACKEND_CALL(optimize_set_steps) cuda_optimize_set_steps;
BACKEND_CALL(optimize_free) cuda_optimize_free;

#endif
