/* SPDX-License-Identifier: MIT */
/* A hash table over the GPUs read so far: recorded text may hold tens of thousands. */
#include "inventory/merge.h"

#include <limits.h>

static uint32_t hash_of(enum kind kind, struct span key)
{
	uint32_t h = 2166136261u ^ (uint32_t)kind;

	for (size_t i = 0; i < key.length; i++)
		h = (h ^ (unsigned char)key.text[i]) * 16777619u;
	return h ^ h >> 15;
}

static bool has_key(const gpumap_device *d, enum kind kind, struct span key)
{
	if (kind == BY_INDEX)
		return d->index >= 0 && span_number(key, INT_MAX) == d->index;
	if (kind == BY_UUID)
		return d->uuid && span_is(key, d->uuid);
	return d->pci && span_is(key, d->pci);
}

int lookup_get(struct recorded *r, enum kind kind, struct span key)
{
	struct lookup *l = &r->lookup;
	uint32_t hash = hash_of(kind, key);

	for (size_t i = hash; l->room; i++) {
		struct slot *slot = &l->slots[i & (l->room - 1)];

		if (!slot->position)
			break;
		if (slot->hash == hash &&
		    has_key(&r->inventory->gpus[slot->position - 1], kind, key))
			return slot->position - 1;
	}
	return -1;
}

static void place(struct slot *slots, size_t room, struct slot slot)
{
	size_t i = slot.hash;

	while (slots[i & (room - 1)].position)
		i++;
	slots[i & (room - 1)] = slot;
}

int lookup_put(struct recorded *r, enum kind kind, struct span key, int position)
{
	struct lookup *l = &r->lookup;

	if (l->used * 2 >= l->room) {
		size_t room = l->room ? l->room * 2 : 64;
		struct slot *slots = calloc(room, sizeof(*slots));

		if (!slots)
			return recorded_nomem(r);
		for (size_t i = 0; i < l->room; i++)
			if (l->slots[i].position)
				place(slots, room, l->slots[i]);
		free(l->slots);
		l->slots = slots;
		l->room = room;
	}
	place(l->slots, l->room, (struct slot){hash_of(kind, key), position + 1});
	l->used++;
	return GPUMAP_OK;
}

int recorded_by_pci(struct recorded *r, const char *pci)
{
	return lookup_get(r, BY_PCI, span_of(pci));
}
