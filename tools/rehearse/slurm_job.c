/* SPDX-License-Identifier: MIT */
/* How large a job is, and the variables that it begins with. */
#include "rehearse/slurm.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/machine.h"

extern char **environ;

/* --- its size --------------------------------------------------------------------------- */

/* The job's GPUs, of all nodes; 0: it asks for those of a node, or for none. */
static int64_t total_of(const struct slurm *slurm)
{
	if (slurm->total > 0)
		return slurm->total;
	return slurm->per_task > 0 && slurm->tasks > 0 ? slurm->per_task * slurm->tasks : 0;
}

/* Without --nodes Slurm takes as many as it needs. */
static int64_t nodes_of(const struct slurm *slurm, int64_t machine)
{
	if (slurm->nodes > 0)
		return slurm->nodes;
	if (slurm->has_tasks && slurm->tasks > 0 && slurm->tasks_per_node > 0)
		return (slurm->tasks + slurm->tasks_per_node - 1) / slurm->tasks_per_node;
	if (slurm->per_node < 0 && machine > 0 && total_of(slurm) > machine)
		return (total_of(slurm) + machine - 1) / machine;
	return 1;
}

/* GPUs on each node; -1: they cannot be divided evenly. */
static int64_t gpus_of(const struct slurm *slurm, const struct slurm_size *size, int64_t machine)
{
	if (slurm->per_node >= 0)
		return slurm->per_node;
	if (slurm->total >= 0)
		return slurm->total % size->nodes ? -1 : slurm->total / size->nodes;
	if (slurm->per_task >= 0)
		return slurm->per_task * slurm_tasks_of(size, 0);
	return slurm->exclusive ? machine : 0;
}

static int64_t tasks_of(const struct slurm_wish *wish, int64_t nodes)
{
	const struct slurm *slurm = &wish->slurm;

	if (slurm->tasks > 0)
		return slurm->tasks;
	if (slurm->tasks_per_node > 0)
		return slurm->tasks_per_node * nodes;
	if (slurm->per_task > 0 && slurm->total > 0)
		return slurm->total / slurm->per_task;
	if (wish->tasks_per_gpu > 0 && slurm->total > 0)
		return wish->tasks_per_gpu * slurm->total;
	if (wish->tasks_per_gpu > 0 && slurm->per_node > 0)
		return wish->tasks_per_gpu * slurm->per_node * nodes;
	return nodes;
}

static int settle(const char *command, struct slurm_wish *wish, struct slurm_size *size)
{
	struct slurm *slurm = &wish->slurm;
	int64_t machine = machine_host_gpus();

	if (machine > SLURM_GPUS_MAX)
		machine = SLURM_GPUS_MAX;
	slurm_settle(slurm);
	if (slurm_wish_check(command, wish) != STATUS_ANSWERED)
		return STATUS_NO;
	size->nodes = nodes_of(slurm, machine);
	if (size->nodes > SLURM_NODES_MAX)
		return slurm_refuse(command, "ask for fewer, as --nodes=2", "%lld nodes",
				    (long long)size->nodes);
	size->tasks = tasks_of(wish, size->nodes);
	if (size->tasks < size->nodes)
		size->nodes = size->tasks;
	if (size->tasks > SLURM_TASKS_MAX)
		return slurm_refuse(command, "ask for fewer", "%lld tasks", (long long)size->tasks);
	for (int64_t i = 0; i < size->nodes && slurm->tasks_per_node > 0; i++)
		size->room[i] = slurm->tasks_per_node;
	if (size->nodes > 1 && !slurm->has_nodes)
		slurm_not_rehearsed("how many nodes Slurm takes: the job has %lld",
				    (long long)size->nodes);
	if (size->nodes > 1 && size->tasks > size->nodes && slurm->tasks_per_node < 1)
		slurm_not_rehearsed(
			"how Slurm divides %lld tasks over %lld nodes, which depends on "
			"their CPUs; --ntasks-per-node says it",
			(long long)size->tasks, (long long)size->nodes);
	size->gpus = gpus_of(slurm, size, machine);
	if (size->gpus < 0)
		return slurm_refuse(command, "ask for --gpus-per-node",
				    "%lld GPUs on %lld nodes: which node has how many is Slurm's "
				    "choice",
				    (long long)slurm->total, (long long)size->nodes);
	if (size->gpus > machine)
		return slurm_refuse(
			command, "ask for fewer, or name another --inventory",
			"the job asks for %lld GPUs of a node, and the machine has %lld: Slurm "
			"would never start it",
			(long long)size->gpus, (long long)machine);
	wish->asks_for_none = !slurm_asks_for_gpus(slurm);
	slurm->nodes = size->nodes;
	slurm->nodes_exact = true;
	slurm->per_node = size->gpus;
	return STATUS_ANSWERED;
}

/* --- its environment -------------------------------------------------------------------- */

/* Those of a job that this shell is in. */
static void forget_slurm(void)
{
	for (size_t i = 0; environ[i];) {
		char name[128];
		const char *equals = strchr(environ[i], '=');
		size_t length = equals ? (size_t)(equals - environ[i]) : 0;

		/* SLURM_CONF keeps programs from a real Slurm. */
		if (!starts_with(environ[i], "SLURM_") || starts_with(environ[i], "SLURM_CONF=") ||
		    !length || length >= sizeof(name)) {
			i++;
			continue;
		}
		memcpy(name, environ[i], length);
		name[length] = '\0';
		unsetenv(name);
	}
}

static void put(void *data, const char *name, struct span value)
{
	CLEANUP_FREE char *text = value.text ? strndup(value.text, value.length) : NULL;

	(void)data;
	if (text)
		setenv(name, text, 1);
}

static void set_gpus(const struct slurm_size *size)
{
	int gpus[SLURM_GPUS_MAX];
	char list[SLURM_GPUS_MAX * 4];

	for (int i = 0; i < SLURM_GPUS_MAX; i++)
		gpus[i] = i;
	slurm_list(list, sizeof(list), gpus, size->gpus);
	setenv("CUDA_VISIBLE_DEVICES", list, 1);
	setenv(REHEARSE_JOB, list, 1);
	if (!size->gpus) {
		slurm_not_rehearsed("GPUs of Slurm: the job asks for none, so it sees none");
		return;
	}
	setenv("SLURM_JOB_GPUS", list, 1);
	slurm_not_rehearsed("which GPUs Slurm gives: the job has %s of %s", list,
			    size->nodes > 1 ? "each node" : "its node");
}

/* 0-9, 1,3%2: the first number */
static void set_array(struct span array)
{
	if (!array.text)
		return;
	setenv("SLURM_ARRAY_JOB_ID", "1", 1);
	put(NULL, "SLURM_ARRAY_TASK_ID", (struct span){array.text, span_digits(array)});
	slurm_not_rehearsed("--array: the first of its jobs was rehearsed");
}

static void set_environment(const struct slurm_wish *wish, const struct slurm_size *size,
			    struct span name)
{
	char nodes[64], node[32], counts[512], host[256] = "", folder[PATH_MAX];
	int64_t cpus = wish->cpus_per_task > 0 ? wish->cpus_per_task : 1;

	forget_slurm();
	slurm_each_variable(&wish->slurm, false, true, put, NULL);
	slurm_set_number("SLURM_JOB_NUM_NODES", size->nodes);
	slurm_set_number("SLURM_NNODES", size->nodes);
	slurm_counts(counts, sizeof(counts), size, 1);
	setenv("SLURM_TASKS_PER_NODE", counts, 1);
	/* Of all CPUs of a node their number is not known. */
	slurm_counts(counts, sizeof(counts), size, cpus);
	if (!wish->slurm.exclusive)
		setenv("SLURM_JOB_CPUS_PER_NODE", counts, 1);
	slurm_set_number("SLURM_CPUS_ON_NODE", slurm_tasks_of(size, 0) * cpus);
	if (wish->cpus_per_task > 0)
		slurm_set_number("SLURM_CPUS_PER_TASK", cpus);
	slurm_node_list(nodes, sizeof(nodes), size->nodes, 0, size->nodes);
	slurm_node(node, sizeof(node), size->nodes, 0);
	setenv("SLURM_JOB_NODELIST", nodes, 1);
	setenv("SLURM_NODELIST", nodes, 1);
	setenv("SLURMD_NODENAME", node, 1);
	setenv("SLURM_JOB_ID", "1", 1);
	setenv("SLURM_JOBID", "1", 1);
	put(NULL, "SLURM_JOB_NAME", name);
	setenv("SLURM_JOB_PARTITION", "rehearsal", 1);
	setenv("SLURM_CLUSTER_NAME", "rehearsal", 1);
	setenv("SLURM_PROCID", "0", 1);
	setenv("SLURM_LOCALID", "0", 1);
	setenv("SLURM_NODEID", "0", 1);
	setenv("SLURM_GTIDS", "0", 1);
	gethostname(host, sizeof(host) - 1);
	setenv("SLURM_SUBMIT_HOST", host, 1);
	if (getcwd(folder, sizeof(folder)))
		setenv("SLURM_SUBMIT_DIR", folder, 1);
	if (wish->slurm.bind.text)
		put(NULL, "SLURM_GPU_BIND", wish->slurm.bind);
	if (wish->tasks_per_gpu > 0) {
		slurm_set_number("SLURM_NTASKS_PER_GPU", wish->tasks_per_gpu);
		slurm_set_number("SLURM_NTASKS", size->tasks);
		slurm_set_number("SLURM_NPROCS", size->tasks);
	}
	set_gpus(size);
	if (size->gpus)
		slurm_set_number("SLURM_GPUS_ON_NODE", size->gpus);
	unsetenv(REHEARSE_STEP_GPUS);
	if (wish->asks_for_none)
		setenv(REHEARSE_STEP_GPUS, "0", 1);
	set_array(wish->array);
	slurm_export(wish->exports);
	if (wish->slurm.exports_nothing)
		slurm_not_rehearsed("--export=NONE: the job has the variables of this shell");
}

int slurm_begin(const char *command, struct slurm_wish *wish, const char *name)
{
	struct slurm_size size = {.nodes = 0};
	int status = settle(command, wish, &size);

	if (status == STATUS_ANSWERED)
		set_environment(wish, &size, wish->name.text ? wish->name : span_of(name));
	return status;
}

void slurm_node(char *ret, size_t room, int64_t nodes, int64_t node)
{
	if (nodes == 1)
		snprintf(ret, room, "localhost");
	else
		snprintf(ret, room, "127.0.0.%lld", (long long)node + 1);
}

void slurm_node_list(char *ret, size_t room, int64_t nodes, int64_t first, int64_t count)
{
	if (count == 1)
		slurm_node(ret, room, nodes, first);
	else
		snprintf(ret, room, "127.0.0.[%lld-%lld]", (long long)first + 1,
			 (long long)(first + count));
}
