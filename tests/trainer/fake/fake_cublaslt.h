/* SPDX-License-Identifier: MIT */
/* cuBLASLt's objects as the pretended one has them. */
#ifndef TEST_FAKE_CUBLASLT_H
#define TEST_FAKE_CUBLASLT_H

#include "fake_cuda_private.h"

struct cublasLtContext {
	struct object object;
};

/* The library's own types are opaque: an object is behind each. */
struct product {
	struct object object;
	cublasComputeType_t compute_type;
	cudaDataType_t scale_type;
	int32_t transpose[2]; /* A, B */
	int32_t epilogue, bias_type, pointers;
	void *bias;
};

struct matrix {
	struct object object;
	cudaDataType_t type;
	int64_t rows, columns, leading;
};

struct preference {
	struct object object;
	uint64_t workspace;
	uint32_t schemes;
	uint32_t align[4]; /* A, B, C, D */
};

#endif
