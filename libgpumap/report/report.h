/* SPDX-License-Identifier: MIT */
#ifndef GM_REPORT_H
#define GM_REPORT_H

#include "gpumap.h"

#include "base.h"
#include "owned.h"
#include "report/speech.h"

enum finding_id {
#define FINDING(id, name, ...) FINDING_##name,
#include "report/findings.def"
#undef FINDING
	FINDING_COUNT
};

/* What a finding is about; any member may be left out. */
struct about {
	const char *rule;
	const char *origin;
	const char *fix;
	int line, column; /* 1-based, 0: does not apply */
	const struct speech *speech;
};

struct strbuf;

#define ABOUT(...) (&(const struct about){__VA_ARGS__})

/* Adds a finding. `report` NULL does nothing. `about` may be NULL. Control characters in the text
 * and its origin are escaped. */
void report_add(gpumap_report *report, enum finding_id id, const struct about *about,
		const char *format, ...) PRINTF(4, 5);
void report_vadd(gpumap_report *report, enum finding_id id, const struct about *about,
		 const char *format, va_list args) PRINTF(4, 0);

/* Returns `code` after adding a finding, for `return report_fail(...)`. */
int report_fail(gpumap_report *report, int code, enum finding_id id, const struct about *about,
		const char *format, ...) PRINTF(5, 6);

/* Adds a finding with the text of a buffer, or notes that memory ran out there. */
void report_text(gpumap_report *report, enum finding_id id, const struct about *about,
		 const struct strbuf *text);

/* Adds a copy of another report's finding. */
void report_copy(gpumap_report *report, const gpumap_finding *finding);
/* Adds copies of another report's findings, except those with one id (FINDING_COUNT: none). */
void report_copy_all(gpumap_report *report, const gpumap_report *from, enum finding_id left_out);
/* Removes the findings with one id, from the i-th finding on. */
void report_drop(gpumap_report *report, size_t from, enum finding_id id);
/* Removes the findings from the i-th on, but those that stay; NULL: none does. So a part of what is
 * found counts: from = gpumap_report_count() before it is looked for. */
typedef bool finding_stays(const gpumap_finding *finding, const void *data);
void report_keep(gpumap_report *report, size_t from, finding_stays *stays, const void *data);
/* An error or a warning; for report_keep(). */
finding_stays finding_matters;
/* Adds a copy of another report's finding, with this origin, line and column, and with this remedy
 * if there is one. */
void report_relay(gpumap_report *report, const gpumap_finding *finding, const struct about *at);
/* ... and with more text behind its own. */
void report_relay_more(gpumap_report *report, const gpumap_finding *finding, const struct about *at,
		       const char *more);

bool finding_is(const gpumap_finding *finding, enum finding_id id);

/* GPUMAP_ENOMEM, after noting it in the report without allocating. */
int report_nomem(gpumap_report *report);
/* Whether it was noted, or a finding could not be added. */
bool report_lacks_memory(const gpumap_report *report);

/* Reports what read_file (base/readfile.h) returned: GPUMAP_OK for 0, else GPUMAP_ENOMEM,
 * GPUMAP_ELIMIT for a file of more than `max` bytes, or GPUMAP_EFILE, after a finding. `what` names
 * the file: "the plan". `fix` may be NULL. */
int report_read(gpumap_report *report, int error, const char *path, const char *what, size_t max,
		const char *fix);

/* Every id with its meaning, for the manual: id, name, severity; NULL past the end. */
const char *finding_meaning(size_t i, const char **id, enum gpumap_severity *severity);

/* The finding with that id; FINDING_COUNT: there is none. */
enum finding_id finding_by_id(const char *id);

#endif
