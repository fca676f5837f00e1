/* SPDX-License-Identifier: MIT */
/* The names of the backends in this build, the best first, for callers that only list them. */
#include "config.h"

#include "backend/names.h"

#include <string.h>

#include "backend/backend.h"

static const char *const names[] = {
#ifdef HAVE_DNNL
	"onednn",
#endif
	"reference",
#ifdef HAVE_CUDA_BACKEND
	"cuda",
#endif
};

const char *backend_name(size_t i)
{
	return i < sizeof(names) / sizeof(*names) ? names[i] : NULL;
}

bool backend_exists(const char *name)
{
	for (size_t i = 0; backend_name(i); i++)
		if (strcmp(backend_name(i), name) == 0)
			return true;
	return false;
}

bool backend_simulates(const char *name)
{
	return strcmp(name, "cuda") != 0;
}
