/* SPDX-License-Identifier: MIT */
/* --verify-mapping for a rank in training. */
#include <stdio.h>

#include "run/run.h"
#include "place/verify.h"

/* After the first step: by then everything that a step needs was used once. */
bool run_verify_due(const struct run *r)
{
	return r->settings->verify_mapping && r->submitted == 1;
}

bool run_verify(struct run *r, bool end, struct train_error *error)
{
	const struct place *place = &r->training->place;
	bool threads = place->ranks > 1;
	struct verify_options options = {
		.verify = threads && r->rank > 0 ? NULL : r->training->verify,
		.own = place->devices,
		.own_count = place->count,
		.mine = place->devices[threads ? r->rank : 0],
		.when = end ? "after the last step" : "after the first step",
	};
	char text[VERIFY_TEXT];

	if (!r->settings->verify_mapping)
		return true;
	if (!verify_look(&options, r->comm, text, error))
		return false;
	if (r->rank == 0 && end) {
		printf("Mapping %s\n", text);
		fflush(stdout);
	} else if (r->rank == 0) {
		metrics_note(r->metrics, "mapping %s", text);
	}
	return true;
}
