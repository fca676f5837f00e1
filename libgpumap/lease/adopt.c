/* SPDX-License-Identifier: MIT */
/* A lease of the GPUs that a process uses already. It does not stand in the queue: who waits cannot
 * use these GPUs before the process ends. */
#include <errno.h>
#include <unistd.h>

#include "lease/claim.h"
#include "closing.h"
#include "lease/per_user.h"
#include "lease/units.h"
#include "memory.h"
#include "process_stat.h"
#include "report/report.h"

enum { MAX_TELL = 4096 };

struct adopting {
	int64_t pid, keeper;
	size_t slots; /* it takes a slot of so many on each GPU; 1: the whole GPU */
	gpumap_report *report;
	struct lease_folder folder;
	struct lease_settings settings; /* none inside a lease */
	gpumap_lease *lease;
};

/* Whether it is the process, or one below it. */
static bool belongs(int64_t pid, int64_t above)
{
	struct process_stat stat;

	for (int i = 0; i < MAX_ABOVE && pid > 0; i++) {
		if (pid == above)
			return true;
		if (!process_stat_read(&stat, (pid_t)pid))
			return false;
		pid = stat.parent;
	}
	return false;
}

static bool is_foreign(const struct adopting *a, const gpumap_process *process)
{
	return gpumap_process_int(process, GPUMAP_PROCESS_VISIBLE) != 1 ||
	       !belongs(gpumap_process_int(process, GPUMAP_PROCESS_PID), a->pid);
}

/* A process on an instance does not use the GPU, but the instance. */
static bool uses(const struct adopting *a, const gpumap_device *unit)
{
	for (int i = 0; i < gpumap_device_process_count(unit); i++) {
		const gpumap_process *process = gpumap_device_process(unit, (size_t)i);

		if (!is_foreign(a, process) && (is_instance(unit) || process->mig < 0))
			return true;
	}
	return false;
}

static int uses_none(const struct adopting *a, bool complete)
{
	if (!complete)
		return report_fail(a->report, GPUMAP_EINPUT, FINDING_LEASE_NOT_VISIBLE,
				   ABOUT(.origin = "--adopt",
					 .fix = "run gpumap outside the container, or as root"),
				   "it is not visible which GPUs process %lld uses",
				   (long long)a->pid);
	return report_fail(a->report, GPUMAP_EINPUT, FINDING_ADOPT_NOTHING,
			   ABOUT(.origin = "--adopt",
				 .fix = "gpumap ps lists the processes on GPUs; name one, or one "
					"above it"),
			   "process %lld and those below it use no GPU", (long long)a->pid);
}

static int uses_other(const struct adopting *a, const gpumap_device *unit, const char *what,
		      const char *fix)
{
	return report_fail(a->report, GPUMAP_EINPUT, FINDING_ADOPT_NOTHING,
			   ABOUT(.origin = "--adopt", .fix = fix), "process %lld uses %s, %s",
			   (long long)a->pid, UNIT_TEXT(unit), what);
}

/* Why the unit cannot be leased. */
static int check_unit(const struct adopting *a, const gpumap_device *unit)
{
	if (!is_instance(unit) && unit->mig_enabled == 1)
		return uses_other(a, unit, "and it is not visible which MIG instance of it",
				  "run gpumap as root");
	if (is_instance(unit) && a->slots > 1)
		return uses_other(a, unit, "which has no slots", "leave out --slots");
	if (!lease_is_inside(&a->folder, unit))
		return uses_other(a, unit, "which is not in the lease that this job runs in",
				  "unset GPUMAP_LEASE to lease GPUs outside of it");
	return GPUMAP_OK;
}

/* Puts the GPUs that it uses into the lease. */
static int find_gpus(struct adopting *a)
{
	const gpumap_inventory *inventory = a->lease->inventory;
	bool complete = inventory->usage;
	int r;

	a->lease->gpus = xcalloc(inventory->count + 1, sizeof(*a->lease->gpus));
	a->lease->locks = xcalloc(inventory->count + 1, sizeof(*a->lease->locks));
	if (!a->lease->gpus || !a->lease->locks)
		return report_nomem(a->report);
	for (size_t g = 0; g < inventory->count; g++) {
		const gpumap_device *gpu = &inventory->gpus[g];

		/* Of a GPU with instances these have the lists. */
		complete =
			complete && (gpumap_device_mig_count(gpu) ||
				     gpumap_device_int(gpu, GPUMAP_DEVICE_PROCESSES_COMPLETE) == 1);
		if (!uses(a, gpu))
			continue;
		r = check_unit(a, gpu);
		if (r != GPUMAP_OK)
			return r;
		a->lease->locks[a->lease->count] = NO_LOCKS;
		a->lease->gpus[a->lease->count++] = g;
	}
	return a->lease->count ? GPUMAP_OK : uses_none(a, complete);
}

/* --- locks ------------------------------------------------------------------------------- */

/* "GPU 1 has 2 of 2 slots leased (one by process 4700)" */
static int is_leased(const struct adopting *a, const gpumap_device *gpu,
		     const struct lease_sight *sight)
{
	const char *what = sight->lease == LEASE_SHARED ? FORMAT("has %zu of %zu slots leased",
								 sight->load.used, sight->load.most)
							: "is leased already";
	const char *by = sight->owner > 0 ? FORMAT(" (%sby process %lld)",
						   sight->load.used > 1 ? "one " : "",
						   (long long)sight->owner)
					  : "";

	return report_fail(
		a->report, GPUMAP_EBUSY, FINDING_LEASE_BUSY,
		ABOUT(.origin = "--adopt", .fix = "gpumap leases shows whose lease it is"),
		"%s %s%s", UNIT_TEXT(gpu), what, by);
}

static int not_locked(const struct adopting *a, const gpumap_device *gpu,
		      const struct lease_sight *sight)
{
	if (errno == EWOULDBLOCK)
		return is_leased(a, gpu, sight);
	return report_fail(
		a->report, GPUMAP_EFILE, FINDING_FILE_ACCESS, ABOUT(.origin = a->folder.path),
		"%s cannot be locked: %s", UNIT_TEXT(gpu),
		sight->lease == LEASE_UNKNOWN ? LEASE_HIDDEN_BY(gpu, sight->why) : strerror(errno));
}

/* All or none. */
static int lock_all(struct adopting *a, const struct lease_sight *sights)
{
	gpumap_lease *lease = a->lease;
	size_t wanted = lease->count;

	for (lease->count = 0; lease->count < wanted; lease->count++) {
		size_t g = lease->gpus[lease->count];
		const gpumap_device *gpu = &lease->inventory->gpus[g];

		if (sights[g].lease == LEASE_SHARED && !load_room(&sights[g].load, a->slots))
			return is_leased(a, gpu, &sights[g]);
		if (!lease_lock(&lease->locks[lease->count], &a->folder, gpu, a->slots))
			return not_locked(a, gpu, &sights[g]);
	}
	return lease_complete(lease, &a->folder, a->report);
}

/* The limit of GPUs for one user. */
static int exceeds(const struct adopting *a, const struct user_share *share)
{
	CLEANUP(strbuf_free) struct strbuf text = {0};

	strbuf_printf(&text, "process %lld uses %zu GPU%s, and ", (long long)a->pid,
		      a->lease->count, a->lease->count == 1 ? "" : "s");
	per_user_tell(&text, share, &a->settings);
	report_text(a->report, FINDING_LEASE_USER_LIMIT,
		    ABOUT(.origin = "--adopt",
			  .fix = "end one of your leases, which gpumap leases lists"),
		    &text);
	return text.failed ? GPUMAP_ENOMEM : GPUMAP_EBUSY;
}

static int look_and_lock(struct adopting *a)
{
	const gpumap_inventory *units = a->lease->inventory;
	CLEANUP_FREE struct lease_sight *sights = xcalloc(units->count + 1, sizeof(*sights));
	struct user_share share = {0};
	int r = sights ? lease_look(sights, &a->folder, units) : GPUMAP_ENOMEM;

	if (r == GPUMAP_OK)
		r = per_user_look(&share, NULL, a->lease->count, &a->settings, &a->folder, units,
				  sights);
	if (r == GPUMAP_OK)
		r = share.full ? exceeds(a, &share) : lock_all(a, sights);
	else if (r == GPUMAP_EFILE)
		r = report_fail(a->report, r, FINDING_FILE_ACCESS, ABOUT(.origin = a->folder.path),
				"the slots cannot be seen: %s", strerror(errno));
	else
		r = report_nomem(a->report);
	return r;
}

static int lock_in_gate(struct adopting *a)
{
	CLEANUP_CLOSE int gate = -1;
	int r = lease_gate(&gate, &a->folder, a->report);

	if (r == GPUMAP_OK)
		r = lease_check_inside(&a->folder, a->keeper, a->report);
	return r == GPUMAP_OK ? look_and_lock(a) : r;
}

/* --- what else uses them ------------------------------------------------------------------- */

static int warn_shared(const struct adopting *a)
{
	for (size_t i = 0; i < a->lease->count; i++) {
		const gpumap_device *gpu = gpumap_lease_device(a->lease, i);
		CLEANUP(strbuf_free) struct strbuf list = {0};

		for (int k = 0; k < gpumap_device_process_count(gpu) && list.length < MAX_TELL;
		     k++) {
			const gpumap_process *p = gpumap_device_process(gpu, (size_t)k);

			if (is_foreign(a, p))
				strbuf_printf(&list, "%s%lld", list.length ? ", " : "",
					      (long long)gpumap_process_int(p, GPUMAP_PROCESS_PID));
		}
		if (list.failed)
			return report_nomem(a->report);
		if (list.length)
			report_add(a->report, FINDING_ADOPT_SHARED, ABOUT(.origin = "--adopt"),
				   "%s is also used by process%s %s", UNIT_TEXT(gpu),
				   strchr(list.text, ',') ? "es" : "", list.text);
	}
	return GPUMAP_OK;
}

static int adopt(struct adopting *a)
{
	int r = lease_probe(a->lease, a->report);

	if (r == GPUMAP_OK)
		r = find_gpus(a);
	if (r == GPUMAP_OK)
		r = per_user_check(
			&a->settings, a->lease->count,
			FORMAT("process %lld uses %zu GPUs", (long long)a->pid, a->lease->count),
			ABOUT(.origin = "--adopt", .fix = "start it with fewer GPUs"), a->report);
	if (r == GPUMAP_OK)
		r = lock_in_gate(a);
	return r == GPUMAP_OK && a->slots == 1 ? warn_shared(a) : r;
}

EXPORT int gpumap_lease_adopt(gpumap_lease **ret, const gpumap_claim *claim, int64_t pid,
			      gpumap_report *report)
{
	struct adopting a = {
		.pid = pid, .keeper = claim->keeper, .slots = claim->terms.slots, .report = report};
	int r = lease_folder_open(&a.folder, claim->folder, claim->sysfs, true, report);

	if (r != GPUMAP_OK)
		return r;
	a.lease = xcalloc(1, sizeof(*a.lease));
	r = a.lease ? lease_nested(&a.folder, a.keeper, report) : report_nomem(report);
	if (r == GPUMAP_OK && !a.folder.inside)
		r = lease_settings_read(&a.settings, claim, report);
	if (r == GPUMAP_OK)
		r = adopt(&a);
	lease_settings_free(&a.settings);
	lease_folder_close(&a.folder);
	return give_lease(ret, a.lease, r);
}
