/* SPDX-License-Identifier: MIT */
/*
 * Which samples each rank takes in each step: the order of PyTorch's DistributedSampler, bit for
 * bit (torch/utils/data/distributed.py), batched as DataLoader does.
 *
 * An epoch is a series of `total` positions. Position p holds sample order[p % samples] and belongs
 * to rank p % ranks; a step takes the next ranks * batch of them. So a step has the same samples
 * for any number of ranks, if ranks * batch is the same. They depend only on (seed, epoch, step),
 * so resuming is asking for another step.
 *
 *	sampler_init(&sampler, &options, error);
 *	for (epoch = ...) {
 *		sampler_set_epoch(&sampler, epoch);
 *		for (step = 0; step < sampler.steps; step++) {
 *			batch = sampler_batch(&sampler, rank, step, indices);
 *			...
 */
#ifndef TRAIN_SAMPLER_H
#define TRAIN_SAMPLER_H

#include "base/error.h"
#include "random.h"

enum sampler_order {
	SAMPLER_SHUFFLED, /* randperm by a generator of seed + epoch: DistributedSampler's */
	SAMPLER_IN_ORDER, /* 0, 1, 2...: with shuffle=False */
	SAMPLER_RANDOM,   /* RandomSampler's, as DataLoader(shuffle=True) uses it */
};

/* If the number of samples is not a multiple of the ranks: DistributedSampler's drop_last, which
 * has nothing to do with DataLoader's. */
enum sampler_tail {
	SAMPLER_PAD,   /* samples from the front of the order come again: its drop_last=False */
	SAMPLER_DROP,  /* the last samples % ranks are left out: its drop_last=True */
	SAMPLER_SHORT, /* each sample once: some ranks have fewer in the last step, or none */
};

struct sampler_options {
	enum sampler_order order;
	enum sampler_tail tail;
	bool drop_last;  /* DataLoader's: leaves out a last step that is not full */
	int64_t samples; /* in the dataset, at least 1 */
	int64_t ranks;   /* world size, at least 1 */
	int64_t batch;   /* samples of one rank in one step, at least 1 */
	uint64_t seed;   /* of SAMPLER_SHUFFLED; PyTorch's default is 0 */

	/*
	 * SAMPLER_RANDOM: PyTorch's global generator before the first epoch, that is after the
	 * weights were initialised. Each epoch draws two 64-bit numbers from it, DataLoader's
	 * base seed and then RandomSampler's, whose low 63 bits seed a generator of randperm.
	 */
	struct random_generator generator;
};

struct sampler {
	struct sampler_options options;
	int64_t total;  /* positions of an epoch */
	int64_t steps;  /* of an epoch; the same on all ranks, at least 1 */
	int64_t *order; /* options.samples of them, once an epoch is set; owned */
};

/* What one rank takes in one step. */
struct sampler_batch {
	int64_t count;  /* n_r, its samples: 0 is possible with SAMPLER_SHORT */
	int64_t of_all; /* n, the samples of all ranks together; padding counts in both */
};

/*
 * Copies the options and sets epoch 0. False, with TRAIN_BAD_INPUT, if there would be no step;
 * TRAIN_FAILED without memory. Then there is nothing to free.
 */
bool sampler_init(struct sampler *sampler, const struct sampler_options *options,
		  struct train_error *error);

void sampler_free(struct sampler *sampler);

/* The order of an epoch, 0 or more. Time: samples, and with SAMPLER_RANDOM + epoch. */
void sampler_set_epoch(struct sampler *sampler, int64_t epoch);

/*
 * Writes the samples of a rank in a step (below sampler.steps) to indices, which has room for
 * options.batch of them.
 */
struct sampler_batch sampler_batch(const struct sampler *sampler, int64_t rank, int64_t step,
				   int64_t *indices);

/* How many positions that an epoch's steps take are padding; the i-th of them is sample
 * sampler_repeated(i). */
int64_t sampler_repeats(const struct sampler *sampler);
int64_t sampler_repeated(const struct sampler *sampler, int64_t i);
/* How many samples no step of an epoch takes. */
int64_t sampler_left_out(const struct sampler *sampler);

#endif
