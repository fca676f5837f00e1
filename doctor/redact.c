/* SPDX-License-Identifier: MIT */
/* See redact.h. */
#include "redact.h"

#include <pwd.h>
#include <unistd.h>

#include "strbuf.h"

/* Such a name says nothing about anyone, and it is a word of other meanings. Folders of each system
 * also stand in remedies. */
static const char *private_name(const char *name)
{
	static const char common[] =
		"root user nobody ubuntu debian admin localhost nvidia cuda gpu docker test node "
		"host server work bin boot dev etc home lib lib64 media mnt opt proc run sbin srv "
		"sys tmp usr var";

	return name && strlen(name) >= 2 && !span_among(span_of(name), common) ? name : NULL;
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

/* The name of this process's user in the list of users; NULL: it has none. */
static const char *listed_name(struct facts *facts)
{
	struct passwd entry, *found = NULL;
	char text[4096];

	/* The users of a recorded machine are not those of this one. */
	if (*facts->root || getpwuid_r(getuid(), &entry, text, sizeof(text), &found) != 0 || !found)
		return NULL;
	return arena_strdup(&facts->arena, found->pw_name);
}

struct discreet discreet_names(struct facts *facts, bool all)
{
	const char *host = host_name(facts), *home = facts_variable(facts, "HOME");
	struct discreet names = {.all = all, .host = private_name(host)};

	names.users[0] = private_name(facts_variable(facts, "USER"));
	names.users[1] = private_name(facts_variable(facts, "LOGNAME"));
	names.users[2] = private_name(facts_variable(facts, "SUDO_USER"));
	names.users[3] = private_name(listed_name(facts));
	if (home && *home == '/' && strlen(home) > 1)
		names.home = home;
	if (names.host && strchr(names.host, '.'))
		names.short_host = private_name(
			arena_strndup(&facts->arena, names.host, strcspn(names.host, ".")));
	return names;
}

/* The length of `name` at this place of a text, as a whole word; 0: it is not there. People join
 * names with others, as in "ada-x" and "ada_x". */
static size_t word_here(const char *text, const char *at, const char *name)
{
	size_t length = name ? strlen(name) : 0;

	if (!length || strncmp(at, name, length) != 0 || is_alphanumeric(at[length]) ||
	    (at > text && is_alphanumeric(at[-1])))
		return 0;
	return length;
}

/* The same for a path: "/home/ada" is neither in "/home/ada-x" nor in "/gpfs/home/ada". */
static size_t path_here(const char *text, const char *at, const char *path)
{
	size_t length = word_here(text, at, path);

	return length && (!at[length] || !strchr("-_.", at[length])) ? length : 0;
}

/* The length of "/home/NAME" at this place; 0: it is not there. *prefix is that of "/home/". */
static size_t home_here(const char *at, size_t *prefix)
{
	static const char *const folders[] = {"/home/", "/Users/"};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		size_t length = strlen(folders[i]), name;

		if (strncmp(at, folders[i], length) != 0)
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
	size_t length = path_here(text, at, names->home), prefix;

	if (length) {
		strbuf_puts(buf, "~");
		return length;
	}
	length = home_here(at, &prefix);
	if (length) {
		strbuf_add(buf, at, prefix);
		strbuf_puts(buf, "USER");
		return length;
	}
	for (size_t i = 0; !length && i < ARRAY_SIZE(names->users); i++)
		length = word_here(text, at, names->users[i]);
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

	if (names->all || !text)
		return text;
	for (const char *at = text; *at;) {
		size_t length = replace_here(names, &buf, text, at);

		if (!length)
			strbuf_add(&buf, at, 1);
		at += length ? length : 1;
	}
	return strbuf_keep(&buf, arena);
}
