/* SPDX-License-Identifier: MIT */
#include "chain.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stage.h"

enum { OPS = CHAIN_LINKS + 2, MAX_MEMORY = 6 * OPS };

/* Floats of each channel. */
enum floats {
	WEIGHT,
	BIAS,
	RUNNING_MEAN,
	RUNNING_VAR,
	WEIGHT_GRADIENT,
	BIAS_GRADIENT,
	POOL_SUMS,
	FLOATS
};

struct run {
	const struct chain *chain;
	const struct backend *backend;
	struct device *device;
	struct train_error *error;
	struct chain_result *result;
	enum value_type type;
	double far;
	/* A conversion from the host's order, the chain, and a conversion back. */
	struct op *ops[OPS];
	int count;
	void *values[OPS + 1], *gradients[OPS + 1]; /* before and behind each operation */
	void *workspace[OPS], *scratch[OPS], *floats[FLOATS], *control;
	void *memory[MAX_MEMORY];
	int memories;
};

static void *allocate(struct run *run, size_t bytes)
{
	void *memory = run->backend->allocate(run->device, bytes ? bytes : 1, "a test", run->error);

	if (memory)
		run->memory[run->memories++] = memory;
	return memory;
}

/* --- planning -------------------------------------------------------------------------------- */

static bool plan_link(struct run *run, const struct link *link, const struct layout *input)
{
	const struct op_shape shape = {
		.input = *input,
		.kernel = link->kernel,
		.stride = link->stride,
		.pad = link->pad,
		.eps = 1e-5,
		.momentum = 0.1,
		.relu = link->relu,
		.relu_backward = link->relu_backward,
	};
	bool (*const plans[])(struct op **, struct device *, const struct op_shape *,
			      struct train_error *) = {
		run->backend->batch_norm, run->backend->max_pool, run->backend->mean_pool};
	struct op **op = &run->ops[run->count];

	if (!plans[link->kind](op, run->device, &shape, run->error))
		return false;
	run->count++;
	return true;
}

static bool plan_conversion(struct run *run, const struct layout *from, const struct layout *to)
{
	if (!run->backend->convert(&run->ops[run->count], run->device, from, to, run->error))
		return false;
	run->count++;
	return true;
}

/* The first operation says which layout it takes. */
static bool plan_first(struct run *run, const struct layout *host)
{
	struct op *first;

	if (!plan_link(run, &run->chain->links[0], host))
		return false;
	first = run->ops[0];
	run->count = 0;
	if (plan_conversion(run, host, &first->info.input)) {
		run->ops[run->count++] = first;
		return true;
	}
	op_free(first);
	return false;
}

static bool plan(struct run *run)
{
	const struct chain *c = run->chain;
	const struct layout host =
		layout_host(run->type, c->batch, c->channels, c->height, c->width);
	const struct layout *last;
	struct layout end;

	if (!plan_first(run, &host))
		return false;
	for (int i = 1; i < c->count; i++) {
		last = &run->ops[run->count - 1]->info.output;
		if (!plan_link(run, &c->links[i], last))
			return false;
		ck_assert_msg(run->backend->same_layout(&run->ops[run->count - 2]->info.output,
							&run->ops[run->count - 1]->info.input),
			      "%s: operation %d takes another layout", c->name, i);
	}
	last = &run->ops[run->count - 1]->info.output;
	end = layout_host(run->type, last->batch, last->channels, last->height, last->width);
	return plan_conversion(run, last, &end);
}

/* --- memory ---------------------------------------------------------------------------------- */

/* NaN wherever something must be written. */
static bool poison(struct run *run, void *to, size_t bytes)
{
	void *host = malloc(bytes + 1);
	bool good;

	ck_assert_ptr_nonnull(host);
	memset(host, 0xff, bytes);
	good = run->backend->write(run->device, to, host, bytes, run->error);
	free(host);
	return good;
}

static void *poisoned(struct run *run, size_t bytes)
{
	void *memory = allocate(run, bytes);

	return memory && poison(run, memory, bytes) ? memory : NULL;
}

static bool allocate_floats(struct run *run)
{
	enum value_type type = value_of_parameters(run->type);
	int channels = run->chain->channels;
	double host[CHAIN_CHANNELS];

	ck_assert_int_le(channels, CHAIN_CHANNELS);
	for (int which = 0; which < FLOATS; which++) {
		for (int c = 0; c < channels; c++)
			value_set(type, host, c,
				  stage_number(c, 10u + (uint32_t)which) +
					  (which == WEIGHT || which == RUNNING_VAR ? 1.5 : 0));
		run->floats[which] = allocate(run, sizeof(host));
		if (!run->floats[which] ||
		    !run->backend->write(run->device, run->floats[which], host,
					 (size_t)channels * value_bytes(type), run->error))
			return false;
	}
	return true;
}

static bool allocate_all(struct run *run)
{
	const struct pass_control control = {.rows = run->chain->rows, .scale = 1};

	for (int i = 0; i <= run->count; i++) {
		size_t bytes = i < run->count ? run->ops[i]->info.input.bytes
					      : run->ops[i - 1]->info.output.bytes;

		run->values[i] = poisoned(run, bytes);
		run->gradients[i] = run->values[i] ? poisoned(run, bytes) : NULL;
		if (!run->gradients[i])
			return false;
	}
	for (int i = 0; i < run->count; i++) {
		run->workspace[i] = allocate(run, run->ops[i]->info.workspace);
		run->scratch[i] =
			run->workspace[i] ? allocate(run, run->ops[i]->info.scratch) : NULL;
		if (!run->scratch[i])
			return false;
	}
	run->control = allocate(run, sizeof(control));
	return run->control &&
	       run->backend->write(run->device, run->control, &control, sizeof(control),
				   run->error) &&
	       allocate_floats(run);
}

/* --- numbers --------------------------------------------------------------------------------- */

static bool put(struct run *run, void *to, const struct layout *layout, uint32_t seed, double far)
{
	int64_t count = layout_values(layout), places = layout->height * layout->width;
	void *host = malloc((size_t)count * value_bytes(layout->type));
	bool good;

	ck_assert_ptr_nonnull(host);
	for (int64_t i = 0; i < count; i++)
		value_set(layout->type, host, i,
			  stage_number(i, seed) * (double)(1 + i / places % layout->channels % 4) +
				  far);
	good = run->backend->write(run->device, to, host, layout->bytes, run->error);
	free(host);
	return good;
}

/* NULL: the error is noted. */
static double *get(struct run *run, const void *from, const struct layout *layout, int64_t *count)
{
	double *values;
	void *host;

	*count = layout_values(layout);
	values = malloc((size_t)*count * sizeof(*values) + 1);
	host = malloc(layout->bytes + 1);
	ck_assert(host && values);
	if (!run->backend->read(run->device, host, from, layout->bytes, run->error)) {
		free(values);
		values = NULL;
	}
	for (int64_t i = 0; values && i < *count; i++)
		values[i] = value_get(layout->type, host, i);
	free(host);
	return values;
}

static bool get_floats(struct run *run, enum floats which, double *to)
{
	struct layout layout =
		layout_host(value_of_parameters(run->type), 1, run->chain->channels, 1, 1);
	int64_t count;
	double *values = get(run, run->floats[which], &layout, &count);

	if (values)
		memcpy(to, values, (size_t)count * sizeof(*to));
	free(values);
	return values;
}

static bool get_all(struct run *run)
{
	struct chain_result *r = run->result;

	r->output = get(run, run->values[run->count], &run->ops[run->count - 1]->info.output,
			&r->outputs);
	r->input_gradient =
		r->output ? get(run, run->gradients[0], &run->ops[0]->info.input, &r->inputs)
			  : NULL;
	return r->input_gradient && get_floats(run, WEIGHT_GRADIENT, r->weight_gradient) &&
	       get_floats(run, BIAS_GRADIENT, r->bias_gradient) &&
	       get_floats(run, RUNNING_MEAN, r->running_mean) &&
	       get_floats(run, RUNNING_VAR, r->running_var);
}

/* As it lies, if a layout with an order of its own has its padding behind the channels of each
 * place: (places, *padded). */
static double *get_whole(struct run *run, const void *memory, const struct layout *layout,
			 int64_t *padded)
{
	int64_t places = layout->batch * layout->height * layout->width, count;
	struct layout whole;

	*padded = (int64_t)(layout->bytes / value_bytes(layout->type)) / places;
	whole = layout_host(layout->type, places, *padded, 1, 1);
	return get(run, memory, &whole, &count);
}

static bool padding_is_zero(struct run *run, const void *memory, const struct layout *layout)
{
	int64_t padded, count = (int64_t)(layout->bytes / value_bytes(layout->type));
	double *values = get_whole(run, memory, layout, &padded);

	for (int64_t i = 0; values && i < count; i++)
		ck_assert_msg(!layout->order || i % padded < layout->channels || values[i] == 0,
			      "%s, %s: padding is %g", run->chain->name, value_name(layout->type),
			      values[i]);
	free(values);
	return values;
}

/* Whether operation i leaves sums for a bias before it (backend.pool_sums). */
static bool leaves_sums(const struct run *run, int i)
{
	const struct link *link;

	if (i == 0 || i > run->chain->count)
		return false;
	link = &run->chain->links[i - 1];
	return run->backend->pool_sums && link->kind == LINK_MAX_POOL && link->relu_backward;
}

static bool sums_are_right(struct run *run, int i)
{
	const struct layout *layout = &run->ops[i]->info.input;
	int64_t padded, count = (int64_t)(layout->bytes / value_bytes(layout->type));
	double sums[CHAIN_CHANNELS], *values = get_whole(run, run->gradients[i], layout, &padded);
	bool good = values && get_floats(run, POOL_SUMS, sums);

	for (int64_t c = 0; good && c < layout->channels; c++) {
		double sum = 0, size = 0;

		for (int64_t k = c; k < count; k += padded) {
			sum += values[k];
			size += fabs(values[k]);
		}
		ck_assert_msg(fabs(sums[c] - sum) <= 1e-6 * size, "%s: sum %d is %g, not %g",
			      run->chain->name, (int)c, sums[c], sum);
	}
	free(values);
	return good;
}

/* --- passes ---------------------------------------------------------------------------------- */

static struct op_args args_of(const struct run *run, int i)
{
	return (struct op_args){
		.input = run->values[i],
		.output = run->values[i + 1],
		.input_gradient = run->gradients[i],
		.output_gradient = run->gradients[i + 1],
		.workspace = run->workspace[i],
		.scratch = run->scratch[i],
		.control = run->control,
		.training = !run->chain->evaluates,
		.weight = run->floats[WEIGHT],
		.bias = run->floats[BIAS],
		.running_mean = run->floats[RUNNING_MEAN],
		.running_var = run->floats[RUNNING_VAR],
		.weight_gradient = run->ops[i]->info.weights ? run->floats[WEIGHT_GRADIENT] : NULL,
		.bias_gradient = run->ops[i]->info.biases ? run->floats[BIAS_GRADIENT]
				 : leaves_sums(run, i)    ? run->floats[POOL_SUMS]
							  : NULL,
	};
}

static bool forward(struct run *run)
{
	for (int i = 0; i < run->count; i++) {
		const struct op_args args = args_of(run, i);

		if (!run->ops[i]->calls->forward(run->ops[i], &args, run->error) ||
		    !padding_is_zero(run, run->values[i + 1], &run->ops[i]->info.output))
			return false;
	}
	return true;
}

static bool backward(struct run *run)
{
	for (int i = run->count - 1; i >= 0; i--) {
		const struct op_calls *calls = run->ops[i]->calls;
		const struct op_args args = args_of(run, i);

		if ((calls->backward_weights &&
		     !calls->backward_weights(run->ops[i], &args, run->error)) ||
		    !calls->backward_data(run->ops[i], &args, run->error) ||
		    !padding_is_zero(run, run->gradients[i], &run->ops[i]->info.input) ||
		    (leaves_sums(run, i) && !sums_are_right(run, i)))
			return false;
	}
	return true;
}

static bool pass(struct run *run)
{
	size_t bytes = run->device->bytes;
	bool good = put(run, run->values[0], &run->ops[0]->info.input, 2, run->far) &&
		    put(run, run->gradients[run->count], &run->ops[run->count - 1]->info.output, 3,
			0) &&
		    forward(run) && (run->chain->evaluates || backward(run));

	ck_assert_msg(run->device->bytes == bytes, "%s: a pass allocates", run->chain->name);
	return good;
}

bool chain_run(struct chain_result *result, const struct chain *chain,
	       const struct backend *backend, enum value_type type, double far,
	       struct train_error *error)
{
	const struct device_options options = {.threads = 1};
	struct run run = {.chain = chain,
			  .backend = backend,
			  .error = error,
			  .result = result,
			  .type = type,
			  .far = far};
	bool good;

	memset(result, 0, sizeof(*result));
	if (!backend->open(&run.device, &options, error))
		return false;
	good = plan(&run) && allocate_all(&run) && pass(&run) && get_all(&run);
	for (int i = 0; i < run.memories; i++)
		backend->release(run.device, run.memory[i]);
	for (int i = 0; i < run.count; i++)
		op_free(run.ops[i]);
	backend->close(run.device);
	if (!good)
		chain_free(result);
	return good;
}

void chain_free(struct chain_result *result)
{
	free(result->output);
	free(result->input_gradient);
	memset(result, 0, sizeof(*result));
}
