/* SPDX-License-Identifier: MIT */
/* Which of a host's ranks are drawn on which card. */
#ifndef GM_EXPLAIN_PLAN_CARDS_H
#define GM_EXPLAIN_PLAN_CARDS_H

#include "explain/svg.h"
#include "plan/job.h"

enum { CARD_RANKS = 4 };

/* How a rank uses a card; greater is worse. */
enum rank_how {
	RANK_LANDS,
	RANK_TOO,     /* a replica or a stage of a rank whose own device is another */
	RANK_WITHOUT, /* it runs without a GPU */
	RANK_MAYBE,   /* its GPU, but it is not known which GPU the program uses */
	RANK_SHARED,  /* of a card: several ranks have the GPU */
	RANK_CLASH,   /* on a device that another rank has */
	RANK_NOWHERE
};

/* A GPU, or the ranks that are on none. */
struct rank_card {
	const struct plan_device *gpu; /* NULL: no GPU */
	bool chosen;
	size_t count; /* number of ranks; only the first are kept */
	size_t ranks[CARD_RANKS];
	enum rank_how hows[CARD_RANKS], worst;
};

/* A card for each GPU by number, then two for ranks without a GPU and with an unknown one, which
 * may be empty. */
struct rank_cards {
	struct rank_card *list;
	size_t count;
};

/* False without memory. */
bool rank_cards_make(struct rank_cards *ret, const gpumap_plan *plan,
		     const struct plan_layout *layout);

/* Draws a card with its corner at x, y. The width that its text needs. */
int rank_card_draw(struct strbuf *buf, const struct rank_card *card, const struct plan_host *host,
		   const struct box *place);
int rank_card_height(const struct rank_card *card);

#endif
