/* SPDX-License-Identifier: MIT */
/* The writers of a plan, one per format. */
#ifndef GM_EXPLAIN_PLAN_H
#define GM_EXPLAIN_PLAN_H

#include <jansson.h>

#include "plan/job.h"
#include "strbuf.h"

/* `plan` NULL: there is none; *failed is set when memory runs out. */
json_t *plan_json(const gpumap_plan *plan, const gpumap_report *report, bool *failed);

/* Whether the JSON reads back as the same plan: bytes that are not UTF-8 do not. */
bool plan_json_keeps(const gpumap_plan *plan);

void plan_text(struct strbuf *buf, const gpumap_plan *plan, bool origins);
/* Its first lines: what is planned, and where the ranks meet. */
void plan_headline(struct strbuf *buf, const gpumap_plan *plan);

/* Whether ranks of which it is not known where they land may land well. */
bool plan_may_land(const gpumap_plan *plan);

/* `plan` NULL: the report alone. */
void plan_svg(struct strbuf *buf, const gpumap_plan *plan, const gpumap_report *report);

#endif
