/* SPDX-License-Identifier: MIT */
/*
 * gpumap leases for people:
 *
 *	GPUS   PID  USER    AGE   LEFT  HELD BY     LOAD     MEMORY  COMMAND
 *	0,1   4711  jo    2h10m  5h49m  program     93 %  41000 MiB  gpumap pick 2 -- ./solver
 *	2     4800  ann   3d02h      -  shell 4790   0 %      0 MiB  bash
 */
#include "live/leases.h"

#include <stdio.h>

#include "cli/text_table.h"
#include "inventory/inventory.h"
#include "live/process.h"
#include "live/ps.h"

enum { MAX_KEPT = 4 }; /* processes that are named */

enum column { GPUS, PID, USER, AGE, LEFT, HELD_BY, LOAD, MEMORY, COMMAND, COLUMNS };

static const struct text_column columns[COLUMNS] = {
	[GPUS] = {"GPUS", false}, [PID] = {"PID", true},       [USER] = {"USER", false},
	[AGE] = {"AGE", true},    [LEFT] = {"LEFT", true},     [HELD_BY] = {"HELD BY", false},
	[LOAD] = {"LOAD", true},  [MEMORY] = {"MEMORY", true}, [COMMAND] = {"COMMAND", false},
};

void lease_gpus_text(struct strbuf *buf, const struct leases *leases, const struct lease_row *row)
{
	for (size_t i = 0; i < row->count; i++) {
		const gpumap_device *unit = &leases->inventory->gpus[row->gpus[i]];

		strbuf_printf(buf, "%s%d", i ? "," : "", unit->physical);
		if (unit->mig_position >= 0)
			strbuf_printf(buf, ":%d", unit->mig_position);
	}
}

const char *lease_kind_word(enum lease_kind kind)
{
	static const char *const words[] = {
		[LEASE_OF_UNKNOWN] = NULL,  [LEASE_OF_PROGRAM] = "program", [LEASE_OF_RUN] = "run",
		[LEASE_OF_SHELL] = "shell", [LEASE_OF_PROCESS] = "process",
	};

	return words[kind];
}

/* Also a process that /proc hides. */
bool lease_owner_is_there(const struct lease_row *row)
{
	return !row->ended && (row->pid <= 0 || !process_ended((int)row->pid));
}

/* "has ended; processes that it started are still running: process 4720 (sleep of jo)" */
static void put_kept(struct strbuf *buf, const struct lease_kept *kept)
{
	strbuf_puts(buf, "has ended; processes that it started are still running");
	for (size_t i = 0; i < kept->count && i < MAX_KEPT; i++) {
		strbuf_puts(buf, i ? ", " : ": ");
		process_tell(buf, &kept->processes[i]);
	}
	if (kept->count > MAX_KEPT)
		strbuf_puts(buf, ", ...");
}

static void put_command(struct strbuf *buf, const struct lease_row *row)
{
	const gpumap_process *p = row->kept_for ? row->kept_for : row->owner;
	const char *command = p ? gpumap_process_str(p, GPUMAP_PROCESS_COMMAND) : NULL;

	if (lease_owner_is_there(row))
		strbuf_puts(buf, command ? command : "not visible here");
	else
		put_kept(buf, &row->kept);
}

static void put_holder(struct strbuf *buf, const struct lease_row *row)
{
	const char *word = lease_kind_word(row->kind);

	strbuf_puts(buf, word ? word : "-");
	if (row->kept_for)
		strbuf_printf(buf, " %lld",
			      (long long)gpumap_process_int(row->kept_for, GPUMAP_PROCESS_PID));
}

static void add_row(struct text_table *table, const struct leases *leases,
		    const struct lease_row *row)
{
	int64_t start = gpumap_process_int(row->owner, GPUMAP_PROCESS_START_TIME);
	struct strbuf *cells = text_table_add(table);
	char age[16];

	lease_gpus_text(&cells[GPUS], leases, row);
	if (row->slots > 1)
		strbuf_printf(&cells[GPUS], " (1 of %lld)", (long long)row->slots);
	strbuf_printf(&cells[PID], row->pid > 0 ? "%lld" : "-", (long long)row->pid);
	ps_user(&cells[USER], row->owner);
	strbuf_puts(&cells[AGE], start < 0 ? "-" : ps_age(age, leases->now - start));
	strbuf_puts(&cells[LEFT], row->left_ms < 0 ? "-" : ps_age(age, row->left_ms / 1000));
	put_holder(&cells[HELD_BY], row);
	strbuf_printf(&cells[LOAD], row->load < 0 ? "-" : "%lld %%", (long long)row->load);
	strbuf_printf(&cells[MEMORY], row->memory < 0 ? "-" : "%lld MiB",
		      (long long)(row->memory >> 20));
	put_command(&cells[COMMAND], row);
}

void leases_text(struct strbuf *buf, const struct leases *leases, bool idle)
{
	CLEANUP(text_table_free) struct text_table table = {.columns = columns, .count = COLUMNS};
	size_t shown = 0;

	for (size_t i = 0; i < leases->count; i++)
		if (!idle || leases->rows[i].idle) {
			add_row(&table, leases, &leases->rows[i]);
			shown++;
		}
	text_table_fit(&table);
	if (shown)
		text_table_heads(buf, &table, 0);
	else if (leases->known)
		strbuf_puts(buf, leases->count ? "no lease is idle\n" : "no GPU is leased\n");
	for (size_t i = 0; i < shown; i++)
		text_table_row(buf, &table, i, 0, ps_width(), 0);
}
