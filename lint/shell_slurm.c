/* SPDX-License-Identifier: MIT */
/* Slurm: what #SBATCH lines and the options of sbatch and srun ask for. */
#include "lint/shell_script.h"

#include <stdio.h>

/* gpu:4, gpu:a100:4, a100:4, 4: the number after the last colon; "gpu" is one. Types are added up.
 */
static int64_t gpu_count(struct span value, bool gres)
{
	struct span rest = value, piece;
	int64_t count = -1;

	while (span_split(&rest, ',', &piece)) {
		const char *colon = memrchr(piece.text, ':', piece.length);
		struct span last = piece;
		int64_t number;

		if (gres && !span_is(piece, "gpu") && !span_starts(piece, "gpu:"))
			continue;
		if (colon)
			last = (struct span){colon + 1,
					     piece.length - (size_t)(colon + 1 - piece.text)};
		number = span_is(last, "gpu") ? 1 : span_number(last, 4096);
		if (number < 0)
			return -1;
		count = count < 0 ? number : count + number;
	}
	return count;
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

/* [verbose,]single:1, per_task:2, map_gpu:0,1, mask_gpu:0x3, closest, none */
static void take_bind(struct slurm *ret, struct span value)
{
	static const char single[] = "single:", per_task[] = "per_task:";
	struct span bind = value;

	if (span_starts(bind, "verbose,") || span_starts(bind, "v,"))
		span_split(&bind, ',', &(struct span){0});
	ret->bind = value;
	ret->bound = -1;
	ret->unbound = span_is(bind, "none");
	ret->shared = false;
	if (span_starts(bind, single) || span_starts(bind, "map_gpu:") || span_starts(bind, "map:"))
		ret->bound = 1;
	else if (span_starts(bind, per_task))
		ret->bound = span_number((struct span){bind.text + sizeof(per_task) - 1,
						       bind.length - (sizeof(per_task) - 1)},
					 4096);
	else if (span_starts(bind, "mask"))
		ret->bound = 0;
	else
		ret->shared = !ret->unbound;
	if (span_starts(bind, per_task) && ret->bound < 1)
		ret->bound = 0;
}

static void take_gpus(struct slurm *ret, struct span name, struct span value)
{
	if (span_is(name, "gpus-per-task")) {
		ret->per_task = gpu_count(value, false);
		ret->task_gpus = value;
	} else if (span_is(name, "gpus") || span_is(name, "G")) {
		ret->total = gpu_count(value, false);
		ret->all_gpus = value;
	} else if (span_is(name, "gres")) {
		ret->per_node = gpu_count(value, true);
		ret->gres = ret->gres || span_starts(value, "gpu");
	} else if (span_is(name, "gpus-per-node")) {
		ret->per_node = gpu_count(value, false);
		ret->node_gpus = value;
		ret->gpus = true;
	} else if (span_is(name, "gpu-bind")) {
		take_bind(ret, value);
	} else if (span_is(name, "ntasks-per-gpu")) {
		/* As --gpu-bind=single, unless that is given. */
		if (!ret->bind.text) {
			ret->bound = 1;
			ret->bind = (struct span){NULL, 0};
		}
	}
}

static void take_srun(struct slurm *ret, struct span name, struct span value)
{
	if (span_is(name, "nodes") || span_is(name, "N")) {
		ret->nodes = node_count(value);
		ret->nodes_exact = span_number(value, INT32_MAX) > 0;
		ret->has_nodes = true;
	} else if (span_is(name, "array") || span_is(name, "a")) {
		ret->array = is_array(value);
	} else if (span_is(name, "ntasks") || span_is(name, "n")) {
		ret->tasks = span_number(value, INT32_MAX);
		ret->tasks_here = ret->has_tasks = true;
	} else if (span_is(name, "ntasks-per-node")) {
		ret->tasks_per_node = span_number(value, INT32_MAX);
		ret->tasks_here = ret->tasks_here || ret->tasks_per_node < 0;
		ret->has_tasks_per_node = true;
	} else if (span_is(name, "exclusive")) {
		ret->exclusive = true;
	} else if (span_is(name, "export")) {
		ret->exports_nothing = span_is(value, "NONE") || span_is(value, "NIL");
	} else {
		take_gpus(ret, name, value);
	}
}

/* Whether an option without = takes no value. */
static bool is_flag(struct span name)
{
	return span_is_any(name, "exclusive label unbuffered overlap pty no-kill verbose quiet "
				 "exact whole kill-on-bad-exit multi-prog overcommit spread-job "
				 "requeue no-requeue immediate oversubscribe contiguous "
				 "mem-bind-auto disable-status parsable");
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
	if (is_flag(name) || (after.length && *after.text == '-')) {
		take_srun(ret, name, (struct span){"", 0});
		return 1;
	}
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

/* --ntasks takes precedence: --ntasks-per-node is only a limit beside it. */
static void check_fewer(struct shell *sh, const struct slurm *slurm, struct place at)
{
	char fix[96];

	if (!slurm->has_tasks || !slurm->has_tasks_per_node || slurm->tasks < 1 ||
	    slurm->tasks >= slurm->tasks_per_node)
		return;
	snprintf(fix, sizeof(fix), "leave out --ntasks, which is a total, or write --ntasks=%lld",
		 (long long)(slurm->tasks_per_node *
			     (slurm->nodes_exact && slurm->nodes > 0 ? slurm->nodes : 1)));
	shell_report(sh, FINDING_FEWER_TASKS, at, NULL, fix,
		     "--ntasks=%lld overrules --ntasks-per-node=%lld: %lld task%s in all",
		     (long long)slurm->tasks, (long long)slurm->tasks_per_node,
		     (long long)slurm->tasks, slurm->tasks == 1 ? " starts" : "s start");
}

/* A job of one node has all of its GPUs there. */
static void settle(struct slurm *slurm)
{
	if (slurm->per_node < 0 && slurm->total > 0 && slurm->nodes_exact && slurm->nodes == 1)
		slurm->per_node = slurm->total;
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
	struct slurm before = sh->slurm;

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
	if (sh->slurm.tasks != before.tasks || sh->slurm.tasks_per_node != before.tasks_per_node)
		sh->slurm.tasks_at = (struct place){number, 1};
	if (!before.gres || !before.gpus)
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
	if (!sh->slurm.parts) {
		settle(&sh->slurm);
		check_fewer(sh, &sh->slurm, sh->slurm.tasks_at);
		if (sh->batch)
			slurm_set_variables(sh, &sh->slurm, false);
		return;
	}
	/* Which part a step runs in is not followed. */
	array = sh->slurm.array;
	sh->slurm = slurm_unknown();
	sh->slurm.parts = true;
	sh->slurm.array = array;
}

size_t slurm_sbatch(struct shell *sh, const struct command *c, size_t first, struct slurm *slurm)
{
	size_t i = first + 1;

	*slurm = slurm_unknown();
	while (i < c->count && word_text(c, i).length > 1 && *word_text(c, i).text == '-')
		i += (size_t)read_option(slurm, word_text(c, i), word_text(c, i + 1));
	settle(slurm);
	check_twice(sh, slurm, c->words[first].at);
	check_fewer(sh, slurm, c->words[first].at);
	return i < c->count ? i : c->count;
}

/* What srun inherits of the requests of the batch script. */
static struct slurm inherited(const struct slurm *job)
{
	struct slurm slurm = *job;

	slurm.exports_nothing = slurm.tasks_here = false;
	slurm.has_tasks = slurm.has_tasks_per_node = slurm.has_nodes = false;
	slurm.gres = slurm.gpus = false;
	return slurm;
}

size_t slurm_srun(struct shell *sh, struct run *run, size_t first)
{
	struct command *c = run->c;
	size_t i = first;

	run->slurm = inherited(&sh->slurm);
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
	settle(&run->slurm);
	if (first) {
		check_twice(sh, &run->slurm, c->words[first - 1].at);
		check_fewer(sh, &run->slurm, c->words[first - 1].at);
	}
	return i < c->count ? i : c->count;
}
