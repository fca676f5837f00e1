/* SPDX-License-Identifier: MIT */
/* See cpuset.h. */
#include "cpuset.h"

#include <errno.h>
#include <sched.h>

#include "strbuf.h"

struct cpu_set cpu_set_new(struct arena *arena, size_t end)
{
	struct cpu_set set = {.count = (end + 63) / 64};

	if (set.count)
		set.words = arena_alloc(arena, set.count, sizeof(*set.words));
	if (!set.words)
		set.count = 0;
	return set;
}

/* "3" or "0-3". */
static bool range(struct span text, int64_t *first, int64_t *last)
{
	struct span part;

	span_split(&text, '-', &part);
	*first = *last = span_number(part, CPUSET_MAX_CPUS - 1);
	if (text.text)
		*last = span_number(text, CPUSET_MAX_CPUS - 1);
	return *first >= 0 && *last >= *first;
}

bool cpu_set_parse(struct arena *arena, struct cpu_set *ret, struct span text)
{
	struct span rest = text = span_trim(text), part;
	int64_t first, last, highest = -1;
	struct cpu_set set;

	while (text.length && span_split(&rest, ',', &part)) {
		if (!range(span_trim(part), &first, &last))
			return false;
		highest = last > highest ? last : highest;
	}
	set = cpu_set_new(arena, (size_t)(highest + 1));
	rest = text;
	while (set.count && span_split(&rest, ',', &part)) {
		range(span_trim(part), &first, &last);
		for (int64_t i = first; i <= last; i++)
			cpu_set_add(set, (size_t)i);
	}
	*ret = set;
	return true;
}

void cpu_set_write(struct strbuf *buf, struct cpu_set set)
{
	const char *comma = "";

	for (size_t i = 0; i < cpu_set_end(set); i++) {
		size_t last = i;

		if (!cpu_set_has(set, i))
			continue;
		while (cpu_set_has(set, last + 1))
			last++;
		strbuf_printf(buf, "%s%zu", comma, i);
		if (last > i)
			strbuf_printf(buf, "-%zu", last);
		comma = ",";
		i = last;
	}
}

const char *cpu_set_print(struct arena *arena, struct cpu_set set)
{
	struct strbuf buf = {0};

	cpu_set_write(&buf, set);
	return strbuf_keep(&buf, arena);
}

/* The kernel refuses a mask that is shorter than its own. */
bool cpu_set_allowed(struct arena *arena, struct cpu_set *ret)
{
	for (size_t room = CPU_SETSIZE; room <= CPUSET_MAX_CPUS; room *= 2) {
		struct cpu_set set = cpu_set_new(arena, room);

		if (!set.count)
			return false;
		if (sched_getaffinity(0, set.count * sizeof(*set.words),
				      (cpu_set_t *)(void *)set.words) == 0) {
			*ret = set;
			return true;
		}
		if (errno != EINVAL)
			return false;
	}
	return false;
}

size_t cpu_set_size(struct cpu_set set)
{
	size_t n = 0;

	for (size_t i = 0; i < set.count; i++)
		n += (size_t)__builtin_popcountll(set.words[i]);
	return n;
}

static uint64_t word(struct cpu_set set, size_t i)
{
	return i < set.count ? set.words[i] : 0;
}

bool cpu_set_meet(struct cpu_set a, struct cpu_set b)
{
	for (size_t i = 0; i < a.count; i++)
		if (a.words[i] & word(b, i))
			return true;
	return false;
}

int cpu_set_compare(struct cpu_set a, struct cpu_set b)
{
	size_t count = a.count > b.count ? a.count : b.count;

	for (size_t i = 0; i < count; i++)
		if (word(a, i) != word(b, i))
			return word(a, i) < word(b, i) ? -1 : 1;
	return 0;
}

struct cpu_set cpu_set_and(struct arena *arena, struct cpu_set a, struct cpu_set b)
{
	struct cpu_set set = cpu_set_new(arena, cpu_set_end(a.count < b.count ? a : b));

	for (size_t i = 0; i < set.count; i++)
		set.words[i] = a.words[i] & b.words[i];
	return set;
}

struct cpu_set cpu_set_or(struct arena *arena, struct cpu_set a, struct cpu_set b)
{
	struct cpu_set set = cpu_set_new(arena, cpu_set_end(a.count > b.count ? a : b));

	for (size_t i = 0; i < set.count; i++)
		set.words[i] = word(a, i) | word(b, i);
	return set;
}
