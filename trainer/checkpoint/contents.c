/* SPDX-License-Identifier: MIT */
/* See contents.h. */
#include "checkpoint/contents.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

/* Takes name over, which is NULL without memory. */
static bool add(struct contents *c, char *name, enum safetensors_dtype dtype,
		const struct tensor_shape *shape, void *data)
{
	if (!name)
		return false;
	c->tensors[c->count] = (struct safetensors_tensor){name, dtype, *shape, data};
	c->data[c->count++] = data;
	return true;
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
		if (!add(c, strdup(p->name), SAFETENSORS_F32, &p->shape, p->data))
			return train_nomem(error, "the names of parameters");
	}
	return true;
}

static bool add_counters(struct contents *c, const struct checkpoint *what,
			 struct train_error *error)
{
	const struct tensor_shape scalar = {0, {0}};

	for (size_t i = 0; i < what->counter_count; i++) {
		const struct checkpoint_counter *counter = &what->counters[i];

		if (!add(c, strdup(counter->name), SAFETENSORS_I64, &scalar, counter->value))
			return train_nomem(error, "the names of counters");
	}
	return true;
}

static bool add_slot(struct contents *c, const struct checkpoint *what,
		     const struct checkpoint_slot *slot, struct train_error *error)
{
	for (size_t i = 0; i < what->count; i++) {
		const struct tensor *p = &what->parameters[i];
		char *name;

		if (asprintf(&name, CHECKPOINT_OPTIMIZER "%s.%s", slot->name, p->name) < 0)
			name = NULL;
		if (!add(c, name, SAFETENSORS_F32, &p->shape, slot->data[i]))
			return train_nomem(error, "the names of the optimizer's state");
	}
	return true;
}

bool contents_make(struct contents *ret, const struct checkpoint *what, struct train_error *error)
{
	size_t max =
		what->count * (1 + what->slot_count) + what->buffer_count + what->counter_count + 1;
	struct contents c = {calloc(max, sizeof(*c.tensors)), calloc(max, sizeof(*c.data)), 0};
	bool good = c.tensors && c.data;

	if (!good)
		train_nomem(error, "the names in a checkpoint");
	good = good && add_tensors(&c, what->parameters, what->count, error) &&
	       add_tensors(&c, what->buffers, what->buffer_count, error) &&
	       add_counters(&c, what, error);
	for (size_t i = 0; good && i < what->slot_count; i++)
		good = add_slot(&c, what, &what->slots[i], error);
	if (good)
		*ret = c;
	else
		contents_free(&c);
	return good;
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
