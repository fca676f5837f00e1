/* SPDX-License-Identifier: MIT */
/*
 * Splits shell source into tokens: words with their quotes, operators, newlines. It skips comments,
 * continued lines and the bodies of here-documents. Each character is read once for every level of
 * $(...) around it.
 */
#ifndef GM_LINT_SHELL_LEX_H
#define GM_LINT_SHELL_LEX_H

#include "text.h"

enum {
	LEXER_DEPTH = 32,    /* nested $(...), ${...} and the like */
	LEXER_HERE_DOCS = 16 /* begun on one line */
};

enum token_kind { TOKEN_END, TOKEN_NEWLINE, TOKEN_WORD, TOKEN_OPERATOR, TOKEN_REDIRECTION };

struct place {
	int line, column; /* 1-based */
};

struct token {
	enum token_kind kind;
	struct span text;
	struct place at;
};

enum lexer_state {
	LEXER_GOOD,
	LEXER_UNCLOSED, /* `wrong` opens something that is not closed */
	LEXER_TOO_DEEP
};

struct lexer {
	const char *text;
	size_t at, end;
	int line;
	size_t line_start;
	int depth;
	enum lexer_state state;
	struct place wrong;
	const char *missing; /* the text that would close it */
	struct {
		struct span delimiter; /* with its quotes */
		bool tabs;             /* <<- */
	} here_docs[LEXER_HERE_DOCS];
	int here_doc_count;
	/* Gets every comment, from # to the end of its line; may be NULL. */
	void (*comment)(void *data, struct span comment);
	void *data; /* of it */
};

/* The next token; TOKEN_END also after an error. */
struct token lexer_next(struct lexer *lx);

struct place lexer_place(const struct lexer *lx);

/* Skip what begins at the cursor. For '...', "..." and `...` the cursor is after the first quote;
 * for
 * $... it is at the dollar. */
void lexer_single(struct lexer *lx);
void lexer_double(struct lexer *lx);
void lexer_backtick(struct lexer *lx);
void lexer_dollar(struct lexer *lx, bool quoted);
/* Skips ((...)) from the second bracket on. Returns the text inside. */
struct span lexer_arithmetic(struct lexer *lx);

/* Skips the commands from after a bracket to the bracket that closes it. */
void lexer_commands(struct lexer *lx);
/* Skips the rest of a word. */
void lexer_word(struct lexer *lx);
/* Enters one level of nesting. False: there are too many. The caller leaves the level again. */
bool lexer_deeper(struct lexer *lx);

static inline char lexer_peek(const struct lexer *lx, size_t ahead)
{
	return lx->end - lx->at > ahead ? lx->text[lx->at + ahead] : '\0';
}

static inline bool lexer_at_end(const struct lexer *lx)
{
	return lx->at >= lx->end || lx->state != LEXER_GOOD;
}

static inline void lexer_advance(struct lexer *lx)
{
	if (lx->text[lx->at++] == '\n') {
		lx->line++;
		lx->line_start = lx->at;
	}
}

/* Skips a backslash and the next character. */
static inline void lexer_advance_escaped(struct lexer *lx)
{
	lexer_advance(lx);
	if (lx->at < lx->end)
		lexer_advance(lx);
}

/* The length of the variable's name at the beginning of text. */
size_t shell_name(struct span text);

#endif
