/* SPDX-License-Identifier: MIT */
/* The rows of settings.def, and their values as text. */
#ifndef TRAIN_SETTINGS_ROWS_H
#define TRAIN_SETTINGS_ROWS_H

#include <stddef.h>

#include "model/models.def"
#include "settings/settings.h"

enum row_id {
#define SETTING(group, name, option, kind, member, value, least, max, initial, only, help) \
	ROW_##name,
#include "settings/settings.def"
	ROWS
};

enum row_kind {
	ROW_WORD,   /* an enum, in the order of the words */
	ROW_CHOICE, /* one of the words, as text */
	ROW_TEXT,
	ROW_COUNT,  /* int64_t */
	ROW_INT,    /* int */
	ROW_SEED,   /* uint64_t */
	ROW_NUMBER, /* double */
	ROW_FLAG,   /* bool; the option needs no value */
	ROW_TIME    /* int64_t, of milliseconds */
};

enum row_group {
#define GROUP(group, title) GROUP_##group,
#include "settings/settings.def"
	ROW_GROUPS
};

struct row {
	enum row_group group;
	const char *name, *option;
	enum row_kind kind;
	size_t offset;
	const char *value;
	double least, max;
	const char *initial, *only, *help;
};

struct row_alias {
	const char *option;
	enum row_id row;
	const char *text, *help;
};

extern const struct row rows[ROWS];
extern const char *const row_titles[ROW_GROUPS];
extern const struct row_alias row_aliases[]; /* the last has no option */

/* Bad input: the text, which is not one of the words "a|b|c", and the nearest or all of them.
 * Returns false. */
bool row_not_a_word(const char *words, const char *text, const char *origin,
		    struct train_error *error);

enum { ROW_ONLY_TEXT = 64 };

/* The option that `row->only` names, "mode=mp" as "--mode mp"; "" where it is NULL. Returns text.
 */
const char *row_only(char text[ROW_ONLY_TEXT], const struct row *row);

/* Reads the value in `text` into settings. Otherwise bad input with `origin`, the text and the
 * valid values; settings are unchanged. Texts are borrowed. */
bool row_read(const struct row *row, struct settings *settings, const char *text,
	      const char *origin, struct train_error *error);

/* The text of settings, whole; NULL if none is given or the value is not a text. */
const char *row_text(const struct row *row, const struct settings *settings);

/* Writes the value of settings as row_read reads it; "" where a text is not given. Cuts what
 * is longer. */
void row_write(char *text, size_t size, const struct row *row, const struct settings *settings);

#endif
