/* SPDX-License-Identifier: MIT */
/* The best connected GPUs of those that a job could take. */
#include "inventory/inventory.h"
#include "lease/lease.h"

/* Of so many GPUs all sets are compared, up to 12,870; of more only the first count. */
enum { MOST = 16 };

/* The larger, the better. */
struct score {
	size_t preferred;        /* GPUs */
	struct closeness inside; /* of all pairs of the set */
	struct closeness lost;   /* of its GPUs with all, so the less, the better for the rest */
};

struct search {
	struct site sites[MOST];    /* the candidates */
	struct closeness all[MOST]; /* of each with all others */
	size_t n, count, preferred;
	size_t chosen[MOST], best[MOST]; /* positions of candidates, ascending */
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

void lease_near(size_t *gpus, size_t count, size_t n, size_t preferred,
		const gpumap_inventory *inventory)
{
	struct search s = {.n = n < MOST ? n : MOST, .count = count, .preferred = preferred};

	if (!count || count >= s.n)
		return;
	for (size_t i = 0; i < s.n; i++)
		s.sites[i] = site_of(&inventory->gpus[gpus[i]]);
	measure_all(&s);
	extend(&s, 0, 0, &(struct score){0});
	/* A position is not less than its place, so nothing is read after it is written. */
	for (size_t i = 0; i < count; i++)
		gpus[i] = gpus[s.best[i]];
}
