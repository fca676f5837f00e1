/* SPDX-License-Identifier: MIT */
/* The curve and its picture, and what all pictures share. */
#include <math.h>

#include "folders.h"
#include "report/plot.h"
#include "report/svg.h"
#include "report/format.h"
#include "report/ticks.h"

/* --- texts and ticks -------------------------------------------------------------- */

START_TEST(numbers_as_texts)
{
	char text[NUMBER_TEXT];

	ck_assert_str_eq(number_exact(text, 0.5), "0.5");
	ck_assert_str_eq(number_exact(text, 1.5e-30), "1.4999999999999999e-30");
	ck_assert_str_eq(number_fixed(text, 12.50, 2), "12.5");
	ck_assert_str_eq(number_fixed(text, -0.001, 2), "0");
	ck_assert_str_eq(number_fixed(text, 100, 2), "100");
	ck_assert_str_eq(number_fixed(text, NAN, 2), "0");
	ck_assert_str_eq(number_fixed(text, INFINITY, 0), "1000000000000000");
	ck_assert_str_eq(number_decimals(text, 2, 1), "2.0");
	ck_assert_str_eq(number_bytes(text, 1023), "1023 B");
	ck_assert_str_eq(number_bytes(text, 1024), "1.0 KiB");
	ck_assert_str_eq(number_bytes(text, INT64_C(1048575)), "1.0 MiB");
	ck_assert_str_eq(number_bytes(text, INT64_C(74763469)), "71.3 MiB");
	ck_assert_str_eq(number_time(text, 12), "0:12");
	ck_assert_str_eq(number_time(text, 3599.2), "60:00");
	ck_assert_str_eq(number_time(text, 90061), "25:01:01");
	ck_assert_str_eq(number_time(text, -3), "0:00");
	ck_assert_str_eq(number_time(text, NAN), "0:00");
}
END_TEST

static const struct {
	double lo, hi;
	int max; /* 0: powers */
	double least;
	const char *ticks;
} axes[] = {
	{0, 1, 5, 0, "0.0 0.2 0.4 0.6 0.8 1.0"},
	{0, 3900, 9, 1, "0 500 1000 1500 2000 2500 3000 3500"},
	{0.3, 2.3, 4, 0, "0.5 1.0 1.5 2.0"},
	{-1, 1, 4, 0, "-1.0 -0.5 0.0 0.5 1.0"},
	{0, 1, 9, 1, "0 1"},
	{0, 2e7, 4, 1, "0 5000000 1e7 1.5e7 2e7"},
	{0, 4e-6, 4, 0, "0.000000 1e-6 2e-6 3e-6 4e-6"},
	{1e-5, 3, 0, 0, "1e-5 0.0001 0.001 0.01 0.1 1"},
	{0.03, 4, 0, 0, "0.05 0.1 0.2 0.5 1 2"},
	{1e-12, 1, 0, 0, "1e-12 1e-10 1e-8 1e-6 0.0001 0.01 1"},
	{1e300, 2e300, 4, 0, "1e300 1.5e300 2e300"},
};

START_TEST(ticks_are_round)
{
	char text[512] = "", one[NUMBER_TEXT], name[64];
	struct ticks ticks;

	if (axes[_i].max)
		ticks_linear(&ticks, axes[_i].lo, axes[_i].hi, axes[_i].max, axes[_i].least);
	else
		ticks_log(&ticks, axes[_i].lo, axes[_i].hi);
	for (int i = 0; i < ticks.count; i++) {
		strcat(text, i ? " " : "");
		strcat(text, tick_text(one, &ticks, i));
	}
	snprintf(name, sizeof(name), "%g to %g", axes[_i].lo, axes[_i].hi);
	ROW_EQ_STR(name, text, axes[_i].ticks);
}
END_TEST

/* --- curves ----------------------------------------------------------------------- */

static struct plot *new_plot(void)
{
	struct plot *plot = calloc(1, sizeof(*plot));

	ck_assert_ptr_nonnull(plot);
	return plot;
}

START_TEST(a_spike_stays)
{
	struct plot *plot = new_plot();
	struct curve *curve = &plot->loss;
	double min, max, sum = 0;
	int64_t count = 0;

	ck_assert(!curve_range(curve, &min, &max));
	for (int64_t step = 1; step <= 3000000; step++)
		curve_add(curve, step, step == 1234567 ? 50 : step == 2000000 ? -3 : 1);
	curve_add(curve, 3000001, NAN);
	curve_add(curve, 3000002, 1e301);
	curve_add(curve, 5, 1); /* out of order */
	ck_assert(curve_range(curve, &min, &max));
	ck_assert_double_eq(min, -3);
	ck_assert_double_eq(max, 50);
	ck_assert_int_eq(curve_count(curve), 3000001);
	ck_assert_int_eq(curve_bad(curve), 2);
	ck_assert_int_le(curve->used, CURVE_BUCKETS);
	ck_assert_int_ge(curve->used, CURVE_BUCKETS / 2);
	for (int i = 0; i < curve->used; i++) {
		const struct curve_bucket *b = &curve->buckets[i];

		count += b->count;
		sum += b->sum;
		if (b->max == 50)
			ck_assert_int_eq(b->at_max, 1234567);
		if (b->min == -3)
			ck_assert_int_eq(b->at_min, 2000000);
	}
	ck_assert_int_eq(count, 3000001);
	ck_assert_double_eq(sum, 3000001 + 49 - 4);
	ck_assert_double_eq_tol(curve_smooth(curve, curve->used / 8, 5), 1, 1e-9);
	free(plot);
}
END_TEST

/* --- pictures --------------------------------------------------------------------- */

static char *drawn(const struct plot *plot, const char *title)
{
	struct train_error error = {.status = TRAIN_OK};
	size_t size;
	char *svg;

	ck_assert_msg(plot_svg(plot, "p.svg", title, &error), "%s", error.text);
	svg = slurp("p.svg", &size);
	svg[size] = '\0';
	return svg;
}

static int count_of(const char *svg, const char *what)
{
	int count = 0;

	for (; (svg = strstr(svg, what)); svg++)
		count++;
	return count;
}

/* Points of the path that begins at `at`. */
static int points_of(const char *at)
{
	int count = 0;

	for (at = strstr(at, " d=\"") + 4; *at != '"'; at++)
		count += *at == 'M' || *at == 'L';
	return count;
}

static const int64_t lengths[] = {1, 2, 60, 61, 999, 1000, 1001, 1000000};

START_TEST(few_points_of_many_steps)
{
	struct plot *plot = new_plot();
	char *svg, *line;

	for (int64_t step = 1; step <= lengths[_i]; step++)
		curve_add(&plot->loss, step, 1 + (double)(step * 7919 % 101) / 100);
	svg = drawn(plot, "title");
	/* the first is the legend's */
	line = strstr(svg, lengths[_i] > 60 ? "class=\"train\"" : "class=\"smooth\"");
	line = line ? strstr(line + 1, lengths[_i] > 60 ? "class=\"train\"" : "class=\"smooth\"")
		    : NULL;
	ck_assert_ptr_nonnull(line);
	if (lengths[_i] <= CURVE_BUCKETS)
		ck_assert_int_eq(points_of(line), lengths[_i]);
	else
		ck_assert_msg(points_of(line) <= 2000 && points_of(line) >= 900, "%d points",
			      points_of(line));
	ck_assert_int_eq(count_of(svg, "<circle"), lengths[_i] <= 60 ? lengths[_i] : 0);
	ck_assert_int_eq(count_of(svg, ">accuracy<"), 0);
	free(svg);
	free(plot);
}
END_TEST

START_TEST(no_number_in_a_picture_is_none)
{
	static const double hostile[] = {NAN,    INFINITY, -INFINITY, 1e308,
					 -1e308, 5e-324,   0,         1e-310};
	struct plot *plot = new_plot();
	char *svg;

	for (int step = 0; step < 300; step++) {
		curve_add(&plot->loss, step, hostile[(step / 3 + _i) % 8]);
		curve_add(&plot->accuracy, step, hostile[(step / 5 + _i) % 8]);
		curve_add(&plot->test_loss, step, hostile[_i]);
	}
	svg = drawn(plot, "title");
	for (const char *at = svg; (at = strstr(at, "=\"")); at++)
		ck_assert_msg(strncmp(at, "=\"nan", 5) && strncmp(at, "=\"-nan", 6) &&
				      strncmp(at, "=\"inf", 5) && strncmp(at, "=\"-inf", 6),
			      "%.60s", at);
	ck_assert_int_eq(count_of(svg, "Mnan") + count_of(svg, " nan") + count_of(svg, "Linf"), 0);
	ck_assert_int_eq(count_of(svg, "1000000000000000"), 0);
	ck_assert_int_eq(count_of(svg, ">not finite ("), 1);
	free(svg);
	free(plot);
}
END_TEST

START_TEST(texts_are_escaped)
{
	struct plot *plot = new_plot();
	char *svg = drawn(plot, "a<b> & \"c\" \xff\033");

	ck_assert_int_eq(
		count_of(svg, ">a&lt;b&gt; &amp; &quot;c&quot; \xef\xbf\xbd\xef\xbf\xbd</text>"),
		1);
	ck_assert_int_eq(count_of(svg, "no step was done"), 1);
	free(svg);
	free(plot);
}
END_TEST

/* --- whole or not at all ---------------------------------------------------------- */

static const struct {
	const char *file, *text;
	enum train_status status;
} refused[] = {
	{"/dev/full",
	 "/dev/full: cannot write: No space left on device; free some space, or name another file",
	 TRAIN_FAILED},
	{"none/p.svg", "none/p.svg: cannot create: No such file or directory; name another file",
	 TRAIN_FAILED},
	{"", "'': not the name of a file; name one", TRAIN_BAD_INPUT},
	{"folder/", "folder/: not the name of a file; name one", TRAIN_BAD_INPUT},
	{".", ".: cannot create: Is a directory; name another file", TRAIN_FAILED},
};

START_TEST(files_that_cannot_be_written)
{
	struct train_error error = {.status = TRAIN_OK};
	struct plot *plot = new_plot();

	ck_assert(!plot_svg(plot, refused[_i].file, "", &error));
	ROW_EQ_STR(refused[_i].file, error.text, refused[_i].text);
	ROW_EQ_INT(refused[_i].file, error.status, refused[_i].status);
	ck_assert_int_ne(rmdir("folder"), 0);
	free(plot);
}
END_TEST

static void check_untouched(const char *what)
{
	size_t size;
	char *bytes = slurp("p.svg", &size);

	ck_assert_msg(size == 6 && memcmp(bytes, "before", 6) == 0, "%s: %.*s", what, (int)size,
		      bytes);
	free(bytes);
	ck_assert_int_eq(unlink("p.svg"), 0);
	/* nothing else is there */
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_msg(rmdir(folder_of_test) == 0, "%s: the folder is not empty", what);
	ck_assert_int_eq(mkdir(folder_of_test, 0700), 0);
	ck_assert_int_eq(chdir(folder_of_test), 0);
}

START_TEST(what_was_there_stays)
{
	struct train_error error = {.status = TRAIN_OK};
	struct atomic_stream stream;
	FILE *own;

	spit("p.svg", "before", 6);
	ck_assert(atomic_stream_open(&stream, "p.svg", &error));
	fputs("half", stream.stream);
	atomic_stream_drop(&stream);
	check_untouched("dropped");

	/* the disk is full when it is flushed */
	spit("p.svg", "before", 6);
	ck_assert(atomic_stream_open(&stream, "p.svg", &error));
	own = stream.stream;
	stream.stream = fopen("/dev/full", "w");
	ck_assert_ptr_nonnull(stream.stream);
	fputs("half", stream.stream);
	ck_assert(!atomic_stream_close(&stream, &error));
	fclose(own);
	ck_assert_str_eq(error.text,
			 "p.svg: cannot write: No space left on device; free some space, "
			 "or name another file");
	check_untouched("full");
}
END_TEST

START_TEST(a_link_stays_one)
{
	struct train_error error = {.status = TRAIN_OK};
	struct plot *plot = new_plot();
	struct stat st;

	spit("target.svg", "before", 6);
	ck_assert_int_eq(symlink("target.svg", "p.svg"), 0);
	ck_assert(plot_svg(plot, "p.svg", "", &error));
	ck_assert_int_eq(lstat("p.svg", &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	ck_assert_int_eq(stat("target.svg", &st), 0);
	ck_assert_int_gt(st.st_size, 100);
	free(plot);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plot");
	TCase *tests = tcase_create("plot");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, enter_folder, leave_folder);
	tcase_add_test(tests, numbers_as_texts);
	tcase_add_loop_test(tests, ticks_are_round, 0, sizeof(axes) / sizeof(*axes));
	tcase_add_test(tests, a_spike_stays);
	tcase_add_loop_test(tests, few_points_of_many_steps, 0, sizeof(lengths) / sizeof(*lengths));
	tcase_add_loop_test(tests, no_number_in_a_picture_is_none, 0, 8);
	tcase_add_test(tests, texts_are_escaped);
	tcase_add_loop_test(tests, files_that_cannot_be_written, 0,
			    sizeof(refused) / sizeof(*refused));
	tcase_add_test(tests, what_was_there_stays);
	tcase_add_test(tests, a_link_stays_one);
	return unit_run(suite);
}
