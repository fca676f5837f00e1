/* SPDX-License-Identifier: MIT */
/* The host without NVML, on trees of /proc and /sys that each test makes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "inventory/host.h"
#include "strbuf.h"
#include "tree.h"
#include "unit.h"

/* One line for each GPU: index pci uuid name minor numa cpus. */
static char *describe(const gpumap_inventory *inventory)
{
	struct strbuf buf = {0};

	strbuf_printf(&buf, "driver %s\n", inventory->driver ? inventory->driver : "-");
	for (size_t i = 0; i < inventory->count; i++) {
		const gpumap_device *d = &inventory->gpus[i];

		strbuf_printf(&buf, "%d %s %s %s %d %s %s\n", d->index, d->pci,
			      d->uuid ? d->uuid : "-", d->name ? d->name : "-", d->minor,
			      d->numa ? d->numa : "-", d->cpus ? d->cpus : "-");
	}
	return strbuf_take(&buf);
}

#define PCI(address) "sys/bus/pci/devices/" address "/"
#define GPU(address) "proc/driver/nvidia/gpus/" address "/information"
#define VERSION "proc/driver/nvidia/version"
#define OPEN_MODULE \
	"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  " \
	"(a@b)\n"

static const struct {
	const char *name;
	struct file files[12];
	const char *want;
} rows[] = {
	{"nothing at all", {{0}}, "driver -\n"},
	{"other vendors and other classes",
	 {{PCI("0000:00:02.0") "vendor", "0x8086\n"},
	  {PCI("0000:00:02.0") "class", "0x030000\n"},
	  {PCI("0000:01:00.1") "vendor", "0x10de\n"},
	  {PCI("0000:01:00.1") "class", "0x040300\n"},
	  {PCI("0000:05:00.0") "vendor", "0x10de\n"},
	  {PCI("0000:05:00.0") "class", "0x068000\n"},
	  {"sys/bus/pci/devices/README", "no address\n"}},
	 "driver -\n"},
	{"no driver: what is built in, by address",
	 {{PCI("0001:00:00.0") "vendor", "0x10de\n"},
	  {PCI("0001:00:00.0") "class", "0x030200\n"},
	  {PCI("0001:00:00.0") "numa_node", "1\n"},
	  {PCI("0001:00:00.0") "local_cpulist", "32-63,96-127\n"},
	  {PCI("0000:3b:00.0") "vendor", "0x10de\n"},
	  {PCI("0000:3b:00.0") "class", "0x030000\n"},
	  {PCI("0000:3b:00.0") "numa_node", "-1\n"},
	  {PCI("0000:3b:00.0") "local_cpulist", "\n"}},
	 "driver -\n"
	 "0 0000:3b:00.0 - - -1 - -\n"
	 "1 0001:00:00.0 - - -1 1 32-63,96-127\n"},
	{"driver: what it drives, the address decides the index",
	 {{VERSION, "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.12  Wed Sep\n"
		    "GCC version:  gcc version 12.2.0\n"},
	  {GPU("0000:81:00.0"), "Model: \t\t NVIDIA A40\nIRQ:   \t\t 9\n"
				"GPU UUID: \t GPU-0badc0de-0000-4000-8000-00000000000b\n"
				"Bus Location: \t 0000:81:00.0\nDevice Minor: \t 0\n"
				"GPU Excluded:\t No\n"},
	  {GPU("0000:41:00.0"), "Model: \t\t NVIDIA A40\n"
				"GPU UUID: \t GPU-0badc0de-0000-4000-8000-00000000000a\n"
				"Device Minor: \t 1\n"},
	  {PCI("0000:41:00.0") "vendor", "0x10de\n"},
	  {PCI("0000:41:00.0") "class", "0x030200\n"},
	  {PCI("0000:41:00.0") "numa_node", "0\n"},
	  {PCI("0000:41:00.0") "local_cpulist", "0-31\n"},
	  {PCI("0000:c1:00.0") "vendor", "0x10de\n"},
	  {PCI("0000:c1:00.0") "class", "0x030200\n"}},
	 "driver 535.104.12\n"
	 "0 0000:41:00.0 GPU-0badc0de-0000-4000-8000-00000000000a NVIDIA A40 1 0 0-31\n"
	 "1 0000:81:00.0 GPU-0badc0de-0000-4000-8000-00000000000b NVIDIA A40 0 - -\n"},
	{"open kernel module, a UUID not known yet, an excluded GPU",
	 {{VERSION, OPEN_MODULE},
	  {GPU("0000:01:00.0"),
	   "Model: \t\t NVIDIA L4\n"
	   "GPU UUID: \t GPU-\?\?\?\?\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?\?\?\?\?\?\?\?\?\n"
	   "Device Minor: \t 0\n"},
	  {GPU("0000:02:00.0"), "Model: \t\t NVIDIA L4\nGPU Excluded:\t Yes\n"},
	  {GPU("0000:03:00.0"), "Model: \t\t Tesla K80\nDevice Minor: \t 2\nBlacklisted:\t Yes\n"}},
	 "driver 570.86.15\n"
	 "0 0000:01:00.0 - NVIDIA L4 0 - -\n"},
	{"a driver that drives nothing", {{VERSION, OPEN_MODULE}}, "driver 570.86.15\n"},
	{"texts without sense",
	 {{VERSION, "\n"},
	  {GPU("0000:01:00.0"), ""},
	  {GPU("10000:01:00.0"), ":::\n\nModel:\nDevice Minor: many\nGPU UUID: GPU-1"},
	  {GPU("2000:01:00.0"), "Model: X"}},
	 "driver -\n"
	 "0 0000:01:00.0 - - -1 - -\n"
	 "1 2000:01:00.0 - X -1 - -\n"
	 "2 10000:01:00.0 - - -1 - -\n"},
};

START_TEST(trees)
{
	gpumap_inventory *inventory = NULL;
	char *got;

	for (const struct file *file = rows[_i].files; file->path; file++)
		tree_put(file);
	ROW_EQ_INT(rows[_i].name, proc_probe(&inventory, tree_root(), NULL), GPUMAP_OK);
	got = describe(inventory);
	ROW_EQ_STR(rows[_i].name, got, rows[_i].want);
	ROW_EQ_STR(rows[_i].name, inventory->source, "proc");
	free(got);
	gpumap_inventory_free(inventory);
}
END_TEST

START_TEST(long_lines)
{
	char *text = malloc(100001);
	gpumap_inventory *inventory = NULL;

	memset(text, 'x', 100000);
	text[100000] = '\0';
	tree_put(&(struct file){VERSION, text});
	tree_put(&(struct file){GPU("0000:01:00.0"), text});
	ck_assert_int_eq(proc_probe(&inventory, tree_root(), NULL), GPUMAP_OK);
	ck_assert_uint_eq(inventory->count, 1);
	gpumap_inventory_free(inventory);
	free(text);
}
END_TEST

#define NONE NVML_ERROR_LIBRARY_NOT_FOUND

static const struct {
	const char *name;
	struct silent_host host;
	const char *id, *text; /* the text's beginning */
} silent_rows[] = {
	{"a laptop", {.nvml = NONE}, "GM110", "this host has no NVIDIA GPU"},
	{"card, no driver",
	 {.nvml = NONE, .gpus = 1},
	 "GM040",
	 "no NVIDIA driver is loaded; the 1 NVIDIA GPU on"},
	{"cards, module not loaded",
	 {.nvml = NVML_ERROR_DRIVER_NOT_LOADED, .gpus = 2},
	 "GM040",
	 "no NVIDIA driver is loaded; the 2 NVIDIA GPUs on"},
	{"libraries alone",
	 {.nvml = NVML_ERROR_DRIVER_NOT_LOADED},
	 "GM040",
	 "no NVIDIA driver is loaded and no NVIDIA GPU is on the PCI bus"},
	{"no library",
	 {.nvml = NONE, .loaded = true, .driver = "570.86.15", .gpus = 8},
	 "GM040",
	 "the NVIDIA driver 570.86.15 is loaded, but libnvidia-ml.so.1 is missing"},
	{"updated without a reboot",
	 {.nvml = NVML_ERROR_LIB_RM_VERSION_MISMATCH, .loaded = true, .driver = "1.2"},
	 "GM040",
	 "the loaded NVIDIA driver 1.2 and its libraries differ in version"},
	{"foreign library",
	 {.nvml = NVML_ERROR_FUNCTION_NOT_FOUND, .loaded = true},
	 "GM040",
	 "the NVIDIA driver (version not known) is loaded, but libnvidia-ml.so.1 is not of it"},
	{"container without GPUs",
	 {.nvml = NVML_ERROR_DRIVER_NOT_LOADED,
	  .loaded = true,
	  .driver = "1.2",
	  .device_error = ENOENT},
	 "GM040",
	 "the NVIDIA driver 1.2 is loaded, but this process cannot open /dev/nvidiactl: No such"},
	{"fabric manager",
	 {.nvml = NVML_ERROR_UNKNOWN, .loaded = true, .driver = "1.2"},
	 "GM040",
	 "the NVIDIA driver 1.2 is loaded, but NVML says: unknown error"},
};

START_TEST(silent_hosts)
{
	const char *name = silent_rows[_i].name;
	gpumap_report *report = NULL;
	const gpumap_finding *f;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	report_silent_host(&silent_rows[_i].host, report);
	ROW_EQ_INT(name, gpumap_report_count(report), 1);
	f = gpumap_report_get(report, 0);
	ROW_EQ_STR(name, gpumap_finding_str(f, GPUMAP_FINDING_ID), silent_rows[_i].id);
	ROW_EQ_STR(name, gpumap_finding_str(f, GPUMAP_FINDING_RULE), "E1");
	ck_assert_msg(starts_with(gpumap_finding_str(f, GPUMAP_FINDING_TEXT), silent_rows[_i].text),
		      "%s: %s", name, gpumap_finding_str(f, GPUMAP_FINDING_TEXT));
	ck_assert_int_lt(gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY), GPUMAP_ERROR);
	gpumap_report_free(report);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("proc");
	TCase *tests = tcase_create("proc");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, tree_make, tree_drop);
	tcase_add_loop_test(tests, trees, 0, ARRAY_SIZE(rows));
	tcase_add_test(tests, long_lines);
	tcase_add_loop_test(tests, silent_hosts, 0, ARRAY_SIZE(silent_rows));
	return unit_run(suite);
}
