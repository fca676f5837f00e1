/* SPDX-License-Identifier: MIT */
/* The plan reader: what it takes can be started, shown and drawn, and what is written is read
 * as the same plan. */
#include "plan/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_back(const char *name, const char *value, void *data)
{
	if (!*name || strchr(name, '='))
		abort();
	return 0;
}

static void start(gpumap_plan *plan, int64_t rank)
{
	static const char *const envp[] = {"RANK=1", "MASTER_PORT=2", "OMP_NUM_THREADS=3", NULL};
	char **arguments = NULL, *value = NULL;

	if (!gpumap_plan_rank_str(plan, rank, GPUMAP_RANK_HOST) ||
	    !gpumap_plan_rank_str(plan, rank, GPUMAP_RANK_VISIBLE))
		abort();
	gpumap_plan_rank_str(plan, rank, GPUMAP_RANK_UUID);
	gpumap_plan_variable_each(plan, rank, envp, read_back, NULL);
	if (gpumap_plan_rank_arguments(&arguments, plan, rank, NULL) == GPUMAP_OK)
		for (char **a = arguments; *a; a++)
			free(*a);
	free(arguments);
	gpumap_plan_expand_setting(&value, plan, "log_file", rank, "out", NULL);
	free(value);
}

static void check_same(const gpumap_plan *plan)
{
	char *text = NULL;
	int differs = 1;

	if (gpumap_plan_diff(&text, &differs, plan, plan, GPUMAP_FORMAT_TEXT, 0, NULL) !=
		    GPUMAP_OK ||
	    differs)
		abort();
	free(text);
}

static char *text_of(const gpumap_plan *plan, const gpumap_report *report,
		     enum gpumap_format format)
{
	char *text = NULL;

	if (gpumap_plan_format(&text, plan, format, GPUMAP_FORMAT_FLAG_ORIGINS, report) !=
	    GPUMAP_OK)
		abort();
	return text;
}

static void check_round_trip(const gpumap_plan *plan, const gpumap_report *report)
{
	char *first = text_of(plan, report, GPUMAP_FORMAT_JSON), *second;
	gpumap_plan *again = NULL;
	gpumap_report *again_report;

	if (gpumap_report_new(&again_report) != GPUMAP_OK ||
	    gpumap_plan_parse(&again, first, strlen(first), "again", again_report) != GPUMAP_OK)
		abort();
	second = text_of(again, again_report, GPUMAP_FORMAT_JSON);
	if (strcmp(first, second) != 0)
		abort();
	free(first);
	free(second);
	gpumap_plan_free(again);
	gpumap_report_free(again_report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gpumap_report *report = NULL;
	gpumap_plan *plan = NULL;
	int r;

	if (gpumap_report_new(&report) != GPUMAP_OK)
		return 0;
	r = gpumap_plan_parse(&plan, (const char *)data, size, "fuzz", report);
	if (r != GPUMAP_OK && (plan || gpumap_report_worst(report) != GPUMAP_SEVERITY_ERROR))
		abort();
	if (r == GPUMAP_OK) {
		int64_t ranks = gpumap_plan_int(plan, GPUMAP_PLAN_WORLD_SIZE);

		if (ranks) {
			start(plan, 0);
			start(plan, ranks - 1);
		}
		check_round_trip(plan, report);
		free(text_of(plan, report, GPUMAP_FORMAT_TEXT));
		free(text_of(plan, report, GPUMAP_FORMAT_SVG));
		check_same(plan);
		gpumap_plan_free(plan);
	}
	gpumap_report_free(report);
	return 0;
}
