/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "fake_test.h"

START_TEST(calls_have_names_and_libraries)
{
	static const struct {
		enum cuda_call call;
		const char *name;
		enum cuda_library library;
	} rows[] = {
		{CUDA_CALL_cudaGetDeviceCount, "cudaGetDeviceCount", CUDA_LIBRARY_RUNTIME},
		{CUDA_CALL_cudaGraphLaunch, "cudaGraphLaunch", CUDA_LIBRARY_RUNTIME},
		{CUDA_CALL_cudnnConvolutionBackwardData, "cudnnConvolutionBackwardData",
		 CUDA_LIBRARY_CUDNN},
		{CUDA_CALL_cublasLtMatmul, "cublasLtMatmul", CUDA_LIBRARY_CUBLASLT},
		{CUDA_CALL_kernel_accumulate, "kernel_accumulate", CUDA_LIBRARY_KERNELS},
#ifdef HAVE_NCCL
		{CUDA_CALL_ncclAllReduce, "ncclAllReduce", CUDA_LIBRARY_NCCL},
#endif
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ROW_EQ_STR(rows[i].name, cuda_call_name(rows[i].call), rows[i].name);
		ROW_EQ_INT(rows[i].name, cuda_call_library(rows[i].call), rows[i].library);
	}
	for (int call = 0; call < CUDA_CALLS; call++)
		ck_assert_msg(cuda_call_name(call) && *cuda_call_name(call), "call %d", call);
}
END_TEST

START_TEST(libraries_are_loaded_one_by_one)
{
	struct train_error error = {.status = TRAIN_OK};
	struct cuda_calls calls = {.cudnnCreate = NULL};
	cudnnHandle_t handle;

	setenv("FAKE_CUDA_MISSING", "cuDNN", 1);
	ck_assert(cuda_calls_load(&calls, CUDA_LIBRARY_RUNTIME, &error));
	ck_assert(calls.cudaMalloc && !calls.cublasLtMatmul && !calls.kernel_accumulate);
	ck_assert(!cuda_calls_load(&calls, CUDA_LIBRARY_CUDNN, &error));
	ck_assert_int_eq(error.status, TRAIN_NO_BACKEND);
	ck_assert_ptr_null((void *)(uintptr_t)calls.cudnnCreate);
	unsetenv("FAKE_CUDA_MISSING");
	ck_assert(cuda_calls_load(&calls, CUDA_LIBRARY_CUDNN, &error));
	machine_open(1, false);
	OK(calls.cudnnCreate(&handle));
	OK(calls.cudnnDestroy(handle));
	machine_close();
}
END_TEST

/* What cudaGetDeviceCount returns, and what is reported about it. */
static const struct devices {
	const char *name;
	int devices;
	cudaError_t status;
	int driver;
	const char *expected; /* NULL: there are some */
} devices[] = {
	{"two", 2, cudaSuccess, 0, NULL},
	{"none", 0, cudaSuccess, 0, "CUDA sees none (100)"},
	{"hidden", 2, cudaErrorNoDevice, 13000, "CUDA_VISIBLE_DEVICES"},
	{"no driver", 0, cudaErrorInsufficientDriver, 0, "there is no NVIDIA driver here (35)"},
	{"a stub", 0, cudaErrorStubLibrary, 0, "there is no NVIDIA driver here (34)"},
	{"an old driver", 2, cudaErrorInsufficientDriver, 12040,
	 "the driver is for CUDA 12.4 and this program for CUDA 13.0 (35)"},
	{"a broken card", 1, cudaErrorECCUncorrectable, 13000, "cudaErrorECCUncorrectable (214)"},
};

START_TEST(no_gpu_is_explained)
{
	const struct devices *row = &devices[_i];
	struct train_error error = {.status = TRAIN_OK};
	char text[FAKE_CUDA_TEXT];
	int count = 0;

	fake_cuda_open(&(struct fake_cuda_options){
		.devices = row->devices, .count = row->status, .driver = row->driver});
	fake_cuda_fill(&cu, CUDA_LIBRARY_RUNTIME);
	ROW_EQ_INT(row->name, cuda_calls_devices(&cu, &count, &error), !row->expected);
	ROW_EQ_INT(row->name, count, row->expected ? 0 : row->devices);
	ROW_EQ_INT(row->name, error.status, row->expected ? TRAIN_NO_BACKEND : TRAIN_OK);
	if (row->expected)
		ck_assert_msg(strstr(error.text, row->expected), "%s: %s", row->name, error.text);
	/* A later call does not find the error. */
	ROW_EQ_INT(row->name, cu.cudaGetLastError(), cudaSuccess);
	ck_assert_msg(fake_cuda_close(text), "%s: %s", row->name, text);
}
END_TEST

static const struct failure {
	enum cuda_library library;
	int status;
	const char *call, *expected;
} failures[] = {
	{CUDA_LIBRARY_RUNTIME, cudaErrorMemoryAllocation, "cudaMalloc",
	 "GPU 3: cudaMalloc: cudaErrorMemoryAllocation (2): out of memory"},
	{CUDA_LIBRARY_KERNELS, cudaErrorIllegalAddress, "kernel_accumulate",
	 "GPU 3: kernel_accumulate: cudaErrorIllegalAddress (700): an illegal memory access was "
	 "encountered"},
	{CUDA_LIBRARY_CUDNN, CUDNN_STATUS_NOT_SUPPORTED, "cudnnConvolutionBackwardData",
	 "GPU 3: cudnnConvolutionBackwardData: CUDNN_STATUS_NOT_SUPPORTED (3000)"},
	{CUDA_LIBRARY_CUBLASLT, CUBLAS_STATUS_INVALID_VALUE, "cublasLtMatmul",
	 "GPU 3: cublasLtMatmul: CUBLAS_STATUS_INVALID_VALUE (7): the requested operation "
	 "failed"},
#ifdef HAVE_NCCL
	{CUDA_LIBRARY_NCCL, ncclRemoteError, "ncclAllReduce",
	 "GPU 3: ncclAllReduce: remote process exited or there was a network error (6)"},
#endif
};

START_TEST(failures_name_call_and_status)
{
	const struct failure *row = &failures[_i];
	struct train_error error = {.status = TRAIN_OK};

	machine_open(1, false);
	ck_assert(!cuda_calls_fail(&cu, row->library, row->status, row->call, "GPU 3", &error));
	ROW_EQ_STR(row->call, error.text, row->expected);
	ROW_EQ_INT(row->call, error.status, TRAIN_FAILED);
	machine_close();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cuda_calls");
	TCase *tcase = tcase_create("table");

	tcase_add_test(tcase, calls_have_names_and_libraries);
	tcase_add_test(tcase, libraries_are_loaded_one_by_one);
	tcase_add_loop_test(tcase, no_gpu_is_explained, 0, sizeof(devices) / sizeof(*devices));
	tcase_add_loop_test(tcase, failures_name_call_and_status, 0,
			    sizeof(failures) / sizeof(*failures));
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
