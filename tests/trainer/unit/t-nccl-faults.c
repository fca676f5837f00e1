/* SPDX-License-Identifier: MIT */
/* The reasons that ranks of collective nccl get if a rank fails, does not come or asks wrongly.
 */
#include "config.h"

#include <stdio.h>

#include "nccl-ranks.h"

static void say(const struct member *m, const char *name, const char *want)
{
	ck_assert_msg(strncmp(m->error.text, want, strlen(want)) == 0,
		      "%s, rank %d: '%s', not '%s'", name, m->rank, m->error.text, want);
	ROW_EQ_INT(name, m->error.status, TRAIN_FAILED);
}

static void nothing(struct member *m)
{
}

/* Puts a sum on the stream, and waits for the stream. */
static void sum_and_wait(struct member *m)
{
	m->kept = device_memory(m, 4000);
	m->good = backend_cuda.zero(m->device, m->kept, 4000, &m->error) &&
		  BETWEEN(m, nccl->all_reduce(m->comm, m->kept, 1000, "gradients", &m->error)) &&
		  backend_cuda.finish(m->device, &m->error);
}

/* --- a missing rank ----------------------------------------------------------------------- */

START_TEST(a_rank_that_never_begins)
{
	static const struct {
		bool apart;
		const char *want;
	} rows[] = {
		{false, "rank 1 did not come within 200 ms to start, where rank 0 waits"},
		{true, "not all ranks came within 200 ms to start, where rank 0 waits"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct ranks_how how = {
			.world = 2, .apart = rows[i].apart, .timeout_ms = 200};
		struct member members[MAX_NCCL];
		char text[FAKE_CUDA_TEXT];

		ranks_machine(&how);
		ranks_some(members, &how, 0, 1, nothing, NULL, NULL);
		ck_assert_msg(fake_cuda_close(text), "%s", text);
		say(&members[0], "never begins", rows[i].want);
	}
}
END_TEST

/* Rank 1 is somewhere else, until it gets the result of the run. */
static void work_stays_away(struct member *m)
{
	if (m->rank == 1) {
		nap(3 * m->how->timeout_ms);
		nccl->all_gather(m->comm, NULL, NULL, 0, "the end", &m->error);
		return;
	}
	sum_and_wait(m);
}

static void stays_away(struct member *members, bool apart, bool late, const char *who)
{
	struct ranks_how how = {.world = 3, .apart = apart, .late = late};
	char want[256];

	for (int i = 0; i < LIMITS; i++) {
		how.timeout_ms = limits[i];
		ranks_run(members, &how, work_stays_away, NULL);
		snprintf(want, sizeof(want),
			 "%s within %d ms to all-reduce of gradients, where rank ", who, limits[i]);
		if (strstr(members[0].error.text, want))
			break;
	}
	for (int r = 0; r < 3; r += apart ? 2 : 1)
		say(&members[r], apart ? "stays away, apart" : "stays away", want);
}

START_TEST(a_rank_that_stays_away)
{
	struct member members[MAX_NCCL];

	stays_away(members, false, _i, "rank 1 did not come");
	stays_away(members, true, _i, "not all ranks came");
}
END_TEST

/* --- failing ranks -------------------------------------------------------------------------- */

static void work_fails(struct member *m)
{
	if (m->rank != 1) {
		sum_and_wait(m);
		return;
	}
	nap(50);
	train_fail(&m->error, TRAIN_FAILED, "no more memory");
}

START_TEST(a_rank_that_fails)
{
	const struct ranks_how how = {.world = 4, .timeout_ms = 200000, .late = _i};
	struct member members[MAX_NCCL];

	ranks_run(members, &how, work_fails, NULL);
	for (int r = 0; r < 4; r++)
		say(&members[r], "fails", r == 1 ? "no more memory" : "rank 1: no more memory");
}
END_TEST

/* Ranks on two machines have no common place: NCCL reports it, if it can. */
START_TEST(a_rank_that_fails_far_away)
{
	const struct ranks_how how = {
		.world = 2, .apart = true, .remote_errors = true, .timeout_ms = 200000};
	struct member members[MAX_NCCL];

	ranks_run(members, &how, work_fails, NULL);
	say(&members[0], "fails far away", "all-reduce of gradients: GPU 0 (");
	ck_assert_msg(strstr(members[0].error.text, "remote process exited or there was a network "
						    "error (6)"),
		      "%s", members[0].error.text);
}
END_TEST

static void *abort_later(void *argument)
{
	struct member *m = argument;

	nap(100);
	nccl->abort(m->comm,
		    &(struct train_error){.status = TRAIN_FAILED, .text = "a signal came"});
	return NULL;
}

/* The ranks are apart, so that no common place can report it. */
static void work_beside(struct member *m)
{
	pthread_t thread;

	if (m->rank == 1) {
		nap(5000);
		train_fail(&m->error, TRAIN_FAILED, "never mind");
		return;
	}
	ck_assert(pthread_create(&thread, NULL, abort_later, m) == 0);
	sum_and_wait(m);
	pthread_join(thread, NULL);
}

START_TEST(an_abort_by_another_thread)
{
	const struct ranks_how how = {.world = 2, .apart = true, .timeout_ms = 200000};
	struct member members[MAX_NCCL];

	ranks_run(members, &how, work_beside, NULL);
	say(&members[0], "beside", "rank 0: a signal came");
}
END_TEST

static void work_breaks(struct member *m)
{
	if (m->rank != 1) {
		sum_and_wait(m);
		return;
	}
	fake_cuda_break(1, cudaErrorECCUncorrectable);
	m->good = BETWEEN(m, nccl->all_reduce(m->comm, NULL, 1000, "gradients", &m->error));
}

START_TEST(a_device_that_fails)
{
	const struct ranks_how how = {.world = 2, .timeout_ms = 200000};
	struct member members[MAX_NCCL];
	char text[FAKE_CUDA_TEXT];

	ranks_machine(&how);
	ranks_some(members, &how, 0, 2, work_breaks, NULL, NULL);
	fake_cuda_close(text); /* what a broken device keeps is not reported */
	ck_assert_msg(strstr(members[1].error.text, "GPU 1 (") &&
			      strstr(members[1].error.text, "cudaErrorECCUncorrectable (214)"),
		      "%s", members[1].error.text);
	say(&members[0], "breaks", "rank 1: ");
	ck_assert_msg(strstr(members[0].error.text, "cudaErrorECCUncorrectable (214)"), "%s",
		      members[0].error.text);
}
END_TEST

/* Both ranks have one GPU, which NCCL refuses: they end before they have a communicator. */
START_TEST(a_rank_that_cancels)
{
	const struct ranks_how how = {.world = 2, .timeout_ms = 200000, .devices = 1};
	struct member members[MAX_NCCL];

	ranks_run(members, &how, nothing, NULL);
	for (int r = 0; r < 2; r++)
		ck_assert_msg(strstr(members[r].error.text, "invalid usage (5)"), "%s",
			      members[r].error.text);
}
END_TEST

/* --- meetings that cannot be ---------------------------------------------------------------- */

START_TEST(impossible_rendezvous)
{
	static const struct {
		struct rendezvous_options options;
		const char *address, *missing;
		enum train_status status;
		const char *want;
	} rows[] = {
		{{.world = 3, .ranks = 2}, NULL, NULL, TRAIN_BAD_INPUT, "2 of 3 ranks in this"},
		{{.world = 0, .ranks = 0}, NULL, NULL, TRAIN_BAD_INPUT, "0 of 0 ranks in this"},
		{{.world = 4, .ranks = 1, .local = 2, .name = "x"},
		 NULL,
		 NULL,
		 TRAIN_BAD_INPUT,
		 "ranks of several machines do not know where to meet: set MASTER_ADDR"},
		{{.world = 4, .ranks = 1},
		 "node0",
		 NULL,
		 TRAIN_BAD_INPUT,
		 "MASTER_ADDR is set and MASTER_PORT is not"},
		{{.world = 1, .ranks = 1}, NULL, "NCCL", TRAIN_NO_BACKEND, "NCCL is missing"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct train_error error = {.status = TRAIN_OK};
		struct rendezvous *rendezvous = NULL;

		unsetenv("MASTER_ADDR");
		unsetenv("FAKE_CUDA_MISSING");
		if (rows[i].address)
			setenv("MASTER_ADDR", rows[i].address, 1);
		if (rows[i].missing)
			setenv("FAKE_CUDA_MISSING", rows[i].missing, 1);
		ck_assert(!nccl->meet(&rendezvous, &rows[i].options, &error));
		if (rendezvous)
			nccl->leave(rendezvous);
		ROW_EQ_INT(rows[i].want, error.status, rows[i].status);
		ck_assert_msg(strstr(error.text, rows[i].want), "%s: %s", rows[i].want, error.text);
	}
}
END_TEST

/* leave() unsets the NCCL_COMM_ID that meet() made of MASTER_ADDR and MASTER_PORT, not a user's. */
START_TEST(the_place_is_taken_back)
{
	const struct rendezvous_options options = {.world = 2, .ranks = 1, .local = 1};
	struct train_error error = {.status = TRAIN_OK};
	struct rendezvous *rendezvous;

	setenv("MASTER_ADDR", "::1", 1);
	setenv("MASTER_PORT", "29500", 1);
	ck_assert_msg(nccl->meet(&rendezvous, &options, &error), "%s", error.text);
	ck_assert_str_eq(getenv("NCCL_COMM_ID"), "[::1]:29500");
	nccl->leave(rendezvous);
	ck_assert_ptr_null(getenv("NCCL_COMM_ID"));
	setenv("NCCL_COMM_ID", "here:1", 1);
	ck_assert_msg(nccl->meet(&rendezvous, &options, &error), "%s", error.text);
	nccl->leave(rendezvous);
	ck_assert_str_eq(getenv("NCCL_COMM_ID"), "here:1");
}
END_TEST

START_TEST(devices_that_are_none)
{
	const struct rendezvous_options options = {.world = 1, .ranks = 1};
	struct device device = {.backend = &backend_reference, .physical = 3};
	struct train_error error = {.status = TRAIN_OK};
	struct communicator *comm = NULL;
	struct rendezvous *rendezvous;

	ck_assert_msg(nccl->meet(&rendezvous, &options, &error), "%s", error.text);
	ck_assert(!nccl->open(&comm, rendezvous, 0, &device, &error));
	ROW_EQ_STR("reference", error.text,
		   "collective nccl: device 3 is of backend reference, but nccl needs GPUs: use "
		   "--backend cuda, or --collective shm");
	nccl->leave(rendezvous);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nccl-faults");
	TCase *faults = tcase_create("faults");

	tcase_add_test(faults, a_rank_that_never_begins);
	tcase_add_loop_test(faults, a_rank_that_stays_away, 0, 2);
	tcase_add_loop_test(faults, a_rank_that_fails, 0, 2);
	tcase_add_test(faults, a_rank_that_fails_far_away);
	tcase_add_test(faults, an_abort_by_another_thread);
	tcase_add_test(faults, a_device_that_fails);
	tcase_add_test(faults, a_rank_that_cancels);
	tcase_add_test(faults, impossible_rendezvous);
	tcase_add_test(faults, the_place_is_taken_back);
	tcase_add_test(faults, devices_that_are_none);
	suite_add_tcase(suite, faults);
	return unit_run(suite);
}
