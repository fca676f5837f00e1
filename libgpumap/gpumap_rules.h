/* SPDX-License-Identifier: MIT */
/* A part of gpumap.h, which includes it and has the conventions. */
#ifndef GPUMAP_RULES_H
#define GPUMAP_RULES_H

#include "gpumap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- rules ------------------------------------------------------------------ */

typedef struct gpumap_rule gpumap_rule;

enum gpumap_rule_attr {
	GPUMAP_RULE_ID,      /* "V5", permanent */
	GPUMAP_RULE_LINE,    /* the rule in one line */
	GPUMAP_RULE_TEXT,    /* the rule in full */
	GPUMAP_RULE_EXAMPLE, /* or NULL */
	GPUMAP_RULE_SOURCE,  /* where it is documented or was seen */
	GPUMAP_RULE_EVIDENCE /* "documented", "observed", "implemented", "verified", "assumed" */
};

/* The rule `id` (letter case ignored), NULL if there is none. Static. */
const gpumap_rule *gpumap_rule_find(const char *id);
/* The i-th rule in the order of the manual; NULL past the end. */
const gpumap_rule *gpumap_rule_get(size_t i);
const char *gpumap_rule_str(const gpumap_rule *rule, enum gpumap_rule_attr attr);

/* --- findings, looked up ------------------------------------------------------- */

/* What the finding `id` ("GM019", letter case ignored) is about, whether or not a report has it;
 * NULL if there is none. Its text is its meaning, its rule the one that it comes from. Static. */
const gpumap_finding *gpumap_finding_find(const char *id);
/* The i-th in the order of the manual; NULL past the end. */
const gpumap_finding *gpumap_finding_get(size_t i);

#ifdef __cplusplus
}
#endif
#endif
