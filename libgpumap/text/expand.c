/* SPDX-License-Identifier: MIT */
/* See expand.h. */
#include "text/expand.h"

#include <stdio.h>

#include "text/inifile.h"

static bool PRINTF(4, 5)
	wrong(struct expand_error *error, const char *at, const char *fix, const char *format, ...)
{
	va_list args;

	*error = (struct expand_error){.at = at, .fix = fix};
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return false;
}

static bool is_name_char(char c, bool first)
{
	return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || (!first && is_digit(c));
}

struct reference {
	size_t length; /* of the whole ${...} */
	struct span name, fallback;
	bool has_fallback;
};

/* Reads the reference ${...} at the beginning of s. */
static bool reference(struct span s, struct reference *ret, struct expand_error *error)
{
	const char *end = memchr(s.text, '}', s.length);
	struct span inside;
	size_t n = 0;

	if (!end)
		return wrong(error, s.text, "write $${ for these two characters", "${ without a }");
	inside = (struct span){s.text + 2, (size_t)(end - s.text) - 2};
	while (n < inside.length && is_name_char(inside.text[n], n == 0))
		n++;
	*ret = (struct reference){.length = inside.length + 3, .name = {inside.text, n}};
	if (!n || (n < inside.length && !span_starts(span_behind(inside, n), ":-")))
		return wrong(error, s.text, "write ${NAME} or ${NAME:-text}", "no variable");
	if (n < inside.length) {
		ret->has_fallback = true;
		ret->fallback = span_behind(inside, n + 2);
	}
	for (size_t i = 1; i < ret->fallback.length; i++)
		if (ret->fallback.text[i] == '{' && ret->fallback.text[i - 1] == '$')
			return wrong(error, ret->fallback.text + i - 1,
				     "write the text itself after :-", "${ inside ${...}");
	return true;
}

static void add_value(struct strbuf *buf, struct span value, bool macros)
{
	for (size_t i = 0; i < value.length; i++) {
		if (macros && value.text[i] == '%')
			strbuf_puts(buf, "%");
		strbuf_add(buf, value.text + i, 1);
	}
}

bool expand_variables(struct strbuf *buf, struct span text, bool macros, expand_lookup *lookup,
		      const void *data, struct expand_error *error)
{
	size_t begin = buf->length;

	for (size_t i = 0; i < text.length;) {
		struct span rest = span_behind(text, i);
		struct reference r;
		const char *value;

		if (lookup && buf->length - begin > INIFILE_MAX_VALUE)
			break;
		if (span_starts(rest, "$${")) {
			strbuf_puts(buf, "${");
			i += 3;
			continue;
		}
		if (!span_starts(rest, "${")) {
			strbuf_add(buf, rest.text, 1);
			i++;
			continue;
		}
		if (!reference(rest, &r, error))
			return false;
		i += r.length;
		if (!lookup)
			continue;
		value = lookup(data, r.name);
		if (r.has_fallback && (!value || !*value))
			strbuf_add(buf, r.fallback.text, r.fallback.length);
		else if (value)
			add_value(buf, span_of(value), macros);
		else
			return wrong(error, rest.text, "set it, or write ${NAME:-text}",
				     "the variable %.*s is not set",
				     (int)(r.name.length < 64 ? r.name.length : 64), r.name.text);
	}
	if (!lookup || buf->length - begin <= INIFILE_MAX_VALUE)
		return true;
	wrong(error, text.text, "shorten it", "with its variables it has more than %d bytes",
	      INIFILE_MAX_VALUE);
	error->is_long = true;
	return false;
}

bool expand_has_variable(struct span text)
{
	for (size_t i = 1; i < text.length; i++)
		if (text.text[i] == '{' && text.text[i - 1] == '$')
			return true;
	return false;
}

void expand_each_variable(struct span text, void (*fn)(void *data, struct span name), void *data)
{
	struct expand_error error;
	struct reference r;

	for (size_t i = 0; i < text.length; i++) {
		struct span rest = span_behind(text, i);

		if (span_starts(rest, "$${"))
			i += 2;
		else if (span_starts(rest, "${") && reference(rest, &r, &error))
			fn(data, r.name);
	}
}

struct macro {
	char letter;
	int width;
	bool zero;
	size_t length;
};

/* Reads the macro at the beginning of s, which begins with %. */
static bool macro(struct span s, struct macro *ret, struct expand_error *error)
{
	size_t i = 1;

	*ret = (struct macro){0};
	if (i < s.length && s.text[i] == '0') {
		ret->zero = true;
		i++;
	}
	for (; i < s.length && is_digit(s.text[i]) && ret->width < 10; i++)
		ret->width = ret->width * 10 + (s.text[i] - '0');
	if (i < s.length && strchr("rlnhjs%", s.text[i]) && s.text[i])
		ret->letter = s.text[i];
	ret->length = i + 1;
	if (!ret->letter)
		return wrong(error, s.text,
			     "known are %r %l %n %h %j %s; write %% for a percent sign",
			     "no such macro");
	if (i > 1 && !strchr("rln", ret->letter))
		return wrong(error, s.text, "only %r %l %n have one", "a width before %c",
			     ret->letter);
	return true;
}

bool expand_check_macros(struct span text, bool stream, struct expand_error *error)
{
	struct macro m;

	for (size_t i = 0; i < text.length;) {
		if (text.text[i] != '%') {
			i++;
			continue;
		}
		if (!macro(span_behind(text, i), &m, error))
			return false;
		if (m.letter == 's' && !stream)
			return wrong(error, text.text + i, "write %% for a percent sign",
				     "%%s has a meaning in log_file only");
		i += m.length;
	}
	return true;
}

static bool add_number(struct strbuf *buf, const struct macro *m, int64_t n)
{
	if (n < 0)
		return false;
	strbuf_printf(buf, m->zero ? "%0*lld" : "%*lld", m->width, (long long)n);
	return true;
}

static bool add_text(struct strbuf *buf, const char *text)
{
	if (text)
		strbuf_puts(buf, text);
	return text;
}

static bool add_macro(struct strbuf *buf, const struct macro *m, const struct macros *macros)
{
	switch (m->letter) {
	case 'r':
		return add_number(buf, m, macros->rank);
	case 'l':
		return add_number(buf, m, macros->local_rank);
	case 'n':
		return add_number(buf, m, macros->node);
	case 'h':
		return add_text(buf, macros->host);
	case 'j':
		return add_text(buf, macros->run);
	case 's':
		return add_text(buf, macros->stream);
	default:
		return add_text(buf, "%");
	}
}

bool expand_macros(struct strbuf *buf, struct span text, const struct macros *macros,
		   struct expand_error *error)
{
	for (size_t i = 0; i < text.length;) {
		struct macro m;

		if (text.text[i] != '%') {
			strbuf_add(buf, text.text + i, 1);
			i++;
			continue;
		}
		if (!macro(span_behind(text, i), &m, error))
			return false;
		if (!add_macro(buf, &m, macros))
			return wrong(error, text.text + i, NULL, "%%%c is not known here",
				     m.letter);
		i += m.length;
	}
	return true;
}
