/* SPDX-License-Identifier: MIT */
/* See command_aliases.h. */
#include "command_aliases.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "memory.h"
#include "text.h"

enum { MAX_WORDS = 12 }; /* of a command */

/* Each `words` begins with the first word, and NULL ends it. */

static bool only_options(char **words)
{
	while (*++words)
		if (**words != '-')
			return false;
	return true;
}

/* Each word is an option, or the value of the one before. */
static bool options(char **words)
{
	for (size_t i = 1; words[i]; i++)
		if (streq(words[i], "--") ||
		    (*words[i] != '-' && (*words[i - 1] != '-' || strchr(words[i - 1], '='))))
			return false;
	return true;
}

static bool any(char **words)
{
	return words;
}

static bool is_number(const char *word)
{
	return word && *word && !word[strspn(word, "0123456789")];
}

static bool number(char **words)
{
	return is_number(words[1]);
}

/* Of GPUs; longer numbers are those of processes. */
static bool list(char **words)
{
	const char *at = words[1] ? words[1] : "";

	for (size_t digits; (digits = strspn(at, "0123456789")) && digits < 4; at++) {
		at += digits;
		if (!*at)
			return true;
		if (*at != ',' && *at != '-')
			break;
	}
	return false;
}

static bool device(char **words)
{
	return starts_with(*words, "cuda:") && is_number(*words + 5);
}

static bool operand_device(char **words)
{
	return words[1] && device(words + 1);
}

/* One of the words is a file of Python. */
static bool program(char **words)
{
	while (*++words)
		if (text_ends(*words, ".py"))
			return true;
	return false;
}

static bool id(char **words)
{
	return ID_FIX(*words, NULL);
}

/* GM999: its error names how ids are listed. */
static bool like_id(char **words)
{
	return (starts_with(*words, "GM") || starts_with(*words, "gm")) && is_number(*words + 2);
}

static bool operand_id(char **words)
{
	return words[1] && id(words + 1);
}

static bool is_id(char **words)
{
	return words[1] && streq(words[1], "is") && operand_id(words + 1);
}

static bool folder(char **words)
{
	struct stat st;

	return words[1] && only_options(words + 1) && stat(words[1], &st) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* No file of that name is there to be checked. */
static bool machine(char **words)
{
	return words[1] && span_among(span_of(words[1]), "driver gpu gpus") &&
	       only_options(words + 1) && access(words[1], F_OK) < 0;
}

static const struct alias {
	const char *words; /* the first word is one of these; NULL: any */
	bool (*fits)(char **words);
	const char *command; /* the words that take its place */
} aliases[] = {
	{"devices gpus gpu cards hardware count topo topology nvlink", only_options, "inventory"},
	{"mig", options, "inventory --mig"},
	{"version", only_options, "--version"},
	{"versions", only_options, "doctor"},
	{"free available idle", options, "pick all"},
	{"status is-free isfree busy in-use", list, "ps --gpus"},
	{"status busy in-use usage util utilization processes top nvitop gpustat", only_options,
	 "ps"},
	{"check", machine, "doctor"},
	{"check", any, "lint"},
	{"get", number, "pick"},
	{"pid", number, "explain --pid"},
	{"ps", list, "ps --gpus"},
	{"who", list, "ps --gpus"},
	{"who", number, "explain --pid"},
	{"who", only_options, "ps"},
	{"stale", only_options, "ps --stale"},
	{"uuid", number, "inventory --uuid"},
	{"pci", number, "inventory --pci"},
	{"uuid", operand_device, "explain --inventory host --format uuid --device"},
	{"pci", operand_device, "explain --inventory host --format pci --device"},
	{"index", operand_device, "explain --inventory host --format index --device"},
	{"indices visible", options, "explain --inventory host --format indices"},
	{"uuids", options, "explain --inventory host --format uuids"},
	{"which what where map resolve explain", operand_device, "explain --device"},
	{"what", is_id, "rules"},
	{"what why explain-error", operand_id, "rules"},
	{"why ignored", program, "lint"},
	{"ranks placement layout preview simulate bindings dry-run", program, "plan"},
	{"launch start", program, "run"},
	{"why failed logs last report postmortem", folder, "verify"},
	{NULL, device, "explain --device"},
	{"gm", any, "rules GM"},
	{NULL, id, "rules"},
	{NULL, like_id, "rules"},
};

/* Any first word is kept: a device or an id is a value of the command. */
static char **replace(int *argc, char **argv, const struct alias *m)
{
	const size_t room = (size_t)*argc + MAX_WORDS;
	char **ret = xcalloc(1, room * sizeof(*ret) + strlen(m->command) + 1);
	char *word, *rest;
	int n = 0, taken = m->words ? 2 : 1;

	rest = memcpy(ret + room, m->command, strlen(m->command) + 1);
	ret[n++] = argv[0];
	while ((word = strsep(&rest, " ")))
		ret[n++] = word;
	if (m->fits == machine || m->fits == is_id)
		taken++;
	for (int i = taken; i < *argc; i++)
		ret[n++] = argv[i];
	*argc = n;
	return ret;
}

bool is_command_alias(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (aliases[i].words && span_among(span_of(word), aliases[i].words))
			return true;
	return false;
}

char **command_of_alias(int *argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++) {
		const struct alias *m = &aliases[i];

		if ((!m->words || span_among(span_of(argv[1]), m->words)) && m->fits(argv + 1))
			return replace(argc, argv, m);
	}
	return NULL;
}
