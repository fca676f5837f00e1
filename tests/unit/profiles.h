/* SPDX-License-Identifier: MIT */
/* Profiles from files that are text in a test; "== NAME" begins a file, the first is t.ini. */
#ifndef GM_TEST_PROFILES_H
#define GM_TEST_PROFILES_H

#include <stdio.h>

#include "profile/profile.h"
#include "unit.h"

/* What stands behind "== NAME\n", up to the next such line; NULL text: no such file. */
static inline struct span file_in(const char *files, const char *name)
{
	char mark[128];
	const char *start, *end;

	snprintf(mark, sizeof(mark), "== %s\n", name);
	start = strstr(files, mark);
	if (!start)
		return (struct span){NULL, 0};
	start += strlen(mark);
	end = strstr(start, "== ");
	return (struct span){start, end ? (size_t)(end - start) : strlen(start)};
}

static inline int source_in(void *data, const char *path, bool optional, char **text, size_t *size,
			    gpumap_report *report)
{
	struct span file = file_in(*(const char **)data, path);

	*text = NULL;
	if (!file.text)
		return optional ? GPUMAP_OK : GPUMAP_EFILE;
	*size = file.length;
	*text = strndup(file.text, file.length);
	return *text ? GPUMAP_OK : report_nomem(report);
}

static inline int load_files(gpumap_profile **ret, const char *files, const char *name,
			     gpumap_report *report)
{
	const char *end = strstr(files, "== ");

	return profile_load(ret, "t.ini",
			    (struct span){files, end ? (size_t)(end - files) : strlen(files)}, name,
			    source_in, &files, report);
}

/* All findings, "t.ini:2:3 text; fix [GM002]" and a newline each. */
static inline char *findings_text(const gpumap_report *report)
{
	struct strbuf text = {0};

	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);
		const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);
		const char *fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX);
		int line = (int)gpumap_finding_int(f, GPUMAP_FINDING_LINE);
		int column = (int)gpumap_finding_int(f, GPUMAP_FINDING_COLUMN);

		strbuf_puts(&text, origin ? origin : "-");
		if (line > 0)
			strbuf_printf(&text, ":%d", line);
		if (column > 0)
			strbuf_printf(&text, ":%d", column);
		strbuf_printf(&text, " %s%s%s [%s]\n", gpumap_finding_str(f, GPUMAP_FINDING_TEXT),
			      fix ? "; " : "", fix ? fix : "",
			      gpumap_finding_str(f, GPUMAP_FINDING_ID));
	}
	return strbuf_take(&text);
}

#endif
