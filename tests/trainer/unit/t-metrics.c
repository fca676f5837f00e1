/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "folders.h"
#include "report/metrics.h"

static struct metrics_options quiet(const char *file, int64_t keep)
{
	return (struct metrics_options){.progress = PROGRESS_NONE,
					.file = file,
					.keep = keep,
					.epochs = 2,
					.steps = 20,
					.ranks = 2};
}

static struct metrics *opened(const struct metrics_options *options)
{
	struct train_error error = {.status = TRAIN_OK};
	struct metrics *metrics = NULL;

	ck_assert_msg(metrics_open(&metrics, options, &error), "%s", error.text);
	return metrics;
}

static void closed(struct metrics *metrics)
{
	struct train_error error = {.status = TRAIN_OK};

	ck_assert_msg(metrics_close(metrics, &error), "%s", error.text);
}

static void put_steps(struct metrics *metrics, int64_t first, int64_t last)
{
	struct train_error error = {.status = TRAIN_OK};

	for (int64_t step = first; step <= last; step++) {
		struct step_metrics now = {.step = step,
					   .epoch = (step - 1) / 10,
					   .samples = 128,
					   .loss = 1.0 / (double)step,
					   .accuracy = 1.0 / 3,
					   .seconds = 1e-3};

		ck_assert_msg(metrics_step(metrics, &now, &error), "%s", error.text);
	}
}

static json_t *line_of(const char *path, int line)
{
	size_t size;
	char *bytes = slurp(path, &size), *at = bytes;
	json_t *object;

	bytes[size] = '\0';
	for (int i = 1; i < line; i++)
		at = strchr(at, '\n') + 1;
	object = json_loadb(at, strcspn(at, "\n"), 0, NULL);
	ck_assert_msg(object, "line %d of %s is not JSON: %.200s", line, path, at);
	free(bytes);
	return object;
}

static int lines_of(const char *path)
{
	size_t size;
	char *bytes = slurp(path, &size);
	int count = 0;

	for (size_t i = 0; i < size; i++)
		count += bytes[i] == '\n';
	ck_assert_msg(size == 0 || bytes[size - 1] == '\n', "%s ends within a line", path);
	free(bytes);
	return count;
}

/* --- numbers ---------------------------------------------------------------------- */

static const double values[] = {
	0,         -0.0,  1,     0.1,       1.0 / 3,   2.302585092994046,
	65536,     1e15,  1e16,  -12345.75, 5e-324,    2.2250738585072014e-308,
	1.797e308, -1e-7, 1e300, 0x1p53,    0x1p-1074, 123456789012345678.0};

static void check_double(const json_t *object, const char *key, double want)
{
	json_t *got = json_object_get(object, key);
	double value = json_number_value(got);

	ck_assert_msg(json_is_number(got) && memcmp(&value, &want, sizeof(value)) == 0,
		      "%s of %a is %a", key, want, value);
}

START_TEST(doubles_are_read_back)
{
	double value = values[_i];
	struct step_metrics step = {.step = INT64_MAX,
				    .epoch = 7,
				    .samples = 3,
				    .loss = value,
				    .accuracy = value,
				    .lr = value,
				    .seconds = value,
				    .slowest_seconds = value,
				    .mean_seconds = value,
				    .exposed_seconds = value,
				    .gradient_norm = value,
				    .scale = value,
				    .slowest_rank = isnan(value) ? -1 : 1,
				    .skipped = _i % 2};
	static const char *const keys[] = {"loss",
					   "accuracy",
					   "lr",
					   "seconds",
					   "slowest_seconds",
					   "mean_seconds",
					   "exposed_seconds",
					   "gradient_norm",
					   "scale"};
	struct metrics_options options = quiet("m.json", 0);
	struct metrics *metrics = opened(&options);
	struct train_error error = {.status = TRAIN_OK};
	json_t *object;

	ck_assert(metrics_step(metrics, &step, &error));
	closed(metrics);
	object = line_of("m.json", 1);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		check_double(object, keys[i], value);
	ck_assert_str_eq(json_string_value(json_object_get(object, "type")), "step");
	ck_assert(json_integer_value(json_object_get(object, "step")) == INT64_MAX);
	ck_assert_int_eq(json_integer_value(json_object_get(object, "epoch")), 7);
	ck_assert_int_eq(json_integer_value(json_object_get(object, "samples")), 3);
	if (isnan(value))
		ck_assert(json_is_null(json_object_get(object, "slowest_rank")));
	else
		ck_assert_int_eq(json_integer_value(json_object_get(object, "slowest_rank")), 1);
	ck_assert(json_boolean_value(json_object_get(object, "skipped")) == (_i % 2 == 1));
	ck_assert_uint_eq(json_object_size(object), 16);
	json_decref(object);
}
END_TEST

static const double unspeakable[] = {NAN, -NAN, INFINITY, -INFINITY};

START_TEST(what_is_no_number_is_null)
{
	struct metrics_options options = quiet("m.json", 0);
	struct metrics *metrics = opened(&options);
	struct train_error error = {.status = TRAIN_OK};
	struct evaluation_metrics evaluation = {
		.step = 5, .samples = 10, .loss = unspeakable[_i], .accuracy = 0.5, .seconds = 2};
	json_t *object;

	ck_assert(metrics_evaluation(metrics, &evaluation, &error));
	closed(metrics);
	object = line_of("m.json", 1);
	ck_assert(json_is_null(json_object_get(object, "loss")));
	check_double(object, "accuracy", 0.5);
	check_double(object, "seconds", 2);
	ck_assert_str_eq(json_string_value(json_object_get(object, "type")), "evaluation");
	ck_assert_uint_eq(json_object_size(object), 8);
	json_decref(object);
}
END_TEST

/* --- the file --------------------------------------------------------------------- */

START_TEST(resumed_at_a_position)
{
	struct metrics_options options = quiet("m.json", 0);
	struct metrics *metrics = opened(&options);
	struct train_error error = {.status = TRAIN_OK};
	int64_t bytes = 0;
	size_t whole, again;
	char *before, *after;

	put_steps(metrics, 1, 12);
	ck_assert(metrics_position(metrics, &bytes, &error));
	ck_assert_int_eq(lines_of("m.json"), 12);
	put_steps(metrics, 13, 20);
	closed(metrics);
	before = slurp("m.json", &whole);
	ck_assert_int_lt(bytes, (int64_t)whole);

	options.keep = bytes;
	metrics = opened(&options);
	ck_assert_int_eq(lines_of("m.json"), 12);
	put_steps(metrics, 13, 20);
	closed(metrics);
	after = slurp("m.json", &again);
	ck_assert_uint_eq(whole, again);
	ck_assert(memcmp(before, after, whole) == 0);
	free(before);
	free(after);

	options.keep = 0;
	closed(opened(&options));
	ck_assert_int_eq(lines_of("m.json"), 0);
}
END_TEST

/* A long run between two writes of the buffer. */
START_TEST(many_lines)
{
	struct metrics_options options = quiet("m.json", 0);
	struct metrics *metrics = opened(&options);

	put_steps(metrics, 1, 5000);
	closed(metrics);
	ck_assert_int_eq(lines_of("m.json"), 5000);
	for (int i = 1; i <= 5000; i += 613) {
		json_t *object = line_of("m.json", i);

		ck_assert_int_eq(json_integer_value(json_object_get(object, "step")), i);
		check_double(object, "loss", 1.0 / i);
		json_decref(object);
	}
}
END_TEST

START_TEST(lines_go_out_soon)
{
	struct metrics_options options = quiet("m.json", 0);
	struct metrics *metrics = opened(&options);
	struct train_error error = {.status = TRAIN_OK};
	struct evaluation_metrics evaluation = {.step = 3, .samples = 1};

	put_steps(metrics, 1, 1);
	usleep(150000);
	put_steps(metrics, 2, 2);
	ck_assert_int_eq(lines_of("m.json"), 2);
	put_steps(metrics, 3, 3);
	ck_assert(metrics_evaluation(metrics, &evaluation, &error));
	ck_assert_int_eq(lines_of("m.json"), 4);
	closed(metrics);
}
END_TEST

static const struct {
	const char *name, *contents; /* contents NULL: as it is */
	int64_t keep;
	const char *text;
	enum train_status status;
	bool plot;
} refused[] = {
	{"none.json", NULL, 5, "none.json: not there, so it cannot be continued; ", TRAIN_BAD_INPUT,
	 false},
	{"short.json", "{}\n", 4, "short.json: it has 3 bytes, and had 4, so it cannot",
	 TRAIN_BAD_INPUT, false},
	{"other", "abcdef\n", 3, "other: another file, so it cannot", TRAIN_BAD_INPUT, false},
	{"words", "abcdef\n", 7, "words:1: not a line of metrics, so the file", TRAIN_BAD_INPUT,
	 true},
	{"list", "[1]\n{}\n", 4, "list:1: not a line of metrics, so the file", TRAIN_BAD_INPUT,
	 true},
	{"deep", "{\"type\":\"step\",\"step\":-1,\"epoch\":0}\n", 36, "deep:1: not a line",
	 TRAIN_BAD_INPUT, true},
	{"/dev/null", NULL, 5, "/dev/null: no regular file, so it", TRAIN_BAD_INPUT, false},
	{"none/m.json", NULL, 0,
	 "none/m.json: cannot open: No such file or directory; name another", TRAIN_FAILED, false},
	{".", NULL, 0, ".: cannot open: Is a directory; name another file", TRAIN_FAILED, false},
	{"", NULL, 0, ": cannot open: No such file or directory", TRAIN_FAILED, false},
};

START_TEST(files_that_do_not_fit)
{
	struct metrics_options options = quiet(refused[_i].name, refused[_i].keep);
	struct train_error error = {.status = TRAIN_OK};
	struct metrics *metrics = NULL;

	if (refused[_i].plot)
		options.plot = "plot.svg";
	if (refused[_i].contents)
		spit(refused[_i].name, refused[_i].contents, strlen(refused[_i].contents));
	ck_assert_msg(!metrics_open(&metrics, &options, &error), "%s", refused[_i].name);
	ck_assert_ptr_null(metrics);
	ck_assert_msg(strncmp(error.text, refused[_i].text, strlen(refused[_i].text)) == 0,
		      "'%s': %s", refused[_i].name, error.text);
	ROW_EQ_INT(refused[_i].text, error.status, refused[_i].status);
	ck_assert_int_ne(access("plot.svg", F_OK), 0);
	if (refused[_i].contents) {
		size_t size;
		char *now = slurp(refused[_i].name, &size);

		ROW_EQ_INT(refused[_i].text, size, strlen(refused[_i].contents));
		free(now);
	}
}
END_TEST

/* The first write reports the error, in whichever function. */
START_TEST(a_full_disk)
{
	struct metrics_options options = quiet("/dev/full", 0);
	struct metrics *metrics = opened(&options);
	struct train_error error = {.status = TRAIN_OK};
	int64_t bytes;

	put_steps(metrics, 1, 1);
	if (_i == 0)
		ck_assert(!metrics_position(metrics, &bytes, &error));
	else if (_i == 1)
		ck_assert(!metrics_evaluation(metrics, &(struct evaluation_metrics){.step = 1},
					      &error));
	ck_assert(_i < 2 || !metrics_close(metrics, &error));
	ck_assert_str_eq(error.text, "/dev/full: cannot write: No space left on device; free some "
				     "space, or name another file");
	ck_assert_int_eq(error.status, TRAIN_FAILED);
	if (_i < 2)
		metrics_close(metrics, &error);
}
END_TEST

START_TEST(no_position_without_a_file)
{
	struct metrics_options options = quiet(_i ? "/dev/null" : NULL, 0);
	struct metrics *metrics = opened(&options);
	struct train_error error = {.status = TRAIN_OK};
	int64_t bytes = -1;

	put_steps(metrics, 1, 3);
	ck_assert_msg(metrics_position(metrics, &bytes, &error), "%s", error.text);
	ck_assert_int_eq(bytes, 0);
	closed(metrics);
	closed(NULL);
}
END_TEST

/* The picture is tried before the training, and shows the steps before a resume. */
START_TEST(a_picture_of_all_steps)
{
	struct metrics_options options = quiet("m.json", 0);
	struct train_error error = {.status = TRAIN_OK};
	struct metrics *metrics;
	char *svg, *dots;
	size_t size;
	int64_t bytes;
	int count = 0;

	metrics = opened(&options);
	put_steps(metrics, 1, 12);
	ck_assert(metrics_position(metrics, &bytes, &error));
	closed(metrics);
	options.keep = bytes;
	options.plot = "none/plot.svg";
	ck_assert(!metrics_open(&metrics, &options, &error));
	ck_assert_str_eq(error.text,
			 "none/plot.svg: cannot create: No such file or directory; name another "
			 "file");
	options.plot = "plot.svg";
	options.title = NULL;
	metrics = opened(&options);
	ck_assert_int_ne(access("plot.svg", F_OK), 0);
	put_steps(metrics, 13, 20);
	closed(metrics);
	svg = slurp("plot.svg", &size);
	svg[size] = '\0';
	for (dots = svg; (dots = strstr(dots, "<circle")); dots++)
		count++;
	ck_assert_int_eq(count, 40); /* a loss and an accuracy of each step */
	free(svg);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("metrics");
	TCase *tests = tcase_create("metrics");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, enter_folder, leave_folder);
	tcase_add_loop_test(tests, doubles_are_read_back, 0, sizeof(values) / sizeof(*values));
	tcase_add_loop_test(tests, what_is_no_number_is_null, 0, 4);
	tcase_add_test(tests, resumed_at_a_position);
	tcase_add_test(tests, many_lines);
	tcase_add_test(tests, lines_go_out_soon);
	tcase_add_loop_test(tests, files_that_do_not_fit, 0, sizeof(refused) / sizeof(*refused));
	tcase_add_loop_test(tests, a_full_disk, 0, 3);
	tcase_add_loop_test(tests, no_position_without_a_file, 0, 2);
	tcase_add_test(tests, a_picture_of_all_steps);
	return unit_run(suite);
}
