/* SPDX-License-Identifier: MIT */
#include "parallel/recorder.h"

#include <stdlib.h>

/* Of one number of passes. */
struct recording {
	struct recorder *recorder;
	int64_t passes;
	bool warm;
	struct step *step;
};

struct recorder {
	struct recorder_options options;
	struct recording each[]; /* of passes 1, 2, ... */
};

bool recorder_open(struct recorder **ret, const struct recorder_options *options,
		   struct train_error *error)
{
	size_t each = (size_t)options->passes * sizeof(struct recording);
	struct recorder *r = calloc(1, sizeof(*r) + each);

	if (!r)
		return train_nomem(error, "recorded steps");
	r->options = *options;
	for (int64_t i = 0; i < options->passes; i++)
		r->each[i] = (struct recording){r, i + 1, false, NULL};
	*ret = r;
	return true;
}

void recorder_close(struct recorder *r)
{
	if (!r)
		return;
	for (int64_t i = 0; i < r->options.passes; i++)
		if (r->each[i].step)
			r->options.device->backend->step_free(r->each[i].step);
	free(r);
}

static bool issue(void *argument, struct train_error *error)
{
	const struct recording *recording = argument;
	const struct recorder_options *options = &recording->recorder->options;

	return options->issue(options->argument, recording->passes, error);
}

bool recorder_run(struct recorder *r, int64_t passes, bool as_is, struct train_error *error)
{
	struct recording *recording = &r->each[passes - 1];
	struct device *device = r->options.device;
	bool warm = recording->warm;

	recording->warm = true;
	if (as_is || !warm)
		return issue(recording, error);
	if (!recording->step &&
	    !device->backend->step_new(&recording->step, device, issue, recording, error))
		return false;
	return device->backend->step_run(recording->step, error);
}
