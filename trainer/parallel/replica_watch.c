/* SPDX-License-Identifier: MIT */
/* Gives up on a device that hangs. */
#include <stdio.h>

#include "parallel/replica.h"

/* Other ranks must not give up on this one first. */
static int64_t limit_ns(const struct replica *r)
{
	return r->options->settings->timeout_ms * 1000000 / 4 * 3;
}

static bool ends_alone(void *argument, int64_t waited_ns, struct train_error *error)
{
	const struct replica *r = argument;
	char uuid[80];

	if (waited_ns <= limit_ns(r))
		return true;
	snprintf(uuid, sizeof(uuid), " (%s)", r->device->uuid ? r->device->uuid : "no UUID");
	return train_device_late(error, r->device->physical, uuid, limit_ns(r));
}

/* It may wait for another device, so the error has no UUID. */
static bool ends(void *argument, int64_t waited_ns, struct train_error *error)
{
	const struct replica *r = argument;

	return waited_ns <= limit_ns(r) ||
	       train_device_late(error, r->device->physical, TRAIN_OR_ANOTHER, limit_ns(r));
}

void replica_watch(struct replica *r, bool alone)
{
	if (limit_ns(r) > 0)
		r->device->watch = (struct device_watch){alone ? ends_alone : ends, r};
}
