/* SPDX-License-Identifier: MIT */
/* Hosts of one kind share answers: they are those that gpumap_resolve gives. */
#include <stdio.h>

#include "base.h"
#include "failing_malloc.h"
#include "plans.h"
#include "resolve/mapping.h"
#include "strbuf.h"
#include "text.h"
#include "unit.h"

/* Machines; %s is a digit that the host's UUIDs have. */
#define UUID(n) "GPU-" n "%s000000-0000-4000-8000-000000000000"
#define MIG(n) "MIG-" n "%s000000-0000-4000-8000-000000000000"
static const char plain[] = UUID("a") " =H100 @10;" UUID("b") " =H100 @20;" UUID("c") " =H100 @30";
static const char other_name[] =
	UUID("a") " =H100 @10;" UUID("b") " =A100 @20;" UUID("c") " =H100 @30";
static const char other_model[] =
	UUID("a") " =A100 @10;" UUID("b") " =A100 @20;" UUID("c") " =A100 @30";
static const char other_pci[] =
	UUID("a") " =H100 @30;" UUID("b") " =H100 @20;" UUID("c") " =H100 @10";
static const char own_pci[] =
	UUID("a") " =H100 @1%s;" UUID("b") " =H100 @2%s;" UUID("c") " =H100 @3%s";
static const char own_model[] = UUID("a") " =H%s @10;" UUID("b") " =H%s @20;" UUID("c") " =H%s @30";
static const char without_uuid[] = "- =H100 @10;- =H100 @20;- =H100 @30";
static const char short_uuid[] = "GPU-a%s =H100 @10;GPU-b%s =H100 @20;GPU-c%s =H100 @30";
static const char prefix_uuid[] = "GPU-a%s =H100 @10;GPU-a%sb =H100 @20;GPU-c%s =H100 @30";
static const char linked[] =
	UUID("a") " =H100 @10 l=1;" UUID("b") " =H100 @20 l=0,2;" UUID("c") " =H100 @30 l=1";
static const char linked_else[] =
	UUID("a") " =H100 @10 l=2;" UUID("b") " =H100 @20 l=2;" UUID("c") " =H100 @30 l=0,1";
static const char with_mig[] = UUID("a") " =H100 @10 m=" MIG("d") " m=" MIG("e") ";" UUID(
	"b") " =H100 @20;" UUID("c") " =H100 @30";
static const char measured[] =
	"fastest=2,0,1 " UUID("a") " =H100 @10;" UUID("b") " =H100 @20;" UUID("c") " =H100 @30";

static const struct {
	const char *name;
	const char *machines[4];
} clusters[] = {
	{"alike", {plain, plain, plain, plain}},
	{"names differ", {plain, other_name, plain, other_name}},
	{"models differ", {plain, other_model, plain, other_model}},
	{"addresses differ", {plain, other_pci, other_pci, plain}},
	{"each has its addresses", {own_pci, own_pci, own_pci, plain}},
	{"each has its model", {own_model, own_model, other_name, own_model}},
	{"a short UUID first", {short_uuid, plain, own_pci, plain}},
	{"no UUIDs", {without_uuid, without_uuid, plain, without_uuid}},
	{"short UUIDs", {short_uuid, prefix_uuid, short_uuid, plain}},
	{"links differ", {linked, linked_else, linked, linked_else}},
	{"MIG", {with_mig, with_mig, plain, with_mig}},
	{"a measured order", {measured, plain, measured, measured}},
};

static const char *const settings[] = {
	"device=cuda:%l",
	"device=cuda:0",
	"device=cuda:%l|ids=index",
	"device=cuda:0|share=isolate",
	"device=cuda:0|share=isolate|ids=index",
	"device=cuda:modulo|share=rotate",
	"device=cuda:%r",
	"device=cuda:%l|world_size=10",
	"device=cuda:%l|gpus=2,0",
	"device=cuda:0|share=isolate|gpus=GPU-b20",
	"device=cuda:%l|order=nvlink",
	"device=cuda:%l|order=nvlink|ids=index",
	"device=cuda:0|share=isolate|order=nvlink|ids=index",
	"device=unknown",
	"device=cpu",
	"device=cuda:%l|in_code=1,0,2",
	"device=cuda:%l|in_code=GPU-b,GPU-a,GPU-c",
	"device=cuda:0|in_code=GPU-b1",
	"mode=dp",
	"mode=mp|device_ids=0,1",
	"device=cuda:%l|ranks_per_gpu=2|ranks=6",
};

/* Whether the rank's list has the device there. */
static bool list_has(const struct local_rank *local, size_t position, const struct plan_device *d)
{
	struct span rest = span_of(local->visible), entry = {0};

	for (size_t i = 0; i <= position; i++)
		if (!span_split(&rest, ',', &entry))
			return false;
	return span_number(entry, 100) == d->physical || (d->uuid && span_is(entry, d->uuid));
}

static void compare(const char *name, const struct scene *scene, size_t rank)
{
	gpumap_mapping *mapping = NULL;
	const gpumap_entry *entry;
	struct job_rank at;
	int physical = -1, mig = -1;

	ck_assert(job_rank_at(scene->plan, (int64_t)rank, &at));
	ck_assert_int_eq(scene_ask(&mapping, scene, rank), GPUMAP_OK);
	if (!mapping) {
		ck_assert_ptr_null(at.local->lands);
		return;
	}
	entry = scene->settings.mode.word == PLAN_DP ? gpumap_mapping_master(mapping)
						     : gpumap_mapping_chosen(mapping);
	if (mapping->answered && entry && entry_decided(entry)) {
		physical = entry->candidates[0]->physical;
		mig = entry->candidates[0]->mig_position;
	}
	if (at.local->lands) {
		ROW_EQ_INT(name, at.local->lands->physical, physical);
		ROW_EQ_INT(name, at.local->lands->mig, mig);
		ROW_EQ_INT(name, at.local->logical, entry->logical);
		ROW_EQ_STR(name, at.local->lands->name, entry->candidates[0]->gpu->name);
		ROW_EQ_STR(name, at.local->lands->pci, entry->candidates[0]->gpu->pci);
		ck_assert_msg(
			*scene->settings.in_code.text ||
				list_has(at.local, (size_t)at.local->logical, at.local->lands),
			"%s: rank %zu sees %s", name, rank, at.local->visible);
	} else {
		ck_assert_msg(physical < 0 || scene->settings.device.use.kind == USE_NOTHING,
			      "%s: rank %zu lands on %d, but the plan does not know", name, rank,
			      physical);
	}
	gpumap_mapping_free(mapping);
}

/* Hosts of these machines; each has its own digit in place of %s. */
static void set_hosts(struct scene *scene, const char *const *machines, size_t count,
		      const char *text)
{
	static const char digits[] = "123456789abcdef0";
	struct strbuf hosts = {0};

	for (size_t i = 0; i < count; i++) {
		strbuf_printf(&hosts, "%sh%zu=", i ? " + " : "", i);
		for (const char *p = machines[i]; *p; p++) {
			bool own = starts_with(p, "%s");

			strbuf_add(&hosts, own ? &digits[i] : p, 1);
			p += own;
		}
	}
	scene_set(scene, hosts.text, "", text);
	strbuf_free(&hosts);
}

static void set_cluster(struct scene *scene, size_t cluster, const char *text)
{
	set_hosts(scene, clusters[cluster].machines, 4, text);
}

START_TEST(resolved)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		struct scene scene;
		char name[160];

		set_cluster(&scene, (size_t)_i, settings[i]);
		snprintf(name, sizeof(name), "%s, %s", clusters[_i].name, settings[i]);
		scene_plan(&scene);
		if (scene.code != GPUMAP_OK)
			fprintf(stderr, "%s: no plan\n", name);
		for (size_t r = 0; scene.code == GPUMAP_OK && r < scene.plan->world_size; r++)
			compare(name, &scene, r);
		scene_free(&scene);
	}
}
END_TEST

/* Each host keeps its own UUIDs. */
START_TEST(own_uuids)
{
	struct scene scene;
	struct job_rank first, last;

	set_cluster(&scene, 0, "device=cuda:%l");
	scene_plan(&scene);
	ck_assert_int_eq(scene.code, GPUMAP_OK);
	ck_assert(job_rank_at(scene.plan, 1, &first) && job_rank_at(scene.plan, 10, &last));
	ck_assert_str_eq(first.local->lands->uuid, "GPU-b1000000-0000-4000-8000-000000000000");
	ck_assert_str_eq(last.local->lands->uuid, "GPU-b4000000-0000-4000-8000-000000000000");
	ck_assert(strstr(last.local->visible, "GPU-c4000000-"));
	ck_assert(!strstr(last.local->visible, "GPU-c1000000-"));
	/* The texts that they have in common are shared, so the two were found to be alike. */
	ck_assert_ptr_eq(first.local->lands->pci, last.local->lands->pci);
	scene_free(&scene);
}
END_TEST

START_TEST(shared_list)
{
	struct scene scene;
	struct job_rank first, last;

	set_cluster(&scene, 0, "device=cuda:%l|ids=index");
	scene_plan(&scene);
	ck_assert_int_eq(scene.code, GPUMAP_OK);
	ck_assert(job_rank_at(scene.plan, 1, &first) && job_rank_at(scene.plan, 10, &last));
	ck_assert_ptr_eq(first.local->visible, last.local->visible);
	ck_assert_ptr_ne(first.local, last.local);
	scene_free(&scene);
}
END_TEST

/* --- whether answers are shared -------------------------------------------------------- */

static const struct {
	const char *name, *first, *rest, *settings;
	bool fails; /* the first host */
	bool shared;
} kinds[] = {
	{"UUIDs differ", plain, plain, "device=cuda:%l", false, true},
	{"addresses differ", own_pci, own_pci, "device=cuda:%l", false, true},
	{"models differ", own_model, own_model, "device=cuda:%l", false, true},
	{"numbers", own_pci, own_pci, "device=cuda:%l|ids=index", false, true},
	{"short UUIDs, numbers", short_uuid, short_uuid, "device=cuda:%l|ids=index", false, true},
	{"MIG", with_mig, with_mig, "device=cuda:%l", false, true},
	{"isolated", own_pci, own_pci, "device=cuda:0|share=isolate", false, true},
	{"the first has short UUIDs", short_uuid, plain, "device=cuda:%l", false, true},
	{"the first fails", plain, plain, "device=cuda:%l|gpus=0,1,2", true, true},
	{"the first is of another kind", measured, plain, "device=cuda:%l", false, true},
	{"short UUIDs", short_uuid, short_uuid, "device=cuda:%l", false, false},
	{"a list of UUIDs", plain, plain, "device=cuda:%l|in_code=GPU-b,GPU-a,GPU-c", false, false},
};

/* The allocations of a plan of that many hosts. */
static size_t allocations(size_t row, size_t count)
{
	const char *machines[SCENE_HOSTS];
	gpumap_request *request;
	gpumap_mapping *granted = NULL;
	struct plan_inherited limit = {.kind = PLAN_LIMIT_SCHEDULER, .origin = "job 1"};
	struct scene scene;
	size_t taken;

	for (size_t i = 0; i < count; i++)
		machines[i] = i ? kinds[row].rest : kinds[row].first;
	set_hosts(&scene, machines, count, kinds[row].settings);
	ck_assert_int_eq(gpumap_request_new(&request), GPUMAP_OK);
	ck_assert_int_eq(gpumap_request_set(request, "visible", "0", "test", NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_resolve(&granted, request, scene.hosts[0].inventory, NULL),
			 GPUMAP_OK);
	limit.mapping = granted;
	if (kinds[row].fails) {
		scene.hosts[0].inherited = &limit;
		scene.hosts[0].inherited_count = 1;
	}
	allocations_fail_at(0);
	scene_plan(&scene);
	taken = allocations_count();
	ck_assert_int_eq(scene.code, GPUMAP_OK);
	ROW_EQ_INT(kinds[row].name, scene.plan->answered, !kinds[row].fails);
	gpumap_mapping_free(granted);
	gpumap_request_free(request);
	scene_free(&scene);
	return taken;
}

/* An answer of its own takes more than ten allocations, for each of three ranks. */
START_TEST(shared_answers)
{
	size_t few = allocations((size_t)_i, 4), many = allocations((size_t)_i, 14), each;

	ck_assert_uint_ge(many, few);
	each = (many - few) / 10;
	ck_assert_msg(kinds[_i].shared ? each < 10 : each > 30, "%s: a host takes %zu allocations",
		      kinds[_i].name, each);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-alike");
	TCase *tests = tcase_create("plan-alike");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, resolved, 0, (int)ARRAY_SIZE(clusters));
	tcase_add_test(tests, own_uuids);
	tcase_add_test(tests, shared_list);
	if (allocations_can_fail()) /* and can be counted */
		tcase_add_loop_test(tests, shared_answers, 0, (int)ARRAY_SIZE(kinds));
	return unit_run(suite);
}
