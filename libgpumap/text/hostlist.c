/* SPDX-License-Identifier: MIT */
/* Slurm's node lists. As in Slurm, text after a name's last bracket is an error. */
#include "text/hostlist_add.h"

#include <stdio.h>

#include "report/report.h"

/* No real machine has a name with more brackets than this. */
enum { MAX_GROUPS = 8, MAX_DIGITS = 18 };

struct range {
	int64_t low, high;
	int width; /* zeros are added in front up to this */
};

/* The text before a bracket, and the text inside it. */
struct group {
	struct span before;
	struct range *ranges;
	size_t count, room;
	size_t at;     /* the odometer: the current range, */
	int64_t value; /* and the value in it */
};

struct reader {
	struct hostlist *list; /* NULL: nothing is expanded */
	struct span text, wrong;
	size_t at, start, names; /* start: of the current name */
	bool patterns;
	const char *origin;
	gpumap_report *report;
	struct group groups[MAX_GROUPS];
	size_t group_count;
};

static bool separates(char c)
{
	return c == ',' || is_space(c);
}

static bool more(const struct reader *reader)
{
	return reader->at < reader->text.length;
}

static char now(const struct reader *reader)
{
	return more(reader) ? reader->text.text[reader->at] : '\0';
}

/* `from` is where the malformed text begins; it reaches to the next comma. */
static int malformed(struct reader *reader, size_t from, const char *fix, const char *what)
{
	struct span bad = {reader->text.text + from, 0};

	while (from + bad.length < reader->text.length && !separates(bad.text[bad.length]))
		bad.length++;
	reader->wrong =
		(struct span){reader->text.text + reader->start, from + bad.length - reader->start};
	return report_fail(reader->report, GPUMAP_EINPUT, FINDING_BAD_HOSTS,
			   ABOUT(.origin = reader->origin, .column = (int)(from + 1), .fix = fix),
			   bad.length ? "%s: '%s', at character %zu" : "%s%s, at character %zu",
			   what, QUOTE(bad), from + 1);
}

bool host_byte(char c)
{
	return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
}

int host_add(struct hostlist *list, struct span name, int64_t slots, const char *origin,
	     gpumap_report *report)
{
	char *copy;

	if (list->count == HOSTLIST_MAX)
		return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT,
				   ABOUT(.origin = origin, .fix = "name fewer hosts"),
				   "more than %d hosts", HOSTLIST_MAX);
	if (!ARRAY_ROOM(list->hosts, list->count, list->room))
		return report_nomem(report);
	copy = arena_strndup(&list->arena, name.text, name.length);
	if (!copy)
		return report_nomem(report);
	list->hosts[list->count++] = (struct host){copy, slots};
	return GPUMAP_OK;
}

static int range_add(struct reader *reader, struct group *group, struct range range)
{
	if (!reader->list)
		return GPUMAP_OK;
	if (group->count == HOSTLIST_MAX)
		return report_fail(reader->report, GPUMAP_ELIMIT, FINDING_LIMIT,
				   ABOUT(.origin = reader->origin, .fix = "name fewer hosts"),
				   "more than %d ranges in one bracket", HOSTLIST_MAX);
	if (!ARRAY_ROOM(group->ranges, group->count, group->room))
		return report_nomem(reader->report);
	group->ranges[group->count++] = range;
	return GPUMAP_OK;
}

/* Reads digits; *width is how many. */
static int read_number(struct reader *reader, int64_t *ret, int *width)
{
	struct span digits = {reader->text.text + reader->at, 0};
	size_t start = reader->at;

	while (more(reader) && is_digit(now(reader)))
		reader->at++;
	digits.length = reader->at - start;
	if (!digits.length)
		return malformed(reader, start, "write numbers and ranges, as in [01-16,20]",
				 "no number in a bracket");
	*width = digits.length < HOSTLIST_NAME_MAX ? (int)digits.length : HOSTLIST_NAME_MAX + 1;
	while (digits.length > 1 && *digits.text == '0')
		digits = span_behind(digits, 1);
	if (digits.length > MAX_DIGITS)
		return malformed(reader, start, "write numbers of at most 18 digits",
				 "too large a number");
	*ret = span_number(digits, INT64_MAX);
	return GPUMAP_OK;
}

/* "08", "08-11" */
static int read_range(struct reader *reader, struct group *group)
{
	size_t start = reader->at;
	struct range range;
	int width;
	int r = read_number(reader, &range.low, &range.width);

	if (r != GPUMAP_OK)
		return r;
	range.high = range.low;
	if (now(reader) == '-') {
		reader->at++;
		r = read_number(reader, &range.high, &width);
		if (r != GPUMAP_OK)
			return r;
	}
	if (range.high < range.low)
		return malformed(reader, start, "write the smaller number first",
				 "a range that ends before it begins");
	if (range.high - range.low >= HOSTLIST_MAX)
		return report_fail(reader->report, GPUMAP_ELIMIT, FINDING_LIMIT,
				   ABOUT(.origin = reader->origin, .fix = "name fewer hosts"),
				   "more than %d hosts in one range", HOSTLIST_MAX);
	return range_add(reader, group, range);
}

/* "[08-11,20]"; reader->at is at the bracket. */
static int read_group(struct reader *reader, struct span before)
{
	struct group *group = &reader->groups[reader->group_count];
	size_t open = reader->at++;
	int r;

	if (reader->group_count == MAX_GROUPS)
		return malformed(reader, open, "write out some of them",
				 "more than eight brackets in one name");
	reader->group_count++;
	group->before = before;
	do {
		r = read_range(reader, group);
		if (r != GPUMAP_OK)
			return r;
	} while (now(reader) == ',' && ++reader->at);
	if (!more(reader))
		return malformed(reader, open, "close it with ]", "a bracket that is not closed");
	if (now(reader) != ']')
		return malformed(reader, reader->at, "write numbers and ranges, as in [01-16,20]",
				 "no number in a bracket");
	reader->at++;
	return GPUMAP_OK;
}

static bool group_step(struct group *group)
{
	if (group->value < group->ranges[group->at].high) {
		group->value++;
		return true;
	}
	group->at = group->at + 1 < group->count ? group->at + 1 : 0;
	group->value = group->ranges[group->at].low;
	return group->at != 0;
}

/* Slurm's order: the last bracket is the fastest, then the first, and the one before the
 * last the slowest. With a single range a step always wraps, so `at` 0 means wrapped. */
static bool odometer_step(struct reader *reader)
{
	size_t last = reader->group_count - 1;

	if (group_step(&reader->groups[last]))
		return true;
	for (size_t i = 0; i < last; i++)
		if (group_step(&reader->groups[i]))
			return true;
	return false;
}

static int add_name(struct reader *reader, size_t start)
{
	char name[HOSTLIST_NAME_MAX + 1];
	size_t length = 0;

	for (size_t i = 0; i < reader->group_count; i++) {
		const struct group *g = &reader->groups[i];
		size_t room = sizeof(name) - length;
		int n = snprintf(name + length, room, "%.*s%0*lld", (int)g->before.length,
				 g->before.text, g->ranges[g->at].width, (long long)g->value);

		if (n < 0 || (size_t)n >= room)
			return malformed(reader, start, "names have at most 253 characters",
					 "host name too long");
		length += (size_t)n;
	}
	return host_add(reader->list, (struct span){name, length}, -1, reader->origin,
			reader->report);
}

static int expand(struct reader *reader, size_t start)
{
	int r;

	for (size_t i = 0; i < reader->group_count; i++) {
		reader->groups[i].at = 0;
		reader->groups[i].value = reader->groups[i].ranges[0].low;
	}
	do {
		r = add_name(reader, start);
	} while (r == GPUMAP_OK && odometer_step(reader));
	return r;
}

static bool name_byte(const struct reader *reader)
{
	char c = now(reader);

	return host_byte(c) || (reader->patterns && (c == '*' || c == '?'));
}

/* One name, with its brackets. */
static int read_name(struct reader *reader)
{
	size_t start = reader->at, text = start;
	int r = GPUMAP_OK;

	for (size_t i = 0; i < MAX_GROUPS; i++)
		reader->groups[i].count = 0;
	reader->group_count = 0;
	reader->start = start;
	reader->names++;
	if (now(reader) == '-')
		return malformed(reader, start, "begin names with a letter or digit",
				 "a name that looks like an option");
	while (r == GPUMAP_OK && more(reader) && !separates(now(reader))) {
		struct span before = {reader->text.text + text, reader->at - text};

		if (before.length > HOSTLIST_NAME_MAX)
			return malformed(reader, start, "names have at most 253 characters",
					 "host name too long");
		if (now(reader) == '[') {
			r = read_group(reader, before);
			text = reader->at;
		} else if (name_byte(reader)) {
			reader->at++;
		} else {
			return malformed(reader, reader->at,
					 "names have letters, digits, '-', '_' and '.'",
					 now(reader) == ']' ? "a bracket that was not opened"
							    : "not allowed in a host name");
		}
	}
	if (r != GPUMAP_OK)
		return r;
	if (!reader->group_count && reader->at - start > HOSTLIST_NAME_MAX)
		return malformed(reader, start, "names have at most 253 characters",
				 "host name too long");
	if (reader->group_count && text < reader->at)
		return malformed(reader, text, "write such names out: n1-ib,n2-ib",
				 "text after a name's last bracket, which Slurm refuses");
	if (!reader->list)
		return GPUMAP_OK;
	return reader->group_count
		       ? expand(reader, start)
		       : host_add(reader->list,
				  (struct span){reader->text.text + start, reader->at - start}, -1,
				  reader->origin, reader->report);
}

static int read_names(struct reader *reader)
{
	int r = GPUMAP_OK;

	while (r == GPUMAP_OK && more(reader)) {
		if (separates(now(reader)))
			reader->at++;
		else
			r = read_name(reader);
	}
	if (r == GPUMAP_OK && !reader->names)
		r = report_fail(reader->report, GPUMAP_EINPUT, FINDING_BAD_HOSTS,
				ABOUT(.origin = reader->origin, .fix = "name one, as in n[01-16]"),
				"the list names no host");
	for (size_t i = 0; i < MAX_GROUPS; i++)
		free(reader->groups[i].ranges);
	return r;
}

bool hostlist_check(struct span text, bool patterns, struct span *wrong)
{
	struct reader reader = {.text = text, .wrong = text, .patterns = patterns};

	if (read_names(&reader) == GPUMAP_OK)
		return true;
	*wrong = reader.wrong;
	return false;
}

static int parse(struct hostlist *ret, struct reader *reader)
{
	struct hostlist list = {0};
	int r;

	reader->list = &list;
	r = read_names(reader);
	if (r == GPUMAP_OK)
		*ret = list;
	else
		hostlist_free(&list);
	return r;
}

int hostlist_parse(struct hostlist *ret, struct span text, const char *origin,
		   gpumap_report *report)
{
	return parse(ret, &(struct reader){.text = text, .origin = origin, .report = report});
}

int hostlist_parse_patterns(struct hostlist *ret, struct span text)
{
	return parse(ret, &(struct reader){.text = text, .patterns = true});
}

void hostlist_free(struct hostlist *list)
{
	arena_free(&list->arena);
	free(list->hosts);
	list->hosts = NULL;
	list->count = list->room = 0;
}
