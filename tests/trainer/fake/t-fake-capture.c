/* SPDX-License-Identifier: MIT */
/* What CUDA refuses while a stream is captured, and what ends a capture without a graph. */
#include "config.h"

#include <pthread.h>

#include "fake_test.h"

enum { BYTES = 64, COUNT = 16 };

static struct bench {
	cudaStream_t a, b;
	cudaEvent_t event, joined;
	float *x, *y, *pinned;
	float host[COUNT];
	cudaGraph_t graph;
} bench;

static void bench_open(void)
{
	machine_open(1, false);
	bench = (struct bench){.a = stream_new(0), .b = stream_new(0)};
	bench.x = device_new(BYTES);
	bench.y = device_new(BYTES);
	OK(cu.cudaMallocHost((void **)&bench.pinned, BYTES));
	OK(cu.cudaMemsetAsync(bench.x, 0, BYTES, bench.a));
	OK(cu.cudaMemsetAsync(bench.y, 0, BYTES, bench.a));
	OK(cu.cudaStreamSynchronize(bench.a));
	OK(cu.cudaEventCreateWithFlags(&bench.event, cudaEventDisableTiming));
	OK(cu.cudaEventCreateWithFlags(&bench.joined, cudaEventDisableTiming));
}

static void bench_close(void)
{
	OK(cu.cudaEventDestroy(bench.event));
	OK(cu.cudaEventDestroy(bench.joined));
	OK(cu.cudaFreeHost(bench.pinned));
	OK(cu.cudaFree(bench.x));
	OK(cu.cudaFree(bench.y));
	OK(cu.cudaStreamDestroy(bench.a));
	OK(cu.cudaStreamDestroy(bench.b));
	machine_close();
}

static void begin(void)
{
	OK(cu.cudaStreamBeginCapture(bench.a, cudaStreamCaptureModeThreadLocal));
}

static cudaError_t add(cudaStream_t stream)
{
	struct accumulate_args args = {bench.x, bench.y, COUNT};

	return cu.kernel_accumulate(&args, stream);
}

static cudaError_t allocates(void)
{
	void *memory;

	return cu.cudaMalloc(&memory, 8);
}

static cudaError_t frees(void)
{
	return cu.cudaFree(bench.x);
}

static cudaError_t pins(void)
{
	void *memory;

	return cu.cudaMallocHost(&memory, 8);
}

static cudaError_t synchronizes(void)
{
	return cu.cudaStreamSynchronize(bench.a);
}

static cudaError_t synchronizes_other(void)
{
	return cu.cudaStreamSynchronize(bench.b);
}

static cudaError_t queries(void)
{
	return cu.cudaStreamQuery(bench.a);
}

static cudaError_t queries_event(void)
{
	return cu.cudaEventQuery(bench.event);
}

static cudaError_t synchronizes_event(void)
{
	OK(cu.cudaEventRecord(bench.event, bench.a));
	return cu.cudaEventSynchronize(bench.event);
}

static cudaError_t copies_pageable(void)
{
	return cu.cudaMemcpyAsync(bench.x, bench.host, BYTES, cudaMemcpyHostToDevice, bench.a);
}

static cudaError_t copies_to_pageable(void)
{
	return cu.cudaMemcpyAsync(bench.host, bench.x, BYTES, cudaMemcpyDeviceToHost, bench.a);
}

static cudaError_t waits_for_what_is_not_captured(void)
{
	OK(cu.cudaEventRecord(bench.event, bench.b));
	return cu.cudaStreamWaitEvent(bench.a, bench.event, 0);
}

static cudaError_t merges(void)
{
	OK(cu.cudaStreamBeginCapture(bench.b, cudaStreamCaptureModeThreadLocal));
	OK(cu.cudaEventRecord(bench.event, bench.b));
	return cu.cudaStreamWaitEvent(bench.a, bench.event, 0);
}

static cudaError_t destroys(void)
{
	return cu.cudaStreamDestroy(bench.a);
}

static const struct refusal {
	const char *name;
	cudaError_t (*run)(void);
	cudaError_t status;
} refusals[] = {
	{"cudaMalloc", allocates, cudaErrorStreamCaptureUnsupported},
	{"cudaFree", frees, cudaErrorStreamCaptureUnsupported},
	{"cudaMallocHost", pins, cudaErrorStreamCaptureUnsupported},
	{"cudaStreamSynchronize", synchronizes, cudaErrorStreamCaptureUnsupported},
	{"cudaStreamSynchronize of another", synchronizes_other, cudaErrorStreamCaptureUnsupported},
	{"cudaStreamQuery", queries, cudaErrorStreamCaptureUnsupported},
	{"cudaEventQuery", queries_event, cudaErrorStreamCaptureUnsupported},
	{"cudaEventSynchronize", synchronizes_event, cudaErrorStreamCaptureUnsupported},
	{"from pageable memory", copies_pageable, cudaErrorStreamCaptureUnsupported},
	{"to pageable memory", copies_to_pageable, cudaErrorStreamCaptureUnsupported},
	{"isolation", waits_for_what_is_not_captured, cudaErrorStreamCaptureIsolation},
	{"a merge", merges, cudaErrorStreamCaptureMerge},
	{"cudaStreamDestroy", destroys, cudaErrorStreamCaptureUnsupported},
};

START_TEST(a_capture_refuses_and_is_spoiled)
{
	const struct refusal *row = &refusals[_i];
	enum cudaStreamCaptureStatus status;

	bench_open();
	begin();
	OK(add(bench.a));
	ROW_EQ_INT(row->name, row->run(), row->status);
	OK(cu.cudaStreamIsCapturing(bench.a, &status));
	ROW_EQ_INT(row->name, status, cudaStreamCaptureStatusInvalidated);
	cu.cudaGetLastError();
	ROW_EQ_INT(row->name, add(bench.a), cudaErrorStreamCaptureInvalidated);
	ROW_EQ_INT(row->name, cu.cudaStreamEndCapture(bench.a, &bench.graph),
		   cudaErrorStreamCaptureInvalidated);
	ck_assert_ptr_null(bench.graph);
	cu.cudaStreamEndCapture(bench.b, &bench.graph);
	cu.cudaGetLastError();
	OK(add(bench.a));
	bench_close();
}
END_TEST

static void *end_there(void *status)
{
	*(cudaError_t *)status = cu.cudaStreamEndCapture(bench.a, &bench.graph);
	return NULL;
}

/* Ways to end a capture. Only the first one gives a graph. */
static cudaError_t joined(void)
{
	OK(cu.cudaEventRecord(bench.event, bench.a));
	OK(cu.cudaStreamWaitEvent(bench.b, bench.event, 0));
	OK(cu.cudaMemsetAsync(bench.y, 0, BYTES, bench.b));
	OK(cu.cudaEventRecord(bench.joined, bench.b));
	OK(cu.cudaStreamWaitEvent(bench.a, bench.joined, 0));
	return cu.cudaStreamEndCapture(bench.a, &bench.graph);
}

static cudaError_t not_joined(void)
{
	OK(cu.cudaEventRecord(bench.event, bench.a));
	OK(cu.cudaStreamWaitEvent(bench.b, bench.event, 0));
	OK(cu.cudaMemsetAsync(bench.y, 0, BYTES, bench.b));
	return cu.cudaStreamEndCapture(bench.a, &bench.graph);
}

/* The fork alone has to be joined. */
static cudaError_t not_joined_idle(void)
{
	OK(cu.cudaEventRecord(bench.event, bench.a));
	OK(cu.cudaStreamWaitEvent(bench.b, bench.event, 0));
	return cu.cudaStreamEndCapture(bench.a, &bench.graph);
}

static cudaError_t joined_too_early(void)
{
	OK(cu.cudaEventRecord(bench.event, bench.a));
	OK(cu.cudaStreamWaitEvent(bench.b, bench.event, 0));
	OK(cu.cudaEventRecord(bench.joined, bench.b));
	OK(cu.cudaMemsetAsync(bench.y, 0, BYTES, bench.b));
	OK(cu.cudaStreamWaitEvent(bench.a, bench.joined, 0));
	return cu.cudaStreamEndCapture(bench.a, &bench.graph);
}

static cudaError_t by_another_thread(void)
{
	cudaError_t status = cudaSuccess;
	pthread_t thread;

	pthread_create(&thread, NULL, end_there, &status);
	pthread_join(thread, NULL);
	ck_assert_int_eq(cu.cudaStreamEndCapture(bench.a, &bench.graph),
			 cudaErrorStreamCaptureInvalidated);
	return status;
}

static cudaError_t on_another_stream(void)
{
	cudaError_t status;

	OK(cu.cudaEventRecord(bench.event, bench.a));
	OK(cu.cudaStreamWaitEvent(bench.b, bench.event, 0));
	status = cu.cudaStreamEndCapture(bench.b, &bench.graph);
	ck_assert_int_eq(cu.cudaStreamEndCapture(bench.a, &bench.graph),
			 cudaErrorStreamCaptureInvalidated);
	return status;
}

static const struct ending {
	const char *name;
	cudaError_t (*run)(void);
	cudaError_t status;
} endings[] = {
	{"joined", joined, cudaSuccess},
	{"not joined", not_joined, cudaErrorStreamCaptureUnjoined},
	{"not joined, without work", not_joined_idle, cudaErrorStreamCaptureUnjoined},
	{"joined too early", joined_too_early, cudaErrorStreamCaptureUnjoined},
	{"by another thread", by_another_thread, cudaErrorStreamCaptureWrongThread},
	{"on another stream", on_another_stream, cudaErrorStreamCaptureUnmatched},
};

START_TEST(captures_end)
{
	const struct ending *row = &endings[_i];

	bench_open();
	begin();
	OK(add(bench.a));
	ROW_EQ_INT(row->name, row->run(), row->status);
	ROW_EQ_INT(row->name, bench.graph != NULL, row->status == cudaSuccess);
	if (bench.graph)
		OK(cu.cudaGraphDestroy(bench.graph));
	cu.cudaGetLastError();
	bench_close();
}
END_TEST

START_TEST(captured_streams_must_be_ordered)
{
	bench_open();
	begin();
	OK(cu.cudaEventRecord(bench.event, bench.a));
	OK(cu.cudaStreamWaitEvent(bench.b, bench.event, 0));
	OK(add(bench.a));
	OK(cu.cudaMemcpyAsync(bench.pinned, bench.x, BYTES, cudaMemcpyDeviceToHost, bench.b));
	OK(cu.cudaEventRecord(bench.joined, bench.b));
	OK(cu.cudaStreamWaitEvent(bench.a, bench.joined, 0));
	OK(cu.cudaStreamEndCapture(bench.a, &bench.graph));
	ck_assert_msg(strstr(fake_cuda_fault(), "in a capture, cudaMemcpyAsync reads memory that "
						"kernel_accumulate writes"),
		      "'%s'", fake_cuda_fault());
	fake_cuda_forgive();
	OK(cu.cudaGraphDestroy(bench.graph));
	bench_close();
}
END_TEST

/* Two nodes beside each other, between nodes that are in a chain with both. */
START_TEST(nodes_are_counted)
{
	struct fake_cuda_nodes nodes[FAKE_CUDA_NODES];
	cudaGraphExec_t executable;
	int chain;

	bench_open();
	ck_assert_int_eq(fake_cuda_nodes(nodes, &chain), 0);
	begin();
	OK(add(bench.a));
	OK(cu.cudaEventRecord(bench.event, bench.a));
	OK(cu.cudaStreamWaitEvent(bench.b, bench.event, 0));
	OK(cu.cudaMemsetAsync(bench.y, 0, BYTES, bench.b));
	OK(cu.cudaMemsetAsync(bench.x, 0, BYTES, bench.a));
	OK(cu.cudaEventRecord(bench.joined, bench.b));
	OK(cu.cudaStreamWaitEvent(bench.a, bench.joined, 0));
	OK(add(bench.a));
	OK(cu.cudaStreamEndCapture(bench.a, &bench.graph));
	ck_assert_int_eq(fake_cuda_nodes(nodes, &chain), 0);
	OK(cu.cudaGraphInstantiate(&executable, bench.graph, 0));
	OK(cu.cudaGraphLaunch(executable, bench.a));
	ck_assert_int_eq(fake_cuda_nodes(nodes, &chain), 2);
	ck_assert_int_eq(chain, 3);
	ck_assert_str_eq(nodes[0].call, "kernel_accumulate");
	ck_assert_int_eq(nodes[0].count, 2);
	ck_assert_str_eq(nodes[1].call, "cudaMemsetAsync");
	ck_assert_int_eq(nodes[1].count, 2);
	OK(cu.cudaGraphExecDestroy(executable));
	OK(cu.cudaGraphDestroy(bench.graph));
	bench_close();
}
END_TEST

START_TEST(what_a_graph_uses_must_be_there)
{
	cudaGraphExec_t executable;
	void *other = NULL;
	struct accumulate_args args = {.count = COUNT};

	bench_open();
	other = device_new(BYTES);
	args.sum = bench.x;
	args.more = other;
	begin();
	OK(cu.kernel_accumulate(&args, bench.a));
	OK(cu.cudaStreamEndCapture(bench.a, &bench.graph));
	OK(cu.cudaGraphInstantiate(&executable, bench.graph, 0));
	OK(cu.cudaGraphLaunch(executable, bench.a));
	OK(cu.cudaFree(other));
	ck_assert_int_eq(cu.cudaGraphLaunch(executable, bench.a), cudaErrorIllegalAddress);
	ck_assert(strstr(fake_cuda_fault(), "was freed"));
	fake_cuda_forgive();
	cu.cudaGetLastError();
	OK(cu.cudaGraphExecDestroy(executable));
	OK(cu.cudaGraphDestroy(bench.graph));
	bench_close();
}
END_TEST

/* Two external events around a kernel of a known time: each launch measures anew. */
START_TEST(external_events_are_nodes)
{
	static const int64_t busy_ns[] = {3000000, 1000000};
	struct busy_args args = {.blocks = 1};
	cudaEvent_t from, to;
	float ms;

	bench_open();
	OK(cu.cudaEventCreateWithFlags(&from, cudaEventDefault));
	OK(cu.cudaEventCreateWithFlags(&to, cudaEventDefault));
	ck_assert_int_eq(cu.cudaEventRecordWithFlags(from, bench.a, cudaEventRecordExternal),
			 cudaErrorIllegalState);
	ck_assert(strstr(fake_cuda_fault(), "outside of a capture"));
	fake_cuda_forgive();
	ck_assert_int_eq(cu.cudaEventRecordWithFlags(from, bench.a, 7), cudaErrorInvalidValue);
	cu.cudaGetLastError();
	for (int i = 0; i < 2; i++) {
		cudaGraphExec_t executable;

		args.nanoseconds = busy_ns[i];
		begin();
		OK(cu.cudaEventRecordWithFlags(from, bench.a, cudaEventRecordExternal));
		OK(cu.kernel_busy(&args, bench.a));
		OK(cu.cudaEventRecordWithFlags(to, bench.a, cudaEventRecordExternal));
		OK(cu.cudaStreamEndCapture(bench.a, &bench.graph));
		if (i == 0)
			ck_assert_int_eq(cu.cudaEventElapsedTime(&ms, from, to),
					 cudaErrorInvalidResourceHandle);
		cu.cudaGetLastError();
		OK(cu.cudaGraphInstantiate(&executable, bench.graph, 0));
		for (int launch = 0; launch < 2; launch++) {
			OK(cu.cudaGraphLaunch(executable, bench.a));
			OK(cu.cudaStreamSynchronize(bench.a));
			OK(cu.cudaEventElapsedTime(&ms, from, to));
			ck_assert_msg((double)ms * 1e6 >= (double)busy_ns[i], "launch %d: %g ms",
				      launch, (double)ms);
		}
		OK(cu.cudaGraphExecDestroy(executable));
		OK(cu.cudaGraphDestroy(bench.graph));
	}
	OK(cu.cudaEventDestroy(from));
	OK(cu.cudaEventDestroy(to));
	bench_close();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fake_capture");
	TCase *tcase = tcase_create("capture");

	tcase_add_loop_test(tcase, a_capture_refuses_and_is_spoiled, 0,
			    sizeof(refusals) / sizeof(*refusals));
	tcase_add_loop_test(tcase, captures_end, 0, sizeof(endings) / sizeof(*endings));
	tcase_add_test(tcase, captured_streams_must_be_ordered);
	tcase_add_test(tcase, nodes_are_counted);
	tcase_add_test(tcase, external_events_are_nodes);
	tcase_add_test(tcase, what_a_graph_uses_must_be_there);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
