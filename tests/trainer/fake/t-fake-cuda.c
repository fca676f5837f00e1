/* SPDX-License-Identifier: MIT */
/* That the pretended runtime computes and keeps order. */
#include "config.h"

#include "fake_bench.h"

static void expect(const float *memory, cudaStream_t stream, float times)
{
	float got[COUNT];

	OK(cu.cudaMemcpyAsync(got, memory, BYTES, cudaMemcpyDeviceToHost, stream));
	for (int i = 0; i < COUNT; i++)
		ck_assert_msg(got[i] == times * (float)i, "[%d] is %g, not %g", i, (double)got[i],
			      (double)(times * (float)i));
}

START_TEST(streams_compute_in_order)
{
	bench_open(_i);
	OK(to_device(bench.x, bench.host, bench.a));
	bench.host[3] = 99; /* pageable bytes were taken */
	OK(cu.cudaMemcpyAsync(bench.y, bench.x, BYTES, cudaMemcpyDeviceToDevice, bench.a));
	OK(add(bench.x, bench.y, bench.a));
	OK(cu.cudaEventRecord(bench.event, bench.a));
	OK(cu.cudaStreamWaitEvent(bench.b, bench.event, 0));
	OK(add(bench.y, bench.x, bench.b));
	expect(bench.y, bench.b, 3);
	OK(cu.cudaMemcpyPeerAsync(bench.far, 1, bench.y, 0, BYTES, bench.b));
	OK(cu.cudaStreamSynchronize(bench.b));
	expect(bench.far, bench.other, 3);
	OK(cu.cudaMemsetAsync(bench.x, 0, BYTES, bench.a));
	expect(bench.x, bench.a, 0);
	bench_free();
	machine_close();
}
END_TEST

START_TEST(late_work_waits_for_somebody)
{
	bench_open(true);
	OK(to_device(bench.x, bench.pinned, bench.a));
	bench.pinned[3] = 99; /* too early: the copy is still to come */
	ck_assert_int_eq(cu.cudaStreamQuery(bench.b), cudaSuccess);
	OK(cu.cudaEventRecord(bench.event, bench.a));
	OK(cu.cudaEventSynchronize(bench.event));
	OK(cu.cudaMemcpyAsync(bench.host, bench.x, BYTES, cudaMemcpyDeviceToHost, bench.a));
	ck_assert(bench.host[2] == 2);
	/* The query of another stream did it, one piece each. */
	ck_assert(bench.host[3] == 3 || bench.host[3] == 99);
	OK(to_device(bench.x, bench.pinned, bench.a));
	OK(to_device(bench.y, bench.pinned, bench.a));
	OK(cu.cudaEventRecord(bench.event, bench.a));
	ck_assert_int_eq(cu.cudaEventQuery(bench.event), cudaErrorNotReady);
	ck_assert_int_eq(cu.cudaEventQuery(bench.event), cudaErrorNotReady);
	ck_assert_int_eq(cu.cudaEventQuery(bench.event), cudaSuccess);
	cu.cudaGetLastError();
	bench_free();
	machine_close();
}
END_TEST

START_TEST(events_measure_time)
{
	cudaEvent_t from, to;
	float ms = -1;
	struct busy_args busy = {.nanoseconds = 2000000, .blocks = 1};

	bench_open(false);
	OK(cu.cudaEventCreateWithFlags(&from, cudaEventDefault));
	OK(cu.cudaEventCreateWithFlags(&to, cudaEventDefault));
	OK(cu.cudaEventRecord(from, bench.a));
	OK(cu.kernel_busy(&busy, bench.a));
	OK(cu.cudaEventRecord(to, bench.a));
	OK(cu.cudaEventSynchronize(to));
	OK(cu.cudaEventElapsedTime(&ms, from, to));
	ck_assert_msg(ms >= 0 && ms < 10000, "%g ms", (double)ms);
	OK(cu.cudaEventRecord(bench.event, bench.a));
	ck_assert_int_eq(cu.cudaEventElapsedTime(&ms, from, bench.event),
			 cudaErrorInvalidResourceHandle);
	OK(cu.cudaEventDestroy(from));
	OK(cu.cudaEventDestroy(to));
	bench_free();
	machine_close();
}
END_TEST

START_TEST(graphs_replay_what_was_captured)
{
	cudaGraph_t graph = NULL;
	cudaGraphExec_t executable = NULL;
	cudaEvent_t joined;
	struct accumulate_args args = {bench.x, bench.y, COUNT};

	bench_open(_i);
	args = (struct accumulate_args){bench.x, bench.y, COUNT};
	OK(to_device(bench.x, bench.host, bench.a));
	OK(to_device(bench.y, bench.host, bench.a));
	OK(cu.cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
	OK(cu.cudaStreamBeginCapture(bench.a, cudaStreamCaptureModeThreadLocal));
	OK(cu.kernel_accumulate(&args, bench.a));
	args.sum = NULL; /* arguments were copied */
	OK(cu.cudaEventRecord(bench.event, bench.a));
	OK(cu.cudaStreamWaitEvent(bench.b, bench.event, 0));
	OK(cu.cudaMemcpyAsync(bench.pinned, bench.x, BYTES, cudaMemcpyDeviceToHost, bench.b));
	OK(cu.cudaEventRecord(joined, bench.b));
	OK(cu.cudaStreamWaitEvent(bench.a, joined, 0));
	OK(cu.cudaStreamEndCapture(bench.a, &graph));
	OK(cu.cudaGraphInstantiate(&executable, graph, 0));
	OK(cu.cudaGraphDestroy(graph));
	expect(bench.x, bench.a, 1); /* nothing was done yet */
	OK(cu.cudaGraphUpload(executable, bench.a));
	for (int i = 0; i < 3; i++)
		OK(cu.cudaGraphLaunch(executable, bench.a));
	expect(bench.x, bench.a, 4);
	ck_assert(bench.pinned[5] == 20);
	OK(cu.cudaGraphExecDestroy(executable));
	OK(cu.cudaEventDestroy(joined));
	bench_free();
	machine_close();
}
END_TEST

START_TEST(memory_and_contexts_are_counted)
{
	size_t free_bytes, total;
	void *memory;
	char text[FAKE_CUDA_TEXT];

	fake_cuda_open(&(struct fake_cuda_options){.devices = 2, .bytes = 1000});
	fake_cuda_fill(&cu, CUDA_LIBRARY_RUNTIME);
	OK(cu.cudaSetDevice(1));
	ck_assert(fake_cuda_has_context(1) && !fake_cuda_has_context(0));
	memory = device_new(600);
	OK(cu.cudaMemGetInfo(&free_bytes, &total));
	ck_assert_uint_eq(free_bytes, 400);
	ck_assert_uint_eq(fake_cuda_used(1), 600);
	ck_assert_int_eq(cu.cudaMalloc(&memory, 401), cudaErrorMemoryAllocation);
	ck_assert_int_eq(cu.cudaGetLastError(), cudaErrorMemoryAllocation);
	ck_assert_int_eq(cu.cudaGetLastError(), cudaSuccess);
	ck_assert_uint_eq(fake_cuda_made(CUDA_CALL_cudaMalloc), 2);
	ck_assert_int_eq(cu.cudaSetDevice(2), cudaErrorInvalidDevice);
	ck_assert(!fake_cuda_close(text));
}
END_TEST

START_TEST(a_broken_device_stays_broken)
{
	void *memory;

	bench_open(_i);
	OK(to_device(bench.x, bench.host, bench.a));
	fake_cuda_break(0, cudaErrorIllegalAddress);
	ck_assert_int_eq(cu.cudaStreamSynchronize(bench.a), cudaErrorIllegalAddress);
	ck_assert_int_eq(cu.cudaMalloc(&memory, 8), cudaErrorIllegalAddress);
	ck_assert_int_eq(add(bench.x, bench.y, bench.a), cudaErrorIllegalAddress);
	OK(cu.cudaStreamSynchronize(bench.other));
	fake_cuda_break(0, cudaSuccess);
	cu.cudaGetLastError();
	bench_free();
	machine_close();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fake_cuda");
	TCase *tcase = tcase_create("runtime");

	tcase_add_loop_test(tcase, streams_compute_in_order, 0, 2);
	tcase_add_test(tcase, late_work_waits_for_somebody);
	tcase_add_test(tcase, events_measure_time);
	tcase_add_loop_test(tcase, graphs_replay_what_was_captured, 0, 2);
	tcase_add_test(tcase, memory_and_contexts_are_counted);
	tcase_add_loop_test(tcase, a_broken_device_stays_broken, 0, 2);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
