/* SPDX-License-Identifier: MIT */
/* See api.h. */
#include "backend/onednn/api.h"
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dnnl_status_t relu_after(dnnl_primitive_attr_t attributes)
{
	dnnl_post_ops_t operations;
	dnnl_status_t status = dnnl_post_ops_create(&operations);

	if (status != dnnl_success)
		return status;
#if DNNL_VERSION_MAJOR >= 3
	status = dnnl_post_ops_append_eltwise(operations, dnnl_eltwise_relu, 0.0f, 0.0f);
#else
	status = dnnl_post_ops_append_eltwise(operations, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f);
#endif
	if (status == dnnl_success)
		status = dnnl_primitive_attr_set_post_ops(attributes, operations);
	dnnl_post_ops_destroy(operations);
	return status;
}

const char *onednn_name(const_dnnl_primitive_desc_t description)
{
	const char *name;
	dnnl_status_t status =
		dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, &name);

	return status == dnnl_success ? name : "";
}

#if DNNL_VERSION_MAJOR >= 3

static const dnnl_dims_t dense = {0};

static dnnl_status_t convolution(dnnl_primitive_desc_t *made, const struct onednn_wish *w,
				 const_dnnl_primitive_attr_t a)
{
	switch (w->pass) {
	case ONEDNN_FORWARD:
		return dnnl_convolution_forward_primitive_desc_create(
			made, w->engine, dnnl_forward_training, w->algorithm, w->source, w->weights,
			w->bias, w->target, w->strides, dense, w->pad, w->pad, a);
	case ONEDNN_BACKWARD_DATA:
		return dnnl_convolution_backward_data_primitive_desc_create(
			made, w->engine, w->algorithm, w->source, w->weights, w->target, w->strides,
			dense, w->pad, w->pad, w->hint, a);
	case ONEDNN_BACKWARD_WEIGHTS:
		break;
	}
	return dnnl_convolution_backward_weights_primitive_desc_create(
		made, w->engine, w->algorithm, w->source, w->weights, w->bias, w->target,
		w->strides, dense, w->pad, w->pad, w->hint, a);
}

static dnnl_status_t linear(dnnl_primitive_desc_t *made, const struct onednn_wish *w,
			    const_dnnl_primitive_attr_t a)
{
	switch (w->pass) {
	case ONEDNN_FORWARD:
		return dnnl_inner_product_forward_primitive_desc_create(
			made, w->engine, dnnl_forward_training, w->source, w->weights, w->bias,
			w->target, a);
	case ONEDNN_BACKWARD_DATA:
		return dnnl_inner_product_backward_data_primitive_desc_create(
			made, w->engine, w->source, w->weights, w->target, w->hint, a);
	case ONEDNN_BACKWARD_WEIGHTS:
		break;
	}
	return dnnl_inner_product_backward_weights_primitive_desc_create(
		made, w->engine, w->source, w->weights, w->bias, w->target, w->hint, a);
}

static dnnl_status_t next(dnnl_primitive_desc_t d)
{
	char before[128];
	dnnl_status_t status = dnnl_success;

	snprintf(before, sizeof(before), "%s", onednn_name(d));
	while (status == dnnl_success && strcmp(onednn_name(d), before) == 0)
		status = dnnl_primitive_desc_next_impl(d);
	return status;
}

static dnnl_status_t describe(dnnl_primitive_desc_t *made, const struct onednn_wish *w,
			      const_dnnl_primitive_attr_t a)
{
	dnnl_primitive_desc_t d;
	dnnl_status_t status = w->kind == ONEDNN_LINEAR ? linear(&d, w, a) : convolution(&d, w, a);

	if (status != dnnl_success)
		return status;
	for (int k = 0; k < w->choice && status == dnnl_success; k++)
		status = next(d);
	if (status == dnnl_success)
		*made = d;
	else
		dnnl_primitive_desc_destroy(d);
	return status == dnnl_last_impl_reached ? dnnl_unimplemented : status;
}

onednn_layout *onednn_layout_new(int dims, const dnnl_dims_t sizes, dnnl_data_type_t type,
				 dnnl_format_tag_t tag)
{
	onednn_layout *layout = NULL;

	if (dnnl_memory_desc_create_with_tag(&layout, dims, sizes, type, tag) != dnnl_success)
		memory_ran_out();
	return layout;
}

void onednn_layout_free(onednn_layout *layout)
{
	if (layout)
		dnnl_memory_desc_destroy(layout);
}

static bool same(const onednn_layout *a, const onednn_layout *b, dnnl_query_t what, int count)
{
	const dnnl_dim_t *x, *y;

	return dnnl_memory_desc_query(a, what, (void *)&x) == dnnl_success &&
	       dnnl_memory_desc_query(b, what, (void *)&y) == dnnl_success &&
	       memcmp(x, y, (size_t)count * sizeof(*x)) == 0;
}

static bool same_count(const onednn_layout *a, const onednn_layout *b, dnnl_query_t what,
		       int *count)
{
	int other;

	return dnnl_memory_desc_query(a, what, count) == dnnl_success &&
	       dnnl_memory_desc_query(b, what, &other) == dnnl_success && *count == other;
}

bool onednn_same_order(const onednn_layout *a, const onednn_layout *b)
{
	int dims, blocks;

	return same_count(a, b, dnnl_query_ndims_s32, &dims) &&
	       same_count(a, b, dnnl_query_inner_nblks_s32, &blocks) &&
	       same(a, b, dnnl_query_dims, dims) && same(a, b, dnnl_query_padded_dims, dims) &&
	       same(a, b, dnnl_query_strides, dims) && same(a, b, dnnl_query_inner_blks, blocks) &&
	       same(a, b, dnnl_query_inner_idxs, blocks);
}

#else /* version 2 */

static dnnl_status_t convolution(dnnl_convolution_desc_t *d, const struct onednn_wish *w)
{
	switch (w->pass) {
	case ONEDNN_FORWARD:
		return dnnl_convolution_forward_desc_init(d, dnnl_forward_training, w->algorithm,
							  w->source, w->weights, w->bias, w->target,
							  w->strides, w->pad, w->pad);
	case ONEDNN_BACKWARD_DATA:
		return dnnl_convolution_backward_data_desc_init(d, w->algorithm, w->source,
								w->weights, w->target, w->strides,
								w->pad, w->pad);
	case ONEDNN_BACKWARD_WEIGHTS:
		break;
	}
	return dnnl_convolution_backward_weights_desc_init(d, w->algorithm, w->source, w->weights,
							   w->bias, w->target, w->strides, w->pad,
							   w->pad);
}

static dnnl_status_t linear(dnnl_inner_product_desc_t *d, const struct onednn_wish *w)
{
	switch (w->pass) {
	case ONEDNN_FORWARD:
		return dnnl_inner_product_forward_desc_init(d, dnnl_forward_training, w->source,
							    w->weights, w->bias, w->target);
	case ONEDNN_BACKWARD_DATA:
		return dnnl_inner_product_backward_data_desc_init(d, w->source, w->weights,
								  w->target);
	case ONEDNN_BACKWARD_WEIGHTS:
		break;
	}
	return dnnl_inner_product_backward_weights_desc_init(d, w->source, w->weights, w->bias,
							     w->target);
}

static dnnl_status_t describe(dnnl_primitive_desc_t *made, const struct onednn_wish *w,
			      const_dnnl_primitive_attr_t a)
{
	union {
		dnnl_convolution_desc_t convolution;
		dnnl_inner_product_desc_t linear;
	} d;
	dnnl_primitive_desc_t now = NULL;
	dnnl_primitive_desc_iterator_t i;
	dnnl_status_t status =
		w->kind == ONEDNN_LINEAR ? linear(&d.linear, w) : convolution(&d.convolution, w);

	if (status == dnnl_success)
		status = dnnl_primitive_desc_iterator_create(&i, &d, a, w->engine, w->hint);
	if (status != dnnl_success)
		return status;
	for (int k = 0; status == dnnl_success;) {
		dnnl_primitive_desc_t before = now;

		now = dnnl_primitive_desc_iterator_fetch(i);
		k += before && now && strcmp(onednn_name(before), onednn_name(now)) != 0;
		dnnl_primitive_desc_destroy(before);
		if (!now)
			status = dnnl_out_of_memory;
		else if (k == w->choice)
			break;
		else
			status = dnnl_primitive_desc_iterator_next(i);
	}
	dnnl_primitive_desc_iterator_destroy(i);
	if (status == dnnl_success)
		*made = now;
	else
		dnnl_primitive_desc_destroy(now);
	return status == dnnl_iterator_ends ? dnnl_unimplemented : status;
}

onednn_layout *onednn_layout_new(int dims, const dnnl_dims_t sizes, dnnl_data_type_t type,
				 dnnl_format_tag_t tag)
{
	onednn_layout *layout = xmalloc(sizeof(*layout));

	dnnl_memory_desc_init_by_tag(layout, dims, sizes, type, tag);
	return layout;
}

void onednn_layout_free(onednn_layout *layout)
{
	free(layout);
}

bool onednn_same_order(const onednn_layout *a, const onednn_layout *b)
{
	onednn_layout typed = *a;

	typed.data_type = b->data_type;
	return dnnl_memory_desc_equal(&typed, b);
}

#endif

void onednn_layout_drop(onednn_layout **layout)
{
	onednn_layout_free(*layout);
}

dnnl_status_t onednn_describe(dnnl_primitive_desc_t *description, const struct onednn_wish *wish)
{
	dnnl_primitive_attr_t attributes;
	dnnl_status_t status = dnnl_primitive_attr_create(&attributes);

	if (status != dnnl_success)
		return status;
	status = dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
	if (status == dnnl_success && wish->relu)
		status = relu_after(attributes);
	if (status == dnnl_success)
		status = describe(description, wish, attributes);
	dnnl_primitive_attr_destroy(attributes);
	return status;
}
