/* SPDX-License-Identifier: MIT */
/* See agree.h. */
#include "parallel/agree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "hash.h"
#include "settings/rows.h"
#include "suggest.h"

/* The rows of settings.def; values that follow from them; and properties of machines, which can
 * differ with equal settings: "auto", and types that a processor does not have. */
enum { TRAIN_SAMPLES = ROWS, TEST_SAMPLES, BACKEND, PRECISION, THINGS };
enum { TEXT = 1024, SHOWN = 48 };

/* Settings that may differ, as they concern one process only. */
static bool is_own(enum row_id id)
{
	switch (id) {
	case ROW_allow_share:
	case ROW_threads:
	case ROW_timeout:
	case ROW_keep:
	case ROW_resume:
	case ROW_weights:
	case ROW_progress:
	case ROW_metrics:
	case ROW_plot:
	case ROW_profile_to:
		return true;
	default:
		return false;
	}
}

/* Paths may differ between machines; whether one is given may not. */
static void write_row(char text[TEXT], const struct settings *settings, enum row_id id)
{
	row_write(text, TEXT, &rows[id], settings);
	if (!*text)
		snprintf(text, TEXT, "none");
	else if (id == ROW_checkpoint || (id == ROW_data && strcmp(text, "synthetic") != 0))
		snprintf(text, TEXT, "a folder");
}

/* Whether only other optimizers have the setting; it may share its member with one of this. */
static bool is_of_others(enum row_id id, enum optimizer_kind kind)
{
	static const char only[] = "optimizer=";
	const char *text = rows[id].only;

	return text && strncmp(text, only, sizeof(only) - 1) == 0 &&
	       word_place(text + sizeof(only) - 1, span_of(optimizer_rows[kind].word)) < 0;
}

/* This rank's value of `thing`; empty if it may differ. */
static void write_thing(char text[TEXT], const struct parallel_options *o, int thing)
{
	*text = '\0';
	if (thing == TRAIN_SAMPLES)
		snprintf(text, TEXT, "%" PRId64, o->train->samples);
	else if (thing == TEST_SAMPLES)
		snprintf(text, TEXT, "%" PRId64, o->test->samples);
	else if (thing == BACKEND)
		snprintf(text, TEXT, "%s", o->backend->name);
	else if (thing == PRECISION)
		snprintf(text, TEXT, "%s", value_name(o->precision));
	else if (!is_own((enum row_id)thing) &&
		 !is_of_others((enum row_id)thing, o->settings->optimizer.kind))
		write_row(text, o->settings, (enum row_id)thing);
}

static const char *thing_name(int thing)
{
	return thing == TRAIN_SAMPLES  ? "training samples"
	       : thing == TEST_SAMPLES ? "test samples"
	       : thing == BACKEND      ? "what computes"
	       : thing == PRECISION    ? "what layers compute in"
				       : rows[thing].option;
}

static const char *remedy(int thing)
{
	return thing == BACKEND     ? "give all the --backend that each has"
	       : thing == PRECISION ? "give all the --precision that each has, fp32"
				    : "start all with the same options";
}

/* The first thing that differs from rank 0's, and its rank; false: none differs. */
static bool find_other(const uint64_t *all, int world, int *thing, int *rank)
{
	for (*thing = 0; *thing < THINGS; ++*thing)
		for (*rank = 1; *rank < world; ++*rank)
			if (all[*thing] != all[*rank * THINGS + *thing])
				return true;
	return false;
}

/* All ranks call it with the same thing and rank. */
static bool refuse(const struct parallel *p, int thing, int rank, struct train_error *error)
{
	CLEANUP_FREE char *all = NULL;
	char text[TEXT];

	memset(text, 0, sizeof(text));
	write_thing(text, &p->options, thing);
	all = gather_all(p->comm, text, TEXT, "settings of ranks", error);
	if (all)
		train_fail(error, TRAIN_BAD_INPUT,
			   "ranks differ: %s is %.*s for rank 0 and %.*s for rank %d; %s",
			   thing_name(thing), SHOWN, all, SHOWN, all + (size_t)rank * TEXT, rank,
			   remedy(thing));
	return false;
}

bool config_agree(struct parallel *p, struct train_error *error)
{
	struct communicator *comm = p->comm;
	CLEANUP_FREE uint64_t *all = NULL;
	uint64_t mine[THINGS];
	char text[TEXT];
	int thing, rank;

	/* Threads of one process share its settings. */
	if (p->options.place->ranks == comm->world)
		return true;
	for (thing = 0; thing < THINGS; thing++) {
		write_thing(text, &p->options, thing);
		mine[thing] = hash_text(HASH_START, text);
	}
	all = gather_all(comm, mine, sizeof(mine), "settings of ranks", error);
	return all &&
	       (!find_other(all, comm->world, &thing, &rank) || refuse(p, thing, rank, error));
}
