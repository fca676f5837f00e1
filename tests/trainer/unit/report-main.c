/* SPDX-License-Identifier: MIT */
/* Reports of made-up runs, for report.test:
 *
 *	report-main run STYLE EPOCHS STEPS MS [METRICS [PLOT]]   a run, a step every MS milliseconds
 *	report-main resume METRICS KEEP PLOT                     ten more steps
 *	report-main plot KIND FILE                               KIND: kinds below
 *	report-main timeline RANKS COUNT SVG JSON
 *	report-main rate METRICS                                 CPU seconds of 100,000 steps
 *	report-main summary
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/metrics.h"
#include "report/plot.h"
#include "report/summary.h"
#include "report/timeline.h"

static int finish(bool good, const struct train_error *error)
{
	if (!good)
		fprintf(stderr, "report-main: %s\n", error->text);
	return good ? TRAIN_OK : (int)error->status;
}

/* A loss that falls, with noise that is the same every time. */
static double loss_at(int64_t step, double steps)
{
	double noise = sin((double)step * 12.9898) * 43758.5453;

	noise -= floor(noise);
	return 0.3 + 2.0 * exp(-4 * (double)step / steps) + 0.25 * (noise - 0.5);
}

static struct step_metrics step_of(int64_t step, int64_t epoch_steps, int64_t steps)
{
	return (struct step_metrics){.step = step,
				     .epoch = (step - 1) / epoch_steps,
				     .samples = 128,
				     .loss = loss_at(step, (double)steps),
				     .accuracy = 1 - loss_at(step, (double)steps) / 2.6,
				     .lr = 1e-3,
				     .seconds = 0.1,
				     .slowest_seconds = 0.11,
				     .mean_seconds = 0.098,
				     .slowest_rank = 2,
				     .gradient_norm = NAN};
}

static void pause_ms(int ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

/* The file that REPORT_HOLD names has the step at which to wait, until it changes or is gone. */
static bool is_held(int64_t step)
{
	const char *name = getenv("REPORT_HOLD");
	FILE *file = name ? fopen(name, "re") : NULL;
	char text[32] = "";
	bool held = file && fgets(text, sizeof(text), file) && step >= atoll(text);

	if (file)
		fclose(file);
	return held;
}

static bool steps_of_run(struct metrics *metrics, int64_t epochs, int64_t epoch_steps, int ms,
			 struct train_error *error)
{
	for (int64_t step = 1; step <= epochs * epoch_steps; step++) {
		struct step_metrics now = step_of(step, epoch_steps, epochs * epoch_steps);

		pause_ms(ms);
		while (is_held(step))
			pause_ms(10);
		if (!metrics_step(metrics, &now, error))
			return false;
		if (step == epoch_steps / 2)
			metrics_note(metrics, "a note\033[2J in between");
		if (step % epoch_steps)
			continue;
		if (!metrics_evaluation(metrics,
					&(struct evaluation_metrics){.step = step,
								     .epoch = now.epoch,
								     .samples = 1000,
								     .loss = now.loss * 1.1,
								     .accuracy = now.accuracy},
					error))
			return false;
	}
	return true;
}

static int run(char **argv, int count)
{
	static const char *const styles[] = {"auto", "bar", "lines", "none"};
	int64_t epochs = atoll(argv[1]), steps = atoll(argv[2]);
	struct metrics_options options = {.file = count > 4 && argv[4][0] ? argv[4] : NULL,
					  .plot = count > 5 ? argv[5] : NULL,
					  .title = "convnet, <ddp> & 4 ranks",
					  .epochs = epochs,
					  .epoch_steps = steps,
					  .steps = epochs * steps,
					  .ranks = 4};
	struct train_error error = {.status = TRAIN_OK};
	struct metrics *metrics = NULL;
	int64_t bytes = 0;
	bool good;

	for (int i = 0; i < 4; i++)
		if (strcmp(argv[0], styles[i]) == 0)
			options.progress = (enum progress_style)i;
	good = metrics_open(&metrics, &options, &error) &&
	       steps_of_run(metrics, epochs, steps, atoi(argv[3]), &error) &&
	       metrics_position(metrics, &bytes, &error);
	if (good)
		printf("%lld\n", (long long)bytes);
	good = metrics_close(metrics, &error) && good;
	return finish(good, &error);
}

static int resume(char **argv)
{
	struct metrics_options options = {.progress = PROGRESS_NONE,
					  .file = argv[0],
					  .keep = atoll(argv[1]),
					  .plot = argv[2],
					  .title = "resumed",
					  .epochs = 1,
					  .steps = 50,
					  .ranks = 1};
	struct train_error error = {.status = TRAIN_OK};
	struct metrics *metrics = NULL;
	bool good = metrics_open(&metrics, &options, &error);

	for (int64_t step = 41; good && step <= 50; step++) {
		struct step_metrics now = step_of(step, 50, 50);

		good = metrics_step(metrics, &now, &error);
	}
	good = metrics_close(metrics, &error) && good;
	return finish(good, &error);
}

static int rate(char **argv)
{
	struct metrics_options options = {
		.progress = PROGRESS_NONE, .file = argv[0], .epochs = 1, .steps = 100000};
	struct train_error error = {.status = TRAIN_OK};
	struct metrics *metrics = NULL;
	bool good = metrics_open(&metrics, &options, &error);
	clock_t begin = clock();

	for (int64_t step = 1; good && step <= 100000; step++) {
		struct step_metrics now = step_of(step, 100000, 100000);

		good = metrics_step(metrics, &now, &error);
	}
	good = metrics_close(metrics, &error) && good;
	printf("%.3f\n", (double)(clock() - begin) / CLOCKS_PER_SEC);
	return finish(good, &error);
}

/* --- pictures --------------------------------------------------------------------- */

static const struct kind {
	const char *name, *title;
	int64_t first, steps, tests;
	double factor; /* of the loss at the end; 0: none */
	int64_t nan_from, nan_to, spike;
} kinds[] = {
	{"empty", "nothing yet", 1, 0, 0, 0, 0, 0, 0},
	{"one", "one step", 1, 1, 0, 0, 0, 0, 0},
	{"few", "few steps", 1, 30, 3, 0, 0, 0, 0},
	{"usual", "convnet, ddp, 4 ranks", 1, 3900, 10, 0, 0, 0, 0},
	{"nan", "losses that are not numbers", 1, 3900, 10, 0, 700, 1100, 0},
	{"all-nan", "no loss is a number", 1, 200, 2, 0, 1, 200, 0},
	{"spike", "a spike", 1, 1000000, 10, 0, 0, 0, 654321},
	{"resumed", "net28, dp, 2 devices, without the steps before", 100001, 500, 2, 0, 0, 0, 0},
	{"steep", "a loss that falls a thousand times and more", 1, 5000, 5, 1e-4, 0, 0, 0},
	{"hostile",
	 "<script>&\"'\033[2J \xff\xfe \xf0\x9f\x98\x80 and a title that is far too long for one "
	 "line of a picture, so that it is cut somewhere before it runs out on the right side",
	 1, 3000, 3, 0, 0, 0, 0},
};

static int draw_plot(char **argv)
{
	struct train_error error = {.status = TRAIN_OK};
	struct plot *plot = calloc(1, sizeof(*plot));
	const struct kind *kind = kinds;
	bool good;

	while (strcmp(kind->name, argv[0]) != 0)
		if (++kind == kinds + sizeof(kinds) / sizeof(*kinds))
			return TRAIN_BAD_INPUT;
	for (int64_t i = 0; plot && i < kind->steps; i++) {
		double part = (double)i / (double)kind->steps;
		double loss = loss_at(i, (double)kind->steps);
		int64_t step = kind->first + i;

		if (kind->factor > 0)
			loss = pow(kind->factor, part) * (1 + (loss - 0.3) / 4);
		if (i + 1 >= kind->nan_from && i < kind->nan_to)
			loss = i % 2 ? NAN : INFINITY;
		if (kind->spike == step)
			loss = 9;
		curve_add(&plot->loss, step, loss);
		curve_add(&plot->accuracy, step, 1 - loss_at(i, (double)kind->steps) / 2.6);
		if (kind->tests && (i + 1) % (kind->steps / kind->tests) == 0) {
			curve_add(&plot->test_loss, step, 1.1 * loss);
			curve_add(&plot->test_accuracy, step, 0.85 * part);
		}
	}
	good = plot && plot_svg(plot, argv[1], kind->title, &error);
	free(plot);
	return finish(good, &error);
}

/* A step of convnet on each rank, again and again until there are so many intervals. */
static int fill(struct timeline_interval *all, int ranks, int count)
{
	static const struct {
		const char *name;
		enum timeline_lane lane;
		int begin, end; /* microseconds */
	} parts[] = {
		{"gather batch", TIMELINE_COMPUTE, 0, 200},
		{"conv1 forward", TIMELINE_COMPUTE, 200, 900},
		{"conv2 forward", TIMELINE_COMPUTE, 900, 2400},
		{"pool forward", TIMELINE_COMPUTE, 2400, 2410},
		{"fc1 forward", TIMELINE_COMPUTE, 2410, 2900},
		{"loss", TIMELINE_COMPUTE, 2900, 2902},
		{"fc1 backward weights", TIMELINE_COMPUTE, 2902, 3400},
		{"conv2 backward weights", TIMELINE_COMPUTE, 3400, 5200},
		{"conv1 backward weights", TIMELINE_COMPUTE, 5200, 5900},
		{"bucket 0", TIMELINE_COMMUNICATION, 3400, 4700},
		{"bucket 1", TIMELINE_COMMUNICATION, 5900, 6100},
		{"optimizer <step> & \"more\"", TIMELINE_COMPUTE, 6100, 6500},
	};
	int n = 0, max = (int)(sizeof(parts) / sizeof(*parts));

	for (int i = 0; n < count; i++) {
		int part = i % max, rank = i / max % ranks, step = i / max / ranks;
		int64_t base = INT64_C(1000000000000) + step * INT64_C(7000000) + rank * 37000;
		struct timeline_interval *at = &all[n++];

		*at = (struct timeline_interval){.rank = rank,
						 .device = 2 + rank,
						 .lane = (int32_t)parts[part].lane,
						 .step = 10 + step,
						 .begin_ns = base + parts[part].begin * 1000,
						 .end_ns = base + parts[part].end * 1000};
		snprintf(at->name, sizeof(at->name), "%s", parts[part].name);
	}
	return n;
}

static int draw_timeline(char **argv)
{
	int ranks = atoi(argv[0]), count = atoi(argv[1]);
	struct timeline_interval *all = calloc((size_t)count + 1, sizeof(*all));
	struct train_error error = {.status = TRAIN_OK};
	bool good = all != NULL;

	if (good) {
		count = fill(all, ranks, count);
		good = timeline_svg(argv[2], all, count, "rank", &error) &&
		       timeline_json(argv[3], all, count, "rank", &error);
	}
	free(all);
	return finish(good, &error);
}

/* --- tables ----------------------------------------------------------------------- */

static struct summary_rank ranks[3] = {
	{.rank = 0,
	 .physical = 2,
	 .steps = 200,
	 .timed = 100,
	 .own_seconds = 1,
	 .waited_seconds = 0.2},
	{.rank = 1, .physical = 3, .steps = 200, .timed = 100, .own_seconds = 1.2},
	{.rank = 2,
	 .physical = 5,
	 .steps = 200,
	 .timed = 100,
	 .own_seconds = 1.1,
	 .waited_seconds = 0.1},
};

static int summary(void)
{
	struct summary_device devices[3] = {
		{.logical = 0,
		 .physical = 2,
		 .role = SUMMARY_MASTER,
		 .name = "simulated",
		 .bytes = 100000000,
		 .peak_bytes = 111568486},
		{.logical = 1,
		 .physical = 3,
		 .role = SUMMARY_REPLICA,
		 .index = 1,
		 .name = "simulated",
		 .bytes = 36804997,
		 .peak_bytes = 36804997},
		{.logical = 2,
		 .physical = 5,
		 .role = SUMMARY_REPLICA,
		 .index = 2,
		 .name = "simulated",
		 .pci = "0000:5e:00.0",
		 .uuid = "GPU-5",
		 .bytes = 36804997,
		 .peak_bytes = 36804997},
	};
	struct summary_device stages[2] = {
		{.rank = 0,
		 .physical = 0,
		 .role = SUMMARY_STAGE,
		 .layers = "conv1 to pool",
		 .host = "tux1",
		 .bytes = 10},
		{.rank = 1,
		 .physical = 0,
		 .role = SUMMARY_STAGE,
		 .index = 1,
		 .layers = "fc1",
		 .host = "tux2",
		 .bytes = 2048},
	};
	struct summary_device shared[2] = {
		{.rank = 0, .role = SUMMARY_REPLICA, .bytes = 1024, .peak_bytes = 4096},
		{.rank = 1, .role = SUMMARY_REPLICA, .index = 1, .bytes = 1024, .peak_bytes = 4096},
	};

	summary_places(stdout, devices, 3);
	summary_memory(stdout, devices, 3);
	summary_times(stdout, ranks, 3);
	summary_places(stdout, stages, 2);
	summary_memory(stdout, stages, 2);
	summary_memory(stdout, shared, 2);
	summary_times(stdout, ranks, 1);
	ranks[0].timed = ranks[1].timed = 0;
	ranks[0].own_seconds = ranks[1].own_seconds = ranks[0].waited_seconds = 0;
	summary_times(stdout, ranks, 2);
	summary_places(stdout, devices, 0);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 6 && strcmp(argv[1], "run") == 0)
		return run(argv + 2, argc - 2);
	if (argc == 5 && strcmp(argv[1], "resume") == 0)
		return resume(argv + 2);
	if (argc == 4 && strcmp(argv[1], "plot") == 0)
		return draw_plot(argv + 2);
	if (argc == 6 && strcmp(argv[1], "timeline") == 0)
		return draw_timeline(argv + 2);
	if (argc == 3 && strcmp(argv[1], "rate") == 0)
		return rate(argv + 2);
	if (argc == 2 && strcmp(argv[1], "summary") == 0)
		return summary();
	fputs("usage: see report-main.c\n", stderr);
	return TRAIN_BAD_INPUT;
}
