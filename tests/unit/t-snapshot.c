/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <dirent.h>

#include "inifile.h"
#include "inventory/inventory.h"
#include "strbuf.h"
#include "unit.h"

/* --- reading ---------------------------------------------------------------- */

#define HEAD "[snapshot]\nschema = 1\n"
#define T(literal) \
	{ \
		literal, sizeof(literal) - 1 \
	}

/* Findings as "line:column text; fix", one after the other. */
static char *messages(gpumap_report *report)
{
	struct strbuf buf = {0};

	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);
		const char *fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX);

		strbuf_printf(&buf, "%d:%d %s%s%s|",
			      (int)gpumap_finding_int(f, GPUMAP_FINDING_LINE),
			      (int)gpumap_finding_int(f, GPUMAP_FINDING_COLUMN),
			      gpumap_finding_str(f, GPUMAP_FINDING_TEXT), fix ? "; " : "",
			      fix ? fix : "");
	}
	return strbuf_take(&buf);
}

static const struct {
	const char *name;
	struct span text;
	const char *want;
} bad_rows[] = {
	{"no schema", T("[snapshot]\n[gpu 0]\n"),
	 "1:-1 the snapshot does not say its schema; write schema = 1 into [snapshot]|"},
	{"newer", T("[snapshot]\nschema = 2\nnews = 1\n[card 0]\nx = 1\n"),
	 "2:10 schema 2 is newer than this gpumap, which knows 1; use a newer gpumap, or record "
	 "the machine again|"},
	{"odd schema", T("[snapshot]\nschema = one\n"),
	 "2:10 no such schema: 'one'; write schema = 1|"},
	{"schema 0", T("[snapshot]\nschema = 0\n"), "2:10 no such schema: '0'; write schema = 1|"},
	{"unknown key", T(HEAD "drvier = 1\n"),
	 "3:1 unknown key 'drvier' in [snapshot]; did you mean driver?|"},
	{"foreign key", T(HEAD "[gpu 0]\n  temperature = 1\n"),
	 "4:3 unknown key 'temperature' in [gpu 0]; names of your own begin with x_|"},
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
	 "4:1 [mig 1:0] does not stand behind [gpu 1]; put it behind its [gpu N]|"},
	{"mig first", T(HEAD "[mig 0:0]\n"),
	 "3:1 [mig 0:0] does not stand behind [gpu 0]; put it behind its [gpu N]|"},
	{"mig twice", T(HEAD "[gpu 0]\n[mig 0:0]\n[mig 0:0]\n"),
	 "5:1 [mig 0:0] where [mig 0:1] is due; number a GPU's instances from 0 on|"},
	{"mig odd", T(HEAD "[gpu 0]\n[mig 0]\n"),
	 "4:1 no number of a MIG instance: '0'; write [mig N:i], the i-th instance of GPU N|"},
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

static gpumap_inventory *parse(const char *text)
{
	gpumap_inventory *inventory = NULL;
	gpumap_report *report;
	char *got;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	if (snapshot_parse(&inventory, span_of(text), "m.ini", report) != GPUMAP_OK) {
		got = messages(report);
		ck_abort_msg("%s", got);
	}
	gpumap_report_free(report);
	return inventory;
}

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

/* --- saving and reading back -------------------------------------------------- */

static void same_device(const char *row, const gpumap_device *a, const gpumap_device *b)
{
	ROW_EQ_INT(row, b->index, a->index);
	ROW_EQ_INT(row, b->physical, a->physical);
	ROW_EQ_INT(row, b->mig_position, a->mig_position);
	ROW_EQ_STR(row, b->uuid, a->uuid);
	ROW_EQ_STR(row, b->pci, a->pci);
	ROW_EQ_STR(row, b->name, a->name);
	ROW_EQ_STR(row, b->numa, a->numa);
	ROW_EQ_STR(row, b->cpus, a->cpus);
	ROW_EQ_INT(row, b->memory, a->memory);
	ROW_EQ_INT(row, b->minor, a->minor);
	ROW_EQ_INT(row, b->mig_enabled, a->mig_enabled);
	ROW_EQ_INT(row, b->nvlink_count, a->nvlink_count);
	for (int i = 0; i < a->nvlink_count; i++)
		ROW_EQ_INT(row, b->nvlink[i], a->nvlink[i]);
	ROW_EQ_STR(row, b->profile, a->profile);
	ROW_EQ_INT(row, b->gi, a->gi);
	ROW_EQ_INT(row, b->ci, a->ci);
	ROW_EQ_INT(row, b->mig_count, a->mig_count);
	for (size_t i = 0; i < a->mig_count; i++)
		same_device(row, &a->mig[i], &b->mig[i]);
}

static void same_inventory(const char *row, const gpumap_inventory *a, const gpumap_inventory *b)
{
	ROW_EQ_INT(row, b->count, a->count);
	for (size_t i = 0; i < a->count; i++)
		same_device(row, &a->gpus[i], &b->gpus[i]);
	ROW_EQ_STR(row, b->source, a->source);
	ROW_EQ_STR(row, b->driver, a->driver);
	ROW_EQ_STR(row, b->host, a->host);
	ROW_EQ_STR(row, b->date, a->date);
	ROW_EQ_INT(row, b->assumed, a->assumed);
	ROW_EQ_INT(row, b->partial, a->partial);
	ROW_EQ_INT(row, b->unlisted, a->unlisted);
	for (int k = 0; k < 2; k++) {
		ROW_EQ_INT(row, !b->order[k], !a->order[k]);
		for (size_t i = 0; a->order[k] && i < a->count; i++)
			ROW_EQ_INT(row, b->order[k][i], a->order[k][i]);
	}
}

static void set_text(char **member, const char *value)
{
	ck_assert(member_set(member, span_of(value)));
}

static void set_order(gpumap_inventory *inventory, int which, const int *order)
{
	size_t size = inventory->count * sizeof(*order);

	inventory->order[which] = malloc(size + 1);
	ck_assert_ptr_nonnull(inventory->order[which]);
	memcpy(inventory->order[which], order, size);
}

static gpumap_inventory *make(const char *source)
{
	gpumap_inventory *inventory = inventory_new(source, "here");

	ck_assert_ptr_nonnull(inventory);
	return inventory;
}

static gpumap_inventory *add(gpumap_inventory *inventory, int index, const char *name)
{
	gpumap_device *gpu = inventory_add(inventory);

	ck_assert_ptr_nonnull(gpu);
	gpu->index = index;
	if (name)
		set_text(&gpu->name, name);
	return inventory;
}

static gpumap_inventory *finish(gpumap_inventory *inventory)
{
	ck_assert_int_eq(inventory_finish(inventory, NULL), GPUMAP_OK);
	return inventory;
}

static gpumap_inventory *make_empty(void)
{
	gpumap_inventory *inventory = finish(make("nvml"));
	int none = 0;

	set_order(inventory, 0, &none);
	free(inventory->order[0]); /* an order of no GPUs is none */
	inventory->order[0] = NULL;
	return inventory;
}

static gpumap_inventory *make_assumed(void)
{
	gpumap_inventory *inventory = NULL;

	ck_assert_int_eq(gpumap_inventory_assume(&inventory, 8, NULL), GPUMAP_OK);
	inventory->unlisted = true;
	return inventory;
}

static gpumap_inventory *make_synthetic(void)
{
	gpumap_inventory *inventory = NULL;

	ck_assert_int_eq(synthetic_parse(&inventory, span_of("2xA100+1xT1000"), NULL), GPUMAP_OK);
	return inventory;
}

static gpumap_inventory *make_full(void)
{
	gpumap_inventory *inventory = make("nvidia-smi -L");
	const int fastest[] = {2, 0, 1}, pci[] = {0, 1, -1};

	for (int i = 0; i < 3; i++) {
		gpumap_device *gpu;
		char text[64];

		add(inventory, i, "NVIDIA H100 80GB HBM3");
		gpu = &inventory->gpus[i];
		snprintf(text, sizeof(text), "GPU-0a0b0c0%d-0000-4000-8000-00000000000%d", i, i);
		set_text(&gpu->uuid, text);
		snprintf(text, sizeof(text), "0000:%02x:00.0", 0x1b + i);
		set_text(&gpu->pci, text);
		set_text(&gpu->numa, i ? "0-1" : "0");
		set_text(&gpu->cpus, "0-31,64-95");
		gpu->memory = 85520809984 + i;
		gpu->minor = 2 - i;
		gpu->mig_enabled = 0;
		ck_assert(device_set_nvlink(gpu, (const int[]){0, 1, 2}, (size_t)i));
	}
	set_text(&inventory->driver, "570.124.06");
	set_text(&inventory->host, "tux01");
	set_text(&inventory->date, "2026-11-21T10:00:00Z");
	inventory->partial = true;
	finish(inventory);
	set_order(inventory, GPUMAP_ORDER_FASTEST, fastest);
	set_order(inventory, GPUMAP_ORDER_PCI, pci);
	return inventory;
}

static gpumap_inventory *make_mig(void)
{
	gpumap_inventory *inventory = make("nvml");

	for (int i = 0; i < 4; i++) {
		add(inventory, i, "A");
		for (int k = 0; k < i; k++) {
			gpumap_device *mig = device_add_mig(&inventory->gpus[i]);

			ck_assert_ptr_nonnull(mig);
			if (k)
				set_text(&mig->uuid,
					 "MIG-GPU-0a0b0c00-0000-4000-8000-000000000000/1/0");
			set_text(&mig->profile, "1c.3g.40gb+me");
			mig->memory = k ? 42949672960 : -1;
			mig->gi = k + 1;
			mig->ci = k ? 0 : -1;
		}
	}
	inventory->gpus[0].mig_enabled = 1;
	inventory->gpus[2].mig_enabled = -1;
	inventory->gpus[3].mig_enabled = 0;
	return finish(inventory);
}

static gpumap_inventory *make_unknown_indices(void)
{
	gpumap_inventory *inventory = make("proc");
	const char *pci[] = {"0001:02:00.0", "0000:01:00.0", "0000:02:00.0", "10000:01:00.0"};

	for (int i = 0; i < 4; i++) {
		add(inventory, -1, NULL);
		set_text(&inventory->gpus[i].pci, pci[i]);
	}
	return finish(inventory);
}

static gpumap_inventory *make_gaps(void)
{
	gpumap_inventory *inventory = make("proc");
	const int index[] = {-1, 5, 0, -1, INT_MAX, 1, -1};

	for (size_t i = 0; i < ARRAY_SIZE(index); i++)
		add(inventory, index[i], NULL);
	return finish(inventory);
}

static gpumap_inventory *make_odd_names(void)
{
	static const char *const names[] = {
		"",
		" ",
		"\"",
		"'",
		"a;b",
		"a ; b # c",
		"back\\slash",
		"Bob's",
		"line\nfeed\r\t\x01",
		"\xe6\x98\xbe\xe5\x8d\xa1",
		"[gpu 9]",
		"unknown",
		"a,b",
		"=",
		"\xc2\x85",
		"?",
		"none",
	};
	gpumap_inventory *inventory = make("odd ; source");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add(inventory, (int)i, names[i]);
	set_text(&inventory->gpus[0].uuid, "GPU-****; \"x\"");
	return finish(inventory);
}

static gpumap_inventory *make_long_name(void)
{
	char *name = malloc(INIFILE_MAX_VALUE + 1);
	gpumap_inventory *inventory;

	ck_assert_ptr_nonnull(name);
	memset(name, 'n', INIFILE_MAX_VALUE);
	name[INIFILE_MAX_VALUE] = '\0';
	inventory = finish(add(make("nvml"), 0, name));
	free(name);
	return inventory;
}

static gpumap_inventory *make_large(void)
{
	gpumap_inventory *inventory = NULL;
	int *order = malloc(GPUMAP_MAX_DEVICES * sizeof(*order));

	ck_assert_ptr_nonnull(order);
	ck_assert_int_eq(gpumap_inventory_assume(&inventory, GPUMAP_MAX_DEVICES, NULL), GPUMAP_OK);
	for (int i = 0; i < GPUMAP_MAX_DEVICES; i++)
		order[i] = i;
	set_order(inventory, GPUMAP_ORDER_PCI, order);
	for (int i = 0; i < GPUMAP_MAX_DEVICES; i++)
		order[i] = -1;
	set_order(inventory, GPUMAP_ORDER_FASTEST, order);
	free(order);
	return inventory;
}

static const struct {
	const char *name;
	gpumap_inventory *(*make)(void);
} trips[] = {
	{"empty", make_empty},
	{"assumed", make_assumed},
	{"synthetic", make_synthetic},
	{"full", make_full},
	{"mig", make_mig},
	{"unknown indices", make_unknown_indices},
	{"gaps", make_gaps},
	{"odd names", make_odd_names},
	{"long name", make_long_name},
	{"large", make_large},
};

/* A folder of the test's own, which is the current one. */
static char folder[64];

static void enter_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/gpumap-t-snapshot-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
}

/* The files of the current folder that are not called "." or "..", removed. */
static int empty_folder(void)
{
	DIR *dir = opendir(".");
	struct dirent *entry;
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		if (streq(entry->d_name, ".") || streq(entry->d_name, ".."))
			continue;
		n++;
		ck_assert_int_eq(remove(entry->d_name), 0);
	}
	closedir(dir);
	return n;
}

static void leave_folder(void)
{
	empty_folder();
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}

static char *slurp(const char *path)
{
	FILE *file = fopen(path, "r");
	struct strbuf buf = {0};
	char piece[4096];
	size_t n;

	ck_assert_msg(file, "%s", path);
	while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
		strbuf_add(&buf, piece, n);
	fclose(file);
	return strbuf_take(&buf);
}

static void save(const gpumap_inventory *inventory, const char *path)
{
	gpumap_report *report;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	if (gpumap_inventory_save(inventory, path, report) != GPUMAP_OK)
		ck_abort_msg("%s", messages(report));
	gpumap_report_free(report);
}

START_TEST(round_trips)
{
	gpumap_inventory *a = trips[_i].make(), *b;
	char *text, *again;

	save(a, "m.ini");
	text = slurp("m.ini");
	ck_assert(snapshot_recognise(span_of(text)));
	b = parse(text);
	same_inventory(trips[_i].name, a, b);
	save(b, "./m.ini"); /* over the old one */
	again = slurp("m.ini");
	ROW_EQ_STR(trips[_i].name, again, text);
	ROW_EQ_INT(trips[_i].name, empty_folder(), 1);
	free(text);
	free(again);
	gpumap_inventory_free(a);
	gpumap_inventory_free(b);
}
END_TEST

START_TEST(looks_like_this)
{
	gpumap_inventory *inventory = make_full();
	char *text;

	inventory->count = 1; /* the rest is freed below */
	save(inventory, "m.ini");
	inventory->count = 3;
	text = slurp("m.ini");
	ck_assert_str_eq(text, "# gpumap snapshot: the GPUs of one machine. To read it: "
			       "gpumap inventory --inventory FILE\n"
			       "[snapshot]\n"
			       "schema = 1\n"
			       "source = nvidia-smi -L\n"
			       "host = tux01\n"
			       "date = 2026-11-21T10:00:00Z\n"
			       "driver = 570.124.06\n"
			       "partial = yes\n"
			       "cuda_fastest = 2\n"
			       "cuda_pci = 0\n"
			       "\n"
			       "[gpu 0]\n"
			       "uuid = GPU-0a0b0c00-0000-4000-8000-000000000000\n"
			       "pci = 0000:1b:00.0\n"
			       "name = NVIDIA H100 80GB HBM3\n"
			       "memory = 85520809984\n"
			       "numa = 0\n"
			       "cpus = 0-31,64-95\n"
			       "minor = 2\n"
			       "mig_enabled = no\n"
			       "nvlink = none\n");
	free(text);
	gpumap_inventory_free(inventory);
}
END_TEST

START_TEST(mode_follows_umask)
{
	gpumap_inventory *inventory = make_full();
	struct stat st;

	umask(027);
	save(inventory, "m.ini");
	ck_assert_int_eq(stat("m.ini", &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0640);
	gpumap_inventory_free(inventory);
}
END_TEST

/* --- what can go wrong when saving ---------------------------------------------- */

static const struct {
	const char *path, *want;
} target_rows[] = {
	{"", "the path names no file; write FOLDER/NAME.ini"},
	{"folder/", "the path names no file; write FOLDER/NAME.ini"},
	{"folder", "it is a folder; write FOLDER/NAME.ini"},
	{"link", "it is a symbolic link; name the file that it points to"},
	{"dangling", "it is a symbolic link; name the file that it points to"},
	{"fifo", "it is no regular file; write to - for standard output"},
	{"/dev/full", "it is no regular file; write to - for standard output"},
	{"none/m.ini", "No such file or directory; make the folder first"},
	{"file/m.ini", "Not a directory; make the folder first"},
	{".", "it is a folder; write FOLDER/NAME.ini"},
};

START_TEST(bad_targets)
{
	gpumap_inventory *inventory = make_full();
	struct strbuf want = {0};
	gpumap_report *report;
	char *got, *text;

	ck_assert_int_eq(mkdir("folder", 0777), 0);
	ck_assert_int_eq(mkfifo("fifo", 0666), 0);
	ck_assert_int_eq(close(open("file", O_CREAT | O_WRONLY, 0666)), 0);
	ck_assert_int_eq(symlink("file", "link"), 0);
	ck_assert_int_eq(symlink("nowhere", "dangling"), 0);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ROW_EQ_INT(target_rows[_i].path,
		   gpumap_inventory_save(inventory, target_rows[_i].path, report), GPUMAP_EFILE);
	got = messages(report);
	strbuf_printf(&want, "-1:-1 cannot write the inventory: %s|", target_rows[_i].want);
	text = strbuf_take(&want);
	ROW_EQ_STR(target_rows[_i].path, got, text);
	ROW_EQ_INT(target_rows[_i].path, empty_folder(), 5);
	free(got);
	free(text);
	gpumap_report_free(report);
	gpumap_inventory_free(inventory);
}
END_TEST

/* Root may write everywhere, so this needs another user. */
START_TEST(unwritable_folder)
{
	gpumap_inventory *inventory = make_full();

	ck_assert_int_eq(chmod(".", 0555), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	ck_assert_int_eq(gpumap_inventory_save(inventory, "m.ini", NULL), GPUMAP_EFILE);
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chmod(".", 0755), 0);
	ck_assert_int_eq(empty_folder(), 0);
	gpumap_inventory_free(inventory);
}
END_TEST

START_TEST(full_disk)
{
	gpumap_inventory *inventory = make_full(), *large = make_large();
	const struct rlimit small = {4096, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
	gpumap_report *report;
	char *before, *after, *got;

	save(inventory, "m.ini");
	before = slurp("m.ini");
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_inventory_save(large, "m.ini", report), GPUMAP_EFILE);
	ck_assert_int_eq(gpumap_inventory_save(large, "new.ini", NULL), GPUMAP_EFILE);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	got = messages(report);
	ck_assert_str_eq(got, "-1:-1 cannot write the inventory: File too large|");
	after = slurp("m.ini");
	ck_assert_str_eq(after, before);
	ck_assert_int_eq(empty_folder(), 1);
	free(got);
	free(before);
	free(after);
	gpumap_report_free(report);
	gpumap_inventory_free(inventory);
	gpumap_inventory_free(large);
}
END_TEST

START_TEST(too_long_name)
{
	gpumap_inventory *inventory = make_long_name();
	gpumap_report *report;
	char *got;

	inventory->gpus[0].name[5] = ';'; /* needs quotes now */
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_inventory_save(inventory, "m.ini", report), GPUMAP_ELIMIT);
	got = messages(report);
	ck_assert_str_eq(got,
			 "-1:-1 cannot save the inventory: 'name' is longer than 65536 bytes|");
	ck_assert_int_eq(empty_folder(), 0);
	free(got);
	gpumap_report_free(report);
	gpumap_inventory_free(inventory);
}
END_TEST

/* A file left by a process that was killed, with our number, is in nobody's way. */
START_TEST(stale_temporary)
{
	gpumap_inventory *inventory = make_full();
	char name[64];

	snprintf(name, sizeof(name), ".gpumap-%ld-0.tmp", (long)getpid());
	ck_assert_int_eq(close(open(name, O_CREAT | O_WRONLY, 0666)), 0);
	save(inventory, "m.ini");
	ck_assert_int_eq(empty_folder(), 2);
	gpumap_inventory_free(inventory);
}
END_TEST

START_TEST(standard_output)
{
	gpumap_inventory *inventory = make_full(), *back;
	int fd = open("out", O_CREAT | O_RDWR, 0666), saved = dup(STDOUT_FILENO);
	char *text;

	ck_assert_int_ge(dup2(fd, STDOUT_FILENO), 0);
	save(inventory, "-");
	ck_assert_int_ge(dup2(saved, STDOUT_FILENO), 0);
	text = slurp("out");
	back = parse(text);
	same_inventory("standard output", inventory, back);
	free(text);
	gpumap_inventory_free(inventory);
	gpumap_inventory_free(back);
}
END_TEST

START_TEST(bad_standard_output)
{
	gpumap_inventory *inventory = make_full();
	int saved = dup(STDOUT_FILENO), ends[2], fd, r;
	gpumap_report *report;
	char *got;

	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(pipe(ends), 0);
	close(ends[0]);
	fd = _i ? open("/dev/full", O_WRONLY) : ends[1];
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_ge(dup2(fd, STDOUT_FILENO), 0);
	r = gpumap_inventory_save(inventory, "-", report);
	ck_assert_int_ge(dup2(saved, STDOUT_FILENO), 0);
	ck_assert_int_eq(r, GPUMAP_EFILE);
	got = messages(report);
	ck_assert_str_eq(got, _i ? "-1:-1 cannot write the inventory: No space left on device; "
				   "free some space, or write to another folder|"
				 : "-1:-1 cannot write the inventory: Broken pipe|");
	free(got);
	gpumap_report_free(report);
	gpumap_inventory_free(inventory);
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
	{"no index, no address", HEAD "[gpu 0]\nindex=unknown\n[gpu 1]\nindex=unknown\n", 0, 0},
};

START_TEST(cuda_orders)
{
	gpumap_inventory *inventory = parse(order_rows[_i].text);
	const char *name = order_rows[_i].name;

	ROW_EQ_INT(name, gpumap_inventory_cuda_order(inventory, GPUMAP_ORDER_FASTEST, 0),
		   order_rows[_i].fastest);
	ROW_EQ_INT(name, gpumap_inventory_cuda_order(inventory, GPUMAP_ORDER_PCI, 0),
		   order_rows[_i].pci);
	ROW_EQ_INT(name, gpumap_inventory_cuda_order(inventory, GPUMAP_ORDER_PCI, 2), -1);
	ROW_EQ_INT(name, gpumap_inventory_cuda_order(inventory, (enum gpumap_order)2, 0), -1);
	ROW_EQ_INT(name, gpumap_inventory_cuda_order(NULL, GPUMAP_ORDER_PCI, 0), -1);
	gpumap_inventory_free(inventory);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("snapshot");
	TCase *reading = tcase_create("reading"), *saving = tcase_create("saving");

	suite_add_tcase(suite, reading);
	tcase_set_timeout(reading, 60);
	tcase_add_loop_test(reading, bad_snapshots, 0, ARRAY_SIZE(bad_rows));
	tcase_add_loop_test(reading, recognising, 0, ARRAY_SIZE(recognise_rows));
	tcase_add_test(reading, written_by_hand);
	tcase_add_test(reading, neighbour_that_is_not_there);
	tcase_add_loop_test(reading, limits, 0, 3);
	tcase_add_loop_test(reading, cuda_orders, 0, ARRAY_SIZE(order_rows));

	suite_add_tcase(suite, saving);
	tcase_set_timeout(saving, 60);
	tcase_add_checked_fixture(saving, enter_folder, leave_folder);
	tcase_add_loop_test(saving, round_trips, 0, ARRAY_SIZE(trips));
	tcase_add_test(saving, looks_like_this);
	tcase_add_test(saving, mode_follows_umask);
	tcase_add_loop_test(saving, bad_targets, 0, ARRAY_SIZE(target_rows));
	tcase_add_test(saving, unwritable_folder);
	tcase_add_test(saving, full_disk);
	tcase_add_test(saving, too_long_name);
	tcase_add_test(saving, stale_temporary);
	tcase_add_test(saving, standard_output);
	tcase_add_loop_test(saving, bad_standard_output, 0, 2);
	return unit_run(suite);
}
