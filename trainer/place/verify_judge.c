/* SPDX-License-Identifier: MIT */
/* Judges the mapping by NVML's data. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "place/verify.h"

static bool is_named(const struct gpu_use *use, const struct place_device *gpus, int count)
{
	for (int i = 0; i < count; i++) {
		const struct place_device *gpu = &gpus[i];

		/* A lost GPU has only a number. */
		if (!*gpu->uuid || !*use->uuid ? gpu->physical == use->index
					       : strcasecmp(gpu->uuid, use->uuid) == 0 ||
							 strcasecmp(gpu->uuid, use->gpu_uuid) == 0)
			return true;
	}
	return false;
}

/* Compute instances of one GPU instance share its memory. */
static bool shares_memory(const struct gpu_use *a, const struct gpu_use *b)
{
	return a->index == b->index && a->mig >= 0 && b->mig >= 0 && a->gi >= 0 && a->gi == b->gi;
}

static bool is_expected(const struct verify_facts *f, const struct gpu_use *use)
{
	for (int i = 0; i < f->now_count; i++)
		if ((&f->now[i] == use || shares_memory(&f->now[i], use)) &&
		    (is_named(&f->now[i], f->own, f->own_count) ||
		     is_named(&f->now[i], f->others, f->others_count)))
			return true;
	return false;
}

/* How much the memory grew; -1: not known. */
static int64_t grown(const struct verify_facts *f, const struct gpu_use *use)
{
	for (int i = 0; i < f->before_count; i++)
		if (f->before[i].index == use->index && f->before[i].mig == use->mig)
			return use->used < 0 || f->before[i].used < 0 ? -1
			       : use->used < f->before[i].used        ? 0
							       : use->used - f->before[i].used;
	return -1;
}

/* Whether process ids are of this namespace. If not, a process with this one's id used a GPU before
 * this one had a context. */
static bool ids_are_ours(const struct verify_facts *f)
{
	for (int i = 0; i < f->before_count; i++)
		if (f->before[i].own)
			return false;
	for (int i = 0; i < f->now_count; i++)
		if (f->now[i].own)
			return true;
	return false;
}

enum presence { ABSENT, PRESENT, UNKNOWN };

static enum presence look(const struct verify_facts *f, const struct gpu_use *use, bool ids)
{
	int64_t more = grown(f, use);

	if (*use->why)
		return UNKNOWN;
	if (ids && use->listed)
		return use->own ? PRESENT : ABSENT;
	if (more < 0)
		return UNKNOWN;
	return more > (int64_t)VERIFY_NOISE_MIB << 20 ? PRESENT : ABSENT;
}

/* The first fault of a kind stays; the most specific kinds come first. */
static void note(struct verify_verdict *v, enum verify_fault fault, const struct gpu_use *use,
		 int64_t bytes, bool ids)
{
	if (v->fault != VERIFY_GOOD)
		return;
	v->fault = (int32_t)fault;
	v->gpu = use->index;
	v->mig = use->mig;
	v->bytes = bytes;
	v->by_process = ids && use->listed;
	v->at_least = use->own_bytes >= 0 &&
		      (use->hidden < 0 || use->hidden > (int64_t)VERIFY_NOISE_MIB << 20);
	snprintf(v->pci, sizeof(v->pci), "%s", use->pci);
	snprintf(v->uuid, sizeof(v->uuid), "%.63s", use->uuid);
	snprintf(v->why, sizeof(v->why), "%s", *use->why ? use->why : "its memory is not known");
}

static void find_strays(const struct verify_facts *f, bool ids, struct verify_verdict *v)
{
	for (int i = 0; i < f->now_count; i++) {
		const struct gpu_use *use = &f->now[i];
		bool by_id = ids && use->listed;

		if (by_id ? is_named(use, f->own, f->own_count) : is_expected(f, use))
			continue;
		switch (look(f, use, ids)) {
		case PRESENT:
			note(v, VERIFY_STRAY, use,
			     by_id && use->own_bytes >= 0 ? use->own_bytes : grown(f, use), ids);
			break;
		case UNKNOWN:
			v->left_out = 1;
			break;
		case ABSENT:
			break;
		}
	}
}

/* A GPU of the mapping. It may be several instances; one with memory is enough. */
static void find_named(const struct verify_facts *f, bool ids, const struct place_device *gpu,
		       struct verify_verdict *v)
{
	const struct gpu_use *unread = NULL, *empty = NULL;

	for (int i = 0; i < f->now_count; i++) {
		if (!is_named(&f->now[i], gpu, 1))
			continue;
		switch (look(f, &f->now[i], ids)) {
		case PRESENT:
			return;
		case UNKNOWN:
			unread = &f->now[i];
			break;
		case ABSENT:
			empty = &f->now[i];
			break;
		}
	}
	if (unread || empty) {
		note(v, unread ? VERIFY_UNREAD : VERIFY_NOTHING, unread ? unread : empty, 0, ids);
		return;
	}
	if (v->fault != VERIFY_GOOD)
		return;
	v->fault = VERIFY_UNSHOWN;
	v->gpu = gpu->physical;
	v->mig = -1;
	snprintf(v->uuid, sizeof(v->uuid), "%s", gpu->uuid);
}

static enum verify_how how(const struct verify_facts *f, bool ids)
{
	for (int i = 0; ids && i < f->now_count; i++)
		if (!*f->now[i].why && !f->now[i].listed)
			return VERIFY_BY_BOTH;
	return ids ? VERIFY_BY_PROCESS : VERIFY_BY_DIFFERENCE;
}

void verify_judge(struct verify_verdict *v, const struct verify_facts *f)
{
	bool ids = ids_are_ours(f);

	memset(v, 0, sizeof(*v)); /* it is sent */
	v->how = (int32_t)how(f, ids);
	find_strays(f, ids, v);
	for (int i = 0; i < f->own_count; i++)
		find_named(f, ids, &f->own[i], v);
}
