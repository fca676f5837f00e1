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
	tcase_add_test(tests, room_for_processes);
	return unit_run(suite);
}
