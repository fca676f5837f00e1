/* SPDX-License-Identifier: MIT */
#include "collective/shm_board.h"

static size_t rounded(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

/* Chunks of all ranks together stay in the last cache. */
static size_t chunk_of(int world)
{
	size_t most = (size_t)1 << 19, least = (size_t)1 << 14;
	size_t fair = ((size_t)1 << 23) / (size_t)world / least * least;

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

bool shm_start(struct shm_comm *comm, const struct call *call, struct train_error *error)
{
	comm->doing = *call;
	comm->waited_before = comm->base.waited_ns;
	if (call->root < 0 || call->root >= comm->base.world)
		return shm_fail(comm->meeting, error,
				"rank %d: %s: there is no rank %d, the world has %d",
				comm->base.rank, call_words(call->kind, call->what).text,
				call->root, comm->base.world);
	atomic_store(&comm->slot->doing, (uint32_t)call->kind);
	return shm_good(comm->meeting, error);
}

int shm_call(struct shm_comm *comm, const struct call *call, void *values,
	     struct train_error *error)
{
	int at = (int)(comm->calls & 1);

	if (!shm_start(comm, call, error))
		return -1;
	comm->slot->calls[at] = (struct shm_call){*call, values};
	comm->calls++;
	return at;
}

bool shm_agree(struct shm_comm *comm, struct train_error *error)
{
	const struct shm_slot *slots = comm->board->slots;
	uint32_t at = (comm->calls - 1) & 1;
	char text[400];

	if (!shm_phase(comm, error))
		return false;
	for (int r = 1; r < comm->base.world; r++) {
		const struct call *call = &slots[r].calls[at].call;

		if (!call_same(call, &slots[0].calls[at].call)) {
			call_difference(text, sizeof(text), r, call, &slots[0].calls[at].call);
			return shm_fail(comm->meeting, error, "%s", text);
		}
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
