/* SPDX-License-Identifier: MIT */
/* Checks a device by its gradients. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "hash.h"
#include "memory.h"
#include "parallel/replica.h"

/* Of whole words, and of the rest with zeros. */
static uint64_t hash_of(const unsigned char *bytes, size_t size)
{
	uint64_t hash = HASH_START, word;

	for (size_t at = 0; at < size; at += sizeof(word)) {
		word = 0;
		memcpy(&word, bytes + at, size - at < sizeof(word) ? size - at : sizeof(word));
		hash = hash_word(hash, word);
	}
	return hash;
}

static bool read_gradients(struct replica *r, struct device_check *check, struct train_error *error)
{
	size_t bytes = (size_t)r->model->elements * sizeof(float);
	CLEANUP_FREE unsigned char *host = xmalloc(bytes);

	if (!r->device->backend->read(r->device, host, r->model->gradients, bytes, error))
		return false;
	host[bytes / 2] ^= check->flip;
	check->hash = hash_of(host, bytes);
	return true;
}

static bool spoil(struct replica *r, struct train_error *error)
{
	float *weight = (float *)r->model->values + r->model->elements / 2, nan = NAN;

	return r->device->backend->write(r->device, weight, &nan, sizeof(nan), error) &&
	       model_prepare(r->model, false, error);
}

static bool pass(struct replica *r, struct device_check *check, struct train_error *error)
{
	const struct backend *backend = r->device->backend;
	int64_t begin = clock_ns();

	/* Running statistics move, but gradients do not depend on them. */
	if (!replica_fill(r, 0, 0, false, error) || !replica_forward(r, 0, 0, false, error) ||
	    !replica_loss(r, 0, 0, true, error) || !replica_backward(r, 0, 0, 1, NULL, error) ||
	    !backend->finish(r->device, error))
		return false;
	check->ns = clock_ns() - begin;
	return true;
}

bool replica_check(struct replica *r, const struct step_input *input, struct device_check *check,
		   struct train_error *error)
{
	const struct device_watch of_steps = r->device->watch;
	bool done;

	replica_watch(r, true);
	done = replica_begin_all(r, input, false, error) &&
	       r->device->backend->finish(r->device, error) && pass(r, check, error) &&
	       read_gradients(r, check, error) && (!check->spoil || spoil(r, error));
	r->device->watch = of_steps;
	return done;
}
