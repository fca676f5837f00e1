/* SPDX-License-Identifier: MIT */
/* What --pid says of a process: that it launches ranks, the device that gpumap run gave it, that it
 * has no GPU. */
#include "live/process.h"

#include <stdlib.h>
#include <unistd.h>

#include "process_stat.h"
#include "plan/job.h"
#include "live/published_run.h"
#include "report/report.h"
#include "request/request.h"
#include "strbuf.h"

enum {
	MAX_BELOW = 1000, /* generations of processes below a rank */
	MAX_NAMED = 16    /* ranks that a message can list */
};

/* Whether both have the same value, or neither has one. */
static bool same_variable(const struct process_text *a, const struct process_text *b,
			  const char *name)
{
	return text_same(process_variable(a, name), process_variable(b, name));
}

/* --- the ranks of a run ------------------------------------------------------------- */

/* Whether the process is the launcher of the run, or a sweep that has it. A run inside of a rank
 * has the variables of that. */
static bool launches(int pid, const struct process_text *text, const struct live_run *run)
{
	CLEANUP(process_text_free) struct process_text own = {0};

	return run->launcher == pid ||
	       (process_parent(run->launcher) == pid && process_text_read(&own, run->launcher) &&
		same_variable(&own, text, RUN_ID) && same_variable(&own, text, RUN_RANK));
}

static int compare_ranks(const void *a, const void *b)
{
	const struct live_rank *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank > y->rank ? 1 : -1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void list_ranks(struct strbuf *buf, const struct live_rank *ranks, size_t count)
{
	for (size_t i = 0; i < count && i < MAX_NAMED; i++) {
		const char *gpus = ranks[i].gpus;

		strbuf_printf(buf, "%s%d (rank %lld, ", i ? ", " : "", ranks[i].pid,
			      (long long)ranks[i].rank);
		if (gpus && *gpus)
			strbuf_printf(buf, "GPU%s %s)", strchr(gpus, ',') ? "s" : "",
				      QUOTE(span_of(gpus)));
		else
			strbuf_puts(buf, "no GPU)");
	}
	if (count > MAX_NAMED)
		strbuf_printf(buf, " and %zu more", count - MAX_NAMED);
}

int process_is_run(const char *pid, gpumap_report *report)
{
	int number = (int)span_number(span_of(pid), INT32_MAX);
	CLEANUP(process_text_free) struct process_text text = {0};
	CLEANUP(live_runs_free) struct live_runs runs = {0};
	CLEANUP(strbuf_free) struct strbuf list = {0};
	CLEANUP_FREE struct live_rank *ranks = NULL;
	size_t count = 0, room = 0;

	if (number <= 0 || !process_is_gpumap(number) || !process_text_read(&text, number))
		return GPUMAP_OK;
	live_runs_find(&runs);
	for (size_t i = 0; i < runs.count; i++) {
		const struct live_run *run = &runs.runs[i];

		if (!launches(number, &text, run))
			continue;
		for (size_t k = 0; k < run->count; k++)
			if (run->ranks[k].state == LIVE_RUNNING && run->ranks[k].pid)
				*ARRAY_NEXT(ranks, count, room) = run->ranks[k];
	}
	if (!count)
		return GPUMAP_OK;
	qsort(ranks, count, sizeof(*ranks), compare_ranks);
	list_ranks(&list, ranks, count);
	return report_fail(report, GPUMAP_EINPUT, FINDING_RUN_ITSELF,
			   ABOUT(.origin = "--pid",
				 .fix = FORMAT("gpumap --pid %d explains the first", ranks->pid)),
			   "process %s is gpumap run, which uses no GPU; its rank%s: %s", pid,
			   count == 1 ? "" : "s", list.text);
}

/* --- a rank ------------------------------------------------------------------------- */

static bool names_device(const gpumap_request *request)
{
	static const enum key_id keys[] = {KEY_mode, KEY_device, KEY_device_ids, KEY_set_device,
					   KEY_local_rank};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (request->values[keys[i]])
			return true;
	return false;
}

/* The logical number of the GPU named `gpu`; -1: it is not visible, or the only one. */
static int64_t logical_of(const gpumap_mapping *mapping, const char *gpu)
{
	int64_t number = span_number(span_of(gpu), INT32_MAX);

	for (size_t i = 0; i < gpumap_mapping_visible_count(mapping); i++) {
		const gpumap_entry *entry = gpumap_mapping_visible(mapping, i);
		const char *uuid = gpumap_entry_str(entry, GPUMAP_ENTRY_UUID);

		if (number >= 0 ? gpumap_entry_int(entry, GPUMAP_ENTRY_PHYSICAL) == number
				: uuid && streq(uuid, gpu))
			return gpumap_entry_int(entry, GPUMAP_ENTRY_LOGICAL);
	}
	return -1;
}

/* The rank that the process is or descends from; 0: none. Orphans too become children of the guard,
 * but they did not begin as a session's leader. */
static int rank_above(int pid)
{
	for (int i = 0; i < MAX_BELOW && pid > 1; i++) {
		int parent = process_parent(pid);

		if (process_is_gpumap(parent))
			return getsid(pid) == pid ? pid : 0;
		pid = parent;
	}
	return 0;
}

/* Whether the process still has the GPU variables that the run gave its rank. */
static bool has_ranks_list(int pid, const struct process_text *text)
{
	static const char *const names[] = {RUN_ID, RUN_RANK, RUN_GPUS, "CUDA_VISIBLE_DEVICES",
					    "CUDA_DEVICE_ORDER"};
	CLEANUP(process_text_free) struct process_text above = {0};
	int rank = rank_above(pid);
	bool same = true;

	if (!rank || !process_text_read(&above, rank))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		same = same && same_variable(text, &above, names[i]);
	return same;
}

static int state_device(gpumap_request *request, const char *pid, const struct process_text *text,
			int64_t logical, gpumap_report *report)
{
	const char *rank = process_variable(text, RUN_RANK), *run = process_variable(text, RUN_ID);
	const char *gpu = process_variable(text, RUN_GPUS);

	report_add(report, FINDING_UNKNOWN_USE,
		   ABOUT(.rule = "R3", .origin = "--pid",
			 .fix = "if its program uses another device, give --device N"),
		   "process %s belongs to rank %s of gpumap run%s%s, which assigned GPU %s to it",
		   pid, rank ? QUOTE(span_of(rank)) : "?", run ? " " : "",
		   run ? QUOTE(span_of(run)) : "", QUOTE(span_of(gpu)));
	return gpumap_request_set(request, "device", FORMAT("%lld", (long long)logical), RUN_GPUS,
				  report);
}

int process_of_run(gpumap_request *request, const char *pid, const gpumap_inventory *machine,
		   gpumap_report *report)
{
	OWNED(mapping) *mapping = NULL;
	CLEANUP(process_text_free) struct process_text text = {0};
	const char *gpu;
	int64_t logical;
	int number = (int)span_number(span_of(pid), INT32_MAX), r = GPUMAP_OK;

	if (names_device(request) || !process_text_read(&text, number))
		return GPUMAP_OK;
	gpu = process_variable(&text, RUN_GPUS);
	if (gpu && *gpu && !strchr(gpu, ',') && has_ranks_list(number, &text))
		gpumap_resolve(&mapping, request, machine, NULL); /* errors are in the answer */
	logical = mapping ? logical_of(mapping, gpu) : -1;
	if (logical >= 0 && gpumap_mapping_visible_count(mapping) > 1)
		r = state_device(request, pid, &text, logical, report);
	return r;
}

/* --- no GPU ------------------------------------------------------------------------- */

/* Whether NVML lists all processes of all GPUs, and this one is not among them. */
static bool is_in_no_list(const gpumap_inventory *inventory, int64_t pid)
{
	size_t count = gpumap_inventory_count(inventory);

	for (size_t i = 0; i < count; i++) {
		const gpumap_device *d = gpumap_inventory_get(inventory, i);

		if (gpumap_device_int(d, GPUMAP_DEVICE_PROCESSES_COMPLETE) != 1)
			return false;
		for (int k = 0; k < gpumap_device_process_count(d); k++)
			if (gpumap_process_int(gpumap_device_process(d, (size_t)k),
					       GPUMAP_PROCESS_PID) == pid)
				return false;
	}
	return count > 0;
}

/* In a container NVML may number processes as the host does; their open files it does not hide. */
bool process_has_no_gpu(const char *pid)
{
	int64_t number = span_number(span_of(pid), INT32_MAX);
	bool minors[MAX_MINOR] = {false}, known;
	OWNED(inventory) *inventory = NULL;

	if (process_open_minors(minors, number, &known) || !known ||
	    gpumap_inventory_probe(&inventory, GPUMAP_PROBE_FLAG_USAGE, NULL, NULL) != GPUMAP_OK)
		return false;
	return is_in_no_list(inventory, number);
}
