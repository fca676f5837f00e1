/* SPDX-License-Identifier: MIT */
/* See which_machine.h. */
#include "cli/which_machine.h"

#include "cli/machine.h"
#include "explain/explain.h"
#include "inventory/inventory.h"
#include "report/report.h"
#include "resolve/resolve.h"

/* The decision if no machine is named, by --inventory, GPUMAP_INVENTORY or --ask-driver.
 * ARCHITECTURE.md and gpumap(1) show the same table. */
static const struct cell {
	bool host;     /* the question is about this host, not a what-if */
	bool cause;    /* the findings about the host are added to the answer */
	bool compared; /* a remark is added if the host's answer differs */
} cells[][2] = {
	/* who states the list       this host has no GPU     this host has GPUs */
	[LIST_FROM_NONE] = {{.host = true}, {.host = true, .cause = true}},
	[LIST_FROM_ENVIRONMENT] = {{.cause = true}, {.host = true, .cause = true}},
	[LIST_FROM_KEYS] = {{.host = false}, {.compared = true}},
};

/* The readers of hosts recognise only NVIDIA's GPUs. */
static int open_amd(gpumap_inventory **ret, gpumap_report *report)
{
	static const char why[] = "gpumap does not look for AMD GPUs on this host";
	gpumap_inventory *host = inventory_new("host", NULL);

	if (!host || !member_set(&host->no_gpu, span_of(why))) {
		gpumap_inventory_free(host);
		return report_nomem(report);
	}
	*ret = host;
	return inventory_finish(host, report);
}

static int open_host(const struct question *q, gpumap_inventory **ret, gpumap_report *report)
{
	enum dialect dialect = request_dialect(q->request);

	if (dialect == DIALECT_ROCR || dialect == DIALECT_HIP)
		return open_amd(ret, report);
	return machine_open(ret, NULL, 0, report);
}

/* `before`: the findings that are not about the host. */
static int choose(struct question *q, size_t before, gpumap_inventory *host, int r,
		  gpumap_report *report)
{
	const struct cell *cell;
	enum list_from from;

	if (resolve_list_from(&from, q->request) != GPUMAP_OK) {
		gpumap_inventory_free(host);
		return report_nomem(report);
	}
	cell = &cells[from][machine_has_gpus(host)];
	if (r != GPUMAP_OK && !cell->host && !cell->cause)
		r = GPUMAP_OK; /* the what-if works without the host */
	if (!cell->host && !cell->cause) {
		report_keep(report, before, NULL, NULL);
	} else if (!cell->cause && r == GPUMAP_OK) {
		/* The error that ends the answer has the cause. */
		report_drop(report, before, FINDING_NO_GPU);
		report_drop(report, before, FINDING_NO_DRIVER);
	}
	if (r == GPUMAP_OK && cell->host)
		q->machine = host;
	else if (r == GPUMAP_OK && cell->compared)
		q->host = host;
	else
		gpumap_inventory_free(host);
	return r;
}

int question_machine(struct question *q, gpumap_report *report)
{
	size_t before = gpumap_report_count(report);
	gpumap_inventory *host = NULL;
	int r;

	if (q->what || q->ask_driver)
		return machine_open(&q->machine, q->what,
				    q->ask_driver ? GPUMAP_PROBE_FLAG_ASK_DRIVER : 0, report);
	r = open_host(q, &host, report);
	return r == GPUMAP_ENOMEM ? report_nomem(report) : choose(q, before, host, r, report);
}

const gpumap_inventory *question_host(const struct question *q)
{
	return q->machine ? q->machine : q->host;
}

static bool same_entry(const gpumap_entry *a, const gpumap_entry *b)
{
	static const enum gpumap_entry_int_attr numbers[] = {
		GPUMAP_ENTRY_LOGICAL, GPUMAP_ENTRY_PHYSICAL, GPUMAP_ENTRY_MIG};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (gpumap_entry_int(a, numbers[i]) != gpumap_entry_int(b, numbers[i]))
			return false;
	return true;
}

/* The first device that differs on the host; NULL: none. */
static const gpumap_entry *other_entry(const gpumap_mapping *mapping, const gpumap_mapping *host)
{
	if (!same_entry(gpumap_mapping_chosen(mapping), gpumap_mapping_chosen(host)))
		return gpumap_mapping_chosen(host);
	for (size_t i = 0; i < gpumap_mapping_visible_count(host); i++) {
		const gpumap_entry *entry = gpumap_mapping_visible(host, i);

		if (!same_entry(gpumap_mapping_visible(mapping, i), entry))
			return entry;
	}
	return NULL;
}

static void remark(const struct question *q, const char *there, gpumap_report *report)
{
	size_t count = gpumap_inventory_count(q->host);

	report_add(report, FINDING_OTHER_ON_HOST,
		   ABOUT(.rule = "N1", .fix = "--inventory host gives its answer"),
		   "this host has %zu GPU%s, and its answer differs: %s", count,
		   count == 1 ? "" : "s", there);
}

static void compare(const struct question *q, const gpumap_mapping *mapping,
		    const gpumap_mapping *host, const gpumap_report *scratch, gpumap_report *report)
{
	size_t here = gpumap_mapping_visible_count(host);
	const gpumap_entry *other;
	int64_t physical;

	if (!gpumap_mapping_int(host, GPUMAP_MAPPING_ANSWERED)) {
		const gpumap_finding *error = first_error(scratch);

		if (gpumap_mapping_int(mapping, GPUMAP_MAPPING_ANSWERED) && error)
			remark(q, gpumap_finding_str(error, GPUMAP_FINDING_TEXT), report);
		return;
	}
	if (here != gpumap_mapping_visible_count(mapping)) {
		remark(q,
		       FORMAT("%zu device%s visible, not %zu", here, here == 1 ? " is" : "s are",
			      gpumap_mapping_visible_count(mapping)),
		       report);
		return;
	}
	other = other_entry(mapping, host);
	physical = gpumap_entry_int(other, GPUMAP_ENTRY_PHYSICAL);
	if (other)
		remark(q,
		       FORMAT(physical < 0 ? "cuda:%lld may be one of several"
					   : "cuda:%lld is physical GPU %lld",
			      (long long)gpumap_entry_int(other, GPUMAP_ENTRY_LOGICAL),
			      (long long)physical),
		       report);
}

int question_compare(const struct question *q, const gpumap_mapping *mapping, gpumap_report *report)
{
	OWNED(mapping) *host = NULL;
	OWNED(report) *scratch = q->host ? new_report() : NULL;
	int r;

	if (!q->host)
		return GPUMAP_OK;
	r = scratch ? gpumap_resolve(&host, q->request, q->host, scratch) : GPUMAP_ENOMEM;
	if (report_lacks_memory(scratch))
		r = GPUMAP_ENOMEM;
	if (r == GPUMAP_OK)
		compare(q, mapping, host, scratch, report);
	return r == GPUMAP_ENOMEM ? report_nomem(report) : GPUMAP_OK;
}

void question_free(struct question *q)
{
	gpumap_inventory_free(q->machine);
	gpumap_inventory_free(q->host);
}
