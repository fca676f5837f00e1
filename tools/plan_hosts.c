/* SPDX-License-Identifier: MIT */
#include "plan_hosts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "command.h"
#include "cpus.h"
#include "expand.h"
#include "machine.h"
#include "plan/job.h"
#include "readfile.h"
#include "report.h"

enum { MOST_NODES = 100000, MOST_HOSTFILE = 16 << 20 };

/* What finding hosts works with. */
struct finder {
	struct plan_hosts *ret;
	const gpumap_profile *profile;
	gpumap_report *report;
	char here[HOST_NAME_MAX + 1]; /* this machine's name */
};

static const char *said(const struct finder *f, const char *key)
{
	return gpumap_profile_str(f->profile, key, GPUMAP_SETTING_VALUE);
}

/* NULL: nobody said it. */
static const char *origin(const struct finder *f, const char *key)
{
	const char *text = gpumap_profile_str(f->profile, key, GPUMAP_SETTING_ORIGIN);

	return streq(text, "default") ? NULL : text;
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* --- names ------------------------------------------------------------------------- */

/* None of those that are known is called so. */
static const char *unknown_stem(const char *here, const char *master)
{
	static const char *const stems[] = {"node", "unknown", "other"};
	size_t i = 0;

	while (starts_with(here, stems[i]) || starts_with(master, stems[i]))
		i++;
	return stems[i];
}

/* Nodes that are counted only: their names are those that are known. */
static int add_counted(struct finder *f, int64_t count, int64_t node)
{
	const char *master = said(f, "master_addr");
	const char *stem = unknown_stem(f->here, master);
	bool known = !streq(master, "auto");
	struct strbuf names = {0};
	int r;

	if (node >= count)
		return report_fail(f->report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.origin = "--node-rank", .fix = "the first node is 0"),
				   "there is no node %lld of %lld", (long long)node,
				   (long long)count);
	if (count > 1 && !known && node > 0)
		return report_fail(f->report, GPUMAP_EINPUT, FINDING_MASTER,
				   ABOUT(.origin = "--node-rank",
					 .fix = "give --master-addr, the name of node 0"),
				   "node %lld cannot know where node 0 is", (long long)node);
	for (int64_t i = 0; i < count; i++) {
		strbuf_puts(&names, i ? "," : "");
		if (i == node && !(node > 0 && known && streq(master, f->here)))
			strbuf_puts(&names, f->here);
		else if (i == 0 && known && !streq(master, f->here))
			strbuf_puts(&names, master);
		else
			strbuf_printf(&names, "%s%lld", stem, (long long)i);
	}
	r = names.failed ? report_nomem(f->report)
			 : gpumap_hosts_add(f->ret->hosts, names.text, "--nnodes", f->report);
	strbuf_free(&names);
	f->ret->node = node;
	return r;
}

static int add_file(struct finder *f, const char *path)
{
	char *text = NULL;
	size_t size;
	int error = read_file(path, true, MOST_HOSTFILE, &text, &size), r;

	if (error == ENOMEM)
		return report_nomem(f->report);
	if (error)
		return report_fail(f->report, GPUMAP_EFILE, FINDING_FILE_ACCESS,
				   ABOUT(.origin = path), "cannot read the hostfile: %s",
				   strerror(error));
	r = gpumap_hosts_add_file(f->ret->hosts, text, size, path, f->report);
	free(text);
	return r;
}

static int add_slurm(struct finder *f)
{
	static const char *const names[] = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST",
					    "SLURM_NODELIST"};
	size_t i = variable("SLURM_PROCID") ? 0 : 1;

	for (; i < ARRAY_SIZE(names); i++)
		if (variable(names[i]))
			return gpumap_hosts_add(f->ret->hosts, variable(names[i]), names[i],
						f->report);
	return report_fail(f->report, GPUMAP_EINPUT, FINDING_BAD_HOSTS,
			   ABOUT(.origin = origin(f, "hosts"),
				 .fix = "run it inside a job, or name the hosts"),
			   "hosts = slurm, but SLURM_JOB_NODELIST is not set");
}

/* Names are compared up to the first dot, as schedulers leave out the domain. */
static bool same_host(const char *a, const char *b)
{
	size_t n = strcspn(a, ".");

	return n && n == strcspn(b, ".") && strncmp(a, b, n) == 0;
}

void own_host_name(char *ret, size_t size)
{
	if (variable("SLURMD_NODENAME"))
		snprintf(ret, size, "%s", variable("SLURMD_NODENAME"));
	else if (gethostname(ret, size - 1) || !*ret)
		snprintf(ret, size, "localhost");
}

/* The place of this machine among hosts; -1: it is none of them. */
static int64_t find_here(const char *(*name)(const void *from, size_t i), const void *from)
{
	char here[HOST_NAME_MAX + 1] = "";
	const char *known;

	own_host_name(here, sizeof(here));
	for (size_t i = 0; (known = name(from, i)); i++)
		if (same_host(known, here) || streq(known, "localhost"))
			return (int64_t)i;
	return -1;
}

static const char *listed_name(const void *from, size_t i)
{
	return gpumap_hosts_name(from, i);
}

static const char *planned_name(const void *from, size_t i)
{
	const gpumap_plan *plan = from;

	return i < plan->core->host_count ? plan->core->hosts[i].name : NULL;
}

int plan_node(int64_t *ret, const gpumap_plan *plan, const char *node_rank, gpumap_report *report)
{
	if (node_rank)
		return option_number("--node-rank", node_rank, 0,
				     (int64_t)plan->core->host_count - 1, ret, report);
	*ret = find_here(planned_name, plan);
	return GPUMAP_OK;
}

static int add_named(struct finder *f, const char *node_rank)
{
	const char *hosts = said(f, "hosts");
	int64_t count;
	int r;

	if (starts_with(hosts, "file:"))
		r = add_file(f, hosts + 5);
	else if (streq(hosts, "slurm"))
		r = add_slurm(f);
	else
		r = gpumap_hosts_add(f->ret->hosts, hosts, origin(f, "hosts"), f->report);
	if (r != GPUMAP_OK)
		return r;
	count = (int64_t)gpumap_hosts_count(f->ret->hosts);
	if (node_rank)
		return option_number("--node-rank", node_rank, 0, count - 1, &f->ret->node,
				     f->report);
	f->ret->node = find_here(listed_name, f->ret->hosts);
	return GPUMAP_OK;
}

static int add_names(struct finder *f, const char *nnodes, const char *node_rank)
{
	int64_t count = 1, node = 0;
	int r = GPUMAP_OK;

	if (*said(f, "hosts") && nnodes)
		return report_fail(f->report, GPUMAP_EINPUT, FINDING_EXCLUSIVE_KEYS,
				   ABOUT(.origin = "--nnodes", .fix = "leave one of them out"),
				   "hosts names the nodes, and --nnodes counts them");
	if (*said(f, "hosts"))
		return add_named(f, node_rank);
	if (nnodes && strchr(nnodes, ':'))
		return report_fail(f->report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.origin = "--nnodes",
					 .fix = "write one number: nodes neither come nor go here"),
				   "cannot be a range: '%s'", QUOTE(span_of(nnodes)));
	if (nnodes)
		r = option_number("--nnodes", nnodes, 1, MOST_NODES, &count, f->report);
	if (r == GPUMAP_OK && node_rank)
		r = option_number("--node-rank", node_rank, 0, MOST_NODES, &node, f->report);
	return r == GPUMAP_OK ? add_counted(f, count, node) : r;
}

/* --- what is known of them ------------------------------------------------------------ */

/* What it means that there is no GPU is the plan's to say. */
static int open_quietly(struct finder *f, const char *what, gpumap_inventory **ret)
{
	gpumap_report *heard = NULL;
	int r = gpumap_report_new(&heard);

	if (r == GPUMAP_OK)
		r = machine_open(ret, what, false, heard);
	report_copy_all(f->report, heard, FINDING_NO_GPU);
	gpumap_report_free(heard);
	return r == GPUMAP_ENOMEM ? report_nomem(f->report) : r;
}

static int open_once(struct finder *f, const char *what, gpumap_inventory **ret)
{
	struct plan_hosts *all = f->ret;
	struct opened *grown;
	int r;

	for (size_t i = 0; i < all->count; i++)
		if (streq(all->opened[i].what, what)) {
			*ret = all->opened[i].inventory;
			return GPUMAP_OK;
		}
	grown = array_room(all->opened, all->count, &all->room, sizeof(*grown));
	if (!grown)
		return report_nomem(f->report);
	all->opened = grown;
	grown[all->count].what = strdup(what);
	if (!grown[all->count].what)
		return report_nomem(f->report);
	r = open_quietly(f, what, &grown[all->count].inventory);
	if (r != GPUMAP_OK) {
		free(grown[all->count].what);
		return r;
	}
	*ret = grown[all->count++].inventory;
	return GPUMAP_OK;
}

/* What was said of the i-th host's machine; the caller frees it. */
static int inventory_of(struct finder *f, size_t i, char **ret)
{
	const char *name = gpumap_hosts_name(f->ret->hosts, i);
	const char *value = gpumap_profile_at(f->profile, "inventory", GPUMAP_SETTING_VALUE, name,
					      (int64_t)i, -1, -1);
	struct macros macros = {-1, -1, (int64_t)i, name, NULL, NULL};
	struct expand_error error;
	struct strbuf buf = {0};

	if (!expand_macros(&buf, span_of(value), &macros, &error)) {
		strbuf_free(&buf);
		return report_fail(f->report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
				   ABOUT(.origin = origin(f, "inventory"), .fix = error.fix),
				   "inventory: %s: '%s'", error.text, QUOTE(span_of(value)));
	}
	*ret = strbuf_take(&buf);
	return *ret ? GPUMAP_OK : report_nomem(f->report);
}

/* A recorded machine's cores are not this one's; simulated GPUs are. */
static bool has_our_cores(const char *what)
{
	return streq(what, "host") || (*what >= '0' && *what <= '9' && !strchr(what, '/'));
}

static int know_cores(struct finder *f, size_t i)
{
	struct cpus cpus = {.arena = {0}};
	int r = cpus_read(&cpus, NULL, f->report);

	if (r == GPUMAP_OK) {
		const struct cpu_topology *t = cpus.plan.topology;

		r = gpumap_hosts_cpus(f->ret->hosts, i, cpus.plan.allowed, t ? t->core : NULL,
				      t ? t->node : NULL, t ? t->count : 0);
	}
	cpus_free(&cpus);
	return r;
}

/* This machine: `what` was said of it. */
static int know_here(struct finder *f, size_t i, const char *what)
{
	gpumap_inventory *inventory = NULL;
	int r = open_once(f, what, &inventory);

	if (r != GPUMAP_OK)
		return r;
	gpumap_hosts_inventory(f->ret->hosts, i, inventory);
	r = gpumap_hosts_environ(f->ret->hosts, i, (const char *const *)environ, f->report);
	return r == GPUMAP_OK && has_our_cores(what) ? know_cores(f, i) : r;
}

/* Another machine of which the same was said is taken to be like this one: the ranks of all
 * nodes must count alike, and each node sees itself alone. */
static int know_other(struct finder *f, size_t i, const char *here, size_t *alike)
{
	gpumap_inventory *inventory = NULL;
	char *what = NULL;
	int r = inventory_of(f, i, &what);

	if (r == GPUMAP_OK && here && streq(what, here)) {
		gpumap_hosts_like(f->ret->hosts, i, (size_t)f->ret->node);
		*alike += streq(here, "host");
	} else if (r == GPUMAP_OK && !streq(what, "host")) {
		r = open_once(f, what, &inventory);
		gpumap_hosts_inventory(f->ret->hosts, i, inventory);
	}
	free(what);
	return r;
}

static int know_all(struct finder *f)
{
	size_t count = gpumap_hosts_count(f->ret->hosts), alike = 0;
	char *here = NULL;
	int r = GPUMAP_OK;

	if (f->ret->node >= 0) {
		r = inventory_of(f, (size_t)f->ret->node, &here);
		if (r == GPUMAP_OK)
			r = know_here(f, (size_t)f->ret->node, here);
	}
	for (size_t i = 0; i < count && r == GPUMAP_OK; i++)
		if ((int64_t)i != f->ret->node)
			r = know_other(f, i, here, &alike);
	if (r == GPUMAP_OK && alike)
		report_add(f->report, FINDING_PLAN_UNKNOWN,
			   ABOUT(.origin = origin(f, "inventory"),
				 .fix = "say inventory = snap/%h.ini, with a snapshot of each"),
			   "%zu other host%s taken to be like this one", alike,
			   alike == 1 ? " is" : "s are");
	free(here);
	return r;
}

/* Outside of the job's nodes, as in salloc's shell, it is this job all the same. */
static int know_job(struct finder *f)
{
	const char *job = variable("SLURM_JOB_ID");
	char text[128];
	const char *const envp[] = {text, NULL};

	if (f->ret->node >= 0 || !job || !streq(said(f, "hosts"), "slurm"))
		return GPUMAP_OK;
	snprintf(text, sizeof(text), "SLURM_JOB_ID=%s", job);
	return gpumap_hosts_environ(f->ret->hosts, 0, envp, f->report);
}

int plan_hosts_open(struct plan_hosts *ret, const gpumap_profile *profile, const char *nnodes,
		    const char *node_rank, gpumap_report *report)
{
	struct finder f = {.ret = ret, .profile = profile, .report = report};
	int r;

	*ret = (struct plan_hosts){.node = -1};
	own_host_name(f.here, sizeof(f.here));
	r = gpumap_hosts_new(&ret->hosts);
	if (r == GPUMAP_OK)
		r = add_names(&f, nnodes, node_rank);
	if (r == GPUMAP_OK)
		r = know_all(&f);
	return r == GPUMAP_OK ? know_job(&f) : r;
}

void plan_hosts_free(struct plan_hosts *hosts)
{
	gpumap_hosts_free(hosts->hosts);
	for (size_t i = 0; i < hosts->count; i++) {
		free(hosts->opened[i].what);
		gpumap_inventory_free(hosts->opened[i].inventory);
	}
	free(hosts->opened);
}
