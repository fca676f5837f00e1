/* SPDX-License-Identifier: MIT */
/* How ranks of collective nccl end when their calls are still on their devices. */
#include "config.h"

#include <stdio.h>

#include "nccl-ranks.h"

static void say(const struct member *m, const char *name, const char *want)
{
	ck_assert_msg(strncmp(m->error.text, want, strlen(want)) == 0,
		      "%s, rank %d: '%s', not '%s'", name, m->rank, m->error.text, want);
	ROW_EQ_INT(name, m->error.status, TRAIN_FAILED);
}

/* --- a recorded step ---------------------------------------------------------------------- */

static bool issue_sum(void *argument, struct train_error *error)
{
	struct member *m = argument;

	return nccl->fork(m->comm, error) &&
	       nccl->all_reduce(m->comm, m->kept, 1000, "gradients", error) &&
	       nccl->join(m->comm, error);
}

/* In the second run rank 1 is missing, and the recorded step on the device waits for it. */
static void work_recorded(struct member *m)
{
	struct recording *step = NULL;

	m->kept = device_memory(m, 4000);
	m->good = backend_cuda.zero(m->device, m->kept, 4000, &m->error) &&
		  issue_sum(m, &m->error) &&
		  backend_cuda.recording_new(&step, m->device, issue_sum, m, &m->error) &&
		  backend_cuda.recording_run(step, &m->error) &&
		  backend_cuda.finish(m->device, &m->error);
	if (m->good && m->rank == 1 && m->argument)
		train_fail(&m->error, TRAIN_FAILED, "no more memory");
	else if (m->good && m->rank == 1)
		nap(3 * m->how->timeout_ms);
	else if (m->good)
		m->good = backend_cuda.recording_run(step, &m->error) &&
			  backend_cuda.finish(m->device, &m->error);
	if (step)
		backend_cuda.recording_free(step);
}

START_TEST(a_recorded_step_that_waits_for_ever)
{
	static const struct {
		const char *name;
		bool fails;
		const char *want;
	} rows[] = {
		{"fails", true, "rank 1: no more memory"},
		{"stays away", false, "rank 1 did not come"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ranks_how how = {.world = 2, .timeout_ms = 200000, .late = _i};
		struct member members[MAX_NCCL];
		char want[256];

		for (int k = 0; k < LIMITS; k++) {
			if (!rows[i].fails)
				how.timeout_ms = limits[k];
			ranks_run(members, &how, work_recorded,
				  rows[i].fails ? rows[i].name : NULL);
			if (rows[i].fails)
				snprintf(want, sizeof(want), "%s", rows[i].want);
			else
				snprintf(want, sizeof(want), "%s within %d ms to all-reduce of",
					 rows[i].want, limits[k]);
			if (strstr(members[0].error.text, want))
				break;
		}
		say(&members[0], rows[i].name, want);
		how.apart = how.remote_errors = true;
		ranks_run(members, &how, work_recorded, rows[i].fails ? rows[i].name : NULL);
		ck_assert_msg(!members[0].good && *members[0].error.text, "%s, apart: no error",
			      rows[i].name);
	}
}
END_TEST

/* --- messages that no rank takes ----------------------------------------------------------- */

static bool gives(struct member *m, int to)
{
	return BETWEEN(m, nccl->send(m->comm, to, m->kept, 4000, "a message", &m->error));
}

/* Rank 1 sends in both directions, and neither rank 0 nor rank 2 takes it. */
static void work_messages(struct member *m)
{
	m->kept = device_memory(m, 4000);
	m->good = backend_cuda.zero(m->device, m->kept, 4000, &m->error);
	if (m->rank == 1)
		m->good = m->good && gives(m, 0) && gives(m, 2);
	if (m->rank == 1 && !m->argument)
		train_fail(&m->error, TRAIN_FAILED, "no more memory");
}

static void messages(bool apart, bool late, bool closes)
{
	struct ranks_how how = {.world = 3, .messages = true, .apart = apart, .late = late};
	struct member members[MAX_NCCL];

	for (int i = 0; i < LIMITS; i++) {
		how.timeout_ms = limits[i];
		ranks_run(members, &how, work_messages, closes ? "it closes" : NULL);
		if (members[1].good)
			break;
	}
	ck_assert_msg(members[1].good, "apart %d, late %d: %s", apart, late, members[1].error.text);
}

START_TEST(messages_that_are_not_taken)
{
	messages(_i & 1, _i & 2, _i & 4);
}
END_TEST

START_TEST(an_old_library)
{
	static const struct {
		int version;
		bool messages;
		const char *want;
	} rows[] = {
		{22105, false, ""},
		{22105, true, "collective nccl: NCCL 2.21.5 cannot stop two communicators at once"},
		{22203, true, ""},
	};
	struct train_error error = {.status = TRAIN_OK};
	char text[FAKE_CUDA_TEXT];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct rendezvous_options options = {
			.world = 1, .ranks = 1, .messages = rows[i].messages};
		struct rendezvous *rendezvous = NULL;
		bool met;

		fake_cuda_open(&(struct fake_cuda_options){.devices = 1, .nccl = rows[i].version});
		met = nccl->meet(&rendezvous, &options, &error);
		ck_assert_msg(met == !*rows[i].want &&
				      strncmp(error.text, rows[i].want, strlen(rows[i].want)) == 0,
			      "version %d: '%s'", rows[i].version, error.text);
		nccl->leave(rendezvous);
		error = (struct train_error){.status = TRAIN_OK};
		ck_assert_msg(fake_cuda_close(text), "version %d: %s", rows[i].version, text);
	}
}
END_TEST

/* Where ranks have processes of their own, steps are recorded. */
START_TEST(graphs_that_may_not_mix)
{
	static const char want[] = "NCCL_GRAPH_MIXING_SUPPORT is 0, and steps that are recorded "
				   "need it: unset it";
	static const struct {
		const char *value;
		int ranks;
		bool met;
	} rows[] = {{"0", 1, false}, {"0", 2, true}, {"1", 1, true}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct rendezvous_options options = {.world = rows[i].ranks,
							   .ranks = rows[i].ranks};
		struct train_error error = {.status = TRAIN_OK};
		struct rendezvous *rendezvous = NULL;
		char text[FAKE_CUDA_TEXT];
		bool met;

		setenv("NCCL_GRAPH_MIXING_SUPPORT", rows[i].value, 1);
		fake_cuda_open(&(struct fake_cuda_options){.devices = 2});
		met = nccl->meet(&rendezvous, &options, &error);
		unsetenv("NCCL_GRAPH_MIXING_SUPPORT");
		ck_assert_msg(met == rows[i].met &&
				      strcmp(error.text, rows[i].met ? "" : want) == 0,
			      "%s, %d ranks: '%s'", rows[i].value, rows[i].ranks, error.text);
		nccl->leave(rendezvous);
		ck_assert_msg(fake_cuda_close(text), "%s", text);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nccl-close");
	TCase *tests = tcase_create("close");

	tcase_add_loop_test(tests, a_recorded_step_that_waits_for_ever, 0, 2);
	tcase_add_loop_test(tests, messages_that_are_not_taken, 0, 8);
	tcase_add_test(tests, an_old_library);
	tcase_add_test(tests, graphs_that_may_not_mix);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
