/* SPDX-License-Identifier: MIT */
/* What --burn sets, and what has no effect beside it. */
#include "settings/settle.h"

#include <string.h>

#include "backend/names.h"

const char settings_burned_model[] = "resnet50";

/* The most steps that --steps takes. */
static const int64_t endless = 1000000000000;

/* A burn test tests GPUs, unless simulated ones are named. If it fell back to the CPU, a machine
 * whose GPUs are gone would pass. */
static bool choose_burned(const struct arguments_raw *raw, struct settings *s,
			  struct train_error *error)
{
	const char *machine = raw->inventory;

	if (strcmp(s->backend, "auto") != 0 || (machine && strcmp(machine, "host") != 0))
		return true;
	if (!backend_exists("cuda"))
		return train_fail(error, TRAIN_NO_BACKEND,
				  "%.200s: this build has no CUDA, which a test of GPUs needs; "
				  "build with CUDA and cuDNN, or simulate four GPUs: --inventory 4",
				  raw_origin(raw, ROW_burn));
	s->backend = "cuda";
	return true;
}

/* The work of a burn test, if nothing else is wanted. On a CPU a larger batch needs much memory,
 * and checks would be rare. */
static void choose_burn(const struct arguments_raw *raw, struct settings *s)
{
	if (!raw->rows[ROW_mode].text)
		s->mode = MODE_DDP;
	s->test_samples = 1;
	if (raw->rows[ROW_model].text)
		return;
	s->model = settings_burned_model;
	if (!raw->rows[ROW_image_size].text)
		s->image_size = 224;
	if (!raw->rows[ROW_samples].text)
		s->samples = 512;
	if (!s->global_batch && !s->batch_per_device)
		s->batch_per_device = backend_simulates(s->backend) ? 4 : 32;
}

/* A burn test ends by its time. Its weights never change, so that all bits must come again. */
bool settings_settle_burn(const struct arguments_raw *raw, struct settings *s,
			  struct train_error *error)
{
	static const enum row_id without[] = {
		ROW_augment,      ROW_epochs,         ROW_steps,         ROW_lr,
		ROW_weight_decay, ROW_schedule,       ROW_checkpoint,    ROW_plot,
		ROW_test_samples, ROW_evaluate_every, ROW_profile_steps, ROW_verify_mapping,
	};

	if (!raw->rows[ROW_burn].text)
		return true;
	for (size_t i = 0; i < sizeof(without) / sizeof(*without); i++)
		if (raw->rows[without[i]].option)
			return train_fail(error, TRAIN_BAD_INPUT,
					  "%.200s has no effect with --burn; leave it out",
					  raw->rows[without[i]].origin);
	if (s->mode == MODE_MP)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%.200s: --burn compares whole models on each device; write "
				  "--mode ddp, dp or single",
				  raw_origin(raw, ROW_mode));
	if (!choose_burned(raw, s, error))
		return false;
	choose_burn(raw, s);
	s->checkpoint = s->plot = NULL;
	s->deterministic = true;
	s->augment = s->verify_mapping = false;
	s->lr = s->lr_min = s->optimizer.weight_decay = 0;
	s->schedule = SCHEDULE_CONSTANT;
	s->epochs = s->evaluate_every = s->profile_steps = 0;
	s->steps = endless;
	return true;
}
