/* SPDX-License-Identifier: MIT */
/* The usage of devices from NVML, on libraries that each test makes up, and from /proc. */
#include <pwd.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "container.h"
#include "failing_malloc.h"
#include "fake-nvml.h"
#include "strbuf.h"
#include "unit.h"

enum { C = 1, G = 2, M = 4, NOT_HERE = 0x7ffffff0 };

static void put_mib(struct strbuf *buf, const char *before, int64_t bytes)
{
	if (bytes < 0)
		strbuf_printf(buf, "%s?", before);
	else
		strbuf_printf(buf, "%s%lld", before, (long long)(bytes >> 20));
}

static int64_t get(const gpumap_device *d, enum gpumap_device_int_attr attr)
{
	return gpumap_device_int(d, attr);
}

/* "used/free/reserved hidden; percent degrees mode; complete count: pid=MiB types@instance". */
static void describe(struct strbuf *buf, const gpumap_device *d)
{
	put_mib(buf, "", get(d, GPUMAP_DEVICE_MEMORY_USED));
	put_mib(buf, "/", get(d, GPUMAP_DEVICE_MEMORY_FREE));
	put_mib(buf, "/", get(d, GPUMAP_DEVICE_MEMORY_RESERVED));
	put_mib(buf, " ", get(d, GPUMAP_DEVICE_MEMORY_HIDDEN));
	strbuf_printf(buf,
		      "; %lld %lld %lld; %lld %d:", (long long)get(d, GPUMAP_DEVICE_UTILIZATION),
		      (long long)get(d, GPUMAP_DEVICE_TEMPERATURE),
		      (long long)get(d, GPUMAP_DEVICE_COMPUTE_MODE),
		      (long long)get(d, GPUMAP_DEVICE_PROCESSES_COMPLETE),
		      gpumap_device_process_count(d));
	for (int i = 0; i < gpumap_device_process_count(d); i++) {
		const gpumap_process *p = gpumap_device_process(d, (size_t)i);

		strbuf_printf(buf, " %lld", (long long)gpumap_process_int(p, GPUMAP_PROCESS_PID));
		put_mib(buf, "=", gpumap_process_int(p, GPUMAP_PROCESS_MEMORY));
		strbuf_printf(buf, " %lld", (long long)gpumap_process_int(p, GPUMAP_PROCESS_TYPES));
		if (gpumap_process_int(p, GPUMAP_PROCESS_MIG) >= 0)
			strbuf_printf(buf, "@%lld",
				      (long long)gpumap_process_int(p, GPUMAP_PROCESS_MIG));
	}
	strbuf_puts(buf, "\n");
}

static char *read_usage(const struct nvml *nvml, bool *partial)
{
	gpumap_inventory *inventory = NULL;
	gpumap_report *report = NULL;
	struct strbuf buf = {0};
	enum nvml_return why;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(nvml_read(&inventory, nvml, true, &why, report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_inventory_int(inventory, GPUMAP_INVENTORY_USAGE), 1);
	for (size_t i = 0; i < gpumap_inventory_count(inventory); i++) {
		const gpumap_device *gpu = gpumap_inventory_get(inventory, i);

		describe(&buf, gpu);
		for (size_t k = 0; k < gpumap_device_mig_count(gpu); k++) {
			strbuf_puts(&buf, "  ");
			describe(&buf, gpumap_device_mig(gpu, k));
		}
	}
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);

		strbuf_printf(&buf, "%s %s\n", gpumap_finding_str(f, GPUMAP_FINDING_ID),
			      gpumap_finding_str(f, GPUMAP_FINDING_TEXT));
	}
	*partial = gpumap_inventory_int(inventory, GPUMAP_INVENTORY_PARTIAL) == 1;
	gpumap_inventory_free(inventory);
	gpumap_report_free(report);
	return strbuf_take(&buf);
}

enum library { NEW, OLD_MEMORY, OLD_LISTS, NO_TEMPERATURE, ANCIENT };

static const struct row {
	const char *name;
	enum library library;
	int mig; /* instances of GPU 0 */
	struct fake_process processes[6];
	struct fake_use use;
	const char *want;
} rows[] = {
	{"idle", NEW, NO_MIG, {{0}}, {.percent = 0, .celsius = 30}, "0/40960/0 0; 0 30 0; 1 0:\n"},
	{"processes, reserved memory",
	 NEW,
	 NO_MIG,
	 {{0, NOT_HERE + 1, 500, C, 0, 0}, {0, NOT_HERE, 200, C, 0, 0}},
	 {.used = 710, .reserved = 90, .percent = 93, .celsius = 41, .mode_number = 3},
	 "710/40160/90 10; 93 41 3; 1 2: 2147483632=200 1 2147483633=500 1\n"},
	{"the old call counts what is reserved",
	 OLD_MEMORY,
	 NO_MIG,
	 {{0, NOT_HERE, 200, C, 0, 0}},
	 {.used = 200, .reserved = 90},
	 "290/40670/? 90; 0 0 0; 1 1: 2147483632=200 1\n"},
	{"a driver without any list",
	 ANCIENT,
	 NO_MIG,
	 {{0}},
	 {.used = 5},
	 "5/40955/? 5; -1 -1 -1; 0 -1:\n"
	 "GM112 GPU 0: NVML does not give its processes: the library lacks this function\n"},
	{"entries without an instance",
	 OLD_LISTS,
	 NO_MIG,
	 {{0, NOT_HERE, 200, C, 0, 0}, {0, NOT_HERE + 1, 7, C, 0, 0}},
	 {.used = 207},
	 "207/40753/0 0; 0 0 0; 1 2: 2147483632=200 1 2147483633=7 1\n"},
	{"wide entries",
	 NEW,
	 NO_MIG,
	 {{0, NOT_HERE, 200, C, 0, 0}, {0, NOT_HERE + 1, 7, C, 0, 0}},
	 {.used = 207, .entry = 32},
	 "207/40753/0 0; 0 0 0; 1 2: 2147483632=200 1 2147483633=7 1\n"},
	{"a process in several lists",
	 NEW,
	 NO_MIG,
	 {{0, NOT_HERE, 200, C | G, 0, 0}, {0, NOT_HERE + 1, 7, M, 0, 0}},
	 {.used = 300},
	 "300/40660/0 93; 0 0 0; 1 2: 2147483632=200 3 2147483633=7 4\n"},
	{"memory of a process is not reported",
	 NEW,
	 NO_MIG,
	 {{0, NOT_HERE, (unsigned int)NO_MIB, C, 0, 0}},
	 {.used = 300},
	 "300/40660/0 ?; 0 0 0; 1 1: 2147483632=? 1\n"},
	{"hidden: memory and no process",
	 NEW,
	 NO_MIG,
	 {{0}},
	 {.used = 900},
	 "900/40060/0 900; 0 0 0; 1 0:\n"},
	{"lists are refused",
	 NEW,
	 NO_MIG,
	 {{0, NOT_HERE, 200, C, 0, 0}},
	 {.used = 300, .refusing = 1, .list = NVML_ERROR_NO_PERMISSION},
	 "300/40660/0 300; 0 0 0; 0 -1:\n"
	 "GM112 GPU 0: NVML does not give its processes: no permission\n"},
	{"one list is refused",
	 NEW,
	 NO_MIG,
	 {{0, NOT_HERE, 200, C, 0, 0}},
	 {.used = 300, .lists = {0, NVML_ERROR_UNKNOWN}},
	 "300/40660/0 100; 0 0 0; 0 1: 2147483632=200 1\n"
	 "GM112 GPU 0: NVML does not give its processes: unknown error\n"},
	{"no graphics and no MPS here",
	 NEW,
	 NO_MIG,
	 {{0, NOT_HERE, 200, C, 0, 0}},
	 {.used = 200, .lists = {0, NVML_ERROR_NOT_SUPPORTED, NVML_ERROR_FUNCTION_NOT_FOUND}},
	 "200/40760/0 0; 0 0 0; 1 1: 2147483632=200 1\n"},
	{"no list at all is supported",
	 NEW,
	 NO_MIG,
	 {{0}},
	 {.lists = {NVML_ERROR_NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED}},
	 "0/40960/0 0; 0 0 0; 0 -1:\n"
	 "GM112 GPU 0: NVML does not give its processes: not supported\n"},
	{"only the newer function has the temperature",
	 NO_TEMPERATURE,
	 NO_MIG,
	 {{0}},
	 {.celsius = 50},
	 "0/40960/0 0; 0 51 0; 1 0:\n"},
	{"temperature by the newer function, after a refusal",
	 NEW,
	 NO_MIG,
	 {{0}},
	 {.celsius = 50, .temperature = NVML_ERROR_DEPRECATED},
	 "0/40960/0 0; 0 51 0; 1 0:\n"},
	{"load and mode are not known",
	 NEW,
	 NO_MIG,
	 {{0}},
	 {.utilization = NVML_ERROR_NOT_SUPPORTED, .mode = NVML_ERROR_NO_PERMISSION, .celsius = 9},
	 "0/40960/0 0; -1 9 -1; 1 0:\n"},
	{"values that cannot be",
	 NEW,
	 NO_MIG,
	 {{0}},
	 {.percent = 101, .celsius = UINT32_MAX - 1, .mode_number = 77},
	 "0/40960/0 0; -1 -1 -1; 1 0:\n"},
	{"instances",
	 NEW,
	 2,
	 {{101, NOT_HERE, 20, C, 7, 0},
	  {102, NOT_HERE, 30, C, 8, 0},
	  {102, NOT_HERE + 1, 40, C, 8, 0},
	  {0, NOT_HERE, 20, C, 7, 0},
	  {0, NOT_HERE, 30, C, 8, 0},
	  {0, NOT_HERE + 1, 40, C, 8, 0}},
	 {.used = 90, .celsius = 33},
	 "90/40870/0 0; 0 33 0; 1 3: 2147483632=20 1@0 2147483632=30 1@1 2147483633=40 1@1\n"
	 "  90/10150/0 70; 0 33 0; 1 1: 2147483632=20 1@0\n"
	 "  90/10150/0 20; 0 33 0; 1 2: 2147483632=30 1@1 2147483633=40 1@1\n"},
	{"the GPU's own list does not name instances",
	 NEW,
	 1,
	 {{101, NOT_HERE, 20, C, 0, 0}, {0, NOT_HERE, 20, C, 0, 0}, {0, NOT_HERE + 1, 5, G, 0, 0}},
	 {.used = 30},
	 "30/40930/0 5; 0 0 0; 1 2: 2147483633=5 2 2147483632=20 1@0\n"
	 "  30/10210/0 10; 0 0 0; 1 1: 2147483632=20 1@0\n"},
	{"the parent refuses, its instances answer",
	 NEW,
	 1,
	 {{101, NOT_HERE, 20, C, 0, 0}},
	 {.used = 30,
	  .refusing = 1,
	  .memory = NVML_ERROR_NO_PERMISSION,
	  .list = NVML_ERROR_NO_PERMISSION},
	 "?/?/? ?; 0 0 0; 0 1: 2147483632=20 1@0\n"
	 "  30/10210/0 10; 0 0 0; 1 1: 2147483632=20 1@0\n"
	 "GM112 GPU 0: NVML does not give its memory in use and processes: no permission\n"},
	{"an instance refuses",
	 NEW,
	 1,
	 {{0, NOT_HERE, 20, C, 0, 0}},
	 {.used = 30, .refusing = 102, .memory = NVML_ERROR_NOT_SUPPORTED},
	 "30/40930/0 10; 0 0 0; 1 1: 2147483632=20 1\n"
	 "  ?/?/? ?; 0 0 0; 1 0:\n"
	 "GM112 GPU 0, MIG 0: NVML does not give its memory in use: not supported\n"},
};

static struct nvml library_of(enum library which)
{
	struct nvml nvml = fake_library(which == ANCIENT);

	if (which == ANCIENT)
		return nvml;
	fake_usage(&nvml);
	if (which == OLD_MEMORY)
		nvml.memory_v2 = NULL;
	if (which == NO_TEMPERATURE)
		nvml.temperature = NULL;
	if (which == OLD_LISTS)
		nvml.compute_v3 = nvml.graphics_v3 = nvml.mps_v3 = NULL;
	return nvml;
}

static void prepare(const struct row *row)
{
	fake.count = 1;
	fake.mig[0] = row->mig;
	fake.use = row->use;
	fake.use.processes = row->processes;
	while (fake.use.count < ARRAY_SIZE(row->processes) && row->processes[fake.use.count].pid)
		fake.use.count++;
	fake.use.lost_after = -1;
}

START_TEST(usage)
{
	struct nvml nvml = library_of(rows[_i].library);
	bool partial;
	char *got;

	prepare(&rows[_i]);
	got = read_usage(&nvml, &partial);
	ROW_EQ_STR(rows[_i].name, got, rows[_i].want);
	ROW_EQ_INT(rows[_i].name, partial, false);
	free(got);
}
END_TEST

/* The GPU is lost at the n-th query: that is reported once, whatever was asked. */
START_TEST(lost)
{
	static const char message[] = "GM036 GPU 0 does not answer: the GPU is lost\n";
	struct nvml nvml = library_of(rows[_i].library);
	bool partial = true;
	int n = 0;

	if (rows[_i].library == ANCIENT) /* it has nothing to ask */
		return;
	for (; partial; n++) {
		char name[96], *got;

		prepare(&rows[_i]);
		fake.use.lost_after = n;
		got = read_usage(&nvml, &partial);
		snprintf(name, sizeof(name), "%s, lost after %d", rows[_i].name, n);
		ROW_EQ_STR(name, partial ? strstr(got, "GM036") : got,
			   partial ? message : rows[_i].want);
		free(got);
	}
	ck_assert_int_ge(n, 6);
}
END_TEST

#define AT(seconds) ((seconds)*1000000ull)
static const struct {
	const char *name;
	enum nvml_return code;
	bool old; /* NVML lacks the function */
	int mig;
	struct nvml_sample samples[4];
	int64_t active[2]; /* of the processes NOT_HERE and NOT_HERE + 1 */
} samplings[] = {
	{"none used it", NVML_SUCCESS, false, NO_MIG, {{0}}, {0, 0}},
	{"one did", NVML_SUCCESS, false, NO_MIG, {{NOT_HERE, AT(1000), 3, 0, 0, 0}}, {1000, 0}},
	{"each",
	 NVML_SUCCESS,
	 false,
	 NO_MIG,
	 {{NOT_HERE + 1, AT(1000), 0, 1, 0, 0}, {NOT_HERE, AT(2001) - 1, 0, 0, 0, 100}},
	 {2000, 1000}},
	{"the last of several",
	 NVML_SUCCESS,
	 false,
	 NO_MIG,
	 {{NOT_HERE, AT(7), 1, 0, 0, 0},
	  {NOT_HERE, AT(9), 1, 0, 0, 0},
	  {NOT_HERE, AT(8), 1, 0, 0, 0}},
	 {9, 0}},
	{"of others", NVML_SUCCESS, false, NO_MIG, {{42, AT(7), 1, 0, 0, 0}}, {0, 0}},
	{"a share of nothing",
	 NVML_SUCCESS,
	 false,
	 NO_MIG,
	 {{NOT_HERE, AT(7), 0, 0, 0, 0}},
	 {0, 0}},
	{"a share that means nothing",
	 NVML_SUCCESS,
	 false,
	 NO_MIG,
	 {{NOT_HERE, AT(7), 1, 0, 4294967295u, 0}},
	 {0, 0}},
	{"a time that means nothing",
	 NVML_SUCCESS,
	 false,
	 NO_MIG,
	 {{NOT_HERE, 0, 1, 0, 0, 0}},
	 {0, 0}},
	{"NVML refuses", NVML_ERROR_NO_PERMISSION, false, NO_MIG, {{0}}, {-1, -1}},
	{"an old NVML", NVML_SUCCESS, true, NO_MIG, {{NOT_HERE, AT(7), 1, 0, 0, 0}}, {-1, -1}},
	{"instances", NVML_SUCCESS, false, 1, {{NOT_HERE, AT(7), 1, 0, 0, 0}}, {-1, -1}},
};

START_TEST(samples)
{
	static const struct fake_process two[] = {{0, NOT_HERE, 1, C, 0, 0},
						  {0, NOT_HERE + 1, 1, G, 0, 0}};
	struct nvml nvml = library_of(NEW);
	gpumap_inventory *inventory = NULL;
	enum nvml_return why;

	fake.count = 1;
	fake.mig[0] = samplings[_i].mig;
	fake.use = (struct fake_use){.processes = two,
				     .count = 2,
				     .samples = samplings[_i].samples,
				     .sampled = samplings[_i].code,
				     .lost_after = -1};
	while (fake.use.sample_count < 4 && samplings[_i].samples[fake.use.sample_count].pid)
		fake.use.sample_count++;
	if (samplings[_i].old)
		nvml.process_utilization = NULL;
	ck_assert_int_eq(nvml_read(&inventory, &nvml, true, &why, NULL), GPUMAP_OK);
	for (size_t i = 0; i < 2; i++) {
		const gpumap_process *p = gpumap_device_process(&inventory->gpus[0], i);

		ROW_EQ_INT(samplings[_i].name, gpumap_process_int(p, GPUMAP_PROCESS_ACTIVE_TIME),
			   samplings[_i].active[i]);
		ROW_EQ_INT(samplings[_i].name, gpumap_process_str(p, GPUMAP_PROCESS_ACTIVE) != NULL,
			   samplings[_i].active[i] > 0);
	}
	gpumap_inventory_free(inventory);
}
END_TEST

/* More processes than there is room for at first. */
START_TEST(many)
{
	static struct fake_process processes[MAX_FAKE_PROCESSES];
	struct nvml nvml = library_of(_i ? OLD_LISTS : NEW);
	gpumap_inventory *inventory = NULL;
	enum nvml_return why;

	fake.count = 1;
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++)
		processes[i] = (struct fake_process){0, NOT_HERE - (unsigned int)i, 1, C, 0, 0};
	fake.use.processes = processes;
	fake.use.count = ARRAY_SIZE(processes);
	fake.use.used = MAX_FAKE_PROCESSES;
	ck_assert_int_eq(nvml_read(&inventory, &nvml, true, &why, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_device_process_count(&inventory->gpus[0]), MAX_FAKE_PROCESSES);
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++)
		ck_assert_int_eq(inventory->gpus[0].processes[i].pid,
				 NOT_HERE - MAX_FAKE_PROCESSES + 1 + (int)i);
	ck_assert_int_eq(get(&inventory->gpus[0], GPUMAP_DEVICE_MEMORY_HIDDEN), 0);
	gpumap_inventory_free(inventory);
}
END_TEST

/* Only the marked GPUs are asked again. */
START_TEST(again)
{
	const struct fake_process processes[] = {{2, NOT_HERE, 1, C, 0, 0}};
	const bool only[] = {false, false, true, false};
	struct nvml nvml = library_of(NEW);
	gpumap_inventory *inventory = NULL;

	fake.count = ARRAY_SIZE(only);
	fake.use.processes = processes;
	fake.use.count = ARRAY_SIZE(processes);
	nvml.library = NULL;
	ck_assert_int_eq(nvml_read_again(&inventory, &nvml, only), GPUMAP_ENODRIVER);
	nvml.library = &nvml;
	ck_assert_int_eq(nvml_read_again(&inventory, &nvml, only), GPUMAP_OK);
	ck_assert_int_eq(gpumap_inventory_count(inventory), 1);
	ck_assert_int_eq(inventory->gpus[0].physical, 2);
	ck_assert_int_eq(gpumap_device_process_count(&inventory->gpus[0]), 1);
	gpumap_inventory_free(inventory);
}
END_TEST

/* This process and one that is not here, each on two GPUs. */
START_TEST(from_proc)
{
	const struct fake_process processes[] = {
		{0, (unsigned int)getpid(), 1, C, 0, 0},
		{1, (unsigned int)getpid(), 2, C, 0, 0},
		{0, NOT_HERE, 1, C, 0, 0},
		{1, 0, 1, C, 0, 0},
	};
	struct nvml nvml = library_of(NEW);
	const struct passwd *user = getpwuid(getuid());
	gpumap_inventory *inventory = NULL;
	enum nvml_return why;

	fake.count = 2;
	fake.use.processes = processes;
	fake.use.count = ARRAY_SIZE(processes);
	ck_assert_int_eq(nvml_read(&inventory, &nvml, true, &why, NULL), GPUMAP_OK);
	for (int i = 0; i < 2; i++) {
		const gpumap_device *gpu = gpumap_inventory_get(inventory, (size_t)i);
		const gpumap_process *p = gpumap_device_process(gpu, i ? 1 : 0), *other;
		const char *command = gpumap_process_str(p, GPUMAP_PROCESS_COMMAND);
		int64_t start = gpumap_process_int(p, GPUMAP_PROCESS_START_TIME);

		ck_assert_int_eq(gpumap_process_int(p, GPUMAP_PROCESS_PID), getpid());
		ck_assert_int_eq(gpumap_process_int(p, GPUMAP_PROCESS_VISIBLE), 1);
		ck_assert_int_eq(gpumap_process_int(p, GPUMAP_PROCESS_UID), getuid());
		ROW_EQ_STR("user", gpumap_process_str(p, GPUMAP_PROCESS_USER),
			   user ? user->pw_name : NULL);
		ck_assert_msg(command && strstr(command, "t-nvml-usage"), "%s", command);
		ck_assert_msg(start > 1000000000 && start <= time(NULL) + 1, "%lld",
			      (long long)start);
		ck_assert_int_eq(strlen(gpumap_process_str(p, GPUMAP_PROCESS_START)), 20);
		other = gpumap_device_process(gpu, i ? 0 : 1);
		ck_assert_int_eq(gpumap_process_int(other, GPUMAP_PROCESS_VISIBLE), 0);
		ck_assert_ptr_null(gpumap_process_str(other, GPUMAP_PROCESS_COMMAND));
		ck_assert_ptr_null(gpumap_process_str(other, GPUMAP_PROCESS_START));
		ck_assert_int_eq(gpumap_process_int(other, GPUMAP_PROCESS_START_TIME), -1);
	}
	gpumap_inventory_free(inventory);
}
END_TEST

/* Every allocation may fail. The C library may take its own failure for a user without a name. */
START_TEST(no_memory)
{
	const struct fake_process processes[] = {
		{0, (unsigned int)getpid(), 1, C | G, 0, 0},
		{101, (unsigned int)getpid(), 1, C, 7, 0},
		{0, NOT_HERE, 1, C, 0, 0},
	};
	struct nvml nvml = library_of(NEW);
	enum nvml_return why;

	fake.count = 1;
	fake.mig[0] = 1;
	fake.use.processes = processes;
	fake.use.count = ARRAY_SIZE(processes);
	for (size_t n = 1;; n++) {
		gpumap_inventory *inventory = NULL;
		int r;

		allocations_fail_at(n);
		r = nvml_read(&inventory, &nvml, true, &why, NULL);
		allocations_fail_at(0);
		ck_assert_msg(r == GPUMAP_OK ? inventory != NULL : r == GPUMAP_ENOMEM && !inventory,
			      "allocation %zu: %d", n, r);
		gpumap_inventory_free(inventory);
		if (!allocations_failed()) {
			ck_assert_int_gt((int)n, 20);
			break;
		}
	}
}
END_TEST

/* A caller may ask about nothing, and for what is not there. */
START_TEST(nothing)
{
	gpumap_process p = {.pid = 4, .types = 0, .mig = -1};

	ck_assert_int_eq(gpumap_device_process_count(NULL), -1);
	ck_assert_ptr_null(gpumap_device_process(NULL, 0));
	ck_assert_ptr_null(gpumap_process_str(NULL, GPUMAP_PROCESS_USER));
	ck_assert_int_eq(gpumap_process_int(NULL, GPUMAP_PROCESS_PID), -1);
	ck_assert_int_eq(gpumap_process_int(&p, GPUMAP_PROCESS_TYPES), -1);
	ck_assert_ptr_null(gpumap_process_str(&p, (enum gpumap_process_str_attr)99));
	ck_assert_int_eq(gpumap_process_int(&p, (enum gpumap_process_int_attr)99), -1);
}
END_TEST

#define ID "3f2a91c07d4e3f2a91c07d4e3f2a91c07d4e3f2a91c07d4e3f2a91c07d4e9999"

static const struct {
	const char *name, *text, *want;
} containers[] = {
	{"nothing", "", NULL},
	{"not a line", "x", NULL},
	{"the top", "0::/\n", NULL},
	{"a session", "0::/user.slice/user-1000.slice/session-2.scope\n", NULL},
	{"docker's daemon", "0::/system.slice/docker.service\n", NULL},
	{"containerd's daemon", "0::/system.slice/containerd.service\n", NULL},
	{"docker's registry", "0::/system.slice/docker-registry.service\n", NULL},
	{"a mount of docker", "0::/system.slice/docker-aa.mount\n", NULL},
	{"a service named libpod-", "0::/system.slice/libpod-events.service\n", NULL},
	{"a service named crio-", "0::/system.slice/crio-wipe.service\n", NULL},
	{"a service named cri-containerd-", "0::/system.slice/cri-containerd-gc.service\n", NULL},
	{"a service named nerdctl-", "0::/user.slice/nerdctl-build.service\n", NULL},
	{"a service in a container", "0::/docker/aa/system.slice/docker-registry.service\n",
	 "docker aa"},
	{"docker, systemd", "0::/system.slice/docker-" ID ".scope\n", "docker " ID},
	{"docker, cgroup 1", "12:pids:/docker/" ID "\n11:cpu:/docker/" ID "\n", "docker " ID},
	{"docker inside docker", "0::/docker/aa/docker/bb\n", "docker bb"},
	{"podman", "0::/machine.slice/libpod-" ID ".scope/container\n", "podman " ID},
	{"podman's watcher", "0::/machine.slice/libpod-conmon-" ID ".scope\n", NULL},
	{"podman, older", "0::/libpod_parent/libpod-aa\n", "podman aa"},
	{"kubernetes, systemd",
	 "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/"
	 "cri-containerd-" ID ".scope\n",
	 "kubepods " ID},
	{"kubernetes, cgroupfs", "4:cpu:/kubepods/besteffort/pod12-34/" ID "\n", "kubepods " ID},
	{"cri-o", "0::/system.slice/crio-aa.scope\n", "crio aa"},
	{"cri-o, cgroupfs", "4:cpu:/kubepods/burstable/pod12/crio-aa\n", "kubepods aa"},
	{"nerdctl", "0::/system.slice/nerdctl-aa.scope\n", "containerd aa"},
	{"lxc 4", "0::/lxc.payload.web/init.scope\n", "lxc web"},
	{"lxc 2", "3:cpu:/lxc/web\n", "lxc web"},
	{"lxc's monitor", "0::/lxc.monitor.web\n", NULL},
	{"garden", "3:cpu:/garden/aa\n", "garden aa"},
	{"slurm, cgroup 2", "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n",
	 "slurm 4711 (job)"},
	{"slurm, cgroup 1", "7:memory:/slurm/uid_1000/job_4711/step_batch\n", "slurm 4711 (job)"},
	{"job_ of something else", "0::/ci/job_4711\n", NULL},
	{"a container in a job", "0::/slurm/job_1/docker-aa.scope\n", "docker aa"},
	{"the second line has it", "1:name=systemd:/\n0::/docker/aa\n", "docker aa"},
};

START_TEST(container)
{
	struct container found;
	char got[128] = "";
	bool any = container_find(&found, containers[_i].text);

	if (any)
		snprintf(got, sizeof(got), "%s %.*s%s", found.runtime, (int)found.id.length,
			 found.id.text, found.separate ? "" : " (job)");
	ROW_EQ_STR(containers[_i].name, any ? got : NULL, containers[_i].want);
}
END_TEST

static const struct {
	const char *name, *text, *own;
	bool want;
} neighbours[] = {
	{"from the host", "0::/docker/aa\n", "0::/user.slice\n", true},
	{"own path unknown", "0::/docker/aa\n", NULL, true},
	{"in the same container", "0::/docker/aa\n", "0::/docker/aa\n", false},
	{"deeper in it", "0::/docker/aa/x\n", "0::/docker/aa\n", false},
	{"in another one", "0::/docker/ab\n", "0::/docker/aa\n", true},
	{"in one inside", "0::/docker/aa/docker/bb\n", "0::/docker/aa\n", true},
	{"in a job", "0::/slurm/job_1\n", "0::/\n", false},
};

START_TEST(neighbour)
{
	struct container found;

	ck_assert(container_find(&found, neighbours[_i].text));
	ROW_EQ_INT(neighbours[_i].name, container_is_other(&found, neighbours[_i].own),
		   neighbours[_i].want);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nvml-usage");
	TCase *tests = tcase_create("nvml-usage");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, fake_reset, NULL);
	tcase_add_loop_test(tests, usage, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, samples, 0, ARRAY_SIZE(samplings));
	tcase_add_loop_test(tests, lost, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, many, 0, 2);
	tcase_add_test(tests, again);
	tcase_add_test(tests, from_proc);
	tcase_add_test(tests, nothing);
	if (allocations_can_fail())
		tcase_add_test(tests, no_memory);
	tcase_add_loop_test(tests, container, 0, ARRAY_SIZE(containers));
	tcase_add_loop_test(tests, neighbour, 0, ARRAY_SIZE(neighbours));
	return unit_run(suite);
}
