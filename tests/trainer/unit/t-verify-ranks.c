/* SPDX-License-Identifier: MIT */
/* --verify-mapping of several ranks: threads that act as processes with ids from 1000 on. */
#include "verify.h"

enum { FIRST_PID = 1000, WORLD = 8 };

struct world {
	const char *name, *now;
	bool one_process; /* rank 0 looks for all */
	const char *good, *bad;
};

static const struct world worlds[] = {
	{"as mapped",
	 "0 1000 900\n1 1001 900\n2 1002 900\n3 1003 900\n4 1004 900\n5 1005 900\n6 1006 900\n"
	 "7 1007 900\n",
	 false, BY_PROCESS, NULL},
	{"all have a context on GPU 0",
	 "0 1000 900\n1 1001 900\n2 1002 900\n3 1003 900\n4 1004 900\n5 1005 900\n6 1006 900\n"
	 "7 1007 900\n"
	 "0 1001 500\n0 1002 500\n0 1003 500\n0 1004 500\n0 1005 500\n0 1006 500\n0 1007 500\n",
	 false, NULL,
	 AT(0) ": 500.0 MiB of pid 1001 (rank 1 on GPU 1) after the first step, and of 6 more "
	       "processes of this run" STRAY_REMEDY},
	{"one has",
	 "0 1000 900\n1 1001 900\n2 1002 900\n3 1003 900\n4 1004 900\n5 1005 900\n6 1006 900\n"
	 "7 1007 900\n0 1005 500\n",
	 false, NULL,
	 AT(0) ": 500.0 MiB of pid 1005 (rank 5 on GPU 5) after the first step" STRAY_REMEDY},
	{"two ranks changed places",
	 "0 1000 900\n1 1001 900\n2 1002 900\n4 1003 900\n3 1004 900\n5 1005 900\n6 1006 900\n"
	 "7 1007 900\n",
	 false, NULL,
	 AT(4) ": 900.0 MiB of pid 1003 (rank 3 on GPU 3) after the first step" STRAY_REMEDY},
	{"hidden",
	 "0 hidden 900\n1 hidden 900\n2 hidden 900\n3 hidden 900\n4 hidden 900\n5 hidden 900\n"
	 "6 hidden 900\n7 hidden 900\n",
	 false, BY_DIFFERENCE, NULL},
	{"hidden, and one has nothing",
	 "0 hidden 1800\n1 hidden 900\n2 hidden 900\n3 hidden 900\n5 hidden 900\n6 hidden 900\n"
	 "7 hidden 900\n",
	 false, NULL,
	 AT(4) ": the mapping names it for pid 1004 (rank 4 on GPU 4), but no more is in use there "
	       "than before this run after the first step; " NOTHING_REMEDY},
	{"one process",
	 "0 1000 900\n1 1000 900\n2 1000 900\n3 1000 900\n4 1000 900\n5 1000 900\n6 1000 900\n"
	 "7 1000 900\n",
	 true, BY_PROCESS, NULL},
	{"one process that leaves one out",
	 "0 1000 900\n1 1000 900\n2 1000 900\n3 1000 900\n4 1000 900\n5 1000 900\n6 1000 900\n",
	 true, NULL,
	 AT(7) ": the mapping names it for pid 1000, but that has no memory there after the first "
	       "step; " NOTHING_REMEDY},
};

static const struct place_device eight[WORLD] = {GPU(0), GPU(1), GPU(2), GPU(3),
						 GPU(4), GPU(5), GPU(6), GPU(7)};

/* At first nothing is in use. The file changes when all ranks have seen that. */
static void look_together(struct member *m)
{
	const struct world *world = m->argument;
	struct verify_options options = {
		.own = world->one_process ? eight : &eight[m->rank],
		.own_count = world->one_process ? WORLD : 1,
		.mine = eight[m->rank],
		.when = "after the first step",
	};
	struct verify *verify = NULL;
	char text[VERIFY_TEXT] = "";

	if (!(world->one_process && m->rank > 0) &&
	    !verify_open(&verify, FIRST_PID + m->rank, &m->error))
		return;
	options.verify = verify;
	if (!shm->all_gather(m->comm, NULL, NULL, 0, "a barrier", &m->error))
		return;
	if (m->rank == 0)
		write_use(world->now);
	if (!shm->all_gather(m->comm, NULL, NULL, 0, "a barrier", &m->error))
		return;
	m->good = verify_look(&options, m->comm, text, &m->error) &&
		  strcmp(text, world->good ? world->good : "") == 0;
	if (*text && !m->good)
		snprintf(m->error.text, sizeof(m->error.text), "%s", text);
	verify_close(verify);
}

START_TEST(several_ranks)
{
	struct member members[WORLD];
	const struct world *world = &worlds[_i];

	pretend(whole, "");
	ranks_run(members, WORLD, 20000, look_together, world);
	if (world->bad)
		all_say(members, WORLD, world->name, world->bad);
	else
		all_good(members, WORLD, world->name);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verify-ranks");
	TCase *tcase = tcase_create("verify-ranks");

	tcase_add_loop_test(tcase, several_ranks, 0, sizeof(worlds) / sizeof(*worlds));
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
