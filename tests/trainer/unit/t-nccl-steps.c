/* SPDX-License-Identifier: MIT */
/* ddp over collective nccl as ranks that are processes do it, which record their steps; and beside
 * it on the CPU. */
#include "config.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "nccl-ranks.h"
#include "parallel/parallel.h"

enum { RANKS = 2, SAMPLES = 32, STEPS = 12, MAX_OPTIONS = 24, MAX_BUFFERS = 64 };

struct trainee {
	pthread_t thread;
	struct parallel_options options;
	const int *counts; /* of all ranks' samples in each step */
	int64_t profile;   /* the step whose time is measured, or -1 */
	int late_ms;       /* rank 1 comes so much later to that step */
	/* of that step: the intervals of buckets, and how many have no length */
	int sent, empty;
	bool control; /* ranks have a control communicator too */
	bool cpu;     /* they are on the CPU, and have shared memory */
	int dropped;  /* of the forks and joins of rank 0 in step `dropped_at`, or -1 */
	int dropped_at;
	double losses[STEPS];
	float buffers[MAX_BUFFERS]; /* running statistics in the end */
	int64_t buffers_count;
	char remark[PARALLEL_REMARK]; /* the last */
	struct step_output outputs[STEPS];
	struct train_error error;
	bool good;
};

static struct settings settings_of(const char *const *more, struct command_line *command)
{
	static const char *const first[] = {
		"test", "--model", "subnets",         "--lr", "0.05", "--optimizer",
		"sgd",  "--exact", "--deterministic", NULL};
	static char texts[MAX_OPTIONS][32];
	char *argv[MAX_OPTIONS];
	const char *envp[] = {NULL};
	struct train_error error = {.status = TRAIN_OK};
	int argc = 0;

	for (const char *const *option = first; *option; option++)
		snprintf(texts[argc++], sizeof(texts[0]), "%s", *option);
	for (; *more; more++)
		snprintf(texts[argc++], sizeof(texts[0]), "%s", *more);
	for (int i = 0; i < argc; i++)
		argv[i] = texts[i];
	ck_assert_msg(settings_read(command, argc, argv, envp, &error), "%s", error.text);
	return command->settings;
}

/* Rank r takes every RANKS-th sample, from the r-th on. */
static int64_t share(int64_t all, int rank, int ranks, int64_t *indices)
{
	int64_t count = 0;

	for (int64_t i = rank; i < all; i += ranks)
		indices[count++] = i;
	return count;
}

static bool step(struct trainee *t, struct parallel *p, int at)
{
	int64_t indices[SAMPLES];
	const struct step_input input = {
		.indices = indices,
		.count = share(t->counts[at], t->options.rank, t->options.world, indices),
		.of_all = t->counts[at],
		.rates = {0.05, 0},
	};

	for (int i = 0; i < p->timelines; i++)
		timeline_step(p->timeline[i], t->profile == at ? at : -1);
	if (t->profile == at && t->options.rank == 1)
		nap(t->late_ms);
	t->outputs[at] = (struct step_output){.norm = NAN};
	if (!p->calls->step(p, &input, &t->error))
		return false;
	if (*p->remark)
		snprintf(t->remark, sizeof(t->remark), "%s", p->remark);
	if (!parallel_result(p, &t->outputs[at], &t->error))
		return false;
	t->losses[at] = t->outputs[at].loss;
	return true;
}

/* Gives rank 0 a parameter or a buffer. */
static bool write_one(struct trainee *t, struct parallel *p, int state, int index, int64_t count)
{
	float *host = malloc((size_t)count * sizeof(*host));
	bool done;

	ck_assert_ptr_nonnull(host);
	for (int64_t k = 0; k < count; k++)
		host[k] = (float)(sin(12.9898 * (double)k + 78.233 * index) / sqrt((double)count));
	done = p->calls->write(p, state, index, t->options.rank == 0 ? host : NULL, &t->error);
	free(host);
	return done;
}

/* Gives rank 0 some parameters and buffers, as a checkpoint does, and all ranks those. */
static bool write_all(struct trainee *t, struct parallel *p)
{
	const struct optimizer_progress begin = {.scaler = scaler_default()};
	bool done = true;

	for (int i = 0; done && i < p->shapes.parameters_count; i++)
		done = write_one(t, p, -1, i, p->shapes.parameters[i].elements);
	for (int i = 0; done && i < p->shapes.buffers_count; i++)
		done = write_one(t, p, PARALLEL_BUFFERS, i, p->shapes.buffers[i].elements);
	return done && p->calls->synchronize(p, &begin, &t->error);
}

/* A check of a burn test, which moves the running statistics of each rank by samples of its own. */
static bool check(struct trainee *t, struct parallel *p)
{
	const int64_t indices[] = {t->options.rank * 2, t->options.rank * 2 + 1};
	const struct step_input input = {.indices = indices, .count = 2, .of_all = 2};
	struct device_check checked = {.hash = 0};

	return p->calls->check(p, &input, &checked, &t->error);
}

/* Before some steps ranks get other running statistics. */
static bool disturb(struct trainee *t, struct parallel *p, int step)
{
	if (p->shapes.buffers_count == 0)
		return true;
	return (step != 3 || write_all(t, p)) && (step != 5 || check(t, p));
}

static bool read_buffers(struct trainee *t, struct parallel *p)
{
	bool done = true;

	t->buffers_count = p->shapes.buffer_elements;
	ck_assert_int_le(t->buffers_count, MAX_BUFFERS);
	for (int i = 0; done && i < p->shapes.buffers_count; i++)
		done = p->calls->read(p, PARALLEL_BUFFERS, i,
				      t->buffers + p->shapes.buffers[i].offset, &t->error);
	return done;
}

/* --- forks and joins that are left out ------------------------------------------------------ */

static struct collective forgetful;
static bool counting;         /* in the step that lacks one */
static int orders, forgotten; /* its forks and joins of rank 0, and which of them is left out */

static bool is_forgotten(void)
{
	return counting && orders++ == forgotten;
}

static bool forget_fork(struct communicator *comm, struct train_error *error)
{
	return is_forgotten() || nccl->fork(comm, error);
}

static bool forget_join(struct communicator *comm, struct train_error *error)
{
	return is_forgotten() || nccl->join(comm, error);
}

static void forget_in(const struct trainee *t, struct parallel *p, int step)
{
	if (t->dropped < 0 || t->options.rank != 0)
		return;
	if (step == 0) {
		forgetful = *p->comm->calls;
		forgetful.fork = forget_fork;
		forgetful.join = forget_join;
		p->comm->calls = &forgetful;
		orders = 0;
		forgotten = t->dropped;
	}
	counting = step == t->dropped_at;
}

static void *train(void *argument)
{
	struct trainee *t = argument;
	struct parallel *p = NULL;
	bool single = t->options.world == 1;
	const struct parallel_calls *calls = single ? &parallel_single : &parallel_ddp;

	t->good = calls->open(&p, &t->options, &t->error) && write_all(t, p);
	for (int i = 0; t->good && i < STEPS && t->counts[i] > 0; i++) {
		forget_in(t, p, i);
		t->good = disturb(t, p, i) && step(t, p, i);
	}
	t->good = t->good && read_buffers(t, p);
	if (p && !t->good)
		calls->abort(p, &t->error);
	for (int i = 0; t->good && p->timeline[1] && i < p->timeline[1]->count; i++) {
		const struct timeline_interval *part = &p->timeline[1]->intervals[i];

		t->sent += strncmp(part->name, "bucket ", 7) == 0;
		t->empty += part->begin_ns <= 0 || part->end_ns <= part->begin_ns;
	}
	if (p)
		calls->close(p);
	return NULL;
}

/* A process of one rank. */
static void begin(struct trainee *t, const struct settings *settings, struct place *place, int rank,
		  int world)
{
	struct rendezvous_options rendezvous = {
		.world = world, .ranks = 1, .rank = rank, .local = 1, .timeout_ms = 200000};
	char name[64];

	snprintf(name, sizeof(name), "test-nccl-steps-%d", (int)getpid());
	if (t->control || t->cpu) {
		rendezvous.name = name;
		rendezvous.local = world;
	}
	*place = (struct place){
		.count = 1, .rank = rank, .world = world, .local_world = 1, .ranks = 1};
	place->devices[0] = (struct place_device){.physical = rank, .logical = rank};
	t->options.settings = settings;
	t->options.place = place;
	t->options.backend = t->cpu ? &backend_reference : &backend_cuda;
	t->options.collective = world == 1 ? &collective_self : t->cpu ? &collective_shm : nccl;
	t->options.rank = rank;
	t->options.world = world;
	t->options.batch = SAMPLES / world;
	CPU_ZERO(&t->options.cpus);
	CPU_SET(0, &t->options.cpus);
	ck_assert_msg(t->options.collective->meet(&t->options.rendezvous, &rendezvous, &t->error),
		      "%s", t->error.text);
}

/* Runs all ranks, whether they fail or not. */
static void run_ranks(struct trainee *trainees, int world, const struct settings *settings,
		      const struct trainee *how)
{
	struct place places[RANKS];

	for (int r = 0; r < world; r++) {
		trainees[r] = *how;
		begin(&trainees[r], settings, &places[r], r, world);
	}
	for (int r = 0; r < world; r++)
		ck_assert(pthread_create(&trainees[r].thread, NULL, train, &trainees[r]) == 0);
	for (int r = 0; r < world; r++)
		pthread_join(trainees[r].thread, NULL);
	for (int r = 0; r < world; r++)
		trainees[r].options.collective->leave(trainees[r].options.rendezvous);
}

/* The same, and returns how often recorded steps ran. `all` gets the sums of the ranks' losses. */
static uint64_t run_any(struct trainee *trainees, int world, const struct settings *settings,
			const struct trainee *how, double *all)
{
	char text[FAKE_CUDA_TEXT];
	uint64_t launches;

	run_ranks(trainees, world, settings, how);
	for (int i = 0; i < STEPS; i++) {
		all[i] = 0;
		for (int r = 0; r < world; r++)
			all[i] += trainees[r].losses[i];
	}
	launches = fake_cuda_made(CUDA_CALL_cudaGraphLaunch);
	ck_assert_msg(fake_cuda_close(text), "%d ranks: %s", world, text);
	return launches;
}

static uint64_t run(struct trainee *trainees, int world, const struct settings *settings,
		    const struct trainee *how, double *all)
{
	uint64_t launches = run_any(trainees, world, settings, how, all);

	for (int r = 0; r < world; r++)
		ck_assert_msg(trainees[r].good, "rank %d of %d: %s", r, world,
			      trainees[r].error.text);
	return launches;
}

static void machine_of(struct fake_cuda_options options)
{
	options.devices = RANKS;
	fake_cuda_open(&options);
	setenv("NCCL_COMM_ID", "127.0.0.1:4711", 1);
}

static void machine(bool late)
{
	machine_of((struct fake_cuda_options){.late = late});
}

/* Normalized batches, of channels that GPUs pad. */
static const struct layer norm_layers[] = {
	{.name = "a", .kind = LAYER_CONVOLUTION, .out = 5, .kernel = 3, .pad = 1, .no_bias = true},
	{.name = "an", .kind = LAYER_BATCH_NORM, .relu = true},
	{.name = "b", .kind = LAYER_CONVOLUTION, .out = 9, .kernel = 3, .no_bias = true},
	{.name = "bn", .kind = LAYER_BATCH_NORM, .relu = true},
	{.name = "mean", .kind = LAYER_MEAN_POOL},
	{.name = "fc", .kind = LAYER_LINEAR, .out = 10},
};
static const struct model_spec norms = {"norms", 3, 6, 6, 6, norm_layers};
enum { NORMS = 2 };
#define SYNC "--mode", "ddp", "--sync-batch-norm"

static const struct {
	const char *name;
	int counts[STEPS];
	const char *options[MAX_OPTIONS];
	const struct model_spec *spec; /* NULL: that of the settings */
} rows[] = {
	{"short last steps", {32, 32, 5, 32, 32, 5, 32, 5, 5}, {NULL}, NULL},
	/* Of four passes: in the last step of an epoch rank 0 has all of them, rank 1 three. */
	{"other passes",
	 {32, 32, 32, 25, 32, 25, 32, 25, 25, 25, 32, 32},
	 {"--accumulate", "4", NULL},
	 NULL},
	{"one rank has none", {32, 32, 1, 32, 1, 1, 32}, {"--accumulate", "2", NULL}, NULL},
	{"normalized together", {32, 32, 5, 32, 32, 5, 32, 5, 5}, {SYNC, NULL}, &norms},
	{"normalized together in other passes",
	 {32, 32, 32, 25, 32, 25, 32, 25, 25, 25, 32, 32},
	 {SYNC, "--accumulate", "4", NULL},
	 &norms},
	{"normalized together, one rank has none",
	 {32, 32, 1, 32, 1, 1, 32},
	 {SYNC, "--accumulate", "2", NULL},
	 &norms},
	{"normalized together, in bfloat16",
	 {32, 32, 32, 7, 7, 7},
	 {SYNC, "--precision", "bf16", NULL},
	 &norms},
	/* The scale leaves steps out, on all ranks alike. */
	{"normalized together, in float16, clipped",
	 {32, 32, 32, 7, 7, 7, 7},
	 {SYNC, "--precision", "fp16", "--clip-norm", "0.5", NULL},
	 &norms},
};
enum { ROWS = sizeof(rows) / sizeof(*rows) };

/* Of a model, or that of the settings. */
static void open_data(struct trainee *how, const struct model_spec *spec,
		      const struct settings *settings, struct dataset *data)
{
	struct dataset_synthetic synthetic = {.samples = SAMPLES, .classes = 10};

	how->dropped = -1;
	how->options.precision = settings->precision;
	if (!spec)
		spec = model_find(settings->model, &how->error);
	synthetic.shape = (struct dataset_shape){spec->channels, spec->height, spec->width};
	ck_assert_msg(dataset_make(data, &synthetic, &how->error), "%s", how->error.text);
	how->options.spec = spec;
	how->options.train = how->options.test = data;
}

/* Ranks that normalize together have the same running statistics, those of one rank with all. */
static void compare_buffers(const char *name, const struct trainee *alone,
			    const struct trainee *together, double most)
{
	for (int64_t i = 0; i < alone->buffers_count; i++) {
		float want = alone->buffers[i], got = together[0].buffers[i];

		ck_assert_msg(memcmp(&got, &together[1].buffers[i], sizeof(got)) == 0,
			      "%s, running statistic %lld: %.9g and %.9g", name, (long long)i,
			      (double)got, (double)together[1].buffers[i]);
		ck_assert_msg(fabs((double)got - (double)want) <= most * (1 + fabs((double)want)),
			      "%s, running statistic %lld: %.9g alone, %.9g together", name,
			      (long long)i, (double)want, (double)got);
	}
}

enum way { GPUS, LATE_GPUS, CPUS, WAYS };

/* Several ranks train as one with all samples. */
START_TEST(steps_are_alike)
{
	int row = _i / WAYS;
	enum way way = _i % WAYS;
	struct command_line command;
	struct settings settings = settings_of(rows[row].options, &command);
	struct dataset data = {.samples = 0};
	struct trainee how = {.counts = rows[row].counts, .profile = -1}, trainees[RANKS], single;
	double alone[STEPS], together[STEPS];
	double most = settings.precision == VALUE_FLOAT32 ? 1e-4 : 1e-2;
	uint64_t launches;

	open_data(&how, rows[row].spec, &settings, &data);
	how.cpu = way == CPUS;
	settings.mode = MODE_SINGLE;
	machine(false);
	run(&single, 1, &settings, &how, alone);
	settings.mode = MODE_DDP;
	if (rows[row].spec)
		settings.bucket_mib = settings.first_bucket_mib = 0.001;
	machine(way == LATE_GPUS);
	launches = run(trainees, RANKS, &settings, &how, together);
	ck_assert_msg((launches > 0) == (way != CPUS), "%s: %llu launches", rows[row].name,
		      (unsigned long long)launches);
	for (int i = 0; i < STEPS; i++)
		ck_assert_msg(fabs(alone[i] - together[i]) <= most * fabs(alone[i]),
			      "%s, step %d: %.9g alone, %.9g together", rows[row].name, i, alone[i],
			      together[i]);
	if (rows[row].spec)
		compare_buffers(rows[row].name, &single, trainees, most);
	dataset_free(&data);
	settings_free(&command);
}
END_TEST

/* --- ranks that NCCL does not record ------------------------------------------------------- */

static const int some_steps[STEPS] = {32, 32, 32, 5, 5, 32, 5, 32, 32, 32};

static const struct {
	const char *name;
	enum fake_captured captured;
	int rank, after;
	bool control;
	const char *remarks[RANKS]; /* the ends; NULL: the training fails */
	const char *fails;          /* the end of that rank's reason */
	bool norms;                 /* batches are normalized together */
} refusals[] = {
	{"refused on a rank",
	 FAKE_REFUSES,
	 0,
	 0,
	 false,
	 {"ncclAllReduce: invalid usage (5)", "another rank cannot record a step with its sums"},
	 NULL,
	 false},
	{"refused on the other",
	 FAKE_REFUSES,
	 1,
	 0,
	 true,
	 {"another rank cannot record a step with its sums", "ncclAllReduce: invalid usage (5)"},
	 NULL,
	 false},
	/* The first kind of steps was recorded, and is given up too. */
	{"refused later",
	 FAKE_REFUSES,
	 1,
	 4,
	 false,
	 {"another rank cannot record a step with its sums", "ncclAllReduce: invalid usage (5)"},
	 NULL,
	 false},
	{"ended in progress",
	 FAKE_SPOILS,
	 0,
	 0,
	 false,
	 {"it ends the recording of the step", "another rank cannot record a step with its sums"},
	 NULL,
	 false},
	{"broken",
	 FAKE_BREAKS,
	 1,
	 0,
	 true,
	 {"another rank cannot record a step with its sums",
	  "ncclAllReduce: unhandled cuda error (1)"},
	 NULL,
	 false},
	{"broken later",
	 FAKE_BREAKS,
	 0,
	 4,
	 true,
	 {"ncclAllReduce: unhandled cuda error (1)",
	  "another rank cannot record a step with its sums"},
	 NULL,
	 false},
	/* By NCCL_COMM_ID alone ranks cannot meet again. */
	{"broken without control",
	 FAKE_BREAKS,
	 0,
	 0,
	 false,
	 {NULL, NULL},
	 "ncclAllReduce: unhandled cuda error (1)",
	 false},
	{"normalized together",
	 FAKE_REFUSES,
	 1,
	 0,
	 false,
	 {"another rank cannot record a step with its sums", "ncclAllGather: invalid usage (5)"},
	 NULL,
	 true},
	{"normalized together, refused in backward",
	 FAKE_REFUSES,
	 0,
	 NORMS + 1,
	 true,
	 {"ncclAllReduce: invalid usage (5)", "another rank cannot record a step with its sums"},
	 NULL,
	 true},
	{"normalized together, ended in progress",
	 FAKE_SPOILS,
	 0,
	 NORMS + 2,
	 false,
	 {"it ends the recording of the step", "another rank cannot record a step with its sums"},
	 NULL,
	 true},
	{"normalized together, broken",
	 FAKE_BREAKS,
	 1,
	 1,
	 true,
	 {"another rank cannot record a step with its sums",
	  "ncclAllGather: unhandled cuda error (1)"},
	 NULL,
	 true},
};

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), n = strlen(end);

	return length >= n && strcmp(text + length - n, end) == 0;
}

/* Failed calls that would end the process soon. */
static atomic_int noted;

static void note(const struct train_error *error)
{
	atomic_fetch_add(&noted, 1);
}

static void forget(void)
{
	atomic_store(&noted, 0);
}

START_TEST(ranks_that_are_not_recorded)
{
	static const char *const options[] = {NULL}, *const sync[] = {SYNC, NULL};
	int row = _i / 2;
	struct command_line command;
	struct settings settings = settings_of(refusals[row].norms ? sync : options, &command);
	struct dataset data = {.samples = 0};
	struct trainee how = {.counts = some_steps, .profile = -1}, trainees[RANKS];
	double recorded[STEPS], segments[STEPS];

	open_data(&how, refusals[row].norms ? &norms : NULL, &settings, &data);
	settings.bucket_mib = settings.first_bucket_mib = 0.001;
	settings.mode = MODE_DDP;
	how.control = refusals[row].control;
	machine(false);
	run(trainees, RANKS, &settings, &how, recorded);
	machine_of((struct fake_cuda_options){.late = _i & 1,
					      .captured = refusals[row].captured,
					      .captured_rank = refusals[row].rank,
					      .captured_after = refusals[row].after,
					      .remote_errors = true});
	train_device_listener(note, forget);
	run_any(trainees, RANKS, &settings, &how, segments);
	for (int r = 0; r < RANKS; r++) {
		const char *remark = refusals[row].remarks[r];

		ck_assert_msg(trainees[r].good == !refusals[row].fails, "%s, rank %d: %s",
			      refusals[row].name, r, trainees[r].error.text);
		ck_assert_msg(!remark || ends_with(trainees[r].remark, remark), "%s, rank %d: %s",
			      refusals[row].name, r, trainees[r].remark);
	}
	ck_assert_msg((atomic_load(&noted) > 0) == (refusals[row].fails != NULL),
		      "%s: %d are noted", refusals[row].name, atomic_load(&noted));
	if (refusals[row].fails)
		ck_assert_msg(
			ends_with(trainees[refusals[row].rank].error.text, refusals[row].fails),
			"%s: %s", refusals[row].name, trainees[refusals[row].rank].error.text);
	for (int i = 0; !refusals[row].fails && i < STEPS; i++)
		ck_assert_msg(recorded[i] == segments[i], "%s, step %d: %.17g and %.17g",
			      refusals[row].name, i, recorded[i], segments[i]);
	dataset_free(&data);
	settings_free(&command);
}
END_TEST

/* --- what a recorded step has --------------------------------------------------------------- */

/* The nodes of a step of one rank, and of several that normalize batches as one. */
static const struct {
	const char *call;
	int alone, together;
} nodes[] = {
	{"kernel_batch_norm_statistics", NORMS, NORMS},
	{"kernel_batch_norm_join_statistics", 0, NORMS},
	{"kernel_batch_norm_normalize", NORMS, NORMS},
	{"kernel_batch_norm_sums", NORMS, NORMS},
	{"kernel_batch_norm_join_sums", 0, NORMS},
	{"kernel_batch_norm_backward", NORMS, NORMS},
	{"ncclAllGather", 0, 2 * NORMS},
	{"ncclAllReduce", 0, 2},
	{"ncclBroadcast", 0, 0},
};

static int count_of(const char *call)
{
	struct fake_cuda_nodes all[FAKE_CUDA_NODES];
	int chain, kinds = fake_cuda_nodes(all, &chain);

	for (int i = 0; i < kinds; i++)
		if (strcmp(all[i].call, call) == 0)
			return all[i].count;
	return 0;
}

START_TEST(a_step_has_these_nodes)
{
	static const int counts[STEPS] = {32, 32, 32};
	static const char *const options[] = {SYNC, NULL};
	struct command_line command;
	struct settings settings = settings_of(options, &command);
	struct dataset data = {.samples = 0};
	struct trainee how = {.counts = counts, .profile = -1}, trainees[RANKS];
	char text[FAKE_CUDA_TEXT];

	open_data(&how, &norms, &settings, &data);
	settings.bucket_mib = settings.first_bucket_mib = 0.001;
	settings.mode = _i ? MODE_DDP : MODE_SINGLE;
	machine(false);
	run_ranks(trainees, _i ? RANKS : 1, &settings, &how);
	for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++)
		ROW_EQ_INT(nodes[i].call, count_of(nodes[i].call),
			   _i ? nodes[i].together : nodes[i].alone);
	ck_assert_msg(fake_cuda_close(text), "%s", text);
	dataset_free(&data);
	settings_free(&command);
}
END_TEST

/* Without one of the forks and joins of a step, recorded or not, the step is found out. */
START_TEST(a_missing_fork_or_join_is_found)
{
	/* In the first step running statistics are sent, when nothing is shared yet. */
	const int broadcast = _i == 0 ? 2 : 0;
	static const int counts[STEPS] = {32, 32, 32};
	static const char *const options[] = {SYNC, NULL};
	struct command_line command;
	struct settings settings = settings_of(options, &command);
	struct dataset data = {.samples = 0};
	struct trainee how = {.counts = counts, .profile = -1}, trainees[RANKS];
	char text[FAKE_CUDA_TEXT];

	open_data(&how, &norms, &settings, &data);
	settings.bucket_mib = settings.first_bucket_mib = 0.001;
	settings.mode = MODE_DDP;
	how.dropped_at = _i;
	for (how.dropped = broadcast;; how.dropped++) {
		/* A rank that fails must not leave the other waiting. */
		machine_of((struct fake_cuda_options){.remote_errors = true});
		run_ranks(trainees, RANKS, &settings, &how);
		if (how.dropped >= orders)
			break;
		ck_assert_msg(trainees[0].error.status != TRAIN_OK ||
				      strstr(fake_cuda_fault(), "nothing between"),
			      "step %d without its %d-th fork or join: '%s', '%s'", _i, how.dropped,
			      trainees[0].error.text, fake_cuda_fault());
		fake_cuda_forgive();
		fake_cuda_close(text);
	}
	ck_assert_msg(fake_cuda_close(text), "%s", text);
	/* Of each gather both, then a fork of each bucket, and the join of all. */
	ck_assert_int_eq(orders, broadcast + 2 * 2 * NORMS + 2 + 1);
	dataset_free(&data);
	settings_free(&command);
}
END_TEST

/* Rank 0 waits on its device: its host has put all of the step there long before. */
START_TEST(a_profiled_step_is_measured)
{
	static const int counts[STEPS] = {32, 32, 32, 32, 32};
	static const char *const options[] = {NULL};
	struct command_line command;
	struct settings settings = settings_of(options, &command);
	struct dataset data = {.samples = 0};
	struct trainee how = {.counts = counts, .profile = 3, .late_ms = 1000}, trainees[RANKS];
	double together[STEPS];

	open_data(&how, NULL, &settings, &data);
	how.options.profiled = 1;
	settings.bucket_mib = settings.first_bucket_mib = 0.001;
	settings.mode = MODE_DDP;
	settings.overlap = _i ? OVERLAP_YES : OVERLAP_NO;
	machine(false);
	run(trainees, RANKS, &settings, &how, together);
	for (int r = 0; r < RANKS; r++) {
		const struct trainee *t = &trainees[r];

		for (int i = 0; i < 5; i++)
			ck_assert_msg((t->outputs[i].exposed_ns >= 0) == (i == 3) &&
					      (t->outputs[i].waited_ns >= 0) == (i == 3),
				      "rank %d, step %d: exposed %lld, waited %lld", r, i,
				      (long long)t->outputs[i].exposed_ns,
				      (long long)t->outputs[i].waited_ns);
		ck_assert_msg(t->sent > 1 && t->empty == 0, "rank %d: %d buckets, %d empty", r,
			      t->sent, t->empty);
	}
	ck_assert_msg(trainees[0].outputs[3].exposed_ns >
			      trainees[1].outputs[3].exposed_ns + 300000000,
		      "exposed: %lld and %lld ns", (long long)trainees[0].outputs[3].exposed_ns,
		      (long long)trainees[1].outputs[3].exposed_ns);
	dataset_free(&data);
	settings_free(&command);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nccl-steps");
	TCase *tests = tcase_create("steps");

	tcase_add_loop_test(tests, steps_are_alike, 0, WAYS * ROWS);
	tcase_add_loop_test(tests, ranks_that_are_not_recorded, 0,
			    2 * sizeof(refusals) / sizeof(*refusals));
	tcase_add_loop_test(tests, a_step_has_these_nodes, 0, 2);
	tcase_add_loop_test(tests, a_missing_fork_or_join_is_found, 0, 2);
	tcase_add_loop_test(tests, a_profiled_step_is_measured, 0, 2);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
