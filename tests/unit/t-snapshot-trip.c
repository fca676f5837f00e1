/* SPDX-License-Identifier: MIT */
/* A snapshot that is saved and read is the same inventory. */
#include <limits.h>

#include "snapshots.h"
#include "text/inifile.h"

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
	free(inventory->order[0]); /* an empty order is not an order */
	inventory->order[0] = NULL;
	return inventory;
}

static gpumap_inventory *make_assumed(void)
{
	gpumap_inventory *inventory = NULL;

	ck_assert_int_eq(gpumap_inventory_assume(&inventory, 8, NULL), GPUMAP_OK);
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
	inventory->doubt = 1;
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

static gpumap_process *add_process(gpumap_device *gpu, int64_t pid, int mig)
{
	gpumap_process *p = device_add_process(gpu);

	ck_assert_ptr_nonnull(p);
	p->pid = pid;
	p->mig = mig;
	p->types = GPUMAP_PROCESS_TYPE_COMPUTE;
	return p;
}

static gpumap_inventory *make_usage(void)
{
	gpumap_inventory *inventory = make_mig();
	gpumap_device *gpu = &inventory->gpus[2];
	gpumap_process *p;

	inventory->usage = true;
	inventory->gpus[0].listed = LISTED_NONE;
	inventory->gpus[1].listed = LISTED_SOME;
	gpu->listed = LISTED_ALL;
	gpu->used = 5ll << 30;
	gpu->free = 0;
	gpu->reserved = 1;
	gpu->utilization = 100;
	gpu->temperature = 83;
	gpu->compute_mode = GPUMAP_COMPUTE_MODE_EXCLUSIVE_PROCESS;
	gpu->mig[0].listed = LISTED_ALL;
	gpu->mig[1].listed = LISTED_SOME;
	gpu->mig[1].used = 7;
	gpu->mig[1].utilization = 3;
	add_process(gpu, UINT32_MAX, 1)->visible = 0;
	add_process(gpu, 0, 0)->types = 7;
	process_set_active(&gpu->processes[gpu->process_count - 1], 0);
	add_process(gpu, 4711, -1)->types = 0;
	p = add_process(gpu, 4711, 1);
	p->memory = 4ll << 30;
	p->visible = 1;
	p->uid = UINT32_MAX;
	process_set_start(p, 1795255200);
	process_set_active(p, 1795255261);
	set_text(&p->user, "jo ; \"x\"");
	set_text(&p->command, "python train.py \n--x=\x01 # a");
	set_text(&p->container, "docker:3f2a91c07d4e");
	return finish(inventory);
}

/* The usage of no device is known. */
static gpumap_inventory *make_no_usage(void)
{
	gpumap_inventory *inventory = make_mig();

	inventory->usage = true;
	return inventory;
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
	{"usage", make_usage},
	{"unknown usage", make_no_usage},
	{"unknown indices", make_unknown_indices},
	{"gaps", make_gaps},
	{"odd names", make_odd_names},
	{"long name", make_long_name},
	{"large", make_large},
};

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
			       "cuda_unknown_from = 1\n"
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

/* Readers of schema 1 refuse the usage; a file without usage is for them too. */
START_TEST(schemas)
{
	gpumap_inventory *with = make_usage(), *without = make_mig();
	char *text;

	save(with, "m.ini");
	text = slurp("m.ini");
	ck_assert_ptr_nonnull(strstr(text, "\nschema = 2\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nusage = yes\n"));
	ck_assert_ptr_nonnull(strstr(text, "\n[process 2:3]\n"));
	free(text);
	with->usage = false;
	save(with, "m.ini");
	save(without, "n.ini");
	text = slurp("m.ini");
	ck_assert_ptr_nonnull(strstr(text, "\nschema = 1\n"));
	free(text);
	gpumap_inventory_free(with);
	with = parse(text = slurp("m.ini"));
	same_inventory("without usage", without, with);
	free(text);
	gpumap_inventory_free(with);
	gpumap_inventory_free(without);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("snapshot");
	TCase *tests = tcase_create("trips");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, enter_folder, leave_folder);
	tcase_add_loop_test(tests, round_trips, 0, ARRAY_SIZE(trips));
	tcase_add_test(tests, looks_like_this);
	tcase_add_test(tests, schemas);
	return unit_run(suite);
}
