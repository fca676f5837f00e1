/* SPDX-License-Identifier: MIT */
/* A small model with the state of Adam, and what is loaded into one. */
#ifndef TRAIN_TEST_MODELS_H
#define TRAIN_TEST_MODELS_H

#include <stdio.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "unit.h"

enum { PARAMETERS = 4, SLOTS = 2, MAX_ELEMENTS = 24 };

struct model {
	float values[1 + SLOTS][PARAMETERS][MAX_ELEMENTS]; /* parameters, exp_avg, exp_avg_sq */
	float *data[SLOTS][PARAMETERS];
	struct tensor parameters[PARAMETERS];
	struct checkpoint_slot slots[SLOTS];
	struct safetensors_text text;
	struct checkpoint checkpoint; /* of all that */
};

/* All elements differ and depend on seed; 0: all are 0. */
static inline void model_make(struct model *m, int seed)
{
	static const struct tensor shapes[PARAMETERS] = {
		{.name = "conv1.weight", .shape = {4, {2, 3, 2, 2}}},
		{.name = "fc1.bias", .shape = {1, {3}}},
		{.name = "none", .shape = {2, {0, 7}}},
		{.name = "scale", .shape = {0, {0}}},
	};

	memset(m, 0, sizeof(*m));
	for (int k = 0; seed && k <= SLOTS; k++)
		for (int i = 0; i < PARAMETERS; i++)
			for (int e = 0; e < MAX_ELEMENTS; e++)
				m->values[k][i][e] =
					(float)(seed * 1000 + k * 200 + i * 50 + e) / 3.0f;
	for (int i = 0; i < PARAMETERS; i++) {
		m->parameters[i] = shapes[i];
		m->parameters[i].data = m->values[0][i];
		m->data[0][i] = m->values[1][i];
		m->data[1][i] = m->values[2][i];
	}
	m->slots[0] = (struct checkpoint_slot){"exp_avg", m->data[0]};
	m->slots[1] = (struct checkpoint_slot){"exp_avg_sq", m->data[1]};
	m->text = (struct safetensors_text){"model", "small"};
	m->checkpoint = (struct checkpoint){.parameters = m->parameters,
					    .count = PARAMETERS,
					    .slots = m->slots,
					    .slot_count = SLOTS,
					    .texts = &m->text,
					    .text_count = 1};
	m->checkpoint.progress.step = seed;
	m->checkpoint.progress.seed = (uint64_t)seed;
}

/* Whether the shapes' elements are the same in both. */
static inline bool model_same(const struct model *a, const struct model *b)
{
	for (int k = 0; k <= SLOTS; k++)
		for (int i = 0; i < PARAMETERS; i++) {
			size_t n = (size_t)tensor_elements(&a->parameters[i].shape);

			if (memcmp(a->values[k][i], b->values[k][i], n * sizeof(float)) != 0)
				return false;
		}
	return a->checkpoint.progress.step == b->checkpoint.progress.step &&
	       a->checkpoint.progress.seed == b->checkpoint.progress.seed;
}

static inline void model_save(const char *folder, int seed, int keep)
{
	struct train_error error = {.status = TRAIN_OK};
	struct model m;

	model_make(&m, seed);
	ck_assert_msg(checkpoint_save(folder, &m.checkpoint, keep, &error), "%s", error.text);
}

/* The files that checkpoint_newest refused. */
struct refusals {
	int count;
	char last[512];
};

static inline void model_refused(void *data, const char *why)
{
	struct refusals *refusals = data;

	refusals->count++;
	snprintf(refusals->last, sizeof(refusals->last), "%s", why);
}

/* NULL where there is none. */
static inline struct safetensors *newest(const char *folder, struct refusals *refusals)
{
	struct train_error error = {.status = TRAIN_OK};
	struct safetensors *file = NULL;

	memset(refusals, 0, sizeof(*refusals));
	ck_assert_msg(checkpoint_newest(&file, folder, model_refused, refusals, &error), "%s",
		      error.text);
	return file;
}

/* The step of the newest whole one; -1: there is none. */
static inline int64_t newest_step(const char *folder, struct refusals *refusals)
{
	struct train_error error = {.status = TRAIN_OK};
	struct safetensors *file = newest(folder, refusals);
	struct checkpoint_progress progress = {.step = -1};

	ck_assert(!file || checkpoint_progress(&progress, file, &error));
	safetensors_free(file);
	return progress.step;
}

#endif
