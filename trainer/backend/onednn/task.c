/* SPDX-License-Identifier: MIT */
/* A oneDNN primitive with its memory, and layouts: the parts of operations. */
#include "backend/onednn/onednn.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

bool onednn_failed(const struct device *device, const char *what, dnnl_status_t status,
		   struct train_error *error)
{
	if (status == dnnl_out_of_memory)
		memory_ran_out();
	if (status == dnnl_unimplemented)
		return train_fail(error, TRAIN_NO_BACKEND,
				  "device %d: oneDNN has no %s on this processor; use --backend "
				  "reference",
				  device->physical, what);
	return train_fail(error, TRAIN_FAILED,
			  "device %d: oneDNN fails at %s (status %d); use --backend reference",
			  device->physical, what, (int)status);
}

/* Adds an argument's memory object, without an address; empty ones are left out. */
static dnnl_status_t task_arg(struct onednn_task *task, dnnl_engine_t engine, int arg)
{
	const onednn_layout *layout = onednn_task_layout(task, arg);
	dnnl_exec_arg_t *next = &task->args[task->count];
	dnnl_status_t status;

	if (!layout || dnnl_memory_desc_get_size(layout) == 0)
		return dnnl_success;
	status = dnnl_memory_create(&next->memory, layout, engine, DNNL_MEMORY_NONE);
	if (status != dnnl_success)
		return status;
	next->arg = arg;
	task->count++;
	if (arg == DNNL_ARG_SCRATCHPAD)
		task->scratch = dnnl_memory_desc_get_size(layout);
	return dnnl_success;
}

/* The primitive of the task's description. */
static bool task_finish(struct onednn_task *task, struct device *device, const int *args,
			const char *what, struct train_error *error)
{
	struct onednn_device *own = (struct onednn_device *)device;
	dnnl_status_t status = dnnl_primitive_create(&task->primitive, task->description);

	for (; status == dnnl_success && *args; args++)
		status = task_arg(task, own->engine, *args);
	if (status == dnnl_success)
		return true;
	onednn_task_free(task);
	return onednn_failed(device, what, status, error);
}

/* Whether oneDNN has only a plain loop here, which takes 30 to 500 times as long as its other code.
 */
static bool is_reference(const struct onednn_task *task, struct onednn_device *device)
{
	int nth = ++device->tried.count;

	return strstr(onednn_name(task->description), "ref") ||
	       (nth >= device->tried.first && nth <= device->tried.last);
}

void onednn_took(struct device *device, enum onednn_way way)
{
	((struct onednn_device *)device)->tried.ways[way]++;
}

size_t onednn_room(size_t *scratch, size_t bytes)
{
	size_t place = (*scratch + 63) / 64 * 64;

	*scratch = place + bytes;
	return place;
}

bool onednn_task_make(struct onednn_task *task, struct device *device,
		      const struct onednn_wish *wish, const int *args, const char *what,
		      struct train_error *error)
{
	struct onednn_device *own = (struct onednn_device *)device;
	struct onednn_wish next = *wish;
	dnnl_status_t status;

	*task = (struct onednn_task){.count = 0};
	next.engine = own->engine;
	while ((status = onednn_describe(&task->description, &next)) == dnnl_success &&
	       is_reference(task, own)) {
		dnnl_primitive_desc_destroy(task->description);
		task->description = NULL;
		next.choice++;
	}
	if (status == dnnl_unimplemented && wish->references) {
		next.choice = wish->choice;
		status = onednn_describe(&task->description, &next);
	}
	if (status != dnnl_success)
		return onednn_failed(device, what, status, error);
	task->choice = next.choice;
	return !args || task_finish(task, device, args, what, error);
}

bool onednn_task_reorder(struct onednn_task *task, struct device *device, const onednn_layout *from,
			 const onednn_layout *to, struct train_error *error)
{
	static const int args[] = {DNNL_ARG_FROM, DNNL_ARG_TO, DNNL_ARG_SCRATCHPAD, 0};
	dnnl_engine_t engine = ((struct onednn_device *)device)->engine;
	dnnl_primitive_attr_t attributes;
	dnnl_status_t status = dnnl_primitive_attr_create(&attributes);

	*task = (struct onednn_task){.count = 0};
	if (status != dnnl_success)
		return onednn_failed(device, "a reorder", status, error);
	status = dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
	if (status == dnnl_success)
		status = dnnl_reorder_primitive_desc_create(&task->description, from, engine, to,
							    engine, attributes);
	dnnl_primitive_attr_destroy(attributes);
	if (status != dnnl_success) {
		task->description = NULL;
		return onednn_failed(device, "a reorder", status, error);
	}
	return task_finish(task, device, args, "a reorder", error);
}

/* oneDNN takes non-const pointers also for what it only reads. */
static void *writable(const void *at)
{
	return (void *)(uintptr_t)at;
}

bool onednn_task_run(struct onednn_task *task, struct device *device,
		     const struct onednn_address *addresses, int count, struct train_error *error)
{
	struct onednn_device *own = (struct onednn_device *)device;
	dnnl_status_t status = dnnl_success;

	for (int i = 0; i < task->count; i++)
		for (int j = 0; j < count && status == dnnl_success; j++)
			if (addresses[j].arg == task->args[i].arg &&
			    addresses[j].at != task->bound[i]) {
				status = dnnl_memory_set_data_handle(task->args[i].memory,
								     writable(addresses[j].at));
				task->bound[i] = addresses[j].at;
			}
	if (status == dnnl_success)
		status = dnnl_primitive_execute(task->primitive, own->stream, task->count,
						task->args);
	if (status == dnnl_success)
		status = dnnl_stream_wait(own->stream);
	return status == dnnl_success || onednn_failed(device, "a run", status, error);
}

bool onednn_task_move(struct onednn_task *task, struct device *device, const void *from, void *to,
		      const void *scratch, struct train_error *error)
{
	const struct onednn_address addresses[] = {
		{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, scratch}};

	return onednn_task_run(task, device, addresses, 3, error);
}

void onednn_task_free(struct onednn_task *task)
{
	for (int i = 0; i < task->count; i++)
		dnnl_memory_destroy(task->args[i].memory);
	if (task->primitive)
		dnnl_primitive_destroy(task->primitive);
	if (task->description)
		dnnl_primitive_desc_destroy(task->description);
	*task = (struct onednn_task){.count = 0};
}

const onednn_layout *onednn_task_layout(const struct onednn_task *task, int arg)
{
	return dnnl_primitive_desc_query_md(task->description, dnnl_query_exec_arg_md, arg);
}

dnnl_data_type_t onednn_type(enum value_type type)
{
	switch (type) {
	case VALUE_FLOAT32:
		return dnnl_f32;
	case VALUE_BFLOAT16:
		return dnnl_bf16;
	case VALUE_FLOAT16:
		return dnnl_f16;
	case VALUE_FLOAT64:
		break;
	}
	return dnnl_data_type_undef;
}

onednn_layout *onednn_layout_of(const struct layout *l, dnnl_format_tag_t tag)
{
	dnnl_dims_t sizes = {l->batch, l->channels, l->height, l->width};

	return onednn_layout_new(4, sizes, onednn_type(l->type), tag);
}

onednn_layout *onednn_host_layout(const struct layout *l, int dims)
{
	dnnl_dims_t features = {l->batch, l->channels * l->height * l->width};

	return dims == 2 ? onednn_layout_new(2, features, onednn_type(l->type), dnnl_ab)
			 : onednn_layout_of(l, dnnl_abcd);
}

void onednn_layout_out(struct layout *layout, const onednn_layout *order)
{
	bool host = false;

	for (int dims = 2; dims <= 4; dims += 2) {
		ONEDNN_LAYOUT *plain = onednn_host_layout(layout, dims);

		host = host || dnnl_memory_desc_equal(plain, order);
	}
	layout->order = host ? NULL : order;
	layout->bytes = dnnl_memory_desc_get_size(order);
}
