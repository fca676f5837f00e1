/* SPDX-License-Identifier: MIT */
/* The best connected GPUs of those that a job could take. */
#include "inventory/inventory.h"
#include "lease/lease.h"
#include "memory.h"

enum {
	EXACT = 16,  /* GPUs of which all sets are compared: up to 12,870 */
	STARTS = 64, /* of more GPUs a set grows from each of so many */
	MOST = 1024  /* of more GPUs the first are taken */
};

/* The larger, the better. */
struct score {
	size_t preferred;        /* GPUs */
	struct closeness inside; /* of all pairs of the set */
	struct closeness lost;   /* of its GPUs with all, so the less, the better for the rest */
};

struct search {
	const struct site *sites; /* the candidates */
	struct closeness *all;    /* of each with all others */
	size_t n, count, preferred;
	size_t *chosen, *best; /* positions of candidates, ascending */
	struct score best_score;
	bool found;
};

static int compare(const struct score *a, const struct score *b)
{
	int order = closeness_compare(&a->inside, &b->inside);

	if (a->preferred != b->preferred)
		return a->preferred < b->preferred ? -1 : 1;
	return order ? order : closeness_compare(&b->lost, &a->lost);
}

/* Keeps the chosen set if it is better. The first of equal ones stays. */
static void keep_better(struct search *s, const struct score *score)
{
	if (s->found && compare(score, &s->best_score) <= 0)
		return;
	s->found = true;
	s->best_score = *score;
	memcpy(s->best, s->chosen, s->count * sizeof(*s->best));
}

static void measure_all(struct search *s)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->n; k++) {
			struct closeness pair = site_closeness(&s->sites[i], &s->sites[k]);

			pair.buses = 0; /* as fine as this, the first GPUs are as good */
			if (i != k)
				closeness_add(&s->all[i], &pair);
		}
}

/* Compares all sets that begin with the first `depth` of the chosen. */
static void extend(struct search *s, size_t depth, size_t next, const struct score *score)
{
	if (depth == s->count) {
		keep_better(s, score);
		return;
	}
	for (size_t i = next; s->n - i >= s->count - depth; i++) {
		struct score more = *score;

		for (size_t k = 0; k < depth; k++) {
			struct closeness pair =
				site_closeness(&s->sites[s->chosen[k]], &s->sites[i]);

			closeness_add(&more.inside, &pair);
		}
		closeness_add(&more.lost, &s->all[i]);
		more.preferred += i < s->preferred;
		s->chosen[depth] = i;
		extend(s, depth + 1, i + 1, &more);
	}
}

static int ascending(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Grows a set from one candidate, each time by the closest. `gains` has, for each candidate, what
 * it would add. */
static void grow(struct search *s, size_t start, struct score *gains, bool *used)
{
	struct score score = {0};
	size_t next = start;

	for (size_t i = 0; i < s->n; i++) {
		gains[i] = (struct score){.preferred = i < s->preferred, .lost = s->all[i]};
		used[i] = false;
	}
	for (size_t depth = 0;;) {
		closeness_add(&score.inside, &gains[next].inside);
		closeness_add(&score.lost, &gains[next].lost);
		score.preferred += gains[next].preferred;
		used[next] = true;
		s->chosen[depth++] = next;
		if (depth == s->count)
			break;
		start = next;
		next = s->n;
		for (size_t i = 0; i < s->n; i++) {
			struct closeness pair = site_closeness(&s->sites[start], &s->sites[i]);

			if (used[i])
				continue;
			closeness_add(&gains[i].inside, &pair);
			if (next == s->n || compare(&gains[i], &gains[next]) > 0)
				next = i;
		}
	}
	qsort(s->chosen, s->count, sizeof(*s->chosen), ascending);
	keep_better(s, &score);
}

static bool grow_from_each(struct search *s)
{
	struct score *gains = xcalloc(s->n, sizeof(*gains));
	bool *used = xcalloc(s->n, sizeof(*used));

	for (size_t i = 0; gains && used && i < s->n && i < STARTS; i++)
		grow(s, i, gains, used);
	free(gains);
	free(used);
	return s->found;
}

bool lease_near(size_t *gpus, size_t count, size_t n, size_t preferred,
		const gpumap_inventory *inventory)
{
	struct site *sites = xcalloc(n + 1, sizeof(*sites));
	struct search s = {.sites = sites, .n = n, .count = count, .preferred = preferred};
	bool done;

	s.all = xcalloc(n + 1, sizeof(*s.all));
	s.chosen = xcalloc(count + 1, sizeof(*s.chosen));
	s.best = xcalloc(count + 1, sizeof(*s.best));
	done = sites && s.all && s.chosen && s.best;
	if (done && count && count < n && n <= MOST) {
		for (size_t i = 0; i < n; i++)
			sites[i] = site_of(&inventory->gpus[gpus[i]]);
		measure_all(&s);
		if (n <= EXACT)
			extend(&s, 0, 0, &(struct score){0});
		else
			done = grow_from_each(&s);
		/* A position is not less than its place, so nothing is read after it is written. */
		for (size_t i = 0; done && i < count; i++)
			gpus[i] = gpus[s.best[i]];
	}
	free(sites);
	free(s.all);
	free(s.chosen);
	free(s.best);
	return done;
}
