/* SPDX-License-Identifier: MIT */
/* The keys of profiles and the grammar of their values. */
#ifndef GM_PROFILE_KEYS_H
#define GM_PROFILE_KEYS_H

#include "arena.h"
#include "report/report.h"
#include "request/request.h"

/* The file of all users of the machine: the last place where a profile is looked for, and the only
 * one where [leases] counts. */
#define SYSTEM_FILE "/etc/gpumap/gpumap.ini"

enum profile_section {
	SECTION_GPUMAP,
	SECTION_PROFILE,
	SECTION_PROGRAM,
	SECTION_OVERRIDE,
	SECTION_SWEEP,
	SECTION_LEASES,
	/* sections whose keys are the user's own */
	SECTION_ENV,
	SECTION_UNSET,
	SECTION_TRAINER,
	SECTION_COUNT
};

enum profile_key_id {
#define PROFILE_KEY(section, name, option, environment, kind, scope, value, initial, use, help) \
	PKEY_##section##_##name,
#include "request/profile_keys.def"
#undef PROFILE_KEY
	PKEY_COUNT,
	/* The keys for which a profile has values: those of [profile] and [program]. */
	SETTING_FIRST = PKEY_PROFILE_inherit,
	SETTING_END = PKEY_OVERRIDE_profile,
	SETTING_COUNT = SETTING_END - SETTING_FIRST
};

/* The values of a key whose alternatives are words. */
#define PROFILE_KEY(section, name, option, environment, kind, scope, value, initial, use, help)
#define KEY_WORDS(section, name, type, ...) enum type { __VA_ARGS__ };
#include "request/profile_keys.def"
#undef PROFILE_KEY

enum value_kind {
	VALUE_WORD,
	VALUE_LIST, /* entries separated by commas, which keep their quotes */
	VALUE_MACROS,
	VALUE_MACRO_LIST,
	VALUE_STREAM, /* macros, including %s */
	VALUE_COMMAND
};

enum value_scope { SCOPE_JOB, SCOPE_NODE, SCOPE_RANK };

/* How commands use a key. */
enum key_use {
	/* looked up for each rank: a plan keeps the values of overrides for single ranks */
	BY_RANK = 1 << 0,
	EXEC_DOES = 1 << 1,  /* gpumap exec applies it, inside another launcher too */
	EXEC_LOSES = 1 << 2, /* only the launcher can apply it; libgpumap/emit lists which do */
	OF_PROCESS =
		1 << 3, /* changes the rank's process; gpumap exec or the launcher applies it */
	NEEDS_EXEC = 1 << 4, /* if it is not the default, emit starts ranks by gpumap exec */
	STATES_LIST = 1 << 5 /* a visible list of the program, stated in a request */
};

struct profile_key {
	struct gpumap_key key; /* the public part */
	enum profile_section in;
	enum value_kind kind;
	enum value_scope scope;
	unsigned use; /* of enum key_use */
};

const struct profile_key *profile_key(enum profile_key_id id);
const char *section_name(enum profile_section section);
/* SECTION_COUNT: there is no such section. */
enum profile_section section_find(struct span name);
/* Whether sections of this kind have a name: [profile NAME]. */
bool section_has_name(enum profile_section section);

/* The key of a setting by its name; PKEY_COUNT: there is no such key. */
enum profile_key_id setting_key(struct span name);

/* Whether the key states how the program picks its device. */
bool key_picks_device(enum profile_key_id id);

bool value_is_list(enum value_kind kind);
bool value_is_raw(enum value_kind kind); /* quotes are part of the value */
bool value_has_macros(enum value_kind kind);

/* Whether a whole value is valid for the key, with variables and macros expanded or not. The
 * finding names `about`, whose column is that of the value's first character, or 0. */
int profile_value_check(const struct profile_key *key, struct span value, const struct about *about,
			gpumap_report *report);

/* A value that was read. */
struct key_value {
	int word; /* the place of its alternative in the row: an enumerator of KEY_WORDS */
	/* the part for the form of the alternative: "4" of cores:4; or a whole word */
	struct span text;
	int64_t number; /* of a KEY_NUMBER or SIGNAL; milliseconds of a DURATION; the SIGNAL,... as
			 * bits; else -1, which a KEY_NUMBER may be too: `word` tells them apart */
};

/* profile_value_check(), and the value; "" is the key's default. A value that is "" by default, a
 * command, and a value with macros have no alternative: their word is -1. */
int profile_value_read(struct key_value *ret, const struct profile_key *key, struct span value,
		       const struct about *about, gpumap_report *report);

/* The same for a value that was checked before; an invalid value gives the default. */
struct key_value key_value(enum profile_key_id id, const char *value);

/* An alternative's word: "isolate". */
struct key_word {
	char text[24];
};
const char *key_word(struct key_word *ret, enum profile_key_id id, int word);
#define KEY_WORD(id, word) key_word(&(struct key_word){{0}}, id, (int)(word))

/* A form in capitals. */
struct form {
	const char *name;
	/* NULL: a whole number from `least` to `most`. False: *wrong is the invalid piece. */
	bool (*check)(struct span value, struct span *wrong);
	int64_t (*number)(struct span value); /* NULL: it has no number, or `check` is NULL */
	const char *fix;                      /* NULL: the remedy is the key's grammar */
	int64_t least, most;
};
const struct form *form_find(struct span name);
/* Whether it has the form of GM030. */
bool is_message_id(struct span value);
bool form_check(const struct form *form, struct span value, struct span *wrong);
/* The number of a value that was checked; -1: the form has none. */
int64_t form_number(const struct form *form, struct span value);

/* Whether the number of a SIGNAL,... has the signal. */
bool signal_set_has(int64_t set, int signal);

/* Which streams of a local rank go into log files, by redirects or tee. -1: malformed. */
enum { STREAM_OUT = 1, STREAM_ERR = 2 };
int streams_parse(struct span s, int64_t local_rank);

/* A list such as "0,2-5" of numbers up to `max`. */
bool numbers_check(struct span list, int64_t max, struct span *wrong);

/* How a program picks a device. */
struct device_use {
	enum device_use_kind {
		USE_NOTHING,
		USE_LOCAL_RANK,
		USE_RANK,
		USE_NODE,
		USE_MODULO,       /* the rank modulo the number of visible devices */
		USE_LOCAL_MODULO, /* the same of the local rank */
		USE_NUMBER,
		USE_CURRENT, /* "cuda" */
		USE_CPU
	} kind;
	int64_t number;
	const char *text; /* as written; NULL for nothing, and for an index alone */
};
/* Whether each rank of a host picks its own device. */
static inline bool use_is_by_rank(enum device_use_kind kind)
{
	return kind == USE_LOCAL_RANK || kind == USE_RANK || kind == USE_MODULO ||
	       kind == USE_LOCAL_MODULO;
}
/* The value of device or set_device. */
struct device_use device_use(enum profile_key_id key, const char *value);
/* An entry of device_ids, or the part after cuda: in the others. */
struct device_use device_index(struct span text);

/* An entry of gpus. */
struct gpu_entry {
	enum { GPU_NUMBER, GPU_UUID, GPU_PCI, GPU_NAME } kind;
	struct span text; /* without name:, with quotes */
	int64_t number;
	char pci[20];
};
bool gpu_entry_parse(struct gpu_entry *ret, struct span item);

/* Numbers of a list such as "0,2-5"; -1 is never a member. Malformed entries are left out. */
struct number_set {
	struct number_interval {
		int64_t low, high;
	} * ranges;
	size_t count;
};

/* In the arena; NULL: no memory. */
struct number_set *number_set_parse(struct arena *arena, struct span list);
bool number_set_has(const struct number_set *set, int64_t n);

/* Hosts by their full or short names, from a list such as "tux[00-03,7],gpu*". */
struct host_set {
	const char **names; /* sorted; followed by the patterns */
	size_t count, pattern_count;
};

/* Allocates in the arena, and reports nothing. GPUMAP_EINPUT, GPUMAP_ELIMIT, GPUMAP_ENOMEM. */
int host_set_parse(struct host_set *ret, struct arena *arena, struct span text);
bool host_set_has(const struct host_set *set, const char *host);

#endif
