/* SPDX-License-Identifier: MIT */
/* See slurm_step.h. */
#include "rehearse/slurm_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "text/hostlist.h"

static void read_job_gpus(struct step *step)
{
	struct span rest = span_of(getenv(REHEARSE_JOB)), piece;

	while (rest.text && span_split(&rest, ',', &piece) && step->job_count < SLURM_GPUS_MAX)
		if (piece.length)
			step->job_gpus[step->job_count++] =
				(int)span_number(piece, SLURM_GPUS_MAX - 1);
}

static void inherit_text(struct slurm_wish *wish, const char *option, const char *variable)
{
	const char *value = getenv(variable);

	if (value)
		slurm_wish_take(wish, &(struct slurm_option){span_of(option), span_of(value), 1});
}

/* Options of srun that the job's variables give. An own option for GPUs replaces the job's. */
static void inherit(struct slurm_wish *wish)
{
	struct slurm *slurm = &wish->slurm;

	if (!slurm_asks_for_gpus(slurm) && wish->tasks_per_gpu < 0) {
		inherit_text(wish, "gpus", "SLURM_GPUS");
		inherit_text(wish, "gpus-per-node", "SLURM_GPUS_PER_NODE");
		inherit_text(wish, "gpus-per-task", "SLURM_GPUS_PER_TASK");
		wish->tasks_per_gpu = slurm_number("SLURM_NTASKS_PER_GPU");
	}
	if (!slurm->bind.text)
		inherit_text(wish, "gpu-bind", "SLURM_GPU_BIND");
}

/* SLURM_NTASKS of the job overrules all but srun's own --ntasks. */
static int64_t step_tasks(const struct slurm_wish *wish, int64_t nodes)
{
	const struct slurm *slurm = &wish->slurm;
	int64_t of_job = slurm_number("SLURM_NTASKS");

	if (slurm->tasks > 0)
		return slurm->tasks;
	if (of_job > 0)
		return of_job;
	if (slurm->tasks_per_node > 0)
		return slurm->tasks_per_node * nodes;
	if (wish->tasks_per_gpu > 0 && slurm->total > 0)
		return wish->tasks_per_gpu * slurm->total;
	of_job = slurm_number("SLURM_NTASKS_PER_NODE");
	return of_job > 0 ? of_job * nodes : nodes;
}

/* Slurm says so too, and continues. */
static void drop_tasks_per_node(struct slurm_wish *wish, const struct slurm_size *size)
{
	struct slurm *slurm = &wish->slurm;

	if (slurm->tasks_per_node < 1 || slurm->tasks_per_node * size->nodes == size->tasks ||
	    slurm->has_tasks)
		return;
	fprintf(stderr,
		"gpumap: srun: Slurm ignores --ntasks-per-node=%lld, because SLURM_NTASKS=%lld of "
		"the job overrules it; write --ntasks=%lld too\n",
		(long long)slurm->tasks_per_node, (long long)size->tasks,
		(long long)(slurm->tasks_per_node * size->nodes));
	slurm->tasks_per_node = -1;
	slurm->has_tasks_per_node = false;
}

static int64_t step_gpus(const struct step *step)
{
	const struct slurm *slurm = &step->wish.slurm;
	int64_t of_step;

	if (slurm->per_node >= 0)
		return slurm->per_node;
	if (slurm->per_task >= 0)
		return slurm->per_task * slurm_tasks_of(&step->size, 0);
	if (slurm->total >= 0)
		return (slurm->total + step->size.nodes - 1) / step->size.nodes;
	of_step = slurm_number(REHEARSE_STEP_GPUS);
	return of_step >= 0 ? of_step : step->job_count;
}

/* Tasks that each node takes: as many as the job has CPUs there. False: they are not enough. */
static bool make_room(struct slurm_size *size, const struct slurm_wish *wish)
{
	const struct slurm *slurm = &wish->slurm;
	const char *cpus = getenv("SLURM_JOB_CPUS_PER_NODE");
	int64_t each = wish->cpus_per_task > 0 ? wish->cpus_per_task : 1, all = 0;

	for (int64_t i = 0; i < size->nodes; i++) {
		size->room[i] = cpus ? counts_at(span_of(cpus), i) / each : size->tasks;
		if (slurm->tasks_per_node > 0 && slurm->tasks_per_node < size->room[i])
			size->room[i] = slurm->tasks_per_node;
		all += size->room[i];
	}
	return all >= size->tasks;
}

/* A site may give more CPUs than a job asks for. */
static bool asks_for_cpus(void)
{
	return getenv("SLURM_NTASKS") || getenv("SLURM_CPUS_PER_TASK");
}

/* --nodelist or --relative: the first node, by its place in the job; -1: it has none of them. */
static int64_t first_node(const struct step *step)
{
	struct span list = step->wish.nodes;

	if (step->wish.relative >= 0)
		return step->wish.relative;
	for (int64_t node = 0; list.text && node < step->job_nodes; node++) {
		struct span rest = list, name;
		char own[32];

		slurm_node(own, sizeof(own), step->job_nodes, node);
		while (span_split(&rest, ',', &name))
			if (span_is(name, own) || span_is(name, step->nodes))
				return node;
	}
	return list.text && step->job_nodes > 1 ? -1 : 0;
}

static int place(struct step *step)
{
	slurm_node_list(step->nodes, sizeof(step->nodes), step->job_nodes, 0, step->job_nodes);
	step->first = first_node(step);
	if (step->first < 0 || step->first + step->size.nodes > step->job_nodes)
		return slurm_refuse("srun", "scontrol show hostnames lists them",
				    "the job has no such nodes: %s",
				    step->wish.nodes.text ? QUOTE(step->wish.nodes) : "--relative");
	slurm_node_list(step->nodes, sizeof(step->nodes), step->job_nodes, step->first,
			step->size.nodes);
	return slurm_enter("srun", &step->wish);
}

int step_settle(struct step *step)
{
	struct slurm_wish *wish = &step->wish;
	struct slurm_size *size = &step->size;
	int64_t of_job = slurm_number("SLURM_JOB_NUM_NODES");

	read_job_gpus(step);
	step->job_nodes = of_job;
	inherit(wish);
	if (slurm_wish_check("srun", wish) != STATUS_ANSWERED)
		return STATUS_NO;
	if (of_job < 1 || of_job > SLURM_NODES_MAX)
		return slurm_refuse("srun", "leave it as sbatch sets it",
				    "SLURM_JOB_NUM_NODES is not a number from 1 to %d",
				    SLURM_NODES_MAX);
	size->nodes = wish->slurm.nodes > 0 ? wish->slurm.nodes : of_job;
	if (size->nodes < 1 || size->nodes > of_job)
		return slurm_refuse("srun", "ask for fewer", "%lld nodes, and the job has %lld",
				    (long long)size->nodes, (long long)of_job);
	size->tasks = step_tasks(wish, size->nodes);
	if (size->tasks > SLURM_TASKS_MAX)
		return slurm_refuse("srun", "ask for fewer", "%lld tasks", (long long)size->tasks);
	if (size->tasks < size->nodes)
		size->nodes = size->tasks;
	drop_tasks_per_node(wish, size);
	if (!make_room(size, wish) && !asks_for_cpus()) {
		memset(size->room, 0, sizeof(size->room));
		slurm_not_rehearsed("whether the job has the CPUs of %lld tasks; --ntasks asks for "
				    "them",
				    (long long)size->tasks);
	} else if (!make_room(size, wish)) {
		return slurm_refuse("srun",
				    "write --ntasks too, as --ntasks=1, or ask sbatch for more",
				    "%lld tasks need more CPUs than the job has on %lld node%s: "
				    "Slurm would not start the step",
				    (long long)size->tasks, (long long)size->nodes,
				    size->nodes == 1 ? "" : "s");
	}
	size->gpus = step_gpus(step);
	if (size->gpus > step->job_count)
		return slurm_refuse("srun", "ask for fewer, or give the job more",
				    "the step asks for %lld GPUs of a node, and the job has %lld",
				    (long long)size->gpus, (long long)step->job_count);
	if (wish->slurm.per_task > 0 && wish->slurm.per_task * slurm_tasks_of(size, 0) > size->gpus)
		return slurm_refuse("srun", "ask for fewer, or give the job more",
				    "%lld tasks of a node need %lld GPUs, and the step has %lld",
				    (long long)slurm_tasks_of(size, 0),
				    (long long)(wish->slurm.per_task * slurm_tasks_of(size, 0)),
				    (long long)size->gpus);
	slurm_counts(step->counts, sizeof(step->counts), size, 1);
	return place(step);
}
