/* SPDX-License-Identifier: MIT */
/* The master's address and port, where the ranks meet. Each rank must find the same ones without
 * asking the others. libgpumap/plan/choose_port.c has those of a plan. */
#include "exec.h"

#include <unistd.h>

#include "report/report.h"
#include "strbuf.h"
#include "text/hostlist.h"

/* --- the address ---------------------------------------------------------------------- */

static bool is_address(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789.:-_%");

	return length && !text[length] && length <= HOSTLIST_NAME_MAX;
}

static bool is_port(const char *text)
{
	return span_number(span_of(text), 65535) > 0;
}

/* The value that the launcher or the user set, as sbatch scripts do. */
static const char *kept(const struct exec *exec, const char *name, bool (*good)(const char *))
{
	const char *value = exec_variable(name);

	if (!value || good(value))
		return value;
	report_add(exec->report, FINDING_EXEC_MASTER,
		   ABOUT(.origin = "environment", .fix = "unset it, or correct it"),
		   "%s=%s is invalid: it is replaced", name, QUOTE(span_of(value)));
	return NULL;
}

/* The step's own hosts, if srun counted the ranks: its first host has rank 0. mpirun fills the
 * job's hosts from the first on. */
static const char *slurm_hosts(const struct exec *exec)
{
	const char *step = exec_variable("SLURM_STEP_NODELIST");
	const char *job = exec_variable("SLURM_JOB_NODELIST");

	if (exec->row && streq(exec->row, "Slurm step"))
		return step;
	return job ? job : exec_variable("SLURM_NODELIST");
}

static int first_host(struct exec *exec, const char *list, const char **ret)
{
	CLEANUP(hostlist_free) struct hostlist hosts = {0};
	int r = hostlist_parse(&hosts, span_of(list), "SLURM_STEP_NODELIST", exec->report);

	if (r != GPUMAP_OK)
		return r;
	*ret = hosts.count ? arena_strdup(&exec->arena, hosts.hosts[0].name) : NULL;
	return exec->arena.failed ? report_nomem(exec->report) : GPUMAP_OK;
}

static int find_address(struct exec *exec, const char **ret)
{
	int setting = exec->plan->settings.master_addr.word;
	const char *list;

	*ret = setting == PLAN_MASTER_AUTO ? kept(exec, "MASTER_ADDR", is_address)
					   : exec->plan->settings.master_addr.text;
	if (*ret)
		return GPUMAP_OK;
	list = slurm_hosts(exec);
	if (exec->rank.nodes == 1)
		*ret = "127.0.0.1";
	else if (exec->options->plan.file && (!list || *exec->plan->settings.hosts.text))
		*ret = gpumap_plan_str(exec->plan, GPUMAP_PLAN_MASTER_ADDR);
	if (*ret)
		return GPUMAP_OK;
	if (list)
		return first_host(exec, list, ret);
	return report_fail(exec->report, GPUMAP_EINPUT, FINDING_MASTER,
			   ABOUT(.fix = "give --master-addr HOST, the host of rank 0"),
			   "%s does not show where rank 0 runs",
			   exec->row ? exec->row : "the command line");
}

/* --- the port ---------------------------------------------------------------------------- */

/* Variables that are equal in all ranks of one start, and different in the next. */
static const struct {
	const char *row;
	const char *variables[2];
} starts[] = {
	{"Open MPI", {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
	{"MPICH", {"PMI_JOBID", NULL}},
	{"MVAPICH2", {"MPIRUN_ID", NULL}},
	{"PALS", {"PALS_APID", NULL}},
	{"jsrun", {"PMIX_NAMESPACE", NULL}},
	{"Slurm step", {"SLURM_STEP_ID", NULL}},
};

static const char *start_of(const struct exec *exec)
{
	for (size_t i = 0; exec->row && i < ARRAY_SIZE(starts); i++)
		for (size_t k = 0; streq(exec->row, starts[i].row) && k < 2; k++)
			if (starts[i].variables[k] && exec_variable(starts[i].variables[k]))
				return exec_variable(starts[i].variables[k]);
	return NULL;
}

/* -1 after a finding. */
static int port_of_job(struct exec *exec, const char *job, bool must)
{
	const char *start = start_of(exec);

	if (job || start)
		return job_port(job ? job : "", start ? start : "");
	if (must) {
		job_refuse_port(exec->plan, "nothing distinguishes this run from others",
				exec->report);
		return -1;
	}
	if (gpumap_plan_int(exec->plan, GPUMAP_PLAN_MASTER_PORT))
		return (int)gpumap_plan_int(exec->plan, GPUMAP_PLAN_MASTER_PORT);
	return job_common_port(exec->plan, "the ranks", "the first host", exec->report);
}

static int find_port(struct exec *exec, const char *job)
{
	const struct plan_setting *setting = &exec->plan->settings.master_port;
	const char *set = NULL;

	if (setting->word == PLAN_PORT_PORT)
		return (int)setting->number;
	if (setting->word == PLAN_PORT_AUTO)
		set = kept(exec, "MASTER_PORT", is_port);
	if (set)
		return (int)span_number(span_of(set), 65535);
	return port_of_job(exec, job, setting->word == PLAN_PORT_JOB);
}

/* The number of nodes with ranks, if this node knows it; 2 means several. */
static int64_t count_nodes(const struct job_rank *rank)
{
	if (rank->nodes > 0)
		return rank->nodes;
	return rank->local_size > 0 && rank->local_size < rank->world_size ? 2 : 1;
}

static int find_meeting(struct exec *exec, const char *job, const char **address, int *port)
{
	const struct rendezvous *rendezvous = &exec->options->plan.rendezvous;
	int r = GPUMAP_OK;

	if (!job_sets_ranks(exec->plan, exec->rank.world_size))
		return GPUMAP_OK;
	/* For port 0 the ranks use their job's. */
	if (rendezvous->own_host)
		r = rendezvous_check_nodes(rendezvous, count_nodes(&exec->rank), exec->report);
	if (r == GPUMAP_OK)
		r = find_address(exec, address);
	if (r == GPUMAP_OK)
		*port = find_port(exec, job);
	return *port < 0 ? GPUMAP_EINPUT : r;
}

int exec_meet(struct exec *exec)
{
	const char *job = job_of_environ((const char *const *)environ), *address = NULL;
	const char *id = exec->options->plan.rendezvous.id;
	int port = 0, r = find_meeting(exec, job, &address, &port);

	if (r != GPUMAP_OK)
		return r;
	return job_meet(exec->plan, id ? id : job, address, port);
}
