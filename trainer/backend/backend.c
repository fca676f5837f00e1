/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "backend/backend.h"

#include <stdio.h>
#include <string.h>

static const struct backend *const backends[] = {
#ifdef HAVE_DNNL
	&backend_onednn,
#endif
	&backend_reference,
};

const struct backend *backend_find(const char *name, struct train_error *error)
{
	if (strcmp(name, "auto") == 0)
		return backends[0];
	for (size_t i = 0; i < sizeof(backends) / sizeof(*backends); i++)
		if (strcmp(backends[i]->name, name) == 0)
			return backends[i];
#ifdef HAVE_DNNL
	train_fail(error, TRAIN_NO_BACKEND, "backend '%s': there is onednn and reference", name);
#else
	train_fail(error, TRAIN_NO_BACKEND,
		   "backend '%s': this build has reference alone; build with oneDNN (libdnnl-dev)",
		   name);
#endif
	return NULL;
}

enum value_type backend_type(struct device *device, enum value_type wanted, char *text, size_t size)
{
	*text = '\0';
	if (device->backend->has_type(device, wanted))
		return wanted;
	snprintf(text, size,
		 "device %d: %s has no fast %s on this processor (bfloat16 needs AVX-512): it "
		 "computes in float32, slower and no less precise",
		 device->physical, device->backend->name, value_name(wanted));
	return VALUE_FLOAT32;
}

void op_free(struct op *op)
{
	if (op)
		op->calls->free(op);
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
