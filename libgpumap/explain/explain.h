/* SPDX-License-Identifier: MIT */
/* The forms of mappings, inventories and profiles: one file for each, read only. */
#ifndef GM_EXPLAIN_H
#define GM_EXPLAIN_H

#include "report/report.h"
#include "resolve/mapping.h"
#include "strbuf.h"

/* Each function appends to `buf`, whose `failed` reports that memory ran out. `mapping` may be
 * NULL. */
void mapping_text(struct strbuf *buf, const gpumap_mapping *mapping, const gpumap_report *report);
/* Its first line, without a newline. */
void mapping_headline(struct strbuf *buf, const gpumap_mapping *mapping,
		      const gpumap_report *report);
void mapping_json(struct strbuf *buf, const gpumap_mapping *mapping, const gpumap_report *report);
void mapping_svg(struct strbuf *buf, const gpumap_mapping *mapping, const gpumap_report *report);
void inventory_json(struct strbuf *buf, const gpumap_inventory *inventory,
		    const gpumap_report *report);
/* `keys` ends with NULL. NULL means all keys. */
void profile_json(struct strbuf *buf, const gpumap_profile *profile, const char *const *keys,
		  const gpumap_report *report);

/* Pieces of texts for people: a heading on a line of its own, a cell of a column, and the origin of
 * what is on a line, which ends there. */
void put_heading(struct strbuf *buf, const char *text);
void put_cell(struct strbuf *buf, const char *text, int width);
void put_origin(struct strbuf *buf, const char *origin);
/* Takes the blanks of the last cell away. */
void trim_end(struct strbuf *buf);

/* A statement that lost, as it was typed if it is an option: "--prefix 0", "the launcher's 2". */
void put_loser(struct strbuf *buf, const struct loser *loser);

/* Returns the appended text as *ret. GPUMAP_ENOMEM. */
int format_finish(char **ret, struct strbuf *buf);
bool format_flags_known(unsigned flags);

/* The first finding that is an error; NULL: there is none. */
const gpumap_finding *first_error(const gpumap_report *report);

#endif
