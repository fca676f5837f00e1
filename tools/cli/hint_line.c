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

/* A number that is not the value of an option. */
static bool is_count(char **words, size_t i)
{
	return i && *words[i - 1] != '-' && is_digit(*words[i]) &&
	       !words[i][strspn(words[i], "0123456789")];
}

static bool stands_for(struct span name, char **word, struct span *value)
{
	size_t length = strcspn(*word, "=");

	*value = span_of(*word);
	if (*name.text == '.')
		return value->length > name.length &&
		       memcmp(*word + value->length - name.length, name.text, name.length) == 0;
	if (*name.text != '-')
		return span_is(name, *word);
	if (!same_option(name, *word, length))
		return false;
	*value = span_of((*word)[length] ? *word + length + 1 : word[1] ? word[1] : "");
	return true;
}

bool line_has(char **words, struct span names, struct span *value)
{
	struct span name;

	while (span_split(&names, ' ', &name))
		for (size_t i = 0; name.length && words[i]; i++)
			if (span_is(name, "#") ? is_count(words, i)
					       : stands_for(name, &words[i], value)) {
				*value = span_is(name, "#") ? span_of(words[i]) : *value;
				return true;
			}
	return false;
}

static void put_value(struct strbuf *buf, struct span names, struct span otherwise, char **words)
{
	bool equals = names.length && *names.text == '=';
	struct span value;
	char *copy;

	if (equals)
		names = (struct span){names.text + 1, names.length - 1};
	if (!line_has(words, names, &value) || !value.length || *value.text == '-') {
		strbuf_add(buf, otherwise.text, otherwise.length);
		return;
	}
	copy = xstrndup(value.text, value.length);
	strbuf_puts(buf, equals ? "=" : "");
	words_quote(buf, copy);
	free(copy);
}

void hint_fill(struct strbuf *buf, const char *remedy, char **words)
{
	while (*remedy) {
		size_t plain = strcspn(remedy, "{"), names, whole;

		strbuf_add(buf, remedy, plain);
		remedy += plain;
		names = strcspn(remedy, "|}");
		whole = names + strcspn(remedy + names, "}");
		if (remedy[names] == '|') {
			put_value(buf, (struct span){remedy + 1, names - 1},
				  (struct span){remedy + names + 1, whole - names - 1}, words);
			remedy += whole + (remedy[whole] != '\0');
		} else if (*remedy) {
			strbuf_add(buf, remedy++, 1);
		}
	}
}
