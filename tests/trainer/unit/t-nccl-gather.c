/* SPDX-License-Identifier: MIT */
/* Gathers of collective nccl that steps do not wait for, and that do not wait for steps. */
#include "config.h"

#include <stdio.h>

#include "nccl-ranks.h"

/* Ranks of work_late that have gone on without rank 1. */
static _Atomic int gone_on;

static bool begins(struct member *m, int turn)
{
	int64_t mine[3] = {m->rank, turn, m->rank * turn};

	return nccl->gather_begin(m->comm, mine, sizeof(mine), "metrics", &m->error);
}

static bool ends(struct member *m, int turn)
{
	int64_t all[MAX_NCCL][3];
	bool good = nccl->gather_end(m->comm, all, &m->error);

	for (int r = 0; good && r < m->world; r++)
		good = all[r][0] == r && all[r][1] == turn && all[r][2] == r * turn;
	return good;
}

static bool sums(struct member *m)
{
	return BETWEEN(m, nccl->all_reduce(m->comm, m->kept, 1000, "gradients", &m->error));
}

static bool gathers(struct member *m)
{
	int mine = m->rank, all[MAX_NCCL];
	bool good = nccl->all_gather(m->comm, &mine, all, sizeof(mine), "marks", &m->error);

	for (int r = 0; good && r < m->world; r++)
		good = all[r] == r;
	return good;
}

/* Gathers, with other calls between their beginning and their end. */
static void work_turns(struct member *m)
{
	m->kept = device_memory(m, 4000);
	m->good = backend_cuda.zero(m->device, m->kept, 4000, &m->error);
	for (int turn = 0; m->good && turn < 5; turn++)
		m->good = sums(m) && (turn == 0 || ends(m, turn - 1)) && begins(m, turn) &&
			  gathers(m);
	m->good = m->good && ends(m, 4) && backend_cuda.finish(m->device, &m->error);
}

/* Rank 1 comes only when the others and their devices have gone on; they wait for it in ends(). If
 * they waited before, no rank would go on. */
static void work_late(struct member *m)
{
	m->kept = device_memory(m, 4000);
	m->good = gathers(m);
	while (m->good && m->rank == 1 && gone_on < m->world - 1)
		nap(1);
	m->good = m->good && begins(m, 7) && nccl->fork(m->comm, &m->error) &&
		  nccl->join(m->comm, &m->error) &&
		  backend_cuda.zero(m->device, m->kept, 4000, &m->error) &&
		  backend_cuda.finish(m->device, &m->error);
	if (m->rank != 1)
		gone_on++;
	m->good = m->good && ends(m, 7);
}

static uint64_t allocations(void)
{
	return fake_cuda_made(CUDA_CALL_cudaMalloc) + fake_cuda_made(CUDA_CALL_cudaMallocHost);
}

/* The memory of gathers is allocated before the first sum, for which an allocation would wait. */
static void work_allocated(struct member *m)
{
	uint64_t before;

	m->kept = device_memory(m, 4000);
	m->good = gathers(m);
	before = allocations();
	m->good = m->good && backend_cuda.zero(m->device, m->kept, 4000, &m->error) && sums(m) &&
		  begins(m, 1) && ends(m, 1) && gathers(m);
	if (m->good && allocations() != before)
		m->good = train_fail(&m->error, TRAIN_FAILED, "it allocates");
}

/* A gather of the host waits for nothing on the device. One count is for all ranks. */
static void work_counted(struct member *m)
{
	uint64_t waits;

	m->kept = device_memory(m, 4000);
	m->good = backend_cuda.zero(m->device, m->kept, 4000, &m->error) && sums(m) && gathers(m);
	waits = fake_cuda_made(CUDA_CALL_cudaStreamWaitEvent);
	m->good = m->good && nccl->fork(m->comm, &m->error) && gathers(m) && begins(m, 1) &&
		  ends(m, 1) && gathers(m);
	if (m->good && fake_cuda_made(CUDA_CALL_cudaStreamWaitEvent) != waits)
		m->good = train_fail(&m->error, TRAIN_FAILED, "its stream waits for another");
}

static const struct {
	const char *name;
	void (*work)(struct member *m);
	int world;
} rows[] = {
	{"turns", work_turns, 3},
	{"rank 1 is late", work_late, 3},
	{"allocations are counted", work_allocated, 2},
	{"waits are counted", work_counted, 2},
};

START_TEST(a_gather_in_two_parts)
{
	int row = _i / 4;
	const struct ranks_how how = {
		.world = rows[row].world, .apart = _i & 1, .late = _i & 2, .timeout_ms = 200000};
	struct member members[MAX_NCCL];

	gone_on = 0;
	ranks_run(members, &how, rows[row].work, NULL);
	for (int r = 0; r < how.world; r++)
		ck_assert_msg(members[r].good, "%s, rank %d, apart %d, late %d: %s", rows[row].name,
			      r, how.apart, how.late,
			      members[r].error.text[0] ? members[r].error.text : "wrong values");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nccl-gather");
	TCase *tests = tcase_create("gather");

	tcase_add_loop_test(tests, a_gather_in_two_parts, 0,
			    4 * (int)(sizeof(rows) / sizeof(*rows)));
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
