/* SPDX-License-Identifier: MIT */
/* Machines by name, and the functions that open them. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inventory/inventory.h"
#include "unit.h"

static const struct {
	const char *what;
	int code;
	size_t count;
	const char *last; /* the last GPU's name; NULL: it has none */
} rows[] = {
	{"0", 0, 0, NULL},
	{"1", 0, 1, NULL},
	{"8xH100", 0, 8, "H100"},
	{"2xA100+1xT1000", 0, 3, "T1000"},
	{"1xa+0xb+1x c x ", 0, 2, " c x "},
	{"65536", 0, 65536, NULL},
	{"65537", GPUMAP_ELIMIT, 0, NULL},
	{"99999999999999999999", GPUMAP_EINPUT, 0, NULL},
	{"65535xA+2xB", GPUMAP_ELIMIT, 0, NULL},
	{"8x", GPUMAP_EINPUT, 0, NULL},
	{"8xH100+", GPUMAP_EINPUT, 0, NULL},
	{"8xH100+x", GPUMAP_EINPUT, 0, NULL},
	{"8xH100,1", GPUMAP_EINPUT, 0, NULL},
	{"8xRTX 3090", 0, 8, "RTX 3090"},
	{"2xH100 6xA100", GPUMAP_EINPUT, 0, NULL},
	{"2xH100;6xA100", GPUMAP_EINPUT, 0, NULL},
	{"2+6xA100", 0, 8, "A100"},
	{"2,6xA100", GPUMAP_EINPUT, 0, NULL},
	{"8 xH100", GPUMAP_EFILE, 0, NULL},
	{"8xH100/", GPUMAP_EFILE, 0, NULL},
	{"H100", GPUMAP_EFILE, 0, NULL},
	{"", GPUMAP_EFILE, 0, NULL},
	{"/", GPUMAP_EFILE, 0, NULL},
};

START_TEST(open_what)
{
	gpumap_inventory *inventory = NULL;
	const char *name = rows[_i].what;
	size_t count;

	ROW_EQ_INT(name, gpumap_inventory_open(&inventory, name, NULL), rows[_i].code);
	ck_assert_msg(!inventory == (rows[_i].code != 0), "%s: the output", name);
	count = gpumap_inventory_count(inventory);
	ROW_EQ_INT(name, count, rows[_i].count);
	ROW_EQ_STR(
		name,
		gpumap_device_str(gpumap_inventory_get(inventory, count - 1), GPUMAP_DEVICE_NAME),
		rows[_i].last);
	if (inventory) {
		ROW_EQ_INT(name, gpumap_inventory_int(inventory, GPUMAP_INVENTORY_ASSUMED), 1);
		ROW_EQ_STR(name, gpumap_inventory_str(inventory, GPUMAP_INVENTORY_ORIGIN), name);
	}
	gpumap_inventory_free(inventory);
}
END_TEST

/* MiB; -1: not known. */
static const struct {
	const char *name;
	int mib;
} models[] = {
	{"H100", 81559},
	{"h100", 81559},
	{"NVIDIA H100 80GB HBM3", 81559},
	{"NVIDIA H100 PCIe", 81559},
	{"NVIDIA H100 NVL", 95830},
	{"H200", 143771},
	{"A100", 81920},
	{"NVIDIA A100-SXM4-40GB", 40960},
	{"A100-PCIE-40GB", 40960},
	{"A100 80G", 81920},
	{"NVIDIA A100-SXM4-60GB", -1},
	{"A1000", -1},
	{"NVIDIA A10G", 23028},
	{"NVIDIA A40", 46068},
	{"NVIDIA A40-8Q", -1},
	{"GRID T4-16Q", -1},
	{"Tesla T4", 15360},
	{"Tesla V100-SXM2-32GB", 32768},
	{"Tesla V100-DGXS-32GB", 32768},
	{"NVIDIA GeForce RTX 3090", 24576},
	{"RTX3090", 24576},
	{"RTX-3090", 24576},
	{"NVIDIA GeForce RTX 4070 Ti SUPER", 16376},
	{"NVIDIA GeForce RTX 4070 Ti", 12282},
	{"NVIDIA GeForce RTX 4090 Laptop GPU", -1},
	{"NVIDIA RTX 6000 Ada Generation", 49140},
	{"Quadro RTX 6000", 24576},
	{"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 97887},
	{"NVIDIA GH200 480GB", 97871},
	{"T1000", 4096},
	{"NVIDIA T1000 8GB", -1},
	{"NVIDIA A100 40GB", 40960},
	{"NVIDIA A800-SXM4-80GB", 81920},
	{"NVIDIA A800-SXM4-40GB", -1},
	{"Tesla M40 24GB", 24576},
	{"Tesla M40", -1},
	{"Tesla M60", 7680},
	{"Tesla P4", 7611},
	{"Tesla P40", 24576},
	{"NVIDIA TITAN V", 12066},
	{"TITAN Xp", 12196},
	{"NVIDIA GeForce RTX 3080", 10240},
	{"NVIDIA GeForce RTX 5060 Ti", 16311},
	{"GPU", -1},
	{"80GB", -1},
	{"", -1},
	{NULL, -1},
};

START_TEST(model_memories)
{
	int64_t bytes = model_memory(models[_i].name);

	ROW_EQ_INT(models[_i].name ? models[_i].name : "none",
		   (int)(bytes < 0 ? bytes : bytes >> 20), models[_i].mib);
}
END_TEST

START_TEST(assume)
{
	static const struct {
		int count, code;
	} counts[] = {{0, 0}, {3, 0}, {65536, 0}, {65537, GPUMAP_ELIMIT}, {-1, GPUMAP_EINPUT}};
	gpumap_inventory *inventory = NULL;
	char name[16];

	snprintf(name, sizeof(name), "%d", counts[_i].count);
	ROW_EQ_INT(name, gpumap_inventory_assume(&inventory, counts[_i].count, NULL),
		   counts[_i].code);
	ROW_EQ_INT(name, (int)gpumap_inventory_count(inventory),
		   counts[_i].code ? 0 : counts[_i].count);
	gpumap_inventory_free(inventory);
}
END_TEST

/* A program of a newer library's header must learn that this one is older. */
START_TEST(unknown_flags)
{
	gpumap_inventory *inventory = NULL;
	gpumap_report *report = NULL;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_inventory_probe(&inventory, 13u, NULL, report), GPUMAP_EINPUT);
	ck_assert_ptr_null(inventory);
	ROW_EQ_STR("text", gpumap_finding_str(gpumap_report_get(report, 0), GPUMAP_FINDING_TEXT),
		   "no such flags: 0xc");
	gpumap_report_free(report);
}
END_TEST

/* The host may have GPUs or none, but it is always looked at. */
START_TEST(host)
{
	gpumap_inventory *inventory = NULL;

	ck_assert_int_eq(gpumap_inventory_open(&inventory, "host", NULL), GPUMAP_OK);
	ck_assert_ptr_nonnull(gpumap_inventory_str(inventory, GPUMAP_INVENTORY_DATE));
	ck_assert_int_eq(gpumap_inventory_int(inventory, GPUMAP_INVENTORY_ASSUMED), 0);
	gpumap_inventory_free(inventory);
}
END_TEST

/* A file of the largest size is read, and one byte more is not. */
START_TEST(largest_file)
{
	static const int codes[] = {GPUMAP_EINPUT, GPUMAP_ELIMIT}; /* it holds zeros alone */
	char path[] = "/tmp/gpumap-open-XXXXXX";
	gpumap_inventory *inventory = NULL;
	int fd = mkstemp(path), r;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)GPUMAP_MAX_FILE + _i), 0);
	r = gpumap_inventory_read(&inventory, path, NULL);
	close(fd);
	unlink(path);
	ROW_EQ_INT(_i ? "one more" : "largest", r, codes[_i]);
	ck_assert_ptr_null(inventory);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("open");
	TCase *tests = tcase_create("open");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, open_what, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_loop_test(tests, assume, 0, 5);
	tcase_add_loop_test(tests, model_memories, 0, (int)ARRAY_SIZE(models));
	tcase_add_test(tests, unknown_flags);
	tcase_add_test(tests, host);
	tcase_add_loop_test(tests, largest_file, 0, 2);
	return unit_run(suite);
}
