/* SPDX-License-Identifier: MIT */
/* A file that appears whole or not at all: written beside its place, synced and renamed. What is
 * no regular file, such as /dev/stdout or a pipe, is written as it comes. */
#ifndef TRAIN_REPORT_WHOLE_H
#define TRAIN_REPORT_WHOLE_H

#include <stdio.h>

#include "error.h"

struct whole {
	FILE *stream;
	const char *name; /* for messages; lives as long */
	char *path, *temporary;
};

/* On failure there is nothing to close, and no file. */
bool whole_open(struct whole *whole, const char *name, struct train_error *error);
/* All of it is there. On failure, no less than what was there before. */
bool whole_close(struct whole *whole, struct train_error *error);
/* As if it had not been opened. */
void whole_drop(struct whole *whole);

#endif
