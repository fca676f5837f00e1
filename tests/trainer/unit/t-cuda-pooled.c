/* SPDX-License-Identifier: MIT */
/* A convolution of data and its pooling as one operation of a simulated GPU: which ones are, and
 * when that is chosen. */
#include "config.h"

#include "backend/cuda.h"
#include "cuda-test.h"
#include "inject.h"

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
	(void)args, (void)stream;
	return cudaErrorNoKernelImageForDevice;
}

static cudaError_t no_backward(const struct convolution_pool_backward_args *args,
			       cudaStream_t stream)
{
	(void)args, (void)stream;
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
	 .bytes = 44 << 10,
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
	(void)pool;
	shape->relu = false;
}

static void make_wide(struct op_shape *shape, struct op_shape *pool)
{
	(void)pool;
	shape->kernel = 5;
	shape->pad = 2;
}

static void make_unpadded(struct op_shape *shape, struct op_shape *pool)
{
	(void)pool;
	shape->pad = 0;
}

static void make_strided(struct op_shape *shape, struct op_shape *pool)
{
	(void)pool;
	shape->stride = 2;
}

static void make_middle(struct op_shape *shape, struct op_shape *pool)
{
	(void)pool;
	shape->no_backward_data = false;
}

static void make_float(struct op_shape *shape, struct op_shape *pool)
{
	(void)pool;
	shape->input = layout_host(VALUE_FLOAT32, 2, 3, 8, 8);
}

static void make_deep(struct op_shape *shape, struct op_shape *pool)
{
	(void)pool;
	shape->input = layout_host(VALUE_BFLOAT16, 2, 4, 8, 8);
}

static void make_unbiased(struct op_shape *shape, struct op_shape *pool)
{
	(void)pool;
	shape->no_bias = true;
}

static void pool_thirds(struct op_shape *shape, struct op_shape *pool)
{
	(void)shape;
	pool->kernel = pool->stride = 3;
}

static void pool_overlapping(struct op_shape *shape, struct op_shape *pool)
{
	(void)shape;
	pool->stride = 1;
}

static void pool_padded(struct op_shape *shape, struct op_shape *pool)
{
	(void)shape;
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

int main(void)
{
	Suite *suite = suite_create("cuda-pooled");
	TCase *tests = tcase_create("pooled");

	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, the_faster_way_is_chosen, 0, ROWS(choices));
	tcase_add_test(tests, shapes_are_measured_once);
	tcase_add_loop_test(tests, others_are_two_operations, 0, ROWS(others));
	tcase_add_loop_test(tests, each_call_may_fail, 0, 2);
	return unit_run(suite);
}
