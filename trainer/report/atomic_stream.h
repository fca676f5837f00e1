/* SPDX-License-Identifier: MIT */
/* A stream to a file that appears whole or not at all (base/atomic_file.h). What is no regular
 * file, such as /dev/stdout or a pipe, is written as it comes. */
#ifndef TRAIN_REPORT_ATOMIC_STREAM_H
#define TRAIN_REPORT_ATOMIC_STREAM_H

#include <stdio.h>

#include "atomic_file.h"
#include "error.h"

struct atomic_stream {
	FILE *stream;
	const char *name; /* for messages; lives as long */
	char *path;       /* where the file is, whatever links lead there */
	struct atomic_file file;
};

/* On failure there is nothing to close, and no file. */
bool atomic_stream_open(struct atomic_stream *stream, const char *name, struct train_error *error);
/* All of it is there. On failure, no less than what was there before. */
bool atomic_stream_close(struct atomic_stream *stream, struct train_error *error);
/* As if it had not been opened. */
void atomic_stream_drop(struct atomic_stream *stream);

#endif
