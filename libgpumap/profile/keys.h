/* SPDX-License-Identifier: MIT */
/* The keys of profiles and the grammar of their values. */
#ifndef GM_PROFILE_KEYS_H
#define GM_PROFILE_KEYS_H

#include "arena.h"
#include "report.h"
#include "request.h"

enum profile_section {
	SECTION_GPUMAP,
	SECTION_PROFILE,
	SECTION_PROGRAM,
	SECTION_OVERRIDE,
	SECTION_SWEEP,
	/* sections whose keys are the user's own */
	SECTION_ENV,
	SECTION_UNSET,
	SECTION_TRAINER,
	SECTION_COUNT
};

enum profile_key_id {
#define PROFILE_KEY(section, name, option, environment, kind, scope, value, initial, help) \
	PKEY_##section##_##name,
#include "profile_keys.def"
#undef PROFILE_KEY
	PKEY_COUNT
};

/* The keys that a profile has values for: those of [profile] and [program]. */
enum {
	SETTING_FIRST = PKEY_PROFILE_inherit,
	SETTING_END = PKEY_OVERRIDE_profile,
	SETTING_COUNT = SETTING_END - SETTING_FIRST
};

enum value_kind {
	VALUE_WORD,
	VALUE_LIST, /* entries between commas, which keep their quotes */
	VALUE_MACROS,
	VALUE_MACRO_LIST,
	VALUE_STREAM, /* macros, %s among them */
	VALUE_COMMAND
};

enum value_scope { SCOPE_JOB, SCOPE_NODE, SCOPE_RANK };

struct profile_key {
	struct gpumap_key key; /* what is handed out */
	enum profile_section in;
	enum value_kind kind;
	enum value_scope scope;
};

const struct profile_key *profile_key(enum profile_key_id id);
const char *section_name(enum profile_section section);

/* The setting's key of this name; PKEY_COUNT: there is none. */
enum profile_key_id setting_key(struct span name);

bool value_is_list(enum value_kind kind);
bool value_is_raw(enum value_kind kind); /* its quotes are part of it */
bool value_has_macros(enum value_kind kind);

/* Whether a whole value suits the key, variables and macros expanded or there still.
 * The finding names `about`, whose column is that of the value's first character, or 0. */
int profile_value_check(const struct profile_key *key, struct span value, const struct about *about,
			gpumap_report *report);

/* What a form in capitals checks. False: *wrong is the piece that does not suit. */
struct form {
	const char *name;
	bool (*check)(struct span value, struct span *wrong);
	const char *fix; /* NULL: the key's grammar says it all */
};
const struct form *form_find(struct span name);

/* "30s", "1500ms", "2m", "1h", "5" in milliseconds; -1: anything else. */
int64_t duration_parse(struct span s);

/* What of a local rank goes into log files, of redirects or tee. -1: malformed. */
enum { STREAM_OUT = 1, STREAM_ERR = 2 };
int streams_parse(struct span s, int64_t local_rank);

bool numbers_check(struct span list, struct span *wrong);

/* Numbers of a list such as "0,2-5", of which -1 never is one. What is malformed is left out. */
struct number_set {
	struct number_range {
		int64_t low, high;
	} * ranges;
	size_t count;
};

/* In the arena; NULL: no memory. */
struct number_set *number_set_parse(struct arena *arena, struct span list);
bool number_set_has(const struct number_set *set, int64_t n);

/* Hosts by their full or short names, from a list such as "tux[00-03,7],gpu*". */
struct host_set {
	const char **names; /* sorted; behind them the patterns */
	size_t count, pattern_count;
};

/* In the arena, and without a report: GPUMAP_EINPUT, GPUMAP_ELIMIT, GPUMAP_ENOMEM. */
int host_set_parse(struct host_set *ret, struct arena *arena, struct span text);
bool host_set_has(const struct host_set *set, const char *host);

#endif
