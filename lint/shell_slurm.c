/* SPDX-License-Identifier: MIT */
/* Slurm: #SBATCH lines and the options of srun. */
#include "lint/shell_script.h"

/* gpu:4, gpu:a100:4, a100:4, 4: the number behind the last colon; "gpu" is one. */
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

static void take_srun(struct slurm *ret, struct span name, struct span value)
{
	if (span_is(name, "gres") || span_is(name, "gpus-per-node")) {
		ret->per_node = gpu_count(value, span_is(name, "gres"));
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

/* Options without a value, of those that are written without =. */
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

/* One option of which `s` is the word and `after` the next; how many words it has. */
static int read_option(struct slurm *ret, struct span s, struct span after)
{
	static const char with_value[] = "ABcCdDeFGiJLmMnNopPqrStTwWx";
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

	while (n < word.length && !is_blank(word.text[n]))
		n++;
	*rest = (struct span){word.text + n, word.length - n};
	return (struct span){word.text, n};
}

static void read_line(struct shell *sh, struct span line)
{
	struct span word, after, rest = line;

	next_word(&rest); /* #SBATCH */
	while ((word = next_word(&rest)).length && *word.text == '-' && word.length > 1) {
		struct span peek = rest;

		after = next_word(&peek);
		if (read_option(&sh->slurm, word, after) == 2)
			rest = peek;
	}
}

/* Slurm reads such lines up to the first command. */
void slurm_comments(struct shell *sh)
{
	struct span rest = sh->text, line;

	while (span_split(&rest, '\n', &line)) {
		line = span_trim(line);
		if (line.length && *line.text != '#')
			break;
		if (!span_starts(line, "#SBATCH"))
			continue;
		sh->batch = true;
		read_line(sh, line);
	}
}

size_t slurm_srun(struct shell *sh, struct run *run, size_t first)
{
	struct command *c = run->c;
	size_t i = first;

	/* srun takes over what the batch script has asked for. */
	run->slurm = sh->slurm;
	run->slurm.exports_nothing = run->slurm.tasks_here = false;
	while (i < c->count && word_text(c, i).length > 1 && *word_text(c, i).text == '-') {
		struct span after = word_text(c, i + 1);

		if (span_is(word_text(c, i), "--")) {
			i++;
			break;
		}
		if ((is_gpu_program(c, i + 1) || shell_has_string(c, i + 1)) &&
		    !memchr(word_text(c, i).text, '=', word_text(c, i).length))
			after = (struct span){"-", 1};
		i += (size_t)read_option(&run->slurm, word_text(c, i), after);
	}
	return i < c->count ? i : c->count;
}

int64_t slurm_tasks(const struct slurm *slurm)
{
	/* Beside --ntasks those of a node are a bound. */
	if (slurm->tasks_here)
		return slurm->tasks == 1 || slurm->tasks_per_node == 1 ? 1 : -1;
	if (slurm->tasks_per_node >= 0)
		return slurm->tasks_per_node;
	return slurm->tasks < 0 || slurm->tasks == 1 ? 1 : -1;
}

void slurm_check(struct shell *sh, struct run *run, size_t word, enum lint_launcher launcher)
{
	const struct slurm *slurm = &run->slurm;
	struct place at = run->c->words[word].at;
	struct setting list = run_setting(sh, run, tracked_name(TRACKED_LIST));
	bool before;

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
	/* What is set behind srun, by env, comes after it. */
	before = list.at.line < at.line || (list.at.line == at.line && list.at.column < at.column);
	if ((slurm->per_node > 0 || slurm->per_task > 0) && !slurm->unbound && before &&
	    launcher == LINT_SRUN && list.state == SET_VALUE && list.exported == EXPORT_YES)
		shell_report(
			sh, FINDING_LIST_REPLACED, at, "S10",
			"leave it out, or set it behind srun: srun ... gpumap exec --gpus 2,3 -- "
			"PROGRAM",
			"srun gives each task the list of the step's GPUs: "
			"CUDA_VISIBLE_DEVICES=%s of line %d is replaced",
			QUOTE(list.value), list.at.line);
}
