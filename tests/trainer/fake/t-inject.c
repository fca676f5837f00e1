/* SPDX-License-Identifier: MIT */
/* That the n-th call fails, whichever it is, and that a caller who frees what it has leaves
 * nothing behind. */
#include "config.h"

#include <pthread.h>

#include "fake_test.h"
#include "inject.h"

enum { BYTES = 64 };

static void open_wrapped(void)
{
	struct train_error error = {.status = TRAIN_OK};

	fake_cuda_open(&(struct fake_cuda_options){.devices = 2});
	for (int library = 0; library < CUDA_LIBRARIES; library++)
		ck_assert(cuda_calls_load(&cu, library, &error));
	inject_at(0, false);
}

/* One object of each kind. whole() makes and frees them, whatever fails, and returns whether all
 * went well. */
struct things {
	cudaStream_t stream;
	float *memory;
	cudnnHandle_t cudnn;
	cublasLtHandle_t cublaslt;
	cudaGraph_t graph;
	cudaGraphExec_t executable;
	bool capturing;
};

static bool make(struct things *t)
{
	struct accumulate_args add = {.count = BYTES / 4};

	if (cu.cudaSetDevice(1) ||
	    cu.cudaStreamCreateWithPriority(&t->stream, cudaStreamNonBlocking, 0) ||
	    cu.cudaMalloc((void **)&t->memory, BYTES) || cu.cudnnCreate(&t->cudnn) ||
	    cu.cudnnSetStream(t->cudnn, t->stream) || cu.cublasLtCreate(&t->cublaslt) ||
	    cu.cudaMemsetAsync(t->memory, 0, BYTES, t->stream) ||
	    cu.cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeThreadLocal))
		return false;
	t->capturing = true;
	add.sum = t->memory;
	add.more = t->memory;
	if (cu.kernel_accumulate(&add, t->stream))
		return false;
	t->capturing = false;
	return !cu.cudaStreamEndCapture(t->stream, &t->graph) &&
	       !cu.cudaGraphInstantiate(&t->executable, t->graph, 0) &&
	       !cu.cudaGraphLaunch(t->executable, t->stream) &&
	       !cu.cudaStreamSynchronize(t->stream);
}

static bool unmake(struct things *t)
{
	bool well = true;

	if (t->capturing) {
		well = !cu.cudaStreamEndCapture(t->stream, &t->graph);
	}
	well = (!t->executable || !cu.cudaGraphExecDestroy(t->executable)) && well;
	well = (!t->graph || !cu.cudaGraphDestroy(t->graph)) && well;
	well = (!t->cublaslt || !cu.cublasLtDestroy(t->cublaslt)) && well;
	well = (!t->cudnn || !cu.cudnnDestroy(t->cudnn)) && well;
	well = (!t->memory || !cu.cudaFree(t->memory)) && well;
	return (!t->stream || !cu.cudaStreamDestroy(t->stream)) && well;
}

static bool whole(void)
{
	struct things things = {.stream = NULL};
	bool well = make(&things);

	return unmake(&things) && well;
}

START_TEST(each_call_fails_once)
{
	uint64_t calls;

	open_wrapped();
	ck_assert(whole());
	calls = inject_count();
	ck_assert_uint_gt(calls, 12);
	ck_assert_int_eq(inject_failed(), CUDA_CALLS);
	for (uint64_t n = 1; n <= calls; n++) {
		inject_at(n, _i);
		ck_assert_msg(!whole(), "call %d went well", (int)n);
		ck_assert_msg(inject_failed() != CUDA_CALLS, "call %d", (int)n);
		ck_assert_msg(!*fake_cuda_fault(), "call %d, %s: %s", (int)n,
			      cuda_call_name(inject_failed()), fake_cuda_fault());
	}
	inject_at(calls + 1, _i);
	ck_assert(whole());
	machine_close();
}
END_TEST

static const struct row {
	const char *name;
	uint64_t at;
	bool lasting;
	const char *pattern; /* of five calls: x fails */
} rows[] = {
	{"none", 0, false, "....."},      {"the first", 1, false, "x...."},
	{"the third", 3, false, "..x.."}, {"from the third", 3, true, "..xxx"},
	{"the sixth", 6, true, "....."},
};

START_TEST(only_what_is_asked_for_fails)
{
	const struct row *row = &rows[_i];
	int device;

	open_wrapped();
	inject_at(row->at, row->lasting);
	for (int i = 0; row->pattern[i]; i++)
		ck_assert_msg(cu.cudaGetDevice(&device) ==
				      (row->pattern[i] == 'x'
					       ? (cudaError_t)inject_status(CUDA_LIBRARY_RUNTIME)
					       : cudaSuccess),
			      "%s: call %d", row->name, i);
	ROW_EQ_INT(row->name, inject_count(), 5);
	ROW_EQ_INT(row->name, inject_failed(),
		   strchr(row->pattern, 'x') ? CUDA_CALL_cudaGetDevice : CUDA_CALLS);
	machine_close();
}
END_TEST

enum { THREADS = 4, CALLS = 1000 };

static void *count_failures(void *failures)
{
	int device;

	for (int i = 0; i < CALLS; i++)
		*(int *)failures += cu.cudaGetDevice(&device) != cudaSuccess;
	return NULL;
}

START_TEST(one_call_of_all_threads_fails)
{
	pthread_t threads[THREADS];
	int failures[THREADS] = {0}, all = 0;

	open_wrapped();
	inject_at(THREADS * CALLS / 2, false);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, count_failures, &failures[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		all += failures[i];
	}
	ck_assert_int_eq(all, 1);
	ck_assert_uint_eq(inject_count(), THREADS * CALLS);
	machine_close();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("inject");
	TCase *tcase = tcase_create("calls");

	tcase_add_loop_test(tcase, each_call_fails_once, 0, 2);
	tcase_add_loop_test(tcase, only_what_is_asked_for_fails, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_test(tcase, one_call_of_all_threads_fails);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
