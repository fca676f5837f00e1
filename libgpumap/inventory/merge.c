/* SPDX-License-Identifier: MIT */
/* Finds the GPU that a line of recorded text is about, and merges what several lines state of one.
 */
#include "inventory/recorded.h"

#include <limits.h>

#include "memory.h"
#include "text/pci.h"

enum { DEAD = -2 }; /* in `physical`: joined into another, dropped by recorded_link */

enum kind { BY_INDEX, BY_UUID, BY_PCI };

/* --- a hash table over the GPUs read so far: there may be tens of thousands ------------------ */

static uint64_t hash_of(enum kind kind, struct span key)
{
	return hash_bytes(HASH_START ^ (uint64_t)kind, key.text, key.length);
}

static bool has_key(const gpumap_device *d, enum kind kind, struct span key)
{
	if (kind == BY_INDEX)
		return d->index >= 0 && span_number(key, INT_MAX) == d->index;
	if (kind == BY_UUID)
		return d->uuid && span_is(key, d->uuid);
	return d->pci && span_is(key, d->pci);
}

/* Position of the GPU with this key, -1. Indices are given as text. */
static int lookup_get(struct recorded *r, enum kind kind, struct span key)
{
	for (size_t walk = 0, i; hash_index_next(&r->lookup, hash_of(kind, key), &walk, &i);)
		if (has_key(&r->inventory->gpus[i], kind, key))
			return (int)i;
	return -1;
}

static void lookup_put(struct recorded *r, enum kind kind, struct span key, int position)
{
	if (!hash_index_add(&r->lookup, hash_of(kind, key), (size_t)position))
		recorded_nomem(r);
}

int recorded_by_pci(struct recorded *r, const char *pci)
{
	return lookup_get(r, BY_PCI, span_of(pci));
}

/* --- members of a GPU: different keys are two GPUs, other differences are reported ------------ */

/* The name of a GPU in messages. */
static const char *who(struct recorded *r, const gpumap_device *d)
{
	const char *text = "a GPU";

	if (d->index >= 0)
		text = arena_printf(&r->arena, "GPU %d", d->index);
	else if (d->uuid || d->pci)
		text = arena_printf(&r->arena, "the GPU %s", d->uuid ? d->uuid : d->pci);
	return text ? text : "a GPU";
}

static void two_values(struct recorded *r, const gpumap_device *d, const char *what, const char *a,
		       struct span b)
{
	recorded_contradiction(r, "%s has the %s %s and the %s %s", who(r, d), what, a, what,
			       QUOTE(b));
}

static void disagree(struct recorded *r, const gpumap_device *d, const char *what, struct span a,
		     struct span b)
{
	if (r->disagreed || r->code != GPUMAP_OK)
		return;
	r->disagreed = true;
	report_add(r->report, FINDING_CONTRADICTION,
		   ABOUT(.origin = r->origin, .line = r->line,
			 .fix = "check that all parts come from one machine"),
		   "%s has the %s '%s' and the %s '%s'; the first is taken", who(r, d), what,
		   QUOTE(a), what, QUOTE(b));
}

/* Each sets a member of the GPU at `at`, or checks that it is the same. The first value wins. */
static void set_index(struct recorded *r, int at, int64_t index)
{
	gpumap_device *d = &r->inventory->gpus[at];
	const char *text = FORMAT("%lld", (long long)index);

	if (index < 0 || index == d->index)
		return;
	if (d->index >= 0)
		recorded_contradiction(r, "%s is also GPU %s", who(r, d), text);
	d->index = (int)index;
	lookup_put(r, BY_INDEX, span_of(text), at);
}

static void set_key(struct recorded *r, int at, enum kind kind, struct span value)
{
	gpumap_device *d = &r->inventory->gpus[at];
	char **member = kind == BY_UUID ? &d->uuid : &d->pci;

	if (!value.text || (*member && span_is(value, *member)))
		return;
	if (*member)
		two_values(r, d, kind == BY_UUID ? "UUID" : "PCI address", *member, value);
	else if (!member_set(member, value))
		recorded_nomem(r);
	else
		lookup_put(r, kind, value, at);
}

/* nvidia-smi's table cuts names: "NVIDIA A100-SXM..." is the start of the full one. */
static bool is_start_of(struct span cut, struct span name)
{
	if (cut.length < 3 || memcmp(cut.text + cut.length - 3, "...", 3) != 0)
		return false;
	cut.length -= 3;
	cut = span_trim(cut);
	return name.length >= cut.length && memcmp(name.text, cut.text, cut.length) == 0;
}

static bool names_agree(struct span a, struct span b)
{
	return span_same(a, b) || is_start_of(a, b) || is_start_of(b, a);
}

static void set_name(struct recorded *r, int at, struct span name)
{
	gpumap_device *d = &r->inventory->gpus[at];

	if (!name.text || !name.length)
		return;
	name = span_of(QUOTE(name));
	if (d->name && !names_agree(span_of(d->name), name))
		disagree(r, d, "name", span_of(d->name), name);
	else if ((!d->name || is_start_of(span_of(d->name), name)) && !member_set(&d->name, name))
		recorded_nomem(r);
}

static void set_list(struct recorded *r, int at, char **member, const char *what, struct span value)
{
	if (!value.text || !is_id_list(value))
		return;
	if (*member && !span_is(value, *member))
		disagree(r, &r->inventory->gpus[at], what, span_of(*member), value);
	else if (!*member && !member_set(member, value))
		recorded_nomem(r);
}

static void set_memory(struct recorded *r, gpumap_device *d, int64_t memory)
{
	if (memory >= 0 && d->memory >= 0 && d->memory != memory)
		disagree(r, d, "memory in MiB",
			 span_of(FORMAT("%lld", (long long)(d->memory / MIB))),
			 span_of(FORMAT("%lld", (long long)(memory / MIB))));
	else if (memory >= 0)
		d->memory = memory;
}

static void set_members(struct recorded *r, int at, const struct seen *seen)
{
	gpumap_device *d = &r->inventory->gpus[at];

	set_name(r, at, seen->name);
	set_list(r, at, &d->numa, "NUMA node", seen->numa);
	set_list(r, at, &d->cpus, "CPU list", seen->cpus);
	set_memory(r, d, seen->memory);
	if (d->minor < 0 && seen->minor <= INT_MAX)
		d->minor = (int)seen->minor;
	if (d->mig_enabled < 0)
		d->mig_enabled = seen->mig_enabled;
}

static struct span known(const char *text)
{
	return text ? span_of(text) : NO_SPAN;
}

/* Two GPUs turn out to be one: merges `from` into `into`. */
static void absorb(struct recorded *r, int into, int from)
{
	gpumap_device *a = &r->inventory->gpus[into], *b = &r->inventory->gpus[from];
	const struct seen seen = {
		.name = known(b->name),
		.numa = known(b->numa),
		.cpus = known(b->cpus),
		.memory = b->memory,
		.minor = b->minor,
		.mig_enabled = b->mig_enabled,
	};

	set_index(r, into, b->index);
	set_key(r, into, BY_UUID, known(b->uuid));
	set_key(r, into, BY_PCI, known(b->pci));
	set_members(r, into, &seen);
	if (b->mig_count && a->mig_count)
		recorded_contradiction(r, "MIG instances of %s are listed twice", who(r, a));
	if (b->nvlink_count >= 0 && a->nvlink_count < 0 &&
	    !device_set_nvlink(a, b->nvlink, (size_t)b->nvlink_count))
		recorded_nomem(r);
	if (r->code != GPUMAP_OK)
		return;
	if (b->mig_count) {
		a->mig = b->mig;
		a->mig_count = b->mig_count;
		b->mig = NULL;
		b->mig_count = 0;
	}
	free(b->uuid);
	free(b->pci);
	free(b->name);
	free(b->numa);
	free(b->cpus);
	free(b->nvlink);
	*b = (gpumap_device){.index = -1, .physical = DEAD};
}

/* --- which GPU ------------------------------------------------------------------------------- */

/* A UUID that no GPU has: all zero except for a counter, as tools write it that hide UUIDs. */
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
	if (!span_skip(&digits, "GPU-") && span_skip(&digits, "MIG-"))
		span_skip(&digits, "GPU-");
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
		recorded_limit(r, "more than %d GPUs", GPUMAP_MAX_DEVICES);
	else if (!inventory_add(r->inventory))
		recorded_nomem(r);
	return r->code == GPUMAP_OK ? (int)r->inventory->count - 1 : -1;
}

/* Makes two places (-1: none) one GPU, and returns its place. */
static int join(struct recorded *r, int at, int other)
{
	if (at >= 0 && other >= 0 && at != other)
		absorb(r, at, other);
	return at < 0 ? other : at;
}

/* The GPU that has one of these keys; -1: none. */
static int find(struct recorded *r, struct span index, struct span uuid, struct span pci)
{
	int at = index.text ? lookup_get(r, BY_INDEX, index) : -1;

	if (uuid.text)
		at = join(r, at, lookup_get(r, BY_UUID, uuid));
	return pci.text ? join(r, at, lookup_get(r, BY_PCI, pci)) : at;
}

int recorded_gpu(struct recorded *r, const struct seen *seen)
{
	struct span uuid = usable_uuid(r, seen->uuid), pci = NO_SPAN, index = NO_SPAN;
	struct quoted number;
	char address[20];
	int at;

	if (seen->index >= GPUMAP_MAX_DEVICES)
		recorded_limit(r, "a GPU's index is past %d", GPUMAP_MAX_DEVICES - 1);
	if (r->code != GPUMAP_OK)
		return -1;
	if (seen->index >= 0)
		index = span_of(format_text(&number, "%lld", (long long)seen->index));
	if (seen->pci.text && pci_normalise(seen->pci, address))
		pci = span_of(address);
	at = find(r, index, uuid, pci);
	if (at < 0)
		at = new_gpu(r);
	if (at < 0)
		return at;
	set_index(r, at, seen->index);
	set_key(r, at, BY_UUID, uuid);
	set_key(r, at, BY_PCI, pci);
	set_members(r, at, seen);
	return r->code == GPUMAP_OK ? at : -1;
}

static int by_number(struct recorded *r, int64_t index)
{
	return lookup_get(r, BY_INDEX, span_of(FORMAT("%lld", (long long)index)));
}

bool recorded_fits(struct recorded *r, int position, int64_t index)
{
	const gpumap_device *d = &r->inventory->gpus[position], *other;
	int at = by_number(r, index);

	if (d->physical == DEAD)
		return false;
	if (at < 0 || at == position || d->index >= 0)
		return d->index < 0 || d->index == index;
	other = &r->inventory->gpus[at];
	return !(d->uuid && other->uuid) && !(d->pci && other->pci);
}

void recorded_number(struct recorded *r, int position, int64_t index)
{
	set_index(r, join(r, position, by_number(r, index)), index);
}

/* Until the end a MIG instance has its number in `index`. */
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

void recorded_mig(struct recorded *r, int position, const struct seen_mig *seen)
{
	gpumap_device *gpu = &r->inventory->gpus[position];
	struct span uuid = usable_uuid(r, seen->uuid);
	gpumap_device *mig = mig_numbered(gpu, seen->number);

	if (!mig) {
		if (gpu->mig_count >= MAX_MIG)
			recorded_limit(r, "%s has more than %d MIG instances", who(r, gpu),
				       MAX_MIG);
		mig = device_add_mig(gpu);
		if (!mig) {
			recorded_nomem(r);
			return;
		}
		mig->index = (int)seen->number;
	}
	if ((uuid.text && mig->uuid && !span_is(uuid, mig->uuid)) || differs(mig->gi, seen->gi) ||
	    differs(mig->ci, seen->ci))
		recorded_contradiction(r, "MIG device %d of %s is listed twice, differently",
				       (int)seen->number, who(r, gpu));
	if ((uuid.text && !mig->uuid && !member_set(&mig->uuid, uuid)) ||
	    (seen->profile.text && !mig->profile && !member_set(&mig->profile, seen->profile)))
		recorded_nomem(r);
	if (seen->gi >= 0)
		mig->gi = (int)seen->gi;
	if (seen->ci >= 0)
		mig->ci = (int)seen->ci;
	if (seen->memory >= 0)
		mig->memory = seen->memory;
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
	bool keyless;   /* none of them has a key at all */
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
static void pair(struct recorded *r, struct sides *s)
{
	gpumap_device *gpus = r->inventory->gpus;

	qsort(s->with, s->with_count, sizeof(*s->with), by_index);
	if (s->addresses)
		qsort(s->without, s->without_count, sizeof(*s->without), by_pci);
	for (size_t i = 0; r->code == GPUMAP_OK && i < s->with_count; i++) {
		gpumap_device *a = s->with[i], *b = s->without[i];

		if (a->name && b->name && !names_agree(span_of(a->name), span_of(b->name)))
			recorded_contradiction(r, "%s is a '%s' in one part and a '%s' in another",
					       who(r, a), a->name, b->name);
		else
			absorb(r, (int)(a - gpus), (int)(b - gpus));
	}
}

static void reconcile(struct recorded *r, struct sides *s)
{
	if (!s->with_count && s->without_count && s->keyless)
		recorded_partial(r, "add index or uuid to the query",
				 "GPUs are named by model alone; one is taken for each row");
	if (!s->with_count || !s->without_count)
		return;
	if (s->with_count == s->without_count) {
		pair(r, s);
		return;
	}
	if (!s->keyless) {
		recorded_contradiction(
			r, "%zu GPUs are numbered, %zu others are not, and they cannot be matched",
			s->with_count, s->without_count);
		return;
	}
	recorded_partial(r, "add index or uuid to the query",
			 "%zu rows name no GPU by index, UUID or PCI address and are left out",
			 s->without_count);
	for (size_t i = 0; i < s->without_count; i++) {
		free(s->without[i]->name);
		s->without[i]->name = NULL;
		s->without[i]->physical = DEAD;
	}
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

void recorded_link(struct recorded *r)
{
	size_t room = r->inventory->count + 1;
	CLEANUP_FREE gpumap_device **gpus = xmalloc(2 * room * sizeof(*gpus));
	struct sides s = {.with = gpus};

	r->line = 0;
	if (!gpus) {
		recorded_nomem(r);
		return;
	}
	s.without = gpus + room;
	split(r->inventory, &s);
	reconcile(r, &s);
	drop_dead(r->inventory);
}
