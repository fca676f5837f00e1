/* SPDX-License-Identifier: MIT */
/* Sums of collective nccl that are sent in bfloat16, on pretended GPUs. */
#include "config.h"

#include <stdio.h>

#include "collective/nccl_comm.h"
#include "nccl-ranks.h"

/* 1 + 1/256 is halfway between two values of bfloat16, and rounds to the even one, 1. */
static void work_rounded(struct member *m)
{
	float host[3] = {1.00390625f, -3, 0.5f}, *memory = device_memory(m, sizeof(host));

	for (int turn = 0; turn < 2; turn++) {
		m->good =
			backend_cuda.write(m->device, memory, host, sizeof(host), &m->error) &&
			BETWEEN(m, nccl->all_reduce(m->comm, memory, 3, "gradients", &m->error)) &&
			backend_cuda.read(m->device, host, memory, sizeof(host), &m->error) &&
			host[0] == (float)m->world && host[1] == (float)(-3 * m->world) &&
			host[2] == 0.5f * (float)m->world;
		if (!m->good)
			break;
		memcpy(host, (float[]){1.00390625f, -3, 0.5f}, sizeof(host));
	}
	backend_cuda.release(m->device, memory);
}

/* More values than are summed at a time. */
static void work_pieces(struct member *m)
{
	size_t count = NCCL_LEAST_ROUNDED + 3, bytes = count * sizeof(float);
	float *memory = device_memory(m, bytes), *host = malloc(bytes);

	for (size_t i = 0; i < count; i++)
		host[i] = (float)(i % 128 + 1);
	m->good = backend_cuda.write(m->device, memory, host, bytes, &m->error) &&
		  BETWEEN(m, nccl->all_reduce(m->comm, memory, (int64_t)count, "gradients",
					      &m->error)) &&
		  backend_cuda.read(m->device, host, memory, bytes, &m->error);
	for (size_t i = 0; m->good && i < count; i++)
		m->good = host[i] == (float)((int)(i % 128 + 1) * m->world);
	free(host);
	backend_cuda.release(m->device, memory);
}

START_TEST(rounded_pieces)
{
	const struct ranks_how how = {.world = 2, .timeout_ms = 200000, .sums = VALUE_BFLOAT16};
	struct member members[MAX_NCCL];

	ranks_run(members, &how, work_pieces, NULL);
	all_good(members, "in bfloat16, in pieces");
}
END_TEST

START_TEST(rounded_sums)
{
	struct ranks_how how = how_of(_i);
	struct member members[MAX_NCCL];

	how.sums = VALUE_BFLOAT16;
	ranks_run(members, &how, work_rounded, NULL);
	all_good(members, "in bfloat16");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nccl-rounded");
	TCase *tests = tcase_create("rounded");

	tcase_add_loop_test(tests, rounded_sums, 0, HOWS);
	tcase_add_test(tests, rounded_pieces);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
