/* SPDX-License-Identifier: MIT */
#include "discreet.h"

#include <unistd.h>

#include "strbuf.h"

/* Such a name says nothing about anybody, and it is a word of other meanings. */
static const char *private_name(const char *name)
{
	static const char *const common[] = {"root",   "user",      "nobody",
					     "ubuntu", "localhost", "home"};

	if (!name || strlen(name) < 2)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		if (streq(name, common[i]))
			return NULL;
	return name;
}

static const char *host_name(struct facts *facts)
{
	char name[256] = "";
	struct fact file;

	if (!*facts->root)
		return gethostname(name, sizeof(name) - 1) == 0 ? arena_strdup(&facts->arena, name)
								: NULL;
	file = fact_file(facts, 256, "/etc/hostname");
	return file.sight == SEEN ? file.text : NULL;
}

struct discreet discreet_names(struct facts *facts, bool all)
{
	const char *user = facts_variable(facts, "USER"), *host = host_name(facts);
	const char *home = facts_variable(facts, "HOME");
	struct discreet names = {.all = all, .host = private_name(host)};

	names.user = private_name(user ? user : facts_variable(facts, "LOGNAME"));
	if (home && *home == '/' && strlen(home) > 1)
		names.home = home;
	if (names.host && strchr(names.host, '.'))
		names.short_host = private_name(
			arena_strndup(&facts->arena, names.host, strcspn(names.host, ".")));
	return names;
}

static bool is_of_name(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '-';
}

/* The length of `name` at this place of a text, as a whole word; 0: it is not there. */
static size_t word_here(const char *text, const char *at, const char *name)
{
	size_t length = name ? strlen(name) : 0;

	if (!length || strncmp(at, name, length) != 0 || is_of_name(at[length]) ||
	    (at > text && is_of_name(at[-1])))
		return 0;
	return length;
}

/* The length of "/home/NAME" at this place; 0: it is not there. *prefix is that of "/home/". */
static size_t home_here(const char *text, const char *at, size_t *prefix)
{
	static const char *const folders[] = {"/home/", "/Users/"};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		size_t length = strlen(folders[i]), name;

		if (strncmp(at, folders[i], length) != 0 || (at > text && is_of_name(at[-1])))
			continue;
		name = strcspn(at + length, "/ ,;:'\"()[]\n");
		*prefix = length;
		return name ? length + name : 0;
	}
	return 0;
}

static size_t replace_here(const struct discreet *names, struct strbuf *buf, const char *text,
			   const char *at)
{
	size_t length = word_here(text, at, names->home), prefix;

	if (length) {
		strbuf_puts(buf, "~");
		return length;
	}
	length = home_here(text, at, &prefix);
	if (length) {
		strbuf_add(buf, at, prefix);
		strbuf_puts(buf, "USER");
		return length;
	}
	length = word_here(text, at, names->user);
	if (length) {
		strbuf_puts(buf, "USER");
		return length;
	}
	length = word_here(text, at, names->host);
	if (!length)
		length = word_here(text, at, names->short_host);
	if (length)
		strbuf_puts(buf, "HOST");
	return length;
}

const char *discreet_text(const struct discreet *names, struct arena *arena, const char *text)
{
	struct strbuf buf = {0};
	const char *copy = NULL;
	char *taken;

	if (names->all || !text)
		return text;
	for (const char *at = text; *at;) {
		size_t length = replace_here(names, &buf, text, at);

		if (!length)
			strbuf_add(&buf, at, 1);
		at += length ? length : 1;
	}
	taken = strbuf_take(&buf);
	if (taken)
		copy = arena_strdup(arena, taken);
	else
		arena->failed = true;
	free(taken);
	return copy;
}
