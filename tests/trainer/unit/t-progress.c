/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "folders.h"
#include "report/progress.h"
#include "report/format.h"

/* --- a line ----------------------------------------------------------------------- */

static const struct progress_state usual = {.epoch = 1,
					    .epochs = 10,
					    .place = 120,
					    .places = 390,
					    .loss = 1.2345,
					    .accuracy = 0.612,
					    .rate = 812,
					    .left = 12,
					    .slowest = "slowest rank 2 (+12 %)"};

static const struct {
	int columns;
	bool bar;
	const char *line;
} widths[] = {
	{5, true, ""},
	{9, true, "120/390"},
	{10, true, "epoch 2/10"},
	{39, true, "epoch 2/10  120/390  loss 1.2345"},
	{44, true, "epoch 2/10  120/390  loss 1.2345  0:12 left"},
	{52, true, "epoch 2/10  120/390  loss 1.2345  61.2 %  0:12 left"},
	{63, true, "epoch 2/10  120/390  loss 1.2345  acc 61.2 %  0:12 left"},
	{80, true,
	 "epoch 2/10  [===>      ]  120/390  loss 1.2345  acc 61.2 %  812 img/s  0:12 left"},
	{119, true,
	 "epoch 2/10  [=======>                 ]  120/390  loss 1.2345  acc 61.2 %  812 img/s "
	 " "
	 "0:12 left  "
	 "slowest rank 2 (+12 %)"},
	{200, false,
	 "epoch 2/10  120/390  loss 1.2345  acc 61.2 %  812 img/s  0:12 left  slowest rank 2 (+12 "
	 "%)"},
};

START_TEST(a_burn_test_shows_its_time)
{
	struct progress_state burn = usual;
	char line[PROGRESS_WIDEST + 1];

	burn.elapsed = 12;
	burn.seconds = 60;
	burn.place = 7;
	burn.places = burn.epochs = 0;
	burn.slowest = NULL;
	progress_line(line, 84, true, &burn);
	ck_assert_str_eq(line,
			 "burn 0:12 of 1:00  [=>      ]  step 7  loss 1.2345  acc 61.2 %  812 "
			 "img/s  0:12 left");
	burn.elapsed = 61;
	progress_line(line, 84, true, &burn);
	ck_assert_str_eq(line,
			 "burn 1:01 of 1:00  [========]  step 7  loss 1.2345  acc 61.2 %  812 "
			 "img/s  0:12 left");
	progress_line(line, 80, false, &burn);
	ck_assert_str_eq(
		line, "burn 1:01 of 1:00  step 7  loss 1.2345  acc 61.2 %  812 img/s  0:12 left");
}
END_TEST

START_TEST(a_line_of_a_width)
{
	char line[PROGRESS_WIDEST + 1];
	int length = progress_line(line, widths[_i].columns, widths[_i].bar, &usual);
	char name[32];

	snprintf(name, sizeof(name), "%d columns", widths[_i].columns);
	ROW_EQ_STR(name, line, widths[_i].line);
	ROW_EQ_INT(name, length, (int)strlen(line));
}
END_TEST

static const struct progress_state states[] = {
	{.epoch = INT64_MAX - 1,
	 .epochs = INT64_MAX,
	 .place = INT64_MAX,
	 .places = INT64_MAX,
	 .loss = -1e308,
	 .accuracy = 1e300,
	 .rate = 1e300,
	 .left = 1e300,
	 .slowest = "slowest rank 2147483647 (+100000 %)"},
	{.loss = NAN, .accuracy = NAN, .rate = NAN, .left = NAN},
	{.place = -1, .loss = INFINITY, .accuracy = INFINITY, .rate = INFINITY, .left = -1},
	{.place = 700, .places = 390, .loss = 0, .rate = 0.01},
	{.elapsed = 1e300, .seconds = 1e-3, .place = 700, .loss = 0, .rate = 0.01},
};

START_TEST(a_line_always_fits)
{
	char line[PROGRESS_WIDEST + 1];

	for (int columns = -1; columns < 700; columns++)
		for (int bar = 0; bar < 2; bar++) {
			int length = progress_line(line, columns, bar, &states[_i]);

			ck_assert_msg(length == (int)strlen(line) && length <= PROGRESS_WIDEST &&
					      (length <= columns || length == 0),
				      "state %d, %d columns: %d, %s", _i, columns, length, line);
		}
}
END_TEST

static const struct {
	double loss;
	const char *text;
} losses[] = {{0.25, "0.2500"},    {9999.5, "9999.5000"}, {123456, "1.235e+05"}, {INFINITY, "inf"},
	      {-INFINITY, "-inf"}, {NAN, "nan"},          {-NAN, "nan"}};

START_TEST(a_loss_for_people)
{
	char text[NUMBER_TEXT];

	ROW_EQ_STR(losses[_i].text, number_loss(text, losses[_i].loss), losses[_i].text);
}
END_TEST

/* --- sums ------------------------------------------------------------------------- */

static struct tally tally_of(int ranks)
{
	struct tally tally;

	tally_open(&tally, ranks);
	tally_begin(&tally);
	return tally;
}

START_TEST(means_are_of_samples)
{
	struct tally tally = tally_of(1);

	ck_assert(isnan(tally_loss(&tally)) && isnan(tally_recent_rate(&tally)));
	tally_step(&tally, &(struct step_metrics){
				   .samples = 30, .loss = 2, .accuracy = 0.5, .seconds = 0.25});
	tally_step(&tally, &(struct step_metrics){
				   .samples = 10, .loss = 4, .accuracy = 0.9, .seconds = 0.25});
	tally_step(&tally,
		   &(struct step_metrics){.samples = 40, .loss = INFINITY, .skipped = true});
	ck_assert_double_eq_tol(tally_loss(&tally), 2.5, 1e-12);
	ck_assert_double_eq_tol(tally_accuracy(&tally), 0.6, 1e-12);
	ck_assert_int_eq(tally.skipped, 1);
	tally_step(&tally, &(struct step_metrics){.samples = 1, .loss = NAN});
	ck_assert(isnan(tally_loss(&tally)));
	tally_close(&tally);
}
END_TEST

START_TEST(rates_are_recent)
{
	struct tally tally = tally_of(1);

	for (int i = 0; i < 100; i++)
		tally_step(&tally, &(struct step_metrics){.samples = 10, .seconds = 1});
	ck_assert_double_eq_tol(tally_recent_rate(&tally), 10, 1e-9);
	for (int i = 0; i < 200; i++)
		tally_step(&tally, &(struct step_metrics){.samples = 10, .seconds = 0.25});
	ck_assert_double_eq_tol(tally_recent_rate(&tally), 40, 0.1);
	ck_assert_double_eq_tol(tally_recent_step(&tally), 0.25, 0.001);
	tally_close(&tally);
}
END_TEST

static void put_slow(struct tally *tally, int rank, double seconds)
{
	tally_step(tally, &(struct step_metrics){.samples = 1,
						 .slowest_rank = rank,
						 .slowest_seconds = seconds,
						 .mean_seconds = 1});
}

START_TEST(the_slowest_is_named)
{
	struct tally tally = tally_of(4);
	double part;
	int rank;

	ck_assert(!tally_slowest(&tally, &rank, &part));
	for (int i = 0; i < 10; i++)
		put_slow(&tally, i % 2 ? 3 : 1, i % 2 ? 1.1 : 1.3);
	put_slow(&tally, -1, 1000);
	put_slow(&tally, 4, 1000);
	put_slow(&tally, 0, NAN);
	ck_assert(tally_slowest(&tally, &rank, &part));
	ck_assert_int_eq(rank, 1);
	ck_assert_double_eq_tol(part, 5 * 0.3 / 13, 1e-9);
	tally_begin(&tally);
	ck_assert(!tally_slowest(&tally, &rank, &part));
	tally_close(&tally);
}
END_TEST

/* --- what is written -------------------------------------------------------------- */

static struct metrics_options options_of(enum progress_style style)
{
	return (struct metrics_options){
		.progress = style, .epochs = 2, .epoch_steps = 3, .steps = 5, .ranks = 1};
}

/* Two epochs, the second cut short, into the file "err". */
static char *written(const struct metrics_options *options)
{
	int before = dup(STDERR_FILENO), file = open("err", O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct progress progress;
	size_t size;
	char *text;

	dup2(file, STDERR_FILENO);
	progress_open(&progress, options);
	for (int64_t step = 1; step <= 5; step++) {
		progress_step(&progress, &(struct step_metrics){.step = step,
								.epoch = (step - 1) / 3,
								.samples = 10,
								.loss = 2,
								.accuracy = 0.5,
								.seconds = 0.5});
		if (step == 4)
			progress_note(&progress, "written \033[2J");
	}
	progress_evaluation(&progress, &(struct evaluation_metrics){
					       .step = 5, .epoch = 1, .loss = 3, .accuracy = 0.25});
	progress_evaluation(&progress, &(struct evaluation_metrics){.loss = 4, .accuracy = 0.125});
	progress_close(&progress);
	dup2(before, STDERR_FILENO);
	close(before);
	close(file);
	text = slurp("err", &size);
	text[size] = '\0';
	return text;
}

START_TEST(lines_of_a_file)
{
	struct metrics_options options = options_of(_i ? PROGRESS_LINES : PROGRESS_AUTO);
	char *text = written(&options);

	ck_assert_str_eq(
		text, "epoch 1/2  loss 2.0000  acc 50.0 %  20 img/s  1.5 s\n"
		      "written \\x1b[2J\n"
		      "epoch 2/2  loss 2.0000  acc 50.0 %  20 img/s  test loss 3.0000  acc 25.0 %  "
		      "1.0 s\n"
		      "test loss 4.0000  acc 12.5 %\n");
	free(text);
}
END_TEST

START_TEST(nothing_is_written)
{
	struct metrics_options options = options_of(PROGRESS_NONE);
	char *text = written(&options);

	ck_assert_str_eq(text, "");
	free(text);
}
END_TEST

/* What a terminal shows when it is done, of a text with returns and line feeds. */
static void play(char screen[8][256], const char *text)
{
	int row = 0, column = 0;

	memset(screen, ' ', 8 * (size_t)256);
	for (; *text; text++) {
		ck_assert_int_lt(column, 256);
		ck_assert_int_lt(row, 8);
		if (*text == '\r') {
			column = 0;
		} else if (*text == '\n') {
			row++;
			column = 0;
		} else {
			screen[row][column++] = *text;
		}
	}
	for (int i = 0; i < 8; i++) {
		int end = 255;

		while (end > 0 && screen[i][end - 1] == ' ')
			end--;
		screen[i][end] = '\0';
	}
}

START_TEST(a_bar_leaves_nothing_behind)
{
	struct metrics_options options = options_of(PROGRESS_BAR);
	char screen[8][256], *text = written(&options);

	ck_assert_msg(strstr(text, "\repoch 1/2  [==") && strstr(text, "3/3  loss 2.0000"), "%s",
		      text);
	ck_assert_msg(strstr(text, "2/2  loss 2.0000"), "%s", text);
	play(screen, text);
	ck_assert_str_eq(screen[0], "epoch 1/2  loss 2.0000  acc 50.0 %  20 img/s  1.5 s");
	ck_assert_str_eq(screen[1], "written \\x1b[2J");
	ck_assert_str_eq(screen[2],
			 "epoch 2/2  loss 2.0000  acc 50.0 %  20 img/s  test loss 3.0000  "
			 "acc 25.0 %  1.0 s");
	ck_assert_str_eq(screen[3], "test loss 4.0000  acc 12.5 %");
	ck_assert_str_eq(screen[4], "");
	free(text);
}
END_TEST

/* Without the length of an epoch, or with one that does not fit: the steps that were seen. */
START_TEST(an_epoch_that_is_not_known)
{
	struct metrics_options options = options_of(PROGRESS_BAR);
	char *text;

	options.epoch_steps = 0;
	options.epochs = 0;
	text = written(&options);
	ck_assert_msg(strstr(text, "epoch 1  step 3  loss") || strstr(text, "epoch 1  step 1"),
		      "%s", text);
	ck_assert_msg(!strstr(text, "[=") && !strstr(text, "[>"), "%s", text);
	free(text);
}
END_TEST

START_TEST(an_epoch_that_stopped)
{
	struct metrics_options options = options_of(PROGRESS_LINES);
	char *text;

	options.steps = 6;
	text = written(&options);
	ck_assert_msg(strstr(text, "epoch 2/2  2/3  loss 2.0000  acc 50.0 %  20 img/s  test"), "%s",
		      text);
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("progress");
	TCase *tests = tcase_create("progress");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, enter_folder, leave_folder);
	tcase_add_test(tests, a_burn_test_shows_its_time);
	tcase_add_loop_test(tests, a_line_of_a_width, 0, sizeof(widths) / sizeof(*widths));
	tcase_add_loop_test(tests, a_line_always_fits, 0, sizeof(states) / sizeof(*states));
	tcase_add_loop_test(tests, a_loss_for_people, 0, (int)(sizeof(losses) / sizeof(*losses)));
	tcase_add_test(tests, means_are_of_samples);
	tcase_add_test(tests, rates_are_recent);
	tcase_add_test(tests, the_slowest_is_named);
	tcase_add_loop_test(tests, lines_of_a_file, 0, 2);
	tcase_add_test(tests, nothing_is_written);
	tcase_add_test(tests, a_bar_leaves_nothing_behind);
	tcase_add_test(tests, an_epoch_that_is_not_known);
	tcase_add_test(tests, an_epoch_that_stopped);
	return unit_run(suite);
}
