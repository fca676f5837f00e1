/* SPDX-License-Identifier: MIT */
/* The table of the real libraries. Nothing else is in this file, so that a test program can have a
 * cuda_calls_load() of its own. */
#include "config.h"

#include <dlfcn.h>

#include "backend/cuda/calls.h"
#include "dynlib.h"

/* Compares the parameters with those of the headers. */
#define CALL(library, type, name, parameters, arguments) \
	_Static_assert(_Generic((name), type(*) parameters : 1, default : 0), \
		       #name " is not as in its header");
#define QUERY CALL
#include "backend/cuda/calls.def"
#undef QUERY
#undef CALL

#define TEXT(x) #x
#define NUMBER(x) TEXT(x)

/* The file names have the version of the header that this was built with. */
static const struct {
	const char *file, *remedy;
} libraries[CUDA_LIBRARIES] = {
	[CUDA_LIBRARY_CUDNN] = {"libcudnn.so." NUMBER(CUDNN_MAJOR),
				"install cuDNN " NUMBER(CUDNN_MAJOR)},
	[CUDA_LIBRARY_CUBLASLT] = {"libcublasLt.so." NUMBER(CUBLAS_VER_MAJOR),
				   "install cuBLAS " NUMBER(CUBLAS_VER_MAJOR)},
#ifdef HAVE_NCCL
	[CUDA_LIBRARY_NCCL] = {"libnccl.so." NUMBER(NCCL_MAJOR),
			       "install NCCL " NUMBER(NCCL_MAJOR)},
#endif
};

static const struct {
	enum cuda_library library;
	struct dynlib_function function; /* in struct cuda_calls */
} symbols[] = {
#define CALL(library, type, name, parameters, arguments) \
	{CUDA_LIBRARY_##library, {#name, offsetof(struct cuda_calls, name), false}},
#define QUERY CALL
#include "backend/cuda/calls.def"
#undef QUERY
#undef CALL
};

enum { SYMBOLS = sizeof(symbols) / sizeof(*symbols) };

static void take_linked(struct cuda_calls *calls, enum cuda_library wanted)
{
#define LINKED_RUNTIME(name) calls->name = name
#define LINKED_KERNELS(name) calls->name = name
#define LINKED_CUDNN(name) (void)0
#define LINKED_CUBLASLT(name) (void)0
#define LINKED_NCCL(name) (void)0
#define CALL(library, type, name, parameters, arguments) \
	if (wanted == CUDA_LIBRARY_##library) \
		LINKED_##library(name);
#define QUERY CALL
#include "backend/cuda/calls.def"
#undef QUERY
#undef CALL
}

static bool take_opened(struct cuda_calls *calls, enum cuda_library library,
			struct train_error *error)
{
	const char *file = libraries[library].file, *remedy = libraries[library].remedy, *missing;
	struct dynlib_function wanted[SYMBOLS];
	size_t count = 0;

	if (!file)
		return train_fail(error, TRAIN_NO_BACKEND,
				  "this build has no %s: build with it (see configure --help)",
				  cuda_library_name(library));
	for (int i = 0; i < SYMBOLS; i++)
		if (symbols[i].library == library)
			wanted[count++] = symbols[i].function;
	if (dynlib_open(file, wanted, count, calls, &missing))
		return true;
	if (missing)
		return train_fail(error, TRAIN_NO_BACKEND,
				  "%s is too old or too new: %s has no %s: %s",
				  cuda_library_name(library), file, missing, remedy);
	return train_fail(error, TRAIN_NO_BACKEND,
			  "%s is missing: %s: %s, or name its folder in LD_LIBRARY_PATH",
			  cuda_library_name(library), dlerror(), remedy);
}

bool cuda_calls_load(struct cuda_calls *calls, enum cuda_library library, struct train_error *error)
{
	if (library != CUDA_LIBRARY_RUNTIME && library != CUDA_LIBRARY_KERNELS)
		return take_opened(calls, library, error);
	take_linked(calls, library);
	return true;
}
