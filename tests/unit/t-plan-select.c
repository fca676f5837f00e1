/* SPDX-License-Identifier: MIT */
/* Which GPUs: selections, their order, and what was inherited (rule S6a). */
#include <stdio.h>

#include "plans.h"
#include "text.h"
#include "unit.h"

#define BOX \
	"GPU-a0 @40 =X100;GPU-a1 @10 =X100;GPU-b0 @30 =X200;GPU-b1 @20 =X200,big;" \
	"GPU-c0 @50 =Y1 m=MIG-a1 m=MIG-b2"
#define SHARED "GPU-a0 @10 =A m=MIG-a1 m+=MIG-a2 m+=MIG-a3;GPU-b0 @20 =A;GPU-c0 @30 =A"
#define MIXED "GPU-a0 @10 =A;GPU-b0 @20 =B;GPU-c0 @30 =A"

/* Two boards of four in rings, crossed once: 0-2-1-3-0, 4-6-5-7-4, 3-4. */
#define RINGS \
	"GPU-00 @10 l=2,3 n=0;GPU-11 @20 l=2,3 n=0;GPU-22 @30 l=0,1 n=1;GPU-33 @40 l=0,1,4 n=1;" \
	"GPU-44 @50 l=3,6,7 n=0;GPU-55 @60 l=6,7 n=0;GPU-66 @70 l=4,5 n=1;GPU-77 @80 l=4,5 n=1"
/* The cube of eight: two meshes of four, one link from each to its twin. */
#define CUBE \
	"GPU-00 @10 l=1,2,3,4;GPU-11 @20 l=0,2,3,5;GPU-22 @30 l=0,1,3,6;GPU-33 @40 l=0,1,2,7;" \
	"GPU-44 @50 l=0,5,6,7;GPU-55 @60 l=1,4,6,7;GPU-66 @70 l=2,4,5,7;GPU-77 @80 l=3,4,5,6"
#define PAIRS \
	"GPU-00 @40 l=2 n=1;GPU-11 @30 l=3 n=0;GPU-22 @20 l=0 n=1;GPU-33 @10 l=1 n=0;" \
	"GPU-44 @50 l= n=0-1"

static const struct row {
	const char *name, *machine, *limits, *settings;
	const char *lands;    /* with isolate and cuda:0, so every rank's own */
	const char *findings; /* remarks too */
	const char *text;     /* of a finding; NULL */
} rows[] = {
	{"all", BOX, "", "gpus=all", "0 1 2 3 4.0 4.1", "GM043", NULL},
	{"inherit without a list", BOX, "", "gpus=inherit", "0 1 2 3 4.0 4.1", "GM043", NULL},
	{"empty is the default", BOX, "", "gpus=", "0 1 2 3 4.0 4.1", "GM043", NULL},
	{"numbers", BOX, "", "gpus=3,0", "3 0", "", NULL},
	{"numbers with blanks", BOX, "", "gpus= 3 , 0 ", "3 0", "", NULL},
	{"a UUID's beginning", BOX, "", "gpus=GPU-b1,GPU-a1", "3 1", "", NULL},
	{"MIG", BOX, "", "gpus=MIG-b", "4.1", "", NULL},
	{"MIG by an older name", BOX, "", "gpus=MIG-GPU-c0/2/0,MIG-GPU-c/1/0", "4.1 4.0", "GM043",
	 NULL},
	{"PCI", BOX, "", "gpus=pci:0000:10:00.0,pci:00000000:30:00.0,pci:20:00.0", "1 2 3", "",
	 NULL},
	{"a name", BOX, "", "gpus=name:\"X100\"", "0 1", "", NULL},
	{"a name without quotes", BOX, "", "gpus=name:X2*", "2 3", "", NULL},
	{"names with a comma", BOX, "", "gpus=name:\"X200,b?g\",name:\"*100\"", "3 0 1", "", NULL},
	{"a name in single quotes", BOX, "", "gpus=name:'X200,b?g'", "3", "", NULL},
	{"a name with an escape", BOX, "", "gpus=name:\"\\x58100\"", "0 1", "", NULL},
	{"names overlap", BOX, "", "gpus=name:X*,name:\"X100\"", "0 1 2 3", "", NULL},
	{"a name of MIG", BOX, "", "gpus=name:Y*", "4.0 4.1", "GM043", NULL},
	{"mixed kinds", BOX, "", "gpus=GPU-b0,1,pci:0000:40:00.0", "2 1 0", "", NULL},

	{"no such number", BOX, "", "gpus=0,9", "", "GM180",
	 "gpus: '9' is not a GPU on a: there are GPUs 0 to 4 @12"},
	{"no such UUID", BOX, "", "gpus=GPU-d", "", "GM180", "gpus: 'GPU-d' is not a GPU on a"},
	{"a UUID of two", BOX, "", "gpus=1, GPU-a", "", "GM180",
	 "gpus: 'GPU-a' is the beginning of several UUIDs on a: write more of the UUID @13"},
	{"a UUID of two, whole", "GPU-a @10;GPU-ab @20", "", "gpus=GPU-a", "", "GM180",
	 "gpus: 'GPU-a' is the beginning of several UUIDs on a"},
	{"a UUID in capitals", BOX, "", "gpus=GPU-A0", "", "GM180",
	 "gpus: 'GPU-A0' is not a GPU on a"},
	{"no such instance", BOX, "", "gpus=MIG-GPU-c0/9/0", "", "GM180",
	 "gpus: 'MIG-GPU-c0/9/0' is not a GPU on a"},
	{"an instance of two GPUs", BOX, "", "gpus=MIG-GPU-a/1/0", "", "GM180",
	 "gpus: 'MIG-GPU-a/1/0' is the beginning of several UUIDs on a"},
	{"no such address", BOX, "", "gpus=pci:0000:99:00.0", "", "GM180",
	 "gpus: 'pci:0000:99:00.0' is not a GPU on a"},
	{"no such name", BOX, "", "gpus=name:\"H100\"", "", "GM180",
	 "gpus: 'H100' is the name of no GPU on a"},
	{"twice", BOX, "", "gpus=2,GPU-b0", "", "GM180",
	 "gpus: 'GPU-b0' is a device that is named already on a: name each device once @12"},
	{"a number with MIG", BOX, "", "gpus=4", "", "GM180",
	 "gpus: '4' has MIG enabled and is not a device by itself on a"},

	{"order pci", BOX, "", "gpus=0,1,2,3|order=pci", "1 3 2 0", "", NULL},
	{"order listed", BOX, "", "gpus=2,0,3,1|order=listed", "2 0 3 1", "", NULL},
	{"order numa", RINGS, "", "order=numa", "0 1 4 5 2 3 6 7", "", NULL},
	{"order numa of pairs", PAIRS, "", "order=numa", "3 1 4 2 0", "", NULL},
	{"numa is not known", MIXED, "", "order=numa", "0 1 2", "GM188",
	 "order = numa: the inventory of a lacks the data, so PCI order is used"},
	{"order nvlink, pairs", PAIRS, "", "order=nvlink", "3 1 2 0 4", "", NULL},
	{"order nvlink, rings", RINGS, "", "order=nvlink", "0 2 1 3 4 6 5 7", "", NULL},
	{"order nvlink, cube", CUBE, "", "order=nvlink", "*", "", NULL},
	{"order nvlink, part of the rings", RINGS, "", "order=nvlink|gpus=7,0,5,3,1", "0 3 1 5 7",
	 "", NULL},
	{"nvlink is not known", MIXED, "", "order=nvlink", "0 1 2", "GM188", NULL},
	{"order nvlink with MIG", "GPU-a @10 l=2;GPU-b @20 l=;GPU-c @30 l=0 m=MIG-1 m=MIG-2", "",
	 "order=nvlink", "0 2.0 2.1 1", "GM043", NULL},

	/* Inherited lists. */
	{"inherit", RINGS, "user:GPU-55,GPU-22", "", "5 2", "", NULL},
	{"inherit, numbers", RINGS, "user:pci 5,2", "", "5 2", "", NULL},
	{"inherit in an order", RINGS, "scheduler:GPU-55,GPU-22", "order=pci", "2 5", "", NULL},
	{"inherit nothing", RINGS, "user:", "", "", "GM010", "the inherited list leaves none"},
	{"inherit nothing, counted", RINGS, "user:", "world_size=2", "- -", "GM110",
	 "its ranks start without"},
	{"inherit a part of MIG", BOX, "user:MIG-b2,MIG-a1", "", "4.1 4.0", "GM043", NULL},
	{"the order is not known", MIXED, "user:1,0,2", "", "", "GM019",
	 "the order of the shell's list cannot be decided"},
	{"the order does not matter", MIXED, "user:1,0,2", "order=pci", "0 1 2", "", NULL},
	{"the devices are not known", MIXED, "user:1,0", "order=pci", "", "GM019",
	 "the GPUs of the shell's list cannot be decided"},
	{"compute instances", SHARED, "user:MIG-a1,MIG-a2", "", "", "GM019",
	 "the shell's list cannot be decided: it names 2 compute instances of one GPU instance, "
	 "and CUDA picks one of these: name only one"},
	{"own compute instances", SHARED, "run:GPU-b0,GPU-c0,MIG-a1,MIG-a2", "", "0.0 0.1 1 2",
	 "GM043", NULL},
	{"other compute instances", SHARED, "run:GPU-b0,GPU-c0,MIG-a1,MIG-a2", "gpus=MIG-a3", "",
	 "GM271", "which has GPU 1, GPU 2, MIG instance 0 of GPU 0, MIG instance 1 of GPU 0"},
	{"compute instances and a GPU, any order", SHARED, "user:MIG-a1,MIG-a2,GPU-b0", "order=pci",
	 "", "GM019", "it names 2 compute instances of one GPU instance"},
	{"an instance of a list of two", SHARED, "user:MIG-a1,MIG-a2,GPU-b0", "gpus=MIG-a2", "",
	 "GM019", "it names 2 compute instances of one GPU instance"},
	{"the order was measured", "fastest=1,0 GPU-a @10 =A;GPU-b @20 =B", "user:0", "", "1", "",
	 NULL},

	{"inside the shell's list", RINGS, "user:GPU-55,GPU-22", "gpus=2", "2", "", NULL},
	{"outside, error", RINGS, "user:GPU-55,GPU-22", "gpus=2,3,4", "", "GM183",
	 "gpus: GPU 3, GPU 4 of a is not in the shell's list"},
	{"outside, intersect", RINGS, "user:GPU-55,GPU-22", "gpus=2,3|on_conflict=intersect", "2",
	 "GM184", "gpus: GPU 3 of a is left out"},
	{"outside, override", RINGS, "user:GPU-55,GPU-22", "gpus=2,3|on_conflict=override", "2 3",
	 "GM184", "gpus: GPU 3 of a is used although the shell's list does not have it"},
	{"all, error", RINGS, "user:GPU-55,GPU-22", "gpus=all", "", "GM183",
	 "gpus: GPU 0, GPU 1, GPU 3, GPU 4 and 2 more of a"},
	{"nothing in common", RINGS, "user:GPU-55", "gpus=1|on_conflict=intersect", "",
	 "GM184 GM010", NULL},
	{"not decidable, override", MIXED, "user:1", "gpus=0|on_conflict=override", "0", "", NULL},
	{"not decidable, error", MIXED, "user:1", "gpus=0", "", "GM019", NULL},

	{"inside a grant", RINGS, "scheduler:GPU-55,GPU-22", "gpus=5", "5", "", NULL},
	{"outside a grant", RINGS, "scheduler:GPU-55,GPU-22", "gpus=5,6", "", "GM182",
	 "gpus: GPU 6 of a is outside the scheduler's grant (CUDA_VISIBLE_DEVICES): write gpus = "
	 "inherit"},
	{"outside a grant, override", RINGS, "scheduler:GPU-55", "gpus=6|on_conflict=override", "",
	 "GM182", "GPU 6"},
	{"outside a grant, intersect", RINGS, "scheduler:GPU-55", "gpus=5,6|on_conflict=intersect",
	 "", "GM182", "GPU 6"},
	{"outside a container", RINGS, "container:GPU-55", "gpus=GPU-66|on_conflict=override", "",
	 "GM182", "gpus: GPU 6 of a is outside the container's grant"},
	{"all of a grant's host", RINGS, "scheduler:GPU-55", "gpus=all", "", "GM182", NULL},
	{"numbers in a container", RINGS, "container:GPU-55", "ids=index", "5", "GM022",
	 "inside the container they count from 0"},
	{"a list in a grant", RINGS, "scheduler:GPU-55,GPU-22 + user:GPU-22", "", "2", "", NULL},
	{"a list beyond a grant", RINGS, "scheduler:GPU-55,GPU-22 + user:GPU-33", "", "", "GM182",
	 "GPU 3"},
	{"a grant and a list", RINGS, "scheduler:GPU-55,GPU-22 + user:GPU-22",
	 "gpus=5|on_conflict=override", "5", "GM184", NULL},
	{"MIG in a grant", BOX, "scheduler:MIG-a1", "gpus=MIG-b2", "", "GM182",
	 "MIG instance 1 of GPU 4"},
};

/* "TEXT: FIX @COLUMN" of each finding; whether one has this piece. */
static bool says(const gpumap_report *report, const char *text)
{
	char line[1024];

	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);
		const char *fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX);

		snprintf(line, sizeof(line), "%s: %s @%d",
			 gpumap_finding_str(f, GPUMAP_FINDING_TEXT), fix ? fix : "",
			 (int)gpumap_finding_int(f, GPUMAP_FINDING_COLUMN));
		if (strstr(line, text))
			return true;
		fprintf(stderr, "# %s\n", line);
	}
	return false;
}

/* Every neighbour in the plan is linked. */
static bool all_linked(const struct scene *scene)
{
	for (size_t i = 1; i < scene->plan->world_size; i++) {
		struct job_rank a, b;
		const gpumap_device *gpu;
		bool linked = false;

		if (!job_rank_at(scene->plan, (int64_t)(i - 1), &a) ||
		    !job_rank_at(scene->plan, (int64_t)i, &b))
			return false;
		gpu = gpumap_inventory_get(scene->inventories[0], (size_t)a.local->lands->physical);
		for (int k = 0; k < gpumap_device_nvlink_count(gpu); k++)
			linked = linked ||
				 gpumap_device_nvlink(gpu, (size_t)k) == b.local->lands->physical;
		if (!linked)
			return false;
	}
	return scene->plan->world_size > 0;
}

START_TEST(selected)
{
	const struct row *row = &rows[_i];
	char hosts[1024], settings[256], *lands, *findings;
	struct scene scene;

	snprintf(hosts, sizeof(hosts), "a=%s", row->machine);
	snprintf(settings, sizeof(settings), "share=isolate|device=cuda:0|cpu_bind=none|%s",
		 row->settings);
	scene_set(&scene, hosts, row->limits, settings);
	scene_plan(&scene);
	ROW_EQ_INT(row->name, scene.code, GPUMAP_OK);
	lands = scene_lands(&scene);
	findings = scene_findings(&scene, true);
	if (!streq(findings, row->findings))
		says(scene.report, "\n");
	ROW_EQ_STR(row->name, findings, row->findings);
	if (streq(row->lands, "*"))
		ck_assert_msg(all_linked(&scene), "%s: %s", row->name, lands);
	else
		ROW_EQ_STR(row->name, lands, row->lands);
	ck_assert_msg(!row->text || says(scene.report, row->text), "%s: nothing says '%s'",
		      row->name, row->text);
	free(lands);
	free(findings);
	scene_free(&scene);
}
END_TEST

static const struct {
	const char *gpus, *text;
} bad[] = {
	{",", "gpus cannot hold '': leave the comma out @10"},
	{"0,,1", "gpus cannot hold '': leave the comma out @12"},
	{"0,", "gpus cannot hold '': leave the comma out @12"},
	{"0-3", "gpus cannot be '0-3': write every number: 0,1,2,3 @10"},
	{"0, 1gpu", "gpus cannot hold '1gpu': write inherit, all, none, free:COUNT or "
		    "GPUs: numbers, GPU-UUID, "
		    "MIG-UUID, pci:0000:1b:00.0 or name:\"NVIDIA H100*\" @13"},
	{"0,-1", "gpus cannot hold '-1': write none for ranks without GPUs @12"},
	{"+1", "gpus cannot be '+1'"},
	{"0x1", "gpus cannot be '0x1'"},
	{"99999999999999999999", "gpus cannot be '99999999999999999999'"},
	{"all,1", "gpus cannot hold 'all': leave the other entries out @10"},
	{"1,none", "gpus cannot hold 'none': leave the other entries out @12"},
	{"1,1", "gpus: a GPU is named twice: '1'"},
	{"ALL", "gpus cannot be 'ALL': did you mean all?"},
	{"GPU-", "gpus cannot be 'GPU-'"},
	{"GPU-xyz", "gpus cannot be 'GPU-xyz'"},
	{"9f1c2b", "gpus cannot be '9f1c2b'"},
	{"pci:", "gpus cannot be 'pci:'"},
	{"pci:zz:00.0", "gpus cannot be 'pci:zz:00.0'"},
	{"name:", "gpus cannot be 'name:'"},
	{"name:\"\"", "gpus cannot be 'name:\"\"'"},
	{"name:\"H100", "gpus: a quote is not closed: '\"H100'"},
	{"\x1b[31m", "gpus: no text for a file: '\\x1b[31m'"},
};

START_TEST(malformed)
{
	struct scene scene;
	char settings[64];

	snprintf(settings, sizeof(settings), "gpus=%s", bad[_i].gpus);
	scene_set(&scene, "a=8", "", settings);
	scene_plan(&scene);
	ROW_EQ_INT(bad[_i].gpus, scene.code, GPUMAP_EINPUT);
	ck_assert_ptr_null(scene.plan);
	ck_assert_msg(says(scene.report, bad[_i].text), "%s: nothing says '%s'", bad[_i].gpus,
		      bad[_i].text);
	ROW_EQ_INT(bad[_i].gpus,
		   gpumap_finding_int(gpumap_report_get(scene.report, 0), GPUMAP_FINDING_LINE), 7);
	scene_free(&scene);
}
END_TEST

START_TEST(too_many)
{
	enum { COUNT = 1025 };
	char settings[8 * COUNT] = "gpus=0";
	size_t length = strlen(settings);
	struct scene scene;

	for (int i = 1; i < COUNT; i++)
		length += (size_t)snprintf(settings + length, sizeof(settings) - length, ",%d", i);
	scene_set(&scene, "a=8", "", settings);
	ck_assert_int_eq(scene.code, GPUMAP_ELIMIT);
	scene_free(&scene);
}
END_TEST

/* A host with settings of its own (an override). */
START_TEST(own_settings)
{
	struct plan_settings own;
	struct scene scene;
	char *lands;

	scene_set(&scene, "a=" RINGS " + b=" RINGS, "", "gpus=0,1|device=cuda:%l|cpu_bind=none");
	own = scene.settings;
	own.gpus = plan_setting(PKEY_PROFILE_gpus, "7,6,5", NULL);
	scene.hosts[1].settings = &own;
	scene_plan(&scene);
	ck_assert_int_eq(scene.code, GPUMAP_OK);
	lands = scene_lands(&scene);
	ck_assert_str_eq(lands, "0 1 7 6 5");
	free(lands);
	scene_free(&scene);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-select");
	TCase *tests = tcase_create("plan-select");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, selected, 0, (int)ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, malformed, 0, (int)ARRAY_SIZE(bad));
	tcase_add_test(tests, too_many);
	tcase_add_test(tests, own_settings);
	return unit_run(suite);
}
