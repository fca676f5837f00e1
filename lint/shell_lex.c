/* SPDX-License-Identifier: MIT */
/* See shell_lex.h. */
#include "lint/shell_lex.h"

struct place lexer_place(const struct lexer *lx)
{
	return (struct place){lx->line, (int)(lx->at - lx->line_start) + 1};
}

static void unclosed(struct lexer *lx, struct place open, const char *missing)
{
	if (lx->state != LEXER_GOOD)
		return;
	lx->state = LEXER_UNCLOSED;
	lx->wrong = open;
	lx->missing = missing;
}

size_t shell_name(struct span text)
{
	size_t n = 0;

	while (n < text.length &&
	       (text.text[n] == '_' || is_letter(text.text[n]) || (n && is_digit(text.text[n]))))
		n++;
	return n;
}

/* Skips what closes the quote or bracket before `open`. */
static void close_it(struct lexer *lx, struct place open, const char *missing)
{
	open.column--;
	if (lexer_at_end(lx))
		unclosed(lx, open, missing);
	else
		lexer_advance(lx);
}

/* Goes to `close`; a backslash protects the next character. */
static void until(struct lexer *lx, char close, bool escapes, const char *missing)
{
	struct place open = lexer_place(lx);

	while (!lexer_at_end(lx) && lexer_peek(lx, 0) != close) {
		if (escapes && lexer_peek(lx, 0) == '\\')
			lexer_advance_escaped(lx);
		else
			lexer_advance(lx);
	}
	close_it(lx, open, missing);
}

void lexer_single(struct lexer *lx)
{
	until(lx, '\'', false, "'");
}

/* Finds the comments in the commands between backticks. */
static void backtick_comments(const struct lexer *lx, struct lexer begin)
{
	begin.end = lx->at - 1;
	begin.here_doc_count = 0;
	while (lexer_next(&begin).kind != TOKEN_END)
		;
}

void lexer_backtick(struct lexer *lx)
{
	struct lexer begin = *lx;

	until(lx, '`', true, "`");
	if (lx->comment && lx->state == LEXER_GOOD)
		backtick_comments(lx, begin);
}

/* Skips one character or quoted piece, where quotes have their meaning. */
static void piece(struct lexer *lx, bool quoted)
{
	char c = lexer_peek(lx, 0);

	if (c == '\\') {
		lexer_advance_escaped(lx);
	} else if (c == '$') {
		lexer_dollar(lx, quoted);
	} else {
		lexer_advance(lx);
		if (c == '\'' && !quoted)
			lexer_single(lx);
		else if (c == '"')
			lexer_double(lx);
		else if (c == '`')
			lexer_backtick(lx);
	}
}

void lexer_double(struct lexer *lx)
{
	struct place open = lexer_place(lx);

	while (!lexer_at_end(lx) && lexer_peek(lx, 0) != '"')
		piece(lx, true);
	close_it(lx, open, "\"");
}

/* From after an opening bracket to the one that closes it. */
static void balanced(struct lexer *lx, char open, char close, bool quoted)
{
	struct place begin = lexer_place(lx);
	int depth = 1;

	while (!lexer_at_end(lx)) {
		char c = lexer_peek(lx, 0);

		if (c == close && --depth == 0)
			break;
		if (c == open)
			depth++;
		piece(lx, quoted);
	}
	close_it(lx, begin, close == ')' ? ")" : close == ']' ? "]" : "}");
}

struct span lexer_arithmetic(struct lexer *lx)
{
	size_t start = lx->at;

	if (lx->at < lx->end)
		balanced(lx, '(', ')', true);
	return (struct span){lx->text + start, lx->at - start};
}

static bool begins_command(const struct token *t)
{
	if (t->kind != TOKEN_WORD)
		return t->kind != TOKEN_REDIRECTION;
	return span_is_any(t->text, "then do else elif if ! while until {");
}

/* The brackets of case patterns close nothing. */
void lexer_commands(struct lexer *lx)
{
	struct place open = lexer_place(lx);
	struct lexer in = *lx;
	struct token t = {.kind = TOKEN_NEWLINE};
	int brackets = 0, cases = 0;

	in.here_doc_count = 0;
	for (;;) {
		bool command = begins_command(&t);

		t = lexer_next(&in);
		if (t.kind == TOKEN_END)
			break;
		if (t.kind == TOKEN_WORD && command)
			cases += span_is(t.text, "case")            ? 1
				 : span_is(t.text, "esac") && cases ? -1
								    : 0;
		if (t.kind != TOKEN_OPERATOR)
			continue;
		brackets += span_is(t.text, "(");
		if (!span_is(t.text, ")"))
			continue;
		if (!brackets && !cases)
			break;
		brackets -= brackets > 0;
	}
	if (t.kind == TOKEN_END)
		unclosed(&in, open, ")");
	lx->at = in.at;
	lx->line = in.line;
	lx->line_start = in.line_start;
	lx->state = in.state;
	lx->wrong = in.wrong;
	lx->missing = in.missing;
}

bool lexer_deeper(struct lexer *lx)
{
	if (++lx->depth <= LEXER_DEPTH)
		return true;
	lx->state = LEXER_TOO_DEEP;
	lx->wrong = lexer_place(lx);
	return false;
}

/* After ${: whether the name is followed by a pattern, in which single quotes count even inside
 * double quotes. */
static bool has_pattern(const struct lexer *lx)
{
	struct span rest = {lx->text + lx->at, lx->end - lx->at};
	size_t n = shell_name(rest);

	return n && n < rest.length && strchr("#%/", rest.text[n]);
}

void lexer_dollar(struct lexer *lx, bool quoted)
{
	char c;

	lexer_advance(lx);
	c = lexer_peek(lx, 0);
	if (c == '$') { /* $$, and the rest has its own quoting */
		lexer_advance(lx);
		return;
	}
	if (!lexer_deeper(lx))
		return;
	if (c == '(' && lexer_peek(lx, 1) == '(') {
		lexer_advance(lx);
		balanced(lx, '(', ')', true);
	} else if (c == '(') {
		lexer_advance(lx);
		lexer_commands(lx);
	} else if (c == '[') {
		lexer_advance(lx);
		balanced(lx, '[', ']', true);
	} else if (c == '{') {
		lexer_advance(lx);
		balanced(lx, '{', '}', quoted && !has_pattern(lx));
	} else if (c == '\'' && !quoted) {
		lexer_advance(lx);
		until(lx, '\'', true, "'");
	}
	lx->depth--;
}

/* Whether the word so far is NAME= or NAME+=, or ends as an extended pattern. */
static bool takes_bracket(struct span word)
{
	size_t n = shell_name(word);
	char last = word.length ? word.text[word.length - 1] : ' ';

	if (last == '=')
		return n && (n + 1 == word.length || (n + 2 == word.length && word.text[n] == '+'));
	return last == '@' || last == '?' || last == '*' || last == '+' || last == '!';
}

static bool ends_word(const struct lexer *lx, struct span word)
{
	char c = lexer_peek(lx, 0);

	if (c == '\r')
		return lexer_peek(lx, 1) == '\n' || lx->at + 1 == lx->end;
	return c == '(' ? !takes_bracket(word) : c && strchr(" \t\n;&|)<>", c);
}

void lexer_word(struct lexer *lx)
{
	size_t start = lx->at;

	while (!lexer_at_end(lx)) {
		struct span got = {lx->text + start, lx->at - start};

		if (ends_word(lx, got))
			break;
		if (lexer_peek(lx, 0) == '(') {
			lexer_advance(lx);
			if (!lexer_deeper(lx))
				break;
			/* Reads an array: its elements are words, with comments between. */
			lexer_commands(lx);
			lx->depth--;
		} else {
			piece(lx, false);
		}
	}
}

/* --- tokens ---------------------------------------------------------------------------------- */

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

/* Skips blanks, continued lines and comments. */
static void skip_blanks(struct lexer *lx)
{
	while (!lexer_at_end(lx)) {
		char c = lexer_peek(lx, 0), next = lexer_peek(lx, 1);

		if (c == '#') {
			size_t start = lx->at;

			while (lx->at < lx->end && lexer_peek(lx, 0) != '\n')
				lx->at++;
			if (lx->comment)
				lx->comment(lx->data,
					    (struct span){lx->text + start, lx->at - start});
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
	/* Of those with one beginning the longest comes first. */
	static const char *const signs[] = {"<<<", "<<-", "&>>", "<<", "<&",  "<>", ">>", ">&",
					    ">|",  "&>",  "<",   ">",  ";;&", ";;", ";&", "&&",
					    "||",  "|&",  ";",   "&",  "|",   "(",  ")"};

	if (!rest.length || !*rest.text || !strchr("<>&|;()", *rest.text))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (span_starts(rest, signs[i])) {
			*kind = strpbrk(signs[i], "<>") ? TOKEN_REDIRECTION : TOKEN_OPERATOR;
			return strlen(signs[i]);
		}
	return 0;
}

static void redirection(struct lexer *lx, struct token *t)
{
	bool here = span_is_any(t->text, "<< <<-");
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

/* The length of a descriptor's number before < or >; also of <( or >( , which are words. */
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
