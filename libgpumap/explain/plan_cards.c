/* SPDX-License-Identifier: MIT */
/* See plan_cards.h. */
#include "explain/plan_cards.h"
#include "explain/plan.h"
#include "memory.h"

enum { PAD = 12, HEAD = 32, RANK_HEIGHT = 34, LINE = 16 };

/* --- which rank is on which card ---------------------------------------------------- */

static int compare_gpu(const void *key, const void *element)
{
	int physical = *(const int *)key;
	const struct rank_card *card = element;

	return (physical > card->gpu->physical) - (physical < card->gpu->physical);
}

static struct rank_card *card_of(const struct rank_cards *cards, const struct plan_device *device)
{
	return bsearch(&device->physical, cards->list, cards->count - 2, sizeof(*cards->list),
		       compare_gpu);
}

static void add(struct rank_card *card, size_t l, enum rank_how how)
{
	if (card->count < CARD_RANKS) {
		card->ranks[card->count] = l;
		card->hows[card->count] = how;
	}
	card->count++;
	card->worst = how > card->worst ? how : card->worst;
}

/* Marks the ranks that it collides with. In a plan that is answered ranks share on purpose. */
static bool clashes(const gpumap_plan *plan, const struct plan_layout *layout,
		    struct rank_card *card, const struct local_rank *local)
{
	size_t kept = card->count < CARD_RANKS ? card->count : CARD_RANKS;
	bool found = false;

	for (size_t i = 0; !plan->answered && i < kept; i++) {
		const struct plan_device *other = layout->ranks[card->ranks[i]].lands;

		if (card->hows[i] == RANK_TOO || !other || other->mig != local->lands->mig)
			continue;
		card->hows[i] = RANK_CLASH;
		found = true;
	}
	return found;
}

static void place(struct rank_cards *cards, const gpumap_plan *plan,
		  const struct plan_layout *layout, size_t l)
{
	const struct local_rank *local = &layout->ranks[l];
	struct rank_card *lands = local->lands ? card_of(cards, local->lands) : NULL;
	bool maybe = !local->lands && plan_may_land(plan);

	for (size_t i = 0; i < local->device_count; i++) {
		struct rank_card *card = card_of(cards, &local->devices[i]);

		if (!card)
			continue;
		card->chosen = true;
		if (maybe)
			add(card, l, RANK_MAYBE);
		else if (card != lands && local->device_count > 1)
			add(card, l, RANK_TOO);
	}
	if (lands)
		add(lands, l, clashes(plan, layout, lands, local) ? RANK_CLASH : RANK_LANDS);
	else if (!local->device_count)
		add(&cards->list[cards->count - 2], l, RANK_WITHOUT);
	else if (!maybe)
		add(&cards->list[cards->count - 1], l, RANK_NOWHERE);
}

bool rank_cards_make(struct rank_cards *ret, const gpumap_plan *plan,
		     const struct plan_layout *layout)
{
	ret->count = layout->gpu_count + 2;
	ret->list = xcalloc(ret->count, sizeof(*ret->list));
	if (!ret->list)
		return false;
	for (size_t i = 0; i < layout->gpu_count; i++)
		ret->list[i].gpu = &layout->gpus[i];
	for (size_t l = 0; l < layout->count; l++)
		place(ret, plan, layout, l);
	for (size_t i = 0; i < layout->gpu_count; i++)
		if (ret->list[i].count > 1 && ret->list[i].worst < RANK_SHARED)
			ret->list[i].worst = RANK_SHARED;
	return true;
}

/* --- drawing -------------------------------------------------------------------------- */

static const struct {
	const char *line, *fill, *ink, *word;
} looks[] = {
	[RANK_LANDS] = {COLOUR_CHOSEN, COLOUR_CHOSEN_CARD, COLOUR_INK, NULL},
	[RANK_TOO] = {COLOUR_GROUP, COLOUR_GROUP_CARD, COLOUR_INK, NULL},
	[RANK_WITHOUT] = {COLOUR_PALE, COLOUR_CARD, COLOUR_INK, NULL},
	[RANK_MAYBE] = {COLOUR_MUTED, COLOUR_CARD, COLOUR_INK, "not checked"},
	[RANK_SHARED] = {COLOUR_UNSURE, COLOUR_UNSURE_CARD, COLOUR_INK, "shared"},
	[RANK_CLASH] = {COLOUR_ERROR, COLOUR_ERROR_CARD, COLOUR_ERROR, "collision"},
	[RANK_NOWHERE] = {COLOUR_ERROR, COLOUR_ERROR_CARD, COLOUR_ERROR, "error"},
};

int rank_card_height(const struct rank_card *card)
{
	size_t shown = card->count < CARD_RANKS ? card->count : CARD_RANKS;

	return HEAD + (int)shown * RANK_HEIGHT + (card->count > shown ? LINE : 0) + PAD / 2;
}

/* "cores 0-7,64-71, NUMA 0, 8 threads" */
static void binding(struct strbuf *buf, const struct local_rank *local)
{
	if (local->cpus)
		strbuf_printf(buf, "%s %.64s", local->cpus_shared ? "shares cores" : "cores",
			      local->cpus);
	else
		strbuf_puts(buf, "cores not bound");
	if (local->nodes)
		strbuf_printf(buf, " \xc2\xb7 NUMA %.32s", local->nodes);
	if (local->threads)
		strbuf_printf(buf, " \xc2\xb7 %d thread%s", local->threads,
			      local->threads == 1 ? "" : "s");
}

static int draw_rank(struct strbuf *buf, const struct plan_host *host, size_t l, enum rank_how how,
		     const struct box *at)
{
	const struct local_rank *local = &host->layout->ranks[l];
	int width = at->width - 2 * PAD, need = 0, taken = 0;
	struct strbuf text = {0};

	strbuf_printf(&text, "rank %zu \xc2\xb7 local %zu", host->first_rank + l, l);
	if (how == RANK_TOO)
		strbuf_puts(&text, " uses it too");
	else if (local->logical >= 0)
		strbuf_printf(&text, " \xc2\xb7 cuda:%d", local->logical);
	if (how != RANK_TOO && local->lands && local->lands->mig >= 0)
		strbuf_printf(&text, " \xc2\xb7 MIG %d", local->lands->mig);
	if (text.text)
		need = svg_text(buf, at->x + PAD, at->y + 12,
				INK(.size = 12, .fill = looks[how].ink, .bold = true), width,
				text.text);
	scratch_free(buf, &text);
	binding(&text, local);
	if (text.text)
		taken = svg_text(buf, at->x + PAD, at->y + 26,
				 INK(.size = 11, .fill = COLOUR_MUTED), width, text.text);
	scratch_free(buf, &text);
	return 2 * PAD + (taken > need ? taken : need);
}

static int draw_head(struct strbuf *buf, const struct rank_card *card, const struct box *place)
{
	const char *word = card->count ? looks[card->worst].word : NULL;
	bool idle = card->gpu && !card->count, pale = idle && !card->chosen;
	const char *ink = pale ? COLOUR_PALE : COLOUR_INK;
	int left = place->x + PAD, right = place->x + place->width - PAD, taken = 0;
	const char *title = card->gpu                     ? FORMAT("GPU %d", card->gpu->physical)
			    : card->worst == RANK_NOWHERE ? "no GPU that works"
							  : "without a GPU";

	if (idle)
		word = pale ? "not chosen" : "no rank";
	if (word) {
		right -= svg_pill_width(word);
		svg_pill(buf, right, place->y + 8,
			 idle ? COLOUR_PALE_LINE : looks[card->worst].line,
			 idle ? COLOUR_MUTED : COLOUR_CARD, word);
		right -= 6;
	}
	left += 8 + svg_text(buf, left, place->y + 21, INK(.size = 13, .fill = ink, .bold = true),
			     right - left, title);
	if (card->gpu && card->gpu->name)
		taken = svg_text(buf, left, place->y + 21, INK(.size = 12, .fill = COLOUR_MUTED),
				 right - left, card->gpu->name);
	return place->width - (right - left) + taken;
}

int rank_card_draw(struct strbuf *buf, const struct rank_card *card, const struct plan_host *host,
		   const struct box *place)
{
	size_t shown = card->count < CARD_RANKS ? card->count : CARD_RANKS;
	struct box box = *place;
	int need;

	box.line = card->count ? looks[card->worst].line : COLOUR_PALE_LINE;
	box.fill = card->count ? looks[card->worst].fill : COLOUR_PALE_CARD;
	svg_box(buf, &box);
	need = draw_head(buf, card, place);
	box.y += HEAD;
	for (size_t i = 0; i < shown; i++, box.y += RANK_HEIGHT) {
		int taken = draw_rank(buf, host, card->ranks[i], card->hows[i], &box);

		need = taken > need ? taken : need;
	}
	if (shown < card->count)
		svg_text(buf, box.x + PAD, box.y + 10, INK(.size = 12, .fill = COLOUR_MUTED),
			 box.width - 2 * PAD, FORMAT("... %zu more ranks", card->count - shown));
	return need;
}
