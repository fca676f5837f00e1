/* SPDX-License-Identifier: MIT */
/* gpumap leases --revoke */
#include "live/leases.h"

#include <stdio.h>

#include "inventory/inventory.h"
#include "lease/revoke.h"
#include "memory.h"
#include "pick/lease_here.h"
#include "report/report.h"

#define ORIGIN "--revoke"

static int refuse(gpumap_report *report, const char *what, const char *why, const char *fix)
{
	return report_fail(report, GPUMAP_EINPUT, FINDING_LEASE_NOT_REVOKED,
			   ABOUT(.origin = ORIGIN, .fix = fix), "'%s' %s", QUOTE(span_of(what)),
			   why);
}

/* By its number, "0:1" for an instance, or its UUID. */
static bool is_named(const gpumap_device *unit, const char *what)
{
	char number[32];

	snprintf(number, sizeof(number), "%d:%d", unit->physical, unit->mig_position);
	return (unit->uuid && streq(unit->uuid, what)) ||
	       (unit->mig_position >= 0 ? streq(number, what)
					: unit->physical == span_number(span_of(what), INT32_MAX));
}

/* The position of a GPU or MIG instance; SIZE_MAX: there is none. */
static size_t gpu_of(const gpumap_inventory *units, const char *what)
{
	for (size_t g = 0; g < units->count; g++)
		if (is_named(&units->gpus[g], what))
			return g;
	return SIZE_MAX;
}

static const struct lease_row *row_of_pid(const struct leases *leases, int64_t pid)
{
	for (size_t i = 0; pid > 0 && i < leases->count; i++)
		if (leases->rows[i].pid == pid)
			return &leases->rows[i];
	return NULL;
}

/* *count is how many leases the GPU has. */
static const struct lease_row *row_of_gpu(const struct leases *leases, size_t gpu, size_t *count)
{
	const struct lease_row *row = NULL;

	*count = 0;
	for (size_t i = 0; i < leases->count; i++)
		for (size_t k = 0; k < leases->rows[i].count; k++)
			if (leases->rows[i].gpus[k] == gpu) {
				row = row ? row : &leases->rows[i];
				++*count;
			}
	return row;
}

static int find(const struct lease_row **ret, const struct leases *leases, const char *what,
		gpumap_report *report)
{
	bool named = starts_with(what, "pid:");
	int64_t pid = span_number(span_of(named ? what + 4 : what), INT32_MAX);
	size_t gpu = named ? SIZE_MAX : gpu_of(leases->inventory, what);
	const struct lease_row *by_pid = row_of_pid(leases, pid), *by_gpu;
	size_t count;

	if (gpu == SIZE_MAX && !by_pid)
		return refuse(
			report, what,
			named     ? "is not a process that has taken a lease"
			: pid < 0 ? "is neither a GPU nor a process of this machine"
				  : "is neither a GPU of this machine nor a process that has "
				    "taken a lease",
			"write a GPU, a UUID, or pid:PID with a PID that gpumap leases shows");
	/* In a container processes have low numbers, too. */
	if (gpu != SIZE_MAX && by_pid)
		return refuse(report, what, "is a GPU, and a process that has a lease",
			      "write the UUID of the GPU, or pid: before the process");
	by_gpu = row_of_gpu(leases, gpu, &count);
	if (count > 1)
		return refuse(report, what, "is a GPU with several leases",
			      "name the process of one, as in pid:4711");
	*ret = gpu != SIZE_MAX ? by_gpu : by_pid;
	if (*ret)
		return GPUMAP_OK;
	return refuse(report, what,
		      leases->known ? "is a GPU that is not leased"
				    : "is a GPU whose lease is not visible",
		      "gpumap leases shows which are leased");
}

/* The first failure of a GPU of the row. */
static enum revoke_failure worst(const struct lease_row *row, const enum revoke_failure *failures)
{
	for (size_t i = 0; i < row->count; i++)
		if (failures[row->gpus[i]] != REVOKE_DONE)
			return failures[row->gpus[i]];
	return REVOKE_DONE;
}

static int report_failure(enum revoke_failure failure, const char *what, gpumap_report *report)
{
	static const struct {
		const char *why, *fix;
	} texts[] = {
		[REVOKE_NOT_LEASED] = {"is not leased any more", NULL},
		[REVOKE_NO_CALL] = {"cannot be revoked: this kernel has no pidfd_getfd",
				    "use Linux 5.6 or later, or end the process that gpumap "
				    "leases shows"},
		[REVOKE_REFUSED] = {"cannot be revoked: its processes are another user's, or "
				    "protected",
				    "ask root to revoke it"},
		[REVOKE_UNOPENED] =
			{"cannot be revoked: no process has it open, so its descriptors "
			 "are on their way through a socket",
			 "end the programs that its job started"},
		[REVOKE_NOT_VISIBLE] = {"cannot be revoked: the processes that hold it are not "
					"visible here",
					"ask root to revoke it, outside of containers"},
	};

	return refuse(report, what, texts[failure].why, texts[failure].fix);
}

/* GPUs and MIG instances of one lease have a row each. */
static bool is_of_lease(const struct lease_row *row, const struct lease_row *named)
{
	return row == named || (row->pid > 0 && row->pid == named->pid);
}

/* Ends the lease of a row, and marks what became of its GPUs. */
static int revoke(enum revoke_failure *ret, const struct leases *leases,
		  const struct lease_row *named, gpumap_report *report)
{
	CLEANUP_FREE bool *gpus = xcalloc(leases->inventory->count, sizeof(*gpus));
	OWNED(claim) *claim = NULL;
	int r = gpumap_claim_new(&claim);

	for (size_t i = 0; i < leases->count; i++)
		for (size_t k = 0; k < leases->rows[i].count; k++)
			if (is_of_lease(&leases->rows[i], named))
				gpus[leases->rows[i].gpus[k]] = true;
	if (r == GPUMAP_OK)
		r = lease_folders_here(claim, report);
	if (r == GPUMAP_OK)
		r = lease_revoke(ret, claim, leases->inventory, gpus, named->pid, report);
	return r;
}

static void put_row(struct strbuf *buf, const struct leases *leases, const struct lease_row *row)
{
	strbuf_printf(buf, "revoked: %s%s%s ", row->slots > 1 ? "a slot of " : "",
		      row->instances ? "MIG instance" : "GPU", row->count == 1 ? "" : "s");
	lease_gpus_text(buf, leases, row);
	if (row->pid > 0)
		strbuf_printf(
			buf, ", leased by process %lld, %s", (long long)row->pid,
			lease_owner_is_there(row)
				? "which keeps running"
				: "which has ended; processes that it started are still running");
	strbuf_puts(buf, "\n");
}

/* Puts the rows that were revoked. Returns the first failure of another one. */
static enum revoke_failure put_rows(struct strbuf *buf, const struct leases *leases,
				    const struct lease_row *named,
				    const enum revoke_failure *failures)
{
	enum revoke_failure first = REVOKE_DONE;

	for (size_t i = 0; i < leases->count; i++) {
		const struct lease_row *row = &leases->rows[i];

		if (!is_of_lease(row, named))
			continue;
		if (worst(row, failures) == REVOKE_DONE)
			put_row(buf, leases, row);
		else if (first == REVOKE_DONE)
			first = worst(row, failures);
	}
	return first;
}

int leases_revoke(struct strbuf *buf, const struct leases *leases, const char *what,
		  gpumap_report *report)
{
	CLEANUP_FREE enum revoke_failure *failures =
		xcalloc(leases->inventory->count, sizeof(*failures));
	enum revoke_failure first = REVOKE_DONE;
	const struct lease_row *named = NULL;
	int r = find(&named, leases, what, report);

	if (r == GPUMAP_OK)
		r = revoke(failures, leases, named, report);
	if (r == GPUMAP_OK)
		first = put_rows(buf, leases, named, failures);
	return first == REVOKE_DONE ? r : report_failure(first, what, report);
}
