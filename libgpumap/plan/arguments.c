/* SPDX-License-Identifier: MIT */
/* The arguments of a rank's program. */
#include "plan/job.h"

#include "memory.h"
#include "profile/profile.h"
#include "strbuf.h"

void job_free_arguments(char ***arguments)
{
	for (size_t i = 0; *arguments && (*arguments)[i]; i++)
		free((*arguments)[i]);
	free(*arguments);
}

/* The argument that old scripts expect: --local_rank=N, or another name. */
static char *local_rank_argument(const struct plan_setting *pass, int64_t local_rank)
{
	struct strbuf buf = {0};

	if (pass->word == PLAN_PASS_OPTION)
		strbuf_add(&buf, pass->part.text, pass->part.length);
	else
		strbuf_puts(&buf, "--local_rank");
	strbuf_printf(&buf, "=%lld", (long long)local_rank);
	return strbuf_take(&buf);
}

int job_arguments(char ***ret, const gpumap_plan *plan, const struct job_rank *rank,
		  gpumap_report *report)
{
	const struct plan_setting *pass =
		job_setting(plan, PKEY_PROFILE_pass_local_rank, rank->row);
	const struct macros macros = job_macros(plan, rank, NULL);
	char **arguments;
	int r = GPUMAP_OK;

	arguments = xcalloc(plan->argument_count + 2, sizeof(*arguments));
	if (!arguments)
		return report_nomem(report);
	for (size_t i = 0; i < plan->argument_count && r == GPUMAP_OK; i++)
		r = profile_expand(&arguments[i], plan->arguments[i], &macros,
				   ABOUT(.origin = "command"), report);
	if (r == GPUMAP_OK && plan->argument_count && pass->word != PLAN_PASS_NO) {
		arguments[plan->argument_count] = local_rank_argument(pass, rank->local_rank);
		if (!arguments[plan->argument_count])
			r = report_nomem(report);
	}
	if (r != GPUMAP_OK) {
		job_free_arguments(&arguments);
		return r;
	}
	*ret = arguments;
	return GPUMAP_OK;
}

EXPORT int gpumap_plan_rank_arguments(char ***ret, const gpumap_plan *plan, int64_t rank,
				      gpumap_report *report)
{
	struct job_rank at;

	return job_rank_at(plan, rank, &at) ? job_arguments(ret, plan, &at, report) : GPUMAP_EINPUT;
}
