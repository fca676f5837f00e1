/* SPDX-License-Identifier: MIT */
/* cuBLASLt: D = alpha op(A) op(B) + beta C in column order: its objects. */
#include "config.h"

#include <string.h>

#include "fake_cublaslt.h"

size_t fake_cublasLtGetVersion(void)
{
	return CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100;
}

const char *fake_cublasLtGetStatusName(cublasStatus_t status)
{
	switch (status) {
	case CUBLAS_STATUS_SUCCESS:
		return "CUBLAS_STATUS_SUCCESS";
	case CUBLAS_STATUS_NOT_INITIALIZED:
		return "CUBLAS_STATUS_NOT_INITIALIZED";
	case CUBLAS_STATUS_INVALID_VALUE:
		return "CUBLAS_STATUS_INVALID_VALUE";
	case CUBLAS_STATUS_NOT_SUPPORTED:
		return "CUBLAS_STATUS_NOT_SUPPORTED";
	case CUBLAS_STATUS_EXECUTION_FAILED:
		return "CUBLAS_STATUS_EXECUTION_FAILED";
	default:
		return "CUBLAS_STATUS_INTERNAL_ERROR";
	}
}

const char *fake_cublasLtGetStatusString(cublasStatus_t status)
{
	return status == CUBLAS_STATUS_SUCCESS ? "success" : "the requested operation failed";
}

cublasStatus_t fake_cublasLtCreate(cublasLtHandle_t *handle)
{
	if (capture_refuses() != cudaSuccess || device_state(device_current()) != cudaSuccess)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*handle = object_new(OBJECT_CUBLASLT, sizeof(struct cublasLtContext));
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake_cublasLtDestroy(cublasLtHandle_t handle)
{
	handle = object_get(OBJECT_CUBLASLT, handle, "cublasLtDestroy");
	if (!handle)
		return CUBLAS_STATUS_INVALID_VALUE;
	object_end(handle);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake_cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *product,
					     cublasComputeType_t compute_type,
					     cudaDataType_t scale_type)
{
	struct product *made = object_new(OBJECT_PRODUCT, sizeof(*made));

	made->compute_type = compute_type;
	made->scale_type = scale_type;
	made->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
	made->bias_type = -1;
	*product = (void *)made;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake_cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
						   cublasLtMatmulDescAttributes_t attribute,
						   const void *value, size_t bytes)
{
	struct product *p = object_get(OBJECT_PRODUCT, desc, "cublasLtMatmulDescSetAttribute");
	int32_t ignored;
	void *to;
	size_t size = sizeof(int32_t);

	if (!p || !value)
		return CUBLAS_STATUS_INVALID_VALUE;
	switch (attribute) {
	case CUBLASLT_MATMUL_DESC_TRANSA:
		to = &p->transpose[0];
		break;
	case CUBLASLT_MATMUL_DESC_TRANSB:
		to = &p->transpose[1];
		break;
	case CUBLASLT_MATMUL_DESC_EPILOGUE:
		to = &p->epilogue;
		break;
	case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
		to = &p->bias_type;
		break;
	case CUBLASLT_MATMUL_DESC_POINTER_MODE:
		to = &p->pointers;
		break;
	case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET:
		to = &ignored;
		break;
	case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
		to = &p->bias;
		size = sizeof(p->bias);
		break;
	default:
		return (cublasStatus_t)fault(CUBLAS_STATUS_NOT_SUPPORTED,
					     "cublasLtMatmulDescSetAttribute: attribute %d is not "
					     "pretended",
					     (int)attribute);
	}
	if (bytes != size)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(to, value, size);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake_cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product)
{
	product = object_get(OBJECT_PRODUCT, product, "cublasLtMatmulDescDestroy");
	if (!product)
		return CUBLAS_STATUS_INVALID_VALUE;
	object_end(product);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake_cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
					       uint64_t rows, uint64_t columns, int64_t leading)
{
	struct matrix *made;

	if (rows == 0 || columns == 0 || leading < (int64_t)rows)
		return CUBLAS_STATUS_INVALID_VALUE;
	made = object_new(OBJECT_MATRIX, sizeof(*made));
	made->type = type;
	made->rows = (int64_t)rows;
	made->columns = (int64_t)columns;
	made->leading = leading;
	*layout = (void *)made;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake_cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
	layout = object_get(OBJECT_MATRIX, layout, "cublasLtMatrixLayoutDestroy");
	if (!layout)
		return CUBLAS_STATUS_INVALID_VALUE;
	object_end(layout);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake_cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
	struct preference *made = object_new(OBJECT_PREFERENCE, sizeof(*made));

	made->schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
	for (int i = 0; i < 4; i++)
		made->align[i] = 256;
	*preference = (void *)made;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
fake_cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
					  cublasLtMatmulPreferenceAttributes_t attribute,
					  const void *value, size_t bytes)
{
	struct preference *p =
		object_get(OBJECT_PREFERENCE, preference, "cublasLtMatmulPreferenceSetAttribute");
	uint32_t ignored;
	void *to = &ignored;
	size_t size = sizeof(uint32_t);

	if (!p || !value)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
		to = &p->workspace;
		size = sizeof(p->workspace);
	} else if (attribute >= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
		   attribute <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES) {
		to = &p->align[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES];
	} else if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) {
		to = &p->schemes;
	} else if (attribute != CUBLASLT_MATMUL_PREF_SEARCH_MODE) {
		return CUBLAS_STATUS_INVALID_VALUE;
	}
	if (bytes != size)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(to, value, size);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake_cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
	preference = object_get(OBJECT_PREFERENCE, preference, "cublasLtMatmulPreferenceDestroy");
	if (!preference)
		return CUBLAS_STATUS_INVALID_VALUE;
	object_end(preference);
	return CUBLAS_STATUS_SUCCESS;
}
