/* SPDX-License-Identifier: MIT */
/* Programs and their launchers: how many ranks they start, on how many GPUs. */
#include "lint/shell_script.h"

/* A launcher that is started as a module of Python. */
static bool launcher_module(struct span module, enum lint_launcher *launcher)
{
	for (int i = 0; i < LINT_LAUNCHERS; i++)
		if (lint_launchers[i].module && span_is(module, lint_launchers[i].module)) {
			*launcher = (enum lint_launcher)i;
			return true;
		}
	return false;
}

/* How many GPUs the launcher finds; -1: not known. `list` is the list in effect before it. */
static int64_t visible_count(struct shell *sh, const struct run *run, const struct launch *launch,
			     const struct setting *list)
{
	bool deepspeed = launch->launcher == LINT_DEEPSPEED;
	const struct slurm *step = shell_step(sh, run);
	int64_t own = step ? slurm_own_gpus(step) : -1;

	if (run->dropped || (deepspeed && is_given(&launch->ids)) || launch->filtered)
		return -1;
	/* It ignores the list and counts from 0. Slurm's grant still limits it. */
	if (deepspeed && is_given(&launch->ranks))
		return sh->slurm.per_node;
	if (is_given(&launch->ids) && !span_is(launch->ids.value, "all"))
		return shell_count(sh, launch->ids.value, NULL);
	if (run->srun && run->slurm.unbound)
		return -1;
	if (own >= 0 && (run->srun || list->state == SET_INHERITED))
		return own ? own : -1;
	if (is_given(list))
		return list->value.length
			       ? shell_count(sh, list->value, deepspeed ? "deepspeed" : NULL)
			       : -1;
	if (run->srun && run->slurm.per_node >= 0)
		return run->slurm.per_node;
	if (list->state != SET_INHERITED)
		return -1;
	return sh->slurm.per_node >= 0 ? sh->slurm.per_node : sh->visible;
}

/* Each task of srun starts the launcher with all of its ranks. */
static void report_tasks(struct shell *sh, const struct launch *launch, int64_t ranks,
			 int64_t tasks, int64_t visible)
{
	shell_report(
		sh, FINDING_MORE_RANKS, launch->at, "D7",
		"use srun --ntasks-per-node=1: the launcher starts the ranks of a node",
		"%lld tasks on each node start %s with %lld rank%s each, and %lld GPU%s visible",
		(long long)tasks, lint_launcher_name(launch->launcher), (long long)ranks,
		ranks == 1 ? "" : "s", (long long)visible, visible == 1 ? " is" : "s are");
}

/* Compares ranks and devices. `list` decides how many are visible; NULL: something else does.
 * `tasks` of a node each start the launcher; -1: not known. */
static void compare(struct shell *sh, const struct launch *launch, int64_t ranks, int64_t tasks,
		    int64_t visible, const struct setting *list)
{
	struct place at = is_given(&launch->ranks) ? launch->ranks.at : launch->at;
	const char *name = lint_launcher_name(launch->launcher);
	const char *where = list ? FORMAT(" by the list of line %d", list->at.line) : "";

	if (launch->launcher == LINT_MPIRUN) {
		if (ranks > visible && list && !sh->batch)
			shell_report(
				sh, FINDING_RANKS_MAY_SHARE, at, "R3",
				"start one rank for each GPU, or let gpumap exec choose its GPU",
				"%lld ranks of mpirun may share GPUs: %lld are visible%s",
				(long long)ranks, (long long)visible, where);
	} else if (ranks > visible) {
		shell_report(sh, FINDING_MORE_RANKS, at, "D7",
			     "start as many ranks as there are GPUs, or name more GPUs in the list",
			     "%s starts %lld ranks, and %lld GPU%s visible%s", name,
			     (long long)ranks, (long long)visible, visible == 1 ? " is" : "s are",
			     where);
	} else if (tasks > 1) {
		if (ranks * tasks > visible)
			report_tasks(sh, launch, ranks, tasks, visible);
	} else if (tasks == 1 && ranks < visible &&
		   !(launch->ranks.derived && shell_in(sh, FRAME_LOOP))) {
		shell_report(
			sh, FINDING_FEWER_RANKS, at, "R3",
			"start as many ranks as there are GPUs, or name fewer GPUs in the list",
			"%s starts %lld rank%s, and %lld GPUs are visible%s", name,
			(long long)ranks, ranks == 1 ? "" : "s", (long long)visible, where);
	}
}

/* DeepSpeed's choice written as a list, if it is the numbers from 0 on. */
static bool same_devices(const struct launch *launch, struct span list)
{
	struct span chosen = launch->ids.value;
	struct quoted numbers;

	if (launch->launcher == LINT_DEEPSPEED && is_given(&launch->ids)) {
		if (!span_skip_to(&chosen, ":"))
			return false;
	} else if (launch->launcher == LINT_DEEPSPEED && launch->nproc > 0 && launch->nproc <= 64) {
		chosen = span_of(first_numbers(&numbers, launch->nproc));
	}
	return span_same(chosen, list);
}

/* Rule S10: launchers that choose devices themselves. */
static void check_rewriters(struct shell *sh, const struct launch *launch,
			    const struct setting *list)
{
	bool set = is_given(list) && list->value.length;
	bool chooses = is_given(&launch->ids) || launch->filtered || is_given(&launch->ranks);

	if (launch->launcher == LINT_ACCELERATE && is_given(&launch->ids) &&
	    !span_is(launch->ids.value, "all")) {
		shell_check_list(sh, launch->ids.value, launch->ids.at);
		if (set && span_known(launch->ids.value) && !same_devices(launch, list->value))
			shell_report(sh, FINDING_LIST_REPLACED, launch->ids.at, "S10",
				     "name the devices once: leave out --gpu_ids or the variable",
				     "--gpu_ids %s replaces %s of line %d",
				     QUOTE(launch->ids.value),
				     SHOW(span_of(tracked_name(TRACKED_LIST)), list->value),
				     list->at.line);
	}
	if (launch->launcher != LINT_DEEPSPEED || !set || !span_known(list->value))
		return;
	if (!chooses && !launch->loose && !launch->hosts)
		shell_check_deepspeed(sh, list->value, list->at);
	else if (chooses && !same_devices(launch, list->value))
		shell_report(sh, FINDING_LIST_REPLACED, launch->at, "S10",
			     "name the devices once, as --include localhost:2,3",
			     "with --num_gpus, --include or --exclude deepspeed drops "
			     "CUDA_VISIBLE_DEVICES=%s of line %d",
			     QUOTE(list->value), list->at.line);
}

/* torchrun writes these variables itself, whatever their values were. */
static void check_ignored(struct shell *sh, const struct run *run, const struct launch *launch)
{
	static const enum tracked written[] = {TRACKED_PORT, TRACKED_ADDRESS, TRACKED_SIZE,
					       TRACKED_RANK, TRACKED_LOCAL_RANK};

	if (!by_torch(launch))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
		struct shell_var *var = &sh->vars[written[i]];
		struct setting now = run_setting(sh, run, written[i]);

		if (!is_given(&now) || now.reported || var->referenced || !span_known(now.value) ||
		    (written[i] == TRACKED_PORT &&
		     launch->port == span_number(now.value, UINT16_MAX)))
			continue;
		var->now.reported = true;
		shell_report(sh, FINDING_IGNORED_SETTING, now.at, "S10",
			     written[i] == TRACKED_PORT      ? "give torchrun --master-port"
			     : written[i] == TRACKED_ADDRESS ? "give torchrun --master-addr"
							     : "leave it out",
			     "%s in line %d does not read %s=%s: it sets the variable itself",
			     lint_launcher_name(launch->launcher), launch->at.line,
			     QUOTE(var->name), QUOTE(now.value));
	}
}

static void report_deprecated(struct shell *sh, const struct launch *launch)
{
	if (launch->launcher != LINT_TORCH_LAUNCH || sh->deprecated)
		return;
	sh->deprecated = true;
	shell_report(sh, FINDING_DEPRECATED_LAUNCH, launch->at, NULL,
		     "use torchrun, and read LOCAL_RANK from the environment in the program",
		     "torch.distributed.launch is deprecated%s",
		     launch->passes ? ", and passes --local_rank to the program (--local-rank "
				      "since PyTorch 2.0)"
				    : "");
}

static void begin(struct launch *launch, const struct command *c, size_t word,
		  enum lint_launcher launcher)
{
	*launch = (struct launch){
		.launcher = launcher,
		.at = c->words[word].at,
		.nproc = -1,
		.nnodes = 1,
		.port = -1,
		.passes = lint_launchers[launcher].passes,
		.program = word,
	};
}

/* Reads the launcher that word i is; false: it is none. */
static bool read_launcher(const struct command *c, size_t i, struct launch *launch)
{
	struct span s = word_text(c, i);
	const struct launcher_program *p = launcher_program(base_name(s));
	enum lint_launcher launcher = p ? p->launcher : LINT_DIRECT;
	size_t first = i + 1 + (p && p->command);
	const char *module = NULL;

	if (is_python(s)) {
		first = shell_python_file(c, i + 1, &module) + 1;
		if (!module || !launcher_module(word_text(c, first - 1), &launcher))
			return false;
	} else if (!p || launcher == LINT_SRUN || /* its options are read before */
		   (p->command && !span_is(word_text(c, i + 1), p->command))) {
		return false;
	}
	begin(launch, c, i, launcher);
	launch_read(c, first, launch);
	return true;
}

/* The launcher's defaults. */
static void defaults(struct launch *launch)
{
	bool torch = by_torch(launch);

	if (launch->loose)
		return;
	if (torch && !is_given(&launch->ranks))
		launch->nproc = 1;
	if (is_given(&launch->port_option) || launch->no_port)
		return;
	if (torch || launch->launcher == LINT_DEEPSPEED ||
	    (launch->launcher == LINT_ACCELERATE && launch->nproc > 1 && !launch->hosts)) {
		launch->port = 29500;
		launch->default_port = launch->launcher != LINT_DEEPSPEED;
	}
}

/* A number of ranks that counts GPUs which the list hides. */
static void check_counted(struct shell *sh, const struct launch *launch, const struct setting *list)
{
	int64_t visible;

	if (!is_given(&launch->ranks) || launch->ranks.source != source_devices ||
	    launch->launcher == LINT_DEEPSPEED || is_given(&launch->ids) || !is_given(list))
		return;
	visible = shell_count(sh, list->value, NULL);
	if (visible > 0)
		shell_report(
			sh, FINDING_COUNTS_ALL, launch->ranks.at, "D7",
			launch->launcher == LINT_TORCHRUN
				? "write --nproc-per-node=gpu, or count the entries of the list"
				: "count the entries of the list",
			"nvidia-smi ignores CUDA_VISIBLE_DEVICES and counts all GPUs: %s may start "
			"more ranks than the %lld GPU%s of line %d",
			lint_launcher_name(launch->launcher), (long long)visible,
			visible == 1 ? "" : "s", list->at.line);
}

static void check_launch(struct shell *sh, const struct run *run, const struct launch *launch)
{
	struct setting list = run_setting(sh, run, TRACKED_LIST);
	int64_t visible = visible_count(sh, run, launch, &list);
	int64_t ranks = launch_ranks(launch);
	bool by_list = list.state == SET_VALUE && !is_given(&launch->ids) &&
		       !(launch->launcher == LINT_DEEPSPEED && is_given(&launch->ranks)) &&
		       !(run->srun && slurm_own_gpus(&run->slurm) >= 0);
	const struct slurm *step = shell_step(sh, run);
	/* If each task has its own GPUs, they are compared with one launcher. */
	int64_t tasks = step && slurm_own_gpus(step) < 0 ? slurm_tasks(step) : 1;

	if (ranks > 0 && visible > 0 && !launch->cpu)
		compare(sh, launch, ranks, tasks, visible, by_list ? &list : NULL);
	else if (visible < 0)
		slurm_check_square(sh, launch, ranks, tasks);
	slurm_check_number(sh, launch);
	slurm_check_ids(sh, run, launch);
	check_counted(sh, launch, &list);
	check_rewriters(sh, launch, &list);
	check_ignored(sh, run, launch);
	report_deprecated(sh, launch);
}

/* Whether srun may start what this script starts too: it runs beside it, or is not known. */
static bool starts_more(const struct run *run)
{
	struct span s = word_text(run->c, run->first);

	return run->background || !s.length || !span_known(s);
}

/* One program, or one of several parts of srun; `part`: whose options begin at run->first. */
static void start_program(struct shell *sh, struct run *run, bool part)
{
	struct command *c = run->c;
	struct launch launch, inner;
	struct setting list;
	size_t outer = run->first - part;

	begin(&launch, c, outer, LINT_DIRECT);
	if (part || is_program(word_text(c, outer), "srun")) {
		run->srun = true;
		begin(&launch, c, outer, LINT_SRUN);
		run->first = slurm_srun(sh, run, outer + 1);
		shell_unwrap(sh, run);
		shell_container(sh, run);
		launch.program = run->first;
	}
	if (read_launcher(c, run->first, &launch)) {
		launch.ids.value = shell_keep(sh, launch.ids.value);
		defaults(&launch);
		check_launch(sh, run, &launch);
	}
	if (launch.launcher == LINT_MPIRUN && read_launcher(c, launch.program, &inner)) {
		report_deprecated(sh, &inner);
		launch = inner;
	}
	if (run->srun)
		slurm_check(sh, run, outer, &launch);
	slurm_check_tasks(sh, run, &launch);
	nodes_check(sh, run, &launch);
	sh->remote |= launch.launcher == LINT_MPIRUN || (run->srun && starts_more(run));
	list = run_setting(sh, run, TRACKED_LIST);
	jobs_start(sh, run, &launch,
		   shell_start(sh, run, &launch, visible_count(sh, run, &launch, &list)));
	shell_string(sh, run, launch.program);
}

/* The : between two parts of srun; the command's count: there is none. */
static size_t part_end(const struct command *c, size_t i)
{
	while (i < c->count && !span_is(word_text(c, i), ":"))
		i++;
	return i;
}

void shell_program(struct shell *sh, struct run *run)
{
	struct command *c = run->c;
	size_t count = c->count, end = part_end(c, run->first);
	struct slurm slurm = sh->slurm;

	if (end == count || !is_program(word_text(c, run->first), "srun")) {
		start_program(sh, run, false);
		return;
	}
	/* srun OPTIONS PROGRAM : OPTIONS PROGRAM */
	sh->slurm = slurm_of_parts(slurm.array);
	c->count = end;
	start_program(sh, run, false);
	while (end < count) {
		run->first = end + 1;
		c->count = count;
		c->count = end = part_end(c, run->first);
		if (run->first < end)
			start_program(sh, run, true);
	}
	c->count = count;
	sh->slurm = slurm;
}
