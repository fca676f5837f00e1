/* SPDX-License-Identifier: MIT */
/* See sampler.h. */
#include "sampler.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t round_up(int64_t n, int64_t to)
{
	return (n + to - 1) / to * to;
}

static int64_t positions(const struct sampler_options *o)
{
	switch (o->tail) {
	case SAMPLER_PAD:
		return round_up(o->samples, o->ranks);
	case SAMPLER_DROP:
		return o->samples - o->samples % o->ranks;
	case SAMPLER_SHORT:
		break;
	}
	return o->samples;
}

static bool too_few(const struct sampler_options *o, struct train_error *error)
{
	const char *s = o->samples == 1 ? "" : "s", *are = o->samples == 1 ? "is" : "are";
	char each[48] = "";

	if (o->tail == SAMPLER_DROP && o->samples < o->ranks)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%lld sample%s %s fewer than %lld ranks, and --tail drop leaves "
				  "them out; use fewer ranks, or --tail pad",
				  (long long)o->samples, s, are, (long long)o->ranks);
	if (o->ranks > 1)
		snprintf(each, sizeof(each), " on each of %lld ranks", (long long)o->ranks);
	return train_fail(error, TRAIN_BAD_INPUT,
			  "%lld sample%s %s less than a batch of %lld%s, and --drop-last leaves "
			  "that out; use a smaller batch, or leave out --drop-last",
			  (long long)o->samples, s, are, (long long)o->batch, each);
}

bool sampler_init(struct sampler *sampler, const struct sampler_options *options,
		  struct train_error *error)
{
	struct sampler s = {.options = *options};
	int64_t all;

	all = options->ranks * options->batch;
	s.total = positions(options);
	s.steps = options->drop_last ? s.total / all : round_up(s.total, all) / all;
	if (!s.steps)
		return too_few(options, error);
	s.order = calloc((size_t)options->samples, sizeof(*s.order));
	if (!s.order)
		return train_nomem(error, "the order of the samples");
	*sampler = s;
	sampler_set_epoch(sampler, 0);
	return true;
}

void sampler_free(struct sampler *sampler)
{
	free(sampler->order);
	sampler->order = NULL;
}

/* The generator that RandomSampler makes in the epoch-th iteration over its DataLoader. */
static struct random_generator of_loader(struct random_generator global, int64_t epoch)
{
	struct random_generator own;

	for (int64_t i = 0; i < 2 * epoch + 1; i++)
		random_u64(&global);
	random_seed(&own, random_u64(&global) & INT64_MAX);
	return own;
}

void sampler_set_epoch(struct sampler *sampler, int64_t epoch)
{
	const struct sampler_options *o = &sampler->options;
	struct random_generator generator;

	switch (o->order) {
	case SAMPLER_IN_ORDER:
		for (int64_t i = 0; i < o->samples; i++)
			sampler->order[i] = i;
		return;
	case SAMPLER_SHUFFLED:
		random_seed(&generator, o->seed + (uint64_t)epoch);
		break;
	case SAMPLER_RANDOM:
		generator = of_loader(o->generator, epoch);
		break;
	}
	random_permutation(&generator, sampler->order, o->samples);
}

/* How many of the positions before `end` are this rank's, counted from a multiple of ranks. */
static int64_t share(int64_t end, int64_t rank, int64_t ranks)
{
	return end > rank ? (end - rank - 1) / ranks + 1 : 0;
}

struct sampler_batch sampler_batch(const struct sampler *sampler, int64_t rank, int64_t step,
				   int64_t *indices)
{
	const struct sampler_options *o = &sampler->options;
	int64_t all = o->ranks * o->batch, first = step * all;
	int64_t left = sampler->total - first;
	struct sampler_batch batch = {.of_all = left < all ? left : all};

	batch.count = share(batch.of_all, rank, o->ranks);
	for (int64_t i = 0; i < batch.count; i++)
		indices[i] = sampler->order[(first + rank + i * o->ranks) % o->samples];
	return batch;
}

/* Positions of an epoch that a step takes. */
static int64_t used(const struct sampler *sampler)
{
	const struct sampler_options *o = &sampler->options;
	int64_t room = sampler->steps * o->ranks * o->batch;

	return room < sampler->total ? room : sampler->total;
}

int64_t sampler_repeats(const struct sampler *sampler)
{
	int64_t more = used(sampler) - sampler->options.samples;

	return more > 0 ? more : 0;
}

int64_t sampler_left_out(const struct sampler *sampler)
{
	int64_t less = sampler->options.samples - used(sampler);

	return less > 0 ? less : 0;
}

int64_t sampler_repeated(const struct sampler *sampler, int64_t i)
{
	return sampler->order[i % sampler->options.samples];
}
