/* SPDX-License-Identifier: MIT */
/*
 * What computes: a table of operations on the memory of one device. The code above it knows neither
 * the processor nor the library; a backend is one such table (backend_reference, backend_onednn).
 *
 * Device and stream. A device is used by one thread at a time. Its work is put on its stream and
 * done in that order; only calls that are documented to wait return after the work is done. On the
 * CPU all work is done when the call returns, by the calling thread and the device's own helpers.
 *
 * Operations are planned once per shape. Planning chooses algorithms and memory layouts, and
 * allocates. Running does not allocate, choose or wait, so that a whole step can be recorded. The
 * caller owns data, gradients and scratch, and gives device addresses.
 *
 * A batch size is part of the shape. With a smaller batch some rows are unused: the loss gives them
 * no weight, their gradients are zero, and sums over the batch are those of the used rows.
 */
#ifndef TRAIN_BACKEND_H
#define TRAIN_BACKEND_H

#include <sched.h>

#include "kernels/control.h"
#include "kernels/value.h"
#include "data/batch.h"
#include "base/error.h"
#include "optim/optimizer.h"
#include "kernels/scaler.h"

struct backend;
struct event;     /* a place in a stream */
struct recording; /* of operations, as a step */

/* Work on a stream may never finish if it needs another rank, or the device hangs. A thread that
 * waits for the device calls this now and then, with the time that it has waited. False, with the
 * reason, ends the wait. */
struct device_watch {
	bool (*good)(void *argument, int64_t waited_ns, struct train_error *error);
	void *argument;
};

/* A real GPU, or one that the CPU simulates: its own memory, threads and stream. Backends extend
 * it. Bytes count what was allocated through `allocate`, with what planned operations own. */
struct device {
	const struct backend *backend;
	int physical; /* its physical number, or that of the GPU that it simulates */
	/* Of a real GPU, from the driver: "0000:5e:00.0" and "GPU-..."; else NULL. */
	const char *pci, *uuid;
	size_t bytes, peak_bytes;
	/* part of `bytes`: shared by operations, until the device is closed */
	size_t shared_bytes;
	struct device_watch watch; /* good: NULL without a watcher */
};

/* The ranks that normalize their batches as one. */
struct batch_ranks {
	int count;
	/* all[r * bytes] gets `mine` of rank r, both on the device, in the order of its stream. All
	 * ranks make the same calls in the same order. */
	bool (*gather)(void *argument, const void *mine, void *all, size_t bytes,
		       struct train_error *error);
	void *argument;
};

struct device_options {
	int physical, logical; /* logical: among the GPUs that this process sees */
	const char *uuid;      /* of a GPU, which finds it; NULL or "": by its logical number */
	int threads;           /* on the CPU: threads that compute, with the calling one */
	const cpu_set_t *cpus; /* on the CPU: the cores of these threads; NULL: unchanged */
	bool exact; /* prefer algorithms with the rounding of plain sums to faster ones */
	/* On a GPU: use only algorithms that give the same bits in every run, and choose them
	 * without measuring, because a measurement may choose differently next time. The algorithms
	 * of the CPU always give the same bits. */
	bool deterministic;
};

/* How the values of one activation lie in memory: (batch, channels, height, width), features are
 * channels of 1x1. Each backend has its own orders; NULL is host order: row-major, dense. An order
 * lives as long as its operation. */
struct layout {
	enum value_type type;
	int64_t batch, channels, height, width;
	size_t bytes; /* with padding */
	const void *order;
};

/*
 * Addresses of one run. Parameters are floats, doubles where values are VALUE_FLOAT64. An operation
 * ignores the addresses that are not named for it below. It must not keep addresses that it does
 * not own.
 */
struct op_args {
	const void *input;         /* layout of info.input */
	const void *addend;        /* addition: the same */
	void *output;              /* layout of info.output */
	void *workspace;           /* info.workspace bytes: forward leaves them for backward */
	void *scratch;             /* info.scratch bytes, of no meaning between runs */
	const void *weight, *bias; /* info.weights and info.biases elements */
	void *output_gradient;     /* layout of info.output */
	void *input_gradient;      /* layout of info.input */
	void *weight_gradient, *bias_gradient; /* as weight and bias */
	const int32_t *labels;                 /* loss: (batch) */
	const struct pass_control *control;    /* loss: rows and scale; batch normalization: rows */
	const struct scaler *scaler;           /* loss: scales gradients too; NULL: none */
	struct loss_result *result;            /* loss: added to */
	bool overwrite;                        /* loss: result is overwritten instead */
	/* Batch normalization: as weight; and whether forward normalizes by the batch. */
	void *running_mean, *running_var;
	bool training;
	/* training: they normalize their batches as one, at most op_shape.ranks of them; NULL: this
	 * one alone */
	const struct batch_ranks *ranks;
};

struct op;

typedef bool op_run(struct op *op, const struct op_args *args, struct train_error *error);

/* The runs of a planned operation; NULL: nothing to do. They return false with the reason noted.
 * backward_weights comes before backward_data, so that a gradient can be sent while the next is
 * computed. */
struct op_calls {
	/* Makes copies of weight in other types or layouts, after it has changed and before
	 * forward. Needs weight and scratch. */
	op_run *prepare;
	op_run *forward, *backward_weights, *backward_data;
	/* Between PyTorch's order on the host and the device's. Both wait. NULL: the same order. */
	bool (*weight_write)(struct op *op, void *to, const void *host, struct train_error *error);
	bool (*weight_read)(struct op *op, void *host, const void *from, struct train_error *error);
	void (*free)(struct op *op); /* what it holds; NULL: nothing */
};

struct op_info {
	struct layout input, output;
	int64_t weights, biases;   /* elements, without padding: a permutation of PyTorch's */
	size_t workspace, scratch; /* bytes */
	bool data_reads_input;     /* backward_data reads `input` too */
	bool relu_from_input; /* with relu_backward: the output is not read, and its gradient is not
			       * changed */
	/* names of its algorithms, for messages; lives as long as the operation */
	const char *algorithm;
	/* Copies of weight and bias in another type or with padding, on the CPU dense and bfloat16.
	 * prepare makes them. Afterwards optimize_run may update them with the parameters; where
	 * there is one, prepare has nothing else to do and is not needed again. */
	struct value_rows weight_copy, bias_copy;
	/* With raw_gradient: where backward_weights leaves the gradient of weight, if not in
	 * weight_gradient. */
	struct value_rows raw_gradient;
};

/*
 * ReLU is part of the operation before it. With relu, forward writes max(0, y), and for a NaN in y
 * either NaN (the reference) or a number (oneDNN). A NaN may go unnoticed there, so weights that
 * are not finite are rejected when they are read (checkpoint.h). With relu_backward, the first
 * backward run sets to zero, in place, the output gradients whose output is not greater than zero.
 * If only a max-pooling reads the output, relu_backward belongs to the pooling, whose output is
 * smaller. Nothing else changes an output gradient. An operation may find ReLU's derivative from
 * its input instead (info.relu_from_input).
 *
 * Convolution:  output[n][o][y][x] = bias[o] + sum over c, i, j of
 *               input[n][c][y * stride + i - pad][x * stride + j - pad] * weight[o][c][i][j]
 *   input (batch, channels, height, width), output (batch, out, H, W), H = (height + 2 pad -
 *   kernel) / stride + 1, weight (out, channels, kernel, kernel), bias (out).
 *   forward: input, weight, bias -> output.
 *   backward_weights: input, output_gradient (output with relu_backward) -> weight_gradient,
 *   bias_gradient. backward_data: output_gradient, weight -> input_gradient.
 * Linear: the same with input (batch, channels * height * width), weight (out, those), y = x W^T
 *   + b; kernel, pad and stride are not used. The input may come from a convolution as it lies.
 * Max-pooling: kernel x kernel, with stride and pad <= kernel / 2; the rest at the end is left out,
 *   and outside there are no values; of equal values the first counts, and a NaN before all.
 *   forward: input -> output, workspace. backward_data: output_gradient, workspace (output with
 *   relu_backward) -> input_gradient.
 * Global average pooling: the mean of each channel, (batch, channels, 1, 1) in host order. forward:
 *   input -> output. backward_data: output_gradient -> input_gradient.
 * Batch normalization (Ioffe and Szegedy, 2015; torch.nn.BatchNorm2d): output = (input - mean) /
 *   sqrt(variance + eps) * weight + bias, each of (channels). Training: mean and biased variance
 *   are those of the first control->rows rows over (batch, height, width), and the running ones
 *   move: r = (1 - momentum) * r + momentum * x, of the variance with n / (n - 1) for n values (not
 *   if n is 1), and the output of rows that do not count is zero. Otherwise they are the running
 *   ones, and no backward may follow. With `ranks` rows are those of all ranks, as
 *   torch.nn.SyncBatchNorm's, whose sums forward and backward gather, and all ranks get the same
 *   bits; the gradients of weight and bias are those of this rank's rows. forward: input, weight,
 *   bias, control, running_mean, running_var -> output, workspace, and the running ones.
 *   backward_weights: input, output_gradient, workspace, control (output with relu_backward) ->
 *   weight_gradient, bias_gradient. backward_data, after it: the same and weight -> input_gradient.
 * Addition: output = input + addend, in the layout of shape->input, whose order must outlive the
 *   operation; out, kernel, pad and stride are not used. The output may lie where an input lies.
 *   forward: input, addend -> output. The gradient of both inputs is output_gradient, so nothing is
 *   computed: backward_data is NULL without relu_backward, and with it makes only ReLU's derivative
 *   (output, output_gradient).
 */
struct op_shape {
	struct layout input; /* the operation before; another layout may come back in op->info */
	int out, kernel, pad, stride;
	double eps, momentum; /* batch normalization */
	int ranks;            /* the same: the most that op_args.ranks may be; 0: there are none */
	bool relu, relu_backward;
	bool no_backward_data; /* it is never run: the input is data */
	bool no_bias;          /* a convolution without: bias and its gradient are NULL */
	/* the pooling after it computes it (backend.pool_sums) */
	bool no_bias_gradient;
	/* Only optimize_run reads the gradient of weight: it may stay as it was computed, in
	 * another type and with padding (op_info.raw_gradient). The CPU ignores this. */
	bool raw_gradient;
	/* Bytes from an aligned address to weight and weight_gradient, and to those of the bias. */
	size_t weight_offset, bias_offset;
};

/* A planned operation; backends extend it. */
struct op {
	const struct op_calls *calls;
	struct device *device;
	struct op_shape shape; /* that it was planned for */
	struct op_info info;
};

/* Plans an operation. On failure *op is untouched. */
typedef bool op_make(struct op **op, struct device *device, const struct op_shape *shape,
		     struct train_error *error);

/* A data set for a device: the CPU reads it in place, a GPU copies it. */
struct device_data;

/*
 * The optimizer over flat buffers of parameters and gradients, with its own state on the device in
 * the same layout. The `count` parameters are parts of the buffers, in the order of the model; an
 * unused parameter and its state stay unchanged.
 */
struct optimize;

struct optimize_parameter {
	const char *name;
	int64_t offset, elements; /* in the flat buffers */
	bool used;
	struct value_rows copy;     /* gets the new values too; without memory: none */
	struct value_rows gradient; /* without memory: in the flat buffer */
	bool early;                 /* optimize_early updates it; only where nothing is measured */
};

struct optimize_options {
	struct optimizer_settings settings;
	float *values;
	const float *gradients;
	const struct optimize_parameter *parameters; /* copied, except the names */
	int count;
	struct scaler *scaler; /* on the device; it outlives the optimizer; NULL: none */
	/* Of a stage: the number of the model's parameters before these, and after them. */
	int before, after;
};

/* The size of one state: floats up to the end of the last parameter; never 0. */
static inline size_t optimize_state_bytes(const struct optimize_options *options)
{
	size_t floats = 1;

	for (int i = 0; i < options->count; i++) {
		const struct optimize_parameter *p = &options->parameters[i];
		size_t end = (size_t)(p->offset + p->elements);

		floats = end > floats ? end : floats;
	}
	return floats * sizeof(float);
}

/* The samples of one pass. */
struct data_batch {
	const struct batch_options *options;
	int64_t rows; /* the maximum; control->rows of them are filled */
	/* On the device */
	const struct pass_control *control; /* epoch and rows */
	const int64_t *indices;
	const struct layout *layout; /* of images: (rows, channels, options' height and width) */
	void *images;
	int32_t *labels;
};

/* The greatest number of copies to the host in flight, and the greatest size of one. */
enum { MAX_FETCH = 4, FETCH_BYTES = 512 };

struct backend {
	const char *name;
	int ahead; /* steps before the result of one is asked for; at most MAX_FETCH - 2 */

	/* Whether the machine has what the backend needs; NULL: it needs nothing. */
	bool (*ready)(struct train_error *error);
	/* Called by the thread that will use the device, before anything computes: on the CPU this
	 * sets the thread's cores and its number of threads, which its helpers inherit. close waits
	 * and frees the device; free operations, events and memory on it first. */
	bool (*open)(struct device **device, const struct device_options *options,
		     struct train_error *error);
	void (*close)(struct device *device);
	/* Whether operations can compute with activations of this type. If not, plan none. */
	bool (*has_type)(struct device *device, enum value_type type);

	/* Memory: 64-byte aligned; bytes > 0; allocate does not initialise it, allocate_zeros does.
	 * `what` names it in messages. */
	void *(*allocate)(struct device *device, size_t bytes, const char *what,
			  struct train_error *error);
	void *(*allocate_zeros)(struct device *device, size_t bytes, const char *what,
				struct train_error *error);
	void (*release)(struct device *device, void *memory);
	/* write copies from the host and returns when the source may be reused; read copies to the
	 * host and waits; copy takes memory of this or another device of this backend; zero clears
	 * bytes. */
	bool (*write)(struct device *device, void *to, const void *host, size_t bytes,
		      struct train_error *error);
	bool (*read)(struct device *device, void *host, const void *from, size_t bytes,
		     struct train_error *error);
	/* As write, for the inputs of the next step while the device still computes: the copy waits
	 * only for the work that was on the stream at the previous call of write_ahead, and the
	 * stream's later work waits for the copy. */
	bool (*write_ahead)(struct device *device, void *to, const void *host, size_t bytes,
			    struct train_error *error);
	bool (*copy)(struct device *device, void *to, const struct device *other, const void *from,
		     size_t bytes, struct train_error *error);
	bool (*zero)(struct device *device, void *to, size_t bytes, struct train_error *error);
	/* Results without waiting: fetch copies them to the host after the work on the stream, at
	 * most FETCH_BYTES and with at most MAX_FETCH in flight; take waits for the oldest copy and
	 * returns it. Of later work only that after the next fetch waits for the copy; until then
	 * `from` must stay unchanged. */
	bool (*fetch)(struct device *device, const void *from, size_t bytes,
		      struct train_error *error);
	bool (*take)(struct device *device, void *host, size_t bytes, struct train_error *error);
	/* sum[i] += more[i], in floats, for accumulation and for the sums of dp. */
	bool (*add)(struct device *device, float *sum, const float *more, int64_t count,
		    struct train_error *error);

	op_make *convolution, *max_pool, *mean_pool, *batch_norm, *linear, *addition;
	/* A convolution of data with ReLU, and the max-pooling that alone reads it, as one
	 * operation: info.input is the convolution's, info.output the pooling's. pool->input is not
	 * used. *op: NULL if the backend has none for them, or if the two operations take less
	 * time. The call itself is NULL where there are none at all. forward: input, weight, bias
	 * -> output, workspace. backward_weights: input, output, output_gradient, workspace ->
	 * weight_gradient, bias_gradient. */
	bool (*convolution_pool)(struct op **op, struct device *device,
				 const struct op_shape *convolution, const struct op_shape *pool,
				 struct train_error *error);
	bool pool_sums; /* backward_data of a pooling with relu_backward leaves in bias_gradient the
			 * sums of what it writes, by channel, where that is not NULL */
	/* The same values in another layout or type; backward_data goes the other way. */
	bool (*convert)(struct op **op, struct device *device, const struct layout *from,
			const struct layout *to, struct train_error *error);
	bool (*same_layout)(const struct layout *a, const struct layout *b);
	/* Softmax cross-entropy of logits (batch, channels, 1, 1) in host order. forward: input,
	 * labels, control -> what is added to result or overwrites it, and unless that is NULL,
	 * input_gradient = (softmax - one-hot) * control's scale * scaler's, zero in rows that do
	 * not count; it may be the input's memory. A row with a label outside of 0..channels-1 does
	 * not count. A row with a NaN or a positive infinity has a loss and gradients of NaN, and
	 * is not correct. */
	bool (*loss)(struct op **op, struct device *device, const struct layout *logits,
		     struct train_error *error);

	/* data must outlive the copy on the device. fill: as batch_fill(), to a layout that
	 * data_fills() allows; floats in host order are always allowed. */
	bool (*data_fills)(const struct layout *images);
	bool (*data_open)(struct device_data **data, struct device *device,
			  const struct dataset *dataset, struct train_error *error);
	bool (*data_fill)(struct device_data *data, const struct data_batch *batch,
			  struct train_error *error);
	void (*data_close)(struct device_data *data);

	/* State begins as zero, steps as 0. control and measure lie on the device. measure computes
	 * all of *measure. Of a stage, norm computes the norm of the whole model after the sums
	 * over the stages. run makes a step, clipped by measure; with a scaler it is unscaled, left
	 * out if measure is not finite, and followed by scaler_update(). measure is NULL where
	 * there is no scaler and control does not clip, and then only may gradients lie elsewhere
	 * than in the flat buffer. */
	bool (*optimize_new)(struct optimize **optimize, struct device *device,
			     const struct optimize_options *options, struct train_error *error);
	bool (*optimize_measure)(struct optimize *optimize, struct gradient_measure *measure,
				 struct train_error *error);
	bool (*optimize_norm)(struct optimize *optimize, struct gradient_measure *measure,
			      struct train_error *error);
	bool (*optimize_run)(struct optimize *optimize, const struct update_control *control,
			     const struct gradient_measure *measure, struct train_error *error);
	/*
	 * A step where measure would be NULL may also be made beside other work, by three calls:
	 * begin when control is on the stream; early when the stream has the gradients of all early
	 * parameters, and everything of the step that reads these parameters and their copies; end
	 * when it has all gradients. A parameter must be early. What is put on the stream between
	 * early and end may run at the same time as the update of these parameters, so that it must
	 * not change their gradients; what follows end comes after the whole step. The values are
	 * those of run. The CPU updates all parameters at end, and keeps what backward reads in its
	 * caches.
	 */
	bool (*optimize_begin)(struct optimize *optimize, const struct update_control *control,
			       struct train_error *error);
	bool (*optimize_early)(struct optimize *optimize, struct train_error *error);
	bool (*optimize_end)(struct optimize *optimize, struct train_error *error);
	/* The flat buffer of the index-th state, and its name in PyTorch; NULL past the last. */
	void *(*optimize_state)(struct optimize *optimize, int index, const char **name);
	/* So many steps were made before; waits. */
	bool (*optimize_set_steps)(struct optimize *optimize, int64_t steps,
				   struct train_error *error);
	void (*optimize_free)(struct optimize *optimize);

	/* Events order streams of several devices. record: adds one to the event's count when the
	 * device's stream gets here. wait: later work on this device's stream waits until the count
	 * is `times` or more; any thread may call it, even before the recording. abort: all waits
	 * fail, now and later, because the device will not get there. */
	bool (*event_new)(struct event **event, struct device *device, struct train_error *error);
	bool (*event_record)(struct event *event, struct train_error *error);
	bool (*event_wait)(struct device *device, struct event *event, uint64_t times,
			   struct train_error *error);
	void (*event_abort)(struct event *event);
	void (*event_free)(struct event *event);
	/* For time lines. mark: returns the number, from 1, of a mark at this place of the stream.
	 * mark_ns: returns the CLOCK_MONOTONIC time when the stream reached it, after all work was
	 * waited for; with 0 it forgets all marks. Both are NULL if work is always done when a call
	 * returns. */
	int64_t (*mark)(struct device *device);
	int64_t (*mark_ns)(struct device *device, int64_t mark);
	/* Waits for all that is on the stream. */
	bool (*finish)(struct device *device, struct train_error *error);

	/* A step: `issue` runs operations and copies between fixed device addresses, and nothing
	 * that waits. A GPU records it once; the CPU calls it in every run. */
	bool (*recording_new)(struct recording **step, struct device *device,
			      bool (*issue)(void *argument, struct train_error *error),
			      void *argument, struct train_error *error);
	bool (*recording_run)(struct recording *step, struct train_error *error);
	/* A run in progress continues; this does not wait for it. */
	void (*recording_free)(struct recording *step);
};

/* Plain loops in C with sums in double. The other backends are tested against it. VALUE_FLOAT64
 * makes it double throughout, for finite differences. */
extern const struct backend backend_reference;
/* oneDNN on the CPU; ready, mark and mark_ns are NULL. Exists only if HAVE_DNNL. */
extern const struct backend backend_onednn;
/* GPUs, by cuDNN, cuBLASLt and kernels/. Exists only if HAVE_CUDA_BACKEND. */
extern const struct backend backend_cuda;

/* Declares a function for this member of struct backend: BACKEND_CALL(write) cuda_write. */
#define BACKEND_CALL(member) __typeof__(*((struct backend *)NULL)->member)

/* The backend called NAME; "auto" is the best of this build. NULL with a message that lists the
 * backends. */
const struct backend *backend_find(const char *name, struct train_error *error);

/* The name of the i-th backend of this build, the one of "auto" first; NULL past the last. */
const char *backend_name(size_t i);

/* The type to compute in for `wanted`: the same, or VALUE_FLOAT32 if the device lacks it, which is
 * no less precise. In that case text[size] has a remark; else it is empty. */
enum value_type backend_type(struct device *device, enum value_type wanted, char *text,
			     size_t size);

/* A zeroed operation of `size` bytes, which begins with a struct op; freed by op_free(). Its input
 * and output have the layout of shape->input until they are planned. */
void *op_new(size_t size, struct device *device, const struct op_calls *calls,
	     const struct op_shape *shape);
/* Gives a new operation to *ret if it could be planned, else frees it. Returns `planned`. */
bool op_give(struct op **ret, struct op *op, bool planned);
/* Frees an operation and what it holds; NULL is allowed. */
void op_free(struct op *op);

/* A dense layout in host order. */
struct layout layout_host(enum value_type type, int64_t batch, int64_t channels, int64_t height,
			  int64_t width);
int64_t layout_values(const struct layout *layout);

/* The size of the output of a convolution or pooling: (size + 2 pad - kernel) / stride + 1. */
static inline int64_t op_output_size(int64_t size, const struct op_shape *shape)
{
	return (size + 2 * shape->pad - shape->kernel) / shape->stride + 1;
}

#endif
