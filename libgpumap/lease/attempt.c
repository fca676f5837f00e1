/* SPDX-License-Identifier: MIT */
/* One attempt to take a lease: steps 2 to 5 of the README, without the waiting. */
#include "lease/attempt.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "lease/nested.h"
#include "lease/units.h"
#include "lease/wishes.h"
#include "memory.h"
#include "report/report.h"
#include "write_all.h"

enum { GATE_MS = 10000, MAX_TELL = 4096, MAX_WAITING = 64 /* jobs of one user */ };

static int file_failure(const struct taking *t, const char *what)
{
	return report_fail(t->report, GPUMAP_EFILE, FINDING_FILE_ACCESS,
			   ABOUT(.origin = t->folder.path, .fix = write_remedy(errno)), "%s: %s",
			   what, strerror(errno));
}

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
	char name[UNIT_TEXT];

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
			   unit_text(name, largest), (long long)(lease_memory_most(largest) >> 20));
}

void taking_forget_told(struct taking *t)
{
	t->promised = false;
	t->told.length = 0;
	if (t->told.text)
		*t->told.text = '\0';
}

/* `sight` is NULL, or how the unit was seen. */
static void tell(struct taking *t, const gpumap_device *unit, enum lease_state state,
		 const struct lease_sight *sight)
{
	char name[UNIT_TEXT];
	static const char *const words[] = {[LEASE_HELD] = "leased",
					    [LEASE_IN_USE] = "in use",
					    [LEASE_FULL] = "too full",
					    [LEASE_LOADED] = "busy",
					    [LEASE_LOAD_HIDDEN] =
						    "in use, and its load not visible",
					    [LEASE_UNKNOWN] = "not visible"};

	if (t->told.length > MAX_TELL)
		return;
	strbuf_printf(&t->told, "%s%s is %s", t->told.length ? ", " : "", unit_text(name, unit),
		      state == LEASE_FULL && !lease_is_large(&t->claim->terms, unit)
			      ? "too small"
			      : words[state]);
	if (state == LEASE_HELD && sight && sight->owner > 0)
		strbuf_printf(&t->told, " (by process %lld)", (long long)sight->owner);
	if (state == LEASE_IN_USE || state == LEASE_FULL)
		lease_tell_use(&t->told, &t->claim->terms, unit,
			       sight && sight->lease == LEASE_SHARED);
	/* The load itself changes all the time. */
	if (state == LEASE_LOADED)
		strbuf_printf(&t->told, " (load above %d %%)", t->claim->terms.max_load);
}

/* A file of its lock that cannot be opened: one of another kind that someone put there. */
static void tell_file(struct taking *t, const gpumap_device *unit, int why)
{
	char name[LEASE_NAME], text[UNIT_TEXT];

	lease_name(name, unit);
	if (t->told.length <= MAX_TELL)
		strbuf_printf(&t->told, "%s%s cannot be locked (%s/%s%s: %s)",
			      t->told.length ? ", " : "", unit_text(text, unit), t->folder.path,
			      t->folder.prefix, name, strerror(why));
}

/* "GPU 0 has 2 of 4 slots leased (one by process 4700)": too many beside this job. */
static void tell_slots(struct taking *t, const gpumap_device *gpu, const struct lease_sight *sight)
{
	if (t->told.length > MAX_TELL)
		return;
	strbuf_printf(&t->told, "%sGPU %d has %zu of %zu slots leased", t->told.length ? ", " : "",
		      gpu->physical, sight->load.used, sight->load.most);
	if (sight->owner > 0)
		strbuf_printf(&t->told, " (%sby process %lld)", sight->load.used > 1 ? "one " : "",
			      (long long)sight->owner);
}

/* GPUs or MIG instances came or went since this attempt began. */
static void tell_changed(struct taking *t)
{
	t->changed = true;
	strbuf_printf(&t->told, "%sthe GPUs of this machine have changed",
		      t->told.length ? ", " : "");
}

/* Tells why a GPU is not free. */
static void tell_sight(struct taking *t, const gpumap_device *gpu, const struct lease_sight *sight)
{
	if (sight->lease == LEASE_UNKNOWN)
		tell_file(t, gpu, sight->why);
	else if (sight->lease == LEASE_SHARED && !load_room(&sight->load, t->claim->terms.slots))
		tell_slots(t, gpu, sight);
	else
		tell(t, gpu, sight->lease == LEASE_HELD ? sight->lease : sight->use, sight);
}

/* Tells why this GPU is not free, or the GPUs from it on that one process has leased. Returns the
 * next. */
static size_t tell_next(struct taking *t, const struct wishes *wishes, size_t g)
{
	const struct lease_sight *sight = &wishes->sights[g];
	const struct lease_wish *own = &wishes->list[wishes->count];
	const gpumap_device *gpus = t->lease->inventory->gpus;
	size_t past = g + 1;

	while (sight->lease == LEASE_HELD && sight->owner > 0 && !is_instance(&gpus[g]) &&
	       past < t->lease->inventory->count && own->usable[past] && !own->free_gpus[past] &&
	       wishes->sights[past].lease == LEASE_HELD &&
	       wishes->sights[past].owner == sight->owner &&
	       gpus[past].physical == gpus[past - 1].physical + 1)
		past++;
	if (past - g < 3) {
		tell_sight(t, &gpus[g], sight);
		return g + 1;
	}
	if (t->told.length <= MAX_TELL)
		strbuf_printf(&t->told, "%sGPUs %d to %d are leased (by process %lld)",
			      t->told.length ? ", " : "", gpus[g].physical, gpus[past - 1].physical,
			      (long long)sight->owner);
	return past;
}

/* Tells which GPUs are not free, and why. GPUMAP_EINPUT, after its error: of so many GPUs it cannot
 * be seen whether they are free that waiting would not help. */
static int tell_busy(struct taking *t, const struct wishes *wishes)
{
	const struct lease_wish *own = &wishes->list[wishes->count];
	size_t visible = 0, next = 0;

	taking_forget_told(t);
	for (size_t g = 0; g < t->lease->inventory->count; g++) {
		const struct lease_sight *sight = &wishes->sights[g];

		if (!own->usable[g])
			continue;
		if (sight->lease == LEASE_UNKNOWN && lease_lacks(sight->why)) {
			errno = sight->why;
			return file_failure(t, "the locks of GPUs cannot be opened");
		}
		visible += sight->lease != LEASE_UNKNOWN && sight->use != LEASE_UNKNOWN;
		if (!own->free_gpus[g] && g >= next)
			next = tell_next(t, wishes, g);
	}
	if (visible >= t->claim->count)
		return GPUMAP_OK;
	return report_fail(t->report, GPUMAP_EINPUT, FINDING_LEASE_NOT_VISIBLE,
			   ABOUT(.fix = "run gpumap outside the container, or as root"),
			   "it is not visible which GPUs are free: %s",
			   t->told.text ? t->told.text : "");
}

static int by_position(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* A lock is another's only if its owner does not use this gate. */
static void tell_not_locked(struct taking *t, const gpumap_device *unit, int why)
{
	if (why == EWOULDBLOCK)
		tell(t, unit, LEASE_HELD, NULL);
	else
		tell_file(t, unit, why);
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
			return lease_lacks(why) ? file_failure(t, "the GPUs cannot be locked")
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
	const gpumap_device *now;
	char name[LEASE_NAME];
	size_t g;

	lease_name(name, unit);
	g = lease_named(units, span_of(name));
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
	bool *only;
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
	free(only);
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
			tell(t, now, state, &sights[lease->gpus[i]]);
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
		char name[UNIT_TEXT];

		if (gpumap_device_int(unit, GPUMAP_DEVICE_UTILIZATION) < 0)
			report_add(t->report, FINDING_LEASE_LOAD_UNKNOWN, NULL,
				   "NVML does not report the load of %s, which counts as free: "
				   "it has no process and little memory in use",
				   unit_text(name, unit));
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

/* Chooses among all that it may use, free ones first, where a lease would have to wait. */
static void choose_any(size_t *ret, const struct lease_wish *wish, size_t gpus)
{
	size_t n = 0;

	for (int busy = 0; busy < 2; busy++)
		for (size_t g = 0; g < gpus && n < wish->count; g++)
			if (wish->usable[g] && wish->free_gpus[g] == !busy)
				ret[n++] = g;
}

/* A lease without locks. */
static int show_chosen(struct taking *t)
{
	for (size_t i = 0; i < t->claim->count; i++)
		t->lease->locks[i] = NO_LOCKS;
	t->lease->count = t->claim->count;
	return lease_list(t->lease);
}

/* A claim for all asks for what is free, but for no more than a user may have, and for at least
 * one. */
static void ask_for_all(struct taking *t, struct lease_wish *own)
{
	const size_t limit = per_user_applies(&t->settings) ? t->settings.gpus_per_user : SIZE_MAX;
	size_t n = 0;

	for (size_t g = 0; g < t->lease->inventory->count; g++)
		n += own->usable[g] && own->free_gpus[g] && n + t->share.held < limit;
	t->claim->count = own->count = n ? n : 1;
}

/* Some of them may be promised to others. False: it asks for no less. */
static bool ask_for_fewer(struct taking *t, struct lease_wish *own)
{
	if (!t->claim->all || own->count == 1)
		return false;
	t->claim->count = --own->count;
	return true;
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
		while (!*got && !nomem && ask_for_fewer(t, &wishes->list[wishes->count]));
		r = nomem ? GPUMAP_ENOMEM : GPUMAP_OK;
	}
	if (r == GPUMAP_OK && !*got && t->preview)
		choose_any(t->lease->gpus, &wishes->list[wishes->count],
			   t->lease->inventory->count);
	if (r == GPUMAP_OK && (*got || t->preview))
		qsort(t->lease->gpus, t->claim->count, sizeof(*t->lease->gpus), by_position);
	if (r == GPUMAP_OK && t->preview)
		r = show_chosen(t);
	else if (r == GPUMAP_OK && *got)
		r = take_chosen(t, wishes, got);
	return r == GPUMAP_ENOMEM ? report_nomem(t->report) : r;
}

/* --- the queue ------------------------------------------------------------------------------ */

/* The names of the first `count` GPUs of the order that it may use. */
static char *own_names(const gpumap_inventory *inventory, const struct lease_wish *own,
		       size_t count)
{
	struct strbuf names = {0};
	char name[LEASE_NAME];

	for (size_t i = 0; i < count; i++) {
		size_t g = own->order[i];

		lease_name(name, &inventory->gpus[g]);
		if (own->usable[g])
			strbuf_printf(&names, "%s%s", names.length ? " " : "", name);
	}
	return strbuf_take(&names);
}

static bool has_name(struct span names, struct span name)
{
	struct span word;

	while (span_split(&names, ' ', &word))
		if (span_same(word, name))
			return true;
	return false;
}

/* Adds the units to the ticket that came since it was written. If they cannot be written, this job
 * can still get them, but is not promised them. */
static int update_ticket(struct taking *t, const struct lease_wish *own)
{
	CLEANUP_FREE char *names = own_names(t->lease->inventory, own, t->lease->inventory->count);
	struct strbuf fresh = {0};
	struct span rest, name;
	char *all;

	if (!names)
		return report_nomem(t->report);
	rest = span_of(names);
	while (span_split(&rest, ' ', &name))
		if (!has_name(span_of(t->named), name))
			strbuf_printf(&fresh, "%s%.*s", fresh.length ? " " : "", (int)name.length,
				      name.text);
	if (!fresh.failed && (!fresh.length || !lease_queue_add(t->ticket, fresh.text))) {
		strbuf_free(&fresh);
		return GPUMAP_OK;
	}
	if (fresh.failed || xasprintf(&all, "%s %s", t->named, fresh.text) < 0)
		all = NULL;
	strbuf_free(&fresh);
	if (!all)
		return report_nomem(t->report);
	free(t->named);
	t->named = all;
	return GPUMAP_OK;
}

/* One user must not make the queue long for all. */
static int check_waiting(const struct taking *t, const struct wishes *wishes)
{
	size_t waiting = 0;

	for (size_t i = 0; i < wishes->count; i++)
		waiting += wishes->tickets[i].user == (int64_t)geteuid();
	if (waiting < MAX_WAITING || geteuid() == 0)
		return GPUMAP_OK;
	return report_fail(t->report, GPUMAP_EINPUT, FINDING_LEASE_WAITING,
			   ABOUT(.fix = "start it when one of them has its GPUs, or let one job "
					"start several programs in turn"),
			   "%zu of your jobs wait for GPUs already, and no more than %d may",
			   waiting, MAX_WAITING);
}

static int join_queue(struct taking *t, const struct wishes *wishes)
{
	const struct lease_wish *own = &wishes->list[wishes->count];
	const gpumap_inventory *inventory = t->lease->inventory;
	struct lease_ticket wish = {.count = t->claim->count, .terms = t->claim->terms};
	int r = GPUMAP_ENOMEM;

	if (t->ticket >= 0)
		return update_ticket(t, own);
	if (check_waiting(t, wishes) != GPUMAP_OK)
		return GPUMAP_EINPUT;
	wish.from = own_names(inventory, own, inventory->count);
	wish.prefer = own_names(inventory, own, own->preferred);
	if (wish.from && wish.prefer)
		r = lease_queue_join(&t->ticket, &t->number, &t->folder, &wish);
	t->named = wish.from;
	free(wish.prefer);
	return r == GPUMAP_EFILE    ? file_failure(t, "the queue cannot be joined")
	       : r == GPUMAP_ENOMEM ? report_nomem(t->report)
				    : r;
}

/* Why a job whose own lease will end does not go before one that waits; "": it does, or its lease
 * has no end. */
static const char *why_not_before(const struct lease_wish *own, const struct lease_wish *earlier)
{
	if (own->end == INT64_MAX)
		return "";
	if (own->slots > 1)
		return ", and no slot is taken before it";
	if (earlier->firm)
		return ", which was passed often enough";
	if (!earlier->ready)
		return ", which may start at any moment";
	return earlier->ready < own->end ? ", which can start before --for is over" : "";
}

/* Adds the GPUs that are free for this job, but promised to one before it. */
static void tell_promised(struct taking *t, const struct wishes *wishes)
{
	const struct lease_wish *own = &wishes->list[wishes->count];
	size_t asked = wishes->count; /* whose process is known */
	int64_t pid = 0;

	for (size_t g = 0; g < t->lease->inventory->count; g++) {
		size_t to = wishes->chosen.promised[g];
		char name[UNIT_TEXT];

		if (!own->usable[g] || !own->free_gpus[g] || to == wishes->count)
			continue;
		t->promised = true;
		if (t->told.length > MAX_TELL)
			return;
		if (to != asked)
			pid = lease_queue_process(&t->folder, wishes->tickets[to].number);
		asked = to;
		strbuf_printf(&t->told, "%s%s is free but promised to a job that waits",
			      t->told.length ? ", " : "",
			      unit_text(name, &t->lease->inventory->gpus[g]));
		if (pid)
			strbuf_printf(&t->told, " (process %lld)", (long long)pid);
		strbuf_puts(&t->told, why_not_before(own, &wishes->list[to]));
	}
}

/* Puts into t->told whom it waits for. */
static void tell_queue(struct taking *t, const struct wishes *wishes)
{
	size_t count = 0;

	tell_promised(t, wishes);
	for (size_t i = 0; i < wishes->count; i++)
		count += wishes->list[i].count > 0;
	if (count)
		strbuf_printf(&t->told, "%s%zu job%s before this one", t->told.length ? ", " : "",
			      count, count == 1 ? " waits" : "s wait");
}

/* Looks what the limit of GPUs for one user leaves to this job and to those before it. */
static int look_at_limit(struct taking *t, struct wishes *wishes)
{
	int r = per_user_apply(&t->share, wishes, &t->settings, &t->folder, t->lease->inventory);

	if (r == GPUMAP_EFILE)
		return file_failure(t, "the leases of users cannot be counted");
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
		ask_for_all(t, own);
	if (r == GPUMAP_OK)
		t->before = count_before(&wishes, t->lease->inventory->count);
	if (r == GPUMAP_OK && (t->preview || !t->share.full))
		r = choose(t, &wishes, got);
	if (r == GPUMAP_OK && t->share.full) {
		*got = false;
		taking_forget_told(t);
		per_user_tell(&t->told, &t->share, &t->settings);
	} else if (r == GPUMAP_OK && !*got) {
		tell_queue(t, &wishes);
	}
	if (r == GPUMAP_OK && !*got) {
		if (t->claim->wait_ms && !t->preview)
			r = join_queue(t, &wishes);
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
		r = lease_gate(&t->gate, &t->folder, GATE_MS, t->report);
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
