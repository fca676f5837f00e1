/* SPDX-License-Identifier: MIT */
/* Rules S: of several statements about one variable, the last before cuInit wins. */
#include "resolve/resolve.h"

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
	losers->list[losers->count++] =
		(struct loser){source_name(source), shown_value(resolver, value)};
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
	step = step_add(
		resolver, list ? winning_rule(time) : "N2", now->origin,
		now->set ? arena_printf(arena, "%s=%s", name, shown_value(resolver, now->value))
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
					 "not to the one that it replaced");
				break;
			}
}

static int resolve_variable(struct resolver *resolver, enum variable variable)
{
	const gpumap_request *request = resolver->request;
	struct timeline time = {0};
	int r = exclusive_statements_check(resolver, variable);

	for (int source = 0; r == GPUMAP_OK && source < SOURCE_AFTER_INIT; source++) {
		if (source == SOURCE_LAUNCHER)
			play_launcher(resolver, &time, variable);
		for (size_t i = 0; i < request->count; i++)
			if (statement_applies(resolver, &request->statements[i],
					      (enum source)source, variable))
				play(resolver, &time, &request->statements[i]);
	}
	resolver->effective[variable] = time.now;
	if (r == GPUMAP_OK && !resolver->arena->failed)
		explain_winner(resolver, &time, variable);
	return r;
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
	ignored_statements_report(resolver);
	amd_report_unread(resolver);
	return GPUMAP_OK;
}
