/* SPDX-License-Identifier: MIT */
/* Operators, here-documents and comments. */
#include "lint/shell_lex.h"

/* A line of a here-document ends it. */
static bool is_delimiter(struct span line, struct span delimiter, bool tabs)
{
	size_t i = 0, j = 0;

	while (tabs && i < line.length && line.text[i] == '\t')
		i++;
	if (line.length > i && line.text[line.length - 1] == '\r')
		line.length--;
	for (; j < delimiter.length; j++) {
		if (strchr("'\"\\", delimiter.text[j]))
			continue;
		if (i == line.length || line.text[i++] != delimiter.text[j])
			return false;
	}
	return i == line.length;
}

static void here_documents(struct lexer *lx)
{
	for (int i = 0; i < lx->here_doc_count; i++) {
		bool found = false;

		while (lx->at < lx->end && !found) {
			const char *line = lx->text + lx->at;
			const char *end = memchr(line, '\n', lx->end - lx->at);
			size_t length = end ? (size_t)(end - line) : lx->end - lx->at;

			found = is_delimiter((struct span){line, length},
					     lx->here_docs[i].delimiter, lx->here_docs[i].tabs);
			lx->at += length;
			if (end)
				lexer_advance(lx);
		}
	}
	lx->here_doc_count = 0;
}

/* Blanks, continued lines and comments. */
static void skip_blanks(struct lexer *lx)
{
	while (!lexer_at_end(lx)) {
		char c = lexer_peek(lx, 0), next = lexer_peek(lx, 1);

		if (c == '#') {
			while (lx->at < lx->end && lexer_peek(lx, 0) != '\n')
				lx->at++;
			return;
		}
		if (c == '\\' && next == '\r' && lexer_peek(lx, 2) == '\n')
			lx->at += 2, lexer_advance(lx);
		else if (c == '\\' && next == '\n')
			lexer_advance_escaped(lx);
		else if (c == ' ' || c == '\t' ||
			 (c == '\r' && (next == '\n' || lx->at + 1 == lx->end)))
			lexer_advance(lx);
		else
			return;
	}
}

static size_t operator_length(struct span rest, enum token_kind *kind)
{
	static const char *const redirections[] = {"<<<", "<<-", "&>>", "<<", "<&", "<>",
						   ">>",  ">&",  ">|",  "&>", "<",  ">"};
	static const char *const operators[] = {";;&", ";;", ";&", "&&", "||", "|&",
						";",   "&",  "|",  "(",  ")"};

	if (!rest.length || !*rest.text || !strchr("<>&|;()", *rest.text))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(redirections); i++)
		if (span_starts(rest, redirections[i])) {
			*kind = TOKEN_REDIRECTION;
			return strlen(redirections[i]);
		}
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (span_starts(rest, operators[i])) {
			*kind = TOKEN_OPERATOR;
			return strlen(operators[i]);
		}
	return 0;
}

static void redirection(struct lexer *lx, struct token *t)
{
	bool here = span_is(t->text, "<<") || span_is(t->text, "<<-");
	size_t start;

	skip_blanks(lx);
	start = lx->at;
	lexer_word(lx);
	if (!here || start == lx->at || lx->here_doc_count == LEXER_HERE_DOCS)
		return;
	lx->here_docs[lx->here_doc_count].delimiter =
		(struct span){lx->text + start, lx->at - start};
	lx->here_docs[lx->here_doc_count++].tabs = t->text.length == 3;
}

/* The number of a descriptor before < or >, and <( or >( , which are words. */
static size_t descriptor(const struct lexer *lx)
{
	size_t n = 0;

	while (is_digit(lexer_peek(lx, n)))
		n++;
	return lexer_peek(lx, n) == '<' || lexer_peek(lx, n) == '>' ? n : 0;
}

struct token lexer_next(struct lexer *lx)
{
	struct token t = {.kind = TOKEN_END};
	struct span rest;
	size_t n;

	skip_blanks(lx);
	t.at = lexer_place(lx);
	if (lexer_at_end(lx))
		return t;
	if (lexer_peek(lx, 0) == '\n') {
		t.kind = TOKEN_NEWLINE;
		lexer_advance(lx);
		here_documents(lx);
		return t;
	}
	lx->at += descriptor(lx);
	rest = (struct span){lx->text + lx->at, lx->end - lx->at};
	n = operator_length(rest, &t.kind);
	if (n == 1 && t.kind == TOKEN_REDIRECTION && lexer_peek(lx, 1) == '(') {
		t.kind = TOKEN_WORD;
		lx->at += 2;
		if (lexer_deeper(lx))
			lexer_commands(lx);
		lx->depth--;
	} else if (n) {
		t.text = (struct span){rest.text, n};
		lx->at += n;
		if (t.kind == TOKEN_REDIRECTION)
			redirection(lx, &t);
	} else {
		t.kind = TOKEN_WORD;
		lexer_word(lx);
	}
	if (t.kind == TOKEN_WORD)
		t.text = (struct span){rest.text, (size_t)(lx->text + lx->at - rest.text)};
	if (lx->state != LEXER_GOOD)
		t.kind = TOKEN_END;
	return t;
}
