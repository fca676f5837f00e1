/* SPDX-License-Identifier: MIT */
/* Faults, and what the simulated runtime reports about them. */
#include "config.h"

#include "fake_bench.h"

static cudaError_t of_freed(void)
{
	float *gone = device_new(BYTES);

	OK(cu.cudaFree(gone));
	return add(bench.x, gone, bench.a);
}

static cudaError_t freed_twice(void)
{
	float *gone = device_new(BYTES);

	OK(cu.cudaFree(gone));
	return cu.cudaFree(gone);
}

static cudaError_t freed_inside(void)
{
	return cu.cudaFree(bench.x + 4);
}

static cudaError_t of_other_device(void)
{
	return add(bench.x, bench.far, bench.a);
}

static cudaError_t of_host(void)
{
	return add(bench.x, bench.host, bench.a);
}

static cudaError_t of_pinned(void)
{
	return add(bench.x, bench.pinned, bench.a);
}

static cudaError_t too_long(void)
{
	return add(bench.x + 1, bench.y, bench.a);
}

static cudaError_t misaligned(void)
{
	struct relu_backward_args args = {bench.x + 1, bench.y, 4, VALUE_FLOAT32};

	return cu.kernel_relu_backward(&args, bench.a);
}

static cudaError_t wrong_device(void)
{
	return add(bench.far, bench.far, bench.other);
}

static cudaError_t wrong_kind(void)
{
	return cu.cudaMemcpyAsync(bench.x, bench.host, BYTES, cudaMemcpyDeviceToHost, bench.a);
}

static cudaError_t wrong_peer(void)
{
	return cu.cudaMemcpyPeerAsync(bench.far, 0, bench.x, 0, BYTES, bench.a);
}

static cudaError_t copy_between_devices(void)
{
	return cu.cudaMemcpyAsync(bench.far, bench.x, BYTES, cudaMemcpyDeviceToDevice, bench.a);
}

static cudaError_t default_stream(void)
{
	return cu.cudaMemsetAsync(bench.x, 0, BYTES, NULL);
}

static cudaError_t dead_stream(void)
{
	cudaStream_t gone = stream_new(0);

	OK(cu.cudaStreamDestroy(gone));
	return cu.cudaStreamSynchronize(gone);
}

static cudaError_t event_of_other_device(void)
{
	return cu.cudaEventRecord(bench.event, bench.other);
}

static cudaError_t unordered_write(void)
{
	OK(cu.cudaMemsetAsync(bench.x, 0, BYTES, bench.a));
	return add(bench.x, bench.y, bench.b);
}

static cudaError_t unordered_read(void)
{
	OK(add(bench.x, bench.y, bench.a));
	OK(cu.cudaStreamSynchronize(bench.b));
	return cu.cudaMemcpyAsync(bench.y, bench.x, BYTES, cudaMemcpyDeviceToDevice, bench.b);
}

static cudaError_t unordered_copy_buffer(void)
{
	OK(to_device(bench.x, bench.pinned, bench.a));
	return cu.cudaMemcpyAsync(bench.pinned, bench.y, BYTES, cudaMemcpyDeviceToHost, bench.b);
}

static cudaError_t blocking_stream(void)
{
	cudaStream_t stream;

	return cu.cudaStreamCreateWithPriority(&stream, cudaStreamDefault, 0);
}

static cudaError_t dirty_scratch(void)
{
	struct bias_gradient_args args = {
		.gradient = bench.y, .sums = bench.x, .rows = 4, .columns = 4};
	cudaError_t status;

	args.scratch = device_new(bias_gradient_scratch(4, 4, VALUE_FLOAT32));
	status = cu.kernel_bias_gradient(&args, bench.a);
	OK(cu.cudaStreamSynchronize(bench.a));
	OK(cu.cudaFree(args.scratch));
	return status;
}

/* With the status that comes back and the fault that is noted. */
static const struct wrong {
	const char *name;
	cudaError_t (*run)(void);
	cudaError_t status;
	const char *fault;
} wrongs[] = {
	{"freed", of_freed, cudaErrorIllegalAddress, "was freed"},
	{"freed twice", freed_twice, cudaErrorInvalidValue, "was freed before"},
	{"freed inside", freed_inside, cudaErrorInvalidValue, "no allocation begins"},
	{"another device's", of_other_device, cudaErrorIllegalAddress, "is of device 1, not of"},
	{"the host's", of_host, cudaErrorIllegalAddress, "pageable host memory"},
	{"pinned", of_pinned, cudaErrorIllegalAddress, "is of the host 0, not of device 0"},
	{"too long", too_long, cudaErrorIllegalAddress,
	 "64 bytes at byte 4 of an allocation of 64"},
	{"misaligned", misaligned, cudaErrorIllegalAddress, "is not a multiple of 16"},
	{"on another device", wrong_device, cudaErrorInvalidResourceHandle,
	 "the stream is of device 1, and the thread's is 0"},
	{"a copy's kind", wrong_kind, cudaErrorInvalidValue, "its kind is 2"},
	{"a peer's address", wrong_peer, cudaErrorIllegalAddress,
	 "is of device 1, not of device 0"},
	{"a plain copy between devices", copy_between_devices, cudaErrorInvalidValue,
	 "memory of device 0 to memory of device 1"},
	{"the default stream", default_stream, cudaErrorInvalidResourceHandle, "default stream"},
	{"a destroyed stream", dead_stream, cudaErrorInvalidResourceHandle, "destroyed before"},
	{"an event of another device", event_of_other_device, cudaErrorInvalidResourceHandle,
	 "the event is of device 0 and the stream of device 1"},
	{"an unordered write", unordered_write, cudaSuccess,
	 "kernel_accumulate writes bytes 0 to 64 of an allocation that cudaMemsetAsync writes"},
	{"an unordered read", unordered_read, cudaSuccess,
	 "cudaMemcpyAsync reads bytes 0 to 64 of an allocation that kernel_accumulate writes"},
	{"an unordered buffer", unordered_copy_buffer, cudaSuccess,
	 "cudaMemcpyAsync writes bytes 0 to 64 of an allocation that cudaMemcpyAsync reads"},
	{"a blocking stream", blocking_stream, cudaErrorInvalidValue, "not cudaStreamNonBlocking"},
	{"a ticket that is not zero", dirty_scratch, cudaSuccess, "scratch are not zero"},
};

START_TEST(what_is_wrong_is_found)
{
	const struct wrong *row = &wrongs[_i];

	bench_open(false);
	ROW_EQ_STR(row->name, fake_cuda_fault(), "");
	ROW_EQ_INT(row->name, row->run(), row->status);
	ck_assert_msg(strstr(fake_cuda_fault(), row->fault), "%s: '%s' is not '%s'", row->name,
		      fake_cuda_fault(), row->fault);
	fake_cuda_forgive();
	cu.cudaGetLastError();
	bench_free();
	machine_close();
}
END_TEST

static void leak_memory(void)
{
	device_new(8);
}

static void leak_pinned(void)
{
	void *memory;

	OK(cu.cudaMallocHost(&memory, 8));
}

static void leak_stream(void)
{
	stream_new(0);
}

static void leak_event(void)
{
	cudaEvent_t event;

	OK(cu.cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
}

static void write_behind(void)
{
	unsigned char *memory = device_new(8);

	memory[8] = 1;
	OK(cu.cudaFree(memory));
}

static const struct leak {
	void (*run)(void);
	const char *expected;
} leaks[] = {
	{leak_memory, "8 bytes of device 0 were not freed"},
	{leak_pinned, "8 bytes of pinned memory"},
	{leak_stream, "a stream of device 0 was not destroyed"},
	{leak_event, "a event of device 0 was not destroyed"},
	{write_behind, "something wrote behind an allocation of 8 bytes"},
};

START_TEST(leaks_are_found_at_the_end)
{
	char text[FAKE_CUDA_TEXT];

	machine_open(1, false);
	leaks[_i].run();
	ck_assert(!fake_cuda_close(text));
	ck_assert_msg(strstr(text, leaks[_i].expected), "'%s' is not '%s'", text,
		      leaks[_i].expected);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fake_faults");
	TCase *tcase = tcase_create("faults");

	tcase_add_loop_test(tcase, what_is_wrong_is_found, 0, sizeof(wrongs) / sizeof(*wrongs));
	tcase_add_loop_test(tcase, leaks_are_found_at_the_end, 0, sizeof(leaks) / sizeof(*leaks));
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
