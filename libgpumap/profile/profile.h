/* SPDX-License-Identifier: MIT */
#ifndef GM_PROFILE_H
#define GM_PROFILE_H

#include "arena.h"
#include "request/profile_keys.h"
#include "text/expand.h"

enum {
	MAX_DEPTH = 8,       /* profiles in a chain of inherit */
	MAX_FILES = 64,      /* read for one profile */
	MAX_SECTIONS = 4096, /* of all files */
	MAX_ENTRIES = 1024,  /* of one section */
	MAX_VARIABLES = 16,  /* of a sweep */
	MAX_COMBINATIONS = 65536
};

/* key = value, from any source. */
struct setting {
	const struct profile_key *key; /* NULL: a name of the user's own */
	const char *name;
	const char *text;   /* as written, without quotes unless value_is_raw; NULL: not given */
	const char *file;   /* file, option or variable */
	const char *origin; /* "train.ini:7", "--gpus" */
	int line, column;   /* 0: not in a file */
};

struct sweep_variable {
	const struct setting *setting;
	const char **values;
	size_t count;
	bool used;
};

struct gpumap_section {
	enum profile_section kind;
	const char *name, *file, *origin;
	int line;
	size_t first, count; /* of the profile's settings */
	const gpumap_profile *profile;
	size_t parent; /* of a [profile]; NONE: no parent */

	struct sweep_variable *variables; /* of a [sweep] */
	size_t variable_count, combinations;
};

#define NONE SIZE_MAX

/* What follows from all settings, the environment and the combination; made again after each
 * change. */
struct settled {
	struct arena arena;
	const char **values; /* of the settings, variables expanded; NULL: as written */
	const char **arguments;
	size_t argument_count;
	size_t *entries; /* settings of [env] and [unset] that apply to the chosen profile */
	size_t entry_count;
	struct conditions *conditions; /* by section, of overrides */
};

/* Where an override applies; NULL: anywhere. */
struct conditions {
	bool applies; /* to the chosen profile */
	const struct host_set *hosts;
	const struct number_set *nodes, *ranks, *local_ranks;
};

/* The first 2 * SETTING_COUNT settings are those of options and of the environment. */
enum { OPTIONS = 0, VARIABLES = SETTING_COUNT, IN_FILES = 2 * SETTING_COUNT };

struct gpumap_profile {
	struct arena arena;
	struct setting *settings;
	size_t setting_count, setting_room;
	gpumap_section *sections; /* in the order of the files */
	size_t section_count, section_room;
	const char *file;   /* the first one; NULL: no file was read */
	bool found;         /* it was found, not named */
	const char *wanted; /* the profile that [gpumap] names */
	struct about wanted_at;
	size_t chosen;           /* section; NONE: no profile */
	size_t chain[MAX_DEPTH]; /* the chosen profile and its parents */
	size_t depth;

	const char **environment;  /* copies of NAME=value; ends with NULL */
	size_t sweep, combination; /* whose values replace ${name}; NONE: no sweep */
	const char *python;        /* what starts a FILE.py; "": nothing, it is executed itself */

	struct settled settled;
};

/* --- reading ---------------------------------------------------------------- */

/* Reads the text of a file; a function, so that tests need no files. The caller frees *text.
 * `optional`: a missing file is not an error, and *text is then NULL. */
typedef int profile_source(void *data, const char *path, bool optional, char **text, size_t *size,
			   gpumap_report *report);

int profile_load(gpumap_profile **ret, const char *path, struct span text, const char *name,
		 profile_source *source, void *data, gpumap_report *report);
profile_source profile_read_file;

/* "./gpumap.ini, /home/ann/.config/gpumap/gpumap.ini and /etc/gpumap/gpumap.ini": where a profile
 * file is looked for, for free(). NULL without memory. */
char *profile_places(const char *const *envp);

/* gpumap_profile_read() from a descriptor; `path` is its file's. */
int profile_read_fd(gpumap_profile **ret, int fd, const char *path, const char *name,
		    gpumap_report *report);

/* The path of an include named in the file `from`. */
char *profile_include_path(const char *from, struct span name);

/* Call it after all files: links names to sections, and makes the chain of the chosen profile.
 * `complete`: every section's name was readable, so that a missing one is missing; `good`: there
 * was no error at all. */
int profile_link(gpumap_profile *profile, const char *name, bool complete, bool good,
		 gpumap_report *report);

/* NONE: there is none. */
size_t profile_find(const gpumap_profile *profile, enum profile_section kind, struct span name);
/* The nearest name of that kind; NULL: none is near. */
const char *profile_nearest(const gpumap_profile *profile, enum profile_section kind,
			    struct span name);
/* The same as a remedy in `fix`, or another remedy. */
const char *profile_suggest(struct quoted *fix, const gpumap_profile *profile,
			    enum profile_section kind, struct span name);
#define PROFILE_SUGGEST(profile, kind, name) \
	profile_suggest(&(struct quoted){{0}}, profile, kind, name)
/* Reports that the section which the setting names is missing, if the name itself is one. */
int section_missing(const gpumap_profile *profile, enum profile_section kind, struct span name,
		    const struct setting *setting, gpumap_report *report);

/* Chooses the profile `name`, or by default. GPUMAP_EINPUT after its error: it is `complete`, and
 * has no such profile. */
int profile_choose(gpumap_profile *profile, const char *name, bool complete, gpumap_report *report);

/* Finds the parents of all profiles, and refuses a circle and a chain that is too long. */
int profile_link_parents(gpumap_profile *profile, bool complete, gpumap_report *report);
int profile_check_chain(const gpumap_profile *profile, size_t first, gpumap_report *report);
/* The chain of the chosen profile; call it once, after the choice. */
void profile_make_chain(gpumap_profile *profile);

/* --- values ----------------------------------------------------------------- */

/* The section's setting of that key; NULL: it has none. */
const struct setting *section_setting(const gpumap_section *section, enum profile_key_id key);

/* Where a rank runs; -1 and NULL: not known, so that no condition on it applies. */
struct place {
	const char *host;
	int64_t node, rank, local_rank;
};

#define NO_PLACE (&(const struct place){NULL, -1, -1, -1})

/* The setting that decides the key there, NULL: the default. */
const struct setting *profile_decides(const gpumap_profile *profile, enum profile_key_id key,
				      const struct place *place);

/* Whether a setting gives it a value, for any host: an empty one is the default. */
bool profile_states(const gpumap_profile *profile, enum profile_key_id key);

/* The value without conditions. */
struct key_value profile_key_value(const gpumap_profile *profile, enum profile_key_id key);

/* The value of a setting with its variables expanded; as written if one is not set. */
const char *profile_value(const gpumap_profile *profile, const struct setting *setting);

/* The value of ${name} in this profile; an expand_lookup. */
const char *profile_variable(const void *profile, struct span name);

/* How many bytes a value may have, in a file or elsewhere. NULL: that of a name which is no key, as
 * in [env]. */
unsigned profile_value_most(const struct profile_key *key, bool in_file);
/* How many the value of a file has; $${ counts as ${, which it stands for. */
size_t profile_value_length(struct span text);

/* The text with its variables expanded, in the arena; unchanged if one is not set. `macros`: as of
 * expand_variables(); `list`: it becomes one line. */
const char *profile_expanded(const gpumap_profile *profile, struct arena *arena, const char *text,
			     bool macros, bool list);

/* Makes the arguments: the words of the command, each with its variables expanded. */
void command_settle(const gpumap_profile *profile, struct settled *settled);
/* Appends the words that are put before the program FILE.py, quoted as in a command: `python`, or
 * python3 for NULL, and its option. Nothing before other programs, and for "". */
void profile_python(struct strbuf *ret, const char *program, const char *python);
/* Fills in the entries: the settings of [env] and [unset] that count. */
void env_settle(const gpumap_profile *profile, struct settled *settled);
/* Makes everything that follows from settings, environment and sweep. On failure nothing changes.
 */
int profile_settle(gpumap_profile *profile, gpumap_report *report);

/* For struct speech: the origin of the key of a setting, which an option of another name may have
 * set. */
const char *setting_speaks(const void *setting, struct span key);
/* How findings about the profile name its settings. */
struct speech profile_speech(const gpumap_profile *profile);

/* The place of a setting's value, or of a section, for findings. */
#define ABOUT_SETTING(setting, remedy) \
	ABOUT(.origin = (setting)->file, .line = (setting)->line, .column = (setting)->column, \
	      .fix = (remedy))
#define ABOUT_SECTION(section, remedy) \
	ABOUT(.origin = (section)->file, .line = (section)->line, .column = 1, .fix = (remedy))

/* Expands the macros of `text` for a rank; `about` is the setting's. */
int profile_expand(char **ret, const char *text, const struct macros *macros,
		   const struct about *about, gpumap_report *report);

/* --- overrides ---------------------------------------------------------------- */

/* Whether the override changes the chosen profile. */
bool override_applies(const gpumap_profile *profile, const gpumap_section *section);
/* Checks that it names a profile, and that none of its keys depends on a condition finer than the
 * key's scope. */
int override_check(const gpumap_section *section, gpumap_report *report);
/* Fills settled->conditions. A plan looks up each key for each host and rank, so the conditions are
 * parsed once. */
int override_settle(const gpumap_profile *profile, struct settled *settled, gpumap_report *report);
/* The setting of the last override that applies there and has the key; NULL: there is none. */
const struct setting *override_setting(const gpumap_profile *profile, enum profile_key_id key,
				       const struct place *place);

/* --- programs ----------------------------------------------------------------- */

/* The key of the [program] that the setting names (NULL: none); NULL: it has none. */
const struct setting *program_setting(const gpumap_profile *profile, enum profile_key_id key,
				      const struct setting *program);
/* The setting of the section that names a [program] which no file has; NULL: there is none. */
const struct setting *unknown_program(const gpumap_profile *profile, const gpumap_section *section);

/* --- writing ------------------------------------------------------------------ */

/* Appends the chosen profile as a flat file; `origins`: with the origin of each value. */
void profile_write(struct strbuf *buf, const gpumap_profile *profile, bool origins);

/* The interpreter that starts a command FILE.py, with -u; NULL: python3, "": none. The text is not
 * copied. */
int profile_set_python(gpumap_profile *profile, const char *python, gpumap_report *report);

/* --- sweeps ----------------------------------------------------------------- */

/* Reads the values of all sweeps. `good`: no entry was refused, so that a missing one is
 * missing. */
int profile_read_sweeps(gpumap_profile *profile, bool good, gpumap_report *report);

/* The value of the variable in a combination; the last variable changes fastest. */
const char *sweep_value(const gpumap_section *sweep, size_t combination, size_t variable);

#endif
