/* SPDX-License-Identifier: MIT */
/* Rules S5 and V9: the MIG instances that a process sees. */
#include "resolve/resolve.h"

#include <stdio.h>

enum generation {
	ONE_INSTANCE,  /* up to R525: one instance, and then no ordinary GPU */
	MANY_INSTANCES /* from R570: one compute instance of each GPU instance */
};

enum { MAX_INSTANCES = 64 };

struct expansion {
	struct resolver *resolver;
	gpumap_entry *entries;
	size_t count, room, instances;
	enum generation generation;
	bool stated;  /* the driver's behaviour is documented by NVIDIA */
	size_t named; /* place + 1 of the first instance that the list names; 0: none */
	bool every;   /* there is no list that names them */
};

int64_t driver_major(const char *driver)
{
	if (!driver)
		return -1;
	return span_number((struct span){driver, strspn(driver, "0123456789")}, INT32_MAX);
}

static void find_generation(struct expansion *x)
{
	int64_t major = driver_major(x->resolver->driver);

	x->stated = major >= 570 || (major >= 0 && major < 526);
	x->generation = major >= 0 && major < 570 ? ONE_INSTANCE : MANY_INSTANCES;
	if (x->resolver->dialect == DIALECT_NVITOP) {
		x->generation = ONE_INSTANCE;
		x->stated = true;
	}
}

/* Without an inventory the GPU of an instance is not known, so the instance is listed without it.
 */
static bool is_mig(const gpumap_entry *entry)
{
	const gpumap_device *d = entry->candidates[0];

	return d != d->gpu || (d->uuid && starts_with(d->uuid, "MIG-"));
}

static void add(struct expansion *x, const gpumap_device **candidates, size_t count,
		enum gpumap_certainty certainty)
{
	gpumap_entry *entries =
		arena_room(x->resolver->arena, x->entries, x->count, &x->room, sizeof(*entries));

	if (!entries)
		return;
	x->entries = entries;
	x->entries[x->count] = (gpumap_entry){(int)x->count, certainty, candidates, count};
	if (is_mig(&x->entries[x->count]) && ++x->instances > MAX_INSTANCES)
		return; /* at most 64 are enumerated; the others stay hidden */
	x->count++;
}

/* How many of the instances from `first` on belong to its GPU instance. If the source has no GPU
 * instances, the profiles show it: 1c.3g is one slice of three. */
static size_t same_instance(const gpumap_device *gpu, size_t first)
{
	int taken = 0, slices = 0, size = 0, one, of;
	size_t n = 0;

	for (size_t i = first; i < gpu->mig_count; i++, n++) {
		const gpumap_device *m = &gpu->mig[i];

		if (gpu->mig[first].gi >= 0 || m->gi >= 0) {
			if (m->gi != gpu->mig[first].gi)
				break;
			continue;
		}
		if (!m->profile || sscanf(m->profile, "%1dc.%1dg", &one, &of) != 2)
			return n ? n : 1;
		if (n && (of != size || taken + one > slices))
			return n;
		size = slices = of;
		taken += one;
	}
	return n;
}

static enum gpumap_certainty certainty_max(enum gpumap_certainty a, enum gpumap_certainty b)
{
	return a > b ? a : b;
}

/* Every device is visible: one compute instance of each GPU instance. */
static void add_every(struct expansion *x, const gpumap_device *gpu,
		      enum gpumap_certainty certainty)
{
	for (size_t i = 0, n; i < gpu->mig_count; i += n) {
		const gpumap_device **candidates;

		n = same_instance(gpu, i);
		candidates = arena_alloc(x->resolver->arena, n, sizeof(*candidates));
		if (!candidates)
			return;
		for (size_t k = 0; k < n; k++)
			candidates[k] = &gpu->mig[i + k];
		add(x, candidates, n, n > 1 ? GPUMAP_CERTAINTY_UNDECIDABLE : certainty);
	}
}

static void warn_index(struct expansion *x, const gpumap_device *gpu)
{
	report_add(
		x->resolver->report, FINDING_MIG_UNKNOWN,
		ABOUT(.rule = "V9", .fix = "name the instance: MIG-UUID, from nvidia-smi -L"),
		"GPU %d has MIG enabled: what its number or UUID means is undocumented, assumed %s",
		gpu->physical,
		gpu->mig_count ? "its first instance" : "an instance not listed here");
}

static void expand_ordinal(struct expansion *x, const struct ordinal *ordinal, bool every)
{
	const gpumap_device *d = ordinal->candidates[0];
	const gpumap_device **first;
	bool known;

	if (d != d->gpu && !x->named)
		x->named = x->count + 1;
	if (ordinal->count != 1 || d != d->gpu || d->mig_enabled != 1) {
		add(x, ordinal->candidates, ordinal->count, ordinal->certainty);
		return;
	}
	if (every && d->mig_count) {
		add_every(x, d, ordinal->certainty);
		return;
	}
	known = x->resolver->dialect == DIALECT_NVITOP && d->mig_count;
	if (!known)
		warn_index(x, d);
	first = arena_alloc(x->resolver->arena, 1, sizeof(*first));
	if (!first)
		return;
	*first = d->mig_count ? &d->mig[0] : d;
	add(x, first, 1,
	    known ? ordinal->certainty
		  : certainty_max(ordinal->certainty, GPUMAP_CERTAINTY_ASSUMED));
}

/* The first of the instances that share this one's GPU instance. */
static size_t first_of(const gpumap_device *mig)
{
	size_t first = 0, n;

	while ((n = same_instance(mig->gpu, first)) && first + n <= (size_t)mig->mig_position)
		first += n;
	return first;
}

static bool share_instance(const gpumap_device *a, const gpumap_device *b)
{
	if (a->gpu != b->gpu || a == a->gpu)
		return false;
	return a->gi >= 0 ? a->gi == b->gi : first_of(a) == first_of(b);
}

/* Two compute instances of one GPU instance: CUDA picks one of them. */
static void merge_instances(struct expansion *x)
{
	size_t kept = 0;

	for (size_t i = 0; i < x->count; i++) {
		const gpumap_device *d = x->entries[i].candidates[0];
		size_t k = is_mig(&x->entries[i]) ? 0 : kept;

		while (k < kept && !share_instance(x->entries[k].candidates[0], d))
			k++;
		if (k < kept) {
			gpumap_entry *e = &x->entries[k];
			const gpumap_device **both =
				arena_alloc(x->resolver->arena, e->count + 1, sizeof(*both));

			if (!both)
				return;
			memcpy(both, e->candidates, e->count * sizeof(*both));
			both[e->count++] = d;
			e->candidates = both;
			e->certainty = GPUMAP_CERTAINTY_UNDECIDABLE;
			step_add(x->resolver, "V9", NULL,
				 "of two compute instances of one GPU instance CUDA picks one");
			continue;
		}
		x->entries[kept] = x->entries[i];
		x->entries[kept].logical = (int)kept;
		kept++;
	}
	x->count = kept;
}

static void keep_one(struct expansion *x)
{
	/* nvitop looks at the instances of the list before those of its GPUs. */
	size_t i = x->resolver->dialect == DIALECT_NVITOP && x->named ? x->named - 1 : 0;

	while (!is_mig(&x->entries[i]))
		i++;
	x->entries[0] = x->entries[i];
	x->entries[0].logical = 0;
	/* The first of undecided compute instances is picked. */
	if (x->entries[0].count > 1) {
		x->entries[0].count = 1;
		x->entries[0].certainty = GPUMAP_CERTAINTY_ASSUMED;
	}
	x->count = 1;
	step_add(x->resolver, "V9", NULL,
		 "drivers up to R525 show one MIG instance, and then no other device");
}

static void warn_hidden(struct expansion *x, size_t named)
{
	const struct effective *list = x->resolver->list;

	report_add(x->resolver->report, FINDING_ONE_INSTANCE,
		   ABOUT(.rule = "V9", .origin = list ? list->origin : NULL,
			 .fix = "start one process for each instance"),
		   "of %zu devices in the list one MIG instance is visible: %s shows no more",
		   named, x->resolver->dialect == DIALECT_NVITOP ? "nvitop" : "this driver");
}

static void apply_generation(struct expansion *x)
{
	size_t before = x->count;

	if (x->generation == ONE_INSTANCE) {
		keep_one(x);
		if (before > 1 && !x->every && x->stated)
			warn_hidden(x, before);
	} else {
		merge_instances(x);
	}
	if (x->stated || before < 2)
		return;
	for (size_t i = 0; i < x->count; i++)
		x->entries[i].certainty =
			certainty_max(x->entries[i].certainty, GPUMAP_CERTAINTY_ASSUMED);
	report_add(
		x->resolver->report, FINDING_MIG_GENERATION,
		ABOUT(.rule = "V9", .fix = "give the driver's version: --driver 570"),
		x->resolver->driver
			? "what drivers between R525 and R570 show with MIG is not stated: one "
			  "instance is assumed"
			: "drivers up to R525 show one MIG instance, from R570 on one of each GPU "
			  "instance: the latter is assumed");
}

void mig_expand(struct resolver *resolver, const struct ordinal *ordinals, size_t count, bool every)
{
	struct expansion x = {.resolver = resolver, .every = every};

	find_generation(&x);
	for (size_t i = 0; i < count; i++)
		expand_ordinal(&x, &ordinals[i], every);
	if (x.instances)
		apply_generation(&x);
	resolver->mapping->visible = x.entries;
	resolver->mapping->visible_count = x.count;
}
