/* SPDX-License-Identifier: MIT */
/* Rules S: of several statements about one variable, the last before cuInit wins. */
#include "resolve/resolve.h"

/* Whether the statements about `variable` apply at this moment. */
static bool applies(const struct resolver *resolver, const struct statement *s, enum source source,
		    enum variable variable)
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

/* --visible is the final value: a second statement beside it would be a contradiction. */
static int check_exclusive(struct resolver *resolver, enum variable variable)
{
	const struct statement *final = NULL, *other = NULL;
	const gpumap_request *request = resolver->request;

	for (size_t i = 0; i < request->count; i++) {
		const struct statement *s = &request->statements[i];

		if (applies(resolver, s, SOURCE_VISIBLE, variable))
			final = s;
		for (int source = SOURCE_PREFIX; source <= SOURCE_IN_CODE; source++)
			if (applies(resolver, s, (enum source)source, variable))
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

/* A value for a loser or a step; long ones are cut. */
static const char *shown(struct resolver *resolver, const char *value)
{
	return arena_strdup(resolver->arena, value ? QUOTE(span_of(value)) : "unset");
}

/* Statements that have lost, kept until the winner's step is written. */
struct losers {
	struct loser *list;
	size_t count, room;
};

static void lose(struct resolver *resolver, struct losers *losers, enum source source,
		 const char *value)
{
	struct loser *list = arena_room(resolver->arena, losers->list, losers->count, &losers->room,
					sizeof(*list));

	if (!list)
		return;
	losers->list = list;
	losers->list[losers->count++] = (struct loser){source_name(source), shown(resolver, value)};
}

struct timeline {
	struct effective now;
	bool stated; /* there is a statement, even one that unsets the variable */
	struct losers losers;
};

static void play(struct resolver *resolver, struct timeline *time, const struct statement *s)
{
	const char *value = ranks_value(resolver, s);

	if (s->value && !value)
		return;
	if (s->verb == VERB_DEFAULT && time->now.set) {
		lose(resolver, &time->losers, s->source, value);
		return;
	}
	if (time->stated)
		lose(resolver, &time->losers, time->now.source,
		     time->now.set ? time->now.value : NULL);
	time->stated = true;
	time->now = (struct effective){
		.set = s->verb != VERB_UNSET,
		.value = value,
		.origin = s->origin,
		.source = s->source,
		.stated = s->source,
	};
}

/* Applies the launcher, which runs between the script and the program and reads the list in effect
 * then. */
static void play_launcher(struct resolver *resolver, struct timeline *time, enum variable variable)
{
	struct effective before = time->now;

	if (!resolver->request->values[KEY_launcher])
		return;
	if (variable == VARIABLE_CUDA_ORDER)
		launcher_order(resolver, &time->now);
	else if (variable == VARIABLE_CUDA_VISIBLE)
		launcher_rewrite(resolver, &time->now);
	if (time->stated && (before.set != time->now.set || before.value != time->now.value))
		lose(resolver, &time->losers, before.source, before.set ? before.value : NULL);
	time->stated = time->stated || time->now.set;
}

/* The rule that the winner is an example of. */
static const char *winning_rule(const struct timeline *time)
{
	if (!time->losers.count)
		return "S1";
	if (time->now.source == SOURCE_LAUNCHER)
		return "S2";
	for (size_t i = 0; i < time->losers.count; i++)
		if (starts_with(time->losers.list[i].source, "script"))
			return "S2";
	return time->now.source == SOURCE_SCRIPT_EXPORT || time->now.source == SOURCE_SCRIPT_INLINE
		       ? "S2"
		       : "S3";
}

static void explain_winner(struct resolver *resolver, const struct timeline *time,
			   enum variable variable)
{
	const struct effective *now = &time->now;
	struct arena *arena = resolver->arena;
	const char *name = variable_name(variable);
	gpumap_step *step;
	bool list = variable != VARIABLE_CUDA_ORDER;
	bool hip = amd_empty_is_unset(resolver, variable);

	if (!now->set && !time->losers.count) {
		if (list && !hip && variable == dialect_variable(resolver->dialect))
			step_add(resolver, "S5", NULL,
				 time->stated || resolver->request->has_environ
					 ? arena_printf(arena, "%s is not set: every device", name)
					 : NO_LIST_GIVEN);
		return;
	}
	step = step_add(resolver, list ? winning_rule(time) : "N2", now->origin,
			now->set ? arena_printf(arena, "%s=%s", name, shown(resolver, now->value))
				 : arena_printf(arena, "%s is unset again%s", name,
						list && !hip ? ": every device" : ""));
	for (size_t i = 0; i < time->losers.count; i++)
		step_lose(resolver, step, time->losers.list[i].source, time->losers.list[i].value);
	if (list && now->set && !*now->value)
		step_add(resolver, hip ? "H1" : "S5", NULL,
			 arena_printf(arena,
				      hip ? "%s is empty, which counts as not set"
					  : "%s is set but empty: no device",
				      name));
	if (list && now->set && *now->value)
		for (size_t i = 0; i < time->losers.count; i++)
			if (strchr(time->losers.list[i].value, ',')) {
				step_add(resolver, "S9", NULL,
					 "the indices of the new list refer to the parent view, "
					 "not to the one "
					 "that it replaced");
				break;
			}
}

static int resolve_variable(struct resolver *resolver, enum variable variable)
{
	const gpumap_request *request = resolver->request;
	struct timeline time = {0};
	int r = check_exclusive(resolver, variable);

	for (int source = 0; r == GPUMAP_OK && source < SOURCE_AFTER_INIT; source++) {
		if (source == SOURCE_LAUNCHER)
			play_launcher(resolver, &time, variable);
		for (size_t i = 0; i < request->count; i++)
			if (applies(resolver, &request->statements[i], (enum source)source,
				    variable))
				play(resolver, &time, &request->statements[i]);
	}
	resolver->effective[variable] = time.now;
	if (r == GPUMAP_OK && !resolver->arena->failed)
		explain_winner(resolver, &time, variable);
	return r;
}

/* Changes that come too late (rule S4). */
static void report_late(struct resolver *resolver)
{
	const gpumap_request *request = resolver->request;

	for (size_t i = 0; i < request->count; i++) {
		const struct statement *s = &request->statements[i];
		enum variable variable = s->variable == VARIABLE_COUNT
						 ? dialect_variable(resolver->dialect)
						 : s->variable;
		gpumap_step *step;

		if (s->source != SOURCE_AFTER_INIT)
			continue;
		step = step_add(resolver, "S4", s->origin,
				arena_printf(resolver->arena,
					     "%s changed after CUDA was initialised: no effect",
					     variable_name(variable)));
		step_lose(resolver, step, source_name(s->source), shown(resolver, s->value));
		report_add(resolver->report, FINDING_TOO_LATE,
			   ABOUT(.rule = "S4", .origin = s->origin,
				 .fix = "set it before the first CUDA call, best before the start"),
			   "%s=%s has no effect in this process", variable_name(variable),
			   s->value ? QUOTE(span_of(s->value)) : "(unset)");
	}
}

/* Reports statements about a variable that this dialect never reads. Variables of the environment
 * are not the user's statements, and are not reported. */
static void report_unread(struct resolver *resolver)
{
	const gpumap_request *request = resolver->request;

	for (size_t i = 0; i < request->count; i++) {
		const struct statement *s = &request->statements[i];

		if (s->source != SOURCE_ENVIRONMENT && s->variable < VARIABLE_NVIDIA_VISIBLE &&
		    !dialect_reads(resolver->dialect, s->variable))
			report_add(resolver->report, FINDING_IGNORED_KEY,
				   ABOUT(.rule = "H1", .origin = s->origin,
					 .fix = "choose who reads it: --dialect"),
				   "%s is not read in dialect %s", variable_name(s->variable),
				   request_dialect_name(request));
	}
}

int sources_resolve(struct resolver *resolver)
{
	/* From the outer list to the inner one. */
	static const enum variable order[] = {VARIABLE_ROCR_VISIBLE, VARIABLE_HIP_VISIBLE,
					      VARIABLE_CUDA_VISIBLE, VARIABLE_CUDA_ORDER};
	int r = GPUMAP_OK;

	for (size_t i = 0; r == GPUMAP_OK && i < ARRAY_SIZE(order); i++)
		if (dialect_reads(resolver->dialect, order[i]))
			r = resolve_variable(resolver, order[i]);
	if (r != GPUMAP_OK)
		return r;
	report_late(resolver);
	report_unread(resolver);
	amd_report_unread(resolver);
	return GPUMAP_OK;
}
