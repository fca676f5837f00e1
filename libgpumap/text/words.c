/* SPDX-License-Identifier: MIT */
/* See words.h. */
#include "text/words.h"

#include "text/inifile.h"

static bool wrong(struct words_error *error, const char *at, const char *text, const char *fix)
{
	*error = (struct words_error){at, text, fix};
	return false;
}

static void take(struct span *rest, size_t n)
{
	rest->text += n;
	rest->length -= n;
}

/* Adds one character that begins neither ${ nor a macro. */
static void add_literal(struct strbuf *word, struct span rest)
{
	if (rest.length > 1 && rest.text[0] == '$' && rest.text[1] == '{')
		strbuf_puts(word, "$");
	if (*rest.text == '%')
		strbuf_puts(word, "%");
	strbuf_add(word, rest.text, 1);
}

static bool single_quoted(struct span *rest, struct strbuf *word, struct words_error *error)
{
	const char *open = rest->text;

	for (take(rest, 1); rest->length && *rest->text != '\''; take(rest, 1))
		add_literal(word, *rest);
	if (!rest->length)
		return wrong(error, open, "a quote is not closed", "close it with '");
	take(rest, 1);
	return true;
}

static bool double_quoted(struct span *rest, struct strbuf *word, struct words_error *error)
{
	const char *open = rest->text;

	take(rest, 1);
	while (rest->length && *rest->text != '"') {
		char c = *rest->text;
		size_t n = c == '\\' ? inifile_escape(*rest, &c) : 1;

		if (!n)
			return wrong(error, rest->text, "no such escape",
				     inifile_value_fix(rest->text));
		strbuf_add(word, &c, 1);
		take(rest, n);
	}
	if (!rest->length)
		return wrong(error, open, "a quote is not closed", "close it with \"");
	take(rest, 1);
	return true;
}

/* "${NAME:-a b}" is one piece. Without its closing brace it is an error of expand.h. */
static size_t reference_length(struct span rest)
{
	const char *end;

	if (rest.length < 2 || rest.text[1] != '{')
		return 1;
	end = memchr(rest.text, '}', rest.length);
	return end ? (size_t)(end - rest.text) + 1 : 1;
}

static bool piece(struct span *rest, struct strbuf *word, struct words_error *error)
{
	size_t n;

	switch (*rest->text) {
	case '\'':
		return single_quoted(rest, word, error);
	case '"':
		return double_quoted(rest, word, error);
	case '\\':
		if (rest->length < 2)
			return wrong(error, rest->text, "a backslash at the end",
				     "write \\\\ for a backslash");
		take(rest, 1);
		add_literal(word, *rest);
		take(rest, 1);
		return true;
	case '$':
		n = rest->length > 2 && rest->text[1] == '$' && rest->text[2] == '{'
			    ? 3 /* a literal ${ */
			    : reference_length(*rest);
		strbuf_add(word, rest->text, n);
		take(rest, n);
		return true;
	default:
		strbuf_add(word, rest->text, 1);
		take(rest, 1);
		return true;
	}
}

bool words_next(struct span *rest, struct strbuf *word, struct words_error *error)
{
	*error = (struct words_error){0};
	while (rest->length && is_space(*rest->text))
		take(rest, 1);
	if (!rest->length)
		return false;
	strbuf_puts(word, ""); /* '' is an empty word */
	while (rest->length && !is_space(*rest->text))
		if (!piece(rest, word, error))
			return false;
	return !word->failed;
}

static bool is_plain(struct span word, const char *signs)
{
	for (size_t i = 0; i < word.length; i++) {
		char c = word.text[i];

		if (!is_digit(c) && ((c | 32) < 'a' || (c | 32) > 'z') && !(c && strchr(signs, c)))
			return false;
	}
	return word.length;
}

void words_encode(struct strbuf *buf, struct span word)
{
	if (is_plain(word, "_-./:=@,+%${}"))
		strbuf_add(buf, word.text, word.length);
	else
		inifile_quote(buf, word);
}

void words_quote(struct strbuf *buf, const char *word)
{
	if (is_plain(span_of(word), "_-./:=@,+")) {
		strbuf_puts(buf, word);
		return;
	}
	strbuf_puts(buf, "'");
	for (; *word; word++) {
		if (*word == '\'')
			strbuf_puts(buf, "'\\''");
		else
			strbuf_add(buf, word, 1);
	}
	strbuf_puts(buf, "'");
}
