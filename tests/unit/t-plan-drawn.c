/* SPDX-License-Identifier: MIT */
/* Hosts that share answers, drawn at random: inventories with one shape get the same answers to the
 * same statements, and each rank of a plan has the answer that it gets alone. */
#include <stdio.h>

#include "base.h"
#include "draws.h"
#include "inventory/inventory.h"
#include "plans.h"
#include "resolve/mapping.h"
#include "resolve/resolve.h"
#include "text.h"
#include "unit.h"

enum { MAX_GPUS = 5, CLUSTERS = SANITIZED ? 300 : 1500, PAIRS = SANITIZED ? 6000 : 30000 };

/* --- draws ------------------------------------------------------------------------------ */

static uint64_t seed;

/* The draws of one machine: those of one seed are equal, except that of number `changed`. */
static struct draws draws_of(uint64_t number, unsigned changed)
{
	uint64_t state = (seed + number) * UINT64_C(0x9e3779b97f4a7c15);

	return (struct draws){state ? state : 1, 0, changed};
}

/* --- machines --------------------------------------------------------------------------- */

static void set(char **member, const char *value)
{
	ck_assert(member_set(member, span_of(value)));
}

/* Digits that no other device of this host has, in an order that is the host's own. */
static unsigned own(unsigned host, size_t i)
{
	static const unsigned steps[] = {1, 3, 7, 9, 11};

	return (unsigned)(i + 1) * steps[host % ARRAY_SIZE(steps)] * 29 % 256;
}

static void draw_uuid(struct draws *d, char **member, const char *prefix, unsigned host, size_t i)
{
	unsigned kind = draw(d, 12);
	char text[64];

	if (kind == 0)
		return;
	snprintf(text, sizeof(text),
		 kind == 1   ? "%s%02x%02x"
		 : kind == 2 ? "%sGPU-%02x%02x0000-0000-4000-8000-000000000000/1/0"
			     : "%s%02x%02x0000-0000-4000-8000-000000000000",
		 prefix, own(host, i), host % 256);
	set(member, text);
}

static void draw_migs(struct draws *d, gpumap_device *gpu, unsigned host, size_t place)
{
	static const char *const profiles[] = {NULL, "1g.10gb", "1c.3g.40gb", "1c.2g.20gb"};

	for (unsigned n = draw(d, 4), i = 0; i < n; i++) {
		gpumap_device *mig = device_add_mig(gpu);
		const char *profile;

		ck_assert_ptr_nonnull(mig);
		/* Some have the UUID of the one before. */
		draw_uuid(d, &mig->uuid, "MIG-", host, MAX_GPUS + place * 8 + (draw(d, 8) ? i : 0));
		mig->gi = (int)draw(d, 4) - 1;
		mig->ci = (int)draw(d, 3) - 1;
		profile = DRAW(d, profiles);
		if (profile)
			set(&mig->profile, profile);
	}
}

/* What answers do not depend on differs from host to host. */
static void add_gpu(struct draws *d, gpumap_inventory *inventory, unsigned host, unsigned models)
{
	size_t i = inventory->count;
	gpumap_device *gpu = inventory_add(inventory);
	char text[64];

	ck_assert_ptr_nonnull(gpu);
	draw_uuid(d, &gpu->uuid, draw(d, 20) ? "GPU-" : "MIG-", host, i);
	gpu->minor = (int)(host + i);
	snprintf(text, sizeof(text), "%04x:%02x:00.0", host, own(host, i));
	if (draw(d, 8))
		set(&gpu->pci, text);
	snprintf(text, sizeof(text), "%u", host % 4);
	set(&gpu->numa, text);
	if (models == 1)
		set(&gpu->name, host % 2 ? "A100" : "H100");
	else if (models == 2 && draw(d, 8))
		set(&gpu->name, draw(d, 2) ? "A100" : "H100");
	/* Of one model, or beyond its limit of a tenth. */
	gpu->memory = models == 1 ? 1000 + (int64_t)(host * 7 + i * 23) % 110 * 23 / 20
				  : 1000 * (int64_t)draw(d, 3) - 1;
	gpu->mig_enabled = draw(d, 4) ? (int)draw(d, 2) - 1 : 1;
	if (gpu->mig_enabled == 1)
		draw_migs(d, gpu, host, i);
}

static void draw_fastest(struct draws *d, gpumap_inventory *inventory)
{
	int *order = malloc((inventory->count + 1) * sizeof(*order));
	size_t by = draw(d, MAX_GPUS);

	ck_assert_ptr_nonnull(order);
	for (size_t i = 0; i < inventory->count; i++)
		order[i] = (int)((i + by) % inventory->count);
	inventory->order[GPUMAP_ORDER_FASTEST] = order;
}

static gpumap_inventory *draw_machine(struct draws *d, unsigned host)
{
	static const char *const drivers[] = {NULL, "515.1", "535.2.1", "570.3", "580.4", "what"};
	gpumap_inventory *inventory = inventory_new("test", "a drawn machine");
	unsigned models = draw(d, 3), count = draw(d, MAX_GPUS + 1);
	bool indexed = draw(d, 4), gaps = !draw(d, 4);
	const char *driver = DRAW(d, drivers);
	int index = 0;

	ck_assert_ptr_nonnull(inventory);
	if (driver)
		set(&inventory->driver, driver);
	inventory->partial = !draw(d, 8);
	inventory->assumed = !draw(d, 8);
	if (!draw(d, 12))
		set(&inventory->no_gpu, "the driver is not loaded");
	for (unsigned i = 0; i < count; i++) {
		index += gaps ? (int)draw(d, 3) : 0;
		add_gpu(d, inventory, host, models);
		if (indexed)
			inventory->gpus[i].index = index++;
	}
	ck_assert_int_eq(inventory_finish(inventory, NULL), GPUMAP_OK);
	if (!draw(d, 4))
		draw_fastest(d, inventory);
	return inventory;
}

/* --- one shape, one answer -------------------------------------------------------------- */

static bool same_shape(const gpumap_inventory *a, const gpumap_inventory *b)
{
	struct strbuf x = {0}, y = {0};
	bool same;

	host_shape(&x, a);
	host_shape(&y, b);
	ck_assert(!x.failed && !y.failed);
	same = x.length == y.length && memcmp(x.text, y.text, x.length) == 0;
	strbuf_free(&x);
	strbuf_free(&y);
	return same;
}

/* "key=value" statements about numbers alone; 0 ends the list. */
static size_t draw_statements(struct draws *d, const char *statements[8], char list[64])
{
	size_t n = 0;

	if (draw(d, 4)) {
		size_t length = (size_t)snprintf(list, 64, "%s", DRAW(d, drawn_lists));

		for (unsigned i = 0, count = draw(d, 4); i <= count; i++)
			length += (size_t)snprintf(list + length, 64 - length, "%s%d", i ? "," : "",
						   (int)draw(d, 7) - 1);
		statements[n++] = list;
	}
	for (unsigned i = draw(d, 5); i; i--)
		statements[n++] = DRAW(d, drawn_statements);
	return n;
}

static void write_entry(struct strbuf *buf, const gpumap_entry *entry)
{
	if (!entry) {
		strbuf_puts(buf, " -");
		return;
	}
	strbuf_printf(buf, " %d:%d", entry->logical, entry->certainty);
	for (size_t i = 0; i < entry->count; i++)
		strbuf_printf(buf, "/%d.%d", entry->candidates[i]->physical,
			      entry->candidates[i]->mig_position);
}

/* All of an answer but UUIDs, names and addresses; the ids of its steps and findings too. */
static char *answer(const gpumap_inventory *inventory, const char *const *statements, size_t count)
{
	gpumap_mapping *mapping = NULL;
	gpumap_request *request;
	gpumap_report *report;
	struct strbuf buf = {0};
	int r = GPUMAP_OK;

	ck_assert_int_eq(gpumap_request_new(&request), GPUMAP_OK);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	for (size_t i = 0; i < count; i++) {
		const char *value = strchr(statements[i], '=');
		char key[32];

		snprintf(key, sizeof(key), "%.*s", (int)(value - statements[i]), statements[i]);
		gpumap_request_set(request, key, value + 1, "test", report);
	}
	r = gpumap_resolve(&mapping, request, inventory, report);
	strbuf_printf(&buf, "%d %d", r, mapping && mapping->answered);
	for (size_t i = 0; i < gpumap_mapping_visible_count(mapping); i++)
		write_entry(&buf, gpumap_mapping_visible(mapping, i));
	strbuf_puts(&buf, " chosen");
	write_entry(&buf, gpumap_mapping_chosen(mapping));
	write_entry(&buf, gpumap_mapping_master(mapping));
	for (size_t i = 0; i < gpumap_mapping_replica_count(mapping); i++)
		write_entry(&buf, gpumap_mapping_replica(mapping, i));
	for (size_t i = 0; i < gpumap_mapping_step_count(mapping); i++)
		strbuf_printf(&buf, " %s", gpumap_mapping_step(mapping, i)->rule);
	for (size_t i = 0; i < gpumap_report_count(report); i++)
		strbuf_printf(&buf, " %s",
			      gpumap_finding_str(gpumap_report_get(report, i), GPUMAP_FINDING_ID));
	gpumap_mapping_free(mapping);
	gpumap_request_free(request);
	gpumap_report_free(report);
	return strbuf_take(&buf);
}

static void compare_answers(const gpumap_inventory *a, const gpumap_inventory *b, struct draws *d)
{
	const char *statements[8];
	char list[64], name[256] = "", *one, *other;
	size_t count = draw_statements(d, statements, list), length = 0;

	for (size_t i = 0; i < count; i++)
		length += (size_t)snprintf(name + length, sizeof(name) - length, "%s|",
					   statements[i]);
	one = answer(a, statements, count);
	other = answer(b, statements, count);
	ROW_EQ_STR(name, other, one);
	free(one);
	free(other);
}

START_TEST(one_shape_one_answer)
{
	size_t same = 0, changed = 0;

	for (unsigned i = 0; i < PAIRS; i++) {
		/* Half of the second machines differ in a draw. */
		struct draws one = draws_of(i, 0), other = draws_of(i, i % 2 ? 0 : i / 2 % 40 + 1);
		struct draws asked = draws_of(i + UINT64_C(1) * PAIRS, 0);
		gpumap_inventory *a = draw_machine(&one, 2 * i);
		gpumap_inventory *b = draw_machine(&other, 2 * i + 1 + i % 7);

		if (same_shape(a, b)) {
			same += i % 2;
			changed += i % 2 == 0;
			for (int k = 0; k < 3; k++)
				compare_answers(a, b, &asked);
		}
		gpumap_inventory_free(a);
		gpumap_inventory_free(b);
	}
	/* GPUs without index are numbered by address, so not all of the equal draws have one. */
	ck_assert_uint_gt(same, PAIRS / 4);
	ck_assert_uint_gt(changed, PAIRS / 100);
}
END_TEST

/* --- plans ------------------------------------------------------------------------------ */

static const char *const settings[] = {
	"device=cuda:%l",
	"device=cuda:0",
	"device=cuda:%l|ids=index",
	"device=cuda:%l|ids=uuid",
	"device=cuda:0|share=isolate",
	"device=cuda:0|share=isolate|ids=index",
	"device=cuda:modulo|share=rotate",
	"device=cuda:modulo|share=isolate|ids=index",
	"device=cuda:%r",
	"device=cuda:%n",
	"device=cuda:%l|world_size=7",
	"device=cuda:%l|gpus=1,0",
	"device=cuda:%l|gpus=inherit",
	"device=cuda:0|share=isolate|gpus=pci:0001:1d:00.0",
	"device=cuda:%l|order=listed",
	"device=cuda:%l|order=numa",
	"set_device=cuda:%l",
	"device=unknown",
	"device=cpu",
	"device=cuda:%l|in_code=1,0,2",
	"device=cuda:%l|in_code=GPU-1,GPU-5",
	"device=cuda:0|in_code=GPU-0",
	"device=cuda:0|in_code=GPU-1,GPU-2,GPU-3,GPU-4,GPU-5",
	"device=cuda:%l|in_code=HIP_VISIBLE_DEVICES=1",
	"device=cuda:0|prefix=ROCR_VISIBLE_DEVICES=1",
	"mode=dp",
	"mode=mp|device_ids=0,1",
	"mode=mp|device=cuda:%l",
	"mode=single|device=cuda:1",
	"device=cuda:%l|ranks_per_gpu=2|ranks=4",
};

static void add_host(struct scene *scene, gpumap_inventory *inventory)
{
	char name[16];

	snprintf(name, sizeof(name), "h%zu", scene->input.host_count);
	scene->inventories[scene->inventory_count++] = inventory;
	scene->hosts[scene->input.host_count++] =
		(struct plan_host_input){.name = strdup(name), .inventory = inventory};
}

/* Compares a rank with the answer that gpumap_resolve gives for it. False: it is an error. */
static bool compare_rank(const char *name, const struct scene *scene, size_t rank)
{
	gpumap_mapping *mapping = NULL;
	const gpumap_entry *entry;
	struct job_rank at;
	int physical = -1, mig = -1;
	bool answered;

	ck_assert(job_rank_at(scene->plan, (int64_t)rank, &at));
	ck_assert_int_eq(scene_ask(&mapping, scene, rank), GPUMAP_OK);
	if (!mapping)
		return true;
	answered = mapping->answered;
	entry = scene->settings.mode.word == PLAN_DP ? gpumap_mapping_master(mapping)
						     : gpumap_mapping_chosen(mapping);
	if (answered && entry && entry_decided(entry)) {
		physical = entry->candidates[0]->physical;
		mig = entry->candidates[0]->mig_position;
	}
	if (at.local->lands) {
		ck_assert_msg(answered && entry, "%s: rank %zu has no answer", name, rank);
		ROW_EQ_INT(name, at.local->lands->physical, physical);
		ROW_EQ_INT(name, at.local->lands->mig, mig);
		ROW_EQ_INT(name, at.local->logical, entry->logical);
		ROW_EQ_STR(name, at.local->lands->uuid, entry->candidates[0]->uuid);
		ROW_EQ_STR(name, at.local->lands->name, entry->candidates[0]->gpu->name);
		ROW_EQ_STR(name, at.local->lands->pci, entry->candidates[0]->gpu->pci);
	}
	gpumap_mapping_free(mapping);
	return answered;
}

/* Compares a host's landings with those in a plan of its own. There, ranks that depend on earlier
 * hosts differ, and a host without GPUs may start ranks. */
static void compare_alone(const char *name, const struct scene *scene, size_t host)
{
	struct plan_input input = scene->input;
	gpumap_plan *plan = NULL;
	struct job_rank one, other;

	input.hosts = &scene->hosts[host];
	input.host_count = 1;
	ck_assert_int_eq(plan_make(&plan, &input, NULL), GPUMAP_OK);
	if (plan->world_size != scene->plan->hosts[host].layout->count) {
		ck_assert_ptr_null(plan->hosts->layout->ranks->devices);
		gpumap_plan_free(plan);
		return;
	}
	for (size_t l = 0; job_rank_at(plan, (int64_t)l, &one); l++) {
		size_t rank = scene->plan->hosts[host].first_rank + l;

		ck_assert(job_rank_at(scene->plan, (int64_t)rank, &other));
		ck_assert_uint_eq(other.node, host);
		ROW_EQ_STR(name, other.local->visible, one.local->visible);
		ROW_EQ_INT(name, other.local->logical, one.local->logical);
		ROW_EQ_INT(name, other.local->lands != NULL, one.local->lands != NULL);
		if (one.local->lands)
			ROW_EQ_STR(name, other.local->lands->uuid, one.local->lands->uuid);
	}
	gpumap_plan_free(plan);
}

static bool by_host(const char *text)
{
	return strstr(text, "%r") || strstr(text, "%n") || strstr(text, "modulo") ||
	       strstr(text, "world_size");
}

static void compare_plan(const char *name, struct scene *scene, const char *text)
{
	bool answered = true;

	ck_assert_msg(scene->code == GPUMAP_OK, "%s: code %d", name, scene->code);
	for (size_t r = 0; r < scene->plan->world_size; r++)
		answered &= compare_rank(name, scene, r);
	ck_assert_msg(answered || !scene->plan->answered, "%s: a rank's error is missing", name);
	for (size_t i = 0; !by_host(text) && i < scene->input.host_count; i++)
		compare_alone(name, scene, i);
}

START_TEST(drawn_clusters)
{
	size_t ranks = 0;

	for (unsigned i = 0; i < CLUSTERS; i++) {
		struct draws d = draws_of(i, 0);
		uint64_t kinds = draw(&d, 3) + 1;
		const char *text = DRAW(&d, settings);
		struct scene scene;
		char name[160];

		snprintf(name, sizeof(name), "cluster %u, %s", i, text);
		scene_set(&scene, "", "", text);
		for (unsigned host = draw(&d, SCENE_HOSTS - 1); host < SCENE_HOSTS; host++) {
			unsigned changed = draw(&d, 3) ? 0 : draw(&d, 40);
			struct draws machine = draws_of(i * 8 + draw(&d, (unsigned)kinds), changed);

			add_host(&scene, draw_machine(&machine, host));
		}
		scene_plan(&scene);
		compare_plan(name, &scene, text);
		ranks += scene.plan->world_size;
		scene_free(&scene);
	}
	ck_assert_uint_gt(ranks, CLUSTERS);
}
END_TEST

int main(void)
{
	const char *given = getenv("GPUMAP_TEST_SEED");
	Suite *suite = suite_create("plan-drawn");
	TCase *tests = tcase_create("plan-drawn");

	seed = given ? strtoull(given, NULL, 10) : 1;
	printf("# GPUMAP_TEST_SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	suite_add_tcase(suite, tests);
	tcase_add_test(tests, one_shape_one_answer);
	tcase_add_test(tests, drawn_clusters);
	return unit_run(suite);
}
