/* SPDX-License-Identifier: MIT */
/* See rank_rows.h. */
#include "job/rank_rows.h"

#include <stdlib.h>
#include <unistd.h>

#include "memory.h"
#include "plan/job.h"
#include "report/report.h"

bool rank_row_has(const char *row, const char *entry)
{
	const char *name;

	for (size_t i = 0; (name = rank_identity_row_variable(row, i)); i++)
		if (entry_is_named(entry, name))
			return true;
	return false;
}

static bool is_rank_variable(const char *entry)
{
	static const char *const hints[] = {"PET_NNODES", "KUBERNETES_SERVICE_HOST"};
	const char *name;

	for (size_t i = 0; (name = rank_identity_variable(i)); i++)
		if (entry_is_named(entry, name))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(hints); i++)
		if (entry_is_named(entry, hints[i]))
			return true;
	return false;
}

/* States only the rank variables, without those of one row; the rest of the environment is ignored.
 */
static int state(gpumap_request *request, const char *without, gpumap_report *report)
{
	size_t count = 0, room = 0;
	CLEANUP_FREE const char **envp = NULL;

	while (environ[room])
		room++;
	envp = xcalloc(room + 1, sizeof(*envp));
	for (size_t i = 0; i < room; i++)
		if (is_rank_variable(environ[i]) && !(without && rank_row_has(without, environ[i])))
			envp[count++] = environ[i];
	return gpumap_request_set_environ(request, envp, report);
}

static int read_without(struct rank_identity rows[RANK_IDENTITY_ROWS], size_t *count,
			const char *without, gpumap_report *report)
{
	OWNED(request) *request = new_request();
	int r = request ? state(request, without, report) : GPUMAP_ENOMEM;

	if (r == GPUMAP_OK)
		*count = rank_identity_read(rows, request, report);
	return r;
}

bool rank_row_is_own(const struct rank_identity *row)
{
	const char *rank = getenv(RUN_RANK), *run = getenv(RUN_ID);
	const char *now = getenv("TORCHELASTIC_RUN_ID");

	return streq(row->row, "torch") && getenv(RUN_GPUS) && rank &&
	       span_number(span_of(rank), INT32_MAX) == row->rank &&
	       (!run || !now || streq(run, now));
}

static bool disagrees(const struct rank_identity *a, const struct rank_identity *b)
{
	return a->rank != b->rank || a->size != b->size || a->local_rank != b->local_rank;
}

int rank_rows_read(struct rank_identity rows[RANK_IDENTITY_ROWS], size_t *count,
		   gpumap_report *report)
{
	size_t before = gpumap_report_count(report);
	bool inside = false;
	int r = read_without(rows, count, NULL, report);

	/* gpumap unsets rows that differ from its own in its ranks, so this row was set later. */
	for (size_t i = 1; r == GPUMAP_OK && i < *count; i++)
		inside = inside || (rank_row_is_own(&rows[0]) && disagrees(&rows[0], &rows[i]));
	if (!inside)
		return r;
	report_keep(report, before, NULL, NULL);
	return read_without(rows, count, "torch", report);
}

bool rank_tasks_have_lists(void)
{
	const char *binding = getenv("SLURMD_TRES_BIND");
	const char *gpus = binding ? strstr(binding, "gpu:") : NULL;

	return gpus && !starts_with(gpus, "gpu:none") && !starts_with(gpus, "gpu:closest");
}

int rank_rows_limit(gpumap_hosts *hosts, size_t i, gpumap_report *report)
{
	struct rank_identity rows[RANK_IDENTITY_ROWS], *row = rows;
	size_t count = 0;
	int64_t ranks;
	int r = rank_rows_read(rows, &count, NULL);

	if (r != GPUMAP_OK || !count || row->local_rank < 0 || rank_row_is_own(row))
		return GPUMAP_OK;
	ranks = row->nodes == row->size ? 1 : row->local_size >= 0 ? row->local_size : row->size;
	if (ranks == 1 || streq(row->row, "jsrun") ||
	    (streq(row->row, "Slurm step") && rank_tasks_have_lists()))
		return GPUMAP_OK;
	return hosts_limit_rank(hosts, i, row->local_rank, row->row, report);
}
