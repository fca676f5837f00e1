/* SPDX-License-Identifier: MIT */
/* Compares the ranks of a run with their plan: a pure function of what was read. */
#include "live/verify.h"

#include <stdio.h>

#include "live/process.h"
#include "report/report.h"
#include "signal_name.h"
#include "text.h"

const char *verify_name(struct quoted *ret, struct verify_device device)
{
	return format_text(ret, device.mig < 0 ? "GPU %d" : "GPU %d MIG %d", device.physical,
			   device.mig);
}

/* "rank 3 (process 4711)"; "rank 3", if its process is not known; "process 4711". */
static const char *who(struct quoted *ret, const struct verify_rank *rank, int64_t pid)
{
	if (rank->rank < 0)
		return format_text(ret, "process %lld", (long long)pid);
	return format_text(ret, pid <= 0 ? "rank %lld" : "rank %lld (process %lld)",
			   (long long)rank->rank, (long long)pid);
}
#define WHO(rank, pid) who(&(struct quoted){{0}}, rank, pid)

/* --- devices ------------------------------------------------------------------------ */

/* An instance that is not known may be any. */
static bool may_be(struct verify_device a, struct verify_device b)
{
	return a.physical == b.physical && (a.mig < 0 || b.mig < 0 || a.mig == b.mig);
}

bool verify_is_own(const struct verify_rank *rank, struct verify_device device)
{
	for (size_t i = 0; i < rank->own_count; i++)
		if (may_be(rank->own[i], device))
			return true;
	return false;
}

static bool uses_own(const struct verify_rank *rank)
{
	for (size_t i = 0; i < rank->use_count; i++)
		if (verify_is_own(rank, rank->uses[i].device))
			return true;
	return false;
}

static const struct verify_gpu *gpu_of(const struct verify *v, struct verify_device device)
{
	for (size_t i = 0; i < v->gpu_count; i++)
		if (v->gpus[i].physical == device.physical)
			return &v->gpus[i];
	return NULL;
}

/* The rank whose GPU it is; NULL: of no other. */
static const struct verify_rank *owner(const struct verify *v, const struct verify_rank *rank,
				       struct verify_device device)
{
	for (size_t i = 0; i < v->count; i++)
		if (&v->ranks[i] != rank && !v->ranks[i].own_unknown &&
		    verify_is_own(&v->ranks[i], device))
			return &v->ranks[i];
	return NULL;
}

/* --- one rank ----------------------------------------------------------------------- */

static void set_state(struct verify_rank *rank, enum verify_state state)
{
	if (state > rank->state)
		rank->state = state;
}

static void differs(struct verify_rank *rank, unsigned difference)
{
	rank->differences |= difference;
	set_state(rank, VERIFY_WRONG);
}

static void hide(struct verify_rank *rank, const char *why, const char *fix, gpumap_report *report)
{
	set_state(rank, VERIFY_HIDDEN);
	report_add(report, FINDING_RANK_HIDDEN, ABOUT(.fix = fix),
		   "%s: it is not visible whether it runs as planned: %s", WHO(rank, rank->pid),
		   why);
}

static void report_dead(struct verify_rank *rank, gpumap_report *report)
{
	const char *how = rank->process != VERIFY_ENDED
				  ? "its process is gone, and gpumap run has not noticed"
			  : rank->signal      ? FORMAT("%s ended it", SIGNAL_TEXT(rank->signal))
			  : rank->status >= 0 ? FORMAT("it has ended with status %d", rank->status)
					      : "it has ended";

	differs(rank, VERIFY_DEAD);
	report_add(report, FINDING_RANK_DEAD,
		   ABOUT(.fix = "end the run, and look at the last lines of the rank"), "%s: %s",
		   WHO(rank, rank->pid), how);
}

static bool judge_process(struct verify_rank *rank, gpumap_report *report)
{
	if (rank->process == VERIFY_ALIVE)
		return true;
	if (rank->process == VERIFY_STARTING)
		set_state(rank, VERIFY_UNUSED);
	else if (rank->process == VERIFY_UNSEEN)
		hide(rank, "/proc does not have its process here",
		     "run gpumap verify as the same user, in the same container", report);
	else if (rank->process == VERIFY_ENDED && (rank->status == 0 || rank->stopped))
		set_state(rank, VERIFY_OVER);
	else
		report_dead(rank, report);
	return false;
}

static void put_value(struct strbuf *buf, const char *name, const char *value)
{
	if (value)
		strbuf_printf(buf, "%s=%s", name, value);
	else
		strbuf_printf(buf, "no %s", name);
}

static void report_list(struct verify_rank *rank, gpumap_report *report)
{
	CLEANUP(strbuf_free) struct strbuf now = {0}, planned = {0};

	for (int i = 0; i < VERIFY_VARIABLES; i++) {
		const struct verify_variable *v = &rank->variables[i];

		if (text_same(v->now, v->planned))
			continue;
		strbuf_puts(&now, now.length ? " and " : "");
		strbuf_puts(&planned, planned.length ? " and " : "");
		put_value(&now, verify_variables[i], v->now);
		put_value(&planned, verify_variables[i], v->planned);
	}
	report_add(report, FINDING_RANK_LIST,
		   ABOUT(.fix = "let nothing between gpumap run and the program set it"),
		   "%s has %s; gpumap run gave it %s", WHO(rank, rank->pid),
		   QUOTE(span_of(now.text ? now.text : "another list")),
		   QUOTE(span_of(planned.text ? planned.text : "its own")));
}

static void judge_list(struct verify_rank *rank, gpumap_report *report)
{
	if (rank->list == VERIFY_LIST_CHANGED) {
		differs(rank, VERIFY_CHANGED);
		report_list(rank, report);
	} else if (rank->list == VERIFY_LIST_UNSEEN) {
		hide(rank, "its environment is not readable", process_refused_fix(), report);
	}
}

/* --- its memory --------------------------------------------------------------------- */

/* "its own GPU 1", "its own GPU 0, GPU 1"; "" if there are too many. */
static void own_text(char *ret, size_t size, const struct verify_rank *rank)
{
	size_t length = (size_t)snprintf(ret, size, "its own ");

	for (size_t i = 0; i < rank->own_count; i++) {
		const char *name = VERIFY_NAME(rank->own[i]);

		if (length + strlen(name) + 3 > size) {
			snprintf(ret, size, "its own GPUs");
			return;
		}
		length +=
			(size_t)snprintf(ret + length, size - length, "%s%s", i ? ", " : "", name);
	}
}

static void report_place(const struct verify *v, struct verify_rank *rank,
			 const struct verify_use *use, int64_t memory, gpumap_report *report)
{
	const struct verify_rank *other = owner(v, rank, use->device);
	const char *amount = memory < 0 ? "" : FORMAT(" (%lld MiB)", (long long)(memory >> 20));
	const char *whose = other ? FORMAT(", which is rank %lld's", (long long)other->rank) : "";
	char own[128];

	own_text(own, sizeof(own), rank);
	if (rank->differences & VERIFY_STRAY)
		report_add(report, FINDING_RANK_STRAY,
			   ABOUT(.rule = "D1",
				 .fix = "let it select its GPU before the first call of CUDA "
					"(torch.cuda.set_device) and map what it loads there; or "
					"start it with --share isolate"),
			   "%s also has memory on %s%s%s, besides %s", WHO(rank, use->pid),
			   VERIFY_NAME(use->device), amount, whose, own);
	else
		report_add(report, FINDING_RANK_ELSEWHERE,
			   ABOUT(.fix = "gpumap --pid explains which GPU it selects, and gpumap "
					"lint its program"),
			   "%s has memory on %s%s%s, and %s%s", WHO(rank, use->pid),
			   VERIFY_NAME(use->device), amount, whose,
			   rank->own_count ? "none on " : "is to use no GPU",
			   rank->own_count ? own : "");
}

bool verify_is_repeated(const struct verify_rank *rank, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (rank->uses[k].device.physical == rank->uses[i].device.physical &&
		    rank->uses[k].device.mig == rank->uses[i].device.mig)
			return true;
	return false;
}

static int64_t memory_on(const struct verify_rank *rank, struct verify_device device)
{
	int64_t sum = 0;

	for (size_t i = 0; i < rank->use_count; i++) {
		const struct verify_use *use = &rank->uses[i];

		if (use->device.physical != device.physical || use->device.mig != device.mig)
			continue;
		if (use->memory < 0)
			return -1;
		sum += use->memory;
	}
	return sum;
}

/* It uses nothing that can be seen. */
static void judge_unused(const struct verify *v, struct verify_rank *rank, gpumap_report *report)
{
	bool hidden = false, unlisted = false, unmeasured = false;

	for (size_t i = 0; i < rank->own_count; i++) {
		const struct verify_gpu *gpu = gpu_of(v, rank->own[i]);

		hidden = hidden || (gpu && gpu->hidden);
		unlisted = unlisted || !gpu || !gpu->listed;
		unmeasured = unmeasured || (gpu && gpu->unmeasured);
	}
	if (hidden)
		hide(rank, "its GPU has processes that are not visible here",
		     "run gpumap verify on the host, outside of containers", report);
	else if (unlisted) /* the GPU is reported itself */
		set_state(rank, VERIFY_HIDDEN);
	else if (unmeasured)
		hide(rank, "NVML does not show whether other processes use its GPU", NULL, report);
	else if (rank->own_count)
		set_state(rank, VERIFY_UNUSED);
}

static void judge_memory(const struct verify *v, struct verify_rank *rank, gpumap_report *report)
{
	unsigned difference = uses_own(rank) ? VERIFY_STRAY : VERIFY_ELSEWHERE;

	if (v->no_usage) { /* which is reported once */
		set_state(rank, VERIFY_HIDDEN);
		return;
	}
	if (rank->own_unknown) {
		hide(rank, rank->own_unknown, NULL, report);
		return;
	}
	if (!rank->use_count)
		judge_unused(v, rank, report);
	for (size_t i = 0; i < rank->use_count; i++) {
		struct verify_device device = rank->uses[i].device;

		if (verify_is_own(rank, device) || verify_is_repeated(rank, i))
			continue;
		differs(rank, difference);
		report_place(v, rank, &rank->uses[i], memory_on(rank, device), report);
	}
}

/* --- all ---------------------------------------------------------------------------- */

void verify_compare(struct verify *v, gpumap_report *report)
{
	for (size_t i = 0; i < v->count; i++) {
		struct verify_rank *rank = &v->ranks[i];

		rank->state = VERIFY_RIGHT;
		rank->differences = 0;
		if (!judge_process(rank, report))
			continue;
		judge_list(rank, report);
		judge_memory(v, rank, report);
	}
	for (size_t i = 0; i < v->gpu_count; i++)
		if (!v->gpus[i].listed)
			report_add(report, FINDING_RANK_HIDDEN, NULL,
				   "GPU %d: its processes are not listed, so memory of the job "
				   "there would not be seen",
				   v->gpus[i].physical);
}

size_t verify_count(const struct verify *v, enum verify_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < v->count; i++)
		count += v->ranks[i].state == state;
	return count;
}

bool verify_is_right(const struct verify *v)
{
	for (size_t i = 0; i < v->gpu_count; i++)
		if (!v->gpus[i].listed)
			return false;
	return !verify_count(v, VERIFY_WRONG) && !verify_count(v, VERIFY_HIDDEN);
}
