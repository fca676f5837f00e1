/* SPDX-License-Identifier: MIT */
/* Products of matrices by cuBLASLt, whose matrices are in column order: D (m, n) = op(A) op(B). */
#ifndef TRAIN_BACKEND_CUDA_PRODUCT_H
#define TRAIN_BACKEND_CUDA_PRODUCT_H

#include "backend/cuda/cuda.h"

/* A matrix. Its columns lie one after the other without gaps. */
struct cuda_matrix {
	enum value_type type;
	int64_t rows, columns;
	bool transposed;
	size_t offset; /* bytes from an aligned address to its address */
};

struct cuda_product_plan {
	int number; /* its number among products of the same matrices */
	struct cuda_matrix a, b, d;
	cublasLtEpilogue_t epilogue;
	const void *bias; /* of D's type, for an epilogue that has one; it keeps its address */
	/* Also sums a transposed B over k; D then has floats, and the epilogue is DEFAULT. cuBLASLt
	 * computes them (BGRADB), or kernel_bias_gradient, for which the caller provides
	 * scratch. */
	bool sums;
	size_t sums_offset; /* alignment, as a matrix has it */
};

struct cuda_product {
	cublasLtMatmulDesc_t how, with_sums; /* NULL: cuBLASLt does not compute sums */
	cublasLtMatrixLayout_t a, b, d;
	cublasLtMatmulAlgo_t algorithm;
	size_t workspace; /* bytes */
	struct cuda_matrix summed;
	bool leaves_sums; /* cuBLASLt computes the sums itself */
};

/* Chooses the product's algorithm (cuda/time_candidates.c), makes room in the device's workspace,
 * and decides whether the algorithm computes the sums. On a deterministic device it never does.
 * Free it with cuda_product_free(), after a failure too. The device must be the calling thread's
 * current one. */
bool cuda_product_plan(struct cuda_device *device, struct cuda_product *product,
		       const struct cuda_product_plan *plan, struct train_error *error);

/* Puts the product on the stream; a, b, d and sums have the planned alignment. sums: NULL unless
 * planned. */
bool cuda_product_run(struct cuda_device *device, const struct cuda_product *product, const void *a,
		      const void *b, void *d, float *sums, struct train_error *error);

void cuda_product_free(struct cuda_device *device, struct cuda_product *product);

#endif
