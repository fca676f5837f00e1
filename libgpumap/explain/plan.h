/* SPDX-License-Identifier: MIT */
/* The writers of a plan, one per format. */
#ifndef GM_EXPLAIN_PLAN_H
#define GM_EXPLAIN_PLAN_H

#include <jansson.h>

#include "plan/job.h"
#include "strbuf.h"

/* `plan` NULL: there is none. NULL without memory. */
json_t *plan_json(const gpumap_plan *plan, const gpumap_report *report);

/* Whether the JSON can be read back as the same plan. Bytes that are not UTF-8 prevent it. */
bool plan_json_keeps(const gpumap_plan *plan);

void plan_text(struct strbuf *buf, const gpumap_plan *plan, bool origins);
/* The plan's first lines, without their newlines: what is planned, and where several ranks meet. */
void plan_headline(struct strbuf *buf, const gpumap_plan *plan);
void plan_rendezvous(struct strbuf *buf, const gpumap_plan *plan);
/* Whether all ranks of a host have the same visible list. */
bool lists_equal(const struct plan_layout *layout);

/* Whether ranks whose device is not known may still use the right one. */
bool plan_may_land(const gpumap_plan *plan);

/* `plan` NULL: the report alone. */
void plan_svg(struct strbuf *buf, const gpumap_plan *plan, const gpumap_report *report);

#endif
