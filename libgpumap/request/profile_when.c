/* SPDX-License-Identifier: MIT */
/* Lists of numbers and of hosts, for when_rank = 0,2-5 and when_host = tux[00-03],gpu*. */
#include "request/profile_keys.h"

#include "text/hostlist.h"

enum { MAX_DIGITS = 9 };

static int64_t number_of(struct span s)
{
	return s.length <= MAX_DIGITS ? span_number(s, INT32_MAX) : -1;
}

/* "7" or "2-5". */
static bool range(struct span s, int64_t max, struct span *low, struct span *high)
{
	struct span rest = s;

	span_split(&rest, '-', low);
	*high = rest.text ? rest : *low;
	return number_of(*low) >= 0 && number_of(*high) >= number_of(*low) &&
	       number_of(*high) <= max;
}

bool numbers_check(struct span list, int64_t max, struct span *wrong)
{
	struct span low, high;

	while (span_split(&list, ',', wrong)) {
		*wrong = span_trim(*wrong);
		if (!range(*wrong, max, &low, &high))
			return false;
	}
	return true;
}

struct number_set *number_set_parse(struct arena *arena, struct span list)
{
	struct number_set *set = arena_alloc(arena, 1, sizeof(*set));
	struct span rest = list, item, low, high;
	size_t count = 0;

	while (span_split(&rest, ',', &item))
		count++;
	if (set)
		set->ranges = arena_alloc(arena, count + 1, sizeof(*set->ranges));
	if (!set || !set->ranges)
		return NULL;
	while (span_split(&list, ',', &item))
		if (range(span_trim(item), INT32_MAX, &low, &high))
			set->ranges[set->count++] =
				(struct number_interval){number_of(low), number_of(high)};
	return set;
}

bool number_set_has(const struct number_set *set, int64_t n)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->ranges[i].low <= n && n <= set->ranges[i].high)
			return true;
	return false;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int host_set_parse(struct host_set *ret, struct arena *arena, struct span text)
{
	struct hostlist list;
	struct host_set set = {0};
	int r = hostlist_parse_patterns(&list, text);

	if (r != GPUMAP_OK)
		return r;
	set.names = arena_alloc(arena, list.count, sizeof(*set.names));
	for (size_t i = 0; set.names && i < list.count; i++) {
		const char *name = arena_strdup(arena, list.hosts[i].name);

		if (name && strpbrk(name, "*?")) /* patterns are stored from the end */
			set.names[list.count - ++set.pattern_count] = name;
		else
			set.names[set.count++] = name;
	}
	hostlist_free(&list);
	if (arena->failed)
		return GPUMAP_ENOMEM;
	qsort(set.names, set.count, sizeof(*set.names), by_name);
	*ret = set;
	return GPUMAP_OK;
}

static bool has_name(const struct host_set *set, const char *name)
{
	if (set->count && bsearch(&name, set->names, set->count, sizeof(*set->names), by_name))
		return true;
	for (size_t i = set->count; i < set->count + set->pattern_count; i++)
		if (span_glob(span_of(set->names[i]), name))
			return true;
	return false;
}

bool host_set_has(const struct host_set *set, const char *host)
{
	char name[HOSTLIST_NAME_MAX + 1];
	size_t length = host ? strcspn(host, ".") : 0;

	if (!host || !*host || strlen(host) > HOSTLIST_NAME_MAX)
		return false;
	if (has_name(set, host))
		return true;
	memcpy(name, host, length);
	name[length] = '\0';
	return host[length] && has_name(set, name);
}
