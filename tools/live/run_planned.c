/* SPDX-License-Identifier: MIT */
/* See run_planned.h. */
#include "live/run_planned.h"

#include <unistd.h>

#include "lease/units.h"
#include "live/process.h"
#include "memory.h"
#include "process_stat.h"
#include "report/report.h"
#include "strbuf.h"

/* Whether the run goes by the leases of this process; else its GPUs are of a pretended machine. */
static bool is_of_machine(const struct live_run *run)
{
	const char *own = getenv("GPUMAP_LEASES"), *folder;
	CLEANUP(process_text_free) struct process_text text = {0};

	if (run->inside || !process_text_read(&text, run->launcher))
		return false;
	folder = process_variable(&text, "GPUMAP_LEASES");
	return text_same(own, folder);
}

static bool has_unit(const struct live_run *run, const gpumap_device *unit)
{
	for (size_t i = 0; i < run->count; i++) {
		const struct live_rank *rank = &run->ranks[i];

		if (rank->state != LIVE_ENDED && rank->gpus && unit_is_listed(unit, rank->gpus))
			return true;
	}
	return false;
}

const struct live_run *run_planned(const struct live_runs *runs, const gpumap_device *unit,
				   int below)
{
	for (size_t i = 0; i < runs->count; i++) {
		const struct live_run *run = &runs->runs[i];

		if (has_unit(run, unit) && is_of_machine(run) &&
		    !process_is_below(below, run->launcher))
			return run;
	}
	return NULL;
}

/* --- a lease -------------------------------------------------------------------------------- */

/* Jobs with slots share their GPUs on purpose. */
static bool is_warned_of(const gpumap_lease *lease, size_t i)
{
	return gpumap_device_process_count(gpumap_lease_device(lease, i)) == 0 &&
	       !lease_has_slot(lease, i);
}

/* "3,4": the GPUs that no run has; "": fewer than the lease. */
static void put_others(struct strbuf *list, const gpumap_lease *lease,
		       const struct live_run *const *planned)
{
	size_t count = 0;

	for (size_t g = 0; g < lease_units(lease)->count; g++) {
		const gpumap_device *unit = &lease_units(lease)->gpus[g];

		if (is_instance(unit) || !unit_can_be_leased(unit) || planned[g] ||
		    gpumap_device_process_count(unit))
			continue;
		strbuf_printf(list, "%s%d", count++ ? "," : "", unit->physical);
	}
	if (count < gpumap_lease_count(lease))
		strbuf_free(list);
}

/* The units of the lease that this run has, in one finding. */
static void warn(const gpumap_lease *lease, const struct live_run *const *planned,
		 const struct live_run *run, gpumap_report *report)
{
	const gpumap_device *units = lease_units(lease)->gpus;
	CLEANUP(strbuf_free) struct strbuf text = {0}, others = {0}, fix = {0};
	size_t count = 0, all = 0;

	for (size_t i = 0; i < gpumap_lease_count(lease); i++)
		if (planned[lease_unit(lease, i)] == run && is_warned_of(lease, i))
			strbuf_printf(&text, "%s%s", count++ ? ", " : "",
				      UNIT_TEXT(&units[lease_unit(lease, i)]));
	for (size_t g = 0; g < lease_units(lease)->count; g++)
		all += planned[g] == run;
	put_others(&others, lease, planned);
	if (others.length)
		strbuf_printf(&fix, "choose from others, --from %s, or ", others.text);
	strbuf_printf(&fix, "start the run with gpumap run --gpus free:%zu, which leases its GPUs",
		      all);
	if (count)
		report_add(
			report, FINDING_PICK_PLANNED, ABOUT(.fix = fix.text),
			"%s %s planned for run %.64s (process %d), which has no process on %s yet",
			text.text, count == 1 ? "is" : "are", run->run, run->launcher,
			count == 1 ? "it" : "them");
}

void run_warn_planned(const gpumap_lease *lease, gpumap_report *report)
{
	size_t count = lease_units(lease)->count;
	CLEANUP_FREE const struct live_run **planned = xcalloc(count + 1, sizeof(*planned));
	struct live_runs runs;

	live_runs_find(&runs);
	for (size_t g = 0; runs.count && g < count; g++)
		planned[g] = run_planned(&runs, &lease_units(lease)->gpus[g], (int)getpid());
	for (size_t i = 0; i < runs.count; i++)
		warn(lease, planned, &runs.runs[i], report);
	live_runs_free(&runs);
}
