/* SPDX-License-Identifier: MIT */
/* The NVML reader, on libraries that each test makes up: a table of functions. */
#include <stdio.h>
#include <string.h>

#include "fake-nvml.h"
#include "strbuf.h"
#include "unit.h"

static void describe_gpu(struct strbuf *buf, const gpumap_device *d)
{
	strbuf_printf(buf, "%d %s %s minor %d mig %d", d->index, d->uuid ? d->uuid : "-", d->pci,
		      d->minor, d->mig_enabled);
	for (size_t i = 0; i < d->mig_count; i++)
		strbuf_printf(buf, " [%s %s %d/%d]", d->mig[i].uuid, d->mig[i].profile,
			      d->mig[i].gi, d->mig[i].ci);
	strbuf_puts(buf, d->nvlink_count < 0 ? " links ?" : " links");
	for (int i = 0; i < d->nvlink_count; i++)
		strbuf_printf(buf, " %d", d->nvlink[i]);
	strbuf_puts(buf, "\n");
}

/* Reads the made-up library; compares GPUs and findings' ids, each a line. */
static void expect(const char *name, bool old, int code, const char *want)
{
	struct nvml nvml = fake_library(old);
	gpumap_inventory *inventory = NULL;
	gpumap_report *report = NULL;
	struct strbuf buf = {0};
	enum nvml_return why;
	char *got;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ROW_EQ_INT(name, nvml_read(&inventory, &nvml, false, &why, report), code);
	ROW_EQ_INT(name, fake.open, 0);
	for (size_t i = 0; i < gpumap_inventory_count(inventory); i++)
		describe_gpu(&buf, &inventory->gpus[i]);
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);

		strbuf_printf(&buf, "%s %s\n", gpumap_finding_str(f, GPUMAP_FINDING_ID),
			      gpumap_finding_str(f, GPUMAP_FINDING_TEXT));
	}
	if (inventory && inventory->partial)
		strbuf_puts(&buf, "partial\n");
	got = strbuf_take(&buf);
	ROW_EQ_STR(name, got, want);
	free(got);
	gpumap_inventory_free(inventory);
	gpumap_report_free(report);
}

START_TEST(plain)
{
	fake.count = 2;
	fake.mig[1] = NO_MIG;
	expect("two GPUs", false, GPUMAP_OK,
	       "0 GPU-0 0001:a0:00.0 minor 7 mig 0 links\n"
	       "1 GPU-1 0001:a1:00.0 minor 6 mig 0 links\n");
	expect("old driver", true, GPUMAP_OK,
	       "0 GPU-0 0001:a0:00.0 minor -1 mig 0 links ?\n"
	       "1 GPU-1 0001:a1:00.0 minor -1 mig 0 links ?\n");
	fake.minor = NVML_ERROR_NOT_SUPPORTED;
	fake.link_state = NVML_ERROR_UNKNOWN;
	fake.count = 1;
	expect("links not reported", false, GPUMAP_OK,
	       "0 GPU-0 0001:a0:00.0 minor -1 mig 0 links ?\n");
	fake.count = 0;
	expect("no GPU", false, GPUMAP_OK, "");
}
END_TEST

START_TEST(details)
{
	struct nvml nvml = fake_library(false);
	gpumap_inventory *inventory = NULL;
	enum nvml_return why;

	fake.count = 1;
	ck_assert_int_eq(nvml_read(&inventory, &nvml, false, &why, NULL), GPUMAP_OK);
	ROW_EQ_STR("source", inventory->source, "nvml");
	ROW_EQ_STR("driver", inventory->driver, "570.86.15");
	ROW_EQ_STR("name", inventory->gpus[0].name, "NVIDIA A100");
	ROW_EQ_STR("cpus", inventory->gpus[0].cpus, "0,4-7,8190-8191");
	ROW_EQ_STR("numa", inventory->gpus[0].numa, NULL);
	ROW_EQ_INT("memory", inventory->gpus[0].memory, 40ll << 30);
	gpumap_inventory_free(inventory);
}
END_TEST

START_TEST(failures)
{
	fake.count = 3;
	fake.handle[1] = NVML_ERROR_NO_PERMISSION;
	expect("not granted", true, GPUMAP_OK,
	       "0 GPU-0 0001:a0:00.0 minor -1 mig 0 links ?\n"
	       "2 GPU-2 0001:a2:00.0 minor -1 mig 0 links ?\n"
	       "GM041 GPU 1 is counted, but this process may not open it\n");
	fake.handle[1] = NVML_ERROR_GPU_IS_LOST;
	fake.uuid[2] = NVML_ERROR_UNKNOWN;
	expect("lost, and silent", true, GPUMAP_OK,
	       "0 GPU-0 0001:a0:00.0 minor -1 mig 0 links ?\n"
	       "2 - 0001:a2:00.0 minor -1 mig 0 links ?\n"
	       "GM036 GPU 1 does not answer: the GPU is lost\n"
	       "GM036 GPU 2 does not answer: unknown error\n"
	       "partial\n");
	fake.count = GPUMAP_MAX_DEVICES + 1;
	expect("too many", true, GPUMAP_ELIMIT, "GM005 NVML counts 65537 GPUs, more than 65536\n");
	fake.count_code = NVML_ERROR_UNKNOWN;
	expect("no count", true, GPUMAP_ENODRIVER, "");
	fake.init = NVML_ERROR_LIB_RM_VERSION_MISMATCH;
	expect("no start", true, GPUMAP_ENODRIVER, "");
}
END_TEST

START_TEST(mig)
{
	fake.count = 2;
	fake.mig[0] = OFF;
	fake.mig[1] = 2;
	expect("instances", false, GPUMAP_OK,
	       "0 GPU-0 0001:a0:00.0 minor 7 mig 0 links\n"
	       "1 GPU-1 0001:a1:00.0 minor 6 mig 1 [MIG-111 2g.10gb 7/0] [MIG-112 2g.10gb 8/0]"
	       " links\n");
}
END_TEST

static const struct {
	const char *name, *device;
	struct nvml_attributes shares;
	int total_gib;
	const char *want;
} profile_rows[] = {
	{"name", "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb", {0}, 40, "1c.3g.20gb"},
	{"media extensions", "NVIDIA H100 MIG 1g.10gb+me", {0}, 80, "1g.10gb+me"},
	{"nothing", "Graphics Device", {0}, 40, NULL},
	{"no size of the GPU", "X", {.gpu_slices = 1, .memory_mib = 4864}, 0, NULL},
	{"A100 1g", "X", {.gpu_slices = 1, .compute_slices = 1, .memory_mib = 4864}, 40, "1g.5gb"},
	{"A100 7g",
	 "X",
	 {.gpu_slices = 7, .compute_slices = 7, .memory_mib = 40192},
	 40,
	 "7g.40gb"},
	{"part of 3g",
	 NULL,
	 {.gpu_slices = 3, .compute_slices = 1, .memory_mib = 19968},
	 40,
	 "1c.3g.20gb"},
	{"H200 2g",
	 NULL,
	 {.gpu_slices = 2, .compute_slices = 2, .memory_mib = 33280},
	 141,
	 "2g.35gb"},
	{"more than all", NULL, {.gpu_slices = 7, .memory_mib = 1 << 30}, 40, "7g.40gb"},
	{"absurd", NULL, {.gpu_slices = 7, .memory_mib = 1ull << 60}, 40, NULL},
	{"long name", "MIG 1234567890123456789012345678901234567890", {0}, 40, NULL},
};

START_TEST(profiles)
{
	char got[32];
	bool known = mig_profile(got, profile_rows[_i].device, &profile_rows[_i].shares,
				 (int64_t)profile_rows[_i].total_gib << 30);

	ROW_EQ_STR(profile_rows[_i].name, known ? got : NULL, profile_rows[_i].want);
}
END_TEST

static const struct {
	const char *name;
	bool no_type; /* drivers before 470 */
	int links[4][3];
	const char *want[4]; /* neighbours of each */
} link_rows[] = {
	{"pairs", false, {{2, 2}, {1, 1}, {0, 4}, {0, 3}}, {"1", "0", "3", "2"}},
	{"pairs, no type", true, {{2, 2}, {1, 1}, {0, 4}, {0, 3}}, {"1", "0", "3", "2"}},
	{"switches",
	 false,
	 {{SWITCH, SWITCH}, {SWITCH}, {0, 0, SWITCH}, {0}},
	 {"1 2", "0 2", "0 1", ""}},
	{"switches, no type",
	 true,
	 {{SWITCH}, {SWITCH}, {0, SWITCH}, {0}},
	 {"1 2", "0 2", "0 1", ""}},
	{"processors are not switches",
	 false,
	 {{NPU, 2}, {NPU, 1}, {NPU}, {NPU}},
	 {"1", "0", "", ""}},
	{"processors, no type", true, {{NPU, 2}, {NPU, 1}, {NPU}, {NPU}}, {"1", "0", "", ""}},
	{"a GPU outside", false, {{8}, {0}, {0}, {0}}, {"", "", "", ""}},
};

START_TEST(links)
{
	struct nvml nvml = fake_library(false);
	gpumap_inventory *inventory = NULL;
	enum nvml_return why;

	fake.count = 4;
	memcpy(fake.links, link_rows[_i].links, sizeof(link_rows[_i].links));
	if (link_rows[_i].no_type)
		nvml.link_type = NULL;
	ck_assert_int_eq(nvml_read(&inventory, &nvml, false, &why, NULL), GPUMAP_OK);
	for (size_t i = 0; i < 4; i++) {
		struct strbuf buf = {0};
		char *got;

		for (int k = 0; k < inventory->gpus[i].nvlink_count; k++)
			strbuf_printf(&buf, k ? " %d" : "%d", inventory->gpus[i].nvlink[k]);
		got = strbuf_take(&buf);
		ROW_EQ_STR(link_rows[_i].name, got, link_rows[_i].want[i]);
		free(got);
	}
	gpumap_inventory_free(inventory);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nvml");
	TCase *tests = tcase_create("nvml");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, fake_reset, NULL);
	tcase_add_test(tests, plain);
	tcase_add_test(tests, details);
	tcase_add_test(tests, failures);
	tcase_add_test(tests, mig);
	tcase_add_loop_test(tests, profiles, 0, ARRAY_SIZE(profile_rows));
	tcase_add_loop_test(tests, links, 0, ARRAY_SIZE(link_rows));
	return unit_run(suite);
}
