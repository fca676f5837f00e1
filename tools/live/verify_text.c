/* SPDX-License-Identifier: MIT */
/*
 * The answer of gpumap verify for people:
 *
 *	Run 20261125-193000-4700 on tux1: 1 of 2 ranks is not as planned
 *
 *	  RANK   PID  GPU   MEMORY  STATE
 *	     0  4711  0   1200 MiB  as planned
 *	     1  4712  1   1200 MiB  also on another GPU: 0
 */
#include "live/verify.h"

#include <stdio.h>

#include "cli/text_table.h"
#include "style.h"

enum column { RANK, PID, GPU, MEMORY, STATE, COLUMNS };

enum { INDENT = 2 };

static const struct text_column columns[] = {
	[RANK] = {"RANK", true},     [PID] = {"PID", true},      [GPU] = {"GPU", false},
	[MEMORY] = {"MEMORY", true}, [STATE] = {"STATE", false},
};

/* "3", "3:1" for an instance. */
static void put_device(struct strbuf *buf, struct verify_device device)
{
	strbuf_printf(buf, device.mig < 0 ? "%d" : "%d:%d", device.physical, device.mig);
}

static void own_text(struct strbuf *buf, const struct verify_rank *rank)
{
	if (rank->own_unknown || !rank->own_count)
		strbuf_puts(buf, rank->own_unknown ? "?" : "-");
	for (size_t i = 0; i < rank->own_count && !rank->own_unknown; i++) {
		strbuf_puts(buf, i ? "," : "");
		put_device(buf, rank->own[i]);
	}
}

/* On its own GPUs. */
static void memory_text(struct strbuf *buf, const struct verify_rank *rank)
{
	int64_t sum = 0;
	bool any = false, known = true;

	for (size_t i = 0; i < rank->use_count; i++) {
		if (!verify_is_own(rank, rank->uses[i].device))
			continue;
		any = true;
		known = known && rank->uses[i].memory >= 0;
		sum += rank->uses[i].memory;
	}
	if (!any)
		strbuf_puts(buf, "-");
	else if (!known)
		strbuf_puts(buf, "?");
	else
		strbuf_printf(buf, "%lld MiB", (long long)(sum >> 20));
}

/* The GPUs that are not its own, each once. */
static void put_others(struct strbuf *buf, const struct verify_rank *rank)
{
	bool any = false;

	for (size_t i = 0; i < rank->use_count; i++) {
		if (verify_is_own(rank, rank->uses[i].device) || verify_is_repeated(rank, i))
			continue;
		strbuf_puts(buf, any ? "," : "");
		put_device(buf, rank->uses[i].device);
		any = true;
	}
}

static void add_part(struct strbuf *buf, const char *text)
{
	strbuf_puts(buf, buf->length ? "; " : "");
	strbuf_puts(buf, text);
}

static void state_text(struct strbuf *buf, const struct verify_rank *rank)
{
	static const char *const words[] = {
		[VERIFY_RIGHT] = "as planned",
		[VERIFY_OVER] = "has ended",
		[VERIFY_UNUSED] = "has not used its GPU yet",
		[VERIFY_HIDDEN] = "not visible",
	};

	if (rank->state != VERIFY_WRONG) {
		strbuf_puts(buf, words[rank->state]);
		return;
	}
	if (rank->differences & VERIFY_DEAD)
		add_part(buf, "dead");
	if (rank->differences & VERIFY_CHANGED)
		add_part(buf, "another list");
	if (rank->differences & VERIFY_ELSEWHERE)
		add_part(buf, "on another GPU: ");
	if (rank->differences & VERIFY_STRAY)
		add_part(buf, "also on another GPU: ");
	if (rank->differences & (VERIFY_ELSEWHERE | VERIFY_STRAY))
		put_others(buf, rank);
}

static void put_table(struct strbuf *buf, const struct verify *v)
{
	CLEANUP(text_table_free) struct text_table table = {.columns = columns, .count = COLUMNS};

	for (size_t i = 0; i < v->count; i++) {
		const struct verify_rank *rank = &v->ranks[i];
		struct strbuf *cells = text_table_add(&table);

		strbuf_printf(&cells[RANK], rank->rank < 0 ? "-" : "%lld", (long long)rank->rank);
		strbuf_printf(&cells[PID], rank->pid <= 0 ? "-" : "%lld", (long long)rank->pid);
		own_text(&cells[GPU], rank);
		memory_text(&cells[MEMORY], rank);
		state_text(&cells[STATE], rank);
	}
	text_table_fit(&table);
	text_table_heads(buf, &table, INDENT);
	for (size_t i = 0; i < v->count; i++)
		text_table_row(buf, &table, i, INDENT, SIZE_MAX,
			       v->ranks[i].state >= VERIFY_HIDDEN ? 1u << STATE : 0);
}

/* "4 ranks, as planned so far", "1 of 4 ranks is not as planned". */
void verify_verdict(struct strbuf *buf, const struct verify *v)
{
	size_t wrong = verify_count(v, VERIFY_WRONG), hidden = verify_count(v, VERIFY_HIDDEN);
	size_t unused = verify_count(v, VERIFY_UNUSED);
	const char *what = v->run ? "rank" : "process", *plural = v->run ? "s" : "es";

	if (wrong)
		strbuf_printf(buf, "%zu of %zu %s%s %s not as planned", wrong, v->count, what,
			      v->count == 1 ? "" : plural, wrong == 1 ? "is" : "are");
	else if (hidden)
		strbuf_printf(buf, "%zu of %zu %s%s %s not visible", hidden, v->count, what,
			      v->count == 1 ? "" : plural, hidden == 1 ? "is" : "are");
	else
		strbuf_printf(buf, "%zu %s%s, as planned%s", v->count, what,
			      v->count == 1 ? "" : plural, unused ? " so far" : "");
}

void verify_text(struct strbuf *buf, const struct verify *v)
{
	const char *host = v->ps.inventory
				   ? gpumap_inventory_str(v->ps.inventory, GPUMAP_INVENTORY_HOST)
				   : NULL;
	CLEANUP(strbuf_free) struct strbuf verdict = {0};

	if (v->run)
		strbuf_printf(&verdict, "Run %s", v->run);
	else if (v->count)
		strbuf_printf(&verdict, "Process %lld", (long long)v->ranks[0].pid);
	strbuf_printf(&verdict, "%s%s: ", host ? " on " : "", host ? host : "");
	verify_verdict(&verdict, v);
	style_puts(buf, STYLE_ANSWER, verdict.text ? verdict.text : "");
	strbuf_puts(buf, "\n\n");
	put_table(buf, v);
}
