/* SPDX-License-Identifier: MIT */
/* The hosts of a plan: their names by the profile, and what is known of them. */
#include "plan_hosts.h"

#include <string.h>
#include <unistd.h>

#include "cpus.h"
#include "expand.h"
#include "inventory/inventory.h"
#include "plan/plan.h"
#include "profile_keys.h"
#include "report.h"

static int add_names(struct python_hosts *h, const gpumap_profile *profile, gpumap_report *report)
{
	const char *list = gpumap_profile_setting(profile, "hosts", GPUMAP_SETTING_VALUE);
	char here[256] = "";

	if (!*list) {
		if (gethostname(here, sizeof(here) - 1) < 0 || !*here)
			strcpy(here, "localhost");
		return gpumap_hosts_parse_list(h->hosts, here, NULL, report);
	}
	if (key_value(PKEY_PROFILE_hosts, list).word != PLAN_HOSTS_HOST)
		return report_fail(
			report, GPUMAP_EINPUT, FINDING_BAD_HOSTS,
			ABOUT(.origin = "hosts",
			      .fix = "list the hosts, or read a plan of gpumap plan -o FILE"),
			"only a list of hosts is read here, not '%s'", QUOTE(span_of(list)));
	return gpumap_hosts_parse_list(
		h->hosts, list, gpumap_profile_setting(profile, "hosts", GPUMAP_SETTING_ORIGIN),
		report);
}

/* As gpumap plan: the cores of a recorded machine are not those of this one. */
static int know_cores(struct python_hosts *h, const char *what, gpumap_report *report)
{
	struct cpus cpus = {.arena = {0}};
	int r;

	if (!streq(what, "host") && !synthetic_recognise(what))
		return GPUMAP_OK;
	r = cpus_read(&cpus, NULL, report);
	if (r == GPUMAP_OK) {
		const struct cpu_topology *t = cpus.plan.topology;

		r = gpumap_hosts_set_cpus(h->hosts, 0, cpus.plan.allowed, t ? t->core : NULL,
					  t ? t->node : NULL, t ? t->count : 0);
	}
	cpus_free(&cpus);
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
	struct strbuf buf = {0};

	if (expand_macros(&buf, span_of(value), &macros, &error))
		return strbuf_take(&buf);
	strbuf_free(&buf);
	return strdup(value);
}

/* Hosts of one machine are alike. */
static int know_machine(struct python_hosts *h, size_t i, char *what, gpumap_report *report)
{
	int r;

	if (!what)
		return GPUMAP_ENOMEM;
	for (size_t k = 0; k < i; k++)
		if (streq(h->names[k], what)) {
			free(what);
			h->names[i] = strdup(h->names[k]);
			return h->names[i] ? gpumap_hosts_set_like(h->hosts, i, k) : GPUMAP_ENOMEM;
		}
	h->names[i] = what;
	r = gpumap_inventory_open(&h->inventories[i], what, report);
	if (r == GPUMAP_OK)
		r = gpumap_hosts_set_inventory(h->hosts, i, h->inventories[i]);
	return r == GPUMAP_OK && i == 0 ? know_cores(h, what, report) : r;
}

static int know_machines(struct python_hosts *h, const gpumap_profile *profile,
			 const gpumap_inventory *all, gpumap_report *report)
{
	int r = GPUMAP_OK;

	h->count = gpumap_hosts_count(h->hosts);
	h->inventories = calloc(h->count + 1, sizeof(*h->inventories));
	h->names = calloc(h->count + 1, sizeof(*h->names));
	if (!h->inventories || !h->names)
		return GPUMAP_ENOMEM;
	for (size_t i = 0; r == GPUMAP_OK && i < h->count; i++)
		if (all)
			r = i ? gpumap_hosts_set_like(h->hosts, i, 0)
			      : gpumap_hosts_set_inventory(h->hosts, 0, all);
		else
			r = know_machine(h, i, machine_name(h, profile, i), report);
	return r;
}

int python_hosts_open(struct python_hosts *h, const gpumap_profile *profile,
		      const gpumap_inventory *all, const char *const *envp, gpumap_report *report)
{
	int r = gpumap_hosts_new(&h->hosts);

	if (r == GPUMAP_OK)
		r = add_names(h, profile, report);
	if (r == GPUMAP_OK)
		r = know_machines(h, profile, all, report);
	return r == GPUMAP_OK && envp ? gpumap_hosts_set_environ(h->hosts, 0, envp, report) : r;
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
