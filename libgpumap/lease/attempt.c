/* SPDX-License-Identifier: MIT */
/* One attempt to take a lease: steps 2 to 5 of the README, without the waiting. */
#include "lease/attempt.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "lease/units.h"
#include "lease/wishes.h"
#include "memory.h"
#include "report/report.h"

/* How many jobs before this one wait for a GPU that this one can use. */
static size_t count_before(const struct wishes *wishes, size_t gpus)
{
	const bool *own = wishes->list[wishes->count].usable;
	size_t n = 0;

	for (size_t i = 0; i < wishes->count; i++)
		for (size_t g = 0; g < gpus; g++)
			if (own[g] && wishes->list[i].usable[g]) {
				n++;
				break;
			}
	return n;
}

static size_t count_true(const bool *list, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += list[i];
	return n;
}

/* The machine has no unit of the kind. Why it has no GPU is reported by the probe. */
static int none_there(const struct taking *t)
{
	const gpumap_claim *claim = t->claim;

	return report_fail(
		t->report, GPUMAP_EINPUT, FINDING_LEASE_TOO_MANY,
		ABOUT(.fix = claim->instances ? "leave out --mig" : "gpumap doctor shows why"),
		"%zu %s %s asked for, but this machine has no %s", claim->count,
		claim_kind(claim, claim->count), claim->count == 1 ? "is" : "are",
		claim_kind(claim, 1));
}

static int too_many(const struct taking *t, const bool *usable)
{
	const gpumap_inventory *units = t->lease->inventory;
	const gpumap_claim *claim = t->claim;
	size_t there = count_true(usable, units->count), all = 0;
	CLEANUP_FREE char *lists = NULL;
	const char *fix;

	if (claim->count <= there)
		return GPUMAP_OK;
	for (size_t g = 0; g < units->count; g++)
		all += claim_is_of_kind(claim, &units->gpus[g]);
	if (!all)
		return none_there(t);
	lists = claim_lists(claim, units);
	if (!lists)
		return report_nomem(t->report);
	if (!*lists || t->folder.inside)
		fix = claim_fix(claim, units, t->folder.inside, there);
	else if (claim->from && claim->visible)
		fix = there ? "ask for fewer, or change one of the lists"
			    : "change one of the lists";
	else
		fix = there ? "ask for fewer, or name more GPUs there" : "name GPUs there";
	return report_fail(t->report, GPUMAP_EINPUT, FINDING_LEASE_TOO_MANY, ABOUT(.fix = fix),
			   "%zu %s%s%s %s asked for, but this job can only use %zu of the %zu of "
			   "this machine%s%s",
			   claim->count, claim_kind(claim, claim->count), claim->profile ? " " : "",
			   claim->profile ? claim->profile : "", claim->count == 1 ? "is" : "are",
			   there, all, *lists ? ": those" : "", lists);
}

/* GPUs that are too small for the memory that has to be free stay so. */
static int too_small(const struct taking *t, const bool *usable)
{
	const gpumap_inventory *units = t->lease->inventory;
	const gpumap_claim *claim = t->claim;
	const gpumap_device *largest = NULL;
	size_t large = 0;

	for (size_t g = 0; g < units->count; g++) {
		const gpumap_device *unit = &units->gpus[g];

		if (!usable[g])
			continue;
		large += lease_is_large(&claim->terms, unit);
		if (!largest || gpumap_device_int(unit, GPUMAP_DEVICE_MEMORY) >
					gpumap_device_int(largest, GPUMAP_DEVICE_MEMORY))
			largest = unit;
	}
	if (large >= claim->count || !largest)
		return GPUMAP_OK;
	if (large)
		return report_fail(t->report, GPUMAP_EINPUT, FINDING_LEASE_TOO_MANY,
				   ABOUT(.fix = "ask for fewer, or for less memory"),
				   "%zu %s are asked for, but only %zu here %s %lld MiB",
				   claim->count, claim_kind(claim, claim->count), large,
				   large == 1 ? "has" : "have",
				   (long long)(claim->terms.min_free >> 20));
	return report_fail(t->report, GPUMAP_EINPUT, FINDING_LEASE_TOO_MANY,
			   ABOUT(.fix = "ask for less memory"),
			   "no %s here has %lld MiB for programs; the largest, %s, has %lld MiB",
			   claim_kind(claim, 1), (long long)(claim->terms.min_free >> 20),
			   UNIT_TEXT(largest), (long long)(lease_memory_most(largest) >> 20));
}

/* Locks the chosen GPUs. */
static int lock_all(struct taking *t, bool *got)
{
	gpumap_lease *lease = t->lease;
	int why;

	for (size_t i = 0; i < t->claim->count; i++) {
		if (!lease_lock(&lease->locks[i], &t->folder,
				&lease->inventory->gpus[lease->gpus[i]], t->claim->terms.slots)) {
			why = errno;
			tell_not_locked(t, &lease->inventory->gpus[lease->gpus[i]], why);
			while (i)
				lease_unlock(&lease->locks[--i]);
			*got = false;
			errno = why;
			return lease_lacks(why) ? taking_failed(t, "the GPUs cannot be locked")
						: GPUMAP_OK;
		}
	}
	lease->count = t->claim->count;
	return GPUMAP_OK;
}

/* The same unit in a list; NULL: it is not there any more, has another number, or cannot be leased.
 */
static const gpumap_device *find_again(const gpumap_inventory *units, const gpumap_device *unit,
				       const gpumap_claim *claim)
{
	size_t g = lease_named(units, span_of(LEASE_NAME(unit)));
	const gpumap_device *now;

	if (g == units->count)
		return NULL;
	now = &units->gpus[g];
	return now->mig_position == unit->mig_position && now->physical == unit->physical &&
			       claim_can_lease(claim, now)
		       ? now
		       : NULL;
}

/* Asks NVML once more, in the gate, whether the chosen units are free. */
static int ask_again(struct taking *t, const struct lease_sight *sights, bool *still)
{
	const gpumap_lease *lease = t->lease;
	gpumap_inventory *machine = NULL, *units = NULL;
	CLEANUP_FREE bool *only = NULL;
	int r;

	*still = true;
	if (!lease->machine->usage) /* NVML does not answer here */
		return GPUMAP_OK;
	only = xcalloc(GPUMAP_MAX_DEVICES, sizeof(*only));
	if (!only)
		return GPUMAP_ENOMEM;
	for (size_t i = 0; i < t->claim->count; i++)
		only[lease->inventory->gpus[lease->gpus[i]].gpu->index] = true;
	r = nvml_read_again(&machine, &t->nvml, only);
	if (r == GPUMAP_OK && !(units = units_of(machine)))
		r = GPUMAP_ENOMEM;
	*still = r == GPUMAP_OK;
	for (size_t i = 0; *still && i < t->claim->count; i++) {
		const gpumap_device *unit = &lease->inventory->gpus[lease->gpus[i]];
		const gpumap_device *now = find_again(units, unit, t->claim);
		bool shared = sights[lease->gpus[i]].lease == LEASE_SHARED;
		enum lease_state state =
			now ? lease_state_of(&t->claim->terms, now, shared) : LEASE_UNKNOWN;

		*still = state == LEASE_FREE;
		if (now && !*still)
			tell_unit(t, now, state, &sights[lease->gpus[i]]);
		else if (!*still)
			tell_changed(t);
	}
	if (r != GPUMAP_OK && r != GPUMAP_ENOMEM)
		tell_changed(t);
	units_free(units);
	gpumap_inventory_free(machine);
	return r == GPUMAP_ENOMEM ? r : GPUMAP_OK;
}

/* Notes which jobs are passed. False: that cannot be written. */
static bool note_passed(const struct taking *t, const struct wishes *wishes)
{
	for (size_t i = 0; i < wishes->count; i++)
		if (wishes->chosen.passed[i] && !lease_pass(&t->folder, wishes->tickets[i].number))
			return false;
	return true;
}

static void report_unknown_load(const struct taking *t)
{
	for (size_t i = 0; t->claim->terms.max_load >= 0 && i < t->lease->count; i++) {
		const gpumap_device *unit = gpumap_lease_device(t->lease, i);

		if (gpumap_device_int(unit, GPUMAP_DEVICE_UTILIZATION) < 0)
			report_add(t->report, FINDING_LEASE_LOAD_UNKNOWN, NULL,
				   "NVML does not report the load of %s, which counts as free: "
				   "it has no process and little memory in use",
				   UNIT_TEXT(unit));
	}
}

/* Takes the chosen GPUs. */
static int take_chosen(struct taking *t, const struct wishes *wishes, bool *got)
{
	int r = ask_again(t, wishes->sights, got);

	if (r == GPUMAP_OK && *got)
		r = lease_check_inside(&t->folder, t->claim->keeper, t->report);
	if (r != GPUMAP_OK)
		return r;
	if (*got)
		r = lock_all(t, got);
	if (*got && !note_passed(t, wishes)) {
		*got = false;
		strbuf_printf(&t->told, "the queue cannot be written (%s)", strerror(errno));
		for (size_t i = 0; i < t->lease->count; i++)
			lease_unlock(&t->lease->locks[i]);
		t->lease->count = 0;
	}
	if (!*got)
		return r;
	report_unknown_load(t);
	r = lease_complete(t->lease, &t->folder, t->report);
	return r == GPUMAP_OK ? claim_report_hidden(t->claim, t->lease, t->report) : r;
}

/* A lease without locks. */
static int show_chosen(struct taking *t)
{
	for (size_t i = 0; i < t->claim->count; i++)
		t->lease->locks[i] = NO_LOCKS;
	t->lease->count = t->claim->count;
	return lease_list(t->lease);
}

/* *got: the lease is taken. Otherwise the job has to wait. */
static int choose(struct taking *t, struct wishes *wishes, bool *got)
{
	int r = tell_busy(t, wishes);
	bool nomem;

	t->lease->gpus = xcalloc(t->claim->count + 1, sizeof(*t->lease->gpus));
	t->lease->locks = xcalloc(t->claim->count + 1, sizeof(*t->lease->locks));
	if (r == GPUMAP_OK && (!t->lease->gpus || !t->lease->locks))
		r = GPUMAP_ENOMEM;
	if (r == GPUMAP_OK) {
		wishes->chosen.gpus = t->lease->gpus;
		do
			*got = lease_choose(&wishes->chosen, wishes->list, wishes->count + 1,
					    wishes->loads, t->lease->inventory, &nomem);
		while (!*got && !nomem && wishes_ask_for_fewer(wishes, t->claim));
		r = nomem ? GPUMAP_ENOMEM : GPUMAP_OK;
	}
	if (r == GPUMAP_OK && !*got && t->preview)
		lease_choose_any(t->lease->gpus, &wishes->list[wishes->count],
				 t->lease->inventory->count);
	if (r == GPUMAP_OK && (*got || t->preview))
		lease_sort_chosen(t->lease->gpus, t->claim->count);
	if (r == GPUMAP_OK && t->preview)
		r = show_chosen(t);
	else if (r == GPUMAP_OK && *got)
		r = take_chosen(t, wishes, got);
	return r == GPUMAP_ENOMEM ? report_nomem(t->report) : r;
}

/* Looks what the limit of GPUs for one user leaves to this job and to those before it. */
static int look_at_limit(struct taking *t, struct wishes *wishes)
{
	int r = per_user_look(&t->share, wishes, wishes->list[wishes->count].count, &t->settings,
			      &t->folder, t->lease->inventory, wishes->sights);

	if (r == GPUMAP_EFILE)
		return taking_failed(t, "the leases of users cannot be counted");
	return r == GPUMAP_OK ? r : report_nomem(t->report);
}

/* One attempt in the gate. *got: the lease is taken; otherwise the job is in the queue. */
static int attempt(struct taking *t, bool *got)
{
	struct wishes wishes = {0};
	struct lease_wish *own;
	int r;

	*got = false;
	t->claim->count = t->claim->all ? 1 : t->claim->count;
	r = wishes_read(&wishes, &t->folder, t->ticket >= 0 ? t->number : UINT64_MAX, t->claim,
			t->lease->inventory, t->report);
	own = r == GPUMAP_OK ? &wishes.list[wishes.count] : NULL;
	if (r == GPUMAP_OK)
		r = too_many(t, own->usable);
	if (r == GPUMAP_OK)
		r = too_small(t, own->usable);
	if (r == GPUMAP_OK)
		r = look_at_limit(t, &wishes);
	if (r == GPUMAP_OK && t->claim->all)
		wishes_ask_for_all(&wishes, t->claim, t->lease->inventory->count,
				   per_user_left(&t->share, &t->settings));
	if (r == GPUMAP_OK)
		t->before = count_before(&wishes, t->lease->inventory->count);
	if (r == GPUMAP_OK && (t->preview || !t->share.full))
		r = choose(t, &wishes, got);
	if (r == GPUMAP_OK && t->share.full) {
		*got = false;
		tell_nothing(t);
		per_user_tell(&t->told, &t->share, &t->settings);
	} else if (r == GPUMAP_OK && !*got) {
		tell_queue(t, &wishes);
	}
	if (r == GPUMAP_OK && !*got) {
		if (t->claim->wait_ms && !t->preview)
			r = own_ticket(t, &wishes);
	}
	wishes_free(&wishes);
	return r;
}

int taking_try(struct taking *t, bool *got)
{
	int r;

	t->lease = xcalloc(1, sizeof(*t->lease));
	if (!t->lease)
		return report_nomem(t->report);
	/* NVML can take a second to begin, so that is not done in the gate. */
	nvml_hold(&t->nvml);
	r = lease_probe(t->lease, t->report);
	if (r == GPUMAP_OK && t->folder.fd >= 0)
		r = lease_gate(&t->gate, &t->folder, t->report);
	if (r == GPUMAP_OK)
		r = attempt(t, got);
	if (r == GPUMAP_OK && *got && t->ticket >= 0) {
		lease_queue_leave(&t->folder, t->ticket, t->number);
		t->ticket = -1;
	}
	if (t->gate >= 0)
		close(t->gate);
	t->gate = -1;
	nvml_release(&t->nvml);
	return r;
}
