/* SPDX-License-Identifier: MIT */
#include "collective/shm_board.h"

#include <stdio.h>
#include <string.h>

static size_t rounded(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

/* Chunks of all ranks together stay in the last cache. */
static size_t chunk_of(int world)
{
	size_t most = (size_t)1 << 18, least = (size_t)1 << 14;
	size_t fair = ((size_t)1 << 22) / (size_t)world / least * least;

	return fair > most ? most : fair < least ? least : fair;
}

static size_t slots_end(int world)
{
	return sizeof(struct shm_board) + (size_t)world * sizeof(struct shm_slot);
}

static size_t boxes_end(int world)
{
	return slots_end(world) + (size_t)world * (size_t)world * sizeof(struct shm_box);
}

void shm_board_plan(struct meeting *meeting)
{
	int world = meeting->options.world;
	size_t page = 4096;

	meeting->chunk = meeting->threads ? 0 : chunk_of(world);
	meeting->bytes = rounded(boxes_end(world), page) + 2 * (size_t)world * meeting->chunk;
}

void shm_board_at(struct meeting *meeting, void *memory)
{
	unsigned char *at = memory;
	int world = meeting->options.world;

	meeting->board = memory;
	meeting->boxes = (void *)(at + slots_end(world));
	meeting->chunks = at + meeting->bytes - 2 * (size_t)world * meeting->chunk;
}

static uint64_t layout(void)
{
	return (uint64_t)sizeof(struct shm_slot) << 32 | sizeof(struct shm_box) << 16 |
	       sizeof(struct shm_board);
}

bool shm_board_ours(const struct shm_board *board)
{
	return board->layout == layout() && board->world > 0;
}

void shm_board_begin(struct meeting *meeting)
{
	struct shm_board *board = meeting->board;

	board->world = meeting->options.world;
	atomic_store(&board->memory_end, meeting->bytes);
	board->layout = layout();
}

bool shm_start(struct shm_comm *comm, enum shm_kind kind, int root, size_t bytes, const char *what,
	       struct train_error *error)
{
	comm->doing = (struct shm_call){.kind = (int32_t)kind, .root = root, .bytes = bytes};
	snprintf(comm->doing.what, sizeof(comm->doing.what), "%s", what);
	comm->waited_before = comm->base.waited_ns;
	if (root < 0 || root >= comm->base.world)
		return shm_fail(
			comm->meeting, error, "rank %d: %s: there is no rank %d, the world has %d",
			comm->base.rank, shm_words(kind, what).text, root, comm->base.world);
	atomic_store(&comm->slot->doing, (uint32_t)kind);
	return shm_good(comm->meeting, error);
}

int shm_call(struct shm_comm *comm, const struct shm_call *call, const char *what,
	     struct train_error *error)
{
	int at = (int)(comm->calls & 1);

	if (!shm_start(comm, (enum shm_kind)call->kind, call->root, call->bytes, what, error))
		return -1;
	comm->doing.values = call->values;
	comm->slot->calls[at] = comm->doing;
	comm->calls++;
	return at;
}

static bool differ(struct shm_comm *comm, int rank, const struct shm_call *other,
		   struct train_error *error)
{
	const struct shm_call *first = &comm->board->slots[0].calls[(comm->calls - 1) & 1];
	struct shm_words here = shm_words(first->kind, first->what);
	struct shm_words there = shm_words(other->kind, other->what);

	if (strcmp(here.text, there.text) != 0)
		return shm_fail(comm->meeting, error, "rank %d is in %s while rank 0 is in %s",
				rank, there.text, here.text);
	if (other->bytes != first->bytes)
		return shm_fail(comm->meeting, error,
				"rank %d has %llu bytes in %s and rank 0 has %llu", rank,
				(unsigned long long)other->bytes, there.text,
				(unsigned long long)first->bytes);
	return shm_fail(comm->meeting, error,
			"rank %d takes rank %d for the root of %s, rank 0 rank %d", rank,
			other->root, there.text, first->root);
}

bool shm_agree(struct shm_comm *comm, struct train_error *error)
{
	const struct shm_call *first = &comm->board->slots[0].calls[(comm->calls - 1) & 1];

	if (!shm_phase(comm, error))
		return false;
	for (int r = 1; r < comm->base.world; r++) {
		const struct shm_call *other = &comm->board->slots[r].calls[(comm->calls - 1) & 1];

		if (other->kind != first->kind || other->bytes != first->bytes ||
		    other->root != first->root || strcmp(other->what, first->what) != 0)
			return differ(comm, r, other, error);
	}
	return true;
}

/* Its own phase comes last: until then the rank counts as missing, should it be killed here. */
bool shm_phase(struct shm_comm *comm, struct train_error *error)
{
	struct shm_board *board = comm->board;
	uint32_t phase = ++comm->phase, world = (uint32_t)comm->base.world;
	bool last = atomic_fetch_add(&board->arrived, 1) + 1 == phase * world;

	if (last)
		atomic_store(&board->complete, phase);
	atomic_store(&comm->slot->phase, phase);
	if (!last)
		return shm_wait(comm, &board->complete, phase, -1, error);
	for (int r = 0; r < comm->base.world; r++)
		if (r != comm->base.rank)
			shm_post(comm->meeting, r);
	return true;
}
