/* SPDX-License-Identifier: MIT */
/* --visible is the final value: a second statement beside it would be a contradiction (rule S2). */
#include "resolve/resolve.h"

bool statement_applies(const struct resolver *resolver, const struct statement *s,
		       enum source source, enum variable variable)
{
	enum variable about = s->variable;

	if (about == VARIABLE_COUNT)
		about = dialect_variable(resolver->dialect);
	return s->source == source && about == variable;
}

static int excluded(struct resolver *resolver, const struct statement *final, const char *other,
		    const char *fix)
{
	return report_fail(resolver->report, GPUMAP_EINPUT, FINDING_EXCLUSIVE_KEYS,
			   ABOUT(.rule = "S2", .origin = final->origin, .fix = fix),
			   "%scannot be combined with %s", final->origin ? "" : "visible ", other);
}

int exclusive_statements_check(struct resolver *resolver, enum variable variable)
{
	const struct statement *final = NULL, *other = NULL;
	const gpumap_request *request = resolver->request;

	for (size_t i = 0; i < request->count; i++) {
		const struct statement *s = &request->statements[i];

		if (statement_applies(resolver, s, SOURCE_VISIBLE, variable))
			final = s;
		for (int source = SOURCE_PREFIX; source <= SOURCE_IN_CODE; source++)
			if (statement_applies(resolver, s, (enum source)source, variable))
				other = s;
	}
	if (final && other)
		return excluded(resolver, final,
				other->origin ? other->origin : source_name(other->source),
				"it already is the final list; leave one of the two out");
	if (final && variable == VARIABLE_CUDA_VISIBLE && request->values[KEY_launcher])
		return excluded(resolver, final,
				request->origins[KEY_launcher] ? request->origins[KEY_launcher]
							       : "launcher",
				"it already is the final list; write --prefix, the list that the "
				"launcher finds");
	return GPUMAP_OK;
}
