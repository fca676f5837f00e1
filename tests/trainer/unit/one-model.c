/* SPDX-License-Identifier: MIT */
#include "one-model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether there is such an argument, and it is `word`. */
static bool is(char **argv, int argument, const char *word)
{
	return argument && strcmp(argv[argument], word) == 0;
}

static bool run(const struct one_model *program, char **argv, struct train_error *error)
{
	int size = program->size ? (int)strtol(argv[program->size], NULL, 10) : 0;
	struct model_spec spec;
	const struct backend *backend =
		model_for_images(&spec, argv[1], size, error) ? backend_find(argv[2], error) : NULL;
	const struct device_options where = {.threads = 1,
					     .exact = is(argv, program->exact, "yes")};
	struct model_options options = {
		.slots = 1,
		.batch = strtol(argv[program->batch], NULL, 10),
		.type = is(argv, program->precision, "bf16") ? VALUE_BFLOAT16 : VALUE_FLOAT32};
	struct device *device;
	struct model *m;
	bool done = false;

	if (!backend || !backend->open(&device, &where, error))
		return false;
	options.last = spec.count - 1;
	if (!backend->has_type(device, options.type)) {
		backend->close(device);
		return train_fail(error, TRAIN_NO_BACKEND, "%s has no %s on this processor",
				  argv[2], value_name(options.type));
	}
	if (model_open(&m, &spec, device, &options, error)) {
		done = program->use(m, &spec, &options, argv, error) && fflush(stdout) == 0;
		model_close(m);
	}
	backend->close(device);
	return done;
}

int one_model_main(const struct one_model *program, int argc, char **argv)
{
	struct train_error error = {.status = TRAIN_OK};

	if (argc != 1 + program->arguments) {
		fprintf(stderr, "usage: %s\n", program->usage);
		return 2;
	}
	if (!run(program, argv, &error)) {
		fprintf(stderr, "%s: %s\n", argv[0], error.text);
		return 1;
	}
	return 0;
}
