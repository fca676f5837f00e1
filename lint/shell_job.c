/* SPDX-License-Identifier: MIT */
/* A job or step of Slurm: its tasks, its GPUs, and the variables that it has. */
#include "lint/shell_script.h"

int64_t slurm_tasks(const struct slurm *slurm)
{
	if (slurm->parts)
		return -1;
	if (slurm->tasks > 0 && slurm->nodes_exact && slurm->nodes == 1 &&
	    (slurm->has_tasks || !(slurm->has_nodes || slurm->has_tasks_per_node)))
		return slurm->tasks;
	/* With --ntasks, the tasks per node are only a maximum. */
	if (slurm->tasks_here)
		return slurm->tasks == 1 || slurm->tasks_per_node == 1 ? 1 : -1;
	if (slurm->tasks >= 0 && slurm->tasks < slurm->tasks_per_node)
		return slurm->tasks == 1 ? 1 : -1;
	if (slurm->tasks_per_node >= 0)
		return slurm->tasks_per_node;
	return slurm->tasks < 0 || slurm->tasks == 1 ? 1 : -1;
}

/* Slurm's default is a node with one task. */
bool slurm_one_task(const struct shell *sh, const struct slurm *slurm)
{
	bool default_nodes = sh->batch && !slurm->parts && slurm->nodes < 0;

	if (slurm->tasks >= 0)
		return slurm->tasks == 1;
	return !slurm->tasks_here && slurm->tasks_per_node < 2 &&
	       (slurm->nodes == 1 || default_nodes);
}

int64_t slurm_own_gpus(const struct slurm *slurm)
{
	if (slurm->unbound || slurm->shared)
		return -1;
	return slurm->bound >= 0 ? slurm->bound : slurm->per_task;
}

bool slurm_has_gpus(const struct slurm *slurm)
{
	return slurm->per_node > 0 || slurm->per_task > 0 || slurm->total > 0;
}

/* --- the variables that Slurm sets -------------------------------------------------------- */

/* Of slurm_each_variable(). */
struct variables {
	void (*put)(void *data, const char *name, struct span value);
	void *data;
};

static void put_number(const struct variables *to, const char *name, int64_t number)
{
	to->put(to->data, name, number > 0 ? span_of(FORMAT("%lld", (long long)number)) : NO_SPAN);
}

/* 4, or 4(x2) for two nodes */
static void put_tasks_per_node(const struct variables *to, const struct slurm *slurm, int64_t nodes)
{
	bool known = nodes > 0 && slurm->tasks < 0 && slurm->tasks_per_node > 0;
	const char *times = nodes > 1 ? FORMAT("(x%lld)", (long long)nodes) : "";
	const char *text = FORMAT("%lld%s", (long long)slurm->tasks_per_node, times);

	to->put(to->data, "SLURM_TASKS_PER_NODE", known ? span_of(text) : NO_SPAN);
}

void slurm_each_variable(const struct slurm *slurm, bool step, bool same,
			 void (*put)(void *data, const char *name, struct span value), void *data)
{
	const struct variables to = {put, data};
	const struct span none = {NULL, 0};
	int64_t nodes = slurm->tasks == 1 ? 1 : slurm->nodes_exact ? slurm->nodes : -1;
	int64_t tasks = slurm->tasks;

	if (tasks < 0 && nodes > 0 && slurm->tasks_per_node > 0)
		tasks = nodes * slurm->tasks_per_node;
	put_number(&to, "SLURM_NNODES", nodes);
	put_number(&to, "SLURM_JOB_NUM_NODES", step ? -1 : nodes);
	put_number(&to, "SLURM_NTASKS", tasks);
	put_number(&to, "SLURM_NPROCS", tasks);
	put_number(&to, "SLURM_NTASKS_PER_NODE", slurm->tasks_per_node);
	put_tasks_per_node(&to, slurm, nodes);
	put_number(&to, "SLURM_GPUS_ON_NODE", slurm->exclusive ? -1 : slurm->per_node);
	put(data, "SLURM_GPUS_PER_NODE", same ? slurm->node_gpus : none);
	put(data, "SLURM_GPUS_PER_TASK", same ? slurm->task_gpus : none);
	put(data, "SLURM_GPUS", same ? slurm->all_gpus : none);
}

static void grant(void *data, const char *name, struct span value)
{
	struct shell *sh = data;
	struct shell_var *var = shell_var(sh, span_of(name));

	if (value.text && value.length && span_known(value))
		shell_set(sh, var,
			  (struct setting){.state = SET_VALUE,
					   .exported = EXPORT_YES,
					   .value = shell_keep(sh, value),
					   .used = true,
					   .derived = true,
					   .granted = true,
					   .source = source_variable(span_of(name))});
	else if (var->now.granted)
		shell_forget(sh, span_of(name));
}

void slurm_set_variables(struct shell *sh, const struct slurm *slurm, bool step)
{
	/* srun exports none of the options for GPUs. */
	bool same = !step || (slurm->node_gpus.text == sh->slurm.node_gpus.text &&
			      slurm->task_gpus.text == sh->slurm.task_gpus.text &&
			      slurm->all_gpus.text == sh->slurm.all_gpus.text);

	slurm_each_variable(slurm, step, same, grant, sh);
}
