/* SPDX-License-Identifier: MIT */
/* Reading snapshots. */
#include "snapshots.h"

#define HEAD "[snapshot]\nschema = 1\n"
#define T(literal) \
	{ \
		literal, sizeof(literal) - 1 \
	}

static const struct {
	const char *name;
	struct span text;
	const char *want;
} bad_rows[] = {
	{"no schema", T("[snapshot]\n[gpu 0]\n"),
	 "1:-1 the snapshot has no schema; write schema = 1 into [snapshot]|"},
	{"newer", T("[snapshot]\nschema = 3\nnews = 1\n[card 0]\nx = 1\n"),
	 "2:10 schema 3 is newer than this gpumap, which knows 2; use a newer gpumap, or record "
	 "the machine again|"},
	{"odd schema", T("[snapshot]\nschema = one\n"),
	 "2:10 no such schema: 'one'; write schema = 1|"},
	{"schema 0", T("[snapshot]\nschema = 0\n"), "2:10 no such schema: '0'; write schema = 1|"},
	{"unknown key", T(HEAD "drvier = 1\n"),
	 "3:1 unknown key 'drvier' in [snapshot]; did you mean driver?|"},
	{"foreign key", T(HEAD "[gpu 0]\n  fan_speed = 1\n"),
	 "4:3 unknown key 'fan_speed' in [gpu 0]; start your own keys with x_|"},
	{"key twice", T(HEAD "[gpu 0]\nname = a\nname = b\n"),
	 "5:1 'name' was given on line 4 already; keep one of the two|"},
	{"head twice", T(HEAD "[snapshot]\n"),
	 "3:1 a second [snapshot]; record one machine at a time|"},
	{"gpu twice", T(HEAD "[gpu 0]\n[gpu 1]\n[gpu 0]\n"),
	 "5:1 [gpu 0] stands on line 3 already; give each GPU one section|"},
	{"unknown section", T(HEAD "[gpus 0]\n"),
	 "3:1 unknown section [gpus 0]; did you mean [gpu N]?|"},
	{"foreign section", T(HEAD "[network]\n"),
	 "3:1 unknown section [network]; sections of your own begin with x_|"},
	{"odd number", T(HEAD "[gpu one]\n"),
	 "3:1 no number of a GPU: 'one'; write [gpu N], N from 0 to 2147483647|"},
	{"large number", T(HEAD "[gpu 2147483648]\n"),
	 "3:1 no number of a GPU: '2147483648'; write [gpu N], N from 0 to 2147483647|"},
	{"mig without gpu", T(HEAD "[gpu 0]\n[mig 1:0]\n"),
	 "4:1 [mig 1:0] does not follow [gpu 1]; put it after its [gpu N]|"},
	{"mig first", T(HEAD "[mig 0:0]\n"),
	 "3:1 [mig 0:0] does not follow [gpu 0]; put it after its [gpu N]|"},
	{"mig twice", T(HEAD "[gpu 0]\n[mig 0:0]\n[mig 0:0]\n"),
	 "5:1 [mig 0:0] where [mig 0:1] is due; number a GPU's instances from 0 on|"},
	{"mig odd", T(HEAD "[gpu 0]\n[mig 0]\n"),
	 "4:1 no number of a MIG instance: '0'; write [mig N:i], the i-th instance of GPU N|"},
	{"process first", T(HEAD "[process 0:0]\n"),
	 "3:1 [process 0:0] does not follow [gpu 0]; put it after its [gpu N]|"},
	{"process without gpu", T(HEAD "[gpu 0]\n[process 1:0]\n"),
	 "4:1 [process 1:0] does not follow [gpu 1]; put it after its [gpu N]|"},
	{"process twice", T(HEAD "[gpu 0]\n[process 0:0]\npid=1\n[process 0:0]\npid=1\n"),
	 "6:1 [process 0:0] where [process 0:1] is due; number a GPU's processes from 0 on|"},
	{"process odd", T(HEAD "[gpu 0]\n[process 0:x]\n"),
	 "4:1 no number of a process: '0:x'; write [process N:k], the k-th process of GPU N|"},
	{"process without pid", T(HEAD "[gpu 7]\n[process 7:0]\n"),
	 "-1:-1 [process 7:0] has no pid; write pid = NUMBER|"},
	{"process on no instance", T(HEAD "[gpu 7]\n[process 7:0]\npid = 1\nmig = 0\n"),
	 "-1:-1 [process 7:0] is on MIG 0, which is not in the snapshot; write the i of a "
	 "[mig N:i]|"},
	{"processes, misspelt", T(HEAD "[gpu 0]\n[proces 0:0]\n"),
	 "4:1 unknown section [proces 0:0]; did you mean [process N:k]?|"},
	{"bad pid", T(HEAD "[gpu 0]\n[process 0:0]\npid = 4294967296\n"),
	 "5:7 'pid' is not a number from 0 to 4294967295: '4294967296'|"},
	{"bad types", T(HEAD "[gpu 0]\n[process 0:0]\npid = 1\ntypes = compute,,mps\n"),
	 "6:9 'types' is not a list of compute, graphics and mps: 'compute,,mps'|"},
	{"bad start", T(HEAD "[gpu 0]\n[process 0:0]\npid = 1\nstart = 2026-02-30T10:00:00Z\n"),
	 "6:9 'start' is not a time such as 2026-11-21T10:00:00Z: '2026-02-30T10:00:00Z'|"},
	{"bad time", T(HEAD "[gpu 0]\n[process 0:0]\npid = 1\nactive = never\n"),
	 "6:10 'active' is not a time such as 2026-11-21T10:00:00Z, or none: 'never'|"},
	{"cut start", T(HEAD "[gpu 0]\n[process 0:0]\npid = 1\nstart = 2026-02-03T10:00\n"),
	 "6:9 'start' is not a time such as 2026-11-21T10:00:00Z: '2026-02-03T10:00'|"},
	{"bad mode", T(HEAD "[gpu 0]\ncompute_mode = 3\n"),
	 "4:16 'compute_mode' is not default, exclusive-thread, prohibited or "
	 "exclusive-process: '3'|"},
	{"bad processes", T(HEAD "[gpu 0]\nprocesses = 3\n"),
	 "4:13 'processes' is not all, some or none: '3'|"},
	{"bad uuid", T(HEAD "[gpu 0]\nuuid = 0\n"),
	 "4:8 'uuid' is not a UUID that begins with GPU-: '0'|"},
	{"mig's uuid", T(HEAD "[gpu 0]\n[mig 0:0]\nuuid = GPU-1\n"),
	 "5:8 'uuid' is not a UUID that begins with MIG-: 'GPU-1'|"},
	{"bad pci", T(HEAD "[gpu 0]\npci = 7\n"),
	 "4:7 'pci' is not a PCI address such as 0000:07:00.0: '7'|"},
	{"bad memory", T(HEAD "[gpu 0]\nmemory = 80 GiB\n"),
	 "4:10 'memory' is not a number of bytes, digits alone: '80 GiB'|"},
	{"large memory", T(HEAD "[gpu 0]\nmemory = 9223372036854775808\n"),
	 "4:10 'memory' is not a number of bytes, digits alone: '9223372036854775808'|"},
	{"negative minor", T(HEAD "[gpu 0]\nminor = -1\n"),
	 "4:9 'minor' is not a number from 0 to 2147483647: '-1'|"},
	{"bad cpus", T(HEAD "[gpu 0]\ncpus = 0-\n"),
	 "4:8 'cpus' is not a list such as 0-31,64-95: '0-'|"},
	{"falling range", T(HEAD "[gpu 0]\nnuma = 1-0\n"),
	 "4:8 'numa' is not a list such as 0-31,64-95: '1-0'|"},
	{"bad flag", T(HEAD "partial = true\n"), "3:11 'partial' is not yes or no: 'true'|"},
	{"bad enabled", T(HEAD "[gpu 0]\nmig_enabled = 1\n"),
	 "4:15 'mig_enabled' is not yes, no or unknown: '1'|"},
	{"bad nvlink", T(HEAD "[gpu 0]\nnvlink = 1,,2\n"),
	 "4:10 'nvlink' is not a list of GPU numbers such as 1,2,3, or none: '1,,2'|"},
	{"order past the end", T(HEAD "cuda_fastest = 1,2\n[gpu 0]\n[gpu 1]\n"),
	 "3:16 'cuda_fastest' is not at most one number for each GPU, counted from 0, such as "
	 "2,0-1,?: '1,2'|"},
	{"order too long", T(HEAD "cuda_pci = 0,0\n[gpu 0]\n"),
	 "3:12 'cuda_pci' is not at most one number for each GPU, counted from 0, such as "
	 "2,0-1,?: '0,0'|"},
	{"one uuid twice", T(HEAD "[gpu 0]\nuuid=GPU-1\n[gpu 1]\nuuid=GPU-1\n"),
	 "-1:-1 two GPUs have the UUID GPU-1; record one machine at a time|"},
	{"all together", T(HEAD "dat = 1\n[gpu x]\nname = a\n[gpu 0]\nminor = x\nnmae = b\n"),
	 "3:1 unknown key 'dat' in [snapshot]; did you mean date?|"
	 "4:1 no number of a GPU: 'x'; write [gpu N], N from 0 to 2147483647|"
	 "7:9 'minor' is not a number from 0 to 2147483647: 'x'|"
	 "8:1 unknown key 'nmae' in [gpu 0]; did you mean name?|"},
	{"nul", T(HEAD "[gpu 0]\nname = a\0b\n"),
	 "4:9 a NUL byte (\\x00); remove it, or write it as \\xNN inside \"...\"|"},
};

START_TEST(bad_snapshots)
{
	gpumap_inventory *inventory = NULL;
	gpumap_report *report;
	char *got;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ROW_EQ_INT(bad_rows[_i].name,
		   snapshot_parse(&inventory, bad_rows[_i].text, "m.ini", report), GPUMAP_EINPUT);
	ck_assert_ptr_null(inventory);
	got = messages(report);
	ROW_EQ_STR(bad_rows[_i].name, got, bad_rows[_i].want);
	ROW_EQ_INT(bad_rows[_i].name, snapshot_parse(&inventory, bad_rows[_i].text, NULL, NULL),
		   GPUMAP_EINPUT);
	free(got);
	gpumap_report_free(report);
}
END_TEST

static const struct {
	const char *text;
	bool want;
} recognise_rows[] = {
	{"[snapshot]\n", true},
	{"[snapshot]", true},
	{"\xef\xbb\xbf# c\r\n\r\n; d\r\n  [ snapshot ] # e\r\n", true},
	{"", false},
	{"# only\n", false},
	{"[snapshots]\n", false},
	{"[gpu 0]\n[snapshot]\n", false},
	{"GPU 0: x\n[snapshot]\n", false},
};

START_TEST(recognising)
{
	ROW_EQ_INT(recognise_rows[_i].text, snapshot_recognise(span_of(recognise_rows[_i].text)),
		   recognise_rows[_i].want);
}
END_TEST

START_TEST(written_by_hand)
{
	gpumap_inventory *inventory = parse(
		"\xef\xbb\xbf; by hand\r\n[snapshot]\r\n  schema = 1\r\n  x_rack = "
		"7\r\n[x_site]\r\n"
		"any = thing\r\n[gpu 3]\r\n  pci = 0000:C1:00.0\r\n name = 'A \"B\" ; C' # c\r\n"
		"[mig 3:0]\r\nuuid = MIG-1\r\n[gpu 1]\r\nname =\r\nnvlink = 3\r\n");
	const gpumap_device *gpu = gpumap_inventory_get(inventory, 1);

	ck_assert_str_eq(gpumap_inventory_str(inventory, GPUMAP_INVENTORY_SOURCE), "snapshot");
	ck_assert_str_eq(gpumap_inventory_str(inventory, GPUMAP_INVENTORY_ORIGIN), "m.ini");
	ck_assert_uint_eq(gpumap_inventory_count(inventory), 2);
	ck_assert_ptr_null(
		gpumap_device_str(gpumap_inventory_get(inventory, 0), GPUMAP_DEVICE_NAME));
	ck_assert_int_eq(gpumap_device_int(gpu, GPUMAP_DEVICE_INDEX), 3);
	ck_assert_str_eq(gpumap_device_str(gpu, GPUMAP_DEVICE_PCI), "0000:c1:00.0");
	ck_assert_str_eq(gpumap_device_str(gpu, GPUMAP_DEVICE_NAME), "A \"B\" ; C");
	ck_assert_int_eq(gpumap_device_int(gpu, GPUMAP_DEVICE_MIG_ENABLED), 1);
	gpumap_inventory_free(inventory);
}
END_TEST

START_TEST(neighbour_that_is_not_there)
{
	gpumap_inventory *inventory = NULL;
	gpumap_report *report;
	char *got;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(snapshot_parse(&inventory, span_of(HEAD "[gpu 0]\nnvlink = 4,5\n"),
					"m.ini", report),
			 GPUMAP_OK);
	got = messages(report);
	ck_assert_str_eq(got, "-1:-1 GPU 0 has an NVLink to GPU 4, which is not in the snapshot|");
	free(got);
	gpumap_report_free(report);
	gpumap_inventory_free(inventory);
}
END_TEST

START_TEST(limits)
{
	struct strbuf buf = {0};
	gpumap_inventory *inventory = NULL;
	char *text;

	strbuf_puts(&buf, HEAD);
	for (int i = GPUMAP_MAX_DEVICES - 1; i >= 0; i--)
		strbuf_printf(&buf, "[gpu %d]\nname = M\n", i);
	if (_i == 1)
		strbuf_puts(&buf, "[gpu 65536]\n");
	for (int i = 0; i < (_i == 2 ? 65 : 64); i++)
		strbuf_printf(&buf, "[mig 0:%d]\n", i);
	text = strbuf_take(&buf);
	ck_assert_int_eq(snapshot_parse(&inventory, span_of(text), "m.ini", NULL),
			 _i ? GPUMAP_ELIMIT : GPUMAP_OK);
	gpumap_inventory_free(inventory);
	free(text);
}
END_TEST

/* --- CUDA's order ------------------------------------------------------------------ */

static const struct {
	const char *name, *text;
	int fastest, pci; /* of CUDA's device 0 */
} order_rows[] = {
	{"empty", HEAD, -1, -1},
	{"one", HEAD "[gpu 0]\n", 0, 0},
	{"one model", HEAD "[gpu 0]\nname=A\n[gpu 1]\nname=A\n", 0, 0},
	{"unnamed", HEAD "[gpu 0]\n[gpu 1]\n", 0, 0},
	{"two models", HEAD "[gpu 0]\nname=A\n[gpu 1]\nname=B\n", -1, 0},
	{"two sizes", HEAD "[gpu 0]\nname=A\nmemory=8\n[gpu 1]\nname=A\nmemory=16\n", -1, 0},
	{"measured", HEAD "cuda_fastest=1,0\n[gpu 0]\nname=A\n[gpu 1]\nname=B\n", 1, 0},
	{"measured, not found", HEAD "cuda_fastest=?,0\n[gpu 0]\n[gpu 1]\n", -1, 0},
	{"no index", HEAD "[gpu 0]\nindex=unknown\npci=2:0.0\n[gpu 1]\nindex=unknown\npci=1:0.0\n",
	 1, 1},
	{"long domains",
	 HEAD
	 "[gpu 0]\nindex=unknown\npci=10000:01:00.0\n[gpu 1]\nindex=unknown\npci=2000:01:00.0\n",
	 1, 1},
	{"no index, no address", HEAD "[gpu 0]\nindex=unknown\n[gpu 1]\nindex=unknown\n", -1, -1},
};

START_TEST(cuda_orders)
{
	gpumap_inventory *inventory = parse(order_rows[_i].text);
	const char *name = order_rows[_i].name;

	ROW_EQ_INT(name, gpumap_inventory_cuda_position(inventory, GPUMAP_ORDER_FASTEST, 0),
		   order_rows[_i].fastest);
	ROW_EQ_INT(name, gpumap_inventory_cuda_position(inventory, GPUMAP_ORDER_PCI, 0),
		   order_rows[_i].pci);
	ROW_EQ_INT(name, gpumap_inventory_cuda_position(inventory, GPUMAP_ORDER_PCI, 2), -1);
	ROW_EQ_INT(name, gpumap_inventory_cuda_position(inventory, (enum gpumap_order)2, 0), -1);
	ROW_EQ_INT(name, gpumap_inventory_cuda_position(NULL, GPUMAP_ORDER_PCI, 0), -1);
	gpumap_inventory_free(inventory);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("snapshot");
	TCase *tests = tcase_create("reading");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, bad_snapshots, 0, ARRAY_SIZE(bad_rows));
	tcase_add_loop_test(tests, recognising, 0, ARRAY_SIZE(recognise_rows));
	tcase_add_test(tests, written_by_hand);
	tcase_add_test(tests, neighbour_that_is_not_there);
	tcase_add_loop_test(tests, limits, 0, 3);
	tcase_add_loop_test(tests, cuda_orders, 0, ARRAY_SIZE(order_rows));
	return unit_run(suite);
}
