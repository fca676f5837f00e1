/* SPDX-License-Identifier: MIT */
/* Programs that compute one step of a whole model, for PyTorch to compare. */
#ifndef TRAIN_TESTS_ONE_MODEL_H
#define TRAIN_TESTS_ONE_MODEL_H

#include "model/model.h"

/* What a program does with its model: writes to standard output what it computes. */
typedef bool one_model_use(struct model *m, const struct model_spec *spec,
			   const struct model_options *options, char **argv,
			   struct train_error *error);

struct one_model {
	const char *usage; /* the program's name, then MODEL BACKEND and its other arguments */
	int arguments;
	int batch;     /* which of them is the number of samples */
	int size;      /* which is the size of images, "0" the usual; 0: there is none */
	int precision; /* which is "fp32" or "bf16"; 0: there is none, and it is fp32 */
	int exact; /* which is "yes" for plain sums only, or "no"; 0: there is none, and it is no */
	one_model_use *use;
};

/* All of main(): 0, 1 with the reason on standard error, or 2 with the usage there. */
int one_model_main(const struct one_model *program, int argc, char **argv);

#endif
