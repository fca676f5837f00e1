/* SPDX-License-Identifier: MIT */
/* The grammar of values: quotes, escapes, comments, lists. */
#include "strbuf.h"
#include "text/inifile.h"

static bool opens(char c, char before)
{
	if (c == '"')
		return true;
	return c == '\'' && (is_space(before) || (before && strchr(",:=", before)));
}

static int hex_value(char c)
{
	return is_digit(c) ? c - '0' : (c | 32) - 'a' + 10;
}

size_t inifile_escape(struct span s, char *meaning)
{
	static const char names[] = "\"\\ntr", meanings[] = "\"\\\n\t\r";
	const char *found;

	if (s.length < 2)
		return 0;
	if (s.text[1] == 'x') {
		if (s.length < 4 || !is_hex(s.text[2]) || !is_hex(s.text[3]))
			return 0;
		*meaning = (char)(hex_value(s.text[2]) * 16 + hex_value(s.text[3]));
		return *meaning ? 4 : 0;
	}
	found = s.text[1] ? strchr(names, s.text[1]) : NULL;
	if (!found)
		return 0;
	*meaning = meanings[found - names];
	return 2;
}

/* The length of the quoted piece at s with both its quotes, 0 on an error. */
static size_t quoted_length(struct span s, const char **wrong, const char **why)
{
	size_t i = 1;
	char meaning;

	while (i < s.length && s.text[i] != s.text[0]) {
		size_t n = 1;

		if (s.text[0] == '"' && s.text[i] == '\\')
			n = inifile_escape(span_behind(s, i), &meaning);
		if (!n) {
			*wrong = s.text + i;
			*why = "no such escape";
			return 0;
		}
		i += n;
	}
	if (i < s.length)
		return i + 1;
	*wrong = s.text;
	*why = "a quote is not closed";
	return 0;
}

size_t inifile_value_length(struct span s, char before, const char **wrong, const char **why)
{
	size_t i = 0;

	*wrong = NULL;
	while (i < s.length) {
		size_t n = 1;

		if ((s.text[i] == '#' || s.text[i] == ';') && is_space(before))
			break;
		if (opens(s.text[i], before))
			n = quoted_length(span_behind(s, i), wrong, why);
		if (!n)
			break;
		i += n;
		before = s.text[i - 1];
	}
	return i;
}

const char *inifile_value_fix(const char *wrong)
{
	return *wrong == '\\' ? "known are \\\" \\\\ \\n \\t \\r \\xNN; '...' keeps backslashes"
			      : "close it; \\\" is a quote inside \"...\"";
}

size_t inifile_text_length(struct span s)
{
	size_t i = 0;

	while (i < s.length) {
		size_t n = utf8_length(s.text + i, s.length - i);
		unsigned c = (unsigned char)s.text[i];

		if (!n || (c < 0x20 && c != '\t') || c == 0x7f)
			break;
		i += n;
	}
	return i;
}

void inifile_fold(struct strbuf *buf, struct span list)
{
	const char *wrong, *why;
	char before = ' ';

	list = span_trim(list);
	for (size_t i = 0; i < list.length;) {
		char c = list.text[i];
		size_t n = opens(c, before) ? quoted_length(span_behind(list, i), &wrong, &why) : 0;

		if (n)
			strbuf_add(buf, list.text + i, n);
		else
			strbuf_add(buf, is_space(c) && c != '\t' ? " " : &c, n = 1);
		i += n;
		before = list.text[i - 1];
	}
}

bool inifile_item(struct span *rest, struct span *item)
{
	const char *wrong, *why;
	char before = ' ';
	size_t i = 0;

	if (!rest->text)
		return false;
	while (i < rest->length && rest->text[i] != ',') {
		size_t n = 1;

		if (opens(rest->text[i], before))
			n = quoted_length(span_behind(*rest, i), &wrong, &why);
		i += n ? n : 1;
		before = rest->text[i - 1];
	}
	*item = span_trim((struct span){rest->text, i});
	*rest = i < rest->length ? span_behind(*rest, i + 1) : (struct span){NULL, 0};
	return true;
}

static void decode_quoted(struct strbuf *buf, struct span inside, bool escapes)
{
	for (size_t i = 0; i < inside.length;) {
		char c = inside.text[i];
		size_t n = escapes && c == '\\' ? inifile_escape(span_behind(inside, i), &c) : 1;

		strbuf_add(buf, &c, 1);
		i += n ? n : 1;
	}
}

void inifile_decode(struct strbuf *buf, struct span value)
{
	const char *wrong, *why;
	char before = ' ';

	for (size_t i = 0; i < value.length;) {
		size_t n = opens(value.text[i], before)
				   ? quoted_length(span_behind(value, i), &wrong, &why)
				   : 0;

		if (n)
			decode_quoted(buf, (struct span){value.text + i + 1, n - 2},
				      value.text[i] == '"');
		else
			strbuf_add(buf, value.text + i, n = 1);
		i += n;
		before = value.text[i - 1];
	}
}

static bool is_plain(struct span text)
{
	if (!text.length || is_space(text.text[0]) || is_space(text.text[text.length - 1]))
		return false;
	for (size_t i = 0; i < text.length; i++) {
		char c = text.text[i];

		if (!is_digit(c) && !((c | 32) >= 'a' && (c | 32) <= 'z') &&
		    !(c && strchr(" ,._:/+()@-%${}", c)))
			return false;
	}
	return true;
}

void inifile_encode(struct strbuf *buf, struct span text)
{
	if (is_plain(text))
		strbuf_add(buf, text.text, text.length);
	else
		inifile_quote(buf, text);
}

void inifile_quote(struct strbuf *buf, struct span text)
{
	strbuf_puts(buf, "\"");
	for (size_t i = 0; i < text.length;) {
		size_t n = utf8_length(text.text + i, text.length - i);
		char c = text.text[i];

		if (c == '"' || c == '\\')
			strbuf_printf(buf, "\\%c", c);
		else if (!n || (unsigned char)c < 0x20 || c == 0x7f)
			strbuf_printf(buf, "\\x%02x", (unsigned)(unsigned char)c);
		else
			strbuf_add(buf, text.text + i, n);
		i += n ? n : 1;
	}
	strbuf_puts(buf, "\"");
}
