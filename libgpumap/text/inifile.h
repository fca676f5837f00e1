/* SPDX-License-Identifier: MIT */
/*
 * The reader of INI files (ini.h is inih's own header).
 *
 *	# a comment               ; begins one too; both may follow a value and a blank
 *	[section]                 any characters up to the matching ]
 *	key = value               letters, digits, _ - . before the first =
 *	key = "a ; b", 'c # d'    quotes keep blanks, commas and comment signs
 *
 * "..." has the escapes \" \\ \n \t \r and \xNN, '...' has none; a double quote opens anywhere, a
 * single one at the beginning of a word only (Bob's is not a quote). The text is UTF-8, with or
 * without a byte order mark, lines end in LF or CRLF, and indentation means nothing.
 */
#ifndef GM_INIFILE_H
#define GM_INIFILE_H

#include "report/report.h"
#include "text.h"

struct strbuf;

enum {
	INIFILE_MAX_VALUE = GPUMAP_MAX_VALUE,            /* bytes, without quotes and escapes */
	INIFILE_MAX_WRITTEN = 4 * INIFILE_MAX_VALUE + 2, /* the same as written in a file */
	INIFILE_MAX_ERRORS = 100                         /* in one file; then reading stops */
};

/* All spans point into the text that is read. */
struct inifile_entry {
	struct span section, key;
	struct span value; /* as written: trimmed, its quotes closed, its escapes valid */
	int line;
	int key_column, column; /* of the key and of the value, in characters */
};

/* Both return GPUMAP_OK, or GPUMAP_EINPUT after they reported an error. Then the reading continues,
 * so that all errors of a file are reported, but it skips the entries of a refused section. Any
 * other code ends the reading. */
struct inifile_handler {
	int (*section)(void *data, struct span name, int line);
	int (*entry)(void *data, const struct inifile_entry *entry);
};

/* Reads a whole text. After an error the other lines are still handed over. Therefore the caller
 * builds a new object, and drops it unless this returns GPUMAP_OK. GPUMAP_EINPUT, GPUMAP_ENOMEM, or
 * what a handler returned. */
int inifile_read(struct span text, const char *origin, const struct inifile_handler *handler,
		 void *data, gpumap_report *report);

enum { INIFILE_BAD_KEY = -1, INIFILE_SITE_KEY = -2 };

/* The number of the entry's key in `names` (ends with NULL). `lines` has a member for
 * each name, all 0 at the beginning of a section. INIFILE_BAD_KEY after reporting a
 * key that is not known or was given before; INIFILE_SITE_KEY for x_..., which is
 * left to sites. */
int inifile_key(const struct inifile_entry *entry, const char *const *names, int *lines,
		const char *origin, gpumap_report *report);

/* --- values ---------------------------------------------------------------- */

/* The length of the value at the beginning of s, up to its comment or the end. `before` is the
 * character in front of s. On an error *wrong points at it and *why describes it; otherwise *wrong
 * is NULL. */
size_t inifile_value_length(struct span s, char before, const char **wrong, const char **why);

/* What to write instead of that error. */
const char *inifile_value_fix(const char *wrong);

/* The length of the part of s that a file can hold: up to a control character other than a tab, or
 * a byte that is not UTF-8. */
size_t inifile_text_length(struct span s);

/* Appends a list as one line: outside of quotes each line end becomes a blank, and blanks around
 * the list are dropped. */
void inifile_fold(struct strbuf *buf, struct span list);

/* The length of the escape at s, whose first byte is a backslash, and its meaning; 0 if
 * there is no such escape. */
size_t inifile_escape(struct span s, char *meaning);

/* span_split() at commas, but not at those inside quotes; items are trimmed. */
bool inifile_item(struct span *rest, struct span *item);

/* Appends the value, or an item of a list, without quotes and escapes. */
void inifile_decode(struct strbuf *buf, struct span value);

/* Appends the text, quoted if needed so that it reads back the same; inifile_quote always writes
 * "...". */
void inifile_encode(struct strbuf *buf, struct span text);
void inifile_quote(struct strbuf *buf, struct span text);

#endif
