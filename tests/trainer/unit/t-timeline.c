/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <unistd.h>

#include "base/clock.h"
#include "folders.h"
#include "report/timeline.h"
#include "report/timeline_rows.h"

/* --- the recorder ----------------------------------------------------------------- */

START_TEST(steps_are_recorded)
{
	const struct timeline_interval *got;
	struct timeline *timeline = timeline_open(3, 7, TIMELINE_COMMUNICATION, 2);
	int64_t begin = clock_ns();

	timeline_add(timeline, "before", begin);
	ck_assert_int_eq(timeline->count, 0);
	timeline_step(timeline, 5);
	timeline_add(timeline, "first", begin);
	timeline_add(timeline, "a name that is longer than what there is room for", begin + 1);
	timeline_add(timeline, "no room", begin);
	timeline_step(timeline, -1);
	timeline_add(timeline, "after", begin);
	ck_assert_int_eq(timeline->count, 2);
	ck_assert_int_eq(timeline->lost, 1);
	got = timeline->intervals;
	ck_assert_str_eq(got[0].name, "first");
	ck_assert_str_eq(got[1].name, "a name that is longer than what there i");
	ck_assert_int_eq(got[0].rank, 3);
	ck_assert_int_eq(got[0].device, 7);
	ck_assert_int_eq(got[0].lane, TIMELINE_COMMUNICATION);
	ck_assert_int_eq(got[0].step, 5);
	ck_assert(got[0].begin_ns == begin && got[1].begin_ns == begin + 1);
	ck_assert(got[0].end_ns >= begin && got[1].end_ns >= got[0].end_ns &&
		  got[1].end_ns <= clock_ns());
	timeline_close(timeline);
}
END_TEST

START_TEST(times_of_a_step)
{
	struct timeline *timeline = timeline_open(0, 0, TIMELINE_COMPUTE, 4);
	int64_t now = clock_ns();

	ck_assert_int_eq(timeline_at(timeline), -1);
	for (int step = 3; step < 5; step++) {
		timeline_step(timeline, step);
		ck_assert_int_eq(timeline_at(timeline), step);
		timeline_add(timeline, "wait", now - 1000000000);
		timeline_add(timeline, "compute", now - 2000000000);
	}
	ck_assert(timeline_took(timeline, 3, "wait") >= 1000000000);
	ck_assert(timeline_took(timeline, 3, "wait") < 2000000000);
	ck_assert(timeline_took(timeline, 4, NULL) >= 3000000000);
	ck_assert(timeline_took(timeline, 4, "receive") == -1);
	ck_assert(timeline_took(timeline, 5, NULL) == -1);
	ck_assert(timeline_took(NULL, 3, NULL) == -1);
	/* An interval that had no room may be of any step, so no sum is known. */
	timeline_add(timeline, "wait", now);
	ck_assert(timeline_took(timeline, 3, "wait") == -1);
	timeline_close(timeline);
}
END_TEST

START_TEST(nothing_is_a_recorder_too)
{
	timeline_step(NULL, 1);
	timeline_add(NULL, "x", 0);
	timeline_close(NULL);
}
END_TEST

/* --- pictures --------------------------------------------------------------------- */

static const int64_t base = INT64_C(987654321012345678);

static struct timeline_interval part(const char *name, int rank, enum timeline_lane lane, int step,
				     int64_t begin, int64_t end)
{
	struct timeline_interval interval = {.rank = rank,
					     .device = rank + 2,
					     .lane = (int32_t)lane,
					     .step = step,
					     .begin_ns = base + begin,
					     .end_ns = base + end};

	memcpy(interval.name, name, strnlen(name, TIMELINE_NAME)); /* may be without an end */
	return interval;
}

static char *svg_of(const struct timeline_interval *all, int count)
{
	struct train_error error = {.status = TRAIN_OK};
	size_t size;
	char *svg;

	ck_assert_msg(timeline_svg("t.svg", all, count, "rank", &error), "%s", error.text);
	svg = slurp("t.svg", &size);
	svg[size] = '\0';
	return svg;
}

static json_t *json_of(const struct timeline_interval *all, int count)
{
	struct train_error error = {.status = TRAIN_OK};
	json_error_t why;
	json_t *json;

	ck_assert_msg(timeline_json("t.json", all, count, "rank", &error), "%s", error.text);
	json = json_load_file("t.json", JSON_REJECT_DUPLICATES, &why);
	ck_assert_msg(json, "t.json:%d: %s", why.line, why.text);
	return json;
}

static int count_of(const char *svg, const char *what)
{
	int count = 0;

	for (; (svg = strstr(svg, what)); svg++)
		count++;
	return count;
}

/* A step of three ranks; the third does not communicate. */
static int example(struct timeline_interval *all)
{
	int n = 0;

	for (int rank = 0; rank < 3; rank++) {
		all[n++] = part("forward", rank, TIMELINE_COMPUTE, 4, 0, 1000000);
		all[n++] = part("backward <&>", rank, TIMELINE_COMPUTE, 4, 1000000, 3000600);
		if (rank < 2)
			all[n++] =
				part("bucket 0", rank, TIMELINE_COMMUNICATION, 4, 2000000, 2500000);
		all[n++] = part("forward", rank, TIMELINE_COMPUTE, 5, 4000000, 5000000);
	}
	return n;
}

START_TEST(a_row_for_each_rank_and_lane)
{
	struct timeline_interval all[16];
	int count = example(all);
	char *svg = svg_of(all, count);

	ck_assert_int_eq(count_of(svg, "class=\"row\""), 5);
	ck_assert_int_eq(count_of(svg, ">compute<"), 3);
	ck_assert_int_eq(count_of(svg, ">communication<"), 2);
	ck_assert_int_eq(count_of(svg, ">rank 2, GPU 4<"), 1);
	ck_assert_int_eq(count_of(svg, "class=\"step\""), 2);
	ck_assert_int_eq(count_of(svg, ">step 4<"), 1);
	ck_assert_int_eq(count_of(svg, ">step 5<"), 1);
	ck_assert_int_eq(count_of(svg, "<title>"), count);
	ck_assert_int_eq(count_of(svg, "<title>backward &lt;&amp;&gt;: 2.001 ms, step 4<"), 3);
	/* labels in boxes, and one in the table */
	ck_assert_int_eq(count_of(svg, "class=\"in\">backward &lt;&amp;&gt;<"), 3);
	ck_assert_int_eq(count_of(svg, "class=\"in\">forward<"), 6);
	ck_assert_int_eq(count_of(svg, ">3 ranks, 2 steps<"), 1);
	/* one name, one colour: the longest sum has the first, here and in the table */
	ck_assert_int_eq(count_of(svg, "class=\"k0\""), 4);
	ck_assert_int_eq(count_of(svg, "class=\"k1\""), 7);
	ck_assert_int_eq(count_of(svg, "class=\"k2\""), 3);
	ck_assert_int_eq(count_of(svg, ">6.002<"), 1);
	free(svg);
}
END_TEST

START_TEST(any_order_is_good)
{
	struct timeline_interval all[16], turned[16];
	int count = example(all);
	char *a, *b;

	for (int i = 0; i < count; i++)
		turned[i] = all[(i * 7 + 3) % count];
	a = svg_of(all, count);
	b = svg_of(turned, count);
	ck_assert_str_eq(a, b);
	free(a);
	free(b);
}
END_TEST

START_TEST(sums_by_name)
{
	struct timeline_interval all[16];
	struct timeline_rows rows;

	timeline_rows_make(&rows, all, example(all));
	ck_assert_int_eq(rows.kinds_count, 3);
	ck_assert_str_eq(rows.kinds[0].name, "backward <&>");
	ck_assert_int_eq(rows.kinds[0].ns, 6001800);
	ck_assert_int_eq(rows.kinds[0].count, 3);
	ck_assert_str_eq(rows.kinds[1].name, "forward");
	ck_assert_int_eq(rows.kinds[1].ns, 6000000);
	ck_assert_int_eq(rows.kinds[1].count, 6);
	ck_assert_str_eq(rows.kinds[2].name, "bucket 0");
	ck_assert_int_eq(rows.kinds[2].ns, 1000000);
	for (int i = 0; i < rows.count; i++)
		ck_assert_str_eq(rows.order[i]->name, rows.kinds[rows.kind[i]].name);
	timeline_rows_free(&rows);
}
END_TEST

static void fill_many(struct timeline_interval *all, int count, int ranks, int names)
{
	char name[TIMELINE_NAME];

	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "part %d", i % names);
		all[i] = part(name, i % ranks, i / ranks % 2, i / 5000, INT64_C(900) * i,
			      INT64_C(900) * i + 800);
	}
}

START_TEST(many_intervals_are_thinned)
{
	enum { COUNT = 100000 };
	struct timeline_interval *all = calloc(COUNT, sizeof(*all));
	size_t size;
	char *svg;

	ck_assert_ptr_nonnull(all);
	fill_many(all, COUNT, 2, COUNT / 2);
	svg = svg_of(all, COUNT);
	size = strlen(svg);
	/* a box for each pixel of a row at most; and the table has its end */
	ck_assert_int_lt(count_of(svg, "<rect"), 4 * 1100 + 60);
	ck_assert_int_gt(count_of(svg, "<rect"), 4 * 900);
	ck_assert_uint_lt(size, 1000000);
	ck_assert_int_eq(count_of(svg, ">49960 more<"), 1);
	free(svg);
	fill_many(all, COUNT, 64, 13);
	svg = svg_of(all, COUNT);
	ck_assert_int_eq(count_of(svg, "class=\"row\""), 128);
	ck_assert_int_eq(count_of(svg, ">rank 63, GPU 65<"), 1);
	free(svg);
	free(all);
}
END_TEST

START_TEST(the_longest_of_a_pixel_is_seen)
{
	struct timeline_interval all[] = {
		part("all", 0, TIMELINE_COMPUTE, 0, 0, 1000000000),
		part("short", 0, TIMELINE_COMMUNICATION, 0, 500000000, 500000010),
		part("longer", 0, TIMELINE_COMMUNICATION, 0, 500000010, 500001000),
		part("shortest", 0, TIMELINE_COMMUNICATION, 0, 500001000, 500001001),
	};
	char *svg = svg_of(all, 4);

	/* of the table, and of the picture */
	ck_assert_int_eq(count_of(svg, "class=\"k1\""), 2);
	ck_assert_int_eq(count_of(svg, "class=\"k2\""), 1);
	ck_assert_int_eq(count_of(svg, "class=\"k3\""), 1);
	free(svg);
}
END_TEST

START_TEST(odd_intervals)
{
	struct timeline_interval all[] = {
		part("", 0, TIMELINE_COMPUTE, INT_MAX, 0, 0),
		part("backwards", 0, TIMELINE_COMPUTE, INT_MIN, 50, 10),
		part("0123456789012345678901234567890123456789", INT_MAX - 2, TIMELINE_COMPUTE, 0,
		     5, 5),
		part("\xff\033<", -1, 7, 0, 5, 6),
	};

	for (int count = 0; count <= 4; count++) {
		char *svg = svg_of(all, count);
		json_t *json = json_of(all, count);

		ck_assert_int_eq(count_of(svg, "nan") + count_of(svg, "inf"), 0);
		ck_assert_int_eq(count_of(svg, "nothing was recorded"), count == 0);
		ck_assert_int_eq(count_of(svg, ">\xef\xbf\xbd\xef\xbf\xbd&lt;<") > 0, count == 4);
		json_decref(json);
		free(svg);
	}
}
END_TEST

/* --- trace events ----------------------------------------------------------------- */

static int events_of(const json_t *json, const char *phase, const char *name, int pid, int tid)
{
	const json_t *events = json_object_get(json, "traceEvents"), *event;
	int count = 0;
	size_t i;

	json_array_foreach(events, i, event) count +=
		strcmp(json_string_value(json_object_get(event, "ph")), phase) == 0 &&
		strcmp(json_string_value(json_object_get(event, "name")), name) == 0 &&
		json_integer_value(json_object_get(event, "pid")) == pid &&
		json_integer_value(json_object_get(event, "tid")) == tid;
	return count;
}

START_TEST(events_of_a_trace)
{
	struct timeline_interval all[16];
	int count = example(all);
	json_t *json = json_of(all, count), *events = json_object_get(json, "traceEvents"), *event;
	size_t i;

	ck_assert_uint_eq(json_array_size(events), (size_t)count + 3 + 5);
	ck_assert_int_eq(events_of(json, "M", "process_name", 2, 0), 1);
	ck_assert_int_eq(events_of(json, "M", "thread_name", 2, 0), 1);
	ck_assert_int_eq(events_of(json, "M", "thread_name", 2, 1), 0);
	ck_assert_int_eq(events_of(json, "M", "thread_name", 1, 1), 1);
	ck_assert_int_eq(events_of(json, "X", "backward <&>", 1, 0), 1);
	ck_assert_int_eq(events_of(json, "X", "bucket 0", 1, 1), 1);
	json_array_foreach(events, i, event)
	{
		const char *name = json_string_value(json_object_get(event, "name"));
		json_t *args = json_object_get(event, "args");

		if (strcmp(name, "process_name") == 0 &&
		    json_integer_value(json_object_get(event, "pid")) == 1)
			ck_assert_str_eq(json_string_value(json_object_get(args, "name")),
					 "rank 1, GPU 3");
		if (strcmp(name, "backward <&>") == 0) {
			ck_assert_double_eq(json_number_value(json_object_get(event, "ts")), 1000);
			ck_assert_double_eq(json_number_value(json_object_get(event, "dur")),
					    2000.6);
			ck_assert_int_eq(json_integer_value(json_object_get(args, "step")), 4);
		}
	}
	json_decref(json);
}
END_TEST

START_TEST(names_in_a_trace)
{
	struct timeline_interval all[] = {
		part("a\"b\\c\xff\n\xc3\xa4", 0, TIMELINE_COMPUTE, 0, 0, 1)};
	json_t *json = json_of(all, 1);

	ck_assert_int_eq(events_of(json, "X", "a\"b\\c??\xc3\xa4", 0, 0), 1);
	json_decref(json);
}
END_TEST

START_TEST(a_full_disk)
{
	struct timeline_interval all[16];
	struct train_error error = {.status = TRAIN_OK};
	int count = example(all);

	if (_i)
		ck_assert(!timeline_svg("/dev/full", all, count, "rank", &error));
	else
		ck_assert(!timeline_json("/dev/full", all, count, "rank", &error));
	ck_assert_str_eq(error.text, "/dev/full: cannot write: No space left on device; free some "
				     "space, or name another file");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("timeline");
	TCase *tests = tcase_create("timeline");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, enter_folder, leave_folder);
	tcase_add_test(tests, steps_are_recorded);
	tcase_add_test(tests, times_of_a_step);
	tcase_add_test(tests, nothing_is_a_recorder_too);
	tcase_add_test(tests, a_row_for_each_rank_and_lane);
	tcase_add_test(tests, any_order_is_good);
	tcase_add_test(tests, sums_by_name);
	tcase_add_test(tests, many_intervals_are_thinned);
	tcase_add_test(tests, the_longest_of_a_pixel_is_seen);
	tcase_add_test(tests, odd_intervals);
	tcase_add_test(tests, events_of_a_trace);
	tcase_add_test(tests, names_in_a_trace);
	tcase_add_loop_test(tests, a_full_disk, 0, 2);
	return unit_run(suite);
}
