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
	return stage == STAGE_READY || stage == STAGE_FORK ? "cannot be forked" : "cannot execute";
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
	if (m->error == ENOENT)
		return "check its name, PATH in [env], and for a script its #! line";
	if (m->error == E2BIG)
		return "pass long lists in a file";
	return m->error == EACCES ? "chmod +x makes a file executable" : NULL;
}

const char *launch_fix(bool program, int error)
{
	return stage_fix(&(struct guard_message){.stage = program ? STAGE_FIND : STAGE_FOLDER,
						 .error = error});
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
	const char *what = program ? rank->argv[0] : m->stage == STAGE_FOLDER ? rank->folder : NULL;

	if (what)
		report_add(report, FINDING_NOT_STARTED,
			   ABOUT(.fix = stage_fix(m), .speech = speech), "rank %d %s '%s': %s",
			   rank->rank, stage_text(m->stage), QUOTE(span_of(what)),
			   strerror(m->error));
	else
		report_add(report, FINDING_NOT_STARTED,
			   ABOUT(.fix = stage_fix(m), .speech = speech), "rank %d %s: %s",
			   rank->rank, stage_text(m->stage), strerror(m->error));
	return program ? status_of_error(m->error) : STATUS_OWN_FAILURE;
}
