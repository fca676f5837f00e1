/* SPDX-License-Identifier: MIT */
/* The driver's order, from a library that stands in for the driver. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inventory/driver.h"
#include "unit.h"

enum { PATIENCE = 200000 };

#define UUID_0 "0a0b0c00-0000-4000-8000-000000000000"
#define UUID_1 "0a0b0c01-0000-4000-8000-000000000001"
#define UUID_2 "0a0b0c02-0000-4000-8000-000000000002"
#define GPU_0 "GPU-" UUID_0 "@0000:1B:00.0"
#define GPU_1 "GPU-" UUID_1 "@0000:3B:00.0"
#define GPU_2 "GPU-" UUID_2 "@0000:5E:00.0"

static gpumap_inventory *machine(const char *const *uuids, size_t count)
{
	static const char *const addresses[] = {"0000:1b:00.0", "0000:3b:00.0", "0000:5e:00.0"};
	gpumap_inventory *inventory = inventory_new("nvml", "here");

	ck_assert_ptr_nonnull(inventory);
	for (size_t i = 0; i < count; i++) {
		gpumap_device *gpu = inventory_add(inventory);

		ck_assert_ptr_nonnull(gpu);
		gpu->index = (int)i;
		ck_assert(!uuids[i] || member_set(&gpu->uuid, span_of(uuids[i])));
		ck_assert(member_set(&gpu->pci, span_of(addresses[i])));
	}
	ck_assert_int_eq(inventory_finish(inventory, NULL), GPUMAP_OK);
	return inventory;
}

static const char *const three[] = {"GPU-" UUID_0, "GPU-" UUID_1, "GPU-" UUID_2};
static const char *const bare[] = {UUID_0, UUID_1, UUID_2}; /* as Jetson's */
static const char *const unnamed[] = {NULL, NULL, NULL};

static void use_fake(const char *gpus, const char *fastest)
{
	ck_assert_int_eq(setenv("LD_LIBRARY_PATH", FAKE_DRIVER, 1), 0);
	if (gpus)
		ck_assert_int_eq(setenv("FAKE_CUDA_GPUS", gpus, 1), 0);
	if (fastest)
		ck_assert_int_eq(setenv("FAKE_CUDA_FASTEST", fastest, 1), 0);
	/* The helper must ignore these. */
	ck_assert_int_eq(setenv("CUDA_VISIBLE_DEVICES", "2", 1), 0);
	ck_assert_int_eq(setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1), 0);
}

/* "fastest/pci text; fix|" with '-' for an order that was not stored. */
static void check_order(const char *name, gpumap_inventory *inventory, const char *helper,
			int patience, int code, const char *want)
{
	gpumap_report *report;
	char got[2048] = "";
	size_t n = 0;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ROW_EQ_INT(name, driver_order(inventory, helper, patience, report), code);
	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; inventory->order[k] && i < inventory->count; i++)
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%d ",
					      inventory->order[k][i]);
		n += (size_t)snprintf(got + n, sizeof(got) - n, k ? "" : "/ ");
	}
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);

		n += (size_t)snprintf(got + n, sizeof(got) - n, "%s|",
				      gpumap_finding_str(f, GPUMAP_FINDING_TEXT));
	}
	ROW_EQ_STR(name, got, want);
	gpumap_report_free(report);
	gpumap_inventory_free(inventory);
}

static const struct {
	const char *name, *gpus, *fastest;
	const char *const *uuids;
	size_t count;
	const char *want;
} order_rows[] = {
	{"pci order", GPU_0 "," GPU_1 "," GPU_2, NULL, three, 3, "0 1 2 / 0 1 2 "},
	{"fastest last", GPU_0 "," GPU_1 "," GPU_2, "2,0,1", three, 3, "2 0 1 / 0 1 2 "},
	{"no prefix", GPU_0 "," GPU_1 "," GPU_2, "2,0,1", bare, 3, "2 0 1 / 0 1 2 "},
	{"by address", GPU_0 "," GPU_1 "," GPU_2, "2,0,1", unnamed, 3, "2 0 1 / 0 1 2 "},
	{"one hidden", GPU_0 "," GPU_2, "1,0", three, 3,
	 "2 0 -1 / 0 2 -1 the driver counts 2 of the 3 GPUs|"},
	{"one unknown", GPU_0 "," GPU_1 "," GPU_2, "2,0,1", three, 2,
	 "-1 0 / 0 1 devices that the driver counts and the inventory lacks: 1|"},
};

START_TEST(orders)
{
	use_fake(order_rows[_i].gpus, order_rows[_i].fastest);
	check_order(order_rows[_i].name, machine(order_rows[_i].uuids, order_rows[_i].count),
		    ASK_DRIVER, PATIENCE, GPUMAP_OK, order_rows[_i].want);
}
END_TEST

/* CUDA gives an instance's own UUID; its GPU may come up several times. */
START_TEST(mig_instances)
{
	gpumap_inventory *inventory = machine(three, 2);
	gpumap_device *mig = device_add_mig(&inventory->gpus[1]);

	ck_assert_ptr_nonnull(mig);
	ck_assert(member_set(&mig->uuid, span_of("MIG-" UUID_2)));
	use_fake("GPU-" UUID_2 "@0000:00:00.0," GPU_1 "," GPU_0, NULL);
	check_order("mig", inventory, ASK_DRIVER, PATIENCE, GPUMAP_OK, "1 1 / 1 1 ");
}
END_TEST

static const struct {
	const char *name, *code, *want;
} refusal_rows[] = {
	{"no device", "100", "/ the driver refuses: cuInit gives 100, no device|"},
	{"stub", "34",
	 "/ the driver refuses: cuInit gives 34, libcuda.so.1 is a stub for linking|"},
	{"busy", "46",
	 "/ the driver refuses: cuInit gives 46, every GPU is busy in exclusive mode or "
	 "prohibited|"},
	{"fabric manager", "802",
	 "/ the driver refuses: cuInit gives 802, the system is not ready|"},
	{"mismatch", "803",
	 "/ the driver refuses: cuInit gives 803, the kernel's driver and libcuda are of different "
	 "versions|"},
	{"unknown", "999", "/ the driver refuses: cuInit gives 999, an unknown error|"},
	{"unheard of", "4711", "/ the driver refuses: cuInit gives 4711, an error|"},
};

START_TEST(refusals)
{
	use_fake(GPU_0, NULL);
	ck_assert_int_eq(setenv("FAKE_CUDA_INIT", refusal_rows[_i].code, 1), 0);
	check_order(refusal_rows[_i].name, machine(three, 1), ASK_DRIVER, PATIENCE,
		    GPUMAP_ENODRIVER, refusal_rows[_i].want);
}
END_TEST

START_TEST(no_driver)
{
	gpumap_inventory *inventory = machine(three, 1);
	gpumap_report *report;
	const gpumap_finding *f;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	unsetenv("LD_LIBRARY_PATH");
	if (driver_order(inventory, ASK_DRIVER, DRIVER_PATIENCE, report) == GPUMAP_ENODRIVER) {
		f = gpumap_report_get(report, 0);
		ck_assert_str_eq(gpumap_finding_str(f, GPUMAP_FINDING_ID), "GM040");
		ck_assert_str_eq(gpumap_finding_str(f, GPUMAP_FINDING_RULE), "E1");
		ck_assert_ptr_nonnull(strstr(gpumap_finding_str(f, GPUMAP_FINDING_TEXT), "cu"));
		ck_assert_ptr_null(inventory->order[0]);
	}
	gpumap_report_free(report);
	gpumap_inventory_free(inventory);
}
END_TEST

START_TEST(hanging_driver)
{
	use_fake(GPU_0, NULL);
	ck_assert_int_eq(setenv("FAKE_CUDA_HANG", "1", 1), 0);
	check_order("hang", machine(three, 1), ASK_DRIVER, 300, GPUMAP_ENODRIVER,
		    "/ cannot ask the driver: the helper does not answer in time|");
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}
END_TEST

#define BEGIN "printf 'gpumap-ask-driver\\t1\\n"

static const struct {
	const char *name, *script, *want;
} helper_rows[] = {
	{"silent", "exit 0", "/ cannot ask the driver: the helper's answer makes no sense: ''|"},
	{"garbage", "echo '\033[31mhello'",
	 "/ cannot ask the driver: the helper's answer makes no sense: '\\x1b[31mhello'|"},
	{"other version", "printf 'gpumap-ask-driver\\t2\\n'",
	 "/ cannot ask the driver: the helper's answer makes no sense: 'gpumap-ask-driver\\x092'|"},
	{"cut", BEGIN "device\\t0\\t" UUID_0 "\\tx\\n'",
	 "/ cannot ask the driver: the helper's answer makes no sense: ''|"},
	{"wrong count", BEGIN "end\\t1\\n'",
	 "/ cannot ask the driver: the helper's answer makes no sense: 'end\\x091'|"},
	{"wrong number", BEGIN "device\\t1\\tx\\ty\\n'",
	 "/ cannot ask the driver: the helper's answer makes no sense: "
	 "'device\\x091\\x09x\\x09y'|"},
	{"no number", BEGIN "failed\\tcuInit\\tx\\n'",
	 "/ cannot ask the driver: the helper's answer makes no sense: 'cuInit\\x09x'|"},
	{"later word", BEGIN "news\\t1\\ndevice\\t0\\t" UUID_0 "\\tx\\nend\\t1\\n'", "0 / 0 "},
	{"dies", "kill -SEGV $$", "/ cannot ask the driver: the helper was ended by signal 11|"},
	{"dies at the end", BEGIN "end\\t0\\n'; kill -ABRT $$",
	 "/ cannot ask the driver: the helper was ended by signal 6|"},
	{"100 MB", "head -c 100000000 /dev/zero",
	 "/ cannot ask the driver: the helper prints too much|"},
	{"closes its output", "exec >&-; exec sleep 60",
	 "/ cannot ask the driver: the helper does not end|"},
	{"reads its input", "cat; " BEGIN "device\\t0\\t" UUID_0 "\\tx\\nend\\t1\\n'", "0 / 0 "},
};

START_TEST(bad_helpers)
{
	char path[] = "/tmp/gpumap-t-driver-XXXXXX";
	int fd = mkstemp(path);
	bool waits = strstr(helper_rows[_i].script, "sleep") != NULL;
	bool good = helper_rows[_i].want[0] == '0';

	ck_assert_int_ge(fd, 0);
	dprintf(fd, "#!/bin/sh\n%s\n", helper_rows[_i].script);
	ck_assert_int_eq(fchmod(fd, 0755), 0);
	ck_assert_int_eq(close(fd), 0);
	check_order(helper_rows[_i].name, machine(three, 1), path, waits ? 5000 : PATIENCE,
		    good ? GPUMAP_OK : GPUMAP_ENODRIVER, helper_rows[_i].want);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(missing_helper)
{
	/* valgrind forks instead of vfork, and posix_spawn then learns nothing. */
	if (getenv("GPUMAP_TEST_VALGRIND"))
		return;
	check_order("missing", machine(three, 1), "/nowhere/helper", PATIENCE, GPUMAP_ENODRIVER,
		    "/ cannot ask the driver: the helper cannot be started: "
		    "No such file or directory|");
	check_order("folder", machine(three, 1), "/", PATIENCE, GPUMAP_ENODRIVER,
		    "/ cannot ask the driver: the helper cannot be started: Permission denied|");
}
END_TEST

/* A process that ignores its children's ends, or has no standard files, asks as well. */
START_TEST(odd_process)
{
	gpumap_inventory *inventory = machine(three, 1);

	use_fake(GPU_0, NULL);
	signal(SIGCHLD, SIG_IGN);
	close(STDIN_FILENO);
	check_order("odd", inventory, ASK_DRIVER, PATIENCE, GPUMAP_OK, "0 / 0 ");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("driver");
	TCase *tests = tcase_create("driver");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, orders, 0, ARRAY_SIZE(order_rows));
	tcase_add_test(tests, mig_instances);
	tcase_add_loop_test(tests, refusals, 0, ARRAY_SIZE(refusal_rows));
	tcase_add_test(tests, no_driver);
	tcase_add_test(tests, hanging_driver);
	tcase_add_loop_test(tests, bad_helpers, 0, ARRAY_SIZE(helper_rows));
	tcase_add_test(tests, missing_helper);
	tcase_add_test(tests, odd_process);
	return unit_run(suite);
}
