/* SPDX-License-Identifier: MIT */
/* Rules R1, R2 and R5 in an answer: this process's ranks, and values that depend on them. */
#include "resolve/resolve.h"

#include "request/rank_identity.h"

/* The keys whose values may depend on the rank. */
static const enum key_id rank_keys[] = {KEY_device, KEY_set_device, KEY_device_ids};

static bool in_words(const char *value)
{
	return value && (strstr(value, "%l") || strstr(value, "%r") || strstr(value, "%n"));
}

static bool in_device_words(const char *value)
{
	return in_words(value) || (value && strstr(value, "modulo"));
}

static bool wanted(const struct resolver *resolver, bool *words)
{
	const gpumap_request *request = resolver->request;

	*words = false;
	for (size_t i = 0; i < ARRAY_SIZE(rank_keys); i++)
		*words = *words || in_device_words(request->values[rank_keys[i]]);
	for (size_t i = 0; i < request->count && !*words; i++)
		*words = request->statements[i].source != SOURCE_ENVIRONMENT &&
			 in_words(request->statements[i].value);
	return *words || streq(resolver->mapping->mode, "ddp");
}

static const char *row_text(struct resolver *resolver, const struct rank_identity *row)
{
	return arena_printf(resolver->arena, "%s=%lld %s=%lld %s=%lld",
			    variable_name(row->rank_variable), (long long)row->rank,
			    variable_name(row->size_variable), (long long)row->size,
			    variable_name(row->local_variable), (long long)row->local_rank);
}

/* Rows with the same numbers are not listed as losers. */
static void lose_rows(struct resolver *resolver, gpumap_step *step,
		      const struct rank_identity *rows, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (rows[i].rank != rows[0].rank || rows[i].size != rows[0].size ||
		    rows[i].local_rank != rows[0].local_rank)
			step_lose(resolver, step, "environment", row_text(resolver, &rows[i]));
}

/* An option wins over every row. */
static void explain_option(struct resolver *resolver, const struct rank_identity *row)
{
	const struct resolved_key *entry = &resolver->keys[KEY_local_rank];
	gpumap_step *step;

	if (span_number(span_of(entry->value), INT64_MAX) == row->local_rank)
		return;
	step = step_add(resolver, "R1", entry->origin,
			arena_printf(resolver->arena, "the local rank is given: %s", entry->value));
	step_lose(resolver, step, "environment", row_text(resolver, row));
}

static void explain_row(struct resolver *resolver, const struct rank_identity *rows, size_t count)
{
	const struct rank_identity *row = &rows[0];
	gpumap_step *step;

	if (row->local_rank < 0) {
		step_add(resolver, "R2", row->origin,
			 arena_printf(resolver->arena,
				      "RANK=%lld and WORLD_SIZE=%lld are numbers of nodes",
				      (long long)row->node_rank, (long long)row->nodes));
		return;
	}
	step = step_add(resolver, "R1", row->origin,
			arena_printf(resolver->arena, "%s=%lld: %s gives rank %lld of %lld",
				     variable_name(row->local_variable), (long long)row->local_rank,
				     row->row, (long long)row->rank, (long long)row->size));
	lose_rows(resolver, step, rows, count);
}

static const char *expanded(struct resolver *resolver, const char *value,
			    const struct rank_words *words, const char **missing)
{
	struct strbuf buf = {0};

	rank_words_expand(&buf, span_of(value), words, missing);
	return strbuf_keep(&buf, resolver->arena);
}

int ranks_resolve(struct resolver *resolver)
{
	const gpumap_request *request = resolver->request;
	struct resolved_key *local = &resolver->keys[KEY_local_rank];
	struct rank_identity rows[RANK_IDENTITY_ROWS];
	size_t count;
	bool words;

	for (size_t i = 0; i < KEY_COUNT; i++)
		resolver->keys[i] = (struct resolved_key){request->values[i], request->origins[i]};
	resolver->words = (struct rank_words){-1, -1, -1, -1, -1};
	if (!wanted(resolver, &words))
		return GPUMAP_OK;
	count = rank_identity_read(rows, request, local->value && !words ? NULL : resolver->report);
	if (count && local->value && rows[0].local_rank >= 0) {
		explain_option(resolver, &rows[0]);
	} else if (count && !local->value) {
		explain_row(resolver, rows, count);
		if (rows[0].local_rank >= 0)
			*local = (struct resolved_key){arena_printf(resolver->arena, "%lld",
								    (long long)rows[0].local_rank),
						       rows[0].origin};
	}
	if (count)
		resolver->words = (struct rank_words){-1, rows[0].rank, rows[0].node_rank, -1, -1};
	if (local->value)
		resolver->words.local_rank = span_number(span_of(local->value), INT64_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(rank_keys); i++)
		if (in_device_words(request->values[rank_keys[i]]))
			resolver->keys[rank_keys[i]].value = expanded(
				resolver, request->values[rank_keys[i]], &resolver->words, NULL);
	return GPUMAP_OK;
}

static void not_known(struct resolver *resolver, const char *word, const char *value,
		      const char *origin)
{
	bool local = *word == 'l' || streq(word, "%l"), modulo = text_ends(word, "modulo");
	bool count = modulo && (local ? resolver->words.local_rank : resolver->words.rank) >= 0;

	answer_no(resolver, FINDING_RANK_UNKNOWN,
		  ABOUT(.rule = "R5", .origin = origin,
			.fix = count   ? "give --visible LIST, or the machine: --inventory"
			       : local ? "give --local-rank N"
				       : "give --prefix RANK=N --prefix WORLD_SIZE=N --prefix "
					 "LOCAL_RANK=N, or ask for a running process: --pid"),
		  "'%s' needs %s, which is not known", QUOTE(span_of(value)),
		  count               ? "the number of visible devices"
		  : local             ? "the local rank"
		  : modulo            ? "the rank"
		  : streq(word, "%r") ? "the rank"
				      : "the number of the host");
}

const char *ranks_value(struct resolver *resolver, const struct statement *s)
{
	const char *missing = NULL, *value;

	if (s->source == SOURCE_ENVIRONMENT || !in_words(s->value))
		return s->value;
	value = expanded(resolver, s->value, &resolver->words, &missing);
	if (missing && *missing == '%')
		not_known(resolver, missing, s->value, s->origin);
	else if (value && !streq(value, s->value))
		step_add(resolver, "R5", s->origin,
			 arena_printf(resolver->arena, "%s is %s in this process",
				      QUOTE(span_of(s->value)), QUOTE(span_of(value))));
	return value;
}

/* Without inventory, list and grant the number of devices is not known. */
static bool count_known(const struct resolver *resolver)
{
	return resolver->inventory || resolver->list || resolver->keys[KEY_container].value ||
	       resolver->keys[KEY_cgroup].value || resolver->keys[KEY_mps_server].value;
}

int ranks_finish(struct resolver *resolver)
{
	const gpumap_request *request = resolver->request;
	size_t visible = resolver->mapping->visible_count;
	struct rank_words *words = &resolver->words;

	if (words->rank >= 0 && count_known(resolver))
		words->modulo = (int64_t)rank_modulo((size_t)words->rank, visible);
	if (words->local_rank >= 0 && count_known(resolver))
		words->local_modulo = (int64_t)rank_modulo((size_t)words->local_rank, visible);
	for (size_t i = 0; i < ARRAY_SIZE(rank_keys); i++) {
		const char *value = request->values[rank_keys[i]], *missing = NULL;
		struct resolved_key *entry = &resolver->keys[rank_keys[i]];

		if (!in_device_words(value))
			continue;
		entry->value = expanded(resolver, value, words, &missing);
		if (missing)
			not_known(resolver, missing, value, entry->origin);
		else if (entry->value)
			step_add(resolver, "R5", entry->origin,
				 arena_printf(resolver->arena, "%s is %s in this process",
					      QUOTE(span_of(value)), QUOTE(span_of(entry->value))));
	}
	return GPUMAP_OK;
}
