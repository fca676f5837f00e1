/* SPDX-License-Identifier: MIT */
/* The parts of the oneDNN backend: devices, and primitives with their memory objects. */
#ifndef TRAIN_BACKEND_ONEDNN_H
#define TRAIN_BACKEND_ONEDNN_H

#include "backend/cpu/cpu.h"
#include "backend/onednn/api.h"

/* How operations of bfloat16 values are computed; README.md has the figures. */
enum onednn_half {
	HALF_NONE,  /* not at all: float32 is faster */
	HALF_PAIRS, /* by vdpbf16ps, and by the trainer's own Winograd algorithm */
	HALF_TILES, /* by oneDNN with AMX */
};

/* What planning takes where oneDNN's first implementation is a reference; README.md has the order.
 */
enum onednn_way { WAY_PADDED, WAY_MOVED, WAY_WIDENED, WAY_REFERENCES, WAYS };

struct onednn_device {
	struct cpu_device cpu;
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	bool exact;
	enum onednn_half half;
	/* For tests: of the implementations that planning looks at, those from the first to the
	 * last one count as references. They are numbered from 1. And how often each way was
	 * taken. */
	struct {
		int count, first, last, ways[WAYS];
	} tried;
};

enum { ONEDNN_MAX_ARGS = 6 };

/* One primitive, made once: a run sets the addresses that changed. All zero: no primitive. */
struct onednn_task {
	dnnl_primitive_desc_t description;
	dnnl_primitive_t primitive;
	dnnl_exec_arg_t args[ONEDNN_MAX_ARGS];
	const void *bound[ONEDNN_MAX_ARGS];
	int count, choice;
	size_t scratch; /* bytes */
};

/* The address of one argument; DNNL_ARG_SCRATCHPAD is one. */
struct onednn_address {
	int arg;
	const void *at;
};

/* Notes that oneDNN could not do `what`: "device 3: oneDNN fails at WHAT ...". Returns false. */
bool onednn_failed(const struct device *device, const char *what, dnnl_status_t status,
		   struct train_error *error);

/* args ends with 0; NULL: only a description is wanted. The first implementation from wish->choice
 * on that is no reference, or else, with wish->references, the first one; the task has its number.
 * A task that failed is empty; TRAIN_NO_BACKEND: there is none. */
bool onednn_task_make(struct onednn_task *task, struct device *device,
		      const struct onednn_wish *wish, const int *args, const char *what,
		      struct train_error *error);
bool onednn_task_reorder(struct onednn_task *task, struct device *device, const onednn_layout *from,
			 const onednn_layout *to, struct train_error *error);
void onednn_took(struct device *device, enum onednn_way way);
/* A place for so many bytes at the end of scratch memory, which grows by them. */
size_t onednn_room(size_t *scratch, size_t bytes);
/* Arguments that the task does not have are ignored. */
bool onednn_task_run(struct onednn_task *task, struct device *device,
		     const struct onednn_address *addresses, int count, struct train_error *error);
/* Runs a task of onednn_task_reorder(), which writes `to`. */
bool onednn_task_move(struct onednn_task *task, struct device *device, const void *from, void *to,
		      const void *scratch, struct train_error *error);
void onednn_task_free(struct onednn_task *task);
/* The layout of an argument. It lives as long as the task. */
const onednn_layout *onednn_task_layout(const struct onednn_task *task, int arg);

/* Depends on the processor alone, and on the variables that limit its instructions. */
enum onednn_half onednn_half_here(void);
/* Fails if operations cannot have this type. */
bool onednn_type_here(struct device *device, enum value_type type, struct train_error *error);
dnnl_data_type_t onednn_type(enum value_type type);
/* With 4 dimensions in this order. */
onednn_layout *onednn_layout_of(const struct layout *layout, dnnl_format_tag_t tag);
/* Row-major with this many dimensions: 4, or 2 for features. */
onednn_layout *onednn_host_layout(const struct layout *layout, int dims);
/* Sets the model's view of a layout; order is NULL for host order. */
void onednn_layout_out(struct layout *layout, const onednn_layout *order);
BACKEND_CALL(same_layout) onednn_same_layout;

op_make onednn_convolution, onednn_linear, onednn_max_pool, onednn_mean_pool, onednn_batch_norm,
	onednn_addition;
BACKEND_CALL(convert) onednn_convert;

/* An operation of bfloat16 values that computes in float32, which `make` plans: more exact than
 * bfloat16, and slower than float32 alone. */
bool onednn_widened(struct op **op, struct device *device, const struct op_shape *shape,
		    op_make *make, struct train_error *error);

/* Whether Winograd's algorithm, of oneDNN or of the trainer, is wanted for values of this type: not
 * if the device is exact. */
bool onednn_wants_winograd(const struct device *device, const struct op_shape *shape,
			   enum value_type type);
/* Whether the trainer's own Winograd algorithm computes this 3x3 convolution of stride 1, in
 * float32, on this processor. It does where oneDNN has none. */
bool onednn_winograd_fits(const struct op_shape *shape);
/* Of an operation whose output is known. */
struct cpu_winograd onednn_winograd_of(const struct op *op);
op_make onednn_winograd;

/* ReLU's derivative, in place: output gradients become 0 where the output is not above 0. */
void onednn_relu_backward(const struct op *op, const struct op_args *args);

#endif
