/* SPDX-License-Identifier: MIT */
/* See inputs.h. */
#include "parallel/inputs.h"

#include <stdlib.h>

#include "memory.h"

/* In this order: the optimizer's, all controls, all indices, all labels. Those of a pass begin
 * aligned to what kernels load at a time. */
enum { ALIGNMENT = 16 };

_Static_assert(sizeof(struct pass_control) % ALIGNMENT == 0, "indices are aligned");

static int64_t room(const struct inputs *i)
{
	return (i->rows + 3) / 4 * 4;
}

static size_t controls_at(void)
{
	return (sizeof(struct update_control) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t indices_at(const struct inputs *i)
{
	return controls_at() + (size_t)i->passes * sizeof(struct pass_control);
}

static size_t labels_at(const struct inputs *i)
{
	return indices_at(i) + (size_t)(i->passes * room(i)) * sizeof(int64_t);
}

static size_t all_bytes(const struct inputs *i)
{
	return labels_at(i) + (size_t)(i->passes * room(i)) * sizeof(int32_t);
}

bool inputs_open(struct inputs *i, const struct inputs *how, struct train_error *error)
{
	const struct backend *backend = how->device->backend;

	*i = *how;
	i->host = xcalloc(1, all_bytes(i));
	for (int turn = 0; turn < 2; turn++)
		i->sent[turn] = backend->allocate_zeros(i->device, all_bytes(i),
							"what a step takes", error);
	if (i->sent[0] && i->sent[1])
		return true;
	inputs_close(i);
	return false;
}

void inputs_close(struct inputs *i)
{
	for (int turn = 0; turn < 2; turn++) {
		if (i->sent[turn])
			i->device->backend->release(i->device, i->sent[turn]);
		i->sent[turn] = NULL;
	}
	free(i->host);
	i->host = NULL;
}

static struct inputs_pass pass_of(const struct inputs *i, unsigned char *in, int64_t pass)
{
	return (struct inputs_pass){
		(struct pass_control *)(void *)(in + controls_at()) + pass,
		(int64_t *)(void *)(in + indices_at(i)) + pass * room(i),
		(int32_t *)(void *)(in + labels_at(i)) + pass * room(i),
	};
}

struct inputs_pass inputs_host(const struct inputs *i, int64_t pass)
{
	return pass_of(i, i->host, pass);
}

struct inputs_pass inputs_device(const struct inputs *i, int64_t pass)
{
	return pass_of(i, i->sent[i->turn], pass);
}

struct update_control *inputs_update_host(const struct inputs *i)
{
	return (struct update_control *)(void *)i->host;
}

struct update_control *inputs_update(const struct inputs *i)
{
	return (struct update_control *)(void *)i->sent[i->turn];
}

bool inputs_send(struct inputs *i, struct train_error *error)
{
	i->turn = !i->turn;
	return i->device->backend->write_ahead(i->device, i->sent[i->turn], i->host,
					       i->labels ? all_bytes(i) : labels_at(i), error);
}
