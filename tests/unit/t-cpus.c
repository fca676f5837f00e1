/* SPDX-License-Identifier: MIT */
/* The CPUs of machines that each test makes: trees of /sys, and the kernel's mask. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "cpuset.h"
#include "job/cpus.h"
#include "failing_malloc.h"
#include "strbuf.h"
#include "tree.h"
#include "unit.h"

/* The process may run on every third CPU of so many; 0: the kernel does not report it. */
static int kernel_cpus;

/* Replaces the C library's. The kernel wants room for all CPUs that there could be. */
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *mask)
{
	if (!kernel_cpus || size * 8 < (size_t)kernel_cpus) {
		errno = kernel_cpus ? EINVAL : ENOSYS;
		return -1;
	}
	for (int i = 0; i < kernel_cpus; i += 3)
		CPU_SET_S(i, size, mask);
	return 0;
}

/* "allowed: core/node core/node ..." of each CPU; "-" is an offline one. */
static char *describe(const struct cpus *cpus)
{
	const struct cpu_topology *t = cpus->plan.topology;
	struct strbuf buf = {0};

	strbuf_printf(&buf, "%s:", cpus->plan.allowed ? cpus->plan.allowed : "?");
	for (size_t i = 0; t && i < t->count; i++)
		if (t->core[i] < 0)
			strbuf_puts(&buf, " -");
		else
			strbuf_printf(&buf, " %d/%d", t->core[i], t->node[i]);
	return strbuf_take(&buf);
}

#define ONLINE "sys/devices/system/cpu/online"
#define CORE(cpu) "sys/devices/system/cpu/cpu" #cpu "/topology/core_cpus_list"
#define OLD_CORE(cpu) "sys/devices/system/cpu/cpu" #cpu "/topology/thread_siblings_list"
#define NODE(node) "sys/devices/system/node/node" #node "/cpulist"

static const struct {
	const char *name;
	struct file files[16];
	const char *want;
} rows[] = {
	{"nothing at all", {{0}}, "?:"},
	{"four cores", {{ONLINE, "0-3\n"}, {NODE(0), "0-3\n"}}, "?: 0/0 1/0 2/0 3/0"},
	{"no NUMA in the kernel", {{ONLINE, "0-1\n"}}, "?: 0/-1 1/-1"},
	{"threads side by side",
	 {{ONLINE, "0-3\n"},
	  {CORE(0), "0-1\n"},
	  {CORE(1), "0-1\n"},
	  {CORE(2), "2-3\n"},
	  {CORE(3), "2-3\n"},
	  {NODE(0), "0-1\n"},
	  {NODE(1), "2-3\n"}},
	 "?: 0/0 0/0 2/1 2/1"},
	{"threads far apart, an older kernel",
	 {{ONLINE, "0-3\n"},
	  {OLD_CORE(0), "0,2\n"},
	  {OLD_CORE(1), "1,3\n"},
	  {OLD_CORE(2), "0,2\n"},
	  {OLD_CORE(3), "1,3\n"},
	  {NODE(0), "0-3\n"}},
	 "?: 0/0 1/0 0/0 1/0"},
	{"the newer name first",
	 {{ONLINE, "0-1\n"}, {CORE(1), "1\n"}, {OLD_CORE(1), "0-1\n"}},
	 "?: 0/-1 1/-1"},
	{"hybrid: one core of two threads, two of one",
	 {{ONLINE, "0-3\n"},
	  {CORE(0), "0-1\n"},
	  {CORE(1), "0-1\n"},
	  {CORE(2), "2\n"},
	  {CORE(3), "3\n"}},
	 "?: 0/-1 0/-1 2/-1 3/-1"},
	{"offline: a CPU, another one's thread",
	 {{ONLINE, "0,2-4\n"},
	  {CORE(0), "0,3\n"},
	  {CORE(2), "2\n"},
	  {CORE(3), "0,3\n"},
	  {CORE(4), "4\n"},
	  {NODE(0), "0,2-4\n"}},
	 "?: 0/0 - 2/0 0/0 4/0"},
	{"nodes 0 and 8, memory of GPUs without CPUs",
	 {{ONLINE, "0-3\n"},
	  {NODE(0), "0-1\n"},
	  {NODE(8), "2-3\n"},
	  {NODE(252), "\n"},
	  {NODE(255), "\n"},
	  {"sys/devices/system/node/possible", "0,8,252-255\n"},
	  {"sys/devices/system/node/node/cpulist", "0-3\n"}},
	 "?: 0/0 1/0 2/8 3/8"},
	{"nodes alone", {{NODE(0), "0-3\n"}}, "?:"},
	{"a node of more than is online", {{ONLINE, "0-1\n"}, {NODE(1), "0-7\n"}}, "?: 0/1 1/1"},
	{"texts without sense",
	 {{ONLINE, "0-2\n"},
	  {CORE(0), "all\n"},
	  {CORE(1), "7\n"},
	  {CORE(2), ""},
	  {NODE(0), "3-0\n"},
	  {NODE(99999999999999999999), "0\n"},
	  {NODE(0x1), "0\n"}},
	 "?: 0/-1 1/-1 2/-1"},
	{"no CPU", {{ONLINE, "\n"}}, "?:"},
	{"CPUs without end", {{ONLINE, "0-4294967295\n"}}, "?:"},
};

START_TEST(trees)
{
	const char *name = rows[_i].name;
	struct cpus cpus;
	char *got;

	kernel_cpus = 4; /* of this machine, not of the tree */
	for (const struct file *file = rows[_i].files; file->path; file++)
		tree_put(file);
	ROW_EQ_INT(name, cpus_read(&cpus, tree_root(), NULL), GPUMAP_OK);
	got = describe(&cpus);
	ROW_EQ_STR(name, got, rows[_i].want);
	free(got);
	cpus_free(&cpus);
}
END_TEST

/* Every other CPU of 4096 is online, which is a list of 9.5 KiB. */
START_TEST(long_list)
{
	struct strbuf list = {0};
	struct cpus cpus;

	for (int i = 1; i < 4096; i += 2)
		strbuf_printf(&list, "%s%d", list.length ? "," : "", i);
	tree_put(&(struct file){ONLINE, list.text});
	tree_put(&(struct file){NODE(3), list.text});
	ck_assert_int_eq(cpus_read(&cpus, tree_root(), NULL), GPUMAP_OK);
	ck_assert_uint_eq(cpus.topology.count, 4096);
	for (int i = 0; i < 4096; i++) {
		ck_assert_int_eq(cpus.topology.core[i], i % 2 ? i : -1);
		ck_assert_int_eq(cpus.topology.node[i], i % 2 ? 3 : -1);
	}
	cpus_free(&cpus);
	strbuf_free(&list);
}
END_TEST

static const struct {
	const char *name;
	int cpus;
	const char *begins, *ends; /* NULL: not known */
} masks[] = {
	{"the kernel is silent", 0, NULL, NULL},
	{"one", 1, "0", "0"},
	{"eight", 8, "0,3,6", "6"},
	{"1024", 1024, "0,3,6,", ",1023"},
	{"more than a cpu_set_t", 1025, "0,3,6,", ",1023"},
	{"many", 8192, "0,3,6,", ",8190"},
	{"the most", CPUSET_MAX_CPUS, "0,3,6,", ",65535"},
	{"more than that", CPUSET_MAX_CPUS + 1, NULL, NULL},
};

START_TEST(affinity)
{
	const char *name = masks[_i].name, *got, *want = masks[_i].begins;
	struct cpus cpus;

	kernel_cpus = masks[_i].cpus;
	ROW_EQ_INT(name, cpus_read(&cpus, NULL, NULL), GPUMAP_OK);
	got = cpus.plan.allowed;
	ROW_EQ_INT(name, !got, !want);
	if (got && want) {
		size_t end = strlen(masks[_i].ends), length = strlen(got);

		ROW_EQ_INT(name, strncmp(got, want, strlen(want)), 0);
		ROW_EQ_STR(name, got + (length > end ? length - end : 0), masks[_i].ends);
	}
	cpus_free(&cpus);
}
END_TEST

START_TEST(every_allocation_fails)
{
	struct cpus cpus;
	size_t n;

	kernel_cpus = 5000;
	for (n = 1;; n++) {
		int rc;

		allocations_fail_at(n);
		rc = cpus_read(&cpus, NULL, NULL);
		allocations_fail_at(0);
		if (rc == GPUMAP_OK)
			break;
		ck_assert_int_eq(rc, GPUMAP_ENOMEM);
	}
	ck_assert(!allocations_failed());
	ck_assert_uint_gt(n, 3);
	cpus_free(&cpus);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cpus");
	TCase *tests = tcase_create("cpus");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, tree_make, tree_drop);
	tcase_add_loop_test(tests, trees, 0, ARRAY_SIZE(rows));
	tcase_add_test(tests, long_list);
	tcase_add_loop_test(tests, affinity, 0, ARRAY_SIZE(masks));
	if (allocations_can_fail())
		tcase_add_test(tests, every_allocation_fails);
	return unit_run(suite);
}
