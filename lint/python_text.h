/* SPDX-License-Identifier: MIT */
/*
 * Splits Python source into statements of tokens. It accepts anything: text that is not Python
 * gives meaningless tokens. The time is linear in the text, the memory that of one statement.
 */
#ifndef GM_PYTHON_TEXT_H
#define GM_PYTHON_TEXT_H

#include "text.h"

enum {
	MAX_TOKENS = 16384, /* tokens of a statement that are examined */
	MAX_BRACKETS = 200  /* nesting depth, as in Python itself */
};

enum python_kind {
	PYTHON_NAME,
	PYTHON_NUMBER,
	PYTHON_STRING,
	PYTHON_FORMAT, /* f"..." */
	PYTHON_SIGN
};

struct python_token {
	enum python_kind kind;
	struct span text; /* of a string, its contents */
	int line, column; /* 1-based, in bytes */
	/* of an opening bracket: the token after the closing one; else the next token */
	unsigned past;
	bool plain; /* a string that means what it shows: no escapes, no bytes */
};

struct python_text {
	struct span text;
	size_t at;
	size_t line_start;
	int line;

	/* The current statement. */
	struct python_token *tokens;
	size_t room;
	unsigned count;
	int indent; /* of its line; -1: it follows a ; on the same line */
	bool cut;   /* it has more than MAX_TOKENS tokens */

	int broken; /* the line of the first bracket or string that is not closed; 0: none */
};

void python_open(struct python_text *p, struct span text);
void python_close(struct python_text *p);

/* Reads the next statement; false at the end. */
bool python_next(struct python_text *p);

/* Whether the character may be in a name. */
bool python_in_name(char c);

/* Whether a token is this sign or name, or one of those, which are separated by blanks. */
static inline bool token_is(const struct python_token *token, const char *text)
{
	return (token->kind == PYTHON_NAME || token->kind == PYTHON_SIGN) &&
	       span_is(token->text, text);
}
bool token_is_any(const struct python_token *token, const char *words);

/* --- python_string.c, for python_text.c ------------------------------------------------- */

/* The character at a place, 0 past the end. */
static inline char peek(const struct python_text *p, size_t at)
{
	return at < p->text.length ? p->text.text[at] : '\0';
}

static inline bool is_break(char c)
{
	return c == '\n' || c == '\r';
}

/* The letters before the quote at p->at; SIZE_MAX: there is no string here. */
size_t python_string_prefix(const struct python_text *p);

/* Reads the string there, after that many letters. */
void python_read_string(struct python_text *p, struct python_token *token, size_t prefix);

#endif
