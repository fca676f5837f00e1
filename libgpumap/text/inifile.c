/* SPDX-License-Identifier: MIT */
/*
 * inih truncates long lines and names, joins indented lines and strips comments, each according to
 * settings that any part of the process may change. So this file parses the lines, and gives inih
 * short tokens in their place, such as "[7]" or "8=8". inih returns the order of sections and
 * entries. A token that it does not return is an error, so that no setting is lost.
 */
#include "text/inifile.h"

#include <stdio.h>
#include <ini.h>

#include "suggest.h"

enum { TOKENS = 10000, LONGEST_TOKEN = 4 };

struct reader {
	struct span rest; /* lines not read yet */
	struct span line;
	int number;
	const char *origin;
	const struct inifile_handler *handler;
	void *data;
	gpumap_report *report;

	struct inifile_entry entry;
	unsigned token;
	char section_token[LONGEST_TOKEN + 1], entry_token[LONGEST_TOKEN + 1];
	bool skip;    /* the section was refused, or there is none yet */
	bool pending; /* inih has the entry and did not return it yet */
	bool stop;
	int errors;
	int code;
};

/* False. */
static bool failed(struct reader *r, int code)
{
	if (r->code == GPUMAP_OK || code != GPUMAP_EINPUT)
		r->code = code;
	if (code != GPUMAP_EINPUT)
		r->stop = true;
	if (++r->errors < INIFILE_MAX_ERRORS || r->stop)
		return false;
	r->stop = true;
	report_add(r->report, FINDING_SYNTAX, ABOUT(.origin = r->origin, .line = r->number),
		   "%d errors; the rest of the file was not read", r->errors);
	return false;
}

/* Columns count characters. */
static int column_of(const struct reader *r, const char *at)
{
	int column = 1;

	for (const char *p = r->line.text; p < at; p++)
		column += ((unsigned char)*p & 0xc0) != 0x80;
	return column;
}

/* Reports what is malformed there: false. */
#define SYNTAX(r, at, remedy, ...) \
	(report_add((r)->report, FINDING_SYNTAX, \
		    ABOUT(.origin = (r)->origin, .line = (r)->number, .column = column_of(r, at), \
			  .fix = (remedy)), \
		    __VA_ARGS__), \
	 failed(r, GPUMAP_EINPUT))

/* Whether the line is UTF-8 without control characters other than tabs. */
static bool check_bytes(struct reader *r)
{
	struct span s = r->line;
	size_t i = inifile_text_length(s);
	unsigned c;

	if (i == s.length)
		return true;
	c = (unsigned char)s.text[i];
	if (utf8_length(s.text + i, s.length - i))
		return SYNTAX(r, s.text + i, "remove it, or write it as \\xNN inside \"...\"",
			      "%s (\\x%02x)", c ? "a control character" : "a NUL byte", c);
	return SYNTAX(r, s.text + i, "save the file as UTF-8", "not UTF-8: the byte \\x%02x", c);
}

static const char *end_of(struct span s)
{
	return s.text + s.length;
}

/* The position of the ] that matches the [ at the beginning of s, 0 if there is none. */
static size_t matching_bracket(struct span s)
{
	size_t depth = 0;

	for (size_t i = 0; i < s.length; i++) {
		depth += s.text[i] == '[';
		depth -= s.text[i] == ']';
		if (!depth)
			return i;
	}
	return 0;
}

/* Reads a section's line. False: it is refused, and so are its entries. */
static bool read_section(struct reader *r, struct span s)
{
	const char *fix = "write [name] alone on its line";
	size_t end = matching_bracket(s);
	struct span name = span_trim((struct span){s.text + 1, end ? end - 1 : 0});
	struct span after = span_trim(span_behind(s, end + 1));
	int code;

	r->skip = true;
	if (!end)
		return SYNTAX(r, end_of(s), "close the section's name with ]",
			      "no ']' after the section's name: '%s'", QUOTE(s));
	if (!name.length)
		return SYNTAX(r, s.text, fix, "a section without a name: '%s'", QUOTE(s));
	if (after.length && *after.text != '#' && *after.text != ';')
		return SYNTAX(r, after.text, fix, "text after a section's name: '%s'",
			      QUOTE(after));
	code = r->handler->section(r->data, name, r->number);
	if (code != GPUMAP_OK)
		return failed(r, code);
	r->entry.section = name;
	r->skip = false;
	return true;
}

static bool is_key_char(char c)
{
	return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '-' ||
	       c == '.';
}

static bool read_key(struct reader *r, struct span key, const char *equals)
{
	const char *fix = "a key has letters, digits and _ - . alone";

	if (!key.length)
		return SYNTAX(r, equals, "write key = value", "no key before '='");
	for (size_t i = 0; i < key.length; i++)
		if (!is_key_char(key.text[i]))
			return SYNTAX(r, key.text + i, fix, "invalid key '%s'", QUOTE(key));
	return true;
}

static bool read_value(struct reader *r, struct span s)
{
	const char *wrong, *why = NULL;
	size_t length = inifile_value_length(s, '=', &wrong, &why);
	struct span value = span_trim((struct span){s.text, length});

	if (wrong)
		return SYNTAX(r, wrong, inifile_value_fix(wrong), "%s: '%s'", why,
			      QUOTE(((struct span){wrong, (size_t)(end_of(s) - wrong)})));
	if (value.length > INIFILE_MAX_WRITTEN)
		return SYNTAX(r, value.text, NULL, "a value of %zu bytes, more than %d",
			      value.length, INIFILE_MAX_WRITTEN);
	r->entry.value = value;
	r->entry.column = column_of(r, value.text);
	return true;
}

/* Reads "key = value". False: there is no entry to hand over. */
static bool read_entry(struct reader *r, struct span s)
{
	const char *equals = memchr(s.text, '=', s.length);
	struct span key;

	if (!equals)
		return SYNTAX(r, s.text, "write key = value, or [section]", "no '=' in '%s'",
			      QUOTE(s));
	key = span_trim((struct span){s.text, (size_t)(equals - s.text)});
	if (!read_key(r, key, equals) ||
	    !read_value(r, (struct span){equals + 1, (size_t)(end_of(s) - equals - 1)}))
		return false;
	if (!r->entry.section.text && !r->skip) {
		SYNTAX(r, key.text, "begin with a [section]",
		       "a key before the first section: '%s'", QUOTE(key));
		r->skip = true;
	}
	r->entry.key = key;
	r->entry.line = r->number;
	r->entry.key_column = column_of(r, key.text);
	return !r->skip;
}

static void spoilt(struct reader *r)
{
	if (r->stop)
		return;
	report_add(r->report, FINDING_SYNTAX, ABOUT(.origin = r->origin, .line = r->number),
		   "the INI library (inih) of this process is set up so that it loses lines");
	r->code = GPUMAP_EINPUT;
	r->stop = true;
}

static void token(struct reader *r, char ret[LONGEST_TOKEN + 1])
{
	r->token = (r->token + 1) % TOKENS;
	snprintf(ret, LONGEST_TOKEN + 1, "%u", r->token);
}

/* Takes the next line off the text. */
static void take_line(struct reader *r)
{
	span_split(&r->rest, '\n', &r->line);
	if (r->line.length && r->line.text[r->line.length - 1] == '\r')
		r->line.length--;
	r->number++;
}

/* inih's reader: the token of the next line that is not empty. */
static char *next_token(char *str, int size, void *stream)
{
	struct reader *r = stream;
	int n = 0;

	if (r->pending)
		spoilt(r);
	while (!n && !r->stop && r->rest.text) {
		struct span s;

		take_line(r);
		s = span_trim(r->line);
		if (!check_bytes(r) || !s.length || *s.text == '#' || *s.text == ';')
			continue;
		if (*s.text == '[') {
			if (!read_section(r, s))
				continue;
			token(r, r->section_token);
			n = snprintf(str, (size_t)size, "[%s]\n", r->section_token);
		} else if (read_entry(r, s)) {
			token(r, r->entry_token);
			n = snprintf(str, (size_t)size, "%s=%s\n", r->entry_token, r->entry_token);
			r->pending = true;
		}
	}
	if (n >= size)
		spoilt(r);
	return n && !r->stop ? str : NULL;
}

/* inih's handler: the token came back. */
static int arrived(void *user, const char *section, const char *name, const char *value)
{
	struct reader *r = user;
	int code;

	if (!name) /* some builds of inih announce sections */
		return 1;
	if (!r->pending || !value || !streq(section, r->section_token) ||
	    !streq(name, r->entry_token) || !streq(value, r->entry_token)) {
		spoilt(r);
		return 1;
	}
	r->pending = false;
	code = r->handler->entry(r->data, &r->entry);
	if (code != GPUMAP_OK)
		failed(r, code);
	return 1;
}

int inifile_read(struct span text, const char *origin, const struct inifile_handler *handler,
		 void *data, gpumap_report *report)
{
	struct reader r = {
		.rest = text.text ? text : (struct span){"", 0},
		.origin = origin,
		.handler = handler,
		.data = data,
		.report = report,
	};
	int result;

	span_skip(&r.rest, "\xef\xbb\xbf");
	result = ini_parse_stream(next_token, &r, arrived, &r);
	if (result == -2)
		return report_nomem(report);
	if (result || r.pending)
		spoilt(&r);
	return r.code;
}

int inifile_key(const struct inifile_entry *entry, const char *const *names, int *lines,
		const char *origin, gpumap_report *report)
{
	const struct about here = {
		.origin = origin, .line = entry->line, .column = entry->key_column};
	struct about about = here;
	const char *nearest;

	for (int i = 0; names[i]; i++) {
		if (!span_is(entry->key, names[i]))
			continue;
		if (lines[i]) {
			about.fix = "keep one of the two";
			report_add(report, FINDING_SYNTAX, &about,
				   "'%s' was given on line %d already", names[i], lines[i]);
			return INIFILE_BAD_KEY;
		}
		lines[i] = entry->line;
		return i;
	}
	if (span_starts(entry->key, "x_"))
		return INIFILE_SITE_KEY;
	nearest = suggest(entry->key, names);
	about.fix = DID_YOU_MEAN(nearest, "start your own keys with x_");
	report_add(report, FINDING_UNKNOWN_KEY, &about, "unknown key '%s' in [%s]",
		   QUOTE(entry->key), QUOTE(entry->section));
	return INIFILE_BAD_KEY;
}
