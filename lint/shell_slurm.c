/* SPDX-License-Identifier: MIT */
/* Slurm: #SBATCH lines and the options of srun. */
#include "lint/shell_script.h"

#include <stdio.h>

/* gpu:4, gpu:a100:4, a100:4, 4: the number after the last colon; "gpu" is one. */
static int64_t gpu_count(struct span value, bool gres)
{
	struct span rest = value, piece;

	while (span_split(&rest, ',', &piece)) {
		const char *colon = memrchr(piece.text, ':', piece.length);
		struct span last = piece;

		if (gres && !span_starts(piece, "gpu"))
			continue;
		if (colon)
			last = (struct span){colon + 1,
					     piece.length - (size_t)(colon + 1 - piece.text)};
		return span_is(last, "gpu") ? 1 : span_number(last, 4096);
	}
	return -1;
}

/* 2, 2-4: at least two; 0: it may be one or more. */
static int64_t node_count(struct span value)
{
	struct span least;
	int64_t count;

	span_split(&value, '-', &least);
	count = span_number(least, INT32_MAX);
	return count > 1 || (count == 1 && !value.text) ? count : 0;
}

/* 0-9, 1,3: several at the same time, unless %1 limits it to one. */
static bool is_array(struct span value)
{
	const char *limit = memchr(value.text, '%', value.length);

	if (limit && value.text + value.length - limit == 2 && limit[1] == '1')
		return false;
	return memchr(value.text, '-', value.length) || memchr(value.text, ',', value.length);
}

static void take_srun(struct slurm *ret, struct span name, struct span value)
{
	if (span_is(name, "gres") || span_is(name, "gpus-per-node")) {
		bool gres = span_is(name, "gres");

		ret->per_node = gpu_count(value, gres);
		ret->gres = ret->gres || (gres && span_starts(value, "gpu"));
		ret->gpus = ret->gpus || !gres;
	} else if (span_is(name, "nodes") || span_is(name, "N")) {
		ret->nodes = node_count(value);
	} else if (span_is(name, "array") || span_is(name, "a")) {
		ret->array = is_array(value);
	} else if (span_is(name, "gpus-per-task")) {
		ret->per_task = gpu_count(value, false);
	} else if (span_is(name, "ntasks") || span_is(name, "n")) {
		ret->tasks = span_number(value, INT32_MAX);
		ret->tasks_here = true;
	} else if (span_is(name, "ntasks-per-node")) {
		ret->tasks_per_node = span_number(value, INT32_MAX);
		ret->tasks_here = ret->tasks_here || ret->tasks_per_node < 0;
	} else if (span_is(name, "gpu-bind")) {
		ret->unbound = span_is(value, "none");
	} else if (span_is(name, "export")) {
		ret->exports_nothing = span_is(value, "NONE") || span_is(value, "NIL");
	}
}

/* Whether an option without = takes no value. */
static bool is_flag(struct span name)
{
	static const char *const flags[] = {
		"exclusive",        "label",      "unbuffered",    "overlap",    "pty",
		"no-kill",          "verbose",    "quiet",         "exact",      "whole",
		"kill-on-bad-exit", "multi-prog", "overcommit",    "spread-job", "requeue",
		"no-requeue",       "immediate",  "oversubscribe", "contiguous", "mem-bind-auto",
		"disable-status",   "parsable"};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (span_is(name, flags[i]))
			return true;
	return false;
}

/* Reads one option, `s`; `after` is the next word. Returns how many words it has. */
static int read_option(struct slurm *ret, struct span s, struct span after)
{
	static const char with_value[] = "aABcCdDeFGiJLmMnNopPqrStTwWx";
	const char *equals = memchr(s.text, '=', s.length);
	struct span name = {s.text + 2, s.length - 2};

	if (s.length > 1 && s.text[1] != '-') {
		name = (struct span){s.text + 1, 1};
		if (!strchr(with_value, *name.text))
			return 1;
		take_srun(ret, name,
			  s.length > 2 ? (struct span){s.text + 2, s.length - 2} : after);
		return s.length > 2 ? 1 : 2;
	}
	if (equals) {
		name.length = (size_t)(equals - name.text);
		take_srun(ret, name,
			  (struct span){equals + 1, s.length - (size_t)(equals + 1 - s.text)});
		return 1;
	}
	if (is_flag(name) || (after.length && *after.text == '-'))
		return 1;
	take_srun(ret, name, after);
	return 2;
}

static struct span next_word(struct span *rest)
{
	struct span word = span_trim(*rest);
	size_t n = 0;

	while (n < word.length && !is_space(word.text[n]))
		n++;
	*rest = (struct span){word.text + n, word.length - n};
	return (struct span){word.text, n};
}

/* Slurm 26.05 refuses the two together. */
static void check_twice(struct shell *sh, const struct slurm *slurm, struct place at)
{
	if (slurm->gres && slurm->gpus)
		shell_report(
			sh, FINDING_GPUS_TWICE, at, NULL,
			"keep --gpus-per-node, and leave out --gres=gpu",
			"--gres=gpu and --gpus-per-node both ask for the GPUs of a node: Slurm "
			"26.05 refuses them together");
}

static void read_line(struct shell *sh, struct span line, int number)
{
	struct span word, after, rest = line;
	bool twice = sh->slurm.gres && sh->slurm.gpus;

	next_word(&rest); /* #SBATCH */
	/* What follows is about another part of the job. */
	if (span_is(span_trim(rest), "hetjob") || span_is(span_trim(rest), "packjob")) {
		sh->slurm = slurm_unknown();
		sh->slurm.parts = true;
		return;
	}
	while ((word = next_word(&rest)).length && *word.text == '-' && word.length > 1) {
		struct span peek = rest;

		after = next_word(&peek);
		if (read_option(&sh->slurm, word, after) == 2)
			rest = peek;
	}
	if (!twice)
		check_twice(sh, &sh->slurm, (struct place){number, 1});
}

/* Slurm reads such lines up to the first command. */
void slurm_comments(struct shell *sh)
{
	struct span rest = sh->text, line;
	bool array;

	for (int number = 1; span_split(&rest, '\n', &line); number++) {
		line = span_trim(line);
		if (line.length && *line.text != '#')
			break;
		if (!span_starts(line, "#SBATCH"))
			continue;
		sh->batch = true;
		read_line(sh, line, number);
	}
	if (!sh->slurm.parts)
		return;
	/* Which part a step runs in is not followed. */
	array = sh->slurm.array;
	sh->slurm = slurm_unknown();
	sh->slurm.parts = true;
	sh->slurm.array = array;
}

void slurm_sbatch(struct shell *sh, const struct command *c, size_t first)
{
	struct slurm slurm = slurm_unknown();
	size_t i = first + 1;

	while (i < c->count && word_text(c, i).length > 1 && *word_text(c, i).text == '-')
		i += (size_t)read_option(&slurm, word_text(c, i), word_text(c, i + 1));
	check_twice(sh, &slurm, c->words[first].at);
}

size_t slurm_srun(struct shell *sh, struct run *run, size_t first)
{
	struct command *c = run->c;
	size_t i = first;

	/* srun inherits the requests of the batch script. */
	run->slurm = sh->slurm;
	run->slurm.exports_nothing = run->slurm.tasks_here = false;
	run->slurm.gres = run->slurm.gpus = false;
	while (i < c->count && word_text(c, i).length > 1 && *word_text(c, i).text == '-') {
		struct span after = word_text(c, i + 1);

		if (span_is(word_text(c, i), "--")) {
			i++;
			break;
		}
		if (span_starts(word_text(c, i), "--het-group"))
			run->slurm.parts = true;
		if ((is_gpu_program(c, i + 1) || shell_has_string(c, i + 1)) &&
		    !memchr(word_text(c, i).text, '=', word_text(c, i).length))
			after = (struct span){"-", 1};
		i += (size_t)read_option(&run->slurm, word_text(c, i), after);
	}
	if (first)
		check_twice(sh, &run->slurm, c->words[first - 1].at);
	return i < c->count ? i : c->count;
}

int64_t slurm_tasks(const struct slurm *slurm)
{
	if (slurm->parts)
		return -1;
	/* With --ntasks, the tasks per node are only a maximum. */
	if (slurm->tasks_here)
		return slurm->tasks == 1 || slurm->tasks_per_node == 1 ? 1 : -1;
	if (slurm->tasks_per_node >= 0)
		return slurm->tasks_per_node;
	return slurm->tasks < 0 || slurm->tasks == 1 ? 1 : -1;
}

/* --- what the shell expands before srun starts the tasks ---------------------------------- */

/* Whether srun starts one task. Slurm's default is a node with one. */
static bool one_task(const struct shell *sh, const struct slurm *slurm)
{
	bool default_nodes = sh->batch && !slurm->parts && slurm->nodes < 0;

	if (slurm->tasks >= 0)
		return slurm->tasks == 1;
	return !slurm->tasks_here && slurm->tasks_per_node < 2 &&
	       (slurm->nodes == 1 || default_nodes);
}

/* Whether every task has the number 0 anyhow. */
static bool always_zero(const struct shell *sh, const struct slurm *slurm, const char *variable)
{
	if (one_task(sh, slurm))
		return true;
	if (streq(variable, "SLURM_LOCALID") && slurm->tasks < 0 && slurm->tasks_per_node < 2)
		return true;
	return slurm->nodes == 1 && streq(variable, "SLURM_NODEID");
}

static void report_expanded(struct shell *sh, struct place at, const char *variable, int line)
{
	char fix[160];

	snprintf(fix, sizeof(fix), "let a shell in the task expand it: srun bash -c '... $%s ...'",
		 variable);
	shell_report(sh, FINDING_EXPANDED_EARLY, at, "R1", fix,
		     "$%s is expanded before srun in line %d starts its tasks: all get the same "
		     "value",
		     variable, line);
}

/* --node_rank=0, or the word after it */
static bool is_node_rank(const struct command *c, size_t i)
{
	struct span s = word_text(c, i), before = i ? word_text(c, i - 1) : s;

	return span_starts(s, "--node_rank=") || span_starts(s, "--node-rank=") ||
	       span_is(before, "--node_rank") || span_is(before, "--node-rank");
}

static void check_expanded(struct shell *sh, const struct run *run, size_t word,
			   const struct launch *launch)
{
	static const enum tracked ranks[] = {TRACKED_RANK, TRACKED_LOCAL_RANK};
	const struct command *c = run->c;
	struct slurm slurm = run->slurm;
	int line = c->words[word].at.line;
	bool torch = launch->launcher == LINT_TORCHRUN || launch->launcher == LINT_TORCH_LAUNCH;

	/* Several nodes, which sbatch itself is given. */
	if (slurm.nodes < 0 && launch->nnodes != 1)
		slurm.nodes = 0;
	/* For one node, and where the nodes agree on their ranks, torchrun does not look at its
	 * own.
	 */
	for (size_t i = run->first; i < c->count && !(torch && launch->nnodes == 1); i++)
		if (c->words[i].task && !(torch && launch->agrees && is_node_rank(c, i)) &&
		    !always_zero(sh, &slurm, c->words[i].task)) {
			report_expanded(sh, c->words[i].at, c->words[i].task, line);
			return;
		}
	if (launch->launcher != LINT_SRUN || !is_gpu_program(c, run->first))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++) {
		struct setting now = run_setting(sh, run, tracked_name(ranks[i]));

		if (now.state == SET_VALUE && now.exported == EXPORT_YES && now.task &&
		    !always_zero(sh, &slurm, now.task)) {
			report_expanded(sh, now.at, now.task, line);
			return;
		}
	}
}

void slurm_check(struct shell *sh, struct run *run, size_t word, const struct launch *launch)
{
	const struct slurm *slurm = &run->slurm;
	struct place at = run->c->words[word].at;
	struct setting list = run_setting(sh, run, tracked_name(TRACKED_LIST));
	enum lint_launcher launcher = launch->launcher;
	bool before;

	check_expanded(sh, run, word, launch);

	if (slurm->per_task >= 0 && launcher == LINT_SRUN && slurm->tasks != 1 &&
	    slurm->tasks_per_node != 1 && is_gpu_program(run->c, run->first))
		shell_report(sh, FINDING_GPU_PER_TASK, at, "L3",
			     "ask for --gpus-per-node=N and let gpumap exec give each task its GPU",
			     "with --gpus-per-task each task sees its own GPU alone, as cuda:0: "
			     "cuda:LOCAL_RANK fails there, and CUDA IPC between tasks may");
	if (slurm->unbound)
		shell_report(sh, FINDING_GPU_BIND_NONE, at, "L5",
			     "leave --gpu-bind out and let gpumap exec give each task its GPU",
			     "--gpu-bind=none unsets the list of the step's GPUs");
	if (slurm->exports_nothing && list.state == SET_VALUE && list.exported == EXPORT_YES)
		shell_report(
			sh, FINDING_LOST_VARIABLE, at, "S8",
			"leave out --export=NONE, or name the variable in --export",
			"CUDA_VISIBLE_DEVICES=%s of line %d is lost: --export=NONE keeps it from "
			"the tasks",
			QUOTE(list.value), list.at.line);
	/* A setting after srun, by env, is later. */
	before = list.at.line < at.line || (list.at.line == at.line && list.at.column < at.column);
	if ((slurm->per_node > 0 || slurm->per_task > 0) && !slurm->unbound && before &&
	    launcher == LINT_SRUN && list.state == SET_VALUE && list.exported == EXPORT_YES)
		shell_report(
			sh, FINDING_LIST_REPLACED, at, "S10",
			"leave it out, or set it after srun: srun ... gpumap exec --gpus 2,3 -- "
			"PROGRAM",
			"srun gives each task the list of the step's GPUs: "
			"CUDA_VISIBLE_DEVICES=%s of line %d is replaced",
			QUOTE(list.value), list.at.line);
}
