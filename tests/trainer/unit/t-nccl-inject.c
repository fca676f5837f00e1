/* SPDX-License-Identifier: MIT */
/* Every call that collective nccl makes fails once: all ranks end, with its name, and soon. */
#include "config.h"

#include <stdio.h>

#include "inject.h"
#include "nccl-ranks.h"

enum { COUNT = 500 };

struct places {
	struct member *member;
	float *values;
};

static bool issue(void *argument, struct train_error *error)
{
	const struct places *p = argument;
	struct communicator *comm = p->member->comm;

	return nccl->fork(comm, error) &&
	       nccl->all_reduce(comm, p->values, COUNT, "gradients", error) &&
	       nccl->all_gather_values(comm, p->values, p->values + COUNT, COUNT * sizeof(float),
				       "statistics", error) &&
	       nccl->join(comm, error);
}

static bool replay(struct member *m, struct places *p)
{
	struct recording *step = NULL;
	bool good = backend_cuda.recording_new(&step, m->device, issue, p, &m->error) &&
		    backend_cuda.recording_run(step, &m->error);

	good = backend_cuda.finish(m->device, &m->error) && good;
	if (step)
		backend_cuda.recording_free(step);
	return good;
}

static bool messages(struct member *m, struct places *p)
{
	int other = 1 - m->rank;

	return BETWEEN(m, nccl->send(m->comm, other, p->values, 100, "a message", &m->error)) &&
	       BETWEEN(m, nccl->receive(m->comm, other, p->values, 100, "a message", &m->error));
}

static void work_all(struct member *m)
{
	struct places p = {.member = m};
	int mine = m->rank, all[2];

	m->kept = backend_cuda.allocate(m->device, 3 * COUNT * sizeof(float), "a test", &m->error);
	p.values = m->kept;
	m->good = p.values &&
		  backend_cuda.zero(m->device, p.values, COUNT * sizeof(float), &m->error) &&
		  issue(&p, &m->error) &&
		  BETWEEN(m, nccl->broadcast(m->comm, p.values, 400, 1, "values", &m->error)) &&
		  nccl->all_gather(m->comm, &mine, all, sizeof(mine), "marks", &m->error) &&
		  messages(m, &p) &&
		  nccl->gather_begin(m->comm, &mine, sizeof(mine), "marks", &m->error) &&
		  replay(m, &p) && nccl->gather_end(m->comm, all, &m->error) && all[0] == 0 &&
		  all[1] == 1;
}

static uint64_t at;

static void begin(void)
{
	inject_at(at, false);
}

/* A call that ends something may fail silently, because nothing depends on it any more. */
static bool may_be_silent(enum cuda_call call)
{
	const char *name = cuda_call_name(call);

	return strstr(name, "Destroy") || strstr(name, "Free") || strstr(name, "Finalize") ||
	       call == CUDA_CALL_cudaSetDevice || call == CUDA_CALL_cudaStreamSynchronize ||
	       call == CUDA_CALL_ncclCommGetAsyncError;
}

/* Each rank has ended well, or reports which call it was, or that another rank failed; or that NCCL
 * or a wait noticed the end. */
static void expect(const struct member *members, bool apart, enum cuda_call call)
{
	char name[80];
	bool reported = false;

	snprintf(name, sizeof(name), "call %d, %s%s", (int)at, cuda_call_name(call),
		 apart ? ", apart" : "");
	for (int r = 0; r < 2; r++) {
		const char *text = members[r].error.text;

		ck_assert_msg(members[r].good || *text, "%s: rank %d says nothing", name, r);
		ck_assert_msg(!strstr(text, "has ended while"), "%s: rank %d: %s", name, r, text);
		reported = reported || strstr(text, cuda_call_name(call)) ||
			   strstr(text, "no memory for");
	}
	ck_assert_msg(reported || may_be_silent(call), "%s: '%s' and '%s'", name,
		      members[0].error.text, members[1].error.text);
}

static bool run(struct ranks_how how)
{
	struct member members[MAX_NCCL];
	char text[FAKE_CUDA_TEXT];
	enum cuda_call call;
	bool more;

	inject_at(0, false);
	ranks_machine(&how);
	ranks_some(members, &how, 0, 2, work_all, NULL, begin);
	call = inject_failed();
	more = call != CUDA_CALLS;
	inject_at(0, false);
	if (more) {
		expect(members, how.apart, call);
	} else if (how.timeout_ms < 200000 && !(members[0].good && members[1].good)) {
		/* The limit is short for runs that fail; on a busy machine it may be too short. */
		fake_cuda_close(text);
		how.timeout_ms = 200000;
		return run(how);
	} else {
		ck_assert_msg(members[0].good && members[1].good, "%s %s", members[0].error.text,
			      members[1].error.text);
	}
	/* A device that cannot be chosen keeps what it has. */
	ck_assert_msg(fake_cuda_close(text) ||
			      (call == CUDA_CALL_cudaSetDevice && strstr(text, "not freed")),
		      "call %d, %s: %s", (int)at, more ? cuda_call_name(call) : "none", text);
	return more;
}

START_TEST(every_call)
{
	const struct ranks_how how = {.world = 2,
				      .apart = _i,
				      .timeout_ms = _i ? 300 : 200000,
				      .remote_errors = _i,
				      .messages = true};

	/* Ranks that wait make many calls, so later ones are not all tried. */
	for (at = 1; run(how); at += 1 + at / 200)
		;
	ck_assert_msg(at > 100, "only %d calls", (int)at);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nccl-inject");
	TCase *tests = tcase_create("inject");

	tcase_add_loop_test(tests, every_call, 0, 2);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
