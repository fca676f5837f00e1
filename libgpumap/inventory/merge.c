/* SPDX-License-Identifier: MIT */
/* Which GPU a line is about. */
#include "inventory/merge.h"

#include <stdio.h>

/* A UUID that nobody has: all zero but for a counter, as tools that mask write it. */
static bool is_blanked(struct span digits)
{
	for (size_t i = 9; i < 23; i++)
		if (digits.text[i] != '0' && digits.text[i] != '-')
			return false;
	return true;
}

static void note_masked(struct recorded *r, struct span uuid)
{
	if (r->masked.text)
		return;
	r->masked.line = r->line;
	r->masked.text = arena_printf(&r->arena, "%s", QUOTE(uuid));
}

/* The UUID as a key, or NO_SPAN when it is hidden or not complete. */
static struct span usable_uuid(struct recorded *r, struct span uuid)
{
	struct span digits = uuid;

	if (!uuid.text || !uuid.length || is_no_value(uuid))
		return NO_SPAN;
	if (!take(&digits, "GPU-") && take(&digits, "MIG-"))
		take(&digits, "GPU-");
	for (size_t i = 0; i < digits.length; i++)
		if (digits.text[i] == '/')
			digits.length = i;
	/* /proc prints "????????-..." until the driver has initialised the GPU. */
	if (digits.length && digits.text[0] == '?')
		return NO_SPAN;
	if (is_full_uuid(digits, "") && !is_blanked(digits))
		return uuid;
	note_masked(r, uuid);
	return NO_SPAN;
}

static int new_gpu(struct recorded *r)
{
	if (r->inventory->count >= GPUMAP_MAX_DEVICES)
		return recorded_limit(r, "more than %d GPUs", GPUMAP_MAX_DEVICES);
	if (!inventory_add(r->inventory))
		return recorded_nomem(r);
	return (int)r->inventory->count - 1;
}

/* Makes *at and `other` (-1: none) one GPU. */
static int join(struct recorded *r, int *at, int other)
{
	if (*at >= 0 && other >= 0 && *at != other)
		return absorb(r, *at, other);
	if (*at < 0)
		*at = other;
	return GPUMAP_OK;
}

/* The GPU that has one of these keys; -1 in *at: none. */
static int find(struct recorded *r, struct span index, struct span uuid, struct span pci, int *at)
{
	int code = GPUMAP_OK;

	*at = index.text ? lookup_get(r, BY_INDEX, index) : -1;
	if (uuid.text)
		code = join(r, at, lookup_get(r, BY_UUID, uuid));
	if (code == GPUMAP_OK && pci.text)
		code = join(r, at, lookup_get(r, BY_PCI, pci));
	return code;
}

int recorded_gpu(struct recorded *r, const struct seen *seen)
{
	struct span uuid = usable_uuid(r, seen->uuid), pci = NO_SPAN, index = NO_SPAN;
	char address[20], number[24];
	int at = -1, code;

	if (seen->index >= GPUMAP_MAX_DEVICES)
		return recorded_limit(r, "a GPU's index is past %d", GPUMAP_MAX_DEVICES - 1);
	if (seen->index >= 0) {
		snprintf(number, sizeof(number), "%lld", (long long)seen->index);
		index = span_of(number);
	}
	if (seen->pci.text && pci_normalise(seen->pci, address))
		pci = span_of(address);
	code = find(r, index, uuid, pci, &at);
	if (code != GPUMAP_OK)
		return code;
	if (at < 0)
		at = new_gpu(r);
	if (at < 0)
		return at;
	code = set_index(r, at, seen->index);
	if (code == GPUMAP_OK)
		code = set_key(r, at, BY_UUID, uuid);
	if (code == GPUMAP_OK)
		code = set_key(r, at, BY_PCI, pci);
	if (code == GPUMAP_OK)
		code = set_members(r, at, seen);
	return code == GPUMAP_OK ? at : code;
}

/* Until the end a MIG instance keeps its number in `index`. */
static gpumap_device *mig_numbered(gpumap_device *gpu, int64_t number)
{
	for (size_t i = 0; i < gpu->mig_count; i++)
		if (gpu->mig[i].index == number)
			return &gpu->mig[i];
	return NULL;
}

static bool differs(int a, int64_t b)
{
	return a >= 0 && b >= 0 && a != b;
}

int recorded_mig(struct recorded *r, int position, const struct seen_mig *seen)
{
	gpumap_device *gpu = &r->inventory->gpus[position];
	struct span uuid = usable_uuid(r, seen->uuid);
	gpumap_device *mig = mig_numbered(gpu, seen->number);

	if (!mig) {
		if (gpu->mig_count >= MAX_MIG)
			return recorded_limit(r, "%s has more than %d MIG instances", who(r, gpu),
					      MAX_MIG);
		mig = device_add_mig(gpu);
		if (!mig)
			return recorded_nomem(r);
		mig->index = (int)seen->number;
	}
	if ((uuid.text && mig->uuid && !span_is(uuid, mig->uuid)) || differs(mig->gi, seen->gi) ||
	    differs(mig->ci, seen->ci))
		return recorded_contradiction(r, "MIG device %d of %s is listed twice, differently",
					      (int)seen->number, who(r, gpu));
	if ((uuid.text && !mig->uuid && !member_set(&mig->uuid, uuid)) ||
	    (seen->profile.text && !mig->profile && !member_set(&mig->profile, seen->profile)))
		return recorded_nomem(r);
	if (seen->gi >= 0)
		mig->gi = (int)seen->gi;
	if (seen->ci >= 0)
		mig->ci = (int)seen->ci;
	if (seen->memory >= 0)
		mig->memory = seen->memory;
	return GPUMAP_OK;
}

static int by_index(const void *a, const void *b)
{
	const gpumap_device *x = *(gpumap_device *const *)a, *y = *(gpumap_device *const *)b;

	return (x->index > y->index) - (x->index < y->index);
}

static int by_pci(const void *a, const void *b)
{
	const gpumap_device *x = *(gpumap_device *const *)a, *y = *(gpumap_device *const *)b;

	return pci_compare(x->pci, y->pci);
}

struct sides {
	gpumap_device **with, **without; /* an index */
	size_t with_count, without_count;
	bool addresses; /* all GPUs without an index have a PCI address */
	bool keyless;	/* none of them has a key at all */
};

static void split(gpumap_inventory *inventory, struct sides *s)
{
	s->addresses = s->keyless = true;
	for (size_t i = 0; i < inventory->count; i++) {
		gpumap_device *d = &inventory->gpus[i];

		if (d->physical == DEAD)
			continue;
		if (d->index >= 0) {
			s->with[s->with_count++] = d;
			continue;
		}
		s->without[s->without_count++] = d;
		s->addresses = s->addresses && d->pci;
		s->keyless = s->keyless && !d->pci && !d->uuid;
	}
}

/* nvidia-smi numbers in PCI order and prints in that order. */
static int pair(struct recorded *r, struct sides *s)
{
	gpumap_device *gpus = r->inventory->gpus;
	int code = GPUMAP_OK;

	qsort(s->with, s->with_count, sizeof(*s->with), by_index);
	if (s->addresses)
		qsort(s->without, s->without_count, sizeof(*s->without), by_pci);
	for (size_t i = 0; code == GPUMAP_OK && i < s->with_count; i++) {
		gpumap_device *a = s->with[i], *b = s->without[i];

		if (a->name && b->name && !names_agree(span_of(a->name), span_of(b->name)))
			return recorded_contradiction(r,
						      "%s is a '%s' in one part and a '%s' in "
						      "another",
						      who(r, a), a->name, b->name);
		code = absorb(r, (int)(a - gpus), (int)(b - gpus));
	}
	return code;
}

static int reconcile(struct recorded *r, struct sides *s)
{
	if (!s->with_count && s->without_count && s->keyless)
		recorded_partial(r, "add index or uuid to the query",
				 "GPUs are named by model alone; one is taken for each row");
	if (!s->with_count || !s->without_count)
		return GPUMAP_OK;
	if (s->with_count == s->without_count)
		return pair(r, s);
	if (!s->keyless)
		return recorded_contradiction(r,
					      "%zu GPUs are numbered, %zu others are not, and "
					      "nothing tells which is which",
					      s->with_count, s->without_count);
	recorded_partial(r, "add index or uuid to the query",
			 "%zu rows name no GPU by index, UUID or PCI address and are left out",
			 s->without_count);
	for (size_t i = 0; i < s->without_count; i++) {
		free(s->without[i]->name);
		s->without[i]->name = NULL;
		s->without[i]->physical = DEAD;
	}
	return GPUMAP_OK;
}

static void drop_dead(gpumap_inventory *inventory)
{
	size_t kept = 0;

	for (size_t i = 0; i < inventory->count; i++) {
		gpumap_device *d = &inventory->gpus[i];

		if (d->physical == DEAD)
			continue;
		for (size_t k = 0; k < d->mig_count; k++)
			d->mig[k].index = -1;
		inventory->gpus[kept++] = *d;
	}
	inventory->count = kept;
}

int recorded_link(struct recorded *r)
{
	size_t room = r->inventory->count + 1;
	struct sides s = {0};
	int code;

	r->line = 0;
	s.with = malloc(2 * room * sizeof(gpumap_device *));
	if (!s.with)
		return recorded_nomem(r);
	s.without = s.with + room;
	split(r->inventory, &s);
	code = reconcile(r, &s);
	free(s.with);
	drop_dead(r->inventory);
	return code;
}
