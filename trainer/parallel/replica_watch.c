/* SPDX-License-Identifier: MIT */
/* Gives up on a device that hangs. */
#include <stdio.h>

#include "parallel/replica.h"

/* Other ranks must not give up on this one first. */
static int64_t limit_ns(const struct replica *r)
{
	return r->options->settings->timeout_ms * 1000000 / 4 * 3;
}

static bool give_up(const struct replica *r, const char *what, struct train_error *error)
{
	train_fail(error, TRAIN_FAILED,
		   "GPU %d%s: its work has not ended after %g s; dmesg and nvidia-smi may show "
		   "why, or give a longer --timeout",
		   r->device->physical, what, (double)limit_ns(r) * 1e-9);
	train_device_failed(error);
	return false;
}

static bool ends_alone(void *argument, int64_t waited_ns, struct train_error *error)
{
	const struct replica *r = argument;
	char uuid[80];

	if (waited_ns <= limit_ns(r))
		return true;
	snprintf(uuid, sizeof(uuid), " (%s)", r->device->uuid ? r->device->uuid : "no UUID");
	return give_up(r, uuid, error);
}

/* It may wait for another device, so the error has no UUID. */
static bool ends(void *argument, int64_t waited_ns, struct train_error *error)
{
	const struct replica *r = argument;

	return waited_ns <= limit_ns(r) || give_up(r, TRAIN_OR_ANOTHER, error);
}

void replica_watch(struct replica *r, bool alone)
{
	if (limit_ns(r) > 0)
		r->device->watch = (struct device_watch){alone ? ends_alone : ends, r};
}
