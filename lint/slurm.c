/* SPDX-License-Identifier: MIT */
/* See slurm.h. */
#include "lint/slurm.h"

#include <string.h>

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
			last = span_from(piece, colon + 1);
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
	struct span bind = value;

	if (span_starts_any(bind, "verbose, v,"))
		span_split(&bind, ',', &(struct span){0});
	ret->bind = value;
	ret->bound = -1;
	ret->unbound = span_is(bind, "none");
	ret->shared = false;
	if (span_starts_any(bind, "single: map_gpu: map:"))
		ret->bound = 1;
	else if (span_skip(&bind, "per_task:"))
		ret->bound = span_number(bind, 4096) > 0 ? span_number(bind, 4096) : 0;
	else if (span_starts(bind, "mask"))
		ret->bound = 0;
	else
		ret->shared = !ret->unbound;
}

static void take_gpus(struct slurm *ret, struct span name, struct span value)
{
	if (span_is(name, "gpus-per-task")) {
		ret->per_task = gpu_count(value, false);
		ret->task_gpus = value;
	} else if (span_is_any(name, "gpus G")) {
		ret->total = gpu_count(value, false);
		ret->all_gpus = value;
	} else if (span_is(name, "gres")) {
		ret->per_node = gpu_count(value, true);
		ret->gres |= span_starts(value, "gpu");
	} else if (span_is(name, "gpus-per-node")) {
		ret->per_node = gpu_count(value, false);
		ret->node_gpus = value;
		ret->gpus = true;
	} else if (span_is(name, "gpu-bind")) {
		take_bind(ret, value);
	} else if (span_is(name, "ntasks-per-gpu") && !ret->bind.text) {
		ret->bound = 1; /* as by --gpu-bind=single, unless --gpu-bind is given */
	}
}

void slurm_take(struct slurm *ret, const struct slurm_option *option)
{
	struct span name = option->name, value = option->value;

	if (span_is_any(name, "nodes N")) {
		ret->nodes = node_count(value);
		ret->nodes_exact = span_number(value, INT32_MAX) > 0;
		ret->has_nodes = true;
	} else if (span_is_any(name, "array a")) {
		ret->array = is_array(value);
	} else if (span_is_any(name, "ntasks n")) {
		ret->tasks = span_number(value, INT32_MAX);
		ret->tasks_here = ret->has_tasks = true;
	} else if (span_is(name, "ntasks-per-node")) {
		ret->tasks_per_node = span_number(value, INT32_MAX);
		ret->tasks_here |= ret->tasks_per_node < 0;
		ret->has_tasks_per_node = true;
	} else if (span_is(name, "exclusive")) {
		ret->exclusive = true;
	} else if (span_is(name, "export")) {
		ret->exports_nothing = span_is_any(value, "NONE NIL");
	} else {
		take_gpus(ret, name, value);
	}
}

/* Options of sbatch(1) and srun(1) whose value, if they have one, stands behind = alone. */
static const char flags[] =
	"bcast compress contiguous disable-status exact exclusive external get-user-env help hold "
	"ignore-pbs immediate kill-on-bad-exit label mem-bind-auto multi-prog nice no-allocate "
	"no-bell no-kill no-requeue oom-kill-step overcommit overlap oversubscribe parsable "
	"preserve-env propagate pty quiet quit-on-interrupt reboot requeue resv-ports send-libs "
	"spread-job stepmgr test-only unbuffered usage use-min-nodes verbose version whole x11";

static const char with_value[] =
	"accel-bind account acctg-freq array batch bb bbf bcast-exclude begin chdir "
	"cluster-constraint clusters comment constraint consolidate-segments container "
	"container-id core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu cpus-per-task "
	"deadline delay-boot dependency distribution epilog error exclude export export-file "
	"extra extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket "
	"gpus-per-task gres gres-flags het-group hint input job-name jobid kill-on-invalid-dep "
	"licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus mpi "
	"msg-timeout network nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu "
	"ntasks-per-node ntasks-per-socket open-mode output pack-group partition power prefer "
	"priority profile prolog qos relative reservation resv segment signal slurmd-debug "
	"sockets-per-node switches task-epilog task-prolog thread-spec threads threads-per-core "
	"time time-min tmp tres-bind tres-per-task treewidth uid wait wait-all-nodes "
	"wait-for-children wckey wrap";

bool slurm_knows(struct span name)
{
	return name.length == 1 || span_is_any(name, flags) || span_is_any(name, with_value);
}

/* Whether an option without = takes no value. */
static bool is_flag(struct span name, bool batch)
{
	return span_is_any(name, flags) || (batch && span_is(name, "wait"));
}

struct slurm_option slurm_option(struct span word, struct span after, bool batch)
{
	const char *letters = batch ? "aAbBcCdDeFGiJLmMnNopPqStwx" : "AbBcCdDeFGiJLmMnNopPqrStTwWx";
	struct span name = span_from(word, word.text + 2), rest = name;
	const char *equals = memchr(word.text, '=', word.length);

	if (word.text[1] != '-') {
		name = (struct span){word.text + 1, 1};
		if (!strchr(letters, *name.text))
			return (struct slurm_option){name, {"", 0}, 1};
		return rest.length ? (struct slurm_option){name, rest, 1}
				   : (struct slurm_option){name, after, 2};
	}
	if (equals)
		return (struct slurm_option){span_to(name, equals), span_from(name, equals + 1), 1};
	if (is_flag(name, batch) || (after.length && *after.text == '-'))
		return (struct slurm_option){name, {"", 0}, 1};
	return (struct slurm_option){name, after, 2};
}

struct span slurm_word(struct span *rest)
{
	struct span word = span_trim(*rest);
	char quote = '\0';
	size_t n = 0;

	for (; n < word.length && (quote || !is_space(word.text[n])); n++)
		if (quote ? word.text[n] == quote : word.text[n] == '"' || word.text[n] == '\'')
			quote = quote ? '\0' : word.text[n];
	*rest = span_from(word, word.text + n);
	return (struct span){word.text, n};
}

void slurm_settle(struct slurm *slurm)
{
	if (slurm->per_node < 0 && slurm->total > 0 && slurm->nodes_exact && slurm->nodes == 1)
		slurm->per_node = slurm->total;
}
