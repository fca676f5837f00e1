/* SPDX-License-Identifier: MIT */
/* Sets of CPUs, cores or NUMA nodes by number, and lists of them as Linux writes them. A set lives
 * in an arena; its size is fixed. */
#ifndef GM_CPUSET_H
#define GM_CPUSET_H

#include "arena.h"
#include "text.h"

struct strbuf;

/* Numbers are below this: more than any kernel has. */
enum { CPUSET_MAX_CPUS = 65536 };

struct cpu_set {
	uint64_t *words;
	size_t count; /* words; numbers after them are not in the set */
};

/* An empty set with room for the numbers below `end`. */
struct cpu_set cpu_set_new(struct arena *arena, size_t end);
/* "0-3,8". False if the text is not a list. An empty text is an empty set. Without memory `arena`
 * has failed. */
bool cpu_set_parse(struct arena *arena, struct cpu_set *ret, struct span text);
/* The set as a list; NULL without memory. */
const char *cpu_set_print(struct arena *arena, struct cpu_set set);
/* Appends the set as a list. */
void cpu_set_write(struct strbuf *buf, struct cpu_set set);

/* The CPUs that the calling thread may use. False: the system does not report them, or the arena
 * has failed. */
bool cpu_set_allowed(struct arena *arena, struct cpu_set *ret);

static inline size_t cpu_set_end(struct cpu_set set)
{
	return set.count * 64;
}

static inline bool cpu_set_has(struct cpu_set set, size_t i)
{
	return i < cpu_set_end(set) && (set.words[i / 64] >> (i % 64) & 1);
}

/* `i` must be below cpu_set_end. */
static inline void cpu_set_add(struct cpu_set set, size_t i)
{
	set.words[i / 64] |= (uint64_t)1 << (i % 64);
}

size_t cpu_set_size(struct cpu_set set);
bool cpu_set_meet(struct cpu_set a, struct cpu_set b); /* have a common member */
/* <0, 0, >0, in any total order; 0: equal */
int cpu_set_compare(struct cpu_set a, struct cpu_set b);
struct cpu_set cpu_set_and(struct arena *arena, struct cpu_set a, struct cpu_set b);
struct cpu_set cpu_set_or(struct arena *arena, struct cpu_set a, struct cpu_set b);

#endif
