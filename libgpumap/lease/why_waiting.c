/* SPDX-License-Identifier: MIT */
/* Why a job has to wait, in words. */
#include "lease/attempt.h"

#include <errno.h>

#include "lease/units.h"
#include "lease/wishes.h"
#include "report/report.h"
#include "write_all.h"

enum { MAX_TELL = 4096 };

int taking_failed(const struct taking *t, const char *what)
{
	return report_fail(t->report, GPUMAP_EFILE, FINDING_FILE_ACCESS,
			   ABOUT(.origin = t->folder.path, .fix = write_remedy(errno)), "%s: %s",
			   what, strerror(errno));
}

void tell_nothing(struct taking *t)
{
	t->promised = false;
	t->told.length = 0;
	if (t->told.text)
		*t->told.text = '\0';
}

void tell_unit(struct taking *t, const gpumap_device *unit, enum lease_state state,
	       const struct lease_sight *sight)
{
	static const char *const words[] = {[LEASE_HELD] = "leased",
					    [LEASE_IN_USE] = "in use",
					    [LEASE_FULL] = "too full",
					    [LEASE_LOADED] = "busy",
					    [LEASE_LOAD_HIDDEN] =
						    "in use, and its load not visible",
					    [LEASE_UNKNOWN] = "not visible"};

	if (t->told.length > MAX_TELL)
		return;
	strbuf_printf(&t->told, "%s%s is %s", t->told.length ? ", " : "", UNIT_TEXT(unit),
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

/* A file of its lock cannot be made or locked. */
static void tell_file(struct taking *t, const gpumap_device *unit, int why)
{
	if (t->told.length <= MAX_TELL)
		strbuf_printf(&t->told, "%s%s cannot be locked (%s: %s)",
			      t->told.length ? ", " : "", UNIT_TEXT(unit), t->folder.path,
			      strerror(why));
}

static void tell_hidden(struct taking *t, const gpumap_device *unit, int why)
{
	if (t->told.length <= MAX_TELL)
		strbuf_printf(&t->told, "%s%s cannot be locked (%s)", t->told.length ? ", " : "",
			      UNIT_TEXT(unit), LEASE_HIDDEN_BY(unit, why));
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

void tell_changed(struct taking *t)
{
	t->changed = true;
	strbuf_printf(&t->told, "%sthe GPUs of this machine have changed",
		      t->told.length ? ", " : "");
}

/* Tells why a GPU is not free. */
static void tell_sight(struct taking *t, const gpumap_device *gpu, const struct lease_sight *sight)
{
	if (sight->lease == LEASE_UNKNOWN)
		tell_hidden(t, gpu, sight->why);
	else if (sight->lease == LEASE_SHARED && !load_room(&sight->load, t->claim->terms.slots))
		tell_slots(t, gpu, sight);
	else
		tell_unit(t, gpu, sight->lease == LEASE_HELD ? sight->lease : sight->use, sight);
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

int tell_busy(struct taking *t, const struct wishes *wishes)
{
	const struct lease_wish *own = &wishes->list[wishes->count];
	size_t visible = 0, next = 0;

	tell_nothing(t);
	for (size_t g = 0; g < t->lease->inventory->count; g++) {
		const struct lease_sight *sight = &wishes->sights[g];

		if (!own->usable[g])
			continue;
		if (sight->lease == LEASE_UNKNOWN && lease_lacks(sight->why)) {
			errno = sight->why;
			return taking_failed(t, "the locks of GPUs cannot be opened");
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

/* A lock is another's only if its owner does not use this gate. */
void tell_not_locked(struct taking *t, const gpumap_device *unit, int why)
{
	if (why == EWOULDBLOCK) {
		t->changed = true;
		tell_unit(t, unit, LEASE_HELD, NULL);
	} else {
		tell_file(t, unit, why);
	}
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

		if (!own->usable[g] || !own->free_gpus[g] || to == wishes->count)
			continue;
		t->promised = true;
		if (t->told.length > MAX_TELL)
			return;
		if (to != asked)
			pid = lease_queue_process(&t->folder, wishes->tickets[to].number);
		asked = to;
		strbuf_printf(&t->told, "%s%s is free but promised to a job that waits",
			      t->told.length ? ", " : "", UNIT_TEXT(&t->lease->inventory->gpus[g]));
		if (pid)
			strbuf_printf(&t->told, " (process %lld)", (long long)pid);
		strbuf_puts(&t->told, why_not_before(own, &wishes->list[to]));
	}
}

void tell_queue(struct taking *t, const struct wishes *wishes)
{
	size_t count = 0;

	tell_promised(t, wishes);
	for (size_t i = 0; i < wishes->count; i++)
		count += wishes->list[i].count > 0;
	if (count)
		strbuf_printf(&t->told, "%s%zu job%s before this one", t->told.length ? ", " : "",
			      count, count == 1 ? " waits" : "s wait");
}
