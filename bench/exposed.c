/* SPDX-License-Identifier: MIT */
/*
 * exposed [-m MODEL] [-b BATCH] [-p TYPE] [-n BLOCKS] [-r ROUNDS] [-t MS] [-k MIB]: measures
 * exposed communication on one GPU, in a step of ddp with one rank. Its sums are a kernel that
 * keeps BLOCKS multiprocessors busy for 0 to 500 microseconds per bucket on the communication
 * stream (24: as many as NCCL takes between GPUs with NVLink); convnet, batches of 512, bf16.
 * Exposed communication is the step's time less that of one without sums, with sums beside backward
 * (on) and after it (off). The lower bound follows from the times at which buckets are ready; marks
 * in the recorded step give them.
 *
 * Times are those of CUDA events around blocks of MS (50) milliseconds of recorded steps,
 * alternating, medians of ROUNDS (9); "took" is the kernel alone. -k: the limit of a bucket, also
 * for the first.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/busy.h"
#include "bench/least.h"
#include "parallel/parallel.h"
#include "place/cores.h"

enum { MAX_ROUNDS = 100, WARM = 3, ALONE = 50, MAX_STEPS = 5000 };

static const int busy_us[] = {0, 10, 25, 50, 100, 200, 300, 500};

enum variant { WITHOUT, OFF, ON, VARIANTS };

struct bench {
	const struct type *type;
	int rounds, blocks, block_ms;
	struct settings settings;
	struct place place;
	struct dataset data;
	struct parallel_options options;
	int64_t *indices;
	int buckets;
	double ready[MAX_BUCKETS]; /* microseconds after the end of backward */
};

/* A step that can be run, and what is known about it. */
struct runner {
	struct bench *bench;
	struct busy busy;
	struct parallel *parallel;
	int64_t on_way;
};

static const struct type {
	const char *name;
	enum value_type type;
	bool exact;
} types[] = {{"bf16", VALUE_BFLOAT16, false},
	     {"fp16", VALUE_FLOAT16, false},
	     {"tf32", VALUE_FLOAT32, false},
	     {"fp32", VALUE_FLOAT32, true}};

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), by_value);
	return values[count / 2];
}

/* --- running -------------------------------------------------------------------------------- */

static bool take(struct runner *r, struct train_error *error)
{
	struct step_output output = {.loss = 0};

	r->on_way--;
	return parallel_result(r->parallel, &output, error);
}

/* As many steps as the trainer would have in flight. */
static bool steps(struct runner *r, int count, struct train_error *error)
{
	const struct bench *b = r->bench;
	const struct step_input input = {.indices = b->indices,
					 .count = b->options.batch,
					 .of_all = b->options.batch,
					 .rates = {1e-3, 0.9}};

	for (int i = 0; i < count; i++) {
		if (!r->parallel->calls->step(r->parallel, &input, error))
			return false;
		r->on_way++;
		if (r->on_way > b->options.backend->ahead && !take(r, error))
			return false;
	}
	return true;
}

static bool finish(struct runner *r, struct train_error *error)
{
	while (r->on_way > 0)
		if (!take(r, error))
			return false;
	return r->bench->options.backend->finish(r->parallel->device[0], error);
}

static void runner_close(struct runner *r)
{
	if (r->parallel)
		r->parallel->calls->close(r->parallel);
}

/* Runs two steps: the first as usual, the second recorded. */
static bool runner_open(struct runner *r, struct bench *b, enum overlap overlap,
			struct train_error *error)
{
	const struct optimizer_progress begin = {.scaler = scaler_default()};
	struct parallel_options options = b->options;

	b->settings.overlap = overlap;
	r->bench = b;
	options.collective = &r->busy.calls;
	options.rendezvous = busy_rendezvous(&r->busy);
	return parallel_ddp.open(&r->parallel, &options, error) &&
	       r->parallel->calls->synchronize(r->parallel, &begin, error) &&
	       steps(r, WARM, error) && finish(r, error);
}

/* Microseconds on the device for what `work` puts on its stream. */
static bool timed(struct runner *r,
		  bool (*work)(struct runner *r, void *argument, struct train_error *error),
		  void *argument, double *us, struct train_error *error)
{
	const struct backend *backend = r->bench->options.backend;
	struct device *device = r->parallel->device[0];
	int64_t from = backend->mark(device), to;

	if (!work(r, argument, error))
		return false;
	to = backend->mark(device);
	if (!finish(r, error))
		return false;
	if (!from || !to)
		return train_fail(error, TRAIN_FAILED, "the GPU takes no time");
	*us = (double)(backend->mark_ns(device, to) - backend->mark_ns(device, from)) / 1e3;
	backend->mark_ns(device, 0);
	return true;
}

static bool some_steps(struct runner *r, void *count, struct train_error *error)
{
	return steps(r, *(int *)count, error);
}

/* --- the parts ------------------------------------------------------------------------------ */

/* When buckets are ready: medians of runs of the recorded step. */
static bool find_ready(struct bench *b, struct train_error *error)
{
	static double all[MAX_BUCKETS][MAX_ROUNDS];
	struct runner r = {.bench = b};
	bool done;

	busy_init(&r.busy, BUSY_MARKS, &(struct busy_args){.blocks = 0});
	done = runner_open(&r, b, OVERLAP_YES, error);
	for (int round = 0; done && round < b->rounds; round++) {
		double ready[MAX_BUCKETS];

		done = steps(&r, 1, error) && finish(&r, error);
		b->buckets = done ? busy_ready(&r.busy, ready, error) : -1;
		done = b->buckets >= 0;
		for (int i = 0; i < b->buckets; i++)
			all[i][round] = ready[i];
	}
	runner_close(&r);
	for (int i = 0; done && i < b->buckets; i++)
		b->ready[i] = median(all[i], b->rounds);
	return done;
}

static bool issue_alone(void *argument, struct train_error *error)
{
	const struct runner *r = argument;
	bool done = true;

	for (int i = 0; done && i < ALONE; i++)
		done = busy_alone(r->parallel->device[0], &r->busy.args, error);
	return done;
}

static bool run_alone(struct runner *r, void *step, struct train_error *error)
{
	return r->bench->options.backend->recording_run(step, error);
}

/* How long the kernel of this runner takes in a row of kernels, recorded as in a step. */
static bool find_took(struct runner *r, double *took, struct train_error *error)
{
	const struct backend *backend = r->bench->options.backend;
	double all[MAX_ROUNDS];
	struct recording *step;
	bool done;

	if (!backend->recording_new(&step, r->parallel->device[0], issue_alone, r, error))
		return false;
	done = timed(r, run_alone, step, &all[0], error);
	for (int round = 0; done && round < r->bench->rounds; round++)
		done = timed(r, run_alone, step, &all[round], error);
	backend->recording_free(step);
	if (done)
		*took = median(all, r->bench->rounds) / ALONE;
	return done;
}

static void print_row(const struct bench *b, int us, double took, const double step[VARIANTS])
{
	double each[MAX_BUCKETS];

	for (int i = 0; i < b->buckets; i++)
		each[i] = took;
	printf("%d\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\n", us, took, step[WITHOUT], step[OFF],
	       step[ON], step[OFF] - step[WITHOUT], step[ON] - step[WITHOUT],
	       least_exposed(b->ready, each, b->buckets, 0));
	fflush(stdout);
}

/* Blocks of all three alternate, so that a disturbance meets all of them. */
static bool measure(struct bench *b, struct runner runners[VARIANTS], double step[VARIANTS],
		    struct train_error *error)
{
	static double all[VARIANTS][MAX_ROUNDS];
	int count = 1;
	double us;

	for (int i = 0; i < 2; i++) {
		if (!timed(&runners[WITHOUT], some_steps, &count, &us, error))
			return false;
		count = us > 0 ? (int)(1e3 * b->block_ms * count / us) : MAX_STEPS;
		count = count < 1 ? 1 : count > MAX_STEPS ? MAX_STEPS : count;
	}
	for (int round = 0; round < b->rounds; round++)
		for (int v = 0; v < VARIANTS; v++) {
			if (!timed(&runners[v], some_steps, &count, &us, error))
				return false;
			all[v][round] = us / count;
		}
	for (int v = 0; v < VARIANTS; v++)
		step[v] = median(all[v], b->rounds);
	return true;
}

static bool row(struct bench *b, int us, struct train_error *error)
{
	static const struct busy_args none = {.blocks = 0};
	const struct busy_args args = {.nanoseconds = INT64_C(1000) * us, .blocks = b->blocks};
	struct runner runners[VARIANTS] = {{.bench = NULL}};
	double took = 0, step[VARIANTS];
	bool done = true;

	busy_init(&runners[WITHOUT].busy, BUSY_NOTHING, &none);
	busy_init(&runners[OFF].busy, BUSY_KERNEL, &args);
	busy_init(&runners[ON].busy, BUSY_KERNEL, &args);
	for (int v = 0; done && v < VARIANTS; v++)
		done = runner_open(&runners[v], b, v == OFF ? OVERLAP_NO : OVERLAP_YES, error);
	done = done && find_took(&runners[ON], &took, error) && measure(b, runners, step, error);
	if (done)
		print_row(b, us, took, step);
	for (int v = 0; v < VARIANTS; v++)
		runner_close(&runners[v]);
	return done;
}

/* --- the command ---------------------------------------------------------------------------- */

static const struct type *type_find(const char *name)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strcmp(types[i].name, name) == 0)
			return &types[i];
	return NULL;
}

static bool read_options(struct bench *b, int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "m:b:p:n:r:t:k:")) != -1) {
		switch (option) {
		case 'm':
			b->settings.model = optarg;
			break;
		case 'b':
			b->options.batch = atoi(optarg);
			break;
		case 'p':
			b->type = type_find(optarg);
			break;
		case 'n':
			b->blocks = atoi(optarg);
			break;
		case 'r':
			b->rounds = atoi(optarg);
			break;
		case 't':
			b->block_ms = atoi(optarg);
			break;
		case 'k':
			b->settings.bucket_mib = b->settings.first_bucket_mib = atof(optarg);
			break;
		default:
			return false;
		}
	}
	return optind == argc && b->type && b->options.batch > 0 && b->blocks > 0 &&
	       b->rounds > 0 && b->rounds <= MAX_ROUNDS && b->block_ms > 0 &&
	       b->settings.bucket_mib > 0;
}

/* Enough images for two batches, always the same ones. */
static bool prepare(struct bench *b, struct train_error *error)
{
	const struct model_spec *spec = model_find(b->settings.model, error);
	struct dataset_synthetic of = {.classes = 10, .samples = 2 * b->options.batch};

	b->options.backend = spec ? backend_find("cuda", error) : NULL;
	if (!b->options.backend)
		return false;
	of.shape = (struct dataset_shape){spec->channels, spec->height, spec->width};
	b->settings.precision = b->type->type;
	b->settings.exact = b->type->exact;
	b->place = (struct place){.count = 1, .world = 1, .local_world = 1, .ranks = 1};
	b->options.settings = &b->settings;
	b->options.place = &b->place;
	b->options.spec = spec;
	b->options.train = b->options.test = &b->data;
	b->options.world = 1;
	b->options.precision = b->type->type;
	cores_allowed(&b->options.cpus);
	b->indices = calloc((size_t)b->options.batch, sizeof(*b->indices));
	if (!b->indices)
		return train_nomem(error, "a batch");
	for (int64_t i = 0; i < b->options.batch; i++)
		b->indices[i] = 2 * i;
	return dataset_make(&b->data, &of, error);
}

static bool run(struct bench *b, struct train_error *error)
{
	if (!find_ready(b, error))
		return false;
	printf("step\t%s, batch %d, %s, busy on %d blocks of %d threads\nready us",
	       b->settings.model, (int)b->options.batch, b->type->name, b->blocks, BUSY_THREADS);
	for (int i = 0; i < b->buckets; i++)
		printf("\t%.1f", b->ready[i]);
	printf("\nbusy us\ttook us\twithout us\toff us\ton us\texposed off us\texposed on us\t"
	       "least us\n");
	for (size_t i = 0; i < sizeof(busy_us) / sizeof(*busy_us); i++)
		if (!row(b, busy_us[i], error))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	static struct bench bench;
	struct train_error error = {.status = TRAIN_OK};
	bool done;

	bench = (struct bench){.type = types,
			       .rounds = 9,
			       .blocks = 24,
			       .block_ms = 50,
			       .options = {.batch = 512}};
	bench.settings = (struct settings){.model = "convnet",
					   .mode = MODE_DDP,
					   .accumulate = 1,
					   .micro_batches = 1,
					   .optimizer = optimizer_rows[OPTIMIZER_ADAM].initial,
					   .bucket_mib = 25,
					   .first_bucket_mib = 1,
					   .stages = "",
					   .threads = 1};
	if (!read_options(&bench, argc, argv)) {
		fputs("usage: exposed [-m MODEL] [-b BATCH] [-p bf16|fp16|tf32|fp32] [-n BLOCKS] "
		      "[-r ROUNDS] [-t MS] [-k MIB]\n",
		      stderr);
		return TRAIN_BAD_INPUT;
	}
	done = prepare(&bench, &error) && run(&bench, &error);
	if (!done)
		fprintf(stderr, "exposed: %s\n", error.text);
	free(bench.indices);
	dataset_free(&bench.data);
	return (int)error.status;
}
