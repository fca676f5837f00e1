/* SPDX-License-Identifier: MIT */
/* See calls.h. */
#include "config.h"

#include <string.h>

#include "backend/cuda/calls.h"

const char *cuda_library_name(enum cuda_library library)
{
	static const char *const names[CUDA_LIBRARIES] = {"CUDA", "kernels", "cuDNN", "cuBLASLt",
							  "NCCL"};

	return names[library];
}

const char *cuda_call_name(enum cuda_call call)
{
	static const char *const names[CUDA_CALLS] = {
#define CALL(library, type, name, parameters, arguments) #name,
#define QUERY(library, type, name, parameters, arguments)
#include "backend/cuda/calls.def"
#undef QUERY
#undef CALL
	};

	return names[call];
}

enum cuda_library cuda_call_library(enum cuda_call call)
{
	static const unsigned char libraries[CUDA_CALLS] = {
#define CALL(library, type, name, parameters, arguments) CUDA_LIBRARY_##library,
#define QUERY(library, type, name, parameters, arguments)
#include "backend/cuda/calls.def"
#undef QUERY
#undef CALL
	};

	return libraries[call];
}

/* Why there is no GPU, from what cudaGetDeviceCount() returned. */
static bool no_devices(const struct cuda_calls *calls, cudaError_t status,
		       struct train_error *error)
{
	int driver = 0, runtime = 0;

	if (calls->cudaDriverGetVersion(&driver) != cudaSuccess)
		driver = 0;
	if (calls->cudaRuntimeGetVersion(&runtime) != cudaSuccess)
		runtime = 0;
	if (status == cudaErrorNoDevice || (status == cudaSuccess && driver != 0))
		return train_fail(error, TRAIN_NO_BACKEND,
				  "no GPU: CUDA sees none (100): run nvidia-smi -L, check "
				  "CUDA_VISIBLE_DEVICES, or simulate GPUs: --backend auto "
				  "--inventory 4");
	if (driver == 0 || status == cudaErrorStubLibrary)
		return train_fail(error, TRAIN_NO_BACKEND,
				  "no GPU: there is no NVIDIA driver here (%d): install it, or "
				  "simulate GPUs: --backend auto --inventory 4",
				  (int)status);
	if (status == cudaErrorInsufficientDriver)
		return train_fail(
			error, TRAIN_NO_BACKEND,
			"no GPU: the driver is for CUDA %d.%d and this program for CUDA "
			"%d.%d (%d): install a newer driver, or simulate GPUs: --backend auto "
			"--inventory 4",
			driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10,
			(int)status);
	return train_fail(error, TRAIN_NO_BACKEND,
			  "no GPU: %s (%d): %s; run nvidia-smi, or simulate GPUs: --backend auto "
			  "--inventory 4",
			  calls->cudaGetErrorName(status), (int)status,
			  calls->cudaGetErrorString(status));
}

bool cuda_calls_devices(const struct cuda_calls *calls, int *count, struct train_error *error)
{
	int devices = 0;
	cudaError_t status = calls->cudaGetDeviceCount(&devices);

	if (status == cudaSuccess && devices > 0) {
		*count = devices;
		return true;
	}
	calls->cudaGetLastError();
	return no_devices(calls, status, error);
}

/* The last message that cuDNN noted on this thread, in one line: " (...)" or nothing. */
static void cudnn_note(const struct cuda_calls *calls, char *text, size_t size)
{
	char note[160] = "";
	size_t n;

	calls->cudnnGetLastErrorString(note, sizeof(note));
	note[sizeof(note) - 1] = '\0';
	n = strcspn(note, "\r\n");
	text[0] = '\0';
	if (n > 0)
		snprintf(text, size, " (%.*s)", (int)n, note);
}

/* NAME, and the library's description of a status of its own. */
struct status_text {
	const char *name, *text;
	char note[200];
};

static struct status_text status_text(const struct cuda_calls *calls, enum cuda_library library,
				      int status)
{
	struct status_text of = {.text = ""};

	switch (library) {
	case CUDA_LIBRARY_CUDNN:
		of.name = calls->cudnnGetErrorString((cudnnStatus_t)status);
		cudnn_note(calls, of.note, sizeof(of.note));
		break;
	case CUDA_LIBRARY_CUBLASLT:
		of.name = calls->cublasLtGetStatusName((cublasStatus_t)status);
		of.text = calls->cublasLtGetStatusString((cublasStatus_t)status);
		break;
#ifdef HAVE_NCCL
	case CUDA_LIBRARY_NCCL:
		of.name = calls->ncclGetErrorString((ncclResult_t)status);
		of.text = calls->ncclGetLastError(NULL);
		break;
#endif
	default:
		of.name = calls->cudaGetErrorName((cudaError_t)status);
		of.text = calls->cudaGetErrorString((cudaError_t)status);
		calls->cudaGetLastError();
	}
	return of;
}

bool cuda_calls_fail(const struct cuda_calls *calls, enum cuda_library library, int status,
		     const char *call, const char *where, struct train_error *error)
{
	struct status_text of = status_text(calls, library, status);
	const char *text = of.text ? of.text : "";

	train_fail(error, TRAIN_FAILED, "%s: %s: %s (%d)%s%s%s", where, call, of.name, status,
		   *text ? ": " : "", text, of.note);
	train_device_failed(error);
	return false;
}
