/* SPDX-License-Identifier: MIT */
/* A stream to a file that is replaced atomically (base/atomic_file.h). A file that is not regular,
 * such as /dev/stdout or a pipe, is written directly. */
#ifndef TRAIN_REPORT_ATOMIC_STREAM_H
#define TRAIN_REPORT_ATOMIC_STREAM_H

#include <stdio.h>

#include "atomic_file.h"
#include "base/error.h"

struct atomic_stream {
	FILE *stream;
	const char *name; /* for messages; lives as long */
	char *path;       /* the path of the file, after links */
	struct atomic_file file;
};

/* By errno: "NAME: cannot WHAT: why", with a remedy. Returns false. */
bool output_failed(const char *name, const char *what, struct train_error *error);

/* On failure there is nothing to close, and no file. */
bool atomic_stream_open(struct atomic_stream *stream, const char *name, struct train_error *error);
/* Commits the file. On failure its earlier contents stay. */
bool atomic_stream_close(struct atomic_stream *stream, struct train_error *error);
/* Discards it. */
void atomic_stream_drop(struct atomic_stream *stream);

#endif
