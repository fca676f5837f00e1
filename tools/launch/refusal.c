/* SPDX-License-Identifier: MIT */
/* Why a rank was not started, and what helps. */
#include <errno.h>

#include "bind.h"
#include "supervise.h"

static const char *stage_text(enum stage stage)
{
	const struct bind_failure *failure = bind_failure(stage);

	if (failure)
		return failure->text;
	if (stage == STAGE_FOLDER)
		return "cannot enter its folder";
	return "cannot be forked";
}

static const char *stage_fix(const struct guard_message *m)
{
	const struct bind_failure *failure = bind_failure(m->stage);

	if (failure)
		return failure->fix;
	if (m->stage == STAGE_FOLDER)
		return "name an existing folder by " SETTING("workdir");
	if (m->stage == STAGE_READY || m->stage == STAGE_FORK)
		return m->error == EAGAIN ? "'ulimit -u' shows how many processes are allowed"
					  : NULL;
	return NULL;
}

const char *launch_folder_fix(void)
{
	return stage_fix(&(struct guard_message){.stage = STAGE_FOLDER});
}

int launch_refuse(const struct launch_rank *rank, bool program, int error,
		  const struct speech *speech, gpumap_report *report)
{
	return refusal(rank,
		       &(struct guard_message){.stage = program ? STAGE_FIND : STAGE_FOLDER,
					       .error = error},
		       speech, report);
}

int refusal(const struct launch_rank *rank, const struct guard_message *m,
	    const struct speech *speech, gpumap_report *report)
{
	bool program = m->stage == STAGE_FIND || m->stage == STAGE_EXEC;
	struct program_fault fault;
	const char *what = program ? rank->argv[0] : m->stage == STAGE_FOLDER ? rank->folder : NULL;

	if (program) {
		program_fault(&fault, what, rank->folder, m->error);
		report_add(report, FINDING_NOT_STARTED,
			   ABOUT(.fix = *fault.fix ? fault.fix : NULL, .speech = speech),
			   "rank %d cannot execute '%s': %s", rank->rank, QUOTE(span_of(what)),
			   fault.text);
	} else if (what) {
		report_add(report, FINDING_NOT_STARTED,
			   ABOUT(.fix = stage_fix(m), .speech = speech), "rank %d %s '%s': %s",
			   rank->rank, stage_text(m->stage), QUOTE(span_of(what)),
			   strerror(m->error));
	} else {
		report_add(report, FINDING_NOT_STARTED,
			   ABOUT(.fix = stage_fix(m), .speech = speech), "rank %d %s: %s",
			   rank->rank, stage_text(m->stage), strerror(m->error));
	}
	return program ? status_of_error(m->error) : STATUS_OWN_FAILURE;
}
