/* SPDX-License-Identifier: MIT */
/* Programs that run at the same time: ports that are used twice, jobs that are not waited for. */
#include "lint/shell_script.h"

/* What happens without a port, which depends on the version of the launcher. */
static void report_default(struct shell *sh, enum lint_launcher launcher, int64_t port, int line,
			   struct place at)
{
	bool accelerate = launcher == LINT_ACCELERATE;

	shell_report(sh, FINDING_DEFAULT_PORT, at, NULL,
		     accelerate ? "give each its own --main_process_port"
				: "give each its own --master_port",
		     "%s may use port %lld, as the launch in line %d does at the same time: %s",
		     lint_launcher_name(launcher), (long long)port, line,
		     accelerate ? "it takes another one only if it finds this one in use"
				: "older versions of PyTorch do without --master_port, newer ones "
				  "take a free one");
}

static void report_port(struct shell *sh, const struct job *first, const struct launch *launch,
			struct place at)
{
	if (first->default_port || launch->default_port)
		report_default(sh, launch->default_port ? launch->launcher : first->launcher,
			       launch->port, first->at.line, at);
	else
		shell_report(
			sh, FINDING_PORT_TWICE, at, NULL,
			"give each its own --master_port, or wait for the first",
			"port %lld is in use: the launch in line %d runs at the same time with it",
			(long long)launch->port, first->at.line);
}

static void check_port(struct shell *sh, const struct launch *launch)
{
	struct place at = is_given(&launch->port_option) ? launch->port_option.at : launch->at;

	for (size_t i = 0; i < sh->job_count; i++)
		if (sh->jobs[i].background && sh->jobs[i].port == launch->port) {
			report_port(sh, &sh->jobs[i], launch, at);
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
	struct setting port = run_setting(sh, run, TRACKED_PORT);
	bool by_option =
		launch->port > 0 && is_given(&launch->port_option) && !launch->port_option.derived;
	bool by_variable = (launch->launcher == LINT_DIRECT || launch->launcher == LINT_SRUN) &&
			   is_gpu_program(run->c, run->first) && is_given(&port) && !port.derived &&
			   span_known(port.value);

	if (!sh->slurm.array || launch->rendezvous_id || (!by_option && !by_variable))
		return;
	shell_report(sh, FINDING_FIXED_PORT, by_option ? launch->port_option.at : port.at, NULL,
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
			starts[start - 1].job.together = starts[other - 1].job.together = true;
	}
}

void jobs_start(struct shell *sh, const struct run *run, const struct launch *launch, size_t start)
{
	const struct frame *function = shell_in(sh, FRAME_FUNCTION);
	struct frame *loop = shell_in(sh, FRAME_LOOP);
	struct setting list = run_setting(sh, run, TRACKED_LIST);
	bool has_port = has_own_port(run, launch);
	struct job job;

	if (has_port)
		check_port(sh, launch);
	check_array(sh, run, launch);
	if (!run->srun)
		note_together(sh, start);
	job = (struct job){
		.port = has_port ? launch->port : -1,
		.at = is_given(&launch->port_option) ? launch->port_option.at : launch->at,
		.gpus = sharing_gpus(sh, run, launch),
		.launcher = launch->launcher,
		.default_port = launch->default_port,
		.background = run->background,
		.literal = !launch->port_option.derived,
		.start = run->srun ? 0 : start,
	};
	sharing_check(sh, &job);
	/* A foreground program may be in the background later, if it is in a group. */
	if (sh->job_count < SHELL_JOBS && (run->background || sh->frame_count > 1))
		sh->jobs[sh->job_count++] = job;
	if (!run->background || function)
		return;
	if (sh->batch || !run->nohup)
		sh->left = launch->at;
	/* A list that is not known may differ in each iteration, and Slurm places steps. */
	if (loop && !loop->started.line && !is_given(&launch->ids) && !run->srun &&
	    (list.state == SET_INHERITED ||
	     (list.state == SET_VALUE && !list.derived && span_known(list.value))))
		loop->started = launch->at;
}

void jobs_may_have_ended(struct shell *sh)
{
	for (size_t i = 0; i < sh->job_count; i++)
		sh->jobs[i].background = false;
}

void jobs_waited(struct shell *sh)
{
	sh->job_count = 0;
	if (!shell_in(sh, FRAME_FUNCTION))
		sh->left.line = 0;
}

static void report_rounds(struct shell *sh, const struct frame *loop, const struct job *job)
{
	if (job->default_port)
		report_default(sh, job->launcher, job->port, job->at.line, job->at);
	else
		shell_report(sh, FINDING_PORT_TWICE, job->at, NULL,
			     "give each round its own --master_port, or wait in the loop",
			     "every round of the loop in line %d uses port %lld at the same time",
			     loop->at.line, (long long)job->port);
}

/* The second iteration of a loop starts while the first still runs. */
static void check_rounds(struct shell *sh, const struct frame *loop)
{
	bool reported = false;

	for (size_t i = loop->jobs; loop->rounds > 1 && !loop->waits && i < sh->job_count; i++) {
		struct job *job = &sh->jobs[i];

		if (!job->background)
			continue;
		if (job->port > 0 && job->literal && !reported) {
			report_rounds(sh, loop, job);
			reported = true;
		}
		if (job->start)
			sh->started->starts[job->start - 1].job.together = true;
		sharing_rounds(sh, job, loop);
	}
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
	/* while or until, which start nothing, wait for something. */
	if (frame->kind == FRAME_LOOP && frame->waiting && sh->job_count == frame->jobs)
		jobs_may_have_ended(sh);
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
