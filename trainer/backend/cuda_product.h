/* SPDX-License-Identifier: MIT */
/* Products of matrices by cuBLASLt, whose matrices are in column order: D (m, n) = op(A) op(B). */
#ifndef TRAIN_BACKEND_CUDA_PRODUCT_H
#define TRAIN_BACKEND_CUDA_PRODUCT_H

#include "backend/cuda.h"

/* One of its matrices, whose columns lie one after the other without gaps. */
struct cuda_matrix {
	enum value_type type;
	int64_t rows, columns;
	bool transposed;
	size_t offset; /* bytes from an aligned address to its address */
};

struct cuda_product_plan {
	int number; /* tells it apart from others of the same matrices */
	struct cuda_matrix a, b, d;
	cublasLtEpilogue_t epilogue;
	const void *bias; /* of D's type, for an epilogue that has one; it keeps its address */
	/* Computes the sums over k too, of a transposed B; D has floats, by DEFAULT. cuBLASLt
	 * computes them (BGRADB), or kernel_bias_gradient, for which the caller provides
	 * scratch. */
	bool sums;
	size_t sums_offset; /* as a matrix's */
};

struct cuda_product {
	cublasLtMatmulDesc_t how, with_sums; /* NULL: cuBLASLt is not asked for sums */
	cublasLtMatrixLayout_t a, b, d;
	cublasLtMatmulAlgo_t algorithm;
	size_t workspace; /* bytes */
	struct cuda_matrix summed;
	bool leaves_sums; /* itself */
};

/* Chooses its algorithm (cuda_fastest.c), with room in the device's workspace, and whether it
 * computes the sums, which it never does on a deterministic device. Free it with
 * cuda_product_free(), after a failure too. The device must be the calling thread's current one. */
bool cuda_product_plan(struct cuda_device *device, struct cuda_product *product,
		       const struct cuda_product_plan *plan, struct train_error *error);

/* Puts it on the stream; a, b, d and sums have the planned alignment. sums: NULL unless planned. */
bool cuda_product_run(struct cuda_device *device, const struct cuda_product *product, const void *a,
		      const void *b, void *d, float *sums, struct train_error *error);

void cuda_product_free(struct cuda_device *device, struct cuda_product *product);

#endif
