/* SPDX-License-Identifier: MIT */
/*
 * The time is that of the machine since its start (CLOCK_BOOTTIME), which no one sets and which
 * continues while it sleeps. A GPU is asked for its load a few times in the time of --idle, at most
 * every 50 ms, at least every 5 s. A time in which it could not be asked does not count as idle:
 * the machine has slept, or the guard was stopped.
 */
#include "pick/lease_end.h"

#include <errno.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "closing.h"
#include "lease/holders.h"
#include "lease/revoke.h"
#include "lease/units.h"
#include "report/report.h"
#include "text.h"

enum {
	WARN_MS = 5 * 60 * 1000,
	LEAST_ASK_MS = 50,
	MOST_ASK_MS = 5000,
	LATE_MS = 1000,
	MAX_LIST = 64
};

/* How long before the end of a limit there is a warning. */
static int64_t lead_of(int64_t limit)
{
	return limit / 10 < WARN_MS ? limit / 10 : WARN_MS;
}

static int64_t pause_of(const struct lease_end *end)
{
	int64_t ms = end->limits.idle_ms / 20;

	return ms < LEAST_ASK_MS ? LEAST_ASK_MS : ms > MOST_ASK_MS ? MOST_ASK_MS : ms;
}

/* Sets the timer to what is next. */
static bool arm(const struct lease_end *end, int64_t now)
{
	int64_t next = end->limits.idle_ms ? now + pause_of(end) : INT64_MAX;
	struct itimerspec at = {0};

	if (end->limits.for_ms && end->end_ms < next)
		next = end->end_ms;
	if (end->limits.for_ms && !end->warned && end->end_ms - lead_of(end->limits.for_ms) < next)
		next = end->end_ms - lead_of(end->limits.for_ms);
	if (next <= now)
		next = now + 1;
	at.it_value.tv_sec = next / 1000;
	at.it_value.tv_nsec = next % 1000 * 1000000;
	return timerfd_settime(end->timer, TFD_TIMER_ABSTIME, &at, NULL) == 0;
}

bool lease_end_begin(struct lease_end *ret, const struct lease_limits *limits,
		     const gpumap_lease *lease, int64_t owner)
{
	int64_t now = lease_note_now();
	struct lease_end end = {.limits = *limits,
				.lease = lease,
				.timer = -1,
				.note = {.fd = -1},
				.end_ms = now + limits->for_ms,
				.quiet_ms = now,
				.asked_ms = now};
	struct lease_note note = {limits->for_ms ? end.end_ms : -1,
				  limits->idle_ms ? limits->idle_ms : -1};

	*ret = end;
	if (!lease_limits_given(limits))
		return true;
	ret->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (ret->timer < 0)
		return false;
	if (!arm(ret, now)) {
		lease_end_close(ret);
		return false;
	}
	lease_note_write(&ret->note, limits->claim, owner, &note);
	return true;
}

void lease_end_close(struct lease_end *end)
{
	int why = errno;

	close_variable(&end->timer);
	gpu_load_close(&end->load);
	lease_note_remove(&end->note);
	errno = why;
}

/* A load that is not known does not count as idle. */
static void ask_load(struct lease_end *end, int64_t now)
{
	int load;

	/* A driver that does not answer now may do so later. */
	if (!end->load.nvml.library)
		gpu_load_open(&end->load, end->lease);
	load = gpu_load_read(&end->load);
	if (load < 0)
		gpu_load_close(&end->load);
	if (load || now - end->asked_ms > 4 * pause_of(end) + LATE_MS) {
		end->quiet_ms = now;
		end->warned_idle = false;
	}
	end->asked_ms = now;
}

/* "the lease of GPUs 0,1"; UUIDs would be too long. */
static const char *subject(struct quoted *ret, const gpumap_lease *lease)
{
	const char *list = gpumap_lease_visible(lease);
	size_t count = gpumap_lease_count(lease);

	if (is_instance(gpumap_lease_device(lease, 0)))
		return format_text(ret, "the lease of %zu MIG instance%s", count,
				   count == 1 ? "" : "s");
	if (strlen(list) > MAX_LIST)
		return format_text(ret, "the lease of %zu GPUs", count);
	return format_text(ret, "the lease of GPU%s %s", count == 1 ? "" : "s", list);
}
#define SUBJECT(lease) subject(&(struct quoted){{0}}, lease)

static const char *release(struct lease_end *end, char text[LEASE_END_TEXT], const char *why,
			   int64_t ms)
{
	char time[32];

	snprintf(text, LEASE_END_TEXT, "%s has ended: %s %s", SUBJECT(end->lease), why,
		 lease_time(time, ms, true));
	lease_let_go(end->lease);
	lease_end_close(end);
	return text;
}

static const char *warn(const struct lease_end *end, char text[LEASE_END_TEXT], int64_t left,
			const char *why)
{
	char time[32];

	snprintf(text, LEASE_END_TEXT, "%s ends in %s%s", SUBJECT(end->lease),
		 lease_time(time, left, false), why);
	return text;
}

const char *lease_end_look(struct lease_end *end, char text[LEASE_END_TEXT])
{
	const struct lease_limits *limits = &end->limits;
	int64_t now = lease_note_now(), quiet;
	const char *told = NULL;
	uint64_t times;

	if (read(end->timer, &times, sizeof(times)) < 0 && errno != EAGAIN)
		return NULL;
	if (limits->idle_ms)
		ask_load(end, now);
	quiet = now - end->quiet_ms;
	if (limits->for_ms && now >= end->end_ms)
		return release(end, text,
			       limits->longest ? "its time is over, longest ="
					       : "its time is over, --for",
			       limits->for_ms);
	if (limits->idle_ms && quiet >= limits->idle_ms)
		return release(end, text, "its GPUs had no load for the time of --idle",
			       limits->idle_ms);
	if (limits->for_ms && !end->warned && now >= end->end_ms - lead_of(limits->for_ms)) {
		end->warned = true;
		told = warn(end, text, end->end_ms - now, "");
	} else if (limits->idle_ms && !end->warned_idle &&
		   quiet >= limits->idle_ms - lead_of(limits->idle_ms)) {
		end->warned_idle = true;
		told = warn(end, text, limits->idle_ms - quiet, ", unless it is used");
	}
	arm(end, now);
	return told;
}
