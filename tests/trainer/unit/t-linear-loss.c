/* SPDX-License-Identifier: MIT */
/* The last layer with its loss on a simulated GPU: a model in training beside one whose operations
 * are separate, and beside the reference backend's; and the choice between the two. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cuda/cuda.h"
#include "cuda-test.h"
#include "model/plan.h"
#include "stage.h"

enum { MAX_LAYERS = 4, MAX_BATCH = 96, MAX_VALUES = 1 << 18, LOG = 400 };

#define CONVOLUTION(NAME, OUT, KERNEL, PAD) \
	{ \
		.name = (NAME), .kind = LAYER_CONVOLUTION, .out = (OUT), .kernel = (KERNEL), \
		.pad = (PAD), .relu = true \
	}
#define MAX_POOL(NAME) \
	{ \
		.name = (NAME), .kind = LAYER_MAX_POOL, .kernel = 2 \
	}
#define LINEAR(NAME, OUT, RELU) \
	{ \
		.name = (NAME), .kind = LAYER_LINEAR, .out = (OUT), .relu = (RELU) \
	}

static const struct layer convnet_end[] = {CONVOLUTION("conv", 8, 3, 1), MAX_POOL("pool"),
					   LINEAR("fc1", 24, true), LINEAR("fc2", 10, false)};
static const struct layer many_classes[] = {LINEAR("fc1", 33, true), LINEAR("fc2", 33, false)};
static const struct layer alone[] = {LINEAR("fc", 64, false)};
static const struct layer pooled[] = {CONVOLUTION("conv", 8, 1, 0), MAX_POOL("pool"),
				      LINEAR("fc", 5, false)};
static const struct layer convolved[] = {CONVOLUTION("conv", 16, 3, 0), LINEAR("fc", 2, false)};
static const struct layer padded[] = {CONVOLUTION("conv", 5, 1, 0), LINEAR("fc", 3, false)};
static const struct layer no_relu[] = {LINEAR("fc1", 16, false), LINEAR("fc2", 3, false)};
static const struct layer two_linear[] = {LINEAR("fc1", 16, true), LINEAR("fc2", 10, false)};

/* How the last layer is computed. REFERENCE: by the reference backend. */
enum how { TOGETHER, SEPARATE, REFERENCE };

/* SAMPLES: there is no layer before these, so no gradient of the input is wanted. LAST_STAGE: the
 * first of the layers is in another stage. */
enum { SCALED = 1, DETERMINISTIC = 2, SAMPLES = 4, LAST_STAGE = 8 };

#define LIST(layers) layers, (int)(sizeof(layers) / sizeof(*(layers)))

static const struct row {
	const char *name;
	const struct layer *layers;
	int count, channels, side, batch, rows;
	enum value_type type;
	unsigned flags;
	const char *order; /* of what follows forward; NULL: not looked at */
} rows[] = {
	{"convnet's end", LIST(convnet_end), 3, 6, 8, 7, VALUE_FLOAT32, 0,
	 "fc2 forward, loss, backward; [fc2] fc1 backward weights; [fc1] fc1 backward data; "
	 "pool backward data; conv backward weights; [conv] conv backward data; "},
	{"the same in bf16", LIST(convnet_end), 3, 6, 8, 8, VALUE_BFLOAT16, 0, NULL},
	{"the same in fp16, scaled", LIST(convnet_end), 3, 6, 8, 8, VALUE_FLOAT16, SCALED, NULL},
	{"deterministic", LIST(convnet_end), 3, 6, 8, 8, VALUE_FLOAT32, DETERMINISTIC, NULL},
	{"many rows and classes", LIST(many_classes), 7, 1, 96, 95, VALUE_FLOAT32, 0,
	 "fc2 forward, loss, backward; [fc2] fc1 backward weights; [fc1] fc1 backward data; "},
	{"a layer alone", LIST(alone), 5, 3, 8, 8, VALUE_FLOAT32, SAMPLES,
	 "fc forward, loss, backward; [fc] "},
	{"after a pooling", LIST(pooled), 8, 4, 8, 8, VALUE_FLOAT32, 0,
	 "fc forward, loss, backward; [fc] pool backward data; conv backward weights; [conv] "
	 "conv backward data; "},
	{"after a convolution", LIST(convolved), 8, 3, 4, 4, VALUE_BFLOAT16, 0, NULL},
	{"after planes with padding", LIST(padded), 3, 3, 4, 4, VALUE_FLOAT32, 0, NULL},
	{"after a layer without ReLU", LIST(no_relu), 7, 1, 8, 8, VALUE_FLOAT32, 0, NULL},
	{"the last stage", LIST(two_linear), 7, 1, 8, 8, VALUE_FLOAT32, LAST_STAGE,
	 "fc2 forward, loss, backward; [fc2] "},
};

enum { ROWS = sizeof(rows) / sizeof(*rows), SLOTS = 2 };

struct outcome {
	double loss, *gradients, *input, *logits;
	int64_t correct, parameters, inputs, outputs;
	uint64_t kernels, losses, products, sums; /* that a pass ran */
	char log[LOG];
};

struct pass {
	const struct row *row;
	enum how how;
	const struct backend *backend;
	struct device *device;
	struct layer layers[1 + MAX_LAYERS];
	struct model_spec spec;
	struct model *model;
	int32_t *labels;
	struct pass_control *control;
	struct scaler *scaler;
	struct loss_result *result;
};

/* --- the device --------------------------------------------------------------------------------
 */

static struct cuda_calls changed;

static cudaError_t refuse(const struct linear_loss_args *args, cudaStream_t stream)
{
	(void)args;
	(void)stream;
	return cudaErrorInvalidValue;
}

static struct device *opened(const struct backend *backend, bool deterministic)
{
	const struct device_options options = {
		.threads = 1, .exact = true, .deterministic = deterministic};
	struct train_error error = {.status = TRAIN_OK};
	struct device *device;

	ck_assert_msg(backend->open(&device, &options, &error), "%s", error.text);
	return device;
}

/* The calls of a device from now on, for a test to change. */
static struct cuda_calls *own_calls(struct device *device)
{
	changed = *((struct cuda_device *)device)->calls;
	((struct cuda_device *)device)->calls = &changed;
	return &changed;
}

static void *put(const struct pass *p, const void *host, size_t bytes)
{
	struct train_error error = {.status = TRAIN_OK};
	void *memory = p->backend->allocate(p->device, bytes, "a test", &error);

	ck_assert(memory && p->backend->write(p->device, memory, host, bytes, &error));
	return memory;
}

static double *get(const struct pass *p, enum value_type type, const void *from, size_t bytes,
		   int64_t *count)
{
	size_t each = value_bytes(type);
	double *values = calloc(bytes / each + 1, sizeof(*values));
	struct train_error error = {.status = TRAIN_OK};
	void *host = malloc(bytes + 1);

	*count = from ? (int64_t)(bytes / each) : 0;
	if (from)
		ck_assert(p->backend->read(p->device, host, from, bytes, &error));
	for (int64_t i = 0; i < *count; i++)
		values[i] = value_get(type, host, i);
	free(host);
	return values;
}

/* --- a pass ------------------------------------------------------------------------------------
 */

/* All of these numbers are exact in every type. */
static void set_numbers(const struct pass *p)
{
	const struct model_shapes *shapes = model_shapes_of(p->model);
	enum value_type type = model_input_layout(p->model)->type;
	size_t bytes = model_input_bytes(p->model);
	struct train_error error = {.status = TRAIN_OK};
	int64_t first, count = model_elements(p->model, &first);
	float *host = calloc(MAX_VALUES, sizeof(*host));

	for (int i = 0; i < shapes->parameters_count; i++) {
		const struct model_parameter *at = &shapes->parameters[i];

		if (at->offset < first || at->offset >= first + count)
			continue;
		for (int64_t k = 0; k < at->elements; k++)
			host[k] = (float)stage_half(at->offset + k, 1) / 4;
		ck_assert(model_write(p->model, model_values(p->model), i, host, &error));
	}
	for (int slot = 0; slot < p->model->options.slots; slot++) {
		for (int64_t i = 0; i < (int64_t)(bytes / value_bytes(type)); i++)
			value_set(type, host, i, stage_half(i, 2 + (uint32_t)slot));
		ck_assert(p->backend->write(p->device, model_input(p->model, slot), host, bytes,
					    &error));
	}
	ck_assert(model_prepare(p->model, false, &error));
	free(host);
}

static void pass_open(struct pass *p, const struct row *row, enum how how, int slots)
{
	int before = row->flags & SAMPLES ? 0 : 1, first = before + !!(row->flags & LAST_STAGE);
	struct train_error error = {.status = TRAIN_OK};
	const struct model_options options = {.batch = row->batch,
					      .slots = slots,
					      .type = row->type,
					      .first = first,
					      .last = before + row->count - 1};
	struct scaler scaler = {.scale = 8};
	struct pass_control control = {0, row->rows, 0.25f};
	struct loss_result result = {1, 2};
	int32_t labels[MAX_BATCH];

	*p = (struct pass){.row = row, .how = how, .backend = &backend_cuda};
	if (how == REFERENCE)
		p->backend = &backend_reference;
	p->device = opened(p->backend, row->flags & DETERMINISTIC);
	if (how == SEPARATE) {
		own_calls(p->device)->kernel_linear_loss = refuse;
		((struct cuda_device *)p->device)->kind++; /* its choices are its own */
	}
	p->layers[0] = (struct layer){.name = "before", .kind = LAYER_MAX_POOL, .kernel = 1};
	memcpy(p->layers + before, row->layers, sizeof(*row->layers) * (size_t)row->count);
	p->spec = (struct model_spec){row->name, row->channels,       row->side,
				      row->side, before + row->count, p->layers};
	ck_assert_msg(model_open(&p->model, &p->spec, p->device, &options, &error), "%s: %s",
		      row->name, error.text);
	for (int i = 0; i < MAX_BATCH; i++) /* -1 is no class */
		labels[i] = i % (row->layers[row->count - 1].out + 1) - 1;
	p->labels = put(p, labels, sizeof(labels));
	p->control = put(p, &control, sizeof(control));
	p->scaler = put(p, &scaler, sizeof(scaler));
	p->result = put(p, &result, sizeof(result));
	set_numbers(p);
}

static void pass_close(struct pass *p)
{
	void *const memory[] = {p->labels, p->control, p->scaler, p->result};

	model_close(p->model);
	for (int i = 0; i < 4; i++)
		p->backend->release(p->device, memory[i]);
	ck_assert_msg(p->device->bytes == p->device->shared_bytes, "%s: %zu bytes are left",
		      p->row->name, p->device->bytes - p->device->shared_bytes);
	p->backend->close(p->device);
}

struct watching {
	const struct pass *pass;
	char *log;
};

static void log_call(void *argument, const char *layer, const char *what)
{
	struct watching *w = argument;
	size_t n = strlen(w->log);

	if (strncmp(what, "convert", 7) != 0)
		snprintf(w->log + n, LOG - n, "%s %s; ", layer, what);
}

static bool log_ready(void *argument, int layer, struct train_error *error)
{
	const struct watching *w = argument;
	size_t n = strlen(w->log);

	(void)error;
	snprintf(w->log + n, LOG - n, "[%s] ", w->pass->layers[layer].name);
	return true;
}

static struct model_loss loss_of(const struct pass *p, bool gradient)
{
	return (struct model_loss){.labels = p->labels,
				   .control = p->control,
				   .result = p->result,
				   .gradient = gradient,
				   .scaler = p->row->flags & SCALED ? p->scaler : NULL};
}

static uint64_t made(int call)
{
	return fake_cuda_made(call);
}

/* The kernel's blocks read all of the layer's input while others write its gradient. */
static void expect_apart(const struct pass *p, int slot)
{
	const struct model *m = p->model;
	const struct op_args args = node_args(m, m->count - 1, slot);
	const char *input = args.input, *gradient = args.input_gradient;
	size_t bytes = m->nodes[m->count - 1].op->info.input.bytes;

	ck_assert_msg(!gradient || gradient + bytes <= input || input + bytes <= gradient,
		      "%s: the gradient of the input lies over the input", p->row->name);
}

/* A pass of training, and what it leaves. */
static struct outcome train(struct pass *p, int slot)
{
	struct outcome o = {.log = ""};
	struct watching watching = {p, o.log};
	const struct model_watch watch = {.ready = log_ready, .argument = &watching};
	const struct model_loss loss = loss_of(p, true);
	struct train_error error = {.status = TRAIN_OK};
	struct loss_result result;
	struct model *m = p->model;

	if (p->how == TOGETHER)
		expect_apart(p, slot);
	o.kernels = made(CUDA_CALL_kernel_linear_loss);
	o.losses = made(CUDA_CALL_kernel_cross_entropy);
	o.products = made(CUDA_CALL_cublasLtMatmul);
	o.sums = made(CUDA_CALL_kernel_bias_gradient);
	ck_assert_msg(model_forward_to_loss(m, slot, NULL, &error), "%s", error.text);
	model_trace(m, log_call, &watching);
	ck_assert_msg(model_loss(m, slot, &loss, &error), "%s", error.text);
	ck_assert_msg(model_backward(m, slot, NULL, &watch, &error), "%s", error.text);
	model_trace(m, NULL, NULL);
	o.kernels = made(CUDA_CALL_kernel_linear_loss) - o.kernels;
	o.losses = made(CUDA_CALL_kernel_cross_entropy) - o.losses;
	o.products = made(CUDA_CALL_cublasLtMatmul) - o.products;
	o.sums = made(CUDA_CALL_kernel_bias_gradient) - o.sums;
	ck_assert(p->backend->read(p->device, &result, p->result, sizeof(result), &error));
	o.loss = result.loss;
	o.correct = result.correct;
	o.input = get(p, p->row->type, model_input_gradient(m), model_input_bytes(m), &o.inputs);
	return o;
}

/* In PyTorch's order. */
static void get_gradients(const struct pass *p, struct outcome *o)
{
	const struct model_shapes *shapes = model_shapes_of(p->model);
	struct train_error error = {.status = TRAIN_OK};
	int64_t first, count = model_elements(p->model, &first);
	float *host = calloc((size_t)count + 1, sizeof(*host));

	o->parameters = count;
	o->gradients = calloc((size_t)count + 1, sizeof(*o->gradients));
	for (int i = 0; i < shapes->parameters_count; i++) {
		const struct model_parameter *at = &shapes->parameters[i];

		if (at->offset < first || at->offset >= first + count)
			continue;
		ck_assert(model_read(p->model, model_gradients(p->model), i, host, &error));
		for (int64_t k = 0; k < at->elements; k++)
			o->gradients[at->offset - first + k] = (double)host[k];
	}
	free(host);
}

static struct outcome trained(const struct row *row, enum how how)
{
	struct outcome o;
	struct pass p;

	pass_open(&p, row, how, 1);
	o = train(&p, 0);
	get_gradients(&p, &o);
	pass_close(&p);
	return o;
}

static void outcome_free(struct outcome *o)
{
	free(o->gradients);
	free(o->input);
	free(o->logits);
}

/* The greatest difference, relative to the greatest value. */
static void expect_close(const struct row *row, const char *what, const double *got,
			 const double *want, int64_t count)
{
	double tolerance = row->type == VALUE_FLOAT32 ? 1e-5 : 2e-2, off = 0, scale = 1e-30;

	for (int64_t i = 0; i < count; i++) {
		ck_assert_msg(isfinite(got[i]), "%s: %s %d is %g", row->name, what, (int)i, got[i]);
		off = fmax(off, fabs(got[i] - want[i]));
		scale = fmax(scale, fabs(want[i]));
	}
	ck_assert_msg(off <= tolerance * scale, "%s: %s is off by %g of %g", row->name, what, off,
		      scale);
}

static void expect_alike(const struct row *row, const struct outcome *got,
			 const struct outcome *want)
{
	ck_assert_msg(fabs(got->loss - want->loss) <=
			      (row->type == VALUE_FLOAT32 ? 1e-5 : 2e-2) * fabs(want->loss),
		      "%s: loss %g, not %g", row->name, got->loss, want->loss);
	ROW_EQ_INT(row->name, got->correct, want->correct);
	ROW_EQ_INT(row->name, got->parameters, want->parameters);
	ROW_EQ_INT(row->name, got->inputs, want->inputs);
	expect_close(row, "gradient", got->gradients, want->gradients, want->parameters);
	expect_close(row, "the input's gradient", got->input, want->input, want->inputs);
}

START_TEST(a_pass_is_as_separate_operations)
{
	const struct row *row = &rows[_i];
	struct outcome got, separate, reference;
	struct row measured = *row;

	measured.flags &=
		~(unsigned)DETERMINISTIC; /* such a device does not try the kernel first */
	cuda_test_begin();
	got = trained(row, TOGETHER);
	separate = trained(&measured, SEPARATE);
	reference = trained(row, REFERENCE);
	ROW_EQ_INT(row->name, got.kernels, 1);
	ROW_EQ_INT(row->name, got.losses, 0);
	ROW_EQ_INT(row->name, separate.kernels, 0);
	ROW_EQ_INT(row->name, separate.losses, 1);
	ROW_EQ_INT(row->name, separate.products - got.products, row->flags & SAMPLES ? 2 : 3);
	if (row->layers == convnet_end)
		ROW_EQ_INT(row->name, got.sums, 0);
	expect_alike(row, &got, &separate);
	expect_alike(row, &got, &reference);
	if (row->order)
		ROW_EQ_STR(row->name, got.log, row->order);
	outcome_free(&got);
	outcome_free(&separate);
	outcome_free(&reference);
	cuda_test_end(row->name);
}
END_TEST

/* --- logits ------------------------------------------------------------------------------------
 */

/* Evaluation has separate operations, and logits. */
START_TEST(evaluation_has_logits)
{
	const struct row *row = &rows[_i];
	struct outcome together = {.loss = 0}, reference = {.loss = 0};
	struct outcome *outcomes[] = {&together, &reference};

	cuda_test_begin();
	for (int i = 0; i < 2; i++) {
		struct train_error error = {.status = TRAIN_OK};
		struct loss_result result;
		struct model_loss loss;
		struct pass p;
		uint64_t kernels;

		pass_open(&p, row, i ? REFERENCE : TOGETHER, 1);
		ROW_EQ_INT(row->name, p.model->linear_loss != NULL, i == 0);
		loss = loss_of(&p, false);
		kernels = made(CUDA_CALL_kernel_linear_loss);
		ck_assert(model_forward(p.model, 0, NULL, &error) &&
			  model_loss(p.model, 0, &loss, &error) &&
			  p.backend->read(p.device, &result, p.result, sizeof(result), &error));
		ck_assert_uint_eq(made(CUDA_CALL_kernel_linear_loss), kernels);
		outcomes[i]->loss = result.loss;
		outcomes[i]->correct = result.correct;
		outcomes[i]->logits = get(&p, row->type, model_output(p.model, 0),
					  model_output_bytes(p.model), &outcomes[i]->outputs);
		pass_close(&p);
	}
	ROW_EQ_INT(row->name, together.outputs, reference.outputs);
	expect_close(row, "a logit", together.logits, reference.logits, reference.outputs);
	expect_close(row, "the loss", &together.loss, &reference.loss, 1);
	outcome_free(&together);
	outcome_free(&reference);
	cuda_test_end(row->name);
}
END_TEST

/* In dp the master computes the loss of all replicas' logits. */
START_TEST(logits_that_are_needed_are_there)
{
	const struct model_options options = {.batch = 8, .slots = 1, .last = 1};
	const struct model_spec spec = {"two", 7, 1, 1, 2, two_linear};
	struct train_error error = {.status = TRAIN_OK};
	struct device *device;
	struct model *m;
	uint64_t products;

	cuda_test_begin();
	device = opened(&backend_cuda, true);
	ck_assert_msg(model_open_for_logits(&m, &spec, device, &options, &error), "%s", error.text);
	ck_assert(!m->linear_loss && m->loss);
	products = made(CUDA_CALL_cublasLtMatmul);
	ck_assert(model_prepare(m, false, &error) && model_forward_to_loss(m, 0, NULL, &error));
	ck_assert_uint_eq(made(CUDA_CALL_cublasLtMatmul) - products, 2);
	ck_assert(model_backward(m, 0, NULL, NULL, &error));
	ck_assert_uint_eq(made(CUDA_CALL_cublasLtMatmul) - products, 5);
	model_close(m);
	backend_cuda.close(device);
	cuda_test_end("logits");
}
END_TEST

/* --- slots and runs ----------------------------------------------------------------------------
 */

/* The last stage of micro-batches in flight: a pass's gradients are complete before the next loss,
 * whatever its slot and whatever waits in others. */
START_TEST(slots_do_not_disturb_each_other)
{
	struct outcome each[SLOTS], after[SLOTS];
	struct train_error error = {.status = TRAIN_OK};
	struct row row = rows[_i];
	struct pass p;
	size_t bytes;

	row.flags |= DETERMINISTIC; /* for the same bits */
	cuda_test_begin();
	pass_open(&p, &row, TOGETHER, SLOTS);
	for (int slot = 0; slot < SLOTS; slot++) {
		each[slot] = train(&p, slot);
		get_gradients(&p, &each[slot]);
	}
	pass_close(&p);
	pass_open(&p, &row, TOGETHER, SLOTS);
	ck_assert(model_forward_to_loss(p.model, 1, NULL, &error));
	bytes = (size_t)each[0].parameters * sizeof(double);
	for (int slot = 0; slot < SLOTS; slot++) {
		after[slot] = train(&p, slot);
		get_gradients(&p, &after[slot]);
		ck_assert_msg(memcmp(after[slot].gradients, each[slot].gradients, bytes) == 0,
			      "%s, slot %d: other gradients", row.name, slot);
	}
	ck_assert(memcmp(after[0].gradients, after[1].gradients, bytes) != 0);
	for (int slot = 0; slot < SLOTS; slot++) {
		outcome_free(&each[slot]);
		outcome_free(&after[slot]);
	}
	pass_close(&p);
	cuda_test_end(row.name);
}
END_TEST

/* --- the choice --------------------------------------------------------------------------------
 */

/* Recordings of the two ways: which was launched last takes the pretended time. */
static bool issued;                     /* the kernel, since a recording was made */
static cudaGraphExec_t with_the_kernel; /* the last one */
static bool of_the_kernel, of_others;   /* what was launched last */
static float kernel_ms;

static const struct cuda_calls *real(void)
{
	struct train_error error;

	return cuda_calls_get(&error);
}

static cudaError_t note_and_run(const struct linear_loss_args *args, cudaStream_t stream)
{
	issued = true;
	return real()->kernel_linear_loss(args, stream);
}

static cudaError_t note_recording(cudaGraphExec_t *executable, cudaGraph_t graph,
				  unsigned long long flags)
{
	cudaError_t status = real()->cudaGraphInstantiate(executable, graph, flags);

	if (issued)
		with_the_kernel = *executable;
	issued = false;
	return status;
}

static cudaError_t note_launch(cudaGraphExec_t executable, cudaStream_t stream)
{
	of_the_kernel = executable == with_the_kernel;
	of_others = with_the_kernel && !of_the_kernel;
	return real()->cudaGraphLaunch(executable, stream);
}

static cudaError_t pretend_ms(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	cudaError_t status = real()->cudaEventElapsedTime(ms, start, end);

	if (of_the_kernel)
		*ms = kernel_ms;
	else if (of_others)
		*ms = 2;
	return status;
}

static struct op *planned(struct device *device, enum value_type type, int batch, int features,
			  int classes)
{
	const struct op_shape shape = {.input = layout_host(type, batch, features, 1, 1),
				       .out = classes,
				       .relu_backward = true};
	struct train_error error = {.status = TRAIN_OK};
	struct op *op;

	ck_assert_msg(backend_cuda.linear_loss(&op, device, &shape, &error), "%s", error.text);
	return op;
}

static const struct choice {
	const char *name;
	int batch, features, classes;
	float kernel_ms;
	bool deterministic, refused, kernel;
} choices[] = {
	{"the kernel is faster", 32, 64, 10, 1, false, false, true},
	{"the kernel is slower", 32, 64, 10, 3, false, false, false},
	{"the kernel does not run", 32, 64, 10, 1, false, true, false},
	{"nothing is measured", 32, 64, 10, 3, true, false, true},
	{"the most classes", 8, 24, 64, 1, false, false, true},
	{"too many classes", 8, 24, 65, 1, false, false, false},
	{"too many classes in one order", 8, 24, 65, 1, true, false, false},
	{"the most products", 1 << 12, 1 << 13, 2, 1, true, false, true},
	{"too many products", (1 << 12) + 1, 1 << 13, 2, 1, true, false, false},
};

START_TEST(the_faster_is_chosen)
{
	const struct choice *row = &choices[_i];
	uint64_t events[3] = {0};

	cuda_test_begin();
	kernel_ms = row->kernel_ms;
	for (int i = 0; i < 2; i++) { /* the second device takes what the first one took */
		struct device *device = opened(&backend_cuda, row->deterministic);
		struct cuda_calls *calls = own_calls(device);
		struct op *op;

		calls->kernel_linear_loss = row->refused ? refuse : note_and_run;
		calls->cudaEventElapsedTime = pretend_ms;
		calls->cudaGraphInstantiate = note_recording;
		calls->cudaGraphLaunch = note_launch;
		issued = of_the_kernel = of_others = false;
		with_the_kernel = NULL;
		op = planned(device, VALUE_BFLOAT16, row->batch, row->features, row->classes);
		ROW_EQ_INT(row->name, op != NULL, row->kernel);
		events[i + 1] = made(CUDA_CALL_cudaEventElapsedTime);
		/* A device that does not measure takes no memory for it. */
		if (row->deterministic)
			ck_assert_uint_eq(device->peak_bytes, device->shared_bytes);
		op_free(op);
		ck_assert_uint_eq(device->bytes, device->shared_bytes);
		backend_cuda.close(device);
	}
	ROW_EQ_INT(row->name, events[1] > 0,
		   !row->deterministic && row->classes <= LINEAR_LOSS_MAX_CLASSES);
	ck_assert_uint_eq(events[2], events[1]);
	cuda_test_end(row->name);
}
END_TEST

/* The device fails: planning ends with the reason. */
static cudaError_t broken(const struct linear_loss_args *args, cudaStream_t stream)
{
	(void)args;
	(void)stream;
	return cudaErrorECCUncorrectable;
}

START_TEST(a_failure_is_reported)
{
	struct train_error error = {.status = TRAIN_OK};
	struct pass p;

	cuda_test_begin();
	pass_open(&p, &rows[0], TOGETHER, 1);
	own_calls(p.device)->kernel_linear_loss = broken;
	ck_assert(model_forward_to_loss(p.model, 0, NULL, &error));
	ck_assert(!model_loss(p.model, 0, &(struct model_loss){.gradient = true}, &error));
	ck_assert_msg(strstr(error.text, "kernel_linear_loss: cudaErrorECCUncorrectable"), "%s",
		      error.text);
	pass_close(&p);
	cuda_test_end("a failure");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("linear loss");
	TCase *tests = tcase_create("linear loss");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, a_pass_is_as_separate_operations, 0, ROWS);
	tcase_add_loop_test(tests, evaluation_has_logits, 0, ROWS);
	tcase_add_test(tests, logits_that_are_needed_are_there);
	tcase_add_loop_test(tests, slots_do_not_disturb_each_other, 0, ROWS);
	tcase_add_loop_test(tests, the_faster_is_chosen, 0, sizeof(choices) / sizeof(*choices));
	tcase_add_test(tests, a_failure_is_reported);
	return unit_run(suite);
}
