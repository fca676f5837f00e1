/* SPDX-License-Identifier: MIT */
/* Taking a lease, as the README describes it: attempts, and the waiting between them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "lease/attempt.h"
#include "memory.h"
#include "reap.h"
#include "report/report.h"

enum {
	ASK_MS = 1000,   /* how often the first in the queue asks NVML again */
	LOOK_MS = 30000, /* how often the others look */
	TURN_MS = 3,     /* how much later than the one before it a job looks after a change */
	MAX_TURNS = 16,
	MAX_VAIN = 16, /* after which a job is in no hurry to look */
	VAIN_MS = 8,   /* how much later it looks then, twice as much each time */
	MAX_DOUBLINGS = 6,
	MAX_CHANGES = 4 /* of the machine or its locks; then a job that does not wait gives up */
};

static int64_t elapsed_ms(const struct timespec *since)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000;
}

/* Reads what changed. False: only files of other levels. */
static bool drain(const struct taking *t)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool concerns = false;
	ssize_t n;

	while ((n = read(t->watch, events, sizeof(events))) > 0) {
		for (ssize_t i = 0; i < n;) {
			struct inotify_event event;

			memcpy(&event, events + i, sizeof(event));
			concerns = concerns || !event.len ||
				   lease_concerns(&t->folder, events + i + sizeof(event));
			i += (ssize_t)(sizeof(event) + event.len);
		}
	}
	return concerns;
}

/* Waits for a file of the folder to be closed, at most `ms`. False: none was. A process that ends
 * closes its files one by one, so the locks may take a moment longer than what woke this job. */
static bool wait_for_change(const struct taking *t, int64_t ms)
{
	struct pollfd changed = {t->watch, POLLIN, 0};
	const long turn = t->before < MAX_TURNS ? (long)t->before : MAX_TURNS;
	const int more = t->vain - MAX_VAIN;
	const long late = more < 0 ? 0 : VAIN_MS << (more < MAX_DOUBLINGS ? more : MAX_DOUBLINGS);
	const struct timespec moment = {0, (2 + TURN_MS * turn + late) * 1000000};
	const int64_t end = clock_milliseconds() + ms;

	for (int64_t left = ms; left >= 0; left = end - clock_milliseconds()) {
		if (poll(&changed, 1, left > INT32_MAX ? INT32_MAX : (int)left) <= 0)
			break;
		nanosleep(&moment, NULL);
		if (drain(t))
			return true;
	}
	return false;
}

static const char *too_few(struct quoted *ret, const struct taking *t)
{
	const char *whom = t->promised ? " for this job" : "";
	const char *named = t->claim->from && !t->promised ? " of those named" : "";
	size_t count = t->claim->count;

	return count == 1
		       ? format_text(ret, "no %s%s is free%s", claim_kind(t->claim, 1), named, whom)
		       : format_text(ret, "fewer than %zu %s%s are free%s", count,
				     claim_kind(t->claim, 2), named, whom);
}
#define TOO_FEW(t) too_few(&(struct quoted){{0}}, t)

/* Fewer than one is none. */
static const char *few_fix(const struct taking *t)
{
	if (t->claim->wait_ms)
		return t->claim->count > 1 ? "wait longer, or ask for fewer" : "wait longer";
	if (t->claim->from)
		return "name others by --from, or leave it out, wait with --wait, or see gpumap ps";
	return t->claim->count > 1 ? "ask for fewer, wait with --wait, or see gpumap ps"
				   : "wait with --wait, or see gpumap ps";
}

static int waited_in_vain(const struct taking *t)
{
	const char *why = t->told.text ? t->told.text : "";

	if (t->share.full)
		return report_fail(
			t->report, GPUMAP_EBUSY,
			t->claim->wait_ms ? FINDING_LEASE_WAITED : FINDING_LEASE_USER_LIMIT,
			ABOUT(.fix = t->claim->wait_ms ? "wait longer, or end one of your leases"
						       : "end one of your leases, which gpumap "
							 "leases lists, or wait with --wait"),
			"%s", why);
	return report_fail(t->report, GPUMAP_EBUSY,
			   t->claim->wait_ms ? FINDING_LEASE_WAITED : FINDING_LEASE_BUSY,
			   ABOUT(.fix = few_fix(t)), "%s: %s", TOO_FEW(t), why);
}

/* How long to wait for a change before the next attempt; 0: the time is over. */
static int64_t pause_ms(const struct taking *t, int round)
{
	/* The driver shows the use of a job for up to a second after its end. */
	static const int again[] = {5, 20, 100, 1000};
	int64_t left =
		t->claim->wait_ms < 0 ? INT64_MAX : t->claim->wait_ms - elapsed_ms(&t->start);
	int64_t ms = t->before || t->share.full ? LOOK_MS : ASK_MS;

	if (round < (int)ARRAY_SIZE(again))
		ms = again[round];
	return left <= 0 ? 0 : ms < left ? ms : left;
}

/* One attempt, whose findings count only if it is the last. */
static int try_quietly(struct taking *t, bool *got, gpumap_report *report)
{
	OWNED(report) *scratch = NULL;
	int r = gpumap_report_new(&scratch);

	*got = t->changed = false;
	if (r != GPUMAP_OK)
		return report_nomem(report);
	t->report = scratch;
	gpumap_lease_free(t->lease);
	t->lease = NULL;
	r = taking_try(t, got);
	t->report = report;
	/* With many jobs at the gate, one that waits anyway waits there too. */
	if (r == GPUMAP_EBUSY && pause_ms(t, 0)) {
		tell_nothing(t);
		strbuf_puts(&t->told,
			    gpumap_finding_str(
				    gpumap_report_get(scratch, gpumap_report_count(scratch) - 1),
				    GPUMAP_FINDING_TEXT));
		t->before = 0;
		t->share.full = false;
		r = GPUMAP_OK;
	}
	/* Who asks for instances needs no list of their GPU, which only root may read. */
	if (r != GPUMAP_OK || *got)
		report_copy_all(report, scratch,
				t->claim->instances ? FINDING_USAGE_REFUSED : FINDING_COUNT);
	return r;
}

/* Reports what it waits for: a text if that has changed, else NULL. False: the caller wants no
 * more. */
static bool report_wait(struct taking *t, char **last, int (*waits)(const char *, void *),
			void *data)
{
	bool same = !t->told.text || (*last && streq(*last, t->told.text));

	if (!same) {
		t->vain = 0;
		free(*last);
		*last = xstrdup(t->told.text);
	}
	return !waits || waits(same ? NULL : t->told.text, data) == 0;
}

static int take(struct taking *t, int (*waits)(const char *text, void *data), void *data)
{
	CLEANUP_FREE char *last = NULL;
	bool got = false;
	int r, round = 0, changes = 0;

	while ((r = try_quietly(t, &got, t->report)) == GPUMAP_OK && !got) {
		int64_t ms = pause_ms(t, round++);

		if (t->changed && changes++ < MAX_CHANGES)
			continue;
		if (!ms || !report_wait(t, &last, waits, data)) {
			r = waited_in_vain(t);
			break;
		}
		if (wait_for_change(t, ms)) {
			round = 0;
			t->vain += t->vain < MAX_VAIN + MAX_DOUBLINGS;
		} else if (ms > ASK_MS / 2) {
			t->vain = 0;
		}
	}
	return r;
}

/* Ends the attempts: gives the lease, or frees it. */
static int give(gpumap_lease **ret, struct taking *t, int r)
{
	strbuf_free(&t->told);
	free(t->named);
	lease_settings_free(&t->settings);
	lease_folder_close(&t->folder);
	return give_lease(ret, t->lease, r);
}

/* Opens the folder, and finds the lease around this job. Only outside of one it is bound by what
 * the administrator set. `own` becomes the claim, with the slots of its jobs. */
static int begin(struct taking *t, gpumap_claim *own, const gpumap_claim *claim)
{
	int r;

	if (!claim->count)
		return report_fail(t->report, GPUMAP_EINPUT, FINDING_BAD_VALUE, NULL,
				   "the number of GPUs is missing");
	*own = *claim;
	t->claim = own;
	r = lease_folder_open(&t->folder, claim->folder, claim->sysfs, !t->preview, t->report);
	if (r == GPUMAP_OK)
		r = lease_nested(&t->folder, claim->keeper, t->report);
	if (r == GPUMAP_OK && !t->folder.inside)
		r = lease_settings_read(&t->settings, claim, t->report);
	if (r == GPUMAP_OK)
		own->terms.slots = slots_of_claim(claim, t->settings.slots);
	return r == GPUMAP_OK ? per_user_check(&t->settings, claim->count,
					       FORMAT("%zu GPUs are asked for", claim->count),
					       ABOUT(.fix = "ask for fewer"), t->report)
			      : r;
}

#define BEGUN(r) \
	{ \
		.report = (r), .folder = NO_FOLDER, .watch = -1, .gate = -1, .ticket = -1 \
	}

EXPORT int gpumap_lease_take(gpumap_lease **ret, const gpumap_claim *claim,
			     int (*waits)(const char *text, void *data), void *data,
			     gpumap_report *report)
{
	struct taking t = BEGUN(report);
	gpumap_claim own;
	int r;

	clock_gettime(CLOCK_MONOTONIC, &t.start);
	r = begin(&t, &own, claim);
	if (r != GPUMAP_OK)
		return give(ret, &t, r);
	/* Without a watch it asks again from time to time. To close one takes milliseconds. */
	t.watch = claim->wait_ms ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;
	if (t.watch >= 0)
		inotify_add_watch(t.watch, t.folder.path, IN_CLOSE_WRITE | IN_DELETE);
	r = take(&t, waits, data);
	if (t.ticket >= 0)
		lease_queue_leave(&t.folder, t.ticket, t.number);
	if (t.watch >= 0)
		close(t.watch);
	return give(ret, &t, r);
}

EXPORT int gpumap_lease_preview(gpumap_lease **ret, const gpumap_claim *claim,
				gpumap_report *report)
{
	struct taking t = BEGUN(report);
	gpumap_claim own;
	bool got = false;
	int r;

	t.preview = true;
	r = begin(&t, &own, claim);
	if (r == GPUMAP_OK)
		r = taking_try(&t, &got);
	if (r == GPUMAP_OK && !got)
		report_add(report, FINDING_LEASE_NOT_NOW,
			   ABOUT(.fix = "wait for them, or ask for fewer"), "%s%s%s",
			   t.share.full ? "" : TOO_FEW(&t),
			   t.share.full ? "" : " now: ", t.told.text ? t.told.text : "");
	return give(ret, &t, r);
}
