/* SPDX-License-Identifier: MIT */
/* Calls of CuPy, Numba, TensorFlow, JAX and others that choose a device by the rank. */
#include "lint/python_file.h"

/* Calls, the argument with the device, and how each is given the local rank. */
static const struct {
	const char *path, *name;
	int place;
	const char *call;
} choices[] = {
	{"cupy.cuda.Device", "device", 0, "cupy.cuda.Device(local_rank).use()"},
	{"cupy.cuda.runtime.setDevice", "device", 0, "cupy.cuda.runtime.setDevice(local_rank)"},
	{"numba.cuda.select_device", "device_id", 0, "numba.cuda.select_device(local_rank)"},
	{"pycuda.driver.Device", "device", 0, "pycuda.driver.Device(local_rank)"},
	{"cuda.core.Device", "device_id", 0, "cuda.core.Device(local_rank)"},
	{"paddle.device.set_device", "device", 0,
	 "paddle.device.set_device(f\"gpu:{local_rank}\")"},
	{"mxnet.gpu", "device_id", 0, "mxnet.gpu(local_rank)"},
	{"jax.distributed.initialize", "local_device_ids", 3,
	 "jax.distributed.initialize(local_device_ids=[local_rank])"},
	{"tensorflow.config.set_visible_devices", "devices", 0,
	 "tf.config.set_visible_devices(gpus[local_rank], \"GPU\")"},
	{"tensorflow.config.experimental.set_visible_devices", "devices", 0,
	 "tf.config.set_visible_devices(gpus[local_rank], \"GPU\")"},
};

/* The rank in an expression: rank, [rank], gpus[rank]. */
static struct python_value rank_in(const struct python_file *f, unsigned first, unsigned past)
{
	struct python_value v = python_value(f, first, past);
	unsigned open = python_last_bracket(f, first, past);

	if (v.meaning == MEANS_RANK || v.meaning == MEANS_MODULO || past < first + 3 ||
	    !is_at(f, open, past, "["))
		return v;
	return python_value(f, open + 1, past - 1);
}

void frameworks_call(struct python_file *f, const char *path, unsigned at, unsigned open)
{
	struct python_argument a;
	struct python_value v;
	struct observation *s;

	if (starts_with(path, "torch."))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		if (!streq(path, choices[i].path) ||
		    !python_argument_find(f, open, choices[i].name, choices[i].place, &a))
			continue;
		v = rank_in(f, a.first, a.past);
		if (v.meaning != MEANS_RANK && v.meaning != MEANS_MODULO) {
			f->training.picks_local |= v.meaning == MEANS_LOCAL_RANK;
			continue;
		}
		s = observation_add(f, OBSERVED_CHOICE, token_at(f, at));
		s->value = v;
		s->name = span_of(choices[i].call);
	}
}
