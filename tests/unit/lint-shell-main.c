/* SPDX-License-Identifier: MIT */
/* lint-shell-main [--visible N] FILE...: what lint_shell finds in scripts, one line each; 1 when
 * it finds anything. */
#include "lint/shell.h"

#include <stdio.h>

static char *read_all(const char *path, size_t *size)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t room = 0;

	*size = 0;
	if (!file)
		return NULL;
	for (;;) {
		size_t n;

		if (*size + 65536 > room) {
			char *grown = realloc(text, room = room * 2 + 65536);

			if (!grown)
				break;
			text = grown;
		}
		n = fread(text + *size, 1, 65536, file);
		*size += n;
		if (!n)
			break;
	}
	fclose(file);
	return text;
}

static void print(const gpumap_report *report)
{
	const gpumap_finding *f;

	for (size_t i = 0; (f = gpumap_report_get(report, i)); i++)
		printf("%s:%d:%d: %s [%s]%s%s\n", gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN),
		       (int)gpumap_finding_int(f, GPUMAP_FINDING_LINE),
		       (int)gpumap_finding_int(f, GPUMAP_FINDING_COLUMN),
		       gpumap_finding_str(f, GPUMAP_FINDING_TEXT),
		       gpumap_finding_str(f, GPUMAP_FINDING_ID),
		       gpumap_finding_str(f, GPUMAP_FINDING_FIX) ? "; fix: " : "",
		       gpumap_finding_str(f, GPUMAP_FINDING_FIX)
			       ? gpumap_finding_str(f, GPUMAP_FINDING_FIX)
			       : "");
}

int main(int argc, char **argv)
{
	int64_t visible = -1;
	int found = 0, i = 1;

	if (argc > 2 && streq(argv[1], "--visible")) {
		visible = strtol(argv[2], NULL, 10);
		i = 3;
	}
	for (; i < argc; i++) {
		struct lint_started started = {0};
		gpumap_report *report = NULL;
		size_t size;
		char *text = read_all(argv[i], &size);
		int r;

		if (!text || gpumap_report_new(&report) != GPUMAP_OK) {
			perror(argv[i]);
			return 2;
		}
		r = lint_shell((struct span){text, size}, argv[i], visible, &started, report);
		print(report);
		if (r != GPUMAP_OK)
			printf("%s: %s\n", argv[i], gpumap_strerror(r));
		found |= r != GPUMAP_OK || gpumap_report_count(report) > 0;
		gpumap_report_free(report);
		lint_started_free(&started);
		free(text);
	}
	return found;
}
