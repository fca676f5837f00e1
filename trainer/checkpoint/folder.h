/* SPDX-License-Identifier: MIT */
/* The folder that checkpoints are in. */
#ifndef TRAIN_CHECKPOINT_FOLDER_H
#define TRAIN_CHECKPOINT_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base.h"

struct checkpoint_folder {
	const char *path;
	int fd;
};

/* The name of a step's file. Steps above 10^12 have longer names. Returns name. */
enum { CHECKPOINT_NAME = 64 };
const char *folder_name(char name[CHECKPOINT_NAME], int64_t step);

/* False, with errno. Close the descriptor when done, or FOLDER closes it with its variable. */
bool folder_open(struct checkpoint_folder *folder, const char *path);
void folder_close(struct checkpoint_folder *folder);
#define FOLDER CLEANUP(folder_close) struct checkpoint_folder

/* The steps with files, descending. False, with errno. The caller frees *steps, then too. */
bool folder_steps(int64_t **steps, size_t *count, const struct checkpoint_folder *folder);

#endif
