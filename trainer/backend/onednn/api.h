/* SPDX-License-Identifier: MIT */
/*
 * oneDNN's C interface of version 2 and of version 3, which has no operation descriptors and has
 * opaque memory descriptors. Nothing else in the trainer knows the version.
 */
#ifndef TRAIN_BACKEND_ONEDNN_API_H
#define TRAIN_BACKEND_ONEDNN_API_H

#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>

#include "base.h"

/* Both versions take a pointer to it as a memory descriptor. */
#if DNNL_VERSION_MAJOR >= 3
typedef struct dnnl_memory_desc onednn_layout;
#else
typedef dnnl_memory_desc_t onednn_layout;
#endif

enum onednn_kind { ONEDNN_CONVOLUTION, ONEDNN_LINEAR };
enum onednn_pass { ONEDNN_FORWARD, ONEDNN_BACKWARD_DATA, ONEDNN_BACKWARD_WEIGHTS };

/* The description of one primitive. In backward passes the layouts are those of gradients, except
 * for the source of the weights' gradient and the weights of the data's gradient. */
struct onednn_wish {
	dnnl_engine_t engine;
	enum onednn_kind kind;
	enum onednn_pass pass;
	dnnl_alg_kind_t algorithm; /* convolution */
	const onednn_layout *source, *weights, *bias, *target;
	dnnl_dims_t strides, pad;
	bool relu;                        /* max(0, x) of what forward writes */
	const_dnnl_primitive_desc_t hint; /* backward: the forward pass */
	/* Of the implementations that can do it, neighbours of one name counted once: 0 is oneDNN's
	 * first. oneDNN gives one twice after a primitive was made of it. */
	int choice;
	bool references; /* plain loops will do too (onednn_task_make) */
};

/* dnnl_unimplemented: there are no more. On failure *description is untouched. The caller owns the
 * scratch memory. */
dnnl_status_t onednn_describe(dnnl_primitive_desc_t *description, const struct onednn_wish *wish);

/* Of an implementation; lives as long as the description. "": unknown. */
const char *onednn_name(const_dnnl_primitive_desc_t description);

/* Whether both lay values of the same dimensions in the same order, whatever their types. */
bool onednn_same_order(const onednn_layout *a, const onednn_layout *b);

/* Of valid sizes. Freed by onednn_layout_free, or ONEDNN_LAYOUT frees it with its variable. */
onednn_layout *onednn_layout_new(int dims, const dnnl_dims_t sizes, dnnl_data_type_t type,
				 dnnl_format_tag_t tag);
void onednn_layout_free(onednn_layout *layout);
void onednn_layout_drop(onednn_layout **layout);
#define ONEDNN_LAYOUT CLEANUP(onednn_layout_drop) onednn_layout

#endif
