/* SPDX-License-Identifier: MIT */
/* A program that the script starts, and what the script shows of its job: the environment that it
 * begins with, its launcher's ranks, and its arguments. */
#include "lint/shell_script.h"

size_t shell_python_file(const struct command *c, size_t i, const char **module)
{
	for (; i < c->count; i++) {
		struct span s = word_text(c, i);

		if (span_is(s, "-m") && i + 1 < c->count) {
			*module = "";
			return i + 1;
		}
		if (span_is_any(s, "-c -") || c->words[i].loose)
			return c->count;
		if (span_is_any(s, "-W -X"))
			i++;
		else if (!s.length || *s.text != '-')
			return i;
	}
	return c->count;
}

int64_t launch_ranks(const struct launch *launch)
{
	if (launch->launcher != LINT_ACCELERATE && launch->launcher != LINT_MPIRUN)
		return launch->nproc;
	if (launch->hosts || launch->nnodes < 1 || launch->nproc < 1 ||
	    launch->nproc % launch->nnodes)
		return -1;
	return launch->nproc / launch->nnodes;
}

/* The tasks of srun, or the ranks of a launcher. */
static void see_ranks(struct python_start *start, const struct run *run,
		      const struct launch *launch)
{
	const struct slurm *slurm = &run->slurm;

	start->ranks = launch->loose ? -1 : launch_ranks(launch);
	start->hosts = launch->loose ? -1 : launch->nnodes;
	if (launch->launcher == LINT_SRUN) {
		start->ranks = slurm_tasks(slurm);
		start->hosts = slurm->nodes > 0 ? slurm->nodes : slurm->tasks == 1 ? 1 : -1;
	} else if (launch->launcher == LINT_DIRECT || launch->launcher == LINT_GPUMAP ||
		   (launch->launcher == LINT_MPIRUN && launch->hosts)) {
		start->hosts = -1;
	}
}

static void see_meeting(struct shell *sh, struct python_start *start, const struct run *run,
			const struct launch *launch)
{
	static const enum tracked meeting[] = {TRACKED_ADDRESS, TRACKED_PORT};

	start->port = launch->loose ? -1 : launch->agrees ? 0 : launch->port;
	start->port_by_default =
		by_torch(launch) && !launch->no_port && !is_given(&launch->port_option);
	start->meeting = launch->launcher != LINT_DIRECT && launch->launcher != LINT_SRUN &&
			 launch->launcher != LINT_MPIRUN;
	for (size_t i = 0; i < ARRAY_SIZE(meeting); i++) {
		struct setting now = run_setting(sh, run, meeting[i]);

		start->meeting |= now.state != SET_INHERITED && now.state != SET_NOT &&
				  now.exported != EXPORT_NO;
	}
}

/* The list, if nothing between the shell and the program changes it: Slurm gives tasks a list of
 * their own, and launchers that choose devices replace it. */
static void see_list(struct shell *sh, struct lint_start *start, const struct run *run,
		     const struct launch *launch)
{
	struct setting list = run_setting(sh, run, TRACKED_LIST);
	struct setting order = run_setting(sh, run, TRACKED_ORDER);
	bool passed = launch->launcher == LINT_DIRECT || by_torch(launch) ||
		      (launch->launcher == LINT_ACCELERATE && !is_given(&launch->ids)) ||
		      (launch->launcher == LINT_MPIRUN && !launch->hosts);

	start->job.list_varies =
		launch->launcher == LINT_DIRECT && list.exported == EXPORT_YES &&
		(list.state == SET_UNKNOWN ||
		 (list.state == SET_VALUE && (list.derived || !span_known(list.value))));
	start->list_kept = list.state == SET_INHERITED && launch->launcher == LINT_DIRECT &&
			   !shell_step(sh, run) && !sh->in_job && !run->dropped;
	start->here = (by_torch(launch) || launch->launcher == LINT_ACCELERATE) && passed &&
		      list.state == SET_INHERITED && !shell_step(sh, run) && !sh->in_job &&
		      !sh->queued && !run->dropped && !launch->filtered && !launch->loose &&
		      !launch->cpu && launch->nnodes == 1;
	if (run->srun || run->dropped || !passed || launch->filtered || launch->loose ||
	    !is_given(&list) || !span_known(list.value) ||
	    memchr(list.value.text, SHELL_BORDER, list.value.length))
		return;
	start->job.list = arena_strndup(&sh->started->arena, list.value.text, list.value.length);
	start->list_line = list.at.line;
	if (is_given(&order) && span_known(order.value))
		start->job.order = arena_printf(&sh->started->arena, "CUDA_DEVICE_ORDER=%.*s",
						(int)order.value.length, order.value.text);
}

/* Whether the program may get a variable of ranks from the script, or from a word of the command
 * before it. */
static bool gives_rank(struct shell *sh, const struct run *run, size_t program)
{
	static const enum tracked ranks[] = {TRACKED_LOCAL_RANK, TRACKED_RANK};

	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++) {
		struct setting s = run_setting(sh, run, ranks[i]);

		if (s.state == SET_VALUE || s.state == SET_UNKNOWN)
			return true;
	}
	for (size_t i = 0; i < program; i++)
		if (span_has(word_text(run->c, i), "RANK"))
			return true;
	return false;
}

/* Whether it may start in another folder than the script, or the file may be made by then. */
static bool is_moved(const struct shell *sh, const struct run *run, size_t program,
		     struct span path)
{
	bool moved = sh->moved || run->foreign;

	for (size_t i = 0; i < program; i++)
		moved |= span_starts_any(word_text(run->c, i),
					 "--chdir --wdir -wd --workdir --work-dir --cwd "
					 "--directory --container -D -C");
	/* A pattern, or the home folder. */
	return moved || span_before(path, "*?[{~") < path.length;
}

/* What follows the program, if each word of it is known. */
static const char **words_after(struct shell *sh, const struct command *c, size_t program)
{
	struct arena *arena = &sh->started->arena;
	const char **words = arena_alloc(arena, c->count - program, sizeof(*words));
	size_t count = 0;

	for (size_t i = program + 1; i < c->count; i++) {
		struct span s = word_text(c, i);

		if (c->words[i].loose || !span_known(s))
			return NULL;
		words[count++] = arena_strndup(arena, s.text, s.length);
	}
	return words;
}

size_t shell_start(struct shell *sh, const struct run *run, const struct launch *launch,
		   int64_t visible)
{
	struct command *c = run->c;
	const char *module = NULL;
	struct lint_started *started = sh->started;
	struct lint_start *starts;
	size_t program = launch->program;
	bool python = is_python(word_text(c, program));
	struct span path;

	if (python)
		program = shell_python_file(c, program + 1, &module);
	path = word_text(c, program);
	if (!started || module || launch->module || program >= c->count || !path.length ||
	    !span_known(path))
		return 0;
	starts = ARENA_NEXT(&started->arena, started->starts, started->count, started->room);
	*starts = (struct lint_start){
		.path = arena_strndup(&started->arena, path.text, path.length),
		.launcher = launch->launcher,
		.job =
			{
				.visible = visible,
				.ranked = gives_rank(sh, run, program),
				.passes = launch->passes,
				.arguments = words_after(sh, c, program),
			},
		.python = python || is_python_file(path),
		.moved = is_moved(sh, run, program, path),
		.line = c->words[program].at.line,
		.column = c->words[program].at.column,
	};
	/* The shell starts one process, by hand or as a rank of a launcher around the script. */
	if (launch->launcher == LINT_DIRECT && !launch->passes)
		starts->job.passes = -1;
	for (int i = 0; i < sh->frame_count; i++)
		starts->may |=
			sh->frames[i].kind == FRAME_IF || sh->frames[i].kind == FRAME_BRANCH ||
			sh->frames[i].kind == FRAME_CASE || sh->frames[i].kind == FRAME_FUNCTION;
	see_ranks(&starts->job, run, launch);
	see_meeting(sh, &starts->job, run, launch);
	see_list(sh, starts, run, launch);
	return started->count;
}
