/* SPDX-License-Identifier: MIT */
/*
 * oneDNN on the CPU. Each simulated device has its own engine, stream, memory and threads.
 *
 * Its threads are OpenMP's (cpu/team.h): the first region that the device's thread runs makes a
 * team, which inherits its cores and floating-point state. How many is a setting of the calling
 * thread (omp_set_num_threads). OpenMP's threads spin when they wait. If other threads need their
 * cores, start the process with OMP_WAIT_POLICY=passive. Never set OMP_PROC_BIND, which moves
 * threads off their device's cores.
 */
#include "backend/onednn/onednn.h"

#include <stdlib.h>
#include <string.h>

bool onednn_same_layout(const struct layout *a, const struct layout *b)
{
	if (a->type != b->type || !a->order != !b->order)
		return false;
	return !a->order || dnnl_memory_desc_equal(a->order, b->order);
}

static void onednn_close(struct device *device)
{
	struct onednn_device *own = (struct onednn_device *)device;

	if (own->stream)
		dnnl_stream_destroy(own->stream);
	if (own->engine)
		dnnl_engine_destroy(own->engine);
	free(own);
}

static bool onednn_has_type(struct device *device, enum value_type type)
{
	return type == VALUE_FLOAT32 ||
	       (type == VALUE_BFLOAT16 && ((struct onednn_device *)device)->half != HALF_NONE);
}

static bool onednn_open(struct device **device, const struct device_options *options,
			struct train_error *error)
{
	struct onednn_device *own = cpu_device_new(sizeof(*own), &backend_onednn, options, error);
	dnnl_status_t status;

	if (!own)
		return false;
	if (!cpu_team_open(&own->cpu.team, options->threads)) {
		free(own);
		return train_fail(error, TRAIN_NO_BACKEND,
				  "device %d: this oneDNN was built without OpenMP and cannot use "
				  "%d threads; write --threads 1",
				  options->physical, options->threads);
	}
	own->exact = options->exact;
	own->half = onednn_half_here();
	status = dnnl_engine_create(&own->engine, dnnl_cpu, 0);
	if (status == dnnl_success)
		status = dnnl_stream_create(&own->stream, own->engine, dnnl_stream_in_order);
	if (status != dnnl_success) {
		onednn_failed(&own->cpu.base, "a device", status, error);
		onednn_close(&own->cpu.base);
		return false;
	}
	*device = &own->cpu.base;
	return true;
}

const struct backend backend_onednn = {
	.name = "onednn",
	.open = onednn_open,
	.close = onednn_close,
	.has_type = onednn_has_type,
	CPU_DEVICE_CALLS,
	.convolution = onednn_convolution,
	.max_pool = onednn_max_pool,
	.mean_pool = onednn_mean_pool,
	.batch_norm = onednn_batch_norm,
	.linear = onednn_linear,
	.addition = onednn_addition,
	.convert = onednn_convert,
	.same_layout = onednn_same_layout,
};
