/* SPDX-License-Identifier: MIT */
/* See host_state.h. */
#include "run/host_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "memory.h"

static void point(struct host_state *s, const struct model_shapes *shapes)
{
	float *next = s->memory;

	for (int slot = -1; slot < s->slots; slot++)
		for (int i = 0; i < s->parameters; i++) {
			float **data = slot < 0 ? &s->tensors[i].data : &s->slot_data[slot][i];

			*data = next;
			next += shapes->parameters[i].elements;
		}
	for (int i = 0; i < s->buffers; i++) {
		s->buffer[i].data = next;
		next += shapes->buffers[i].elements;
	}
}

static void name_buffers(struct host_state *s, const struct run *r)
{
	const struct model_shapes *shapes = &r->parallel->shapes;
	const struct model_spec *spec = r->training->spec;

	s->buffers = shapes->buffers_count;
	for (int i = 0; i < s->buffers; i++)
		s->buffer[i] = (struct tensor){
			.name = shapes->buffers[i].name,
			.shape = shapes->buffers[i].shape,
		};
	for (int i = 0; i < spec->count; i++) {
		char *name = s->counter_names[s->counters];

		if (shapes->layers[i].buffers < 0)
			continue;
		snprintf(name, sizeof(s->counter_names[0]), "%s.num_batches_tracked",
			 spec->layers[i].name);
		s->counter[s->counters++] = (struct checkpoint_counter){name, &s->tracked[i]};
	}
}

void host_state_open(struct host_state *s, const struct run *r)
{
	const struct model_shapes *shapes = &r->parallel->shapes;
	size_t elements;

	*s = (struct host_state){.parameters = shapes->parameters_count};
	for (const char *name;
	     (name = optimizer_state_name(&r->settings->optimizer, s->slots)) != NULL; s->slots++)
		s->slot[s->slots] = (struct checkpoint_slot){name, s->slot_data[s->slots]};
	for (int i = 0; i < s->parameters; i++)
		s->tensors[i] = (struct tensor){.name = shapes->parameters[i].name,
						.shape = shapes->parameters[i].shape};
	name_buffers(s, r);
	s->checkpoint = (struct checkpoint){.parameters = s->tensors,
					    .count = (size_t)s->parameters,
					    .slots = s->slot,
					    .slot_count = (size_t)s->slots,
					    .buffers = s->buffer,
					    .buffer_count = (size_t)s->buffers,
					    .counters = s->counter,
					    .counter_count = (size_t)s->counters};
	if (r->rank != 0)
		return;
	elements =
		(size_t)shapes->elements * (size_t)(1 + s->slots) + (size_t)shapes->buffer_elements;
	s->memory = xcalloc(elements, sizeof(*s->memory));
	pages_want_huge(s->memory, elements * sizeof(*s->memory));
	point(s, shapes);
}

void host_state_close(struct host_state *s)
{
	free(s->memory);
}

bool host_state_collect(struct host_state *s, struct run *r, struct train_error *error)
{
	struct parallel *p = r->parallel;

	for (int slot = -1; slot < s->slots; slot++)
		for (int i = 0; i < s->parameters; i++)
			if (!p->calls->read(p, slot, i,
					    slot < 0 ? s->tensors[i].data : s->slot_data[slot][i],
					    error))
				return false;
	for (int i = 0; i < s->buffers; i++)
		if (!p->calls->read(p, PARALLEL_BUFFERS, i, s->buffer[i].data, error))
			return false;
	for (int i = 0; i < MODEL_MAX_LAYERS; i++)
		s->tracked[i] = r->tracked[i] + *p->batches_tracked;
	return true;
}

bool host_state_give(const struct host_state *s, struct run *r, bool slots,
		     struct train_error *error)
{
	const struct optimizer_progress progress = {r->optimizer_step, r->scaler};
	struct parallel *p = r->parallel;

	for (int slot = -1; slot < (slots ? s->slots : 0); slot++)
		for (int i = 0; i < s->parameters; i++)
			if (!p->calls->write(p, slot, i,
					     slot < 0 ? s->tensors[i].data : s->slot_data[slot][i],
					     error))
				return false;
	for (int i = 0; i < s->buffers; i++)
		if (!p->calls->write(p, PARALLEL_BUFFERS, i, s->buffer[i].data, error))
			return false;
	memcpy(r->tracked, s->tracked, sizeof(r->tracked));
	return p->calls->synchronize(p, &progress, error);
}
