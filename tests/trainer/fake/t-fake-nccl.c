/* SPDX-License-Identifier: MIT */
/* Ranks of the pretended NCCL, a thread and a device each. */
#include "config.h"

#include <pthread.h>

#include "fake_test.h"

enum { RANKS = 3, COUNT = 5 };

/* What every rank has while its thread runs. */
struct rank {
	int rank, ranks, device;
	ncclUniqueId id;
	bool blocking;
	void (*run)(struct rank *rank);
	cudaStream_t stream;
	ncclComm_t comm;
	ncclResult_t opened;
	float *values, *all; /* COUNT: rank + 1, 2 (rank + 1), ...; COUNT of each rank */
};

/* Asks until it is no longer in progress. */
static ncclResult_t settle(ncclComm_t comm, ncclResult_t result)
{
	while (result == ncclInProgress)
		OK(cu.ncclCommGetAsyncError(comm, &result));
	return result;
}

#define DONE(rank, call) OK(settle((rank)->comm, call))

static void *thread(void *argument)
{
	struct rank *r = argument;
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	float host[COUNT];

	r->stream = stream_new(r->device);
	r->values = device_new(sizeof(host));
	r->all = device_new(sizeof(host) * RANKS);
	for (int i = 0; i < COUNT; i++)
		host[i] = (float)((r->rank + 1) * (i + 1));
	OK(cu.cudaMemcpyAsync(r->values, host, sizeof(host), cudaMemcpyHostToDevice, r->stream));
	config.blocking = r->blocking;
	r->opened = cu.ncclCommInitRankConfig(&r->comm, r->ranks, r->id, r->rank, &config);
	r->opened = settle(r->comm, r->opened);
	if (r->opened == ncclSuccess)
		r->run(r);
	OK(cu.cudaStreamSynchronize(r->stream));
	if (r->comm && r->opened == ncclSuccess)
		OK(cu.ncclCommDestroy(r->comm));
	else if (r->comm)
		OK(cu.ncclCommAbort(r->comm));
	OK(cu.cudaFree(r->values));
	OK(cu.cudaFree(r->all));
	OK(cu.cudaStreamDestroy(r->stream));
	return NULL;
}

static void together(void (*run)(struct rank *), int mode, int devices, struct rank *ranks)
{
	pthread_t threads[RANKS];
	ncclUniqueId id;

	machine_open(RANKS, mode & 1);
	OK(cu.ncclGetUniqueId(&id));
	for (int i = 0; i < RANKS; i++) {
		ranks[i] = (struct rank){.rank = i,
					 .ranks = RANKS,
					 .device = i % devices,
					 .id = id,
					 .blocking = mode & 2,
					 .run = run};
		ck_assert_int_eq(pthread_create(&threads[i], NULL, thread, &ranks[i]), 0);
	}
	for (int i = 0; i < RANKS; i++)
		pthread_join(threads[i], NULL);
}

static void expect(struct rank *r, const float *memory, int index, float want, const char *what)
{
	float got;

	OK(cu.cudaMemcpyAsync(&got, memory + index, sizeof(got), cudaMemcpyDeviceToHost,
			      r->stream));
	ck_assert_msg(got == want, "%s: rank %d [%d] is %g, not %g", what, r->rank, index,
		      (double)got, (double)want);
}

static void sums(struct rank *r)
{
	DONE(r, cu.ncclAllReduce(r->values, r->all, COUNT, ncclFloat, ncclSum, r->comm, r->stream));
	expect(r, r->all, 4, 30, "sum");
	DONE(r,
	     cu.ncclAllReduce(r->values, r->values, COUNT, ncclFloat, ncclAvg, r->comm, r->stream));
	expect(r, r->values, 4, 10, "mean in place");
}

static void gathers(struct rank *r)
{
	DONE(r, cu.ncclAllGather(r->values, r->all, COUNT, ncclFloat, r->comm, r->stream));
	for (int i = 0; i < r->ranks; i++)
		expect(r, r->all, COUNT * i + 1, (float)(2 * (i + 1)), "gather");
	DONE(r, cu.ncclBroadcast(r->values, r->values, COUNT, ncclFloat, 2, r->comm, r->stream));
	expect(r, r->values, 1, 6, "broadcast");
}

/* Each rank sends to the next one of a ring, in one group. */
static void sends(struct rank *r)
{
	int next = (r->rank + 1) % r->ranks, before = (r->rank + r->ranks - 1) % r->ranks;

	OK(cu.ncclGroupStart());
	OK(cu.ncclSend(r->values, COUNT, ncclFloat, next, r->comm, r->stream));
	OK(cu.ncclRecv(r->all, COUNT, ncclFloat, before, r->comm, r->stream));
	DONE(r, cu.ncclGroupEnd());
	expect(r, r->all, 2, (float)(3 * (before + 1)), "ring");
	if (r->rank == 0)
		DONE(r, cu.ncclSend(r->values, 1, ncclFloat, 1, r->comm, r->stream));
	if (r->rank == 1) {
		DONE(r, cu.ncclRecv(r->all, 1, ncclFloat, 0, r->comm, r->stream));
		expect(r, r->all, 0, 1, "a message");
	}
}

/* A graph of a sum, once all are connected. */
static cudaGraphExec_t recorded(struct rank *r)
{
	cudaGraphExec_t executable;
	cudaGraph_t graph;

	DONE(r,
	     cu.ncclAllReduce(r->values, r->values, COUNT, ncclFloat, ncclMax, r->comm, r->stream));
	OK(cu.cudaStreamBeginCapture(r->stream, cudaStreamCaptureModeThreadLocal));
	OK(cu.ncclAllReduce(r->values, r->values, COUNT, ncclFloat, ncclSum, r->comm, r->stream));
	OK(cu.cudaStreamEndCapture(r->stream, &graph));
	OK(cu.cudaGraphInstantiate(&executable, graph, 0));
	OK(cu.cudaGraphDestroy(graph));
	return executable;
}

static void replays(struct rank *r)
{
	cudaGraphExec_t executable = recorded(r);

	OK(cu.cudaGraphLaunch(executable, r->stream));
	OK(cu.cudaGraphLaunch(executable, r->stream));
	expect(r, r->values, 0, 27, "two sums of three");
	OK(cu.cudaGraphExecDestroy(executable));
}

static const struct exchange {
	const char *name;
	void (*run)(struct rank *rank);
} exchanges[] = {{"sums", sums}, {"gathers", gathers}, {"sends", sends}, {"replays", replays}};

enum { EXCHANGES = sizeof(exchanges) / sizeof(*exchanges), MODES = 4 };

START_TEST(ranks_exchange)
{
	struct rank ranks[RANKS];

	together(exchanges[_i / MODES].run, _i % MODES, RANKS, ranks);
	for (int i = 0; i < RANKS; i++)
		ROW_EQ_INT(exchanges[_i / MODES].name, ranks[i].opened, ncclSuccess);
	machine_close();
}
END_TEST

START_TEST(two_ranks_on_a_gpu_are_refused)
{
	struct rank ranks[RANKS];

	together(sums, _i, 2, ranks);
	for (int i = 0; i < RANKS; i++)
		ck_assert_int_eq(ranks[i].opened, ncclInvalidUsage);
	machine_close();
}
END_TEST

static void differ(struct rank *r)
{
	DONE(r, cu.ncclAllReduce(r->values, r->values, r->rank == 1 ? 2 : COUNT, ncclFloat, ncclSum,
				 r->comm, r->stream));
}

static void not_asked(struct rank *r)
{
	cu.ncclAllReduce(r->values, r->values, COUNT, ncclFloat, ncclSum, r->comm, r->stream);
	ck_assert_int_eq(cu.ncclAllReduce(r->values, r->values, COUNT, ncclFloat, ncclSum, r->comm,
					  r->stream),
			 ncclInvalidUsage);
	OK(settle(r->comm, ncclInProgress));
}

static void on_another_device(struct rank *r)
{
	cudaStream_t other = stream_new((r->device + 1) % RANKS);

	OK(cu.cudaSetDevice(r->device));
	ck_assert_int_eq(
		cu.ncclAllReduce(r->values, r->values, COUNT, ncclFloat, ncclSum, r->comm, other),
		ncclInvalidArgument);
	OK(cu.cudaStreamDestroy(other));
}

static void graph_at_abort(struct rank *r)
{
	cudaGraphExec_t executable = recorded(r);

	OK(cu.cudaStreamSynchronize(r->stream));
	OK(cu.ncclCommAbort(r->comm));
	r->comm = NULL;
	OK(cu.cudaGraphExecDestroy(executable));
}

static void graph_at_finalize(struct rank *r)
{
	cudaGraphExec_t executable = recorded(r);

	OK(cu.cudaStreamSynchronize(r->stream));
	DONE(r, cu.ncclCommFinalize(r->comm));
	OK(cu.cudaGraphExecDestroy(executable));
}

/* Rank 1 launches a graph of a call that the others make without one. */
static void one_replays(struct rank *r)
{
	cudaGraphExec_t executable = recorded(r);

	if (r->rank == 1)
		OK(cu.cudaGraphLaunch(executable, r->stream));
	else
		DONE(r, cu.ncclAllReduce(r->values, r->values, COUNT, ncclFloat, ncclSum, r->comm,
					 r->stream));
	OK(cu.cudaStreamSynchronize(r->stream));
	OK(cu.cudaGraphExecDestroy(executable));
}

/* Rank 2 launches the second of its graphs, and others their first. */
static void another_graph(struct rank *r)
{
	cudaGraphExec_t one = recorded(r), two = recorded(r);

	OK(cu.cudaGraphLaunch(r->rank == 2 ? two : one, r->stream));
	OK(cu.cudaStreamSynchronize(r->stream));
	OK(cu.cudaGraphExecDestroy(one));
	OK(cu.cudaGraphExecDestroy(two));
}

static const struct wrong {
	const char *name;
	void (*run)(struct rank *rank);
	const char *fault;
} wrongs[] = {
	{"different counts", differ, "does not make rank 0's call"},
	{"not asked", not_asked, "ncclCommGetAsyncError first"},
	{"another device's stream", on_another_device, "for a communicator of device"},
	{"one replays", one_replays, "rank 1's call is of capture 1, and rank 0's is of 0"},
	{"another graph", another_graph, "rank 2's call is of capture 2, and rank 0's is of 1"},
	{"a graph when it is aborted", graph_at_abort, "ncclCommAbort: it waits for a graph"},
	{"a graph when it is finalized", graph_at_finalize, "ncclCommFinalize: it waits for a"},
};

START_TEST(wrong_calls_are_found)
{
	struct rank ranks[RANKS];

	together(wrongs[_i].run, 0, RANKS, ranks);
	ck_assert_msg(strstr(fake_cuda_fault(), wrongs[_i].fault), "%s: '%s'", wrongs[_i].name,
		      fake_cuda_fault());
	fake_cuda_forgive();
	machine_close();
}
END_TEST

/* Rank 0 leaves; the others, who wait for it, find their stream not ready until they abort. */
static void leaves(struct rank *r)
{
	if (r->rank == 0)
		return;
	DONE(r,
	     cu.ncclAllReduce(r->values, r->values, COUNT, ncclFloat, ncclSum, r->comm, r->stream));
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(cu.cudaStreamQuery(r->stream), cudaErrorNotReady);
	OK(cu.ncclCommAbort(r->comm));
	r->comm = NULL;
	OK(cu.cudaStreamSynchronize(r->stream));
}

START_TEST(a_lost_rank_is_waited_for_until_abort)
{
	struct rank ranks[RANKS];

	together(leaves, _i, RANKS, ranks);
	machine_close();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fake_nccl");
	TCase *tcase = tcase_create("ranks");

	tcase_add_loop_test(tcase, ranks_exchange, 0, EXCHANGES * MODES);
	tcase_add_loop_test(tcase, two_ranks_on_a_gpu_are_refused, 0, MODES);
	tcase_add_loop_test(tcase, wrong_calls_are_found, 0, sizeof(wrongs) / sizeof(*wrongs));
	tcase_add_loop_test(tcase, a_lost_rank_is_waited_for_until_abort, 0, MODES);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
