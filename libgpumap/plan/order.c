/* SPDX-License-Identifier: MIT */
/* The order in which ranks take devices, and the entries of these devices in a list. */
#include "plan/build.h"
#include "text/pci.h"

static int compare_pci(const gpumap_device *a, const gpumap_device *b)
{
	const char *x = a->gpu->pci, *y = b->gpu->pci;

	if (x && y && !streq(x, y))
		return pci_compare(x, y);
	if (!x != !y)
		return x ? -1 : 1;
	if (a->physical != b->physical)
		return a->physical < b->physical ? -1 : 1;
	return (a->mig_position > b->mig_position) - (a->mig_position < b->mig_position);
}

static int by_pci(const void *a, const void *b)
{
	return compare_pci(*(const gpumap_device *const *)a, *(const gpumap_device *const *)b);
}

/* The first NUMA node; INT64_MAX: not known. */
static int64_t node_key(const gpumap_device *device)
{
	int64_t node = device_node(device);

	return node >= 0 ? node : INT64_MAX;
}

static int by_node(const void *a, const void *b)
{
	const gpumap_device *x = *(const gpumap_device *const *)a,
			    *y = *(const gpumap_device *const *)b;
	int64_t i = node_key(x), k = node_key(y);

	return i != k ? (i > k) - (i < k) : compare_pci(x, y);
}

/* Paths along NVLinks, so that neighbours in the plan are connected on the board. */
struct chain {
	const struct host_class *class;
	const struct device_index *index;
	const gpumap_device **sorted;
	/* by place in the inventory: the GPU's position in `sorted`, plus one; 0: none */
	size_t *position;
	bool *used; /* by place of the GPU */
	size_t count;
};

static size_t gpu_place(const struct chain *c, const gpumap_device *device)
{
	return device_place(c->class->host->inventory, device->gpu);
}

/* The k-th neighbour of this GPU if it is not used yet, else NULL. */
static const gpumap_device *neighbour(const struct chain *c, const gpumap_device *gpu, int k)
{
	const gpumap_device *other = device_by_number(c->index, gpu->nvlink[k]);
	size_t place;

	if (!other || other == gpu)
		return NULL;
	place = gpu_place(c, other);
	return c->position[place] && !c->used[place] ? other : NULL;
}

static int free_neighbours(const struct chain *c, const gpumap_device *gpu)
{
	int n = 0;

	for (int k = 0; k < gpu->nvlink_count; k++)
		n += neighbour(c, gpu, k) != NULL;
	return n;
}

/* The neighbour that would be hardest to reach later; of equal ones the first in PCI order. */
static const gpumap_device *next_gpu(const struct chain *c, const gpumap_device *gpu)
{
	const gpumap_device *best = NULL;
	int fewest = 0;

	for (int k = 0; k < gpu->nvlink_count; k++) {
		const gpumap_device *other = neighbour(c, gpu, k);
		int n = other ? free_neighbours(c, other) : 0;

		if (other &&
		    (!best || n < fewest || (n == fewest && compare_pci(other, best) < 0))) {
			best = other;
			fewest = n;
		}
	}
	return best;
}

/* Writes a path through `start` into ret, extended at its end and then at its head. */
static size_t grow_path(struct chain *c, const gpumap_device *start, const gpumap_device **ret)
{
	const gpumap_device *gpu;
	size_t n = 0, tail;

	c->used[gpu_place(c, start)] = true;
	ret[n++] = start;
	for (gpu = next_gpu(c, start); gpu; gpu = next_gpu(c, gpu)) {
		c->used[gpu_place(c, gpu)] = true;
		ret[n++] = gpu;
	}
	tail = n;
	for (gpu = next_gpu(c, start); gpu; gpu = next_gpu(c, gpu)) {
		c->used[gpu_place(c, gpu)] = true;
		ret[n++] = gpu;
	}
	if (n == tail)
		return n;
	/* turns start..end, head.. into end..start, head.. */
	for (size_t i = 0, k = tail - 1; i < k; i++, k--) {
		const gpumap_device *swap = ret[i];

		ret[i] = ret[k];
		ret[k] = swap;
	}
	return n;
}

/* Writes the devices of a path's GPUs back, a GPU's MIG instances in their order. */
static size_t put_path(const struct chain *c, const gpumap_device *const *path, size_t n,
		       const gpumap_device **ret)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = c->position[gpu_place(c, path[i])] - 1;
		     k < c->count && c->sorted[k]->gpu == path[i]; k++)
			ret[count++] = c->sorted[k];
	return count;
}

static int by_link(struct builder *b, struct host_class *class, const struct device_index *index)
{
	struct chain c = {.class = class, .index = index, .count = class->count};
	const gpumap_device **path = arena_alloc(&b->temp, class->count + 1, sizeof(*path));
	size_t gpus = class->host->inventory->count, n = 0;

	c.sorted = arena_alloc(&b->temp, class->count + 1, sizeof(*c.sorted));
	c.position = arena_alloc(&b->temp, gpus + 1, sizeof(*c.position));
	c.used = arena_alloc(&b->temp, gpus + 1, sizeof(*c.used));
	if (!path || !c.sorted || !c.position || !c.used)
		return plan_nomem(b);
	memcpy(c.sorted, class->devices, class->count * sizeof(*c.sorted));
	qsort(c.sorted, c.count, sizeof(*c.sorted), by_pci);
	for (size_t i = c.count; i > 0; i--)
		c.position[gpu_place(&c, c.sorted[i - 1])] = i;
	for (size_t i = 0; i < c.count; i++) {
		if (c.used[gpu_place(&c, c.sorted[i])])
			continue;
		n += put_path(&c, path, grow_path(&c, c.sorted[i]->gpu, path), class->devices + n);
	}
	return GPUMAP_OK;
}

int order_rank_devices(struct builder *b, struct host_class *class,
		       const struct device_index *index)
{
	bool links = false, nodes = false;

	for (size_t i = 0; i < class->count; i++) {
		links = links || class->devices[i]->gpu->nvlink_count >= 0;
		nodes = nodes || device_node(class->devices[i]) >= 0;
	}
	if (class->count > 1 && ((class->settings->order.word == PLAN_NVLINK && !links) ||
				 (class->settings->order.word == PLAN_NUMA && !nodes)))
		plan_report(b, FINDING_PLAN_UNKNOWN,
			    ABOUT(.origin = class->settings->order.place.origin,
				  .line = class->settings->order.place.line,
				  .fix = "record the host with gpumap inventory --save"),
			    SETTING("order = %s") ": the inventory of %s lacks the data, so PCI "
						  "order is used%s",
			    KEY_WORD(PKEY_PROFILE_order, class->settings->order.word),
			    class->host->name, MORE_HOSTS(class->host_count));
	if (class->count < 2 || class->settings->order.word == PLAN_LISTED)
		return GPUMAP_OK;
	if (class->settings->order.word == PLAN_NVLINK)
		return by_link(b, class, index);
	qsort(class->devices, class->count, sizeof(*class->devices),
	      class->settings->order.word == PLAN_NUMA ? by_node : by_pci);
	return GPUMAP_OK;
}
