/* SPDX-License-Identifier: MIT */
/* The library of `gpumap pretend`: the use of the machine, from a file. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pretended.h"
#include "strbuf.h"

static const char csv_text[] = "index, uuid, name, pci.bus_id, memory.total [MiB], driver_version\n"
			       "0, GPU-5eed0000-0000-4000-8000-00000000000a, NVIDIA L40S, "
			       "00000000:C1:00.0, 46068 MiB, 550.54.15\n"
			       "1, GPU-5eed0000-0000-4000-8000-00000000000b, NVIDIA L40S, "
			       "00000001:02:00.0, 46068 MiB, 550.54.15\n";

/* The use in a file: memory, then each process or the code of the list. */
static void describe_use(struct strbuf *buf, DEVICE device)
{
	struct {
		unsigned int pid;
		unsigned long long bytes;
		unsigned int gi, ci;
	} got[4];
	unsigned int count = 4;
	struct nvml_memory memory;
	int code =
		(int)CALL(nvmlDeviceGetMemoryInfo, (DEVICE, struct nvml_memory *), device, &memory);

	if (code != NVML_SUCCESS) {
		strbuf_printf(buf, " code %d", code);
		return;
	}
	ck_assert_uint_eq(memory.used + memory.free, memory.total);
	strbuf_printf(buf, " %llu", memory.used >> 20);
	code = (int)CALL(nvmlDeviceGetComputeRunningProcesses_v3, (DEVICE, unsigned int *, void *),
			 device, &count, got);
	if (code != NVML_SUCCESS)
		strbuf_printf(buf, " list %d", code);
	for (unsigned int i = 0; code == NVML_SUCCESS && i < count; i++)
		strbuf_printf(buf, got[i].bytes == ~0ull ? " %s:?" : " %s:%llu",
			      got[i].pid == (unsigned int)getpid() ? "self"
			      : got[i].pid == 42                   ? "42"
								   : "other",
			      got[i].bytes >> 20);
}

static const struct {
	const char *name, *text, *want;
} uses[] = {
	{"nothing", "", " 0| 0"},
	{"processes", "# two\n0 42 500\n0 self 20?\n", " 520 42:500 self:?| 0"},
	{"hidden", "1 hidden 64\n1 7 1\n", " 0| 65 other:1"},
	{"no list", "1 unlisted\n1 42 8\n", " 0| 8 list 4"},
	{"lost", "0 lost\n1 42 8\n", "-| 8 42:8"},
	{"nonsense", "0 42 many\n", "-| 0"},
	{"more than there is", "1 42 99999\n", " 0| 46068 42:99999"},
};

START_TEST(in_use)
{
	char path[] = "t-pretend.XXXXXX";
	int fd = mkstemp(path);
	struct strbuf got = {0};
	DEVICE device;

	ck_assert(fd >= 0);
	setenv("GPUMAP_PRETEND_USE", path, 1);
	start("GPUMAP_PRETEND_TEXT", csv_text);
	/* Written after nvmlInit: the file is read anew. */
	ck_assert(write(fd, uses[_i].text, strlen(uses[_i].text)) ==
		  (ssize_t)strlen(uses[_i].text));
	for (unsigned int i = 0; i < 2; i++) {
		strbuf_puts(&got, i ? "|" : "");
		if (CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned int, DEVICE *), i, &device) ==
		    NVML_SUCCESS)
			describe_use(&got, device);
		else
			strbuf_puts(&got, "-");
	}
	close(fd);
	unlink(path);
	ROW_EQ_STR(uses[_i].name, got.text, uses[_i].want);
	strbuf_free(&got);
}
END_TEST

/* --- through the reader of inventories ---------------------------------------------------- */

static void put(struct strbuf *buf, const char *name, int64_t value)
{
	if (value >= 0)
		strbuf_printf(buf, " %s=%lld", name, (long long)value);
}

static void describe_device(struct strbuf *buf, const gpumap_device *d)
{
	put(buf, "used", gpumap_device_int(d, GPUMAP_DEVICE_MEMORY_USED) >> 20);
	put(buf, "reserved", gpumap_device_int(d, GPUMAP_DEVICE_MEMORY_RESERVED) >> 20);
	put(buf, "hidden", gpumap_device_int(d, GPUMAP_DEVICE_MEMORY_HIDDEN) >> 20);
	put(buf, "load", gpumap_device_int(d, GPUMAP_DEVICE_UTILIZATION));
	put(buf, "degrees", gpumap_device_int(d, GPUMAP_DEVICE_TEMPERATURE));
	put(buf, "mode", gpumap_device_int(d, GPUMAP_DEVICE_COMPUTE_MODE));
	put(buf, "complete", gpumap_device_int(d, GPUMAP_DEVICE_PROCESSES_COMPLETE));
	for (int i = 0; i < gpumap_device_process_count(d); i++) {
		const gpumap_process *p = gpumap_device_process(d, (size_t)i);

		strbuf_printf(buf, " %lld:%lld:%lld",
			      (long long)gpumap_process_int(p, GPUMAP_PROCESS_PID),
			      (long long)gpumap_process_int(p, GPUMAP_PROCESS_MEMORY) >> 20,
			      (long long)gpumap_process_int(p, GPUMAP_PROCESS_TYPES));
		if (gpumap_process_int(p, GPUMAP_PROCESS_ACTIVE_TIME) < 0)
			strbuf_puts(buf, "~");
		if (gpumap_process_str(p, GPUMAP_PROCESS_ACTIVE))
			strbuf_puts(buf, gpumap_process_str(p, GPUMAP_PROCESS_ACTIVE));
	}
	for (size_t i = 0; i < gpumap_device_mig_count(d); i++) {
		strbuf_puts(buf, " |");
		describe_device(buf, gpumap_device_mig(d, i));
	}
}

static char *read_here(void)
{
	struct nvml nvml = {.library = NULL};
	gpumap_inventory *inventory = NULL;
	struct strbuf buf = {0};
	enum nvml_return why;

#define TAKE(need, member, name) \
	{ \
		void (*f)(void) = function(#name); \
		memcpy(&nvml.member, &f, sizeof(f)); \
	}
	NVML_FUNCTIONS(TAKE)
	ck_assert_int_eq(nvml_read(&inventory, &nvml, true, &why, NULL), GPUMAP_OK);
	describe_device(&buf, gpumap_inventory_get(inventory, 0));
	gpumap_inventory_free(inventory);
	return strbuf_take(&buf);
}

static const char mig_text[] = "[snapshot]\nschema = 1\n"
			       "[gpu 0]\nmemory = 85899345920\nmig_enabled = yes\n"
			       "[mig 0:0]\nmemory = 10737418240\ngi = 7\nci = 0\n"
			       "[mig 0:1]\nmemory = 10737418240\ngi = 8\nci = 0\n";

static const struct {
	const char *name, *machine, *use, *want;
} served[] = {
	{"nothing", csv_text, "", " used=0 reserved=0 hidden=0 complete=1"},
	{"all that a line can say", csv_text,
	 "0 load 93\n0 temperature 41\n0 mode exclusive-process\n0 reserved 500\n"
	 "0 7 20\n0 8 30 graphics\n0 9 40 compute,graphics,mps\n0 hidden 5\n",
	 " used=95 reserved=500 hidden=5 load=93 degrees=41 mode=3 complete=1 7:20:1 8:30:2 "
	 "9:40:7"},
	{"no list", csv_text, "0 7 20\n0 unlisted\n", " used=20 reserved=0 hidden=20 complete=0"},
	{"no memory", csv_text, "0 7 20\n0 unmeasured\n", " complete=1 7:20:1"},
	{"wide entries", csv_text, "0 wide\n0 7 20\n0 8 1\n",
	 " used=21 reserved=0 hidden=0 complete=1 7:20:1 8:1:1"},
	{"instances", mig_text, "0:0 7 20\n0:1 7 30\n0 8 4\n",
	 " used=54 reserved=0 hidden=0 complete=1 8:4:1~ 7:20:1~ 7:30:1~"
	 " | used=20 reserved=0 hidden=0 complete=1 7:20:1~"
	 " | used=30 reserved=0 hidden=0 complete=1 7:30:1~"},
	{"the parent refuses", mig_text, "0 unlisted\n0 unmeasured\n0:1 7 30\n",
	 " complete=0 7:30:1~"
	 " | used=0 reserved=0 hidden=0 complete=1"
	 " | used=30 reserved=0 hidden=0 complete=1 7:30:1~"},
	{"an instance refuses", mig_text, "0:0 unlisted\n0:1 7 30\n",
	 " used=30 reserved=0 hidden=0 complete=1 7:30:1~"
	 " | used=0 reserved=0 hidden=0 complete=0"
	 " | used=30 reserved=0 hidden=0 complete=1 7:30:1~"},
	{"a load of 101", csv_text, "0 load 101\n", NULL},
	{"no such mode", csv_text, "0 mode fast\n", NULL},
	{"no such type", csv_text, "0 7 20 video\n", NULL},
	{"a line about another GPU is not read", csv_text, "1 7 20 video\n",
	 " used=0 reserved=0 hidden=0 complete=1"},
	{"recorded",
	 "[snapshot]\nschema = 2\n[gpu 0]\nmemory = 85899345920\nused = 104857600\n"
	 "reserved = 2097152\nutilization = 7\ntemperature = 50\ncompute_mode = prohibited\n"
	 "processes = all\n[process 0:0]\npid = 5\nmemory = 1048576\ntypes = compute,mps\n"
	 "[process 0:1]\npid = 6\ntypes = graphics\n",
	 NULL, " used=100 reserved=2 load=7 degrees=50 mode=2 complete=1 5:1:5~ 6:-1:2~"},
	{"recorded with samples",
	 "[snapshot]\nschema = 2\n[gpu 0]\nmemory = 85899345920\nused = 104857600\n"
	 "processes = all\n[process 0:0]\npid = 2000000005\nmemory = 1048576\ntypes = compute\n"
	 "active = 2026-11-21T10:00:00Z\n"
	 "[process 0:1]\npid = 6\nmemory = 1048576\ntypes = compute\nactive = none\n",
	 NULL,
	 " used=100 reserved=0 hidden=98 complete=1 6:1:1 2000000005:1:12026-11-21T10:00:00Z"},
	{"no samples", csv_text, "0 7 20\n0 unsampled\n",
	 " used=20 reserved=0 hidden=0 complete=1 7:20:1~"},
	{"a sample of a process without a number", csv_text, "0 used 7\n", NULL},
	{"recorded, not readable",
	 "[snapshot]\nschema = 2\n[gpu 0]\nmemory = 85899345920\nprocesses = none\n", NULL,
	 " complete=0"},
	{"recorded, but a file has the use",
	 "[snapshot]\nschema = 2\n[gpu 0]\nmemory = 85899345920\nused = 104857600\n"
	 "processes = all\n",
	 "0 temperature 9\n", " used=0 reserved=0 hidden=0 degrees=9 complete=1"},
};

START_TEST(read_back)
{
	char path[] = "t-pretend.XXXXXX", *got = NULL;
	const char *use = served[_i].use;
	DEVICE device;

	if (use) {
		int fd = mkstemp(path);

		ck_assert(fd >= 0);
		ck_assert(write(fd, use, strlen(use)) == (ssize_t)strlen(use));
		ck_assert(close(fd) == 0);
		setenv("GPUMAP_PRETEND_USE", path, 1);
	}
	start("GPUMAP_PRETEND_TEXT", served[_i].machine);
	if (served[_i].want)
		got = read_here();
	else
		ROW_EQ_INT(
			served[_i].name,
			CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned int, DEVICE *), 0, &device),
			NVML_ERROR_UNKNOWN);
	if (use)
		unlink(path);
	ROW_EQ_STR(served[_i].name, got, served[_i].want);
	free(got);
}
END_TEST

/* The devices of an answer outlive the inventory, so they have no usage. */
START_TEST(answers_have_no_usage)
{
	static const char text[] = "[snapshot]\nschema = 2\n[gpu 0]\nused = 5\nprocesses = all\n"
				   "[mig 0:0]\nuuid = MIG-1\n[process 0:0]\npid = 5\nmig = 0\n";
	gpumap_inventory *inventory = NULL;
	gpumap_request *request = NULL;
	gpumap_mapping *mapping = NULL;
	const gpumap_device *d;

	ck_assert_int_eq(gpumap_inventory_parse(&inventory, text, strlen(text), "m", NULL),
			 GPUMAP_OK);
	ck_assert_int_eq(gpumap_device_process_count(gpumap_inventory_get(inventory, 0)), 1);
	ck_assert_int_eq(gpumap_request_new(&request), GPUMAP_OK);
	ck_assert_int_eq(gpumap_resolve(&mapping, request, inventory, NULL), GPUMAP_OK);
	gpumap_inventory_free(inventory);
	gpumap_request_free(request);
	d = gpumap_entry_candidate(gpumap_mapping_visible(mapping, 0), 0);
	ck_assert_ptr_nonnull(d);
	ck_assert_int_eq(gpumap_device_process_count(d), -1);
	ck_assert_ptr_null(gpumap_device_process(d, 0));
	ck_assert_int_eq(gpumap_device_int(d, GPUMAP_DEVICE_MEMORY_USED), -1);
	ck_assert_int_eq(gpumap_device_int(d, GPUMAP_DEVICE_MEMORY_HIDDEN), -1);
	gpumap_mapping_free(mapping);
}
END_TEST

/* If there is room, the processes; if not, the number that is needed. */
START_TEST(room_for_processes)
{
	char path[] = "t-pretend.XXXXXX", entries[2 * 16];
	static const char text[] = "0 1 1\n0 2 2\n";
	int fd = mkstemp(path);
	unsigned int count = 0;

	ck_assert(fd >= 0 && write(fd, text, strlen(text)) > 0 && close(fd) == 0);
	setenv("GPUMAP_PRETEND_USE", path, 1);
	start("GPUMAP_PRETEND_TEXT", csv_text);
	ck_assert_int_eq(CALL(nvmlDeviceGetComputeRunningProcesses,
			      (DEVICE, unsigned int *, void *), gpu(0), &count, NULL),
			 NVML_ERROR_INSUFFICIENT_SIZE);
	ck_assert_uint_eq(count, 2);
	ck_assert_int_eq(CALL(nvmlDeviceGetComputeRunningProcesses,
			      (DEVICE, unsigned int *, void *), gpu(0), &count, entries),
			 NVML_SUCCESS);
	unlink(path);
	ck_assert_uint_eq(count, 2);
	ck_assert_int_eq(entries[16], 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pretend-use");
	TCase *tests = tcase_create("pretend-use");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, load, unload);
	tcase_add_loop_test(tests, in_use, 0, ARRAY_SIZE(uses));
	tcase_add_loop_test(tests, read_back, 0, ARRAY_SIZE(served));
	tcase_add_test(tests, answers_have_no_usage);
	tcase_add_test(tests, room_for_processes);
	return unit_run(suite);
}
