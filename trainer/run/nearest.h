/* SPDX-License-Identifier: MIT */
/* The name that a misspelt word was probably meant to be. */
#ifndef TRAIN_RUN_NEAREST_H
#define TRAIN_RUN_NEAREST_H

struct nearest {
	const char *word;
	char name[40]; /* the nearest so far; "" : none is near */
	int distance;
};

/* `word` is borrowed. */
void nearest_begin(struct nearest *nearest, const char *word);
void nearest_try(struct nearest *nearest, const char *name);

#endif
