/* SPDX-License-Identifier: MIT */
/* The settings of gpumap-train: a profile, and after a NUL its options, separated by NULs. Any
 * input gives devices and settings in their ranges, or one reason why not. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "place/place.h"
#include "settings/rows.h"
#include "suggest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { MAX_ARGUMENTS = 24 };

/* Remarks and help are not looked at. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	FILE *nowhere = fopen("/dev/null", "w");

	if (!nowhere)
		return 1;
	stdout = nowhere;
	stderr = nowhere;
	return 0;
}

static void failed(const struct train_error *error)
{
	if (error->status == TRAIN_OK || !*error->text)
		abort();
	for (const char *c = error->text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			abort();
}

static bool in_range(const struct row *row, const struct settings *settings)
{
	const void *member = (const char *)settings + row->offset;

	switch (row->kind) {
	case ROW_COUNT:
	case ROW_TIME:
		return *(const int64_t *)member >= 0 && *(const int64_t *)member <= row->max;
	case ROW_INT:
		return *(const int *)member >= row->least && *(const int *)member <= row->max;
	case ROW_NUMBER:
		return *(const double *)member >= 0 && *(const double *)member <= 1e12;
	case ROW_CHOICE:
		return word_place(row->value, span_of(*(const char *const *)member)) >= 0;
	default:
		return true;
	}
}

static void look(struct command_line *command, size_t size)
{
	struct train_error error = {.status = TRAIN_OK};
	const struct settings *s = &command->settings;
	struct place place;

	for (int i = 0; i < ROWS; i++)
		if (!in_range(&rows[i], s))
			abort();
	if ((s->global_batch > 0) == (s->batch_per_device > 0))
		abort();
	command->inventory = size % 2 ? "3" : NULL; /* files are not looked for */
	if (!place_rank(&place, command, &error) || !place_devices(&place, command, &error)) {
		failed(&error);
		return;
	}
	if (place.count < 1 || place.master >= place.count || place.rank >= place.world)
		abort();
	for (int i = 0; i < place.count; i++)
		if (place.devices[i].physical < 0)
			abort();
}

/* The arguments behind the profile, without those that name files. */
static int part(char **argv, char *text, const char *end)
{
	int argc = 0;

	while (text < end && argc < MAX_ARGUMENTS) {
		if (strncmp(text, "--config", 8) != 0)
			argv[argc++] = text;
		text += strlen(text) + 1;
	}
	return argc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const envp[] = {"A=a b", "GPUMAP_DEVICE=0", "CUDA_VISIBLE_DEVICES=3,1",
					   NULL};
	struct train_error error = {.status = TRAIN_OK};
	char *argv[MAX_ARGUMENTS + 2] = {(char[]){"gpumap-train"}}, config[64], *text;
	struct command_line command;
	int fd = memfd_create("profile", MFD_CLOEXEC), argc;
	size_t profile = size ? strnlen((const char *)data, size) : 0;

	text = malloc(size + 1);
	if (fd < 0 || !text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (write(fd, text, profile) != (ssize_t)profile)
		abort();
	snprintf(config, sizeof(config), "--config=/proc/self/fd/%d", fd);
	argv[1] = config;
	argc = 2 + part(argv + 2, text + profile + 1, text + size);
	if (!settings_read(&command, argc, argv, envp, &error)) {
		failed(&error);
	} else {
		if (!command.asked)
			look(&command, size);
		settings_free(&command);
	}
	free(text);
	close(fd);
	return 0;
}
