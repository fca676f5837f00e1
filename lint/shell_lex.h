/* SPDX-License-Identifier: MIT */
/*
 * The tokens of the shell language: words with their quotes, operators, newlines. Comments,
 * continued lines and the bodies of here-documents are passed over. Each character is read
 * once for every level of $(...) around it.
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
	LEXER_UNCLOSED, /* `wrong` opens what nothing closes */
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
	const char *missing; /* what would close it */
	struct {
		struct span delimiter; /* with its quotes */
		bool tabs;             /* <<- */
	} here_docs[LEXER_HERE_DOCS];
	int here_doc_count;
};

/* The next token; TOKEN_END also where the state is no longer good. */
struct token lexer_next(struct lexer *lx);

struct place lexer_place(const struct lexer *lx);

/* Passes over what begins at the cursor: '...' behind its quote, "..." likewise, `...`
 * likewise, and $... with its dollar. */
void lexer_single(struct lexer *lx);
void lexer_double(struct lexer *lx);
void lexer_backtick(struct lexer *lx);
void lexer_dollar(struct lexer *lx, bool quoted);
/* ((...)), with the second bracket on; the text inside. */
struct span lexer_arithmetic(struct lexer *lx);

/* Behind a bracket: the commands up to the one that closes it. */
void lexer_commands(struct lexer *lx);
/* The rest of a word. */
void lexer_word(struct lexer *lx);
/* One level more; false: too many. The caller takes it off again. */
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

/* A backslash and the character that it takes. */
static inline void lexer_advance_escaped(struct lexer *lx)
{
	lexer_advance(lx);
	if (lx->at < lx->end)
		lexer_advance(lx);
}

/* The length of the name (of a variable) that text begins with. */
size_t shell_name(struct span text);

#endif
