/* SPDX-License-Identifier: MIT */
/* The order in which the reducer asks a collective that does not wait. Its calls are recorded as
 * text. */
#include <stdio.h>
#include <string.h>

#include "parallel/reducer.h"
#include "unit.h"

struct call_log {
	struct communicator comm;
	char text[400];
	int fails; /* the call with this number, from 1 */
	int calls;
};

static bool log_call(struct communicator *comm, const char *what, struct train_error *error)
{
	struct call_log *h = (struct call_log *)comm;
	size_t n = strlen(h->text);

	snprintf(h->text + n, sizeof(h->text) - n, "%s; ", what);
	return ++h->calls != h->fails || train_fail(error, TRAIN_FAILED, "call %d", h->calls);
}

static bool log_fork(struct communicator *comm, struct train_error *error)
{
	return log_call(comm, "fork", error);
}

static bool log_join(struct communicator *comm, struct train_error *error)
{
	return log_call(comm, "join", error);
}

static bool log_all_reduce(struct communicator *comm, float *values, int64_t count,
			   const char *what, struct train_error *error)
{
	char text[80];

	snprintf(text, sizeof(text), "%s (%d)", what, (int)count);
	return log_call(comm, text, error);
}

static const struct collective streams = {
	.name = "streams", .fork = log_fork, .join = log_join, .all_reduce = log_all_reduce};

/* Layers 3 and 2 in the first bucket, 0 in the second. */
static const struct buckets buckets = {
	.count = 2, .each = {{.layer = 2, .first = 10, .elements = 7}, {.elements = 10}}};

static const struct {
	const char *name;
	bool overlap;
	int fails;
	const char *text;
} rows[] = {
	{"beside backward", true, 0,
	 "[3] [2] fork; gradients, bucket 0 (7); [0] fork; gradients, bucket 1 (10); join; "},
	{"at the end", false, 0,
	 "[3] [2] [0] fork; gradients, bucket 0 (7); gradients, bucket 1 (10); join; "},
	{"the fork fails", true, 1, "[3] [2] fork; "},
	{"the first bucket fails", true, 2, "[3] [2] fork; gradients, bucket 0 (7); "},
	{"the second bucket fails", false, 3,
	 "[3] [2] [0] fork; gradients, bucket 0 (7); gradients, bucket 1 (10); "},
	{"the join fails", false, 4,
	 "[3] [2] [0] fork; gradients, bucket 0 (7); gradients, bucket 1 (10); join; "},
};

static bool go(struct call_log *h, struct reducer *reducer, struct train_error *error)
{
	static const int layers[] = {3, 2, 0};
	int64_t exposed = 0;

	for (int i = 0; i < 3; i++) {
		size_t n = strlen(h->text);

		snprintf(h->text + n, sizeof(h->text) - n, "[%d] ", layers[i]);
		if (!reducer_ready(reducer, layers[i], error))
			return false;
	}
	return reducer_wait(reducer, &exposed, error);
}

START_TEST(asks_in_order)
{
	struct call_log h = {.comm = {.calls = &streams, .world = 2}, .fails = rows[_i].fails};
	float gradients[17] = {0};
	const struct reducer_options options = {.comm = &h.comm,
						.gradients = gradients,
						.buckets = &buckets,
						.overlap = rows[_i].overlap};
	struct train_error error = {.status = TRAIN_OK};
	struct reducer *reducer;

	ck_assert(reducer_open(&reducer, &options, &error));
	for (int step = 0; step < 2 && error.status == TRAIN_OK; step++) {
		bool done;

		h.text[0] = '\0';
		done = go(&h, reducer, &error);
		ck_assert_msg(done == (rows[_i].fails == 0), "%s: %s", rows[_i].name, error.text);
		ck_assert_msg(strcmp(h.text, rows[_i].text) == 0, "%s: %s", rows[_i].name, h.text);
	}
	reducer_close(reducer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("reducer");
	TCase *tests = tcase_create("reducer");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, asks_in_order, 0, sizeof(rows) / sizeof(*rows));
	return unit_run(suite);
}
