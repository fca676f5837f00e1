/* SPDX-License-Identifier: MIT */
/* See foreign_value.h. */
#include "request/foreign_value.h"

#include <inttypes.h>
#include <stdio.h>

#include "report/speech.h"

enum { MAX_DAYS = 20000, MAX_HOSTS = 200, MAX_FIX = 256 };

/* --- times of Slurm --------------------------------------------------------------------------- */

/* The seconds of "2:00:00", "30:00" (minutes and seconds), "1-12" (days and hours) or
 * "1-12:30:00"; -1: it is not such a time. */
static int64_t slurm_seconds(struct span value)
{
	static const int64_t units[] = {3600, 60, 1};
	struct span days = {NULL, 0}, part;
	bool dash = memchr(value.text, '-', value.length);
	size_t parts = 1, first;
	int64_t sum = 0;

	if (dash)
		span_split(&value, '-', &days);
	for (size_t i = 0; value.text && i < value.length; i++)
		parts += value.text[i] == ':';
	if (parts > ARRAY_SIZE(units) || (!dash && parts < 2))
		return -1;
	/* Behind days the hours come first, otherwise the seconds come last. */
	first = dash ? 0 : ARRAY_SIZE(units) - parts;
	for (size_t i = first; value.text && span_split(&value, ':', &part); i++) {
		int64_t n = span_number(part, i == first ? MAX_DAYS : 59);

		if (n < 0)
			return -1;
		sum += n * units[i];
	}
	if (!dash)
		return sum;
	return span_number(days, MAX_DAYS) < 0 ? -1 : sum + span_number(days, MAX_DAYS) * 86400;
}

static const char *put_time(struct quoted *ret, const char *key, int64_t seconds)
{
	int64_t unit = seconds % 3600 == 0 ? 3600 : seconds % 60 == 0 ? 60 : 1;

	return format_text(ret, "write " SETTING("%s = %" PRId64 "%c"), key, seconds / unit,
			   unit == 3600 ? 'h'
			   : unit == 60 ? 'm'
					: 's');
}

/* --- hosts with slots ------------------------------------------------------------------------- */

struct hosts {
	char names[MAX_HOSTS];
	int64_t slots; /* of each host; 0: they differ, or a host has none */
};

/* "tux1" of "tux1:8" or "tux1*8", and the number; 0: it has none. */
static int64_t take_slots(struct span *host)
{
	size_t digits = 0;
	int64_t n;

	while (digits < host->length && is_digit(host->text[host->length - 1 - digits]))
		digits++;
	if (!digits || digits + 1 >= host->length)
		return 0;
	if (!memchr(":*", host->text[host->length - 1 - digits], 2))
		return 0;
	n = span_number((struct span){host->text + host->length - digits, digits}, INT32_MAX);
	host->length -= digits + 1;
	return n > 0 ? n : 0;
}

/* The next host of a list; commas in brackets are a part of it. */
static bool next_host(struct span *rest, struct span *host)
{
	size_t length = 0;
	bool inside = false;

	if (!rest->text || !rest->length)
		return false;
	for (; length < rest->length && (inside || rest->text[length] != ','); length++)
		inside = rest->text[length] == '[' || (inside && rest->text[length] != ']');
	*host = span_trim((struct span){rest->text, length});
	length += length < rest->length;
	rest->text += length;
	rest->length -= length;
	return true;
}

/* False: no host has slots, or what is left is not a list of hosts. */
static bool read_hosts(struct hosts *ret, struct span value)
{
	const struct form *form = form_find(span_of("HOST,..."));
	struct span rest = value, host, wrong;
	bool any = false, first = true;
	size_t length = 0;

	while (next_host(&rest, &host)) {
		int64_t slots = take_slots(&host);

		if (length + host.length + 2 > sizeof(ret->names))
			return false;
		length += (size_t)snprintf(ret->names + length, sizeof(ret->names) - length,
					   "%s%.*s", first ? "" : ",", (int)host.length, host.text);
		ret->slots = first || ret->slots == slots ? slots : 0;
		any = any || slots;
		first = false;
	}
	return any && form_check(form, span_of(ret->names), &wrong);
}

/* "write hosts = a,b and ranks = 4, and inventory = 4 if ...": the slots of launchers are ranks. */
static const char *put_hosts(struct quoted *ret, const struct hosts *hosts)
{
	if (!hosts->slots)
		return "write " SETTING("hosts = file:FILE") ", with a line HOST slots=N in FILE "
							     "for each host";
	return format_text(
		ret,
		"write " SETTING("hosts = %s") " and " SETTING("ranks = %" PRId64) ", and " SETTING(
			"inventory = %" PRId64) " if each host has %" PRId64 " GPUs",
		hosts->names, hosts->slots, hosts->slots, hosts->slots);
}

/* --- ids of messages -------------------------------------------------------------------------- */

static const char *put_ignored(struct quoted *ret, struct span value)
{
	struct span id = value;

	if (form_find(span_of("NAME,..."))->check(value, &id) || !is_message_id(id))
		return NULL;
	return format_text(ret,
			   "it takes names of programs, such as Xorg; gpumap rules %.5s says "
			   "how to avoid that message; a comment # gpumap: ignore=%.5s in a "
			   "script hides one of gpumap lint",
			   id.text, id.text);
}

const char *foreign_value(struct quoted *ret, const struct profile_key *key, struct span value)
{
	bool timed = strstr(key->key.value, "DURATION");
	int jobs = (int)span_number(value, INT32_MAX);
	int64_t seconds = timed ? slurm_seconds(value) : -1;
	struct hosts hosts = {{0}, 0};
	const char *fix = NULL;

	if (seconds >= 0)
		fix = put_time(ret, key->key.name, seconds);
	else if (key == profile_key(PKEY_PROFILE_hosts) && read_hosts(&hosts, value))
		fix = put_hosts(ret, &hosts);
	else if (key == profile_key(PKEY_PROFILE_ignore))
		fix = put_ignored(ret, value);
	else if (key == profile_key(PKEY_PROFILE_share) && jobs > 1)
		fix = format_text(
			ret,
			"write list, isolate or rotate; for %d jobs on GPU 0 start each with "
			"gpumap pick 1 --from 0 --slots %d -- PROGRAM",
			jobs, jobs);
	return fix && strlen(fix) < MAX_FIX ? fix : NULL;
}
