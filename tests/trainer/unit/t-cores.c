/* SPDX-License-Identifier: MIT */
/* Which cores a device has, on machines that are larger than this one. */
#include <errno.h>
#include <stdio.h>

#include "place/cores.h"
#include "unit.h"

/* The machine that sched_getaffinity describes: as many numbers as the kernel has bits for, and
 * which of them the process may use. */
static struct {
	int numbers, first, last;
	int error;
} machine;

/* In place of libc's. */
int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *cpus)
{
	errno = machine.error ? machine.error : bytes * 8 < (size_t)machine.numbers ? EINVAL : 0;
	if (errno)
		return -1;
	CPU_ZERO_S(bytes, cpus);
	for (int cpu = machine.first; cpu <= machine.last; cpu++)
		CPU_SET_S(cpu, bytes, cpus);
	return 0;
}

START_TEST(however_large_the_machine)
{
	static const struct {
		const char *name;
		int numbers, first, last, error;
		int count, lowest, more;
	} rows[] = {
		{"a small one", 64, 0, 7, 0, 8, 0, 0},
		{"all that a set holds", 1024, 0, 1023, 0, 1024, 0, 0},
		{"one number more", 1025, 0, 1024, 0, 1024, 0, 1},
		{"on both sides", 4096, 1000, 1999, 0, 24, 1000, 976},
		{"above all", 8192, 4000, 4095, 0, 0, -1, 96},
		{"the largest", 1 << 16, 5, 5, 0, 1, 5, 0},
		{"larger than any", (1 << 16) + 1, 5, 5, 0, 0, -1, 0},
		{"that does not report it", 64, 0, 7, EPERM, 0, -1, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int lowest = -1, more;
		cpu_set_t cpus;

		machine.numbers = rows[i].numbers;
		machine.first = rows[i].first;
		machine.last = rows[i].last;
		machine.error = rows[i].error;
		more = cores_allowed(&cpus);
		for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
			if (CPU_ISSET(cpu, &cpus))
				lowest = cpu;
		ROW_EQ_INT(rows[i].name, CPU_COUNT(&cpus), rows[i].count);
		ROW_EQ_INT(rows[i].name, lowest, rows[i].lowest);
		ROW_EQ_INT(rows[i].name, more, rows[i].more);
	}
}
END_TEST

START_TEST(shares)
{
	static const struct {
		const char *name;
		int first, last; /* cores of the process */
		int index, sharing, processes, threads;
		int count, lowest, got_threads;
		bool own;
	} rows[] = {
		{"alone", 4, 11, 0, 1, 1, 0, 8, 4, 8, false},
		{"the first of two", 0, 7, 0, 2, 1, 0, 4, 0, 4, true},
		{"the last of three", 0, 7, 2, 3, 1, 0, 3, 5, 3, true},
		{"beside another process", 0, 7, 1, 2, 2, 0, 4, 4, 2, true},
		{"fewer threads than cores", 0, 7, 1, 2, 1, 1, 4, 4, 1, true},
		{"more threads than cores", 0, 7, 1, 2, 1, 5, 4, 4, 5, false},
		{"more devices than cores", 0, 1, 2, 3, 1, 0, 0, -1, 1, false},
		{"no cores that are known", 1, 0, 1, 2, 1, 0, 0, -1, 1, false},
		{"the last cores of a set", 1022, 1023, 1, 2, 1, 0, 1, 1023, 1, true},
	};

	unsetenv("OMP_NUM_THREADS");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct cores cores;
		cpu_set_t allowed;
		int lowest = -1;

		CPU_ZERO(&allowed);
		for (int cpu = rows[i].first; cpu <= rows[i].last; cpu++)
			CPU_SET(cpu, &allowed);
		cores_share(&cores, &allowed, rows[i].index, rows[i].sharing, rows[i].processes,
			    rows[i].threads);
		for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
			if (CPU_ISSET(cpu, &cores.cpus))
				lowest = cpu;
		ROW_EQ_INT(rows[i].name, CPU_COUNT(&cores.cpus), rows[i].count);
		ROW_EQ_INT(rows[i].name, lowest, rows[i].lowest);
		ROW_EQ_INT(rows[i].name, cores.threads, rows[i].got_threads);
		ROW_EQ_INT(rows[i].name, cores.own, rows[i].own);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cores");
	TCase *tests = tcase_create("cores");

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, however_large_the_machine);
	tcase_add_test(tests, shares);
	return unit_run(suite);
}
