/* SPDX-License-Identifier: MIT */
/* See slurm_grant.h. */
#include "request/slurm_grant.h"

#include <strings.h>

#include "report/report.h"
#include "text.h"

enum { MAX_PIECES = 512 };

/* The numbers `first` to `last`, or a UUID, for which `first` is -1. */
struct piece {
	int64_t first, last;
	struct span uuid;
};

struct pieces {
	struct piece list[MAX_PIECES];
	size_t count;
	int64_t total; /* GPUs */
	bool good;
};

struct slurm_grant slurm_grant_of(const char *const *envp)
{
	return (struct slurm_grant){environ_nonempty(envp, "SLURM_STEP_GPUS"),
				    environ_nonempty(envp, "SLURM_JOB_GPUS")};
}

/* 3, 0-3, GPU-..., MIG-... */
static bool read_piece(struct piece *ret, struct span text)
{
	const char *dash = text.length ? memchr(text.text, '-', text.length) : NULL;
	struct span first = text, last = text;

	*ret = (struct piece){.first = -1, .last = -1, .uuid = text};
	if (span_starts(text, "GPU-") || span_starts(text, "MIG-"))
		return true;
	if (dash) {
		first.length = (size_t)(dash - text.text);
		last = (struct span){dash + 1, text.length - first.length - 1};
	}
	ret->first = span_number(first, INT32_MAX);
	ret->last = span_number(last, INT32_MAX);
	return ret->first >= 0 && ret->last >= ret->first;
}

/* `ends`: as a visible list, a negative number ends it. */
static void read_pieces(struct pieces *ret, const char *text, bool ends)
{
	struct span rest = span_of(text), part;

	ret->count = 0;
	ret->total = 0;
	ret->good = false;
	while (span_split(&rest, ',', &part)) {
		struct piece *piece = &ret->list[ret->count];

		part = span_trim(part);
		if (ends && span_starts(part, "-"))
			break;
		if (ret->count == MAX_PIECES || !read_piece(piece, part) ||
		    (ends && piece->first != piece->last))
			return;
		ret->count++;
		ret->total += piece->last - piece->first + 1;
	}
	ret->good = ret->count;
}

/* A UUID of a visible list may be shortened. */
static bool has_piece(const struct pieces *granted, const struct piece *piece)
{
	for (size_t i = 0; i < granted->count; i++) {
		const struct piece *one = &granted->list[i];

		if (piece->first >= 0 ? one->first <= piece->first && piece->first <= one->last
				      : piece->uuid.length <= one->uuid.length &&
						strncasecmp(piece->uuid.text, one->uuid.text,
							    piece->uuid.length) == 0)
			return true;
	}
	return false;
}

static const char *prefix(const struct piece *piece)
{
	return piece->first >= 0                      ? ""
	       : span_starts(piece->uuid, "MIG-GPU-") ? "MIG-GPU-"
	       : span_starts(piece->uuid, "MIG-")     ? "MIG-"
						      : "GPU-";
}

/* Whether all are numbers, UUIDs of GPUs, or instances of MIG in one of their two spellings. */
static bool same_kind(const struct pieces *list, const struct pieces *granted)
{
	const char *kind = prefix(&list->list[0]);

	for (size_t i = 0; i < list->count; i++)
		if (!streq(prefix(&list->list[i]), kind))
			return false;
	for (size_t i = 0; i < granted->count; i++)
		if (!streq(prefix(&granted->list[i]), kind))
			return false;
	return true;
}

/* Whether an entry of the list is certainly not among those of Slurm's variable. */
static bool goes_beyond(const struct pieces *list, struct pieces *granted, const char *value)
{
	read_pieces(granted, value, false);
	if (!granted->good || !same_kind(list, granted))
		return false;
	for (size_t i = 0; i < list->count; i++)
		if (!has_piece(granted, &list->list[i]))
			return true;
	return false;
}

static bool is_below(const struct pieces *list, int64_t count)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->list[i].first < 0 || list->list[i].first >= count)
			return false;
	return true;
}

/* *count: the GPUs of the first variable that is set. */
static bool lacks(const struct slurm_grant *grant, const char *list, int64_t *count)
{
	const char *const values[] = {grant->step, grant->job};
	struct pieces visible, granted;
	bool set = false;

	*count = 0;
	read_pieces(&visible, list, true);
	if (!visible.good)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		if (!values[i])
			continue;
		if (!goes_beyond(&visible, &granted, values[i]))
			return false;
		*count = set ? *count : granted.total;
		set = true;
	}
	return set && !is_below(&visible, *count);
}

bool slurm_grant_lacks(const struct slurm_grant *grant, const char *list)
{
	int64_t count;

	return lacks(grant, list, &count);
}

bool slurm_grant_check(const struct slurm_grant *grant, const char *name, const char *list,
		       const char *origin, gpumap_report *report)
{
	const char *inside;
	int64_t count;

	if (!lacks(grant, list, &count))
		return false;
	inside = !is_digit(*list) ? ""
		 : count == 1     ? ", or 0 in a device cgroup"
			      : FORMAT(", or 0 to %lld in a device cgroup", (long long)count - 1);
	report_add(report, FINDING_NOT_SLURMS,
		   ABOUT(.rule = "L3", .origin = origin,
			 .fix = "do not set it in the job: Slurm sets it to the job's GPUs"),
		   "%s=%s is not the list that Slurm gave this job: %s=%s%s", name,
		   QUOTE(span_of(list)), grant->step ? "SLURM_STEP_GPUS" : "SLURM_JOB_GPUS",
		   QUOTE(span_of(grant->step ? grant->step : grant->job)), inside);
	return true;
}
