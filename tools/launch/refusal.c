/* SPDX-License-Identifier: MIT */
/* Why a rank was not started, and what helps. */
#include "launch.h"

#include <errno.h>

#include "exit_status.h"
#include "report/report.h"

/* The program's stages are explained by program_fault(). */
static const struct {
	const char *text, *fix;
} stages[] = {
	[STAGE_FORK] = {"cannot be forked", NULL},
	[STAGE_FOLDER] = {"cannot enter its folder",
			  "name an existing folder by " SETTING("workdir")},
	[STAGE_CPUS] = {"cannot be bound to its cores",
			SETTING("cpu_bind = none") " leaves the cores as they are"},
	[STAGE_MEMORY] = {"cannot be bound to its memory",
			  SETTING("mem_bind = none") " leaves the memory as it is"},
	[STAGE_FIND] = {"cannot execute", NULL},
	[STAGE_EXEC] = {"cannot execute", NULL},
};

const char *launch_stage_fix(enum stage stage, int error)
{
	return stage == STAGE_FORK && error == EAGAIN
		       ? "'ulimit -u' shows how many processes are allowed"
		       : stages[stage].fix;
}

int launch_refuse(const struct launch_rank *rank, enum stage stage, int error,
		  const struct speech *speech, gpumap_report *report)
{
	bool program = stage >= STAGE_FIND;
	const char *what = program ? rank->argv[0] : stage == STAGE_FOLDER ? rank->folder : NULL;
	const char *why = strerror(error), *fix = launch_stage_fix(stage, error);
	struct program_fault fault;

	if (program) {
		program_fault(&fault, what, rank->folder, error);
		why = fault.text;
		fix = *fault.fix ? fault.fix : NULL;
	}
	report_add(report, FINDING_NOT_STARTED, ABOUT(.fix = fix, .speech = speech),
		   "rank %d %s%s: %s", rank->rank, stages[stage].text,
		   what ? FORMAT(" '%s'", QUOTE(span_of(what))) : "", why);
	return program ? status_of_error(error) : STATUS_OWN_FAILURE;
}
