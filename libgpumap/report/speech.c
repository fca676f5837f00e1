/* SPDX-License-Identifier: MIT */
/* See speech.h. */
#include "report/speech.h"

#include "strbuf.h"

enum language { KEYS, OPTIONS, VARIABLES };

static enum language language_of(const char *origin)
{
	return *origin == '-' && origin[1]      ? OPTIONS
	       : starts_with(origin, "GPUMAP_") ? VARIABLES
						: KEYS;
}

bool speech_of_command(const char *origin)
{
	return language_of(origin) != KEYS || streq(origin, "command line");
}

bool speech_of_program(const char *origin)
{
	const char *colon = origin ? strrchr(origin, ':') : NULL;

	return colon && colon - origin > 3 && memcmp(colon - 3, ".py", 3) == 0;
}

/* The language of a setting. A setting by option or variable is not changed in a file, but one in a
 * file can be changed by an option. */
static enum language choose(struct span name, enum speech_part part, const char *origin,
			    const struct speech *speech)
{
	const char *own = speech ? speech->origin(speech->data, name) : NULL;

	own = speech_of_program(own) ? NULL : own;
	origin = speech_of_program(origin) ? NULL : origin;
	if (own && (part == SPEECH_TEXT || language_of(own) != KEYS))
		return language_of(own);
	if (origin && (language_of(origin) != KEYS || own))
		return language_of(origin);
	return !own && speech && speech->options ? OPTIONS : KEYS;
}

static const char *const prefixes[] = {"", "--", "GPUMAP_"};

static char spelled(char c, enum language language)
{
	if (language == OPTIONS && c == '_')
		return '-';
	return language == VARIABLES && c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* ranks_per_gpu, --ranks-per-gpu, GPUMAP_RANKS_PER_GPU */
static void put_name(struct strbuf *buf, struct span name, enum language language)
{
	strbuf_puts(buf, prefixes[language]);
	for (size_t i = 0; i < name.length; i++)
		strbuf_add(buf, &(char){spelled(name.text[i], language)}, 1);
}

static bool is_named(struct span name, const char *origin, const struct speech *speech)
{
	enum language language = origin ? language_of(origin) : KEYS;
	const char *own = speech ? speech->origin(speech->data, name) : NULL;
	size_t i = 0;

	if (language == KEYS)
		return false;
	if (own && streq(own, origin))
		return true;
	origin += strlen(prefixes[language]);
	while (i < name.length && spelled(name.text[i], language) == origin[i])
		i++;
	return i == name.length && !origin[i];
}

static struct span name_of(struct span key)
{
	const char *blank = memchr(key.text, ' ', key.length);

	return (struct span){key.text, blank ? (size_t)(blank - key.text) : key.length};
}

/* Puts the piece between the marks. A setting by an option of another name keeps that name. */
static void put_key(struct strbuf *buf, struct span key, enum language language,
		    const struct speech *speech)
{
	static const char *const between[] = {" = ", " ", "="};
	struct span name = name_of(key);
	const char *own = speech ? speech->origin(speech->data, name) : NULL;

	if (language == OPTIONS && own && language_of(own) == OPTIONS)
		strbuf_puts(buf, own);
	else
		put_name(buf, name, language);
	if (name.length + 3 > key.length)
		return;
	strbuf_puts(buf, between[language]);
	strbuf_add(buf, key.text + name.length + 3, key.length - name.length - 3);
}

/* "ranks = 5, but" after "--ranks: " is "5, but". */
static const char *skip_named(struct strbuf *buf, struct span key, const char *rest)
{
	struct span name = name_of(key);

	if (name.length + 3 < key.length)
		strbuf_add(buf, name.text + name.length + 3, key.length - name.length - 3);
	else
		rest += strspn(rest, ": ");
	return rest;
}

void speech_put(struct strbuf *buf, const char *text, enum speech_part part, const char *origin,
		const struct speech *speech)
{
	const char *first = text, *mark, *end;

	while ((mark = strchr(text, '\1')) && (end = strchr(mark, '\2'))) {
		struct span key = {mark + 1, (size_t)(end - mark - 1)};

		strbuf_add(buf, text, (size_t)(mark - text));
		text = end + 1;
		if (mark == first && part == SPEECH_TEXT && is_named(name_of(key), origin, speech))
			text = skip_named(buf, key, text);
		else
			put_key(buf, key, choose(name_of(key), part, origin, speech), speech);
	}
	strbuf_puts(buf, text);
}
