/* SPDX-License-Identifier: MIT */
/* See backend.h. */
#include "config.h"

#include "backend/backend.h"

#include <stdio.h>
#include <string.h>

/* In the order of names.c. */
static const struct backend *const backends[] = {
#ifdef HAVE_DNNL
	&backend_onednn,
#endif
	&backend_reference,
#ifdef HAVE_CUDA_BACKEND
	&backend_cuda,
#endif
};

enum { LIST = 64, BACKENDS = sizeof(backends) / sizeof(*backends) };

static const char *listed(char text[LIST])
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < BACKENDS && used < LIST; i++)
		used += (size_t)snprintf(text + used, LIST - used, "%s%s", i ? " or " : "",
					 backends[i]->name);
	return text;
}

static const char *how_to_get(const char *name)
{
	if (strcmp(name, "cuda") == 0)
		return "build with CUDA and cuDNN";
	if (strcmp(name, "onednn") == 0)
		return "build with oneDNN (libdnnl-dev)";
	return "leave it out";
}

const struct backend *backend_find(const char *name, struct train_error *error)
{
	char text[LIST];

	if (strcmp(name, "auto") == 0)
		return backends[0];
	for (size_t i = 0; i < BACKENDS; i++)
		if (strcmp(backends[i]->name, name) == 0)
			return backends[i];
	train_fail(error, TRAIN_NO_BACKEND,
		   "--backend %.40s: this build has no such backend; choose %s, or %s", name,
		   listed(text), how_to_get(name));
	return NULL;
}

enum value_type backend_type(struct device *device, enum value_type wanted, char *text, size_t size)
{
	*text = '\0';
	if (device->backend->has_type(device, wanted))
		return wanted;
	snprintf(text, size,
		 "device %d: %s has no fast %s on this processor: it computes in float32, which is "
		 "no less precise",
		 device->physical, device->backend->name, value_name(wanted));
	return VALUE_FLOAT32;
}
