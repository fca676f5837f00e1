/* SPDX-License-Identifier: MIT */
/* The hosts of a plan: their names by the profile, and what is known of them. */
#include "plan_hosts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inventory/inventory.h"
#include "job/cpus.h"
#include "plan/plan.h"
#include "report/report.h"
#include "request/profile_keys.h"
#include "text/expand.h"

static bool same_host(const char *a, const char *b)
{
	size_t n = strcspn(a, ".");

	return n && n == strcspn(b, ".") && strncmp(a, b, n) == 0;
}

/* This machine's name: that of Slurm, or its own. */
static void own_name(char *ret, size_t size, const char *const *envp)
{
	const char *name = envp ? environ_nonempty(envp, "SLURMD_NODENAME") : NULL;

	if (name)
		snprintf(ret, size, "%s", name);
	else if (gethostname(ret, size - 1) < 0 || !*ret)
		snprintf(ret, size, "localhost");
}

static int add_names(struct python_hosts *h, const gpumap_profile *profile, const char *const *envp,
		     gpumap_report *report)
{
	const char *list = gpumap_profile_setting(profile, "hosts", GPUMAP_SETTING_VALUE);
	char here[256] = "";
	int r;

	own_name(here, sizeof(here), envp);
	if (*list && key_value(PKEY_PROFILE_hosts, list).word != PLAN_HOSTS_HOST)
		return report_fail(
			report, GPUMAP_EINPUT, FINDING_BAD_HOSTS,
			ABOUT(.origin = "hosts",
			      .fix = "list the hosts, or read a plan of gpumap plan -o FILE"),
			"only a list of hosts is read here, not '%s'", QUOTE(span_of(list)));
	r = gpumap_hosts_parse_list(
		h->hosts, *list ? list : here,
		*list ? gpumap_profile_setting(profile, "hosts", GPUMAP_SETTING_ORIGIN) : NULL,
		report);
	h->count = gpumap_hosts_count(h->hosts);
	while (h->here < h->count && !same_host(gpumap_hosts_name(h->hosts, h->here), here))
		h->here++;
	return r;
}

static bool is_here(const char *what)
{
	return key_value(PKEY_PROFILE_inventory, what).word == PLAN_INVENTORY_HOST;
}

/* As gpumap plan: the cores of a recorded machine are not those of this one. */
static int know_cores(struct python_hosts *h, const char *what, gpumap_report *report)
{
	CLEANUP(cpus_free) struct cpus cpus = {.arena = {0}};
	const struct cpu_topology *t;
	int r;

	if (!is_here(what) && !synthetic_recognise(what))
		return GPUMAP_OK;
	r = cpus_read(&cpus, NULL, report);
	if (r != GPUMAP_OK)
		return r;
	t = cpus.plan.topology;
	return gpumap_hosts_set_cpus(h->hosts, h->here, cpus.plan.allowed, t ? t->core : NULL,
				     t ? t->node : NULL, t ? t->count : 0);
}

int python_file_given(const char *path, gpumap_report *report)
{
	if (!streq(path, "-"))
		return GPUMAP_OK;
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
			   ABOUT(.fix = "write the path of a file; gpumap.Inventory.parse() takes "
					"a text"),
			   "'-' is not valid: standard input is not read");
}

int python_machine_open(gpumap_inventory **ret, const char *what, gpumap_report *report)
{
	int r = python_file_given(what, report);

	return r == GPUMAP_OK ? gpumap_inventory_open(ret, what, report) : r;
}

/* Why there is no GPU, the plan reports. */
static int open_quietly(gpumap_inventory **ret, const char *what, gpumap_report *report)
{
	size_t before = gpumap_report_count(report);
	int r = python_machine_open(ret, what, report);

	report_drop(report, before, FINDING_NO_GPU);
	if (r == GPUMAP_OK && gpumap_inventory_str(*ret, GPUMAP_INVENTORY_NO_GPU))
		report_drop(report, before, FINDING_NO_DRIVER);
	return r;
}

/* The machine of host i by the profile, "snap/%h.ini"; the caller frees it. NULL: no memory. */
static char *machine_name(const struct python_hosts *h, const gpumap_profile *profile, size_t i)
{
	const char *host = gpumap_hosts_name(h->hosts, i);
	const char *value = gpumap_profile_setting_at(profile, "inventory", GPUMAP_SETTING_VALUE,
						      host, (int64_t)i, -1, -1);
	struct macros macros = {-1, -1, (int64_t)i, host, NULL, NULL};
	struct expand_error error;
	CLEANUP(strbuf_free) struct strbuf buf = {0};

	return expand_macros(&buf, span_of(value), &macros, &error) ? strbuf_take(&buf)
								    : strdup(value);
}

/* The machine that was opened by the same name; NULL: none. */
static const gpumap_inventory *opened(const struct python_hosts *h, size_t i)
{
	for (size_t k = 0; k < h->count; k++)
		if (k != i && h->inventories[k] && streq(h->names[k], h->names[i]))
			return h->inventories[k];
	return NULL;
}

/* Opens the machine of host i. */
static int know_machine(struct python_hosts *h, size_t i, gpumap_report *report)
{
	const gpumap_inventory *inventory = opened(h, i);
	int r = GPUMAP_OK;

	if (!inventory) {
		r = open_quietly(&h->inventories[i], h->names[i], report);
		inventory = h->inventories[i];
	}
	return r == GPUMAP_OK ? gpumap_hosts_set_inventory(h->hosts, i, inventory) : r;
}

static int know_here(struct python_hosts *h, const gpumap_inventory *all, const char *const *envp,
		     gpumap_report *report)
{
	int r = all ? gpumap_hosts_set_inventory(h->hosts, h->here, all)
		    : know_machine(h, h->here, report);

	if (r == GPUMAP_OK && envp)
		r = gpumap_hosts_set_environ(h->hosts, h->here, envp, report);
	return r == GPUMAP_OK && !all ? know_cores(h, h->names[h->here], report) : r;
}

/* Of a host that is not this one, `host` says nothing, unless this one has the same machine. */
static int know_other(struct python_hosts *h, size_t i, const gpumap_inventory *all, size_t *alike,
		      gpumap_report *report)
{
	if (all)
		return gpumap_hosts_set_inventory(h->hosts, i, all);
	if (h->here < h->count && streq(h->names[i], h->names[h->here])) {
		*alike += is_here(h->names[i]);
		return gpumap_hosts_set_like(h->hosts, i, h->here);
	}
	return is_here(h->names[i]) ? GPUMAP_OK : know_machine(h, i, report);
}

static int know_all(struct python_hosts *h, const gpumap_profile *profile,
		    const gpumap_inventory *all, const char *const *envp, gpumap_report *report)
{
	size_t alike = 0;
	int r = GPUMAP_OK;

	h->inventories = calloc(h->count + 1, sizeof(*h->inventories));
	h->names = calloc(h->count + 1, sizeof(*h->names));
	if (!h->inventories || !h->names)
		return GPUMAP_ENOMEM;
	for (size_t i = 0; i < h->count; i++)
		if (!(h->names[i] = machine_name(h, profile, i)))
			return GPUMAP_ENOMEM;
	if (h->here < h->count)
		r = know_here(h, all, envp, report);
	for (size_t i = 0; r == GPUMAP_OK && i < h->count; i++)
		if (i != h->here)
			r = know_other(h, i, all, &alike, report);
	if (r == GPUMAP_OK && alike)
		report_add(report, FINDING_PLAN_UNKNOWN,
			   ABOUT(.fix = "run gpumap inventory --save HOST.ini on each HOST, "
					"and write inventory='%h.ini'"),
			   "%zu other host%s not known here: assumed to have the same GPUs as this "
			   "one",
			   alike, alike == 1 ? " is" : "s are");
	return r;
}

int python_hosts_open(struct python_hosts *h, const gpumap_profile *profile,
		      const gpumap_inventory *all, const char *const *envp, gpumap_report *report)
{
	int r = gpumap_hosts_new(&h->hosts);

	if (r == GPUMAP_OK)
		r = add_names(h, profile, envp, report);
	return r == GPUMAP_OK ? know_all(h, profile, all, envp, report) : r;
}

void python_hosts_free(struct python_hosts *h)
{
	gpumap_hosts_free(h->hosts);
	for (size_t i = 0; i < h->count; i++) {
		if (h->names)
			free(h->names[i]);
		if (h->inventories)
			gpumap_inventory_free(h->inventories[i]);
	}
	free(h->names);
	free(h->inventories);
}
