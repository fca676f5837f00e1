/* SPDX-License-Identifier: MIT */
/* See hint_line.h. */
#include "cli/hint_line.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "text/words.h"

/* Options may be written with - or _. */
static bool same_option(struct span name, const char *word, size_t length)
{
	if (name.length != length)
		return false;
	for (size_t i = 0; i < length; i++)
		if (name.text[i] != (word[i] == '_' ? '-' : word[i]))
			return false;
	return true;
}

/* A number, or also a list of numbers, that is not the value of an option. */
static bool is_count(char **words, size_t i, const char *characters)
{
	return i && *words[i - 1] != '-' && is_digit(*words[i]) &&
	       !words[i][strspn(words[i], characters)];
}

/* 10G, 40GB or 40GiB, as options of memory take them. */
static bool is_size(struct span s)
{
	size_t digits = span_digits(s);

	return digits && span_is_any(span_behind(s, digits), "K M G KB MB GB KiB MiB GiB");
}

static bool stands_for(struct span name, char **word, struct span *value)
{
	size_t length = strcspn(*word, "=");

	*value = span_of(*word);
	if (*name.text == '.')
		return value->length > name.length &&
		       memcmp(*word + value->length - name.length, name.text, name.length) == 0;
	/* Also in --ignore=GM030. */
	if (name.text[name.length - 1] == '*' && **word == '-' && (*word)[length])
		*value = span_of(*word + length + 1);
	if (name.text[name.length - 1] == '*')
		return value->length >= name.length &&
		       memcmp(value->text, name.text, name.length - 1) == 0;
	if (*name.text != '-')
		return span_is(name, *word);
	/* -N2 */
	if (name.length == 2 && **word == '-' && (*word)[1] == name.text[1] &&
	    is_digit((*word)[2])) {
		*value = span_of(*word + 2);
		return true;
	}
	if (!same_option(name, *word, length))
		return false;
	*value = span_of((*word)[length] ? *word + length + 1 : word[1] ? word[1] : "");
	return true;
}

/* Behind it are the program's words. */
static bool is_end(const char *word)
{
	return streq(word, "--") || text_ends(word, ".py") || text_ends(word, ".sh");
}

static bool count_of(char **words, struct span name, struct span *value)
{
	for (size_t i = 0; words[i] && !is_end(words[i]); i++)
		if (span_is(name, "#G")   ? i && *words[i - 1] != '-' && is_size(span_of(words[i]))
		    : span_is(name, "#,") ? is_count(words, i, "0123456789,-")
					  : is_count(words, i, "0123456789")) {
			*value = span_of(words[i]);
			return true;
		}
	return false;
}

bool line_has(char **words, struct span names, struct span *value)
{
	struct span name;

	while (span_split(&names, ' ', &name)) {
		if (name.length && *name.text == '#' && count_of(words, name, value))
			return true;
		for (size_t i = 0; name.length && *name.text != '#' && words[i]; i++)
			if (stands_for(name, &words[i], value))
				return true;
	}
	return false;
}

static bool all_of(struct span text, const char *characters)
{
	for (size_t i = 0; i < text.length; i++)
		if (!strchr(characters, text.text[i]))
			return false;
	return text.length > 0;
}

/* Whether the value can stand where `otherwise` does, such as 4, N, or 2,3; of a100:4 the 4 can. */
static bool fits(struct span *value, struct span otherwise)
{
	static const char digits[] = "0123456789", list[] = "0123456789,-";
	static const char values[] = "0123456789.,e+-";
	const char *colon;
	bool number = span_is(otherwise, "N") || all_of(otherwise, digits);

	if (!value->length || *value->text == '-')
		return false;
	if (is_size(otherwise))
		return is_size(*value);
	if (span_starts(otherwise, "0."))
		return all_of(*value, values);
	if (!number && !all_of(otherwise, list))
		return !otherwise.length || !is_digit(*otherwise.text) || is_digit(*value->text);
	colon = number ? memrchr(value->text, ':', value->length) : NULL;
	if (colon)
		*value =
			(struct span){colon + 1, value->length - (size_t)(colon + 1 - value->text)};
	return all_of(*value, number ? digits : list);
}

/* "10G" as "10 * 2**30" */
static void put_bytes(struct strbuf *buf, struct span size)
{
	static const char units[] = "KMG";
	size_t digits = strspn(size.text, "0123456789");

	strbuf_printf(buf, "%.*s * 2**%d", (int)digits, size.text,
		      10 * (int)(strchr(units, size.text[digits]) - units + 1));
}

static void put_words(struct strbuf *buf, char **words)
{
	for (size_t i = 0; words[i]; i++) {
		strbuf_puts(buf, i ? " " : "");
		words_quote(buf, words[i]);
	}
}

static void put_value(struct strbuf *buf, struct span names, struct span otherwise, char **words)
{
	bool equals = names.length && *names.text == '=',
	     bytes = names.length && *names.text == '*';
	struct span value;
	CLEANUP_FREE char *copy = NULL;

	if (span_is(names, "...")) {
		put_words(buf, words + 1);
		return;
	}
	if (equals || bytes)
		names = span_behind(names, 1);
	if (bytes) {
		put_bytes(buf,
			  line_has(words, names, &value) && is_size(value) ? value : otherwise);
		return;
	}
	if (!line_has(words, names, &value) || !fits(&value, otherwise)) {
		strbuf_add(buf, otherwise.text, otherwise.length);
		return;
	}
	copy = xstrndup(value.text, value.length);
	strbuf_puts(buf, equals ? "=" : "");
	words_quote(buf, copy);
}

void hint_fill(struct strbuf *buf, const char *pattern, char **words)
{
	while (*pattern) {
		size_t plain = strcspn(pattern, "{@"), names, whole;

		strbuf_add(buf, pattern, plain);
		pattern += plain;
		if (*pattern == '@') {
			words_quote(buf, *words);
			pattern++;
			continue;
		}
		names = strcspn(pattern, "|}");
		whole = names + strcspn(pattern + names, "}");
		if (pattern[names] == '|') {
			put_value(buf, (struct span){pattern + 1, names - 1},
				  (struct span){pattern + names + 1, whole - names - 1}, words);
			pattern += whole + (pattern[whole] != '\0');
		} else if (*pattern) {
			strbuf_add(buf, pattern++, 1);
		}
	}
}
