/* SPDX-License-Identifier: MIT */
/* Whether a GPU is free, by its processes, memory and load. */
#include "inventory/inventory.h"
#include "lease/lease.h"
#include "unit.h"

enum { MIB = 20, UNKNOWN = -1, NO_PROCESS = -1, TOTAL = 8192 };

/* Memory is in MiB; the GPU has 8192. The process is one of the program python, with its memory. */
static const struct row {
	const char *name;
	int used, reserved, load, process; /* UNKNOWN */
	enum listed listed;
	const char *ignore;
	int max_used, max_load; /* UNKNOWN: not set */
	enum lease_state want;
} rows[] = {
	{"nothing", 0, 100, 0, NO_PROCESS, LISTED_ALL, NULL, -1, -1, LEASE_FREE},
	{"a little memory", 408, 100, 0, NO_PROCESS, LISTED_ALL, NULL, -1, -1, LEASE_FREE},
	{"5 % of the memory", 410, 100, 0, NO_PROCESS, LISTED_ALL, NULL, -1, -1, LEASE_IN_USE},
	{"less than a limit", 1023, 100, 0, NO_PROCESS, LISTED_ALL, NULL, 1024, -1, LEASE_FREE},
	{"as much as a limit", 1024, 100, 0, NO_PROCESS, LISTED_ALL, NULL, 1024, -1, LEASE_IN_USE},
	{"memory not known", -1, -1, 0, NO_PROCESS, LISTED_ALL, NULL, -1, -1, LEASE_UNKNOWN},
	{"processes not known", 0, 100, 0, NO_PROCESS, LISTED_NONE, NULL, -1, -1, LEASE_UNKNOWN},
	{"some processes known", 0, 100, 0, NO_PROCESS, LISTED_SOME, NULL, -1, -1, LEASE_UNKNOWN},
	{"a process", 900, 100, 0, 900, LISTED_ALL, NULL, -1, -1, LEASE_IN_USE},
	{"an ignored one", 900, 100, 0, 900, LISTED_ALL, "x,python", -1, -1, LEASE_FREE},
	{"one of another name", 900, 100, 0, 900, LISTED_ALL, "pytho", -1, -1, LEASE_IN_USE},
	{"an ignored one and memory", 1900, 100, 0, 900, LISTED_ALL, "python", -1, -1,
	 LEASE_IN_USE},

	{"load, which does not count", 0, 100, 100, NO_PROCESS, LISTED_ALL, NULL, -1, -1,
	 LEASE_FREE},
	{"load at the limit", 0, 100, 10, NO_PROCESS, LISTED_ALL, NULL, -1, 10, LEASE_FREE},
	{"load above the limit", 0, 100, 11, NO_PROCESS, LISTED_ALL, NULL, -1, 10, LEASE_LOADED},
	{"no load", 0, 100, 0, NO_PROCESS, LISTED_ALL, NULL, -1, 0, LEASE_FREE},
	{"a load of 1", 0, 100, 1, NO_PROCESS, LISTED_ALL, NULL, -1, 0, LEASE_LOADED},
	{"any load", 0, 100, 100, NO_PROCESS, LISTED_ALL, NULL, -1, 100, LEASE_FREE},
	{"memory before load", 5000, 100, 99, NO_PROCESS, LISTED_ALL, NULL, -1, 10, LEASE_IN_USE},
	{"an ignored process that computes", 900, 100, 99, 900, LISTED_ALL, "python", -1, 10,
	 LEASE_LOADED},
	{"an ignored process that does not", 900, 100, 9, 900, LISTED_ALL, "python", -1, 10,
	 LEASE_FREE},

	{"load not known", 0, 100, -1, NO_PROCESS, LISTED_ALL, NULL, -1, 10, LEASE_FREE},
	{"load not known, any load", 0, 100, -1, NO_PROCESS, LISTED_ALL, NULL, -1, 100, LEASE_FREE},
	{"load not known, and does not count", 900, 100, -1, 900, LISTED_ALL, "python", -1, -1,
	 LEASE_FREE},
	{"load not known, an ignored process", 900, 100, -1, 900, LISTED_ALL, "python", -1, 10,
	 LEASE_LOAD_HIDDEN},
	{"load not known, memory below a limit", 900, 100, -1, NO_PROCESS, LISTED_ALL, NULL, 1024,
	 10, LEASE_LOAD_HIDDEN},
	{"load not known, processes neither", 0, 100, -1, NO_PROCESS, LISTED_SOME, NULL, -1, 10,
	 LEASE_UNKNOWN},
};

/* Beside other slots. */
static const struct {
	struct row row;
	int mode; /* enum gpumap_compute_mode */
	unsigned types;
} slot_rows[] = {
	{{"a process", 900, 100, 99, 900, LISTED_ALL, NULL, -1, -1, LEASE_FREE},
	 GPUMAP_COMPUTE_MODE_DEFAULT,
	 0},
	{{"memory", 8000, 100, 99, NO_PROCESS, LISTED_ALL, NULL, -1, -1, LEASE_FREE},
	 GPUMAP_COMPUTE_MODE_DEFAULT,
	 0},
	{{"nothing is known", -1, -1, -1, NO_PROCESS, LISTED_NONE, NULL, -1, -1, LEASE_FREE},
	 GPUMAP_COMPUTE_MODE_DEFAULT,
	 0},
	{{"load above the limit", 900, 100, 11, 900, LISTED_ALL, NULL, -1, 10, LEASE_LOADED},
	 GPUMAP_COMPUTE_MODE_DEFAULT,
	 0},
	{{"load at the limit", 900, 100, 10, 900, LISTED_ALL, NULL, -1, 10, LEASE_FREE},
	 GPUMAP_COMPUTE_MODE_DEFAULT,
	 0},
	{{"load not known", 900, 100, -1, 900, LISTED_ALL, NULL, -1, 10, LEASE_LOAD_HIDDEN},
	 GPUMAP_COMPUTE_MODE_DEFAULT,
	 0},
	{{"less memory than a limit", 1023, 100, 0, 900, LISTED_ALL, NULL, 1024, -1, LEASE_FREE},
	 GPUMAP_COMPUTE_MODE_DEFAULT,
	 0},
	{{"as much as a limit", 1024, 100, 0, 900, LISTED_ALL, NULL, 1024, -1, LEASE_IN_USE},
	 GPUMAP_COMPUTE_MODE_DEFAULT,
	 0},
	{{"memory not known", -1, -1, 0, 900, LISTED_ALL, NULL, 1024, -1, LEASE_UNKNOWN},
	 GPUMAP_COMPUTE_MODE_DEFAULT,
	 0},
	{{"no program may use it", 0, 100, 0, NO_PROCESS, LISTED_ALL, NULL, -1, -1, LEASE_IN_USE},
	 GPUMAP_COMPUTE_MODE_PROHIBITED,
	 0},
	{{"one process may use it", 900, 100, 0, 900, LISTED_ALL, NULL, -1, -1, LEASE_IN_USE},
	 GPUMAP_COMPUTE_MODE_EXCLUSIVE_PROCESS,
	 GPUMAP_PROCESS_TYPE_COMPUTE},
	{{"one process, of an old driver", 900, 100, 0, 900, LISTED_ALL, NULL, -1, -1,
	  LEASE_IN_USE},
	 GPUMAP_COMPUTE_MODE_EXCLUSIVE_THREAD,
	 GPUMAP_PROCESS_TYPE_COMPUTE},
	{{"one process, with MPS", 900, 100, 0, 900, LISTED_ALL, NULL, -1, -1, LEASE_FREE},
	 GPUMAP_COMPUTE_MODE_EXCLUSIVE_PROCESS,
	 GPUMAP_PROCESS_TYPE_MPS},
};

static int64_t bytes(int mib)
{
	return mib < 0 ? -1 : (int64_t)mib << MIB;
}

static void check_state(const struct row *row, int min_free, bool shared, int mode, unsigned types)
{
	gpumap_device gpu = device_unknown();
	struct lease_terms terms = DEFAULT_TERMS;

	gpu.gpu = &gpu;
	gpu.memory = bytes(TOTAL);
	gpu.used = bytes(row->used);
	gpu.reserved = bytes(row->reserved);
	gpu.utilization = row->load;
	gpu.listed = row->listed;
	gpu.compute_mode = mode;
	if (row->process != NO_PROCESS) {
		gpumap_process *process = device_add_process(&gpu);

		ck_assert(process);
		process->memory = bytes(row->process);
		process->types = types;
		process->command = strdup("/usr/bin/python train.py");
		ck_assert(process->command);
	}
	if (row->ignore)
		terms.ignore = strdup(row->ignore);
	terms.max_used = bytes(row->max_used);
	terms.min_free = bytes(min_free);
	terms.max_load = row->max_load;
	ROW_EQ_INT(row->name, lease_state_of(&terms, &gpu, shared), row->want);
	for (size_t i = 0; i < gpu.process_count; i++)
		free(gpu.processes[i].command);
	free(gpu.processes);
	lease_terms_free(&terms);
}

START_TEST(states)
{
	check_state(&rows[_i], UNKNOWN, false, GPUMAP_COMPUTE_MODE_DEFAULT,
		    GPUMAP_PROCESS_TYPE_COMPUTE);
}
END_TEST

START_TEST(beside_slots)
{
	check_state(&slot_rows[_i].row, UNKNOWN, true, slot_rows[_i].mode, slot_rows[_i].types);
}
END_TEST

/* The GPU has to have 2000 MiB free. */
static const struct {
	struct row row;
	bool shared;
} free_rows[] = {
	{{"as much as asked", 6192, 100, 0, NO_PROCESS, LISTED_ALL, NULL, -1, -1, LEASE_FREE},
	 false},
	{{"less than asked", 6193, 100, 0, NO_PROCESS, LISTED_ALL, NULL, -1, -1, LEASE_FULL},
	 false},
	{{"a process", 900, 100, 0, 900, LISTED_ALL, NULL, -1, -1, LEASE_IN_USE}, false},
	{{"an ignored process", 6000, 100, 0, 900, LISTED_ALL, "python", -1, -1, LEASE_FREE},
	 false},
	{{"an ignored one with too much", 6193, 100, 0, 900, LISTED_ALL, "python", -1, -1,
	  LEASE_FULL},
	 false},
	{{"both limits", 1024, 100, 0, NO_PROCESS, LISTED_ALL, NULL, 1024, -1, LEASE_IN_USE},
	 false},
	{{"not known", -1, -1, 0, NO_PROCESS, LISTED_ALL, NULL, -1, -1, LEASE_UNKNOWN}, false},
	{{"a load", 900, 100, 11, NO_PROCESS, LISTED_ALL, NULL, -1, 10, LEASE_LOADED}, false},
	{{"beside slots: as much", 6192, 100, 0, 900, LISTED_ALL, NULL, -1, -1, LEASE_FREE}, true},
	{{"beside slots: less", 6193, 100, 0, 900, LISTED_ALL, NULL, -1, -1, LEASE_FULL}, true},
	{{"beside slots: not known", -1, -1, 0, 900, LISTED_ALL, NULL, -1, -1, LEASE_UNKNOWN},
	 true},
};

START_TEST(with_min_free)
{
	check_state(&free_rows[_i].row, 2000, free_rows[_i].shared, GPUMAP_COMPUTE_MODE_DEFAULT, 0);
}
END_TEST

/* Two compute instances: of the first one the memory in use, which is that of the GPU instance; of
 * a process on the second one; whether both are of one GPU instance. */
static const struct {
	const char *name;
	int used, process, together, max_used; /* MiB */
	enum lease_state want;
} compute_rows[] = {
	{"nothing", 0, 0, 1, -1, LEASE_FREE},
	{"memory of the other one", 3000, 2900, 1, -1, LEASE_FREE},
	{"more than that", 4000, 2900, 1, -1, LEASE_IN_USE},
	{"with a limit all counts", 3000, 2900, 1, 1024, LEASE_IN_USE},
	{"below the limit", 3000, 2900, 1, 4096, LEASE_FREE},
	{"another GPU instance", 3000, 2900, 0, -1, LEASE_IN_USE},
};

START_TEST(compute_instances)
{
	gpumap_device gpu = device_unknown();
	struct lease_terms terms = DEFAULT_TERMS;
	gpumap_process *process;

	gpu.gpu = &gpu;
	for (int i = 0; i < 2; i++) {
		gpumap_device *mig = device_add_mig(&gpu);

		ck_assert(mig);
		mig->memory = bytes(8192);
		mig->used = bytes(compute_rows[_i].used);
		mig->reserved = 0;
		mig->listed = LISTED_ALL;
		mig->gi = i && !compute_rows[_i].together ? 2 : 1;
		mig->ci = i;
		mig->mig_position = i;
	}
	for (int i = 0; i < 2; i++)
		gpu.mig[i].gpu = &gpu;
	process = device_add_process(&gpu);
	ck_assert(process);
	process->mig = 1;
	process->memory = bytes(compute_rows[_i].process);
	usage_finish(&gpu);
	terms.max_used = bytes(compute_rows[_i].max_used);
	ROW_EQ_INT(compute_rows[_i].name, lease_state_of(&terms, &gpu.mig[0], false),
		   compute_rows[_i].want);
	ROW_EQ_INT(compute_rows[_i].name, lease_state_of(&terms, &gpu.mig[1], false), LEASE_IN_USE);
	free(gpu.processes);
	free(gpu.mig);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("in-use");
	TCase *tests = tcase_create("in-use");

	tcase_add_loop_test(tests, states, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, beside_slots, 0, ARRAY_SIZE(slot_rows));
	tcase_add_loop_test(tests, with_min_free, 0, ARRAY_SIZE(free_rows));
	tcase_add_loop_test(tests, compute_instances, 0, ARRAY_SIZE(compute_rows));
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
