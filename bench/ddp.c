/* SPDX-License-Identifier: MIT */
/*
 * ddp RANKS BATCH [ROUNDS]: measures convnet's step on RANKS simulated devices of one thread each,
 * BATCH samples each, alternating: single (one device), ddp of one rank, and ddp of all ranks with
 * the gradients reduced at the end, in a thread beside backward, and not at all. Exposed
 * communication is the time of a step with the reductions less that without. Its lower bound
 * follows from when buckets become ready: a bucket starts when it is ready and the one before is
 * reduced, and takes the time that it takes alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/least.h"
#include "parallel/rank.h"
#include "place/cores.h"
#include "place/threads.h"

enum { STEPS = 8, WARM = 2, MAX_ROUNDS = 100, PROFILED = STEPS - WARM };

enum variant { SINGLE, ONE_RANK, AT_END, BESIDE, NOT_AT_ALL, VARIANTS };

static const char *const names[VARIANTS] = {"single", "ddp, one rank", "reduced at the end",
					    "reduced beside backward", "not reduced"};

struct bench {
	int ranks, rounds;
	int64_t batch;
	struct settings settings;
	struct place place;
	struct dataset data;
	struct parallel_options options;
	struct collective silent; /* reduces nothing */
	int64_t steps_ns[VARIANTS][MAX_ROUNDS * STEPS];
	int counted[VARIANTS];
	double least_ns;
	enum variant variant;
};

static bool no_sum(struct communicator *comm, float *values, int64_t count, const char *what,
		   struct train_error *error)
{
	return true;
}

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static double median_ms(struct bench *b, enum variant variant)
{
	int64_t *times = b->steps_ns[variant];

	qsort(times, (size_t)b->counted[variant], sizeof(*times), compare_times);
	return (double)times[b->counted[variant] / 2] / 1e6;
}

/* The least time that must follow the end of backward, from time lines of steps that reduce at the
 * end: bucket 1 is ready when backward is done. */
static void find_least(struct bench *b, const struct parallel *p)
{
	const struct timeline_interval *compute = p->timeline[0]->intervals;
	const struct timeline_interval *send = p->timeline[1]->intervals;
	double ready[2] = {0, 0}, took[2] = {0, 0};

	for (int i = 0; i < p->timeline[0]->count; i++)
		for (int k = 0; k < 2; k++)
			if (strcmp(compute[i].name,
				   k ? "conv1 backward weights" : "fc1 backward weights") == 0)
				ready[k] += (double)compute[i].end_ns;
	for (int i = 0; i < p->timeline[1]->count; i++)
		took[send[i].name[sizeof("bucket ") - 1] - '0'] +=
			(double)(send[i].end_ns - send[i].begin_ns);
	b->least_ns = least_exposed(ready, took, 2, ready[1]) / PROFILED;
}

static bool steps(struct bench *b, struct parallel *p, int64_t *indices, struct train_error *error)
{
	const struct step_input input = {
		.indices = indices,
		.count = b->batch,
		.of_all = b->batch * b->options.world,
		.rates = {1e-3, 0.9},
	};

	for (int step = 0; step < STEPS; step++) {
		struct step_output output = {.loss = 0};
		int64_t begin;

		if (!p->comm->calls->all_gather(p->comm, NULL, NULL, 0, "a barrier", error))
			return false;
		begin = clock_ns();
		for (int i = 0; i < p->timelines; i++)
			timeline_step(p->timeline[i], step < WARM ? -1 : step);
		if (!p->calls->step(p, &input, error) || !parallel_result(p, &output, error) ||
		    !p->comm->calls->all_gather(p->comm, NULL, NULL, 0, "a barrier", error))
			return false;
		if (step >= WARM && p->options.rank == 0)
			b->steps_ns[b->variant][b->counted[b->variant]++] = clock_ns() - begin;
	}
	return true;
}

static bool work(void *argument, int rank, struct train_error *error)
{
	struct bench *b = argument;
	struct parallel_options options = b->options;
	struct parallel *p = NULL;
	int64_t *indices = calloc((size_t)b->batch, sizeof(*indices));
	const struct optimizer_progress begin = {.scaler = scaler_default()};
	bool done = indices != NULL;

	options.rank = rank;
	for (int64_t i = 0; done && i < b->batch; i++)
		indices[i] = (i + rank * b->batch) % b->data.samples;
	done = done && parallel_find(b->settings.mode)->open(&p, &options, error) &&
	       p->calls->synchronize(p, &begin, error) && steps(b, p, indices, error);
	if (done && rank == 0 && b->variant == AT_END)
		find_least(b, p);
	if (!done && p && p->comm)
		p->calls->abort(p, error);
	else if (!done)
		options.collective->cancel(options.rendezvous, rank, error);
	if (p)
		p->calls->close(p);
	free(indices);
	return done;
}

static bool run(struct bench *b, enum variant variant, struct train_error *error)
{
	bool single = variant <= ONE_RANK;
	struct collective *table = &b->silent;
	struct rendezvous_options rendezvous = {.world = single ? 1 : b->ranks};
	struct threads *threads;
	bool done;

	b->variant = variant;
	b->settings.mode = variant == SINGLE ? MODE_SINGLE : MODE_DDP;
	b->settings.overlap = variant == BESIDE ? OVERLAP_YES : OVERLAP_NO;
	b->options.profiled = variant == AT_END ? PROFILED : 0;
	*table = single ? collective_self : collective_shm;
	if (variant == NOT_AT_ALL)
		table->all_reduce = no_sum;
	b->options.collective = table;
	b->options.world = b->place.world = b->place.local_world = b->place.ranks = b->place.count =
		rendezvous.ranks = rendezvous.world;
	if (!table->meet(&b->options.rendezvous, &rendezvous, error))
		return false;
	done = threads_open(&threads, rendezvous.world, error);
	if (done) {
		done = threads_run(threads, work, NULL, b, error);
		threads_close(threads);
	}
	table->leave(b->options.rendezvous);
	return done;
}

static bool prepare(struct bench *b, struct train_error *error)
{
	const struct model_spec *spec = model_find("convnet", error);
	const struct dataset_synthetic of = {
		{spec->channels, spec->height, spec->width}, 10, 0, 1024, 1};

	b->settings = (struct settings){.model = "convnet",
					.accumulate = 1,
					.micro_batches = 1,
					.optimizer = optimizer_rows[OPTIMIZER_ADAM].initial,
					.bucket_mib = 25,
					.first_bucket_mib = 1,
					.stages = "",
					.threads = 1};
	for (int i = 0; i < PLACE_MAX_DEVICES; i++)
		b->place.devices[i].physical = i;
	b->options = (struct parallel_options){.settings = &b->settings,
					       .place = &b->place,
					       .backend = backend_find("auto", error),
					       .spec = spec,
					       .train = &b->data,
					       .test = &b->data,
					       .batch = b->batch};
	cores_allowed(&b->options.cpus);
	return dataset_make(&b->data, &of, error);
}

static void print(struct bench *b)
{
	double ms[VARIANTS];

	for (int v = 0; v < VARIANTS; v++) {
		ms[v] = median_ms(b, v);
		printf("%-24s %8.2f ms a step, %8.0f images/s\n", names[v], ms[v],
		       (double)(b->batch * (v <= ONE_RANK ? 1 : b->ranks)) / ms[v] * 1e3);
	}
	printf("ddp at one rank costs %.1f %%; %d ranks do %.2f times the work of one\n",
	       100 * (ms[ONE_RANK] / ms[SINGLE] - 1), b->ranks, b->ranks * ms[SINGLE] / ms[AT_END]);
	printf("exposed communication: %.2f ms at the end, %.2f ms beside; the least %.2f ms\n",
	       ms[AT_END] - ms[NOT_AT_ALL], ms[BESIDE] - ms[NOT_AT_ALL], b->least_ns / 1e6);
}

int main(int argc, char **argv)
{
	static struct bench bench;
	struct train_error error = {.status = TRAIN_OK};
	bool done;

	if (argc < 3) {
		fputs("usage: ddp RANKS BATCH [ROUNDS]\n", stderr);
		return 2;
	}
	bench.ranks = atoi(argv[1]);
	bench.batch = atoi(argv[2]);
	bench.rounds = argc > 3 ? atoi(argv[3]) : 5;
	if (bench.ranks < 2 || bench.ranks > PLACE_MAX_DEVICES || bench.batch < 1 ||
	    bench.rounds < 1 || bench.rounds > MAX_ROUNDS) {
		fputs("ddp: 2 or more ranks, batches of 1 or more, 1 to 100 rounds\n", stderr);
		return 2;
	}
	done = prepare(&bench, &error);
	for (int round = 0; done && round < bench.rounds; round++)
		for (int v = 0; done && v < VARIANTS; v++)
			done = run(&bench, v, &error);
	if (!done) {
		fprintf(stderr, "ddp: %s\n", error.text);
		return 1;
	}
	print(&bench);
	dataset_free(&bench.data);
	return 0;
}
