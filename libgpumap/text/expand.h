/* SPDX-License-Identifier: MIT */
/*
 * Expansion of variables and macros in a value:
 *
 *	${NAME}  ${NAME:-text}    a variable; `text` if it is not set or empty
 *	%r %l %n %h %j %s %%      rank, local rank, node, host, run, stream, a %
 *	%05r                      numbers may have a width
 *
 * $${ is a literal ${. Nothing else is expanded, and the result is not expanded again.
 */
#ifndef GM_EXPAND_H
#define GM_EXPAND_H

#include "report/report.h"
#include "strbuf.h"
#include "text.h"

struct expand_error {
	const char *at; /* in the text */
	const char *fix;
	char text[160];
	/* all variables are known, but the result would have more than INIFILE_MAX_VALUE bytes */
	bool is_long;
};

/* Returns the value of a variable; NULL if it is not set. */
typedef const char *expand_lookup(const void *data, struct span name);

/* Appends the text with its variables expanded. `macros`: the text goes through expand_macros
 * later, so each % in the value of a variable is doubled. False with *error filled: the text is
 * malformed, a variable is not set, or the result is too long. If `lookup` is NULL, it checks only
 * whether the text is well-formed. */
bool expand_variables(struct strbuf *buf, struct span text, bool macros, expand_lookup *lookup,
		      const void *data, struct expand_error *error);

/* Whether the text names a variable. */
bool expand_has_variable(struct span text);

/* Calls fn(data, name) for the variables named in a well-formed text. */
void expand_each_variable(struct span text, void (*fn)(void *data, struct span name), void *data);

/* The values of macros; -1 and NULL: not known here. */
struct macros {
	int64_t rank, local_rank, node;
	const char *host, *run, *stream;
};

/* Whether the macros are well-formed; `stream` allows %s. */
bool expand_check_macros(struct span text, bool stream, struct expand_error *error);

/* Appends the text with its macros expanded. False: the text is malformed, or a macro is not known
 * here. */
bool expand_macros(struct strbuf *buf, struct span text, const struct macros *macros,
		   struct expand_error *error);

#endif
