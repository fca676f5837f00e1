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
	struct no_gpu_host host;
	bool unusable;
	enum finding_id finding;
	const char *text; /* its beginning */
} no_gpu_rows[] = {
	{"a laptop", {.nvml = NONE}, true, FINDING_NO_GPU, "this host has no NVIDIA GPU (none on"},
	{"card, no driver",
	 {.nvml = NONE, .gpus = 1},
	 true,
	 FINDING_NO_DRIVER,
	 "no NVIDIA driver is loaded; the 1 NVIDIA GPU on"},
	{"cards, module not loaded",
	 {.nvml = NVML_ERROR_DRIVER_NOT_LOADED, .gpus = 2},
	 true,
	 FINDING_NO_DRIVER,
	 "no NVIDIA driver is loaded; the 2 NVIDIA GPUs on"},
	{"libraries alone",
	 {.nvml = NVML_ERROR_DRIVER_NOT_LOADED},
	 true,
	 FINDING_NO_DRIVER,
	 "no NVIDIA driver is loaded and no NVIDIA GPU is on the PCI bus"},
	{"no library of NVML, but CUDA may have its own",
	 {.nvml = NONE, .loaded = true, .driver = "570.86.15", .gpus = 8},
	 false,
	 FINDING_NO_DRIVER,
	 "the NVIDIA driver 570.86.15 is loaded, but libnvidia-ml.so.1 is missing"},
	{"no library, no GPU",
	 {.nvml = NONE, .loaded = true, .driver = "570.86.15"},
	 true,
	 FINDING_NO_DRIVER,
	 "the NVIDIA driver 570.86.15 is loaded, but libnvidia-ml.so.1 is missing"},
	{"updated without a reboot",
	 {.nvml = NVML_ERROR_LIB_RM_VERSION_MISMATCH, .loaded = true, .driver = "1.2", .gpus = 2},
	 true,
	 FINDING_NO_DRIVER,
	 "the loaded NVIDIA driver 1.2 and its libraries differ in version"},
	{"foreign library",
	 {.nvml = NVML_ERROR_FUNCTION_NOT_FOUND, .loaded = true, .gpus = 1},
	 false,
	 FINDING_NO_DRIVER,
	 "the NVIDIA driver is loaded, but libnvidia-ml.so.1 is of another driver"},
	{"container without a grant, the library mounted",
	 {.nvml = NVML_ERROR_DRIVER_NOT_LOADED,
	  .loaded = true,
	  .driver = "1.2",
	  .gpus = 8,
	  .device_error = ENOENT},
	 true,
	 FINDING_NO_DRIVER,
	 "the NVIDIA driver 1.2 is loaded, but this process cannot open /dev/nvidiactl: No such"},
	{"container without a grant, as most are",
	 {.nvml = NONE, .loaded = true, .driver = "1.2", .gpus = 8, .device_error = ENOENT},
	 true,
	 FINDING_NO_DRIVER,
	 "the NVIDIA driver 1.2 is loaded, but this process cannot open /dev/nvidiactl: No such"},
	{"fabric manager",
	 {.nvml = NVML_ERROR_UNKNOWN, .loaded = true, .driver = "1.2", .gpus = 8},
	 false,
	 FINDING_NO_DRIVER,
	 "the NVIDIA driver 1.2 is loaded, but NVML reports: unknown error"},
	{"a driver without GPUs",
	 {.nvml = NVML_SUCCESS, .loaded = true, .driver = "1.2"},
	 true,
	 FINDING_NO_GPU,
	 "the NVIDIA driver 1.2 is loaded and drives no GPU"},
	{"a job that asked for no GPU",
	 {.nvml = NVML_SUCCESS, .loaded = true, .driver = "1.2", .gpus = 4},
	 true,
	 FINDING_NO_GPU,
	 "the NVIDIA driver 1.2 drives 4 GPUs, but this process was granted no GPU"},
	{"every GPU forbidden, or lost",
	 {.nvml = NVML_SUCCESS, .loaded = true, .driver = "1.2", .gpus = 4, .left_out = 4},
	 true,
	 FINDING_NO_GPU,
	 "this process can use no GPU: NVML counts 4 and opens none"},
};

START_TEST(no_gpu_hosts)
{
	const char *name = no_gpu_rows[_i].name;
	struct no_gpu_reason reason = {.fix = "not set"};

	no_gpu_explain(&reason, &no_gpu_rows[_i].host);
	ROW_EQ_INT(name, reason.finding, no_gpu_rows[_i].finding);
	ROW_EQ_INT(name, reason.unusable, no_gpu_rows[_i].unusable);
	ck_assert_msg(starts_with(reason.text, no_gpu_rows[_i].text), "%s: %s", name, reason.text);
	ck_assert_msg(!reason.fix || !streq(reason.fix, "not set"), "%s: the remedy", name);
}
END_TEST

#define CTL "dev/nvidiactl"
#define CARD(address) \
	{PCI(address) "vendor", "0x10de\n"}, \
	{ \
		PCI(address) "class", "0x030200\n" \
	}

/* The same hosts as trees: what is listed, and what a question about them is answered. */
static const struct {
	const char *name;
	struct file files[6];
	enum nvml_return nvml;
	size_t listed;
	const char *cause, *fix; /* of the answer "none"; NULL: a device is found */
} host_rows[] = {
	{"a laptop",
	 {{0}},
	 NONE,
	 0,
	 "no device is visible, so the program has none: this host has no NVIDIA GPU (none on the "
	 "PCI bus, and no driver)",
	 "--inventory 8 asks about a machine of 8 GPUs"},
	{"devices without a driver",
	 {CARD("0000:01:00.0"), CARD("0000:02:00.0")},
	 NONE,
	 2,
	 "no device is visible, so the program has none: no NVIDIA driver is loaded; the 2 NVIDIA "
	 "GPUs on the PCI bus cannot be used",
	 "install the driver, or load it: modprobe nvidia; --inventory 8 asks about a machine of 8 "
	 "GPUs"},
	{"a container without a grant",
	 {{VERSION, OPEN_MODULE}, {GPU("0000:01:00.0"), "Model: \t NVIDIA L4\n"}},
	 NONE,
	 1,
	 "no device is visible, so the program has none: the NVIDIA driver 570.86.15 is loaded, "
	 "but "
	 "this process cannot open /dev/nvidiactl: No such file or directory",
	 "ask for GPUs where the container or job is made; --inventory 8 asks about a machine of 8 "
	 "GPUs"},
	{"a grant without the driver's capability 'utility'",
	 {{VERSION, OPEN_MODULE}, {GPU("0000:01:00.0"), "Model: \t NVIDIA L4\n"}, {CTL, ""}},
	 NONE,
	 1,
	 NULL,
	 NULL},
};

START_TEST(hosts)
{
	const char *name = host_rows[_i].name;
	gpumap_inventory *inventory = NULL;
	gpumap_mapping *mapping = NULL;
	gpumap_request *request = NULL;
	gpumap_report *report = NULL;
	const gpumap_finding *f;

	for (const struct file *file = host_rows[_i].files; file->path; file++)
		tree_put(file);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_request_new(&request), GPUMAP_OK);
	ROW_EQ_INT(name, probe_without_nvml(&inventory, tree_root(), host_rows[_i].nvml, NULL),
		   GPUMAP_OK);
	ROW_EQ_INT(name, gpumap_inventory_count(inventory), host_rows[_i].listed);
	ROW_EQ_INT(name, !gpumap_inventory_str(inventory, GPUMAP_INVENTORY_NO_GPU),
		   !host_rows[_i].cause);
	ROW_EQ_INT(name, gpumap_resolve(&mapping, request, inventory, report), GPUMAP_OK);
	ROW_EQ_INT(name, gpumap_mapping_int(mapping, GPUMAP_MAPPING_ANSWERED),
		   !host_rows[_i].cause);
	ROW_EQ_INT(name, gpumap_mapping_chosen(mapping) != NULL, !host_rows[_i].cause);
	f = gpumap_report_get(report, 0);
	if (host_rows[_i].cause) {
		ROW_EQ_STR(name, gpumap_finding_str(f, GPUMAP_FINDING_ID), "GM010");
		ROW_EQ_STR(name, gpumap_finding_str(f, GPUMAP_FINDING_TEXT), host_rows[_i].cause);
		ROW_EQ_STR(name, gpumap_finding_str(f, GPUMAP_FINDING_FIX), host_rows[_i].fix);
	}
	gpumap_mapping_free(mapping);
	gpumap_inventory_free(inventory);
	gpumap_request_free(request);
	gpumap_report_free(report);
}
END_TEST

/* NVML counts no GPU: a grant is missing only if NVML's driver is the kernel's. */
START_TEST(none_counted)
{
	static const struct {
		const char *driver, *text;
	} drivers[] = {{"570.86.15",
			"the NVIDIA driver 570.86.15 drives 1 GPU, but this process was "
			"granted no GPU"},
		       {"1.0", "the NVIDIA driver 1.0 is loaded and drives no GPU"},
		       {NULL, "the NVIDIA driver is loaded and drives no GPU"}};
	const char *driver = drivers[_i].driver;
	gpumap_inventory *inventory = inventory_new("nvml", NULL);

	tree_put(&(struct file){VERSION, OPEN_MODULE});
	tree_put(&(struct file){GPU("0000:01:00.0"), "Model: \t NVIDIA L4\n"});
	ck_assert(!driver || member_set(&inventory->driver, span_of(driver)));
	ck_assert_int_eq(probe_empty(inventory, tree_root(), NULL), GPUMAP_OK);
	ROW_EQ_STR(drivers[_i].text, gpumap_inventory_str(inventory, GPUMAP_INVENTORY_NO_GPU),
		   drivers[_i].text);
	gpumap_inventory_free(inventory);
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
	tcase_add_loop_test(tests, no_gpu_hosts, 0, ARRAY_SIZE(no_gpu_rows));
	tcase_add_loop_test(tests, hosts, 0, ARRAY_SIZE(host_rows));
	tcase_add_loop_test(tests, none_counted, 0, 3);
	return unit_run(suite);
}
