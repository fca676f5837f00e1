/* SPDX-License-Identifier: MIT */
/* The documented rules, by their ids. */
#include "gpumap.h"

#include <strings.h>

#include "base.h"

struct gpumap_rule {
	const char *id, *line, *text, *example, *source, *evidence;
};

static const gpumap_rule rules[] = {
#define RULE(id, line, text, example, source, evidence) {id, line, text, example, source, evidence},
#include "report/rules.def"
#undef RULE
};

EXPORT const gpumap_rule *gpumap_rule_find(const char *id)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (strcasecmp(rules[i].id, id) == 0)
			return &rules[i];
	return NULL;
}

EXPORT const gpumap_rule *gpumap_rule_get(size_t i)
{
	return i < ARRAY_SIZE(rules) ? &rules[i] : NULL;
}

EXPORT const char *gpumap_rule_str(const gpumap_rule *rule, enum gpumap_rule_str_attr attr)
{
	if (!rule)
		return NULL;
	return TEXT_AT(
		attr, [GPUMAP_RULE_ID] = rule->id, [GPUMAP_RULE_LINE] = rule->line,
		[GPUMAP_RULE_TEXT] = rule->text, [GPUMAP_RULE_EXAMPLE] = rule->example,
		[GPUMAP_RULE_SOURCE] = rule->source, [GPUMAP_RULE_EVIDENCE] = rule->evidence);
}
