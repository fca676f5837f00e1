/* SPDX-License-Identifier: MIT */
/* Every allocation of gpumap doctor fails once, for a recorded machine with a Python program, and
 * without a program. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/doctor.h"
#include "failing_malloc.h"
#include "report/report.h"
#include "tree.h"
#include "unit.h"

static const struct file files[] = {
	{"etc/os-release", "PRETTY_NAME=\"Debian\"\n"},
	{"proc/version", "Linux version 6.1 x\n"},
	{"proc/driver/nvidia/version", "NVRM version: Module  570.86.15  x\n"},
	{"proc/driver/nvidia/gpus/0000:07:00.0/information", "Model: NVIDIA H100\n"},
	{"proc/self/limits", "Max open files 1024 4096 files\n"},
	{"proc/self/status", "Cpus_allowed_list: 0-3\nMems_allowed_list: 0\n"},
	{"proc/self/mounts", "tmpfs /dev/shm tmpfs rw,size=65536k 0 0\n"},
	{"sys/bus/pci/devices/0000:07:00.0/vendor", "0x10de\n"},
	{"sys/bus/pci/devices/0000:07:00.0/class", "0x030200\n"},
	{"sys/bus/pci/devices/0000:07:00.0/local_cpulist", "8-15\n"},
	{"proc/self/environ", "VIRTUAL_ENV=/v"},
	{"etc/ld.so.cache", "glibc-ld.so.cache1.1"},
	{"dev/nvidiactl", ""},
	{"usr/lib/libcuda.so.1", ""},
	{"v/pyvenv.cfg", "home = /usr/bin\n"},
	{"v/bin/python3.11", "\177ELF"},
	{"v/bin/python3", "\177ELF"},
	{"v/lib/python3.11/site-packages/jax_cuda12_plugin-0.4.30.dist-info", ""},
	{"v/lib/python3.11/site-packages/jax-0.4.30.dist-info", ""},
	{"v/lib/python3.11/site-packages/torch/version.py",
	 "__version__ = '2.5.1+cu124'\ncuda = '12.4'\n"},
	{"var/log/dmesg", "NVRM: Xid (PCI:0000:07:00): 79, x\n"},
};

/* The report; *told: the caller is told that memory ran out. */
static char *show(bool json, bool named, bool *told)
{
	const char *const program[] = {"/v/bin/python3.11", NULL};
	const char *const variables[] = {NULL};
	struct doctor_options options = {
		.root = tree_root(), .environ = variables, .program = named ? program : NULL};
	gpumap_report *report = NULL;
	struct doctor *doctor = NULL;
	struct strbuf buf = {0};
	int r = gpumap_report_new(&report);

	if (r == GPUMAP_OK)
		r = doctor_new(&doctor, &options, report);
	if (r == GPUMAP_OK)
		r = (json ? doctor_json(&buf, doctor) : doctor_text(&buf, doctor)) ? GPUMAP_OK
										   : GPUMAP_ENOMEM;
	*told = r != GPUMAP_OK;
	doctor_free(doctor);
	gpumap_report_free(report);
	if (r == GPUMAP_OK)
		return strbuf_take(&buf);
	strbuf_free(&buf);
	return NULL;
}

START_TEST(every_allocation_fails)
{
	bool told, failed = true;
	char *whole;

	tree_make();
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		tree_put(&files[i]);
	whole = show(_i & 1, _i & 2, &told);
	ck_assert_ptr_nonnull(whole);
	ck_assert_ptr_nonnull(strstr(whole, "GM440"));
	ck_assert_ptr_nonnull(strstr(whole, "2.5.1+cu124"));
	ck_assert_ptr_nonnull(strstr(whole, "0.4.30"));
	for (size_t n = 1; failed; n++) {
		char *text;

		allocations_fail_at(n);
		text = show(_i & 1, _i & 2, &told);
		allocations_fail_at(0);
		failed = allocations_failed();
		ck_assert_msg(failed || !told, "%zu fails without a reason", n);
		ck_assert_msg(told || (text && strcmp(text, whole) == 0), "%zu gives %s", n,
			      text ? text : "nothing");
		free(text);
	}
	free(whole);
	tree_drop();
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("doctor-nomem");
	tests = tcase_create("doctor-nomem");
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, every_allocation_fails, 0, 4);
	return unit_run(suite);
}
