/* SPDX-License-Identifier: MIT */
/* The project's kernels by their references, with what each may touch. */
#include "config.h"

#include <string.h>

#include "fake_cuda_private.h"
#include "tests/trainer/kernels/references.h"

enum { ALIGNED = 16 };

/* Where a kernel's uses of memory go. */
struct lister {
	struct touches *touches;
	int device;
	const char *what;
};

static void list(const struct lister *l, const void *memory, int64_t bytes, size_t align,
		 bool write)
{
	struct touch use = {memory, bytes > 0 ? (size_t)bytes : 0, align, l->device, write};

	touch(l->touches, &use);
}

static void reads(const struct lister *l, const void *memory, int64_t bytes)
{
	list(l, memory, bytes, ALIGNED, false);
}

static void writes(const struct lister *l, const void *memory, int64_t bytes)
{
	list(l, memory, bytes, ALIGNED, true);
}

static int64_t bytes_of(enum value_type type, int64_t count)
{
	return count * (int64_t)value_bytes(type);
}

static bool has(const struct lister *l, const void *memory, int64_t bytes)
{
	struct touch use = {memory, (size_t)bytes, 1, l->device, false};

	return bytes > 0 && memory_check(&use, l->what);
}

/* Lists scratch. Its ticket must be zero; what is behind is overwritten before the kernel runs. */
static void scratches(const struct lister *l, void *scratch, size_t bytes)
{
	unsigned char *ticket = scratch;

	writes(l, scratch, (int64_t)bytes);
	if (!l->touches->running || !has(l, scratch, (int64_t)bytes))
		return;
	for (int i = 0; i < KERNEL_TICKET_BYTES; i++)
		if (ticket[i] != 0) {
			fault(0, "%s: the first %d bytes of its scratch are not zero", l->what,
			      KERNEL_TICKET_BYTES);
			return;
		}
	memset(ticket + KERNEL_TICKET_BYTES, 0xff, bytes - KERNEL_TICKET_BYTES);
}

static void list_accumulate(const struct lister *l, const struct accumulate_args *a)
{
	list(l, a->sum, 4 * a->count, 4, true);
	list(l, a->more, 4 * a->count, 4, false);
}

static void list_residual_add(const struct lister *l, const struct residual_add_args *a)
{
	int64_t bytes = bytes_of(a->type, a->count);

	writes(l, a->output, bytes);
	reads(l, a->a, bytes);
	reads(l, a->b, bytes);
}

static void list_control(const struct lister *l, const struct pass_control *control)
{
	list(l, control, sizeof(*control), _Alignof(struct pass_control), false);
}

/* What a tensor of batch normalization has, and what `saved` has. */
static int64_t norm_bytes(const struct batch_norm_shape *shape)
{
	return bytes_of(shape->type, shape->rows * shape->columns);
}

static int64_t saved_bytes(const struct batch_norm_shape *shape)
{
	return 4 * BATCH_NORM_SAVED * shape->columns;
}

static int64_t rank_bytes(const struct batch_norm_shape *shape)
{
	return 8 * batch_norm_rank_values(shape);
}

static void list_batch_norm_statistics(const struct lister *l,
				       const struct batch_norm_statistics_args *a)
{
	int64_t channels = 4 * a->shape.channels;

	if (a->training) {
		reads(l, a->input, norm_bytes(&a->shape));
		list_control(l, a->control);
		scratches(l, a->scratch, batch_norm_scratch(&a->shape));
	}
	if (a->values) {
		list(l, a->values, rank_bytes(&a->shape), 8, true);
		return;
	}
	list(l, a->weight, channels, 4, false);
	list(l, a->bias, channels, 4, false);
	list(l, a->running_mean, channels, 4, a->training);
	list(l, a->running_var, channels, 4, a->training);
	writes(l, a->saved, saved_bytes(&a->shape));
}

static void list_batch_norm_join_statistics(const struct lister *l,
					    const struct batch_norm_join_statistics_args *a)
{
	int64_t channels = 4 * a->shape.channels;

	list(l, a->all, a->ranks * rank_bytes(&a->shape), 8, false);
	list(l, a->weight, channels, 4, false);
	list(l, a->bias, channels, 4, false);
	list(l, a->running_mean, channels, 4, true);
	list(l, a->running_var, channels, 4, true);
	writes(l, a->saved, saved_bytes(&a->shape));
}

static void list_batch_norm_normalize(const struct lister *l,
				      const struct batch_norm_normalize_args *a)
{
	reads(l, a->input, norm_bytes(&a->shape));
	if (a->control)
		list_control(l, a->control);
	reads(l, a->saved, saved_bytes(&a->shape));
	writes(l, a->output, norm_bytes(&a->shape));
}

static void list_batch_norm_sums(const struct lister *l, const struct batch_norm_sums_args *a)
{
	reads(l, a->input, norm_bytes(&a->shape));
	reads(l, a->output_gradient, norm_bytes(&a->shape));
	list_control(l, a->control);
	list(l, a->weight_gradient, 4 * a->shape.channels, 4, true);
	list(l, a->bias_gradient, 4 * a->shape.channels, 4, true);
	if (a->values) {
		reads(l, a->saved, saved_bytes(&a->shape));
		list(l, a->values, rank_bytes(&a->shape), 8, true);
	} else {
		writes(l, a->saved, saved_bytes(&a->shape));
	}
	scratches(l, a->scratch, batch_norm_scratch(&a->shape));
}

static void list_batch_norm_join_sums(const struct lister *l,
				      const struct batch_norm_join_sums_args *a)
{
	list(l, a->all, a->ranks * rank_bytes(&a->shape), 8, false);
	writes(l, a->saved, saved_bytes(&a->shape));
}

static void list_batch_norm_backward(const struct lister *l,
				     const struct batch_norm_backward_args *a)
{
	reads(l, a->input, norm_bytes(&a->shape));
	reads(l, a->output_gradient, norm_bytes(&a->shape));
	list_control(l, a->control);
	reads(l, a->saved, saved_bytes(&a->shape));
	writes(l, a->input_gradient, norm_bytes(&a->shape));
}

static void list_bias_gradient(const struct lister *l, const struct bias_gradient_args *a)
{
	int64_t bytes = bytes_of(a->type, a->rows * a->columns);

	list(l, a->gradient, bytes, ALIGNED, a->output != NULL);
	if (a->output)
		reads(l, a->output, bytes);
	list(l, a->sums, 4 * a->columns, 4, true);
	scratches(l, a->scratch, bias_gradient_scratch(a->rows, a->columns, a->type));
}

static void list_busy(const struct lister *l, const struct busy_args *a)
{
}

static void list_convert(const struct lister *l, const struct convert_args *a)
{
	list(l, a->from, bytes_of(a->from_type, a->count), value_bytes(a->from_type), false);
	list(l, a->to, bytes_of(a->to_type, a->count), value_bytes(a->to_type), true);
}

/* Of a convolution that pools: the bytes of its input, and the values of its output. */
static int64_t convolved_bytes(enum value_type type, int64_t batch, int32_t height, int32_t width)
{
	return bytes_of(type, batch * height * width * CONVOLUTION_POOL_PIXEL);
}

static int64_t pooled_values(int64_t batch, int32_t height, int32_t width, int32_t out)
{
	return batch * (height / 2) * (width / 2) * convolution_pool_padded(out);
}

static void list_convolution_pool(const struct lister *l, const struct convolution_pool_args *a)
{
	int64_t outputs = pooled_values(a->batch, a->height, a->width, a->out);

	reads(l, a->input, convolved_bytes(a->type, a->batch, a->height, a->width));
	list(l, a->weight, 4 * (int64_t)a->out * a->channels * 9, 4, false);
	list(l, a->bias, 4 * (int64_t)a->out, 4, false);
	writes(l, a->output, bytes_of(a->type, outputs));
	writes(l, a->places, outputs / 4);
}

static void list_convolution_pool_backward(const struct lister *l,
					   const struct convolution_pool_backward_args *a)
{
	int64_t outputs = pooled_values(a->batch, a->height, a->width, a->out);

	reads(l, a->input, convolved_bytes(a->type, a->batch, a->height, a->width));
	reads(l, a->output_gradient, bytes_of(a->type, outputs));
	reads(l, a->output, bytes_of(a->type, outputs));
	reads(l, a->places, outputs / 4);
	list(l, a->weight_gradient, 4 * (int64_t)a->out * a->channels * 9, 4, true);
	list(l, a->bias_gradient, 4 * (int64_t)a->out, 4, true);
	scratches(l, a->scratch, convolution_pool_backward_scratch(a));
}

static void list_scaler(const struct lister *l, const struct scaler *scaler, bool writes)
{
	if (scaler)
		list(l, scaler, sizeof(*scaler), _Alignof(struct scaler), writes);
}

static void list_cross_entropy(const struct lister *l, const struct cross_entropy_args *a)
{
	int64_t bytes = bytes_of(a->type, a->batch * a->pitch);

	reads(l, a->logits, bytes);
	reads(l, a->labels, 4 * a->batch);
	list_control(l, a->control);
	list_scaler(l, a->scaler, false);
	list(l, a->result, sizeof(*a->result), _Alignof(struct loss_result), true);
	if (a->gradient)
		writes(l, a->gradient, bytes);
	scratches(l, a->scratch, cross_entropy_scratch(a->batch, a->classes));
}

/* Whether something of the chunk lies in rows, or its gradient beside the flat buffer. */
static bool is_apart(const struct chunk *chunk)
{
	return chunk->gradient || chunk->row;
}

/* Chunks that follow each other, as one; those that are apart alone. false: there is none left, or
 * it is not filled yet. */
static bool next_span(const struct chunk *chunks, int32_t count, int32_t *at, struct chunk *span,
		      int64_t *elements)
{
	if (*at == count)
		return false;
	*span = chunks[*at];
	*elements = 0;
	for (; *at < count; ++*at) {
		const struct chunk *c = &chunks[*at];
		const char *copy = span->copy;
		int64_t done = copy ? bytes_of(span->copy_type, *elements) : 0;

		if (c->count < 1 || c->count > CHUNK_ELEMENTS ||
		    c->first != span->first + *elements ||
		    (*elements > 0 && (is_apart(c) || is_apart(span))) ||
		    (copy != NULL) != (c->copy != NULL) ||
		    (copy && (copy + done != c->copy || c->copy_type != span->copy_type)))
			break;
		*elements += c->count;
	}
	return *elements > 0;
}

static void list_gradient_measure(const struct lister *l, const struct gradient_measure_args *a)
{
	int64_t table = (int64_t)sizeof(*a->chunks) * a->chunk_count, elements;
	struct chunk span;
	int32_t at = 0;

	reads(l, a->chunks, table);
	reads(l, a->starts, 4 * ((int64_t)a->parameters + 1));
	list_scaler(l, a->scaler, false);
	list(l, a->measure, sizeof(*a->measure), _Alignof(struct gradient_measure), true);
	scratches(l, a->scratch, gradient_measure_scratch(a->chunk_count));
	if (!has(l, a->chunks, table))
		return;
	while (next_span(a->chunks, a->chunk_count, &at, &span, &elements)) {
		list(l, a->gradients + span.first, 4 * elements, 4, false);
		if (span.gradient)
			fault(0, "%s: a chunk's gradient is not in the flat buffer", l->what);
	}
	if (l->touches->running && at < a->chunk_count)
		fault(0, "%s: chunk %d is not one", l->what, (int)at);
}

static void list_gradient_norm(const struct lister *l, const struct gradient_norm_args *a)
{
	list(l, a->measure, sizeof(*a->measure), _Alignof(struct gradient_measure), true);
}

static void list_input_fill(const struct lister *l, const struct input_fill_args *a)
{
	int64_t record = 1 + (int64_t)a->channels * a->from_height * a->from_width, max = -1;
	int64_t image = (int64_t)a->height * a->width * a->padded;

	reads(l, a->values, 4 * 256 * (int64_t)a->channels);
	reads(l, a->indices, 8 * a->batch);
	list_control(l, a->control);
	writes(l, a->images, bytes_of(a->type, a->batch * image));
	writes(l, a->labels, 4 * a->batch);
	if (!l->touches->running || !has(l, a->indices, 8 * a->batch) ||
	    !has(l, a->control, sizeof(*a->control)))
		return;
	for (int64_t i = 0; i < a->batch && i < a->control->rows; i++) {
		if (a->indices[i] < 0) {
			fault(0, "%s: row %lld is of sample %lld", l->what, (long long)i,
			      (long long)a->indices[i]);
			return;
		}
		max = a->indices[i] > max ? a->indices[i] : max;
	}
	list(l, a->records, (max + 1) * record, 1, false);
}

static void list_mean_pool(const struct lister *l, const struct mean_pool_args *a)
{
	reads(l, a->input, bytes_of(a->type, a->batch * a->places * a->padded));
	writes(l, a->output, bytes_of(a->type, a->batch * a->channels));
}

static void list_mean_pool_backward(const struct lister *l, const struct mean_pool_backward_args *a)
{
	reads(l, a->output_gradient, bytes_of(a->type, a->batch * a->channels));
	writes(l, a->input_gradient, bytes_of(a->type, a->batch * a->places * a->padded));
}

static void list_relu_backward(const struct lister *l, const struct relu_backward_args *a)
{
	writes(l, a->gradient, bytes_of(a->type, a->count));
	reads(l, a->output, bytes_of(a->type, a->count));
}

static void list_reorder(const struct lister *l, const struct reorder_args *a)
{
	int64_t places = a->batch * a->height * a->width;
	int64_t from = places * (a->to_nhwc ? a->channels : a->padded);
	int64_t to = places * (a->to_nhwc ? a->padded : a->channels);

	list(l, a->from, bytes_of(a->from_type, from), value_bytes(a->from_type), false);
	list(l, a->to, bytes_of(a->to_type, to), value_bytes(a->to_type), true);
}

/* From the first to the last of a span's elements beside the flat buffers. */
static void list_beside(const struct lister *l, const struct chunk *span, int64_t elements,
			const void *memory, enum value_type type, int32_t pitch, bool write)
{
	int64_t first = chunk_place(span, pitch, 0);
	int64_t count =
		span->row ? chunk_place(span, pitch, span->count - 1) + 1 - first : elements;

	if (memory)
		list(l, (const char *)memory + bytes_of(type, first), bytes_of(type, count),
		     value_bytes(type), write);
}

static int64_t pool_outputs(const struct max_pool_shape *s)
{
	return s->batch * s->out_height * s->out_width * s->channels;
}

static void list_max_pool(const struct lister *l, const struct max_pool_args *a)
{
	const struct max_pool_shape *s = &a->shape;

	reads(l, a->input, bytes_of(s->type, max_pool_inputs(s) * s->channels));
	writes(l, a->output, bytes_of(s->type, pool_outputs(s)));
	if (a->places)
		writes(l, a->places, pool_outputs(s));
}

static void list_max_pool_backward(const struct lister *l, const struct max_pool_backward_args *a)
{
	const struct max_pool_shape *s = &a->shape;

	reads(l, a->output_gradient, bytes_of(s->type, pool_outputs(s)));
	if (a->output)
		reads(l, a->output, bytes_of(s->type, pool_outputs(s)));
	reads(l, a->places, pool_outputs(s));
	writes(l, a->input_gradient, bytes_of(s->type, max_pool_inputs(s) * s->channels));
	if (!a->sums)
		return;
	list(l, a->sums, 4 * (int64_t)s->channels, 4, true);
	scratches(l, a->scratch, max_pool_scratch(s));
}

static void list_update(const struct lister *l, const struct update_args *a)
{
	int64_t table = (int64_t)sizeof(*a->chunks) * a->chunk_count, elements;
	struct chunk span;
	int32_t at = 0;

	list(l, a->chunks, table, _Alignof(struct chunk), false);
	list(l, a->factors, sizeof(*a->factors), _Alignof(struct update_factors), false);
	if (!has(l, a->chunks, table))
		return;
	while (next_span(a->chunks, a->chunk_count, &at, &span, &elements)) {
		list(l, a->values + span.first, 4 * elements, 4, true);
		if (!span.gradient)
			list(l, a->gradients + span.first, 4 * elements, 4, false);
		list_beside(l, &span, elements, span.gradient, span.gradient_type,
			    span.gradient_pitch, false);
		list_beside(l, &span, elements, span.copy, span.copy_type, span.copy_pitch, true);
		if (a->mean)
			list(l, a->mean + span.first, 4 * elements, 4, true);
		if (a->variance)
			list(l, a->variance + span.first, 4 * elements, 4, true);
	}
	if (l->touches->running && at < a->chunk_count)
		fault(0, "%s: chunk %d is not one", l->what, (int)at);
}

static void list_update_begin(const struct lister *l, const struct update_begin_args *a)
{
	list(l, a->control, sizeof(*a->control), _Alignof(struct update_control), false);
	if (a->measure)
		list(l, a->measure, sizeof(*a->measure), _Alignof(struct gradient_measure), false);
	list(l, a->steps, sizeof(*a->steps), _Alignof(int64_t), true);
	list(l, a->factors, sizeof(*a->factors), _Alignof(struct update_factors), true);
	list_scaler(l, a->scaler, true);
}

/* Kernels take no simulated time, except one of a test. */
static void take_time(const struct work *work)
{
	const char *slow = fake.options.slow;

	if (slow && strcmp(work->kind->name, slow) == 0)
		fake.devices[work->device].ms += 1000;
}

#define KERNEL(kernel, args_struct) \
	static void touches_##kernel(const struct work *work, struct touches *touches) \
	{ \
		struct lister l = {touches, work->device, work->what}; \
\
		list_##kernel(&l, (const void *)work->data); \
	} \
\
	static void run_##kernel(struct work *work) \
	{ \
		reference_##kernel((const void *)work->data); \
		take_time(work); \
	} \
\
	static const struct work_kind kind_##kernel = { \
		.name = #kernel, .list = touches_##kernel, .run = run_##kernel}; \
\
	cudaError_t fake_kernel_##kernel(const struct args_struct *args, cudaStream_t stream) \
	{ \
		stream = stream_get(stream, "kernel_" #kernel); \
		if (!stream) \
			return cudaErrorInvalidResourceHandle; \
		return stream_put( \
			stream, work_new(&kind_##kernel, "kernel_" #kernel, args, sizeof(*args)), \
			true); \
	}
#include "kernels/kernels.def"
#undef KERNEL
