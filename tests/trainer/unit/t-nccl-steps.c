/* SPDX-License-Identifier: MIT */
/* ddp over collective nccl as ranks that are processes do it, which record their steps. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "nccl-ranks.h"
#include "parallel/parallel.h"

enum { RANKS = 2, SAMPLES = 32, STEPS = 12, MAX_OPTIONS = 24 };

struct trainee {
	pthread_t thread;
	struct parallel_options options;
	const int *counts; /* of all ranks' samples in each step */
	int64_t profile;   /* the step whose time is measured, or -1 */
	int late_ms;       /* rank 1 comes so much later to that step */
	/* of that step: the intervals of buckets, and how many have no length */
	int sent, empty;
	double losses[STEPS];
	struct step_output outputs[STEPS];
	struct train_error error;
	bool good;
};

static struct settings settings_of(const char *const *more, struct command_line *command)
{
	static const char *const first[] = {"test",        "--model", "subnets", "--lr", "0.05",
					    "--optimizer", "sgd",     "--exact", NULL};
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
	if (!p->calls->step(p, &input, &t->error) ||
	    !p->calls->result(p, &t->outputs[at], &t->error))
		return false;
	t->losses[at] = t->outputs[at].loss;
	return true;
}

static void *train(void *argument)
{
	struct trainee *t = argument;
	struct parallel *p = NULL;
	bool single = t->options.world == 1;
	const struct optimizer_progress begin = {.scaler = scaler_default()};
	const struct parallel_calls *calls = single ? &parallel_single : &parallel_ddp;

	t->good =
		calls->open(&p, &t->options, &t->error) && calls->synchronize(p, &begin, &t->error);
	for (int i = 0; t->good && i < STEPS && t->counts[i] > 0; i++)
		t->good = step(t, p, i);
	if (p && !t->good)
		calls->abort(p, &t->error);
	for (int i = 0; t->good && i < timeline_count(p->timeline[1]); i++) {
		const struct timeline_interval *part = &timeline_intervals(p->timeline[1])[i];

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

	*place = (struct place){
		.count = 1, .rank = rank, .world = world, .local_world = 1, .ranks = 1};
	place->devices[0] = (struct place_device){.physical = rank, .logical = rank};
	t->options.settings = settings;
	t->options.place = place;
	t->options.backend = &backend_cuda;
	t->options.collective = world > 1 ? nccl : &collective_self;
	t->options.rank = rank;
	t->options.world = world;
	t->options.batch = SAMPLES / world;
	CPU_ZERO(&t->options.cpus);
	CPU_SET(0, &t->options.cpus);
	ck_assert_msg(t->options.collective->meet(&t->options.rendezvous, &rendezvous, &t->error),
		      "%s", t->error.text);
}

/* Runs all ranks, and returns how often recorded steps ran. `all` gets the sums of the ranks'
 * losses. */
static uint64_t run(struct trainee *trainees, int world, const struct settings *settings,
		    const struct trainee *how, double *all)
{
	struct place places[RANKS];
	char text[FAKE_CUDA_TEXT];
	uint64_t launches;

	for (int r = 0; r < world; r++) {
		trainees[r] = *how;
		begin(&trainees[r], settings, &places[r], r, world);
	}
	for (int r = 0; r < world; r++)
		ck_assert(pthread_create(&trainees[r].thread, NULL, train, &trainees[r]) == 0);
	for (int r = 0; r < world; r++)
		pthread_join(trainees[r].thread, NULL);
	for (int i = 0; i < STEPS; i++) {
		all[i] = 0;
		for (int r = 0; r < world; r++)
			all[i] += trainees[r].losses[i];
	}
	for (int r = 0; r < world; r++) {
		trainees[r].options.collective->leave(trainees[r].options.rendezvous);
		ck_assert_msg(trainees[r].good, "rank %d of %d: %s", r, world,
			      trainees[r].error.text);
	}
	launches = fake_cuda_made(CUDA_CALL_cudaGraphLaunch);
	ck_assert_msg(fake_cuda_close(text), "%d ranks: %s", world, text);
	return launches;
}

static void machine(bool late)
{
	fake_cuda_open(&(struct fake_cuda_options){.devices = RANKS, .late = late});
	setenv("NCCL_COMM_ID", "127.0.0.1:4711", 1);
}

static const struct {
	const char *name;
	int counts[STEPS];
	const char *options[MAX_OPTIONS];
} rows[] = {
	{"short last steps", {32, 32, 5, 32, 32, 5, 32, 5, 5}, {NULL}},
	/* Of four passes: in the last step of an epoch rank 0 has all of them, rank 1 three. */
	{"other passes",
	 {32, 32, 32, 25, 32, 25, 32, 25, 25, 25, 32, 32},
	 {"--accumulate", "4", NULL}},
	{"one rank has none", {32, 32, 1, 32, 1, 1, 32}, {"--accumulate", "2", NULL}},
};

static void open_data(struct trainee *how, const struct settings *settings, struct dataset *data)
{
	struct dataset_synthetic synthetic = {.samples = SAMPLES, .classes = 10};
	const struct model_spec *spec = model_find(settings->model, &how->error);

	synthetic.shape = (struct dataset_shape){spec->channels, spec->height, spec->width};
	ck_assert_msg(dataset_make(data, &synthetic, &how->error), "%s", how->error.text);
	how->options.spec = spec;
	how->options.train = how->options.test = data;
}

START_TEST(steps_are_recorded_alike)
{
	int row = _i / 2;
	struct command_line command;
	struct settings settings = settings_of(rows[row].options, &command);
	struct dataset data = {.samples = 0};
	struct trainee how = {.counts = rows[row].counts, .profile = -1}, trainees[RANKS];
	double alone[STEPS], together[STEPS];
	uint64_t launches;

	open_data(&how, &settings, &data);
	settings.mode = MODE_SINGLE;
	machine(false);
	run(trainees, 1, &settings, &how, alone);
	settings.mode = MODE_DDP;
	machine(_i & 1);
	launches = run(trainees, RANKS, &settings, &how, together);
	ck_assert_msg(launches > 0, "%s: nothing was recorded", rows[row].name);
	for (int i = 0; i < STEPS; i++)
		ck_assert_msg(fabs(alone[i] - together[i]) <= 1e-4 * fabs(alone[i]),
			      "%s, step %d: %.9g alone, %.9g together", rows[row].name, i, alone[i],
			      together[i]);
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

	open_data(&how, &settings, &data);
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

	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, steps_are_recorded_alike, 0, 2 * sizeof(rows) / sizeof(*rows));
	tcase_add_loop_test(tests, a_profiled_step_is_measured, 0, 2);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
