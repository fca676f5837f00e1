/* SPDX-License-Identifier: MIT */
/* gpumap ps: for how long a process is idle, after one look and after several. */
#include "inventory/inventory.h"
#include "live/ps.h"
#include "unit.h"

enum { NOT_SAMPLED = -1, NONE = 0, MAX_LOOKS = 4 };

struct sight {
	int64_t now, active, cpu; /* now 0: no more looks */
	int64_t start;
};

static const struct row {
	const char *name;
	struct sight looks[MAX_LOOKS];
	bool once; /* without a watch */
	enum ps_idle idle;
	int64_t seconds;
} rows[] = {
	{"one look, no samples", {{100, NOT_SAMPLED, 5, 0}}, true, PS_IDLE_UNKNOWN, -1},
	{"one look, in no sample", {{100, NONE, 5, 0}}, true, PS_IDLE_LONG, -1},
	{"one look, in a sample", {{100, 93, 5, 0}}, true, PS_IDLE_SINCE, 7},
	{"a sample of the next second", {{100, 101, 5, 0}}, true, PS_IDLE_SINCE, 0},
	{"the first of many", {{100, NONE, 5, 0}}, false, PS_IDLE_LONG, -1},
	{"in no sample twice", {{100, NONE, 5, 0}, {102, NONE, 6, 0}}, false, PS_IDLE_LEAST, 2},
	{"three times",
	 {{100, NONE, 5, 0}, {102, NONE, 6, 0}, {107, NONE, 7, 0}},
	 false,
	 PS_IDLE_LEAST,
	 7},
	{"the sample is gone by then",
	 {{100, 98, 5, 0}, {104, NONE, 6, 0}, {108, NONE, 7, 0}},
	 false,
	 PS_IDLE_SINCE,
	 10},
	{"used again",
	 {{100, 98, 5, 0}, {104, NONE, 6, 0}, {108, 107, 7, 0}},
	 false,
	 PS_IDLE_SINCE,
	 1},
	{"a sample may be missed in a long pause",
	 {{100, 98, 5, 0}, {200, NONE, 6, 0}},
	 false,
	 PS_IDLE_LONG,
	 -1},
	{"and it is watched from there on",
	 {{100, NONE, 5, 0}, {200, NONE, 6, 0}, {205, NONE, 7, 0}},
	 false,
	 PS_IDLE_LEAST,
	 5},
	{"but not if it did not compute",
	 {{100, 98, 5, 0}, {200, NONE, 5, 0}},
	 false,
	 PS_IDLE_SINCE,
	 102},
	{"another process with the number",
	 {{100, 98, 5, 1}, {102, NONE, 5, 2}},
	 false,
	 PS_IDLE_LONG,
	 -1},
	{"no samples, no CPU time",
	 {{100, NOT_SAMPLED, 5, 0}, {160, NOT_SAMPLED, 5, 0}},
	 false,
	 PS_IDLE_CPU,
	 60},
	{"no samples, it computes",
	 {{100, NOT_SAMPLED, 5, 0}, {160, NOT_SAMPLED, 6, 0}},
	 false,
	 PS_IDLE_UNKNOWN,
	 -1},
	{"no samples, it computed before",
	 {{100, NOT_SAMPLED, 5, 0}, {110, NOT_SAMPLED, 6, 0}, {130, NOT_SAMPLED, 6, 0}},
	 false,
	 PS_IDLE_CPU,
	 20},
	{"no samples, not visible",
	 {{100, NOT_SAMPLED, -1, 0}, {160, NOT_SAMPLED, -1, 0}},
	 false,
	 PS_IDLE_UNKNOWN,
	 -1},
	{"in no sample, not visible",
	 {{100, NONE, -1, 0}, {200, NONE, -1, 0}},
	 false,
	 PS_IDLE_LONG,
	 -1},
};

/* A machine with one process on one GPU. */
struct world {
	gpumap_process process;
	gpumap_device device;
	struct ps_process p;
	struct ps_gpu gpu;
	struct ps_facts facts;
	struct ps ps;
};

static void make(struct world *w, const struct sight *look)
{
	*w = (struct world){.process = process_of(5)};
	process_set_start(&w->process, look->start);
	process_set_active(&w->process, look->active);
	w->p.process = &w->process;
	w->facts.cpu = look->cpu;
	w->gpu = (struct ps_gpu){.device = &w->device, .processes = &w->p, .count = 1};
	w->ps = (struct ps){.gpus = &w->gpu,
			    .count = 1,
			    .facts = &w->facts,
			    .fact_count = 1,
			    .now = look->now,
			    .clock = look->now};
}

START_TEST(idle)
{
	const struct row *row = &rows[_i];
	struct ps_watch watch = {0};
	struct world w;

	for (int i = 0; i < MAX_LOOKS && row->looks[i].now; i++) {
		make(&w, &row->looks[i]);
		ps_watch_look(row->once ? NULL : &watch, &w.ps);
	}
	ROW_EQ_INT(row->name, w.p.idle, row->idle);
	ROW_EQ_INT(row->name, w.p.idle_seconds, row->seconds);
	ps_watch_free(&watch);
}
END_TEST

/* Four seconds between two looks, in which someone sets the time of day. */
static const struct {
	const char *name;
	int64_t now; /* at the second look, when the clock is 104 */
	int64_t first, second, cpu;
	enum ps_idle idle;
	int64_t seconds;
} set_rows[] = {
	{"back", 50, 98, NONE, 6, PS_IDLE_SINCE, 6},
	{"back, in no sample", 50, NONE, NONE, 6, PS_IDLE_LEAST, 4},
	{"back, used again", 50, 98, 47, 6, PS_IDLE_SINCE, 3},
	{"back, no samples", 50, NOT_SAMPLED, NOT_SAMPLED, 5, PS_IDLE_CPU, 4},
	{"forward", 3704, 98, NONE, 6, PS_IDLE_SINCE, 6},
	{"forward, in no sample", 3704, NONE, NONE, 6, PS_IDLE_LEAST, 4},
	{"forward, used again", 3704, 98, 3701, 6, PS_IDLE_SINCE, 3},
	{"forward, no samples", 3704, NOT_SAMPLED, NOT_SAMPLED, 5, PS_IDLE_CPU, 4},
};

START_TEST(time_is_set)
{
	struct ps_watch watch = {0};
	struct world w;

	make(&w, &(struct sight){100, set_rows[_i].first, 5, 0});
	ps_watch_look(&watch, &w.ps);
	make(&w, &(struct sight){set_rows[_i].now, set_rows[_i].second, set_rows[_i].cpu, 0});
	w.ps.clock = 104;
	ps_watch_look(&watch, &w.ps);
	ROW_EQ_INT(set_rows[_i].name, w.p.idle, set_rows[_i].idle);
	ROW_EQ_INT(set_rows[_i].name, w.p.idle_seconds, set_rows[_i].seconds);
	ps_watch_free(&watch);
}
END_TEST

/* A process that has ended is forgotten, and comes back as a new one. */
START_TEST(forgotten)
{
	static const struct sight used = {100, 98, 5, 0}, later = {102, NONE, 5, 0};
	struct ps_watch watch = {0};
	struct ps none = {.now = 101, .clock = 101};
	struct world w;

	make(&w, &used);
	ps_watch_look(&watch, &w.ps);
	ps_watch_look(&watch, &none);
	ck_assert_uint_eq(watch.count, 0);
	make(&w, &later);
	ps_watch_look(&watch, &w.ps);
	ck_assert_int_eq(w.p.idle, PS_IDLE_LONG);
	ps_watch_free(&watch);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ps watch");
	TCase *tests = tcase_create("watch");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, idle, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, time_is_set, 0, ARRAY_SIZE(set_rows));
	tcase_add_test(tests, forgotten);
	return unit_run(suite);
}
