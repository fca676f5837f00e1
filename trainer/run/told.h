/* SPDX-License-Identifier: MIT */
/* What was said on the command line and in the [trainer] section, before it is judged. */
#ifndef TRAIN_RUN_TOLD_H
#define TRAIN_RUN_TOLD_H

#include "run/rows.h"

enum { TOLD_MOST_KEYS = 32 };

/* A statement of gpumap-explain(1), by gpumap_key_each. */
struct told_key {
	const char *name, *option, *environment, *value, *help;
	const char *text; /* the last that was said; NULL: nothing */
};

struct told {
	struct {
		const char *text; /* NULL: nothing was said */
		const char *origin;
		bool option; /* said on the command line */
	} rows[ROWS];
	struct told_key keys[TOLD_MOST_KEYS]; /* but those that are settings: mode, batch */
	int keys_count;
	const char *config, *trainer, *inventory;
	bool help, version;
	gpumap_request *request; /* takes the statements */
	gpumap_report *report;
};

/* The options that are neither settings nor statements; the last has no name. */
struct told_option {
	const char *name, *value, *help;
};
extern const struct told_option told_options[];

/* Nothing is said so far. False when the library has more keys than there is room for. */
bool told_begin(struct told *told, gpumap_request *request, gpumap_report *report,
		struct train_error *error);

/* Statements go into the request at once, those of an option before those of the section. */
bool told_arguments(struct told *told, int argc, char **argv, struct train_error *error);

/* Reads --config, GPUMAP_CONFIG or ./gpumap.ini; what was said before holds. The profile has the
 * texts: it is freed last. *ret is NULL where there is none. */
bool told_section(struct told *told, gpumap_profile **ret, const char *const *envp,
		  struct train_error *error);

/* Where a row was said last, or its option. */
const char *told_origin(const struct told *told, enum row_id row);

/* The value of a variable that is set and not empty, else NULL. */
const char *told_variable(const char *const *envp, const char *name);

/* --help and --version, to stdout. */
bool told_help(const struct told *told, struct train_error *error);
bool told_version(struct train_error *error);

#endif
