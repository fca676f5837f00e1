/* SPDX-License-Identifier: MIT */
/*
 * The library of `gpumap pretend`, asked through its own functions and through our
 * NVML reader: what goes in must come out. It is loaded by its path, after which
 * the reader's dlopen of libnvidia-ml.so.1 finds it by its name.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "pretended.h"
#include "strbuf.h"

#define UUID_A "GPU-5eed0000-0000-4000-8000-00000000000a"
#define UUID_B "GPU-5eed0000-0000-4000-8000-00000000000b"
#define UUID_D "GPU-5eed0000-0000-4000-8000-00000000000d"
#define MIG_A "MIG-5eed0000-0000-4000-8000-0000000000aa"
#define MIG_B "MIG-5eed0000-0000-4000-8000-0000000000ab"

static const char mig_text[] = "GPU 0: NVIDIA A30 (UUID: " UUID_A ")\n"
			       "  MIG 2g.12gb     Device  0: (UUID: " MIG_A ")\n"
			       "  MIG 1c.2g.12gb  Device  1: (UUID: " MIG_B ")\n"
			       "GPU 1: NVIDIA A30 (UUID: " UUID_B ")\n";

static const char hole_text[] = "GPU 1: NVIDIA L4 (UUID: " UUID_B ")\n"
				"GPU 3: NVIDIA L4 (UUID: " UUID_D ")\n";

static const char csv_text[] =
	"index, uuid, name, pci.bus_id, memory.total [MiB], driver_version\n"
	"0, " UUID_A ", NVIDIA L40S, 00000000:C1:00.0, 46068 MiB, 550.54.15\n"
	"1, " UUID_B ", NVIDIA L40S, 00000001:02:00.0, 46068 MiB, 550.54.15\n";

static const char topo_text[] =
	"\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
	"GPU0\t X \tNV4\tSYS\tSYS\t0-15,64-79\t0\t\tN/A\n"
	"GPU1\tNV4\t X \tSYS\tSYS\t0-15,64-79\t0\t\tN/A\n"
	"GPU2\tSYS\tSYS\t X \tNV4\t16-31,80-95\t1\t\tN/A\n"
	"GPU3\tSYS\tSYS\tNV4\t X \t16-31,80-95\t1\t\tN/A\n";

static const struct {
	const char *name, *variable, *value, *want;
} rows[] = {
	{"synthetic", "GPUMAP_PRETEND_INVENTORY", "2xH100+1xT1000",
	 "driver -\n"
	 "0 GPU-70726574-656e-6400-8000-000000000000 0000:01:00.0 H100 81559 MiB\n"
	 "1 GPU-70726574-656e-6400-8000-000000000001 0000:02:00.0 H100 81559 MiB\n"
	 "2 GPU-70726574-656e-6400-8000-000000000002 0000:03:00.0 T1000 4096 MiB\n"},
	{"unnamed", "GPUMAP_PRETEND_INVENTORY", "1",
	 "driver -\n"
	 "0 GPU-70726574-656e-6400-8000-000000000000 0000:01:00.0 GPU\n"},
	{"empty machine", "GPUMAP_PRETEND_INVENTORY", "0", "driver -\n"},
	{"MIG", "GPUMAP_PRETEND_TEXT", mig_text,
	 "driver -\n"
	 "0 " UUID_A " 0000:01:00.0 NVIDIA A30 24576 MiB [" MIG_A " 2g.12gb 1/0] [" MIG_B
	 " 1c.2g.12gb 2/0]\n"
	 "1 " UUID_B " 0000:02:00.0 NVIDIA A30 24576 MiB\n"},
	{"listing with holes", "GPUMAP_PRETEND_TEXT", hole_text,
	 "driver -\n"
	 "1 " UUID_B " 0000:02:00.0 NVIDIA L4 23034 MiB\n"
	 "3 " UUID_D " 0000:04:00.0 NVIDIA L4 23034 MiB\n"
	 "partial\n"},
	{"addresses and memory", "GPUMAP_PRETEND_TEXT", csv_text,
	 "driver 550.54.15\n"
	 "0 " UUID_A " 0000:c1:00.0 NVIDIA L40S 46068 MiB\n"
	 "1 " UUID_B " 0001:02:00.0 NVIDIA L40S 46068 MiB\n"},
	{"links and nodes", "GPUMAP_PRETEND_TEXT", topo_text,
	 "driver -\n"
	 "0 GPU-70726574-656e-6400-8000-000000000000 0000:01:00.0 GPU 0-15,64-79 @0 nv 1\n"
	 "1 GPU-70726574-656e-6400-8000-000000000001 0000:02:00.0 GPU 0-15,64-79 @0 nv 0\n"
	 "2 GPU-70726574-656e-6400-8000-000000000002 0000:03:00.0 GPU 16-31,80-95 @1 nv 3\n"
	 "3 GPU-70726574-656e-6400-8000-000000000003 0000:04:00.0 GPU 16-31,80-95 @1 nv 2\n"},
};

static char *describe(const gpumap_inventory *inventory)
{
	struct strbuf buf = {0};

	strbuf_printf(&buf, "driver %s\n", inventory->driver ? inventory->driver : "-");
	for (size_t i = 0; i < inventory->count; i++) {
		const gpumap_device *d = &inventory->gpus[i];

		strbuf_printf(&buf, "%d %s %s %s", d->index, d->uuid, d->pci, d->name);
		if (d->memory >= 0)
			strbuf_printf(&buf, " %d MiB", (int)(d->memory >> 20));
		for (size_t k = 0; k < d->mig_count; k++)
			strbuf_printf(&buf, " [%s %s %d/%d]", d->mig[k].uuid, d->mig[k].profile,
				      d->mig[k].gi, d->mig[k].ci);
		if (d->cpus)
			strbuf_printf(&buf, " %s", d->cpus);
		if (d->numa)
			strbuf_printf(&buf, " @%s", d->numa);
		if (d->nvlink_count > 0)
			strbuf_puts(&buf, " nv");
		for (int k = 0; k < d->nvlink_count; k++)
			strbuf_printf(&buf, " %d", d->nvlink[k]);
		strbuf_puts(&buf, "\n");
	}
	if (inventory->partial)
		strbuf_puts(&buf, "partial\n");
	return strbuf_take(&buf);
}

START_TEST(machines)
{
	gpumap_inventory *inventory = NULL;
	enum nvml_return why;
	char *got;

	setenv(rows[_i].variable, rows[_i].value, 1);
	ROW_EQ_INT(rows[_i].name, nvml_probe(&inventory, false, &why, NULL), GPUMAP_OK);
	got = describe(inventory);
	ROW_EQ_STR(rows[_i].name, got, rows[_i].want);
	free(got);
	gpumap_inventory_free(inventory);
}
END_TEST

/* All eight joined with each other: served as links to a switch. */
START_TEST(switches)
{
	gpumap_inventory *inventory = NULL;
	struct strbuf text = {0};
	enum nvml_link_type type;
	enum nvml_return why;

	for (int i = 0; i < 8; i++)
		strbuf_printf(&text, "\tGPU%d", i);
	for (int i = 0; i < 8; i++) {
		strbuf_printf(&text, "\nGPU%d", i);
		for (int k = 0; k < 8; k++)
			strbuf_puts(&text, k == i ? "\t X " : "\tNV18");
	}
	strbuf_puts(&text, "\n");
	start("GPUMAP_PRETEND_TEXT", text.text);
	ck_assert_int_eq(CALL(nvmlDeviceGetNvLinkRemoteDeviceType,
			      (DEVICE, unsigned int, enum nvml_link_type *), gpu(0), 0, &type),
			 NVML_SUCCESS);
	ck_assert_int_eq(type, NVML_LINK_TO_SWITCH);
	ck_assert_int_eq(nvml_probe(&inventory, false, &why, NULL), GPUMAP_OK);
	for (size_t i = 0; i < 8; i++)
		ck_assert_int_eq(inventory->gpus[i].nvlink_count, 7);
	gpumap_inventory_free(inventory);
	strbuf_free(&text);
}
END_TEST

static const struct {
	const char *name, *value;
} refused_rows[] = {
	{"nothing named", NULL}, {"no such file", "/nonexistent/machine.ini"},
	{"host", "host"},        {"standard input", "-"},
	{"no machine", "8y"},
};

START_TEST(refused)
{
	if (refused_rows[_i].value)
		setenv("GPUMAP_PRETEND_INVENTORY", refused_rows[_i].value, 1);
	ROW_EQ_INT(refused_rows[_i].name, CALL(nvmlInit_v2, (void)), NVML_ERROR_DRIVER_NOT_LOADED);
	ROW_EQ_INT(refused_rows[_i].name, CALL(nvmlShutdown, (void)), NVML_ERROR_UNINITIALIZED);
}
END_TEST

START_TEST(start_and_end)
{
	unsigned int count = 99;

	ck_assert_int_eq(CALL(nvmlDeviceGetCount_v2, (unsigned int *), &count),
			 NVML_ERROR_UNINITIALIZED);
	start("GPUMAP_PRETEND_INVENTORY", "3");
	ck_assert_int_eq(CALL(nvmlInitWithFlags, (unsigned int), 1), NVML_SUCCESS);
	ck_assert_int_eq(CALL(nvmlShutdown, (void)), NVML_SUCCESS);
	ck_assert_int_eq(CALL(nvmlDeviceGetCount, (unsigned int *), &count), NVML_SUCCESS);
	ck_assert_uint_eq(count, 3);
	ck_assert_int_eq(CALL(nvmlShutdown, (void)), NVML_SUCCESS);
	ck_assert_int_eq(CALL(nvmlDeviceGetCount, (unsigned int *), &count),
			 NVML_ERROR_UNINITIALIZED);
	ck_assert_int_eq(CALL(nvmlShutdown, (void)), NVML_ERROR_UNINITIALIZED);
	ck_assert_int_eq(CALL(nvmlInit, (void)), NVML_SUCCESS);
	ck_assert_int_eq(CALL(nvmlShutdown, (void)), NVML_SUCCESS);
}
END_TEST

START_TEST(handles)
{
	const char *by_address[] = {"0000:01:00.0", "00000000:01:00.0", "01:00.0"};
	DEVICE got = NULL;
	DEVICE first;
	char text[96];

	start("GPUMAP_PRETEND_TEXT", mig_text);
	first = gpu(0);
	ck_assert_int_eq(CALL(nvmlDeviceGetHandleByUUID, (const char *, DEVICE *), UUID_A, &got),
			 NVML_SUCCESS);
	ck_assert_ptr_eq(got, first);
	for (size_t i = 0; i < ARRAY_SIZE(by_address); i++) {
		got = NULL;
		ROW_EQ_INT(by_address[i],
			   CALL(nvmlDeviceGetHandleByPciBusId_v2, (const char *, DEVICE *),
				by_address[i], &got),
			   NVML_SUCCESS);
		ck_assert_ptr_eq(got, first);
	}
	ck_assert_int_eq(CALL(nvmlDeviceGetHandleByPciBusId_v2, (const char *, DEVICE *),
			      "0000:09:00.0", &got),
			 NVML_ERROR_NOT_FOUND);
	ck_assert_int_eq(CALL(nvmlDeviceGetHandleByUUID, (const char *, DEVICE *), "GPU-", &got),
			 NVML_ERROR_NOT_FOUND);
	ck_assert_int_eq(CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned int, DEVICE *), 2, &got),
			 NVML_ERROR_INVALID_ARGUMENT);
	ck_assert_int_eq(CALL(nvmlDeviceGetHandleByUUID, (const char *, DEVICE *), MIG_B, &got),
			 NVML_SUCCESS);
	ck_assert_int_eq(CALL(nvmlDeviceGetName, (DEVICE, char *, unsigned int), got, text, 96),
			 NVML_SUCCESS);
	ck_assert_str_eq(text, "NVIDIA A30 MIG 1c.2g.12gb");
	ck_assert_int_eq(
		CALL(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, (DEVICE, DEVICE *), got, &got),
		NVML_SUCCESS);
	ck_assert_ptr_eq(got, first);
}
END_TEST

/* A handle that the library did not give out is not dereferenced. */
START_TEST(bad_arguments)
{
	char text[96] = "untouched";
	DEVICE inside;

	start("GPUMAP_PRETEND_TEXT", hole_text);
	inside = (DEVICE)((char *)gpu(1) + 1);
	for (size_t i = 0; i < 4; i++) {
		DEVICE bad[] = {NULL, (DEVICE)text, inside, (DEVICE)UINTPTR_MAX};

		ck_assert_int_eq(
			CALL(nvmlDeviceGetUUID, (DEVICE, char *, unsigned int), bad[i], text, 96),
			NVML_ERROR_INVALID_ARGUMENT);
	}
	ck_assert_int_eq(CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned int, DEVICE *), 0, &inside),
			 NVML_ERROR_GPU_IS_LOST);
	ck_assert_int_eq(CALL(nvmlDeviceGetUUID, (DEVICE, char *, unsigned int), gpu(1), text,
			      sizeof(UUID_B) - 1),
			 NVML_ERROR_INSUFFICIENT_SIZE);
	ck_assert_str_eq(text, "untouched");
	ck_assert_int_eq(CALL(nvmlDeviceGetUUID, (DEVICE, char *, unsigned int), gpu(1), NULL, 96),
			 NVML_ERROR_INVALID_ARGUMENT);
	ck_assert_int_eq(CALL(nvmlDeviceGetPciInfo_v3, (DEVICE, struct nvml_pci *), gpu(1), NULL),
			 NVML_ERROR_INVALID_ARGUMENT);
}
END_TEST

/* Older forms of a structure end earlier: what lies behind is the caller's. */
START_TEST(versions)
{
	struct {
		unsigned int version;
		unsigned long long total, reserved, free, used;
	} memory = {.version = 1};
	struct nvml_pci pci;
	int cuda = 0;

	start("GPUMAP_PRETEND_TEXT", csv_text);
	memset(&pci, 'x', sizeof(pci));
	ck_assert_int_eq(CALL(nvmlDeviceGetPciInfo, (DEVICE, struct nvml_pci *), gpu(0), &pci),
			 NVML_SUCCESS);
	ck_assert_str_eq(pci.bus_id_legacy, "0000:C1:00.0");
	ck_assert_uint_eq(pci.pci_subsystem_id, 0x78787878);
	ck_assert_int_eq(CALL(nvmlDeviceGetPciInfo_v2, (DEVICE, struct nvml_pci *), gpu(0), &pci),
			 NVML_SUCCESS);
	ck_assert_int_eq(pci.bus_id[0], 'x');
	ck_assert_int_eq(CALL(nvmlDeviceGetPciInfo_v3, (DEVICE, struct nvml_pci *), gpu(1), &pci),
			 NVML_SUCCESS);
	ck_assert_str_eq(pci.bus_id, "00000001:02:00.0");
	ck_assert_int_eq(CALL(nvmlDeviceGetMemoryInfo_v2, (DEVICE, void *), gpu(0), &memory),
			 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
	memory.version = 0x02000028;
	ck_assert_int_eq(CALL(nvmlDeviceGetMemoryInfo_v2, (DEVICE, void *), gpu(0), &memory),
			 NVML_SUCCESS);
	ck_assert_uint_eq(memory.total, 46068ull << 20);
	ck_assert_uint_eq(memory.used, 0);
	ck_assert_int_eq(CALL(nvmlSystemGetCudaDriverVersion_v2, (int *), &cuda), NVML_SUCCESS);
	ck_assert_int_eq(cuda, 12040);
}
END_TEST

static void *start_and_stop(void *data)
{
	for (int i = 0; i < 200; i++) {
		unsigned int count = 0;

		if (CALL(nvmlInit_v2, (void)) != NVML_SUCCESS ||
		    CALL(nvmlDeviceGetCount_v2, (unsigned int *), &count) != NVML_SUCCESS ||
		    count != 4 || CALL(nvmlShutdown, (void)) != NVML_SUCCESS)
			return data;
	}
	return NULL;
}

START_TEST(threads)
{
	pthread_t thread[4];
	void *failed;

	setenv("GPUMAP_PRETEND_INVENTORY", "4", 1);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, start_and_stop, library), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], &failed);
		ck_assert_ptr_null(failed);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pretend");
	TCase *tests = tcase_create("pretend");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, load, unload);
	tcase_add_loop_test(tests, machines, 0, ARRAY_SIZE(rows));
	tcase_add_test(tests, switches);
	tcase_add_loop_test(tests, refused, 0, ARRAY_SIZE(refused_rows));
	tcase_add_test(tests, start_and_end);
	tcase_add_test(tests, handles);
	tcase_add_test(tests, bad_arguments);
	tcase_add_test(tests, versions);
	tcase_add_test(tests, threads);
	return unit_run(suite);
}
