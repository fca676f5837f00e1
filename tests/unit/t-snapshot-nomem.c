/* SPDX-License-Identifier: MIT */
/* Every allocation that reading, saving and asking make may fail. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failing_malloc.h"
#include "inventory/driver.h"
#include "inventory/inventory.h"
#include "unit.h"

static const char text[] = "[snapshot]\nschema = 2\nsource = nvml\ncuda_fastest = 1,0\n"
			   "[gpu 0]\nuuid = GPU-0\nname = \"a \\\" b\"\nnvlink = 1\npci = 1:0.0\n"
			   "[mig 0:0]\nuuid = MIG-0\nprofile = p\n"
			   "[process 0:0]\npid = 4\nuser = \"a b\"\ncommand = c\ncontainer = d\n"
			   "[gpu 1]\ncpus = 0-3\n";

static int parse(gpumap_inventory **ret, gpumap_report *report)
{
	return snapshot_parse(ret, span_of(text), "m.ini", report);
}

START_TEST(parsing)
{
	for (size_t n = 1;; n++) {
		gpumap_inventory *inventory = NULL;
		int r;

		allocations_fail_at(n);
		r = parse(&inventory, NULL);
		allocations_fail_at(0);
		if (r == GPUMAP_OK && !allocations_failed()) {
			ck_assert_int_gt((int)n, 10);
			gpumap_inventory_free(inventory);
			break;
		}
		ck_assert_msg(r == GPUMAP_ENOMEM && !inventory, "allocation %zu: %d", n, r);
	}
}
END_TEST

START_TEST(saving)
{
	char path[] = "/tmp/gpumap-nomem-XXXXXX";
	gpumap_inventory *inventory = NULL;

	ck_assert_int_eq(parse(&inventory, NULL), GPUMAP_OK);
	ck_assert_int_eq(close(mkstemp(path)), 0);
	for (size_t n = 1;; n++) {
		int r;

		allocations_fail_at(n);
		r = gpumap_inventory_save(inventory, path, NULL);
		allocations_fail_at(0);
		if (r == GPUMAP_OK && !allocations_failed())
			break;
		ck_assert_msg(r == GPUMAP_ENOMEM, "allocation %zu: %d", n, r);
	}
	ck_assert_int_eq(unlink(path), 0);
	gpumap_inventory_free(inventory);
}
END_TEST

START_TEST(asking)
{
	char path[] = "/tmp/gpumap-nomem-XXXXXX";
	gpumap_inventory *inventory = NULL;
	int fd = mkstemp(path);

	ck_assert_int_eq(parse(&inventory, NULL), GPUMAP_OK);
	dprintf(fd, "#!/bin/sh\nprintf 'gpumap-ask-driver\\t1\\nend\\t0\\n'\n");
	ck_assert_int_eq(fchmod(fd, 0755), 0);
	ck_assert_int_eq(close(fd), 0);
	for (size_t n = 1;; n++) {
		int r;

		allocations_fail_at(n);
		r = driver_order(inventory, path, DRIVER_PATIENCE, NULL);
		allocations_fail_at(0);
		if (r == GPUMAP_OK && !allocations_failed())
			break;
		ck_assert_msg(r == GPUMAP_ENOMEM, "allocation %zu: %d", n, r);
		ck_assert_int_eq(inventory->order[GPUMAP_ORDER_FASTEST][0], 1);
	}
	ck_assert_int_eq(unlink(path), 0);
	gpumap_inventory_free(inventory);
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("snapshot without memory");
	tests = tcase_create("nomem");
	suite_add_tcase(suite, tests);
	tcase_add_test(tests, parsing);
	tcase_add_test(tests, saving);
	tcase_add_test(tests, asking);
	return unit_run(suite);
}
