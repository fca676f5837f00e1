/* SPDX-License-Identifier: MIT */
/* The replicas of a module: the devices of device_ids, for every mode (rules G1, G10). */
#include "resolve/resolve.h"

void replicas_fill(struct resolver *resolver)
{
	gpumap_mapping *mapping = resolver->mapping;
	const char *value = resolver->keys[KEY_device_ids].value;
	const char *origin = resolver->request->origins[KEY_device_ids];
	struct span rest, part;
	size_t room = 1;

	for (const char *c = value; c && *c; c++)
		room += *c == ',';
	if (!value)
		room = mapping->visible_count;
	mapping->replicas = arena_alloc(resolver->arena, room, sizeof(*mapping->replicas));
	if (!mapping->replicas)
		return;
	if (!value) {
		for (size_t i = 0; i < room; i++)
			mapping->replicas[i] = &mapping->visible[i];
		mapping->replica_count = room;
		return;
	}
	rest = span_of(value);
	while (span_split(&rest, ',', &part)) {
		struct device_choice c = device_parse(span_trim(part));
		const gpumap_entry *entry = logical_device(resolver, c.index, "device_ids", origin);

		if (!entry) {
			mapping->replica_count = 0;
			return;
		}
		mapping->replicas[mapping->replica_count++] = entry;
	}
}

bool replicas_named(const struct resolver *resolver)
{
	return resolver->keys[KEY_device_ids].value != NULL;
}

static const gpumap_device *gpu_of(const gpumap_entry *entry)
{
	return entry_decided(entry) ? entry->candidates[0]->gpu : NULL;
}

/* Replicas of one GPU side by side, and among them those of one logical device. */
static int by_gpu(const void *a, const void *b)
{
	const gpumap_entry *x = *(const gpumap_entry *const *)a,
			   *y = *(const gpumap_entry *const *)b;
	uintptr_t i = (uintptr_t)gpu_of(x), k = (uintptr_t)gpu_of(y);

	if (i != k)
		return i < k ? -1 : 1;
	return (x->logical > y->logical) - (x->logical < y->logical);
}

void replicas_neighbours(struct neighbours *ret, struct resolver *resolver)
{
	const gpumap_mapping *mapping = resolver->mapping;
	const gpumap_entry **sorted =
		arena_alloc(resolver->arena, mapping->replica_count, sizeof(*sorted));

	*ret = (struct neighbours){NULL, NULL, NULL};
	if (!sorted)
		return;
	memcpy(sorted, mapping->replicas, mapping->replica_count * sizeof(*sorted));
	qsort(sorted, mapping->replica_count, sizeof(*sorted), by_gpu);
	for (size_t i = 1; i < mapping->replica_count; i++) {
		if (sorted[i] == sorted[i - 1]) {
			ret->repeat = ret->repeat ? ret->repeat : sorted[i];
		} else if (!ret->a && gpu_of(sorted[i]) &&
			   gpu_of(sorted[i]) == gpu_of(sorted[i - 1])) {
			ret->a = sorted[i - 1];
			ret->b = sorted[i];
		}
	}
}

void replicas_warn_same_gpu(struct resolver *resolver, const struct neighbours *near)
{
	if (near->a)
		report_add(resolver->report, FINDING_SAME_ADDRESS,
			   ABOUT(.rule = "G10", .fix = "use devices of different GPUs"),
			   "cuda:%d and cuda:%d are MIG instances of GPU %d: NCCL refuses them",
			   near->a->logical, near->b->logical, gpu_of(near->a)->physical);
}

void replicas_check_decided(struct resolver *resolver)
{
	const gpumap_mapping *mapping = resolver->mapping;

	for (size_t i = 0; i < mapping->replica_count; i++)
		if (!entry_decided(mapping->replicas[i]) && !resolver->failed)
			answer_undecidable(resolver, mapping->replicas[i]);
}

bool module_on_cpu(const struct resolver *resolver)
{
	const char *device = resolver->keys[KEY_device].value;

	return device && device_parse(span_of(device)).kind == CHOICE_CPU;
}
