/* SPDX-License-Identifier: MIT */
/* See python_text.h. */
#include "lint/python_text.h"

#include "gpumap.h"

void python_open(struct python_text *p, struct span text)
{
	span_skip(&text, "\xef\xbb\xbf");
	*p = (struct python_text){.text = text, .line = 1};
}

void python_close(struct python_text *p)
{
	free(p->tokens);
}

bool token_is_any(const struct python_token *token, const char *words)
{
	return (token->kind == PYTHON_NAME || token->kind == PYTHON_SIGN) &&
	       span_is_any(token->text, words);
}

/* Steps over the line break at p->at; \r\n is one. */
static void step_break(struct python_text *p)
{
	p->at += peek(p, p->at) == '\r' && peek(p, p->at + 1) == '\n' ? 2 : 1;
	p->line++;
	p->line_start = p->at;
}

static bool begins_name(char c)
{
	return is_letter(c) || c == '_' || (c & 0x80);
}

bool python_in_name(char c)
{
	return begins_name(c) || is_digit(c);
}

static size_t sign_length(const struct python_text *p)
{
	char c = peek(p, p->at), d = peek(p, p->at + 1);

	if ((c == '*' || c == '/' || c == '<' || c == '>') && d == c)
		return peek(p, p->at + 2) == '=' ? 3 : 2;
	if (c == '-' && d == '>')
		return 2;
	return c && strchr("=!<>+-*/%&|^@:", c) && d == '=' ? 2 : 1;
}

static void read_token(struct python_text *p, struct python_token *token)
{
	size_t start = p->at, prefix = python_string_prefix(p), n = 1;
	char c = peek(p, p->at);

	*token = (struct python_token){
		.line = p->line,
		.column = (int)(p->at - p->line_start) + 1,
	};
	if (prefix != SIZE_MAX) {
		python_read_string(p, token, prefix);
		return;
	}
	if (begins_name(c)) {
		token->kind = PYTHON_NAME;
		while (python_in_name(peek(p, start + n)))
			n++;
	} else if (is_digit(c)) {
		token->kind = PYTHON_NUMBER;
		while (python_in_name(peek(p, start + n)) ||
		       (peek(p, start + n) == '.' && is_digit(peek(p, start + n + 1))))
			n++;
	} else {
		token->kind = PYTHON_SIGN;
		n = sign_length(p);
	}
	token->text = (struct span){p->text.text + start, n};
	p->at = start + n;
}

/* A backslash and its line break. */
static void join(struct python_text *p)
{
	p->at++;
	step_break(p);
}

/* Skips blanks, comments and joined lines; inside brackets line breaks too. */
static void skip(struct python_text *p, bool inside)
{
	for (;;) {
		char c = peek(p, p->at);

		if (p->at >= p->text.length)
			return;
		if (c == ' ' || c == '\t' || c == '\f')
			p->at++;
		else if (c == '\\' && is_break(peek(p, p->at + 1)))
			join(p);
		else if (c == '#')
			while (p->at < p->text.length && !is_break(peek(p, p->at)))
				p->at++;
		else if (inside && is_break(c))
			step_break(p);
		else
			return;
	}
}

/* Goes to the first token of a line that has one. */
static void skip_empty_lines(struct python_text *p)
{
	size_t before;

	do {
		before = p->at;
		p->indent = 0;
		for (; peek(p, p->at) == ' ' || peek(p, p->at) == '\t' || peek(p, p->at) == '\f';
		     p->at++)
			p->indent = peek(p, p->at) == ' ' ? p->indent + 1 : (p->indent / 8 + 1) * 8;
		skip(p, false);
		if (p->at < p->text.length && is_break(peek(p, p->at)))
			step_break(p);
		else
			return;
	} while (p->at > before);
}

/* Whether no bracket can contain this word, so that an open bracket was never closed. */
static bool begins_statement(const struct python_token *token)
{
	return token->kind == PYTHON_NAME &&
	       span_is_any(
		       token->text,
		       "def class return import while try raise assert global pass except finally");
}

/* The open brackets. */
struct brackets {
	unsigned at[MAX_BRACKETS];
	int count, line;
};

/* 1: the token opens a bracket, -1: it closes one. */
static int bracket_of(const struct python_token *token)
{
	if (token->kind != PYTHON_SIGN || token->text.length != 1 || !*token->text.text)
		return 0;
	if (strchr("([{", *token->text.text))
		return 1;
	return strchr(")]}", *token->text.text) ? -1 : 0;
}

static void bracket(struct python_text *p, struct brackets *open, const struct python_token *token)
{
	int step = bracket_of(token);

	if (step > 0) {
		if (open->count < MAX_BRACKETS)
			open->at[open->count] = p->count;
		open->line = open->count++ ? open->line : token->line;
	} else if (step < 0 && open->count) {
		if (--open->count < MAX_BRACKETS && open->at[open->count] < MAX_TOKENS)
			p->tokens[open->at[open->count]].past = p->count + !p->cut;
	}
}

/* Goes back to the start of the line if only blanks come before. */
static void back_to_line(struct python_text *p)
{
	size_t at = p->at;

	while (at > p->line_start && (peek(p, at - 1) == ' ' || peek(p, at - 1) == '\t'))
		at--;
	if (at == p->line_start)
		p->at = at;
}

/* Reads one token. False: it was the end of the statement. */
static bool take(struct python_text *p, struct brackets *open)
{
	struct python_token token;
	struct python_text before;

	skip(p, open->count > 0);
	if (p->at >= p->text.length || (!open->count && is_break(peek(p, p->at))))
		return false;
	if (!open->count && peek(p, p->at) == ';')
		return false;
	before = *p;
	read_token(p, &token);
	if (open->count && begins_statement(&token)) {
		*p = before;
		p->broken = p->broken ? p->broken : open->line;
		back_to_line(p);
		return false;
	}
	p->cut |= p->count == MAX_TOKENS;
	bracket(p, open, &token);
	if (p->cut)
		return true;
	token.past = p->count + 1;
	*ARRAY_NEXT(p->tokens, p->count, p->room) = token;
	return true;
}

/* A bracket that was not closed reaches to the end. */
static void close_all(struct python_text *p, struct brackets *open)
{
	if (open->count && !p->broken && p->at >= p->text.length)
		p->broken = open->line;
	while (open->count)
		if (--open->count < MAX_BRACKETS && open->at[open->count] < p->count)
			p->tokens[open->at[open->count]].past = p->count;
}

bool python_next(struct python_text *p)
{
	struct brackets open;

	open.count = open.line = 0;
	p->count = 0;
	p->cut = false;
	while (!p->count && p->at < p->text.length) {
		if (peek(p, p->at) == ';') {
			p->at++;
			p->indent = -1;
			skip(p, false);
		} else {
			if (is_break(peek(p, p->at)))
				step_break(p);
			skip_empty_lines(p);
		}
		while (take(p, &open))
			;
		close_all(p, &open);
	}
	return p->count > 0;
}
