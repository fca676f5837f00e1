/* SPDX-License-Identifier: MIT */
/* See contents.h. */
#include "checkpoint/contents.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "memory.h"

/* Takes name over. */
static void add(struct contents *c, char *name, enum safetensors_dtype dtype,
		const struct tensor_shape *shape, void *data)
{
	c->tensors[c->count] = (struct safetensors_tensor){name, dtype, *shape, data};
	c->data[c->count++] = data;
}

static bool add_tensors(struct contents *c, const struct tensor *tensors, size_t count,
			struct train_error *error)
{
	for (size_t i = 0; i < count; i++) {
		const struct tensor *p = &tensors[i];

		if (starts_with(p->name, CHECKPOINT_OPTIMIZER) ||
		    starts_with(p->name, CHECKPOINT_MODULE))
			return train_fail(
				error, TRAIN_FAILED,
				"tensor %s: checkpoints reserve this prefix; rename the layer",
				p->name);
		add(c, xstrdup(p->name), SAFETENSORS_F32, &p->shape, p->data);
	}
	return true;
}

static void add_slot(struct contents *c, const struct checkpoint *what,
		     const struct checkpoint_slot *slot)
{
	for (size_t i = 0; i < what->count; i++) {
		const struct tensor *p = &what->parameters[i];
		char *name;

		xasprintf(&name, CHECKPOINT_OPTIMIZER "%s.%s", slot->name, p->name);
		add(c, name, SAFETENSORS_F32, &p->shape, slot->data[i]);
	}
}

bool contents_make(struct contents *ret, const struct checkpoint *what, struct train_error *error)
{
	const struct tensor_shape scalar = {0, {0}};
	size_t max =
		what->count * (1 + what->slot_count) + what->buffer_count + what->counter_count;
	struct contents c = {xcalloc(max, sizeof(*c.tensors)), xcalloc(max, sizeof(*c.data)), 0};

	if (!add_tensors(&c, what->parameters, what->count, error) ||
	    !add_tensors(&c, what->buffers, what->buffer_count, error)) {
		contents_free(&c);
		return false;
	}
	for (size_t i = 0; i < what->counter_count; i++)
		add(&c, xstrdup(what->counters[i].name), SAFETENSORS_I64, &scalar,
		    what->counters[i].value);
	for (size_t i = 0; i < what->slot_count; i++)
		add_slot(&c, what, &what->slots[i]);
	*ret = c;
	return true;
}

void contents_free(struct contents *contents)
{
	for (size_t i = 0; i < contents->count; i++)
		free((char *)(uintptr_t)contents->tensors[i].name);
	free(contents->tensors);
	free(contents->data);
}

bool contents_finite(const struct safetensors *file, const struct safetensors_tensor *tensor,
		     struct train_error *error)
{
	int64_t elements = tensor_elements(&tensor->shape);
	const unsigned char *data = tensor->data;
	float value;

	for (int64_t i = 0; i < elements; i++) {
		memcpy(&value, data + (size_t)i * sizeof(value), sizeof(value));
		if (!isfinite(value))
			return train_fail(error, TRAIN_BAD_INPUT,
					  "%s: %s has a value that is not finite (%g, element "
					  "%lld): its run diverged; use earlier weights",
					  file->path, tensor->name,
					  isnan(value) ? (double)NAN : (double)value, (long long)i);
	}
	return true;
}
