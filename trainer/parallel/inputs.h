/* SPDX-License-Identifier: MIT */
/*
 * The inputs of a step from the host: the rows of each pass, and the optimizer's rates. They are
 * collected here and sent in one piece before the step begins, to fixed memory on the device, so
 * that a recorded step reads new ones. There are two such memories, which steps use in turn: the
 * inputs of a step are sent while the device still computes the step before.
 */
#ifndef TRAIN_PARALLEL_INPUTS_H
#define TRAIN_PARALLEL_INPUTS_H

#include "parallel/parallel.h"

struct inputs {
	struct device *device;
	int64_t passes, rows;          /* the maximum of a step, and of a pass */
	bool labels;                   /* the host sends labels; else the device finds them */
	unsigned char *host, *sent[2]; /* sent: on the device */
	int turn;                      /* which of the two the step has that was sent last */
};

/* On failure there is nothing to close. */
bool inputs_open(struct inputs *inputs, const struct inputs *how, struct train_error *error);
void inputs_close(struct inputs *inputs);

/* The inputs of a pass, on the host, and on the device those of the step that was sent last.
 * Indices and labels have `rows` elements. */
struct inputs_pass {
	struct pass_control *control;
	int64_t *indices;
	int32_t *labels;
};

struct inputs_pass inputs_host(const struct inputs *inputs, int64_t pass);
struct inputs_pass inputs_device(const struct inputs *inputs, int64_t pass);
struct update_control *inputs_update_host(const struct inputs *inputs);
struct update_control *inputs_update(const struct inputs *inputs); /* on the device */

/* The next step begins: it takes the other memory. Work of the step before the last one must be on
 * the stream. */
bool inputs_send(struct inputs *inputs, struct train_error *error);

#endif
