/* SPDX-License-Identifier: MIT */
/* The table of the real libraries, which must load where there is no GPU and no driver. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/cuda/calls.h"
#include "unit.h"

/* A library opens and gives its version, or is reported as missing. */
static bool loads(struct cuda_calls *calls, enum cuda_library library)
{
	struct train_error error = {.status = TRAIN_OK};
	struct cuda_calls before = *calls;

	if (cuda_calls_load(calls, library, &error))
		return true;
	ck_assert_int_eq(error.status, TRAIN_NO_BACKEND);
	ck_assert_msg(strstr(error.text, cuda_library_name(library)), "%s", error.text);
	ck_assert_int_eq(memcmp(&before, calls, sizeof(before)), 0);
	printf("# %s\n", error.text);
	return false;
}

START_TEST(the_runtime_is_linked)
{
	struct cuda_calls calls;
	struct train_error error = {.status = TRAIN_OK};
	int version = 0, devices = 0;

	memset(&calls, 0, sizeof(calls));
	ck_assert(loads(&calls, CUDA_LIBRARY_RUNTIME));
	ck_assert(calls.cudaMalloc && !calls.kernel_accumulate && !calls.cudnnCreate);
	ck_assert(loads(&calls, CUDA_LIBRARY_KERNELS));
	ck_assert(calls.kernel_accumulate && calls.kernel_update);
	ck_assert_int_eq(calls.cudaRuntimeGetVersion(&version), cudaSuccess);
	ck_assert_int_eq(version, CUDART_VERSION);
	/* With a GPU or without, one of these is reported. */
	if (cuda_calls_devices(&calls, &devices, &error)) {
		ck_assert_int_gt(devices, 0);
	} else {
		ck_assert_int_eq(error.status, TRAIN_NO_BACKEND);
		ck_assert_msg(strncmp(error.text, "no GPU: ", 8) == 0, "%s", error.text);
	}
}
END_TEST

START_TEST(libraries_are_opened)
{
	struct cuda_calls calls;

	memset(&calls, 0, sizeof(calls));
	if (loads(&calls, CUDA_LIBRARY_CUBLASLT)) {
		ck_assert(calls.cublasLtMatmul && !calls.cudnnCreate);
		ck_assert_uint_gt(calls.cublasLtGetVersion(), 0);
	}
	if (loads(&calls, CUDA_LIBRARY_CUDNN)) {
		ck_assert_uint_eq(calls.cudnnGetVersion() / 10000, CUDNN_MAJOR);
		ck_assert_str_eq(calls.cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM),
				 "CUDNN_STATUS_BAD_PARAM");
	}
#ifdef HAVE_NCCL
	if (loads(&calls, CUDA_LIBRARY_NCCL)) {
		int version = 0;

		ck_assert_int_eq(calls.ncclGetVersion(&version), ncclSuccess);
		ck_assert_int_eq(version / 10000, NCCL_MAJOR);
	}
#else
	ck_assert(!loads(&calls, CUDA_LIBRARY_NCCL));
#endif
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cuda_load");
	TCase *tcase = tcase_create("libraries");

	tcase_add_test(tcase, the_runtime_is_linked);
	tcase_add_test(tcase, libraries_are_opened);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
