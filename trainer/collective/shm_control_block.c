/* SPDX-License-Identifier: MIT */
/* See shm_control_block.h. */
#include "collective/shm_control_block.h"

static size_t rounded(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

/* Chunks of all ranks together stay in the last cache. */
static size_t chunk_of(int world)
{
	size_t max = (size_t)1 << 19, least = (size_t)1 << 14;
	size_t fair = ((size_t)1 << 23) / (size_t)world / least * least;

	return fair > max ? max : fair < least ? least : fair;
}

static size_t slots_end(int world)
{
	return sizeof(struct shm_control_block) + (size_t)world * sizeof(struct shm_slot);
}

static size_t boxes_end(int world)
{
	return slots_end(world) + (size_t)world * (size_t)world * sizeof(struct shm_box);
}

void shm_control_plan(struct rendezvous *rendezvous)
{
	int world = rendezvous->options.world;
	size_t page = 4096;

	rendezvous->chunk = rendezvous->threads ? 0 : chunk_of(world);
	rendezvous->bytes = rounded(boxes_end(world), page) + 2 * (size_t)world * rendezvous->chunk;
}

void shm_control_at(struct rendezvous *rendezvous, void *memory)
{
	unsigned char *at = memory;
	int world = rendezvous->options.world;

	rendezvous->control = memory;
	rendezvous->boxes = (void *)(at + slots_end(world));
	rendezvous->chunks = at + rendezvous->bytes - 2 * (size_t)world * rendezvous->chunk;
}

static uint64_t layout(void)
{
	return (uint64_t)sizeof(struct shm_slot) << 32 | sizeof(struct shm_box) << 16 |
	       sizeof(struct shm_control_block);
}

bool shm_control_ours(const struct shm_control_block *control)
{
	return control->layout == layout() && control->world > 0;
}

void shm_control_begin(struct rendezvous *rendezvous)
{
	struct shm_control_block *control = rendezvous->control;

	control->world = rendezvous->options.world;
	atomic_store(&control->memory_end, rendezvous->bytes);
	control->layout = layout();
}
