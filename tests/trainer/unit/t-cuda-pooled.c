/* SPDX-License-Identifier: MIT */
/* A convolution of data and its pooling as one operation of a simulated GPU: which ones are, when
 * that is chosen, and that a model computes the same as on the reference backend. */
#include "config.h"

#include "backend/cuda/cuda.h"
#include "cuda-test.h"
#include "inject.h"
#include "stage.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

static struct device *opened(const struct backend *backend, bool deterministic)
{
	const struct device_options options = {.threads = 1, .deterministic = deterministic};
	struct train_error error = {.status = TRAIN_OK};
	struct device *device;

	ck_assert_msg(backend->open(&device, &options, &error), "%s", error.text);
	return device;
}

/* --- the choice */

static struct op_shape convolution(void)
{
	return (struct op_shape){.input = layout_host(VALUE_BFLOAT16, 2, 3, 8, 8),
				 .out = 16,
				 .kernel = 3,
				 .pad = 1,
				 .stride = 1,
				 .relu = true,
				 .no_backward_data = true,
				 .no_bias_gradient = true};
}

static struct op_shape pooling(void)
{
	return (struct op_shape){.kernel = 2, .stride = 2, .relu_backward = true};
}

static struct op *planned(const char *name, struct device *device, const struct op_shape *shape,
			  const struct op_shape *pool)
{
	struct train_error error = {.status = TRAIN_OK};
	struct op *op;

	ck_assert_msg(backend_cuda.convolution_pool(&op, device, shape, pool, &error), "%s: %s",
		      name, error.text);
	return op;
}

static cudaError_t no_forward(const struct convolution_pool_args *args, cudaStream_t stream)
{
	return cudaErrorNoKernelImageForDevice;
}

static cudaError_t no_backward(const struct convolution_pool_backward_args *args,
			       cudaStream_t stream)
{
	return cudaErrorNoKernelImageForDevice;
}

/* Simulated kernels take no time, other libraries do. */
static const struct choice {
	const char *name, *slow;
	bool deterministic, no_forward, no_backward, no_mma, together;
	size_t bytes;
} choices[] = {
	{.name = "faster", .together = true},
	{.name = "a slow kernel", .slow = "convolution_pool"},
	{.name = "a slow kernel of backward", .slow = "convolution_pool_backward"},
	{.name = "not measured",
	 .slow = "convolution_pool",
	 .deterministic = true,
	 .together = true},
	{.name = "no code for the GPU", .no_forward = true},
	{.name = "no code for backward", .no_backward = true},
	{.name = "no code, not measured", .deterministic = true, .no_forward = true},
	{.name = "an older GPU", .no_mma = true},
	{.name = "too little memory to compare",
	 .slow = "convolution_pool",
	 .bytes = 40 << 10,
	 .together = true},
};

START_TEST(the_faster_way_is_chosen)
{
	const struct choice *row = &choices[_i];
	const struct op_shape shape = convolution(), pool = pooling();
	struct cuda_calls calls;
	struct cuda_device *d;
	struct device *device;
	struct op *op;

	fake_cuda_open(&(struct fake_cuda_options){
		.devices = 1, .simulated_time = true, .slow = row->slow, .bytes = row->bytes});
	device = opened(&backend_cuda, row->deterministic);
	d = (struct cuda_device *)device;
	calls = *d->calls;
	d->calls = &calls;
	if (row->no_forward)
		calls.kernel_convolution_pool = no_forward;
	if (row->no_backward)
		calls.kernel_convolution_pool_backward = no_backward;
	if (row->no_mma)
		d->has_bfloat16 = false;
	op = planned(row->name, device, &shape, &pool);
	ROW_EQ_INT(row->name, op != NULL, row->together);
	op_free(op);
	ck_assert_msg(device->bytes == device->shared_bytes, "%s: %zu bytes are left", row->name,
		      device->bytes - device->shared_bytes);
	backend_cuda.close(device);
	cuda_test_end(row->name);
}
END_TEST

/* Replicas take what the first of them took, and then try nothing. */
START_TEST(shapes_are_measured_once)
{
	struct op_shape shape = convolution(), pool = pooling();
	struct device *devices[2];
	uint64_t tried[2];

	cuda_test_begin();
	for (int i = 0; i < 2; i++) {
		devices[i] = opened(&backend_cuda, false);
		op_free(planned("replica", devices[i], &shape, &pool));
		tried[i] = fake_cuda_made(CUDA_CALL_kernel_convolution_pool);
	}
	ck_assert_uint_gt(tried[0], 0);
	ck_assert_uint_eq(tried[1], tried[0]);
	shape.out = 24;
	op_free(planned("another", devices[0], &shape, &pool));
	ck_assert_uint_gt(fake_cuda_made(CUDA_CALL_kernel_convolution_pool), tried[1]);
	for (int i = 0; i < 2; i++)
		backend_cuda.close(devices[i]);
	cuda_test_end("replicas");
}
END_TEST

static void make_linear(struct op_shape *shape, struct op_shape *pool)
{
	shape->relu = false;
}

static void make_wide(struct op_shape *shape, struct op_shape *pool)
{
	shape->kernel = 5;
	shape->pad = 2;
}

static void make_unpadded(struct op_shape *shape, struct op_shape *pool)
{
	shape->pad = 0;
}

static void make_strided(struct op_shape *shape, struct op_shape *pool)
{
	shape->stride = 2;
}

static void make_middle(struct op_shape *shape, struct op_shape *pool)
{
	shape->no_backward_data = false;
}

static void make_float(struct op_shape *shape, struct op_shape *pool)
{
	shape->input = layout_host(VALUE_FLOAT32, 2, 3, 8, 8);
}

static void make_deep(struct op_shape *shape, struct op_shape *pool)
{
	shape->input = layout_host(VALUE_BFLOAT16, 2, 4, 8, 8);
}

static void make_unbiased(struct op_shape *shape, struct op_shape *pool)
{
	shape->no_bias = true;
}

static void pool_thirds(struct op_shape *shape, struct op_shape *pool)
{
	pool->kernel = pool->stride = 3;
}

static void pool_overlapping(struct op_shape *shape, struct op_shape *pool)
{
	pool->stride = 1;
}

static void pool_padded(struct op_shape *shape, struct op_shape *pool)
{
	pool->pad = 1;
}

static const struct {
	const char *name;
	void (*change)(struct op_shape *shape, struct op_shape *pool);
} others[] = {
	{"without ReLU", make_linear},
	{"5 x 5", make_wide},
	{"without padding", make_unpadded},
	{"by strides", make_strided},
	{"in the middle of a model", make_middle},
	{"in float32", make_float},
	{"of four channels", make_deep},
	{"without a bias", make_unbiased},
	{"with pooling by 3", pool_thirds},
	{"with windows that overlap", pool_overlapping},
	{"with padded windows", pool_padded},
};

START_TEST(others_are_two_operations)
{
	struct op_shape shape = convolution(), pool = pooling();
	struct device *device;

	cuda_test_begin();
	device = opened(&backend_cuda, false);
	others[_i].change(&shape, &pool);
	ck_assert_msg(!planned(others[_i].name, device, &shape, &pool), "%s", others[_i].name);
	/* Nothing was tried. */
	ck_assert_uint_eq(device->peak_bytes, 0);
	backend_cuda.close(device);
	cuda_test_end(others[_i].name);
}
END_TEST

/* Plans with the n-th call from there on failing; 0: none. Returns the number of calls. */
static uint64_t plan_failing(bool deterministic, uint64_t n)
{
	static const enum cuda_library libraries[] = {CUDA_LIBRARY_RUNTIME, CUDA_LIBRARY_KERNELS,
						      CUDA_LIBRARY_CUDNN};
	const struct op_shape shape = convolution(), pool = pooling();
	struct train_error error = {.status = TRAIN_OK};
	struct cuda_calls calls;
	struct device *device;
	struct op *op = NULL;
	uint64_t made;
	bool done;

	cuda_test_begin();
	device = opened(&backend_cuda, deterministic);
	calls = *((struct cuda_device *)device)->calls;
	for (int i = 0; i < ROWS(libraries); i++)
		inject_wrap(&calls, libraries[i]);
	((struct cuda_device *)device)->calls = &calls;
	inject_at(n, false);
	done = backend_cuda.convolution_pool(&op, device, &shape, &pool, &error);
	made = inject_count();
	inject_at(0, false);
	ck_assert_msg(done || *error.text, "call %d fails: no reason", (int)n);
	ck_assert_msg(done || !op, "call %d fails: there is an operation", (int)n);
	op_free(op);
	ck_assert_msg(device->bytes == device->shared_bytes, "call %d fails: %zu bytes are left",
		      (int)n, device->bytes - device->shared_bytes);
	backend_cuda.close(device);
	cuda_test_end("a call fails");
	return made;
}

START_TEST(each_call_may_fail)
{
	bool deterministic = _i;
	uint64_t calls = plan_failing(deterministic, 0);

	ck_assert_uint_gt(calls, 40);
	for (uint64_t n = 1; n <= calls; n++)
		plan_failing(deterministic, n);
}
END_TEST

/* --- a model */

/* Sums of the convolution and gradients of its output are exact in the type (stage_half()), so all
 * that both backends compute up to there is equal. */
static const struct row {
	const char *name;
	int batch, channels, height, width, out;
} rows[] = {
	{"CIFAR-10", 2, 3, 32, 32, 64},
	{"a rest at the end", 3, 3, 7, 9, 11},
	{"one window", 1, 1, 2, 2, 1},
	{"two channels", 2, 2, 4, 6, 24},
};

enum { CLASSES = 4 };

struct trained {
	char text[400]; /* what was traced */
	int64_t count;  /* of gradients: weights, then the bias of the convolution */
	double *gradients, *logits;
};

static void trace(void *argument, const char *layer, const char *what)
{
	struct trained *t = argument;
	size_t n = strlen(t->text);

	if (strncmp(what, "convert", 7) != 0 && strcmp(what, "prepare") != 0)
		snprintf(t->text + n, sizeof(t->text) - n, "%s %s, ", layer, what);
}

static bool ready(void *argument, int layer, struct train_error *error)
{
	struct trained *t = argument;
	size_t n = strlen(t->text);

	snprintf(t->text + n, sizeof(t->text) - n, "[%d] ", layer);
	return true;
}

static void write_values(struct model *m, void *to, enum value_type type, const double *values,
			 int64_t count)
{
	struct device *device = m->device;
	struct train_error error = {.status = TRAIN_OK};
	void *host = calloc((size_t)count, value_bytes(type));

	ck_assert_ptr_nonnull(host);
	for (int64_t i = 0; i < count; i++)
		value_set(type, host, i, values[i]);
	ck_assert(device->backend->write(device, to, host, (size_t)count * value_bytes(type),
					 &error));
	free(host);
}

/* Of samples: in PyTorch's order, or as the GPU wants them. */
static void write_input(struct model *m)
{
	const struct layout *l = &m->input;
	int64_t places = l->height * l->width, pitch = l->order ? 8 : l->channels;
	int64_t count = l->batch * places * pitch;
	double *values = calloc((size_t)count, sizeof(*values));

	ck_assert_ptr_nonnull(values);
	for (int64_t i = 0; i < layout_values(l); i++) {
		int64_t p = i % places, c = i / places % l->channels;
		int64_t n = i / places / l->channels;

		values[l->order ? (n * places + p) * pitch + c : i] = stage_half(i, 2);
	}
	write_values(m, model_input(m, 0), l->type, values, count);
	free(values);
}

static void write_halves(struct model *m, void *to, enum value_type type, int64_t count,
			 uint32_t seed)
{
	double *values = malloc((size_t)count * sizeof(*values));

	ck_assert_ptr_nonnull(values);
	for (int64_t i = 0; i < count; i++)
		values[i] = stage_half(i, seed);
	write_values(m, to, type, values, count);
	free(values);
}

static void set_parameters(struct model *m)
{
	const struct model_shapes *shapes = &m->shapes;
	struct train_error error = {.status = TRAIN_OK};

	for (int p = 0; p < shapes->parameters_count; p++) {
		int64_t count = shapes->parameters[p].elements;
		float *host = malloc((size_t)count * sizeof(*host));

		ck_assert_ptr_nonnull(host);
		for (int64_t i = 0; i < count; i++)
			host[i] = (float)stage_half(i, 10 + (uint32_t)p);
		ck_assert(model_write(m, m->values, p, host, &error));
		free(host);
	}
}

static double *fetch_gradient(struct model *m, int parameter, double *to)
{
	int64_t count = m->shapes.parameters[parameter].elements;
	struct train_error error = {.status = TRAIN_OK};
	float *host = malloc((size_t)count * sizeof(*host));

	ck_assert_ptr_nonnull(host);
	ck_assert(model_read(m, m->gradients, parameter, host, &error));
	for (int64_t i = 0; i < count; i++)
		to[i] = (double)host[i];
	free(host);
	return to + count;
}

static void fetch_results(struct model *m, enum value_type type, struct trained *t)
{
	const struct model_shapes *shapes = &m->shapes;
	int64_t logits = (int64_t)(model_output_bytes(m) / value_bytes(type));
	struct device *device = m->device;
	struct train_error error = {.status = TRAIN_OK};
	void *host = malloc(model_output_bytes(m));

	t->count = shapes->parameters[0].elements + shapes->parameters[1].elements;
	t->gradients = malloc((size_t)t->count * sizeof(double));
	t->logits = malloc((size_t)logits * sizeof(double));
	ck_assert(host && t->gradients && t->logits);
	fetch_gradient(m, 1, fetch_gradient(m, 0, t->gradients));
	ck_assert(device->backend->read(device, host, model_output(m, 0), model_output_bytes(m),
					&error));
	for (int64_t i = 0; i < logits; i++)
		t->logits[i] = value_get(type, host, i);
	free(host);
}

static struct trained trained(const struct row *row, struct device *device, enum value_type type)
{
	const struct layer layers[] = {
		{.name = "conv",
		 .kind = LAYER_CONVOLUTION,
		 .out = row->out,
		 .kernel = 3,
		 .pad = 1,
		 .relu = true},
		{.name = "pool", .kind = LAYER_MAX_POOL, .kernel = 2},
		{.name = "fc", .kind = LAYER_LINEAR, .out = CLASSES},
	};
	const struct model_spec spec = {row->name, row->channels, row->height, row->width,
					3,         layers};
	const struct model_options options = {
		.batch = row->batch, .slots = 1, .type = type, .last = 2};
	struct trained t = {.text = ""};
	const struct model_watch watch = {.ready = ready, .argument = &t};
	struct train_error error = {.status = TRAIN_OK};
	struct model *m;

	ck_assert_msg(model_open(&m, &spec, device, &options, &error), "%s", error.text);
	model_trace(m, trace, &t);
	set_parameters(m);
	write_input(m);
	ck_assert_msg(model_prepare(m, false, &error) && model_forward(m, 0, NULL, &error), "%s",
		      error.text);
	write_halves(m, model_output_gradient(m), type, (int64_t)row->batch * CLASSES, 3);
	ck_assert_msg(model_backward(m, 0, NULL, &watch, &error), "%s", error.text);
	fetch_results(m, type, &t);
	model_close(m);
	device->backend->close(device);
	return t;
}

static void expect_close(const char *name, const char *what, const double *got, const double *want,
			 int64_t count, double tolerance)
{
	for (int64_t i = 0; i < count; i++)
		ck_assert_msg(fabs(got[i] - want[i]) <= tolerance * fabs(want[i]),
			      "%s: %s %lld is %g, not %g", name, what, (long long)i, got[i],
			      want[i]);
}

static void trained_free(struct trained *t)
{
	free(t->gradients);
	free(t->logits);
}

/* As one operation, and as two, which round the gradients of the filters. */
START_TEST(models_are_the_reference)
{
	const struct row *row = &rows[_i / 4];
	bool together = _i % 2;
	enum value_type type = _i / 2 % 2 ? VALUE_BFLOAT16 : VALUE_FLOAT16;
	struct trained want = trained(row, opened(&backend_reference, false), type), got;

	fake_cuda_open(&(struct fake_cuda_options){.devices = 1,
						   .simulated_time = true,
						   .slow = together ? NULL : "convolution_pool"});
	got = trained(row, opened(&backend_cuda, false), type);
	ROW_EQ_STR(row->name, got.text,
		   together ? "conv forward, fc forward, fc backward weights, [2] "
			      "fc backward data, conv backward weights, [0] "
			    : want.text);
	expect_close(row->name, "logit", got.logits, want.logits, (int64_t)row->batch * CLASSES,
		     0x1p-7);
	expect_close(row->name, "gradient", got.gradients, want.gradients, got.count,
		     together ? 0 : 0x1p-7);
	trained_free(&want);
	trained_free(&got);
	cuda_test_end(row->name);
}
END_TEST

/* A stage that ends between the two has the convolution alone. */
START_TEST(stages_may_end_between_them)
{
	const struct layer layers[] = {
		{.name = "conv",
		 .kind = LAYER_CONVOLUTION,
		 .out = 8,
		 .kernel = 3,
		 .pad = 1,
		 .relu = true},
		{.name = "pool", .kind = LAYER_MAX_POOL, .kernel = 2},
		{.name = "fc", .kind = LAYER_LINEAR, .out = CLASSES},
	};
	const struct model_spec spec = {"cut", 3, 8, 8, 3, layers};
	const struct model_options options = {.batch = 2, .slots = 1, .type = VALUE_BFLOAT16};
	struct train_error error = {.status = TRAIN_OK};
	struct device *device;
	struct model *m;

	cuda_test_begin();
	device = opened(&backend_cuda, true);
	ck_assert_msg(model_open(&m, &spec, device, &options, &error), "%s", error.text);
	ck_assert_uint_eq(model_output_bytes(m), 2 * 8 * 8 * 8 * 2);
	ck_assert(model_prepare(m, false, &error) && model_forward(m, 0, NULL, &error));
	ck_assert_uint_eq(fake_cuda_made(CUDA_CALL_kernel_convolution_pool), 0);
	model_close(m);
	backend_cuda.close(device);
	cuda_test_end("cut");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cuda-pooled");
	TCase *tests = tcase_create("pooled");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, the_faster_way_is_chosen, 0, ROWS(choices));
	tcase_add_test(tests, shapes_are_measured_once);
	tcase_add_loop_test(tests, others_are_two_operations, 0, ROWS(others));
	tcase_add_loop_test(tests, each_call_may_fail, 0, 2);
	tcase_add_loop_test(tests, models_are_the_reference, 0, 4 * ROWS(rows));
	tcase_add_test(tests, stages_may_end_between_them);
	return unit_run(suite);
}
