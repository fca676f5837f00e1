/* SPDX-License-Identifier: MIT */
/* What writers of JSON in other files share with json.c. */
#ifndef GM_JSON_H
#define GM_JSON_H

#include <jansson.h>

#include "report.h"
#include "strbuf.h"

/* Text that is not UTF-8 (an environment may hold anything) is written escaped; NULL is null. */
json_t *json_text(const char *s);

/* The report's findings; *failed is set when memory runs out. */
json_t *json_findings(const gpumap_report *report, bool *failed);

/* Appends the value and a newline, and frees it. */
void json_dump(struct strbuf *buf, json_t *value, bool failed);

#endif
