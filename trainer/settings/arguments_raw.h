/* SPDX-License-Identifier: MIT */
/* The texts from the command line and the [trainer] section, before they are checked. */
#ifndef TRAIN_SETTINGS_ARGUMENTS_RAW_H
#define TRAIN_SETTINGS_ARGUMENTS_RAW_H

#include "settings/rows.h"

enum { RAW_MAX_KEYS = 32 };

/* A statement of gpumap-explain(1), by gpumap_key_each. */
struct raw_key {
	const char *name, *option, *environment, *value, *help;
	const char *text; /* the last one given; NULL: none */
};

struct arguments_raw {
	struct {
		const char *text; /* NULL: not given */
		const char *origin;
		bool option; /* given on the command line */
	} rows[ROWS];
	struct raw_key keys[RAW_MAX_KEYS]; /* but for those that are settings: mode, batch */
	int keys_count;
	const char *config, *trainer, *inventory;
	bool help, version;
	gpumap_request *request; /* takes the statements */
	gpumap_report *report;
};

/* Options that are not settings or statements; the last has no name. */
struct other_option {
	const char *name, *value, *help;
};
extern const struct other_option other_options[];

/* Begins with nothing given. False: the library has more keys than there is room for. */
bool raw_begin(struct arguments_raw *raw, gpumap_request *request, gpumap_report *report,
	       struct train_error *error);

/* A statement that was given goes into the request. */
bool raw_state(const struct arguments_raw *raw, const struct raw_key *key, const char *origin,
	       struct train_error *error);

/* Statements go into the request at once, those of an option before those of the section. */
bool raw_read_arguments(struct arguments_raw *raw, int argc, char **argv,
			struct train_error *error);

/* Reads --config, GPUMAP_CONFIG or ./gpumap.ini; options given before win. The profile owns the
 * texts, so free it last. */
bool raw_read_section(struct arguments_raw *raw, gpumap_profile **ret, const char *const *envp,
		      struct train_error *error);

/* Where a row was given last; if nowhere, its option. */
const char *raw_origin(const struct arguments_raw *raw, enum row_id row);

/* --help and --version, to stdout. */
bool settings_print_help(const struct arguments_raw *raw, struct train_error *error);
bool settings_print_version(struct train_error *error);

#endif
