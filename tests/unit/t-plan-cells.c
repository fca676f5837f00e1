/* SPDX-License-Identifier: MIT */
/* Where ranks land: what they see, how the program picks, and what is refused. */
#include <stdio.h>

#include "base.h"
#include "plans.h"
#include "text.h"
#include "unit.h"

#define FOUR "GPU-a0 @10;GPU-b0 @20;GPU-c0 @30;GPU-d0 @40"
#define TWO "GPU-e0 @10;GPU-f0 @20"
#define THREE "GPU-0a @10;GPU-0b @20;GPU-0c @30"
#define TWO_MIG "GPU-a0 @10 m=MIG-a1 m=MIG-a2;GPU-b0 @20"

static const struct row {
	const char *name, *hosts, *settings, *lands, *findings;
	const char *text; /* a part of some finding's text or fix, or NULL */
} rows[] = {
	/* The table of rule R3. */
	{"list, cuda:0", "a=" FOUR, "share=list|device=cuda:0", "0 0 0 0", "GM186",
	 "all 4 ranks of a use GPU 0 (share = list, device = cuda:0)"},
	{"list, cuda:local", "a=" FOUR, "share=list|device=cuda:%l", "0 1 2 3", "", NULL},
	{"list, modulo", "a=" FOUR, "share=list|device=cuda:modulo", "0 1 2 3", "", NULL},
	{"isolate, cuda:0", "a=" FOUR, "share=isolate|device=cuda:0", "0 1 2 3", "", NULL},
	{"isolate, cuda:local", "a=" FOUR, "share=isolate|device=cuda:%l", "0 - - -", "GM009",
	 "rank 1 of a (share = isolate, device = cuda:%l): cuda:1 does not exist"},
	{"isolate, modulo", "a=" FOUR, "share=isolate|device=cuda:modulo", "0 1 2 3", "", NULL},
	{"rotate, cuda:0", "a=" FOUR, "share=rotate|device=cuda:0", "0 1 2 3", "", NULL},
	{"rotate, cuda:local", "a=" FOUR, "share=rotate|device=cuda:%l", "0 2 0 2", "GM186",
	 "write share = list, or let the program use cuda:0"},
	{"rotate, modulo", "a=" FOUR, "share=rotate|device=cuda:modulo", "0 2 0 2", "GM186",
	 "write share = isolate"},
	/* The same through set_device. */
	{"list, set 0", "a=" FOUR, "share=list|set_device=0|device=cuda", "0 0 0 0", "GM186",
	 "set_device = 0"},
	{"list, set local", "a=" FOUR, "share=list|set_device=%l", "0 1 2 3", "", NULL},
	{"isolate, set local", "a=" FOUR, "share=isolate|set_device=%l", "0 - - -", "GM009", NULL},
	{"rotate, set modulo", "a=" FOUR, "share=rotate|set_device=modulo", "0 2 0 2", "GM186",
	 NULL},
	{"nothing is set", "a=" FOUR, "share=list|device=cuda|set_device=", "0 0 0 0", "GM186",
	 NULL},
	{"device beats set_device", "a=" FOUR, "set_device=0|device=cuda:%l", "0 1 2 3", "", NULL},
	{"device_ids disagree", "a=" FOUR, "device=cuda:%l|device_ids=0", "0 - - -", "GM011", NULL},
	{"device_ids", "a=" FOUR, "device=cuda:%l|device_ids=%l", "0 1 2 3", "", NULL},
	{"one device", "a=" FOUR, "share=isolate|device=cuda:2", "- - - -", "GM009", NULL},
	{"not known", "a=" FOUR, "device=unknown", "- - - -", "", NULL},
	{"the CPU", "a=" FOUR, "device=cpu", "- - - -", "", NULL},
	{"an index in numbers", "a=" FOUR, "ids=index|gpus=3,1|device=cuda:%l", "3 1", "", NULL},
	{"numbers and rotate", "a=" FOUR, "ids=index|share=rotate|device=cuda:0", "0 1 2 3", "",
	 NULL},

	/* What the program sets after the launcher (rules S2 and S3). */
	{"in code, all on one", "a=" FOUR, "in_code=2|device=cuda:0", "2 2 2 2", "GM186", "GPU 2"},
	{"in code, by local rank", "a=" FOUR, "in_code=%l|device=cuda:0", "0 1 2 3", "", NULL},
	{"in code, by rank", "a=" TWO " + b=" TWO, "in_code=%r|device=cuda:0", "0 1 - -",
	 "GM016 GM010", NULL},
	{"in code, a list", "a=" FOUR, "ids=index|in_code=3,2,1,0|device=cuda:%l", "3 2 1 0", "",
	 NULL},
	{"in code, modulo two", "a=" FOUR, "in_code=1,3|device=cuda:modulo", "1 3 1 3", "GM186",
	 NULL},
	{"in code, not the plan's", "a=" FOUR, "gpus=1|in_code=3|device=cuda:0", "-", "GM190",
	 "lands on GPU 3, which the plan does not have"},
	{"a script, before the code", "a=" FOUR, "gpus=1|script_export=1|in_code=3|device=cuda:0",
	 "-", "GM190", NULL},
	{"a prefix", "a=" FOUR, "gpus=1|prefix=1|device=cuda:0", "1", "", NULL},

	/* Several hosts (rule R4). */
	{"uneven hosts", "a=" FOUR " + b=" TWO " + c=" THREE, "device=cuda:%l", "0 1 2 3 0 1 0 1 2",
	 "", NULL},
	{"uneven, local modulo is not shifted", "b=" THREE " + a=" TWO, "device=cuda:local-modulo",
	 "0 1 2 0 1", "", NULL},
	{"in code, local modulo two", "a=" FOUR, "in_code=1,3|device=cuda:local-modulo", "1 3 1 3",
	 "GM186", NULL},
	{"uneven, modulo is shifted", "b=" THREE " + a=" TWO, "device=cuda:modulo", "0 1 2 1 0", "",
	 NULL},
	{"three uneven hosts, modulo", "b=" TWO " + a=" THREE " + c=" FOUR,
	 "device=cuda:modulo|world_size=7|gpus=inherit", "0 1 2 0 1 1 2", "", NULL},
	{"the rank is not a local rank", "a=" TWO " + b=" TWO, "device=cuda:%r", "0 1 - -", "GM009",
	 "let the program use its local rank, not its rank"},
	{"fewer ranks than GPUs", "a=" FOUR " + b=" TWO, "world_size=5|device=cuda:%l", "0 1 2 3 0",
	 "", NULL},
	{"a host gets none", "a=" FOUR " + b=" TWO, "world_size=3|device=cuda:%l", "0 1 2", "",
	 NULL},
	{"per host", "a=" FOUR " + b=" TWO, "ranks=2|device=cuda:%l", "0 1 0 1", "", NULL},
	{"too many per host", "a=" FOUR " + b=" TWO, "ranks=3|device=cuda:%l", "0 1 2", "GM185",
	 "3 ranks, but b has 2 GPUs"},
	{"too many", "a=" FOUR " + b=" TWO, "world_size=7|device=cuda:%l", "0 1 2 3 0 1", "GM185",
	 "7 ranks, but the GPUs of all hosts have room for 6 ranks"},
	{"too many here", "a=" FOUR, "world_size=5|device=cuda:%l", "0 1 2 3", "GM185",
	 "write world_size = 4, or share GPUs with ranks_per_gpu = N"},
	{"a host without GPUs", "a=" FOUR " + b=0", "device=cuda:%l", "0 1 2 3", "GM010",
	 "leave the host out, or write gpus = none for it"},
	{"a host without snapshot", "a=" FOUR " + b=none", "device=cuda:%l", "0 1 2 3", "GM181",
	 "gpumap does not log in to b, so it does not know their GPUs"},

	/* Sharing on purpose (rule G10). */
	{"two a GPU", "a=" TWO, "ranks_per_gpu=2|device=cuda:modulo", "0 1 0 1", "GM043",
	 "several ranks of a run on GPU 0: NCCL refuses that"},
	{"two a GPU, own", "a=" TWO, "ranks_per_gpu=2|share=isolate|device=cuda:0", "0 1 0 1",
	 "GM043", NULL},
	{"two a GPU, local rank", "a=" TWO, "ranks_per_gpu=2|device=cuda:%l", "0 1 - -", "GM009",
	 NULL},
	{"two allowed, one each", "a=" TWO, "ranks_per_gpu=2|world_size=2|device=cuda:%l", "0 1",
	 "", NULL},
	{"two allowed, three come", "a=" THREE, "ranks_per_gpu=2|world_size=3|device=cuda:0",
	 "0 0 0", "GM186", NULL},
	{"MIG", "a=" TWO_MIG, "gpus=MIG-a1,GPU-b0|device=cuda:%l", "0.0 1", "", NULL},
	{"MIG of one GPU", "a=" TWO_MIG, "device=cuda:%l", "0.0 0.1 1", "GM043", "NCCL refuses"},
	{"MIG has no number", "a=" TWO_MIG, "ids=index|device=cuda:%l", "", "GM002",
	 "a MIG instance of a has no number, and ids = index wants one"},

	/* A device as the manual lets it be written. */
	{"a number alone", "a=" TWO, "ranks=1|device=1", "1", "", NULL},
	{"a local rank alone", "a=" TWO, "device=%l", "0 1", "", NULL},
	{"set_device with its kind", "a=" TWO, "set_device=cuda:%l", "0 1", "", NULL},
	{"the number of the node", "a*3=" FOUR, "ranks=1|device=cuda:%n", "0 1 2", "", NULL},
	{"nodes by a list", "a*2=" FOUR, "mode=mp|device_ids=%n,3", "0 1", "", NULL},

	/* The other modes. */
	{"dp", "a=" FOUR, "mode=dp|device=cuda:0", "0", "", NULL},
	{"dp on another master", "a=" FOUR, "mode=dp|device=cuda:1", "-", "GM011", NULL},
	{"dp, master listed first", "a=" FOUR, "mode=dp|gpus=2,1,3", "2", "", NULL},
	{"dp twice on one list", "a=" FOUR, "mode=dp|world_size=2", "0 0", "GM186", "GPU 0"},
	{"dp twice, isolated", "a=" FOUR, "mode=dp|world_size=2|share=isolate", "0 2", "", NULL},
	{"mp", "a=" FOUR, "mode=mp", "0", "", NULL},
	{"mp, stages", "a=" FOUR, "mode=mp|device_ids=1,0,2", "1", "", NULL},
	{"mp, a stage too many", "a=" FOUR, "mode=mp|device_ids=1,4", "-", "GM009", NULL},
	{"mp, a stage for each rank", "a=" FOUR, "mode=mp|world_size=3|device=cuda:%l", "0 1 2", "",
	 NULL},
	{"mp, stages of two hosts", "a=" TWO " + b=" TWO, "mode=mp|ranks=2|device=cuda:%l",
	 "0 1 0 1", "", NULL},
	{"mp, a stage for each, isolated", "a=" FOUR,
	 "mode=mp|world_size=2|share=isolate|device=cuda:%l", "0 -", "GM009",
	 "let the program use cuda:0"},
	{"mp, ranks that use all", "a=" FOUR, "mode=mp|world_size=2", "0 0", "GM186",
	 "write device = cuda:%l for a stage on each, or share = isolate"},
	{"mp, listed stages of two ranks", "a=" FOUR,
	 "mode=mp|world_size=2|device=cuda:%l|device_ids=0,1", "0 0", "GM186", NULL},
	{"single", "a=" FOUR, "mode=single|gpus=3|device=cuda:0", "3", "", NULL},
	{"single, several", "a=" FOUR, "mode=single|world_size=3|device=cuda:%l", "0 1 2", "",
	 NULL},

	/* No GPU. */
	{"none", "a=" FOUR, "gpus=none|world_size=2", "- -", "", NULL},
	{"none on an unknown host", "a=none", "gpus=none", "-", "", NULL},
	{"none on two hosts", "a=0 + b=0", "gpus=none|world_size=3", "- - -", "", NULL},
	{"counted, no GPU anywhere", "a=0", "world_size=2", "- -", "", NULL},
	{"counted per host", "a=0 + b=0", "ranks=2", "- - - -", "", NULL},
	{"not counted, no GPU", "a=0", "", "", "GM010",
	 "write ranks = N to start ranks without GPUs"},
};

static bool says(const struct scene *scene, const char *text)
{
	for (size_t i = 0; i < gpumap_report_count(scene->report); i++) {
		const gpumap_finding *f = gpumap_report_get(scene->report, i);
		const char *fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX);

		if (strstr(gpumap_finding_str(f, GPUMAP_FINDING_TEXT), text) ||
		    (fix && strstr(fix, text)))
			return true;
	}
	return false;
}

static void print_report(const struct scene *scene)
{
	for (size_t i = 0; i < gpumap_report_count(scene->report); i++) {
		const gpumap_finding *f = gpumap_report_get(scene->report, i);

		fprintf(stderr, "# %s: %s\n", gpumap_finding_str(f, GPUMAP_FINDING_ID),
			gpumap_finding_str(f, GPUMAP_FINDING_TEXT));
	}
}

START_TEST(landing)
{
	const struct row *row = &rows[_i];
	struct scene scene;
	char *lands, *findings;

	scene_set(&scene, row->hosts, "", row->settings);
	scene_plan(&scene);
	ROW_EQ_INT(row->name, scene.code, GPUMAP_OK);
	lands = scene_lands(&scene);
	findings = scene_findings(&scene, false);
	if (!streq(lands, row->lands) || !streq(findings, row->findings))
		print_report(&scene);
	ROW_EQ_STR(row->name, findings, row->findings);
	ROW_EQ_STR(row->name, lands, row->lands);
	if (row->text && !says(&scene, row->text))
		print_report(&scene);
	ck_assert_msg(!row->text || says(&scene, row->text), "%s: nothing says '%s'", row->name,
		      row->text);
	ROW_EQ_INT(row->name, scene.plan->answered,
		   gpumap_report_worst(scene.report) < GPUMAP_SEVERITY_ERROR);
	free(lands);
	free(findings);
	scene_free(&scene);
}
END_TEST

static const struct {
	const char *name, *hosts, *settings, *lists;
} lists[] = {
	{"list", "a=" THREE, "gpus=2,0", "GPU-0c,GPU-0a GPU-0c,GPU-0a"},
	{"isolate", "a=" THREE, "share=isolate", "GPU-0a GPU-0b GPU-0c"},
	{"rotate", "a=" THREE, "share=rotate",
	 "GPU-0a,GPU-0b,GPU-0c GPU-0b,GPU-0c,GPU-0a GPU-0c,GPU-0a,GPU-0b"},
	{"numbers", "a=" THREE, "ids=index|share=isolate|gpus=2,0", "2 0"},
	{"UUIDs are not known", "a=2xH100", "", "0,1 0,1"},
	{"one snapshot for two hosts", "a*2=" TWO, "", "0,1 0,1 0,1 0,1"},
	{"MIG", "a=" TWO_MIG, "share=isolate", "MIG-a1 MIG-a2 GPU-b0"},
	{"no GPU", "a=" TWO, "gpus=none|world_size=2", "'' ''"},
	{"dp in blocks", "a=" THREE, "mode=dp|share=isolate|world_size=2", "GPU-0a GPU-0b,GPU-0c"},
	{"dp, rotated", "a=" THREE, "mode=dp|share=rotate|world_size=2",
	 "GPU-0a,GPU-0b,GPU-0c GPU-0b,GPU-0c,GPU-0a"},
};

START_TEST(shown)
{
	const char *name = lists[_i].name;
	struct scene scene;
	struct job_rank rank;
	char *got;

	scene_set(&scene, lists[_i].hosts, "", lists[_i].settings);
	scene_plan(&scene);
	ROW_EQ_INT(name, scene.code, GPUMAP_OK);
	got = scene_lists(&scene);
	ROW_EQ_STR(name, got, lists[_i].lists);
	for (size_t i = 0; job_rank_at(scene.plan, (int64_t)i, &rank); i++)
		ROW_EQ_STR(name, rank.device_order,
			   is_digit(*rank.local->visible) ? "PCI_BUS_ID" : NULL);
	free(got);
	scene_free(&scene);
}
END_TEST

/* An answer that is asked for again is the one that the plan was made with. */
START_TEST(asked_again)
{
	static const struct {
		const char *hosts, *settings;
	} scenes[] = {
		{"a*4=" FOUR " + b=" TWO, "device=cuda:%l"},
		{"a*4=" FOUR " + b=" TWO, "share=rotate|device=cuda:0"},
		{"a*2=" FOUR " + b=" TWO, "share=isolate|device=cuda:modulo"},
		{"a=" FOUR " + b=" TWO, "mode=dp|ranks=2|share=isolate|device_ids=0"},
		{"a=" FOUR " + b=" TWO, "device=cuda:0|script_inline=%l"},
		{"a=0 + b=0", "ranks=3"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(scenes); i++) {
		const char *name = scenes[i].settings;
		gpumap_mapping *mapping;
		struct job_rank at;
		struct scene scene;

		scene_set(&scene, scenes[i].hosts, "", name);
		scene_plan(&scene);
		ROW_EQ_INT(name, scene.code, GPUMAP_OK);
		for (size_t rank = 0; job_rank_at(scene.plan, (int64_t)rank, &at); rank++) {
			const struct plan_device *lands = at.local->lands;
			const gpumap_entry *chosen;

			ROW_EQ_INT(name, scene_ask(&mapping, &scene, rank), GPUMAP_OK);
			ROW_EQ_INT(name, !mapping, !at.local->device_count);
			chosen = gpumap_mapping_chosen(mapping);
			ROW_EQ_INT(name, !chosen, !lands);
			if (chosen)
				ROW_EQ_STR(name, gpumap_entry_str(chosen, GPUMAP_ENTRY_PCI),
					   lands->pci);
			gpumap_mapping_free(mapping);
		}
		ROW_EQ_INT(name, scene_ask(&mapping, &scene, 1000), GPUMAP_OK);
		ck_assert_ptr_null(mapping);
		scene_free(&scene);
	}
}
END_TEST

/* Equal hosts share all but their names and ranks. */
START_TEST(sharing)
{
	struct scene scene;
	struct job_rank one, other;

	scene_set(&scene, "a*4=" FOUR " + b=" TWO, "", "device=cuda:%l");
	scene_plan(&scene);
	ck_assert_int_eq(scene.code, GPUMAP_OK);
	ck_assert_uint_eq(scene.plan->world_size, 18);
	ck_assert(job_rank_at(scene.plan, 1, &one) && job_rank_at(scene.plan, 13, &other));
	ck_assert_ptr_eq(one.local, other.local);
	ck_assert_uint_eq(other.node, 3);
	ck_assert_uint_eq(other.local_rank, 1);
	ck_assert_int_eq(other.local_size, 4);
	ck_assert_uint_eq(other.local->device_count, 1);
	ck_assert_int_eq(other.local->devices->physical, 1);
	ck_assert_int_eq(other.local->logical, 1);
	ck_assert_str_eq(other.local->devices->pci, "0000:20:00.0");
	ck_assert(job_rank_at(scene.plan, 17, &other));
	ck_assert_uint_eq(other.node, 4);
	ck_assert_str_eq(other.host, "b");
	ck_assert(!job_rank_at(scene.plan, 18, &other));
	ck_assert_uint_gt(scene.plan->step_count, 2);
	scene_free(&scene);
}
END_TEST

/* Many unlike hosts with one fault: some findings, and how many more there are. */
START_TEST(many_findings)
{
	char hosts[1024] = "";
	struct scene scene;

	for (int i = 0; i < 12; i++)
		snprintf(hosts + strlen(hosts), sizeof(hosts) - strlen(hosts), "%sh%d=" TWO,
			 i ? " + " : "", i);
	scene_set(&scene, hosts, "", "device=cuda:0|cpu_bind=none");
	scene_plan(&scene);
	ck_assert_int_eq(scene.code, GPUMAP_OK);
	ck_assert_uint_eq(gpumap_report_count(scene.report), 9);
	ck_assert(says(&scene, "4 more of this kind, on other hosts"));
	scene_free(&scene);
}
END_TEST

static const struct {
	const char *name, *hosts, *settings, *findings;
	int code;
} refused[] = {
	{"no host", "", "", "GM002", GPUMAP_EINPUT},
	{"no rank", "a=2", "world_size=0", "GM002", GPUMAP_EINPUT},
	{"no rank per GPU", "a=2", "ranks_per_gpu=0", "GM002", GPUMAP_EINPUT},
	{"automatic per GPU", "a=2", "ranks_per_gpu=auto", "GM002", GPUMAP_EINPUT},
	{"two counts", "a=2", "world_size=1|ranks=1", "GM004", GPUMAP_EINPUT},
	{"a word", "a=2", "share=lst", "GM002", GPUMAP_EINPUT},
	{"a device", "a=2", "device=gpu:0", "GM002", GPUMAP_EINPUT},
	{"a device without a number", "a=2", "device=cuda:", "GM002", GPUMAP_EINPUT},
	{"CPUs", "a=2", "cpu_bind=list:x", "GM002", GPUMAP_EINPUT},
	{"cores", "a=2", "cpu_bind=cores:0", "GM002", GPUMAP_EINPUT},
	{"too many", "a=2", "gpus=none|world_size=1048577", "GM002", GPUMAP_EINPUT},
	{"too many here", "a=5000", "", "GM005", GPUMAP_ELIMIT},
};

START_TEST(refuses)
{
	struct scene scene;
	char *findings;

	scene_set(&scene, refused[_i].hosts, "", refused[_i].settings);
	scene_plan(&scene);
	ROW_EQ_INT(refused[_i].name, scene.code, refused[_i].code);
	findings = scene_findings(&scene, false);
	ROW_EQ_STR(refused[_i].name, findings, refused[_i].findings);
	ck_assert_ptr_null(scene.plan);
	free(findings);
	scene_free(&scene);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-cells");
	TCase *tests = tcase_create("plan-cells");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, landing, 0, (int)ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, shown, 0, (int)ARRAY_SIZE(lists));
	tcase_add_loop_test(tests, refuses, 0, (int)ARRAY_SIZE(refused));
	tcase_add_test(tests, asked_again);
	tcase_add_test(tests, sharing);
	tcase_add_test(tests, many_findings);
	return unit_run(suite);
}
