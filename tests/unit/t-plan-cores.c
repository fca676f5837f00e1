/* SPDX-License-Identifier: MIT */
/* Which cores, memory and threads each rank gets. */
#include <stdio.h>

#include "cpuset.h"
#include "plans.h"
#include "text.h"
#include "unit.h"

#define TWO_SOCKETS \
	"GPU-a @10 n=0 c=0-7;GPU-b @20 n=0 c=0-7;GPU-c @30 n=1 c=8-15;GPU-d @40 n=1 c=8-15"
#define BY_NODE "GPU-a @10 n=0;GPU-b @20 n=1"
#define OVERLAP "GPU-a @10 c=0-3;GPU-b @20 c=0-7;GPU-c @30 c=0-7;GPU-d @40 c=4-11"

/* 16 CPUs, 8 cores of two threads (c and c + 8), nodes of four cores; node 2 is memory
 * of a GPU and has no CPU. */
static const int smt_core[] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};
static const int smt_node[] = {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1};
static const struct cpu_topology smt = {16, smt_core, smt_node};
/* 16 cores of one thread, CPU 3 offline, nothing known of nodes. */
static const int flat_core[] = {0, 1, 2, -1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const int flat_node[] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
static const struct cpu_topology flat = {16, flat_core, flat_node};

static const struct row {
	const char *name, *machine, *settings;
	const char *allowed; /* NULL: not known */
	const struct cpu_topology *topology;
	const char *cpus; /* "CPUS[!: shared]/THREADS" of each rank */
	const char *nodes, *findings;
} rows[] = {
	{"two sockets", TWO_SOCKETS, "", "0-15", NULL, "0-3/4 4-7/4 8-11/4 12-15/4", "0 0 1 1", ""},
	{"affinity is not known", TWO_SOCKETS, "", NULL, NULL, "0-3/4 4-7/4 8-11/4 12-15/4",
	 "0 0 1 1", ""},
	{"restricted", TWO_SOCKETS, "", "2-5,9-12", NULL, "2-3/2 4-5/2 9-10/2 11-12/2", "0 0 1 1",
	 ""},
	{"shares are equal", TWO_SOCKETS, "", "0-4,8-10", NULL, "0-1/2 2-3/2 8/1 9/1", "0 0 1 1",
	 ""},
	{"fewer cores than ranks", TWO_SOCKETS, "", "0,8-15", NULL, "0!/1 0!/1 8-11/4 12-15/4",
	 "0 0 1 1", "GM189"},
	{"the other socket alone", TWO_SOCKETS, "world_size=2", "8-15", NULL, "8-15!/4 8-15!/4",
	 "- -", "GM189"},
	{"the other socket, nodes known", TWO_SOCKETS, "world_size=2", "4-7", &smt, "4-5/2 6-7/2",
	 "1 1", ""},
	{"whole cores", "GPU-a @10 c=0-3,8-11;GPU-b @20 c=0-3,8-11", "", "0-15", &smt,
	 "0-1,8-9/2 2-3,10-11/2", "0 0", ""},
	{"a half of a core", "GPU-a @10 c=0-3,8-11;GPU-b @20 c=0-3,8-11", "", "0-3,8,10", &smt,
	 "0-1,8/2 2-3,10/2", "0 0", ""},
	{"by NUMA node", BY_NODE, "", NULL, &smt, "0-3,8-11/4 4-7,12-15/4", "0 1", ""},
	{"nodes without a topology", BY_NODE, "cpu_bind=numa", "0-15", NULL, "0-15!/8 0-15!/8",
	 "- -", "GM188"},
	{"nobody asked to be bound", BY_NODE, "", "0-15", NULL, "0-15!/8 0-15!/8", "- -", ""},
	{"a node without CPUs", "GPU-a @10 n=0,2;GPU-b @20 n=2", "cpu_bind=numa", "0-15", &smt,
	 "0-3,8-11/4 0-15!/4", "0 -", "GM188"},
	{"memory, not bound", "GPU-a @10 n=0,2;GPU-b @20 n=1-2", "cpu_bind=none", "0-15", &smt,
	 "-/4 -/4", "0 1", ""},
	{"NUMA -1", "GPU-a @10 n=-1;GPU-b @20 n=-1", "cpu_bind=numa", "0-7", NULL, "0-7!/4 0-7!/4",
	 "- -", "GM188"},
	{"nothing is known", "GPU-a @10;GPU-b @20", "cpu_bind=numa", NULL, NULL, "-/0 -/0", "- -",
	 "GM188"},
	{"an offline CPU", "GPU-a @10 c=0-7;GPU-b @20 c=0-7", "", NULL, &flat, "0-2/3 4-6/3", "- -",
	 ""},
	{"affinity of none", TWO_SOCKETS, "world_size=1", "", NULL, "0-7/8", "0", ""},
	{"one for another", "GPU-a @10 c=0-1;GPU-b @20", "cpu_bind=numa", "0-7", NULL,
	 "0-1/2 0-7!/4", "- -", "GM188"},

	{"overlapping", OVERLAP, "", "0-11", NULL, "0-1/2", "- - - -", "?"},
	{"nested", "GPU-a @10 c=0-3;GPU-b @20 c=0-7;GPU-c @30 c=0-7", "", NULL, NULL, "0-1/2",
	 "- - -", "?"},

	{"cores", TWO_SOCKETS, "cpu_bind=cores:2", "0-15", NULL, "0-1/2 2-3/2 8-9/2 10-11/2",
	 "0 0 1 1", ""},
	{"more cores than there are", TWO_SOCKETS, "cpu_bind=cores:6", "0-15", NULL,
	 "0-3/4 4-7/4 8-11/4 12-15/4", "0 0 1 1", "GM189"},
	{"whole cores counted", "GPU-a @10 c=0-15", "cpu_bind=cores:2", NULL, &smt, "0-1,8-9/2",
	 "0", ""},
	{"a list", TWO_SOCKETS, "cpu_bind=list:0-3|world_size=2", "0-15", NULL, "0-3!/2 0-3!/2",
	 "0 0", ""},
	{"a list, restricted", TWO_SOCKETS, "cpu_bind=list:0-3|world_size=1", "2-15", NULL, "2-3/2",
	 "0", ""},
	{"a list outside", TWO_SOCKETS, "cpu_bind=list:0-3|world_size=1", "8-15", NULL, "8-15/8",
	 "-", "GM189"},
	{"not bound", TWO_SOCKETS, "cpu_bind=none", "0-15", NULL, "-/4 -/4 -/4 -/4", "0 0 1 1", ""},
	{"not bound, nothing known", TWO_SOCKETS, "cpu_bind=none|mem_bind=none", NULL, NULL,
	 "-/0 -/0 -/0 -/0", "- - - -", ""},
	{"threads", TWO_SOCKETS, "threads=3|world_size=2", "0-15", NULL, "0-3/3 4-7/3", "0 0", ""},
	{"threads kept", TWO_SOCKETS, "threads=keep|world_size=2", "0-15", NULL, "0-3/0 4-7/0",
	 "0 0", ""},
	{"memory is left alone", TWO_SOCKETS, "mem_bind=none|world_size=1", "0-15", NULL, "0-7/8",
	 "-", ""},

	{"no GPU", "GPU-a @10", "gpus=none|world_size=3", "0-7", &smt, "0-1/2 2-3/2 4-5/2", "0 0 1",
	 ""},
	{"no GPU, nothing known", "GPU-a @10", "gpus=none|world_size=2", NULL, NULL, "-/0 -/0",
	 "- -", ""},
	{"two ranks on a GPU", "GPU-a @10 c=0-7", "ranks_per_gpu=2|device=cuda:0", NULL, NULL,
	 "0-3/4 4-7/4", "- -", "GM043"},
	{"where it lands", TWO_SOCKETS, "mode=single|world_size=1|device=cuda:2", NULL, NULL,
	 "8-15/8", "1", ""},
	{"all of a dp's GPUs", TWO_SOCKETS, "mode=dp", "0-15", NULL, "0-15/16", "0-1", ""},
	{"blocks of a dp", TWO_SOCKETS, "mode=dp|world_size=2|share=isolate|device=cuda:0", "0-15",
	 NULL, "0-7/8 8-15/8", "0 1", ""},
	{"MIG", "GPU-a @10 c=0-3 n=0 m=MIG-1 m=MIG-2", "share=isolate|device=cuda:0", "0-3", NULL,
	 "0-1/2 2-3/2", "0 0", "GM043"},
};

static void scene_cores(struct scene *scene, const struct row *row, struct plan_cpus *cpus)
{
	char hosts[512], settings[256];

	snprintf(hosts, sizeof(hosts), "a=%s", row->machine);
	snprintf(settings, sizeof(settings), "device=cuda:%%l|%s", row->settings);
	scene_set(scene, hosts, "", settings);
	*cpus = (struct plan_cpus){row->allowed, row->topology};
	scene->hosts[0].cpus = cpus;
	scene_plan(scene);
}

START_TEST(cores)
{
	const struct row *row = &rows[_i];
	struct plan_cpus cpus;
	struct scene scene;
	char *got, *nodes, *findings;

	scene_cores(&scene, row, &cpus);
	ROW_EQ_INT(row->name, scene.code, GPUMAP_OK);
	got = scene_cpus(&scene);
	nodes = scene_nodes(&scene);
	findings = scene_findings(&scene, true);
	if (!streq(row->findings, "?")) {
		ROW_EQ_STR(row->name, findings, row->findings);
		ROW_EQ_STR(row->name, got, row->cpus);
	}
	ROW_EQ_STR(row->name, nodes, row->nodes);
	free(got);
	free(nodes);
	free(findings);
	scene_free(&scene);
}
END_TEST

/* For all sets: no rank gets an empty set or a CPU that is not allowed, no CPU is given twice
 * unless it is marked as shared, and shares of overlapping sets are equal. */
START_TEST(properties)
{
	const struct row *row = &rows[_i];
	struct plan_cpus cpus;
	struct scene scene;
	struct job_rank rank;
	struct arena arena = {0};
	struct cpu_set allowed = {0}, used = {0};

	scene_cores(&scene, row, &cpus);
	if (row->allowed)
		ck_assert(cpu_set_parse(&arena, &allowed, span_of(row->allowed)));
	for (size_t i = 0; job_rank_at(scene.plan, (int64_t)i, &rank); i++) {
		const struct local_rank *local = rank.local;
		struct cpu_set own;

		if (!local->cpus)
			continue;
		ck_assert(cpu_set_parse(&arena, &own, span_of(local->cpus)));
		ck_assert_msg(cpu_set_size(own) > 0, "%s: empty", row->name);
		if (cpu_set_size(allowed))
			ck_assert_msg(cpu_set_compare(cpu_set_and(&arena, own, allowed), own) == 0,
				      "%s: %s is not allowed", row->name, local->cpus);
		if (local->cpus_shared)
			continue;
		ck_assert_msg(!cpu_set_meet(own, used), "%s: %s twice", row->name, local->cpus);
		used = cpu_set_or(&arena, used, own);
		if (streq(row->findings, "?"))
			ROW_EQ_INT(row->name, local->threads, row->cpus[4] - '0');
	}
	arena_free(&arena);
	scene_free(&scene);
}
END_TEST

START_TEST(bad_affinity)
{
	const struct row row = {.machine = TWO_SOCKETS, .settings = "", .allowed = "0-x"};
	struct plan_cpus cpus;
	struct scene scene;

	scene_cores(&scene, &row, &cpus);
	ck_assert_int_eq(scene.code, GPUMAP_EINPUT);
	ck_assert_str_eq(
		gpumap_finding_str(gpumap_report_get(scene.report, 0), GPUMAP_FINDING_TEXT),
		"the CPUs of a cannot be '0-x'");
	scene_free(&scene);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-cores");
	TCase *tests = tcase_create("plan-cores");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, cores, 0, (int)ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, properties, 0, (int)ARRAY_SIZE(rows));
	tcase_add_test(tests, bad_affinity);
	return unit_run(suite);
}
