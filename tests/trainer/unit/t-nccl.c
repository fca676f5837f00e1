/* SPDX-License-Identifier: MIT */
/* Collective nccl on pretended GPUs: what its calls do, as they are and in a recorded step. */
#include "config.h"

#include <stdatomic.h>
#include <stdio.h>

#include "kernels/kernels.h"
#include "nccl-ranks.h"

/* Memory for one of several values, which is kept until the rank ends. */
static void *place(struct member *m, int index)
{
	enum { BYTES = 1 << 19, PLACES = 2 };

	if (!m->kept)
		m->kept = device_memory(m, (size_t)BYTES * PLACES);
	return (char *)m->kept + (size_t)index * BYTES;
}

/* --- values ------------------------------------------------------------------------------ */

static float value_of(int rank, int64_t i)
{
	return (float)((rank + 1) * (i % 1000 + 1));
}

static bool sums_to(struct member *m, int64_t count)
{
	size_t bytes = (size_t)count * sizeof(float);
	float *host = malloc(bytes + 1), *memory = place(m, 0);
	bool good;

	for (int64_t i = 0; i < count; i++)
		host[i] = value_of(m->rank, i);
	good = backend_cuda.write(m->device, memory, host, bytes, &m->error) &&
	       BETWEEN(m, nccl->all_reduce(m->comm, memory, count, "values", &m->error)) &&
	       backend_cuda.read(m->device, host, memory, bytes, &m->error);
	for (int64_t i = 0; good && i < count; i++)
		good = host[i] == (float)(m->world * (m->world + 1) / 2) * value_of(0, i);
	free(host);
	return good;
}

static void work_sums(struct member *m)
{
	static const int64_t counts[] = {0, 1, 3, 1000, 70001};

	m->good = true;
	for (size_t i = 0; m->good && i < sizeof(counts) / sizeof(*counts); i++)
		m->good = sums_to(m, counts[i]);
}

START_TEST(sums)
{
	const struct ranks_how how = how_of(_i);
	struct member members[MAX_NCCL];

	ranks_run(members, &how, work_sums, NULL);
	all_good(members, "sums");
}
END_TEST

static unsigned char byte_of(int rank, size_t i)
{
	return (unsigned char)((size_t)rank * 31 + i * 7 + (i >> 8));
}

static bool bytes_are(const unsigned char *bytes, size_t n, int rank)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != byte_of(rank, i))
			return false;
	return true;
}

static bool bytes_write(struct member *m, void *to, size_t n)
{
	unsigned char *host = malloc(n + 1);
	bool good;

	for (size_t i = 0; i < n; i++)
		host[i] = byte_of(m->rank, i);
	good = backend_cuda.write(m->device, to, host, n, &m->error);
	free(host);
	return good;
}

static bool bytes_read(struct member *m, const void *from, size_t n, int rank)
{
	unsigned char *host = calloc(1, n + 1);
	bool good =
		backend_cuda.read(m->device, host, from, n, &m->error) && bytes_are(host, n, rank);

	free(host);
	return good;
}

static bool broadcasts(struct member *m, size_t bytes, int root)
{
	void *memory = place(m, 0);

	return bytes_write(m, memory, bytes) &&
	       BETWEEN(m, nccl->broadcast(m->comm, memory, bytes, root, "bytes", &m->error)) &&
	       bytes_read(m, memory, bytes, root);
}

/* From other memory, and in place. */
static bool gathers(struct member *m, size_t bytes)
{
	unsigned char *mine = malloc(bytes + 1), *all = calloc((size_t)m->world, bytes + 1);
	bool good = true;

	for (int place = 0; good && place < 2; place++) {
		unsigned char *from = place ? all + (size_t)m->rank * bytes : mine;

		for (size_t i = 0; i < bytes; i++)
			from[i] = byte_of(m->rank, i);
		good = nccl->all_gather(m->comm, from, all, bytes, "marks", &m->error);
		for (int r = 0; good && r < m->world; r++)
			good = bytes_are(all + (size_t)r * bytes, bytes, r);
	}
	free(mine);
	free(all);
	return good;
}

/* The same for values on the device. */
static bool gathers_values(struct member *m, size_t bytes)
{
	unsigned char *mine = place(m, 0), *all = place(m, 1);
	bool good = true;

	for (int in_place = 0; good && in_place < 2; in_place++) {
		unsigned char *from = in_place ? all + (size_t)m->rank * bytes : mine;

		good = backend_cuda.zero(m->device, all, (size_t)m->world * bytes + 1, &m->error) &&
		       bytes_write(m, from, bytes) &&
		       BETWEEN(m, nccl->all_gather_values(m->comm, from, all, bytes, "values",
							  &m->error));
		for (int r = 0; good && r < m->world; r++)
			good = bytes_read(m, all + (size_t)r * bytes, bytes, r);
	}
	return good;
}

static void work_copies(struct member *m)
{
	static const size_t sizes[] = {0, 1, 4097, 16384, 16385, 100000};

	m->good = true;
	for (size_t i = 0; m->good && i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (int root = 0; m->good && root < m->world; root++)
			m->good = broadcasts(m, sizes[i], root);
		m->good = m->good && gathers(m, sizes[i]) && gathers_values(m, sizes[i]);
	}
}

START_TEST(copies)
{
	const struct ranks_how how = how_of(_i);
	struct member members[MAX_NCCL];

	ranks_run(members, &how, work_copies, NULL);
	all_good(members, "copies");
}
END_TEST

/* --- messages ---------------------------------------------------------------------------- */

static bool gives(struct member *m, int to, void *memory, size_t bytes)
{
	bool good = BETWEEN(m, nccl->send(m->comm, to, memory, bytes, "a message", &m->error));

	/* It may change now. */
	return good && backend_cuda.zero(m->device, memory, bytes, &m->error);
}

static bool takes(struct member *m, int from, void *memory, size_t bytes)
{
	return BETWEEN(m, nccl->receive(m->comm, from, memory, bytes, "a message", &m->error)) &&
	       bytes_read(m, memory, bytes, from);
}

/* All send first, to both neighbours, and then receive from both. */
static bool exchanges(struct member *m, size_t bytes)
{
	bool first = m->rank == 0, last = m->rank == m->world - 1;
	void *up = place(m, 0), *down = place(m, 1);

	return bytes_write(m, up, bytes) && bytes_write(m, down, bytes) &&
	       (last || gives(m, m->rank + 1, up, bytes)) &&
	       (first || gives(m, m->rank - 1, down, bytes)) &&
	       (last || takes(m, m->rank + 1, down, bytes)) &&
	       (first || takes(m, m->rank - 1, up, bytes));
}

/* As mp does: a stage begins with a few passes forward, then alternates forward and backward. */
static bool pipeline(struct member *m, int passes)
{
	const size_t bytes = 1000;
	void *forward = place(m, 0), *back = place(m, 1);
	bool first = m->rank == 0, last = m->rank == m->world - 1, good = true;
	int ahead = m->world - 1 - m->rank < passes ? m->world - 1 - m->rank : passes;

	for (int turn = 0; good && turn < passes + ahead; turn++) {
		if (turn < passes)
			good = (first || takes(m, m->rank - 1, forward, bytes)) &&
			       (last || (bytes_write(m, forward, bytes) &&
					 gives(m, m->rank + 1, forward, bytes)));
		if (turn >= ahead)
			good = good && (last || takes(m, m->rank + 1, back, bytes)) &&
			       (first || (bytes_write(m, back, bytes) &&
					  gives(m, m->rank - 1, back, bytes)));
	}
	return good && backend_cuda.finish(m->device, &m->error);
}

static void work_messages(struct member *m)
{
	static const size_t sizes[] = {0, 1, 4096, 100, 70001};

	m->good = true;
	for (size_t i = 0; m->good && i < sizeof(sizes) / sizeof(*sizes); i++)
		m->good = exchanges(m, sizes[i]) && sums_to(m, 10);
	for (int passes = 1; m->good && passes <= 5; passes++)
		m->good = pipeline(m, passes) && gathers(m, 8);
}

START_TEST(messages)
{
	const struct ranks_how how = how_of(_i);
	struct member members[MAX_NCCL];

	ranks_run(members, &how, work_messages, NULL);
	all_good(members, "messages");
}
END_TEST

/* --- recorded steps ---------------------------------------------------------------------- */

enum { COUNT = 1000 };

struct recorded {
	struct member *member;
	float *sum, *more, *all; /* all: of ASK_VALUES, COUNT of each rank */
	int asks;                /* which call it makes */
};

enum { ASK_SUM, ASK_GATHER, ASK_SEND, ASK_EMPTY, ASK_VALUES };

/* Calls without values, between ranks that are neighbours too. */
static bool issue_empty(struct member *m, float *memory, struct train_error *error)
{
	return backend_cuda.zero(m->device, memory, COUNT, error) && nccl->fork(m->comm, error) &&
	       nccl->all_reduce(m->comm, memory, 0, "nothing", error) &&
	       nccl->all_gather_values(m->comm, memory, memory, 0, "nothing", error) &&
	       nccl->broadcast(m->comm, memory, 0, 0, "nothing", error) &&
	       (m->rank == m->world - 1 ||
		nccl->send(m->comm, m->rank + 1, memory, 0, "nothing", error)) &&
	       (m->rank == 0 || nccl->receive(m->comm, m->rank - 1, memory, 0, "nothing", error)) &&
	       nccl->join(m->comm, error);
}

/* more = more + more, then sum = sum + more of each rank. */
static bool issue_values(struct recorded *r, struct train_error *error)
{
	struct communicator *comm = r->member->comm;
	struct device *device = r->member->device;
	bool good = backend_cuda.add(device, r->more, r->more, COUNT, error) &&
		    nccl->fork(comm, error) &&
		    nccl->all_gather_values(comm, r->more, r->all, COUNT * sizeof(float), "more",
					    error) &&
		    nccl->join(comm, error);

	for (int i = 0; good && i < comm->world; i++)
		good = backend_cuda.add(device, r->sum, r->all + i * COUNT, COUNT, error);
	return good;
}

/* sum = (the sum over all ranks of sum + more) + more; nothing else happens beside that sum. */
static bool issue(void *argument, struct train_error *error)
{
	struct recorded *r = argument;
	struct communicator *comm = r->member->comm;
	struct device *device = r->member->device;

	if (r->asks == ASK_GATHER)
		return nccl->all_gather(comm, NULL, NULL, 0, "the end", error);
	if (r->asks == ASK_SEND)
		return nccl->send(comm, 1 - comm->rank, r->sum, COUNT, "activations", error);
	if (r->asks == ASK_EMPTY)
		return issue_empty(r->member, r->sum, error);
	if (r->asks == ASK_VALUES)
		return issue_values(r, error);
	return backend_cuda.add(device, r->sum, r->more, COUNT, error) && nccl->fork(comm, error) &&
	       nccl->all_reduce(comm, r->sum, COUNT / 2, "bucket 0", error) &&
	       nccl->fork(comm, error) &&
	       nccl->all_reduce(comm, r->sum + COUNT / 2, COUNT / 2, "bucket 1", error) &&
	       nccl->join(comm, error) && backend_cuda.add(device, r->sum, r->more, COUNT, error);
}

static bool replays(struct member *m, struct recorded *r, int times)
{
	struct recording *step = NULL;
	bool good = backend_cuda.recording_new(&step, m->device, issue, r, &m->error);

	for (int i = 0; good && i < times; i++)
		good = backend_cuda.recording_run(step, &m->error);
	if (step && good)
		good = backend_cuda.finish(m->device, &m->error);
	if (step)
		backend_cuda.recording_free(step);
	return good;
}

static void work_recorded(struct member *m)
{
	float host[COUNT], want = 0;
	struct recorded r = {m, device_memory(m, sizeof(host)), device_memory(m, sizeof(host)),
			     NULL, ASK_SUM};

	for (int i = 0; i < COUNT; i++)
		host[i] = 1;
	m->good = backend_cuda.zero(m->device, r.sum, sizeof(host), &m->error) &&
		  backend_cuda.write(m->device, r.more, host, sizeof(host), &m->error) &&
		  issue(&r, &m->error) && replays(m, &r, 3) &&
		  backend_cuda.read(m->device, host, r.sum, sizeof(host), &m->error);
	for (int step = 0; step < 4; step++)
		want = (want + 1) * (float)m->world + 1;
	for (int i = 0; m->good && i < COUNT; i++)
		m->good = host[i] == want;
	backend_cuda.release(m->device, r.sum);
	backend_cuda.release(m->device, r.more);
}

START_TEST(recorded_steps)
{
	struct ranks_how how = how_of(_i);
	struct member members[MAX_NCCL];

	ranks_run(members, &how, work_recorded, NULL);
	all_good(members, "recorded");
}
END_TEST

static void work_values(struct member *m)
{
	float host[COUNT], want = 0;
	struct recorded r = {m, device_memory(m, sizeof(host)), device_memory(m, sizeof(host)),
			     device_memory(m, (size_t)m->world * sizeof(host)), ASK_VALUES};

	for (int i = 0; i < COUNT; i++)
		host[i] = (float)(m->rank + 1);
	m->good = backend_cuda.zero(m->device, r.sum, sizeof(host), &m->error) &&
		  backend_cuda.write(m->device, r.more, host, sizeof(host), &m->error) &&
		  issue(&r, &m->error) && replays(m, &r, 3) &&
		  backend_cuda.read(m->device, host, r.sum, sizeof(host), &m->error);
	for (int step = 1; step <= 4; step++)
		for (int rank = 0; rank < m->world; rank++)
			want += (float)((rank + 1) << step);
	for (int i = 0; m->good && i < COUNT; i++)
		m->good = host[i] == want;
	backend_cuda.release(m->device, r.sum);
	backend_cuda.release(m->device, r.more);
	backend_cuda.release(m->device, r.all);
}

START_TEST(recorded_gathers)
{
	const struct ranks_how how = how_of(_i);
	struct member members[MAX_NCCL];

	ranks_run(members, &how, work_values, NULL);
	all_good(members, "recorded gathers");
}
END_TEST

/* They keep the communicator's streams out of the recording, which nothing would join again. */
static void work_empty(struct member *m)
{
	float *memory = device_memory(m, COUNT * sizeof(float));
	struct recorded r = {m, memory, memory, NULL, ASK_EMPTY};

	m->good = replays(m, &r, 2) && sums_to(m, 10);
	backend_cuda.release(m->device, memory);
}

START_TEST(recorded_without_values)
{
	const struct ranks_how how = how_of(_i);
	struct member members[MAX_NCCL];

	ranks_run(members, &how, work_empty, NULL);
	all_good(members, "without values");
}
END_TEST

static void work_cannot(struct member *m)
{
	float *memory = device_memory(m, COUNT * sizeof(float));
	struct recorded r = {m, memory, memory, NULL, *(const int *)m->argument};

	m->good = !replays(m, &r, 1);
	backend_cuda.release(m->device, memory);
}

/* A gather waits, and the first message takes memory. */
START_TEST(what_cannot_be_recorded)
{
	static const struct {
		int asks;
		const char *want;
	} rows[] = {
		{ASK_GATHER,
		 "all-gather of the end: it waits, which a step that is recorded cannot"},
		{ASK_SEND,
		 "send of activations: it takes memory, which a step that is recorded cannot"},
	};
	const struct ranks_how how = {
		.world = 2, .apart = _i, .timeout_ms = 200000, .messages = true};
	struct member members[MAX_NCCL];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ranks_run(members, &how, work_cannot, &rows[i].asks);
		all_good(members, rows[i].want);
		ROW_EQ_STR(rows[i].want, members[0].error.text, rows[i].want);
	}
}
END_TEST

/* --- beside work that waits ------------------------------------------------------------------- */

static atomic_bool inputs_written;

/* Rank 1 comes to the sum when rank 0 has seen that inputs were copied while its stream waited. The
 * last write needs a slot of pinned memory, and so the end of a copy. */
static void work_ahead(struct member *m)
{
	enum { ALL = CUDA_WRITES * CUDA_WRITE_BYTES };
	unsigned char *host = calloc(1, ALL), *memory = device_memory(m, ALL + 16);
	float *sum = device_memory(m, sizeof(float));
	bool first = m->rank == 0;

	while (!first && !atomic_load(&inputs_written))
		nap(1);
	m->good =
		backend_cuda.zero(m->device, sum, sizeof(*sum), &m->error) &&
		(!first || backend_cuda.write_ahead(m->device, memory + ALL, host, 1, &m->error)) &&
		BETWEEN(m, nccl->all_reduce(m->comm, sum, 1, "values", &m->error)) &&
		(!first || backend_cuda.write_ahead(m->device, memory, host, ALL, &m->error)) &&
		(!first || backend_cuda.write(m->device, memory + ALL, host, 1, &m->error));
	atomic_store(&inputs_written, true);
	m->good = m->good && backend_cuda.finish(m->device, &m->error);
	backend_cuda.release(m->device, sum);
	backend_cuda.release(m->device, memory);
	free(host);
}

START_TEST(inputs_do_not_wait)
{
	const struct ranks_how how = {.world = 2, .late = _i, .timeout_ms = 200000};
	struct member members[MAX_NCCL];

	atomic_store(&inputs_written, false);
	ranks_run(members, &how, work_ahead, NULL);
	all_good(members, "inputs");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nccl");
	TCase *values = tcase_create("values"), *recorded = tcase_create("recorded");

	tcase_add_loop_test(values, sums, 0, HOWS);
	tcase_add_loop_test(values, copies, 0, HOWS);
	tcase_add_loop_test(values, messages, 0, HOWS);
	suite_add_tcase(suite, values);
	tcase_add_loop_test(recorded, recorded_steps, 0, HOWS);
	tcase_add_loop_test(recorded, recorded_gathers, 0, HOWS);
	tcase_add_loop_test(recorded, recorded_without_values, 0, HOWS);
	tcase_add_loop_test(recorded, what_cannot_be_recorded, 0, 2);
	tcase_add_loop_test(recorded, inputs_do_not_wait, 0, 2);
	suite_add_tcase(suite, recorded);
	return unit_run(suite);
}
