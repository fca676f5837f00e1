/* SPDX-License-Identifier: MIT */
/* Programs that run at the same time: ports that are used twice, jobs that are not waited for. */
#include "lint/shell_script.h"

static void report_port(struct shell *sh, const struct job *first, int64_t port, struct place at)
{
	shell_report(sh, FINDING_PORT_TWICE, at, NULL,
		     "give each its own --master_port, or wait for the first",
		     "port %lld is in use: the launch in line %d runs at the same time with it",
		     (long long)port, first->at.line);
}

static void check_port(struct shell *sh, const struct launch *launch)
{
	struct place at = launch->port_at.line ? launch->port_at : launch->at;

	for (size_t i = 0; i < sh->job_count; i++)
		if (sh->jobs[i].background && sh->jobs[i].port == launch->port) {
			report_port(sh, &sh->jobs[i], launch->port, at);
			return;
		}
}

/* Whether a second launch on this host would meet at the same port. One that is to be shared has a
 * name of its own. */
static bool has_own_port(const struct run *run, const struct launch *launch)
{
	return launch->port > 0 && launch->nnodes == 1 && !run->srun && !launch->rendezvous_id &&
	       launch->launcher != LINT_GPUMAP && launch->launcher != LINT_MPIRUN;
}

/* The jobs of an array run the same script at the same time, perhaps on one node. */
static void check_array(struct shell *sh, const struct run *run, const struct launch *launch)
{
	struct setting port = run_setting(sh, run, tracked_name(TRACKED_PORT));
	bool by_option = launch->port > 0 && launch->port_at.line && !launch->port_derived;
	bool by_variable = (launch->launcher == LINT_DIRECT || launch->launcher == LINT_SRUN) &&
			   is_gpu_program(run->c, run->first) && port.state == SET_VALUE &&
			   port.exported == EXPORT_YES && !port.derived && span_known(port.value);

	if (!sh->slurm.array || launch->rendezvous_id || (!by_option && !by_variable))
		return;
	shell_report(sh, FINDING_FIXED_PORT, by_option ? launch->port_at : port.at, NULL,
		     "derive it from the job: $((20000 + SLURM_JOB_ID % 20000))",
		     "the port is fixed, and the jobs of this array may run on one node at the "
		     "same time");
}

/* The same program twice at the same time: what it does alone is done twice. */
static void note_together(struct shell *sh, size_t start)
{
	struct lint_start *starts = start ? sh->started->starts : NULL;

	for (size_t i = 0; start && i < sh->job_count; i++) {
		size_t other = sh->jobs[i].background ? sh->jobs[i].start : 0;

		if (other && streq(starts[other - 1].path, starts[start - 1].path))
			starts[start - 1].together = starts[other - 1].together = true;
	}
}

void jobs_start(struct shell *sh, const struct run *run, const struct launch *launch, size_t start)
{
	const struct frame *function = shell_in(sh, FRAME_FUNCTION);
	struct frame *loop = shell_in(sh, FRAME_LOOP);
	struct setting list = run_setting(sh, run, tracked_name(TRACKED_LIST));
	bool has_port = has_own_port(run, launch);

	if (has_port)
		check_port(sh, launch);
	check_array(sh, run, launch);
	if (!run->srun)
		note_together(sh, start);
	/* A foreground program may be in the background later, if it is in a group. */
	if (sh->job_count < SHELL_JOBS && (run->background || sh->frame_count > 1))
		sh->jobs[sh->job_count++] = (struct job){
			.port = has_port ? launch->port : -1,
			.at = launch->port_at.line ? launch->port_at : launch->at,
			.background = run->background,
			.literal = !launch->port_derived,
			.start = run->srun ? 0 : start,
		};
	if (!run->background || function)
		return;
	if (sh->batch || !run->nohup)
		sh->left = launch->at;
	/* A list that is not known may differ in each iteration. */
	if (loop && !loop->started.line && !launch->ids_given &&
	    (list.state == SET_INHERITED ||
	     (list.state == SET_VALUE && !list.derived && span_known(list.value))))
		loop->started = launch->at;
}

void jobs_waited(struct shell *sh)
{
	sh->job_count = 0;
	if (!shell_in(sh, FRAME_FUNCTION))
		sh->left.line = 0;
}

/* The second iteration of a loop starts while the first still runs. */
static void check_rounds(struct shell *sh, const struct frame *loop)
{
	for (size_t i = loop->jobs; i < sh->job_count; i++)
		if (sh->jobs[i].background && sh->jobs[i].port > 0 && sh->jobs[i].literal &&
		    loop->rounds > 1 && !loop->waits) {
			shell_report(
				sh, FINDING_PORT_TWICE, sh->jobs[i].at, NULL,
				"give each round its own --master_port, or wait in the loop",
				"every round of the loop in line %d uses port %lld at the same "
				"time",
				loop->at.line, (long long)sh->jobs[i].port);
			break;
		}
	for (size_t i = loop->jobs; i < sh->job_count; i++)
		if (sh->jobs[i].background && sh->jobs[i].start && loop->rounds > 1 && !loop->waits)
			sh->started->starts[sh->jobs[i].start - 1].together = true;
	if (loop->started.line && loop->rounds < 0 && !loop->waits && !sh->watched)
		shell_report(
			sh, FINDING_UNLIMITED_JOBS, loop->started, NULL,
			"wait in the loop, or limit the jobs with wait -n",
			"the loop in line %d may start any number of these at once, on the same "
			"GPUs",
			loop->at.line);
}

void jobs_close(struct shell *sh, const struct frame *frame, bool background)
{
	if (frame->kind == FRAME_LOOP)
		check_rounds(sh, frame);
	if (background && sh->job_count > frame->jobs && !shell_in(sh, FRAME_FUNCTION))
		sh->left = sh->jobs[frame->jobs].at;
	for (size_t i = frame->jobs; i < sh->job_count; i++)
		sh->jobs[i].background |= background;
}

void jobs_end(struct shell *sh)
{
	if (!sh->left.line || sh->watched)
		return;
	if (sh->batch)
		shell_report(
			sh, FINDING_NO_WAIT, sh->left, NULL, "end the script with wait",
			"nothing waits for this program: Slurm ends the job, and it, at the end "
			"of the script");
	else
		shell_report(sh, FINDING_NO_WAIT, sh->left, NULL,
			     "end the script with wait, or start it with nohup on purpose",
			     "nothing waits for this program: the script ends before it, and a "
			     "scheduler may end it then");
}
