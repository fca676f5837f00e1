/* SPDX-License-Identifier: MIT */
/* Every allocation of a report may fail: that is an error, and nothing is left open or half
 * written. */
#include "base/clock.h"
#include "failing_malloc.h"
#include "folders.h"
#include "report/metrics.h"
#include "report/summary.h"
#include "report/timeline.h"
#include "place/threads.h"

static bool run_metrics(struct train_error *error)
{
	struct metrics_options options = {.progress = PROGRESS_NONE,
					  .file = "m.json",
					  .plot = "p.svg",
					  .title = "title",
					  .epochs = 1,
					  .steps = 9,
					  .ranks = 3};
	struct metrics *metrics = NULL;
	int64_t bytes;
	bool good = metrics_open(&metrics, &options, error);

	for (int64_t step = 1; good && step < 10; step++)
		good = metrics_step(metrics, &(struct step_metrics){.step = step, .samples = 1},
				    error);
	good = good && metrics_position(metrics, &bytes, error);
	return metrics_close(metrics, error) && good;
}

static const char kept[] = "{\"type\":\"step\",\"step\":1,\"epoch\":0,\"loss\":1}\n";

static bool run_resume(struct train_error *error)
{
	struct metrics_options options = {.progress = PROGRESS_NONE,
					  .file = "m.json",
					  .keep = sizeof(kept) - 1,
					  .plot = "p.svg",
					  .title = "title",
					  .ranks = 1};
	struct metrics *metrics = NULL;

	return metrics_open(&metrics, &options, error) && metrics_close(metrics, error);
}

static bool run_timeline(struct train_error *error)
{
	struct timeline *timeline = NULL;
	bool good = timeline_open(&timeline, 0, 0, TIMELINE_COMPUTE, 3, error);

	timeline_step(timeline, 1);
	timeline_add(timeline, "a", clock_ns());
	timeline_add(timeline, "b", clock_ns());
	good = good && timeline_svg("t.svg", timeline->intervals, 2, "rank", error) &&
	       timeline_json("t.json", timeline->intervals, 2, "rank", error);
	timeline_close(timeline);
	return good;
}

static bool do_nothing(void *argument, int index, struct train_error *error)
{
	(void)argument;
	(void)index;
	(void)error;
	return true;
}

static bool run_threads(struct train_error *error)
{
	struct threads *threads = NULL;
	bool good = threads_open(&threads, 1, error) &&
		    threads_run(threads, do_nothing, NULL, NULL, error);

	threads_close(threads);
	return good;
}

static const struct {
	const char *name;
	bool (*run)(struct train_error *error);
} runs[] = {
	{"metrics", run_metrics},
	{"resumed metrics", run_resume},
	{"time line", run_timeline},
	{"threads", run_threads},
};

START_TEST(an_error_for_each_allocation)
{
	size_t n = 0;

	for (bool done = false; !done; n++) {
		struct train_error error = {.status = TRAIN_OK};
		bool good;

		spit("m.json", kept, sizeof(kept) - 1);
		allocations_fail_at(n + 1);
		good = runs[_i].run(&error);
		allocations_fail_at(0);
		done = !allocations_failed();
		ck_assert_msg(good == (error.status == TRAIN_OK), "%s, allocation %zu: '%s'",
			      runs[_i].name, n + 1, error.text);
		ck_assert_msg(!done || good, "%s: %s", runs[_i].name, error.text);
		for (const char *const *name = (const char *const[]){"p.svg", "t.svg", NULL}; *name;
		     name++) {
			size_t size;
			char *svg;

			if (access(*name, F_OK) != 0)
				continue;
			svg = slurp(*name, &size);
			ck_assert_msg(size > 7 && memcmp(svg + size - 7, "</svg>\n", 7) == 0,
				      "%s, allocation %zu: %s is not whole", runs[_i].name, n + 1,
				      *name);
			free(svg);
		}
	}
	ck_assert_msg(n > 1, "%s: nothing was allocated", runs[_i].name);
}
END_TEST

/* A table that cannot be printed is an error. */
START_TEST(tables_say_so)
{
	struct summary_device devices[40] = {{.rank = 0}};
	char text[8192];
	FILE *out = fmemopen(text, sizeof(text), "w");

	ck_assert_ptr_nonnull(out);
	for (int i = 0; i < 40; i++)
		devices[i].physical = i;
	fputc('\n', out);
	allocations_fail_at(2);
	summary_places(out, devices, 40);
	allocations_fail_at(0);
	fclose(out);
	ck_assert_msg(strstr(text, "out of memory") != NULL, "%s", text);
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("report-nomem");
	tests = tcase_create("report-nomem");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, enter_folder, leave_folder);
	tcase_add_loop_test(tests, an_error_for_each_allocation, 0, sizeof(runs) / sizeof(*runs));
	tcase_add_test(tests, tables_say_so);
	return unit_run(suite);
}
