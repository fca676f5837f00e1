/* SPDX-License-Identifier: MIT */
/* Writes and reads checkpoints for checkpoint.test.
 *
 *	checkpoint-main write FOLDER      every element of state k of parameter p: k + p / 4 + e /
 *64 checkpoint-main load FILE FOLDER  weights of FILE, then as write; PyTorch may have written it
 *	checkpoint-main time FOLDER       milliseconds, with 17 MB of parameters alone
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checkpoint/checkpoint.h"

enum { PARAMETERS = 4, SLOTS = 2, MAX = 32, LARGE = 4275594 };

static float values[1 + SLOTS][PARAMETERS][MAX];

static bool write_checkpoint(const char *file, const char *folder, struct train_error *error)
{
	struct tensor parameters[PARAMETERS] = {{"conv1.weight", {4, {2, 3, 2, 2}}, values[0][0]},
						{"conv1.bias", {1, {2}}, values[0][1]},
						{"fc1.weight", {2, {3, 5}}, values[0][2]},
						{"fc1.bias", {1, {3}}, values[0][3]}};
	float *const exp_avg[] = {values[1][0], values[1][1], values[1][2], values[1][3]};
	float *const exp_avg_sq[] = {values[2][0], values[2][1], values[2][2], values[2][3]};
	const struct checkpoint_slot slots[SLOTS] = {{"exp_avg", exp_avg},
						     {"exp_avg_sq", exp_avg_sq}};
	const struct safetensors_text text = {"model", "small \"\xc3\xa4\""};
	const struct checkpoint what = {
		.parameters = parameters,
		.count = PARAMETERS,
		.slots = slots,
		.slot_count = SLOTS,
		.texts = &text,
		.text_count = 1,
		.progress = {.step = 120,
			     .optimizer_step = 118,
			     .epoch = 2,
			     .position = 640,
			     .seed = UINT64_MAX,
			     .scaler_scale = 65536.0f},
	};
	struct safetensors *weights = NULL;

	for (int k = 0; k <= SLOTS; k++)
		for (int p = 0; p < PARAMETERS; p++)
			for (int e = 0; e < MAX; e++)
				values[k][p][e] = (float)k + (float)p / 4 + (float)e / 64;
	if (file) {
		if (!safetensors_open(&weights, file, error))
			return false;
		if (!checkpoint_load_model(&what, weights, error)) {
			safetensors_free(weights);
			return false;
		}
	}
	safetensors_free(weights);
	return checkpoint_save(folder, &what, 1, error);
}

static double milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void ignore(void *data, const char *why)
{
}

static bool measure(const char *folder, struct train_error *error)
{
	float *data = malloc(LARGE * sizeof(float));
	const struct tensor parameter = {"w", {1, {LARGE}}, data};
	struct checkpoint what = {.parameters = &parameter, .count = 1};
	struct safetensors *file = NULL;
	double begin = milliseconds(), saved, opened, loaded;
	bool good = data != NULL || train_nomem(error, "a large parameter");

	for (int e = 0; good && e < LARGE; e++)
		data[e] = (float)e;
	begin = milliseconds();
	good = good && checkpoint_save(folder, &what, 1, error);
	saved = milliseconds();
	good = good && checkpoint_newest(&file, folder, ignore, NULL, error);
	opened = milliseconds();
	good = good && file && checkpoint_load(&what, file, error);
	loaded = milliseconds();
	printf("save %.1f, open and check %.1f, copy %.1f\n", saved - begin, opened - saved,
	       loaded - opened);
	safetensors_free(file);
	free(data);
	return good;
}

int main(int argc, char **argv)
{
	struct train_error error = {.status = TRAIN_OK};
	bool good = false;

	if (argc == 3 && strcmp(argv[1], "write") == 0)
		good = write_checkpoint(NULL, argv[2], &error);
	else if (argc == 4 && strcmp(argv[1], "load") == 0)
		good = write_checkpoint(argv[2], argv[3], &error);
	else if (argc == 3 && strcmp(argv[1], "time") == 0)
		good = measure(argv[2], &error);
	else
		train_fail(&error, TRAIN_BAD_INPUT,
			   "usage: checkpoint-main write|load|time [FILE] FOLDER");
	if (!good)
		fprintf(stderr, "%s\n", error.text);
	return (int)error.status;
}
