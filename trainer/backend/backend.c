/* SPDX-License-Identifier: MIT */
/* See backend.h. */
#include "config.h"

#include "backend/backend.h"

#include <stdio.h>
#include <stdlib.h>
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

int64_t layout_values(const struct layout *layout)
{
	return layout->batch * layout->channels * layout->height * layout->width;
}

struct layout layout_host(enum value_type type, int64_t batch, int64_t channels, int64_t height,
			  int64_t width)
{
	struct layout layout = {.type = type,
				.batch = batch,
				.channels = channels,
				.height = height,
				.width = width};

	layout.bytes = (size_t)layout_values(&layout) * value_bytes(type);
	return layout;
}

void *op_new(size_t size, struct device *device, const struct op_calls *calls, const char *what,
	     struct train_error *error)
{
	struct op *op = calloc(1, size);

	if (!op) {
		train_nomem(error, what);
		return NULL;
	}
	op->calls = calls;
	op->device = device;
	return op;
}

bool op_give(struct op **ret, struct op *op, bool planned)
{
	if (planned)
		*ret = op;
	else
		op_free(op);
	return planned;
}

void op_free(struct op *op)
{
	if (op && op->calls->free)
		op->calls->free(op);
	free(op);
}
