/* SPDX-License-Identifier: MIT */
#include "plans.h"

#include <check.h>
#include <stdio.h>

#include "inventory/inventory.h"
#include "plan/build.h"
#include "strbuf.h"

/* Takes the piece before `mark` off *rest; false at the end. Ends pieces with NUL. */
static bool next(char **rest, const char *mark, char **piece)
{
	char *at = *rest;

	if (!at)
		return false;
	*piece = at;
	at = strstr(at, mark);
	*rest = at ? at + strlen(mark) : NULL;
	if (at)
		*at = '\0';
	return true;
}

static void set(char **member, const char *value)
{
	ck_assert(member_set(member, span_of(value)));
}

static void set_links(gpumap_device *gpu, const char *text)
{
	struct span rest = span_of(text), part;
	int links[64];
	size_t n = 0;

	while (*text && span_split(&rest, ',', &part))
		links[n++] = (int)span_number(part, 1000);
	ck_assert(device_set_nvlink(gpu, links, n));
}

/* An instance; `shares`: it has the GPU instance of the one before. */
static void add_mig(gpumap_device *gpu, const char *uuid, bool shares)
{
	gpumap_device *mig = device_add_mig(gpu);

	ck_assert_ptr_nonnull(mig);
	mig->gi = shares ? mig[-1].gi : (int)gpu->mig_count;
	mig->ci = shares ? mig[-1].ci + 1 : 0;
	set(&mig->uuid, uuid);
}

static void set_word(gpumap_device *gpu, char *word)
{
	char pci[32];

	if (*word == '=') {
		set(&gpu->name, word + 1);
	} else if (*word == '@') {
		snprintf(pci, sizeof(pci), "0000:%.10s:00.0", word + 1);
		set(&gpu->pci, pci);
	} else if (starts_with(word, "n=")) {
		set(&gpu->numa, word + 2);
	} else if (starts_with(word, "c=")) {
		set(&gpu->cpus, word + 2);
	} else if (starts_with(word, "l=")) {
		set_links(gpu, word + 2);
	} else if (starts_with(word, "m=")) {
		add_mig(gpu, word + 2, false);
	} else if (starts_with(word, "m+=")) {
		add_mig(gpu, word + 3, true);
	} else if (!streq(word, "-")) {
		set(&gpu->uuid, word);
	}
}

static void set_order(gpumap_inventory *inventory, char *text)
{
	struct span rest = span_of(text), part;
	size_t n = 0;

	inventory->order[GPUMAP_ORDER_FASTEST] = malloc(64 * sizeof(int));
	while (span_split(&rest, ',', &part))
		inventory->order[GPUMAP_ORDER_FASTEST][n++] = (int)span_number(part, 63);
}

gpumap_inventory *plan_machine(const char *text)
{
	gpumap_inventory *inventory = NULL;
	char *copy = strdup(text), *rest = copy, *gpu, *word;

	if (streq(text, "none")) {
		free(copy);
		return NULL;
	}
	if (is_digit(*text)) {
		ck_assert_int_eq(gpumap_inventory_open(&inventory, text, NULL), GPUMAP_OK);
		free(copy);
		return inventory;
	}
	inventory = inventory_new("test", "test machine");
	set(&inventory->driver, "570.1");
	while (next(&rest, ";", &gpu)) {
		gpumap_device *d = NULL;

		while (next(&gpu, " ", &word)) {
			if (starts_with(word, "fastest=")) {
				set_order(inventory, word + 8);
				continue;
			}
			if (!d)
				d = inventory_add(inventory);
			ck_assert_ptr_nonnull(d);
			d->index = (int)inventory->count - 1;
			set_word(d, word);
		}
	}
	ck_assert_int_eq(inventory_finish(inventory, NULL), GPUMAP_OK);
	free(copy);
	return inventory;
}

static const gpumap_mapping *inherit(const gpumap_inventory *inventory, const char *list)
{
	gpumap_mapping *mapping = NULL;
	gpumap_request *request;
	const char *order = "CUDA_DEVICE_ORDER=PCI_BUS_ID";

	ck_assert_int_eq(gpumap_request_new(&request), GPUMAP_OK);
	if (starts_with(list, "pci ")) {
		list += 4;
		gpumap_request_set(request, "prefix", order, "test", NULL);
	}
	gpumap_request_set(request, "prefix", list, "test", NULL);
	ck_assert_int_eq(gpumap_resolve(&mapping, request, inventory, NULL), GPUMAP_OK);
	gpumap_request_free(request);
	return mapping;
}

static void add_limits(struct plan_host_input *host, struct plan_inherited *limits,
		       const char *text)
{
	static const char *const kinds[] = {"user", "scheduler", "container", "run", "rank"};
	char *copy = strdup(text), *rest = *text ? copy : NULL, *limit;

	while (next(&rest, " + ", &limit)) {
		struct plan_inherited *b = &limits[host->inherited_count++];
		char *list = strchr(limit, ':');

		*list++ = '\0';
		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
			if (streq(kinds[i], limit))
				b->kind = (enum plan_limit)i;
		b->origin = "CUDA_VISIBLE_DEVICES";
		b->mapping = inherit(host->inventory, list);
	}
	host->inherited = host->inherited_count ? limits : NULL;
	free(copy);
}

static void add_host(struct scene *scene, char *text, const char *limits)
{
	char *machine = strchr(text, '='), *star;
	struct plan_host_input host = {0};
	size_t at = scene->inventory_count++;
	int count = 1;

	*machine++ = '\0';
	star = strchr(text, '*');
	if (star)
		count = (int)span_number(span_of(star + 1), SCENE_HOSTS);
	scene->inventories[at] = plan_machine(machine);
	host.inventory = scene->inventories[at];
	host.name = strndup(text, strcspn(text, "*"));
	add_limits(&host, scene->limits[at], limits);
	while (count--)
		scene->hosts[scene->input.host_count++] = host;
}

void scene_set(struct scene *scene, const char *hosts, const char *limits, const char *settings)
{
	char *copy = strdup(hosts), *rest = *hosts ? copy : NULL, *one;

	*scene = (struct scene){.settings = plan_settings_default()};
	while (next(&rest, " + ", &one))
		add_host(scene, one, limits);
	free(copy);
	scene->texts = strdup(settings);
	ck_assert_int_eq(gpumap_report_new(&scene->report), GPUMAP_OK);
	rest = *settings ? scene->texts : NULL;
	while (scene->code == GPUMAP_OK && next(&rest, "|", &one)) {
		char *value = strchr(one, '=');

		if (!*one)
			continue;
		*value++ = '\0';
		scene->code = plan_set(&scene->settings, setting_key(span_of(one)), value,
				       (struct plan_place){"test", 7, 10}, scene->report);
	}
	scene->input.settings = &scene->settings;
	scene->input.hosts = scene->hosts;
}

void scene_plan(struct scene *scene)
{
	if (scene->code == GPUMAP_OK)
		scene->code = plan_make(&scene->plan, &scene->input, scene->report);
}

void scene_free(struct scene *scene)
{
	const char *last = NULL;

	gpumap_plan_free(scene->plan);
	for (size_t i = 0; i < scene->input.host_count; i++) {
		if (scene->hosts[i].name != last)
			free((void *)(uintptr_t)scene->hosts[i].name);
		last = scene->hosts[i].name;
	}
	for (size_t i = 0; i < scene->inventory_count; i++) {
		for (size_t k = 0; k < 2; k++)
			gpumap_mapping_free(
				(gpumap_mapping *)(uintptr_t)scene->limits[i][k].mapping);
		gpumap_inventory_free(scene->inventories[i]);
	}
	gpumap_report_free(scene->report);
	free(scene->texts);
}

int scene_ask(gpumap_mapping **ret, const struct scene *scene, size_t rank)
{
	const struct builder b = {.input = &scene->input, .plan = scene->plan};
	struct host_class class = {.settings = scene->input.settings};
	struct layout layout = {.class = &class};
	struct job_rank at;

	*ret = NULL;
	if (!job_rank_at(scene->plan, (int64_t)rank, &at) || !at.local->device_count)
		return GPUMAP_OK;
	class.host = &scene->input.hosts[at.node];
	class.settings = class.host->settings ? class.host->settings : class.settings;
	layout.host = &scene->plan->hosts[at.node];
	return layout_ask(ret, &b, &layout, (size_t)at.local_rank, NULL);
}

typedef void write_rank(struct strbuf *buf, const struct local_rank *local);

static char *each_rank(const struct scene *scene, write_rank *write)
{
	struct strbuf buf = {0};
	struct job_rank rank;

	for (size_t i = 0; scene->plan && job_rank_at(scene->plan, (int64_t)i, &rank); i++) {
		strbuf_puts(&buf, i ? " " : "");
		write(&buf, rank.local);
	}
	return strbuf_take(&buf);
}

static void write_landing(struct strbuf *buf, const struct local_rank *local)
{
	if (!local->lands)
		strbuf_puts(buf, "-");
	else if (local->lands->mig < 0)
		strbuf_printf(buf, "%d", local->lands->physical);
	else
		strbuf_printf(buf, "%d.%d", local->lands->physical, local->lands->mig);
}

char *scene_lands(const struct scene *scene)
{
	return each_rank(scene, write_landing);
}

static void write_list(struct strbuf *buf, const struct local_rank *local)
{
	strbuf_puts(buf, *local->visible ? local->visible : "''");
}

char *scene_lists(const struct scene *scene)
{
	return each_rank(scene, write_list);
}

static void write_cpus(struct strbuf *buf, const struct local_rank *local)
{
	strbuf_printf(buf, "%s%s/%d", local->cpus ? local->cpus : "-",
		      local->cpus_shared ? "!" : "", local->threads);
}

char *scene_cpus(const struct scene *scene)
{
	return each_rank(scene, write_cpus);
}

static void write_nodes(struct strbuf *buf, const struct local_rank *local)
{
	strbuf_puts(buf, local->nodes ? local->nodes : "-");
}

char *scene_nodes(const struct scene *scene)
{
	return each_rank(scene, write_nodes);
}

char *scene_findings(const struct scene *scene, bool remarks)
{
	struct strbuf buf = {0};

	for (size_t i = 0; i < gpumap_report_count(scene->report); i++) {
		const gpumap_finding *f = gpumap_report_get(scene->report, i);
		const char *id = gpumap_finding_str(f, GPUMAP_FINDING_ID);

		if (!remarks &&
		    gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY) == GPUMAP_SEVERITY_REMARK)
			continue;
		if (buf.text && strstr(buf.text, id))
			continue;
		strbuf_printf(&buf, "%s%s", buf.length ? " " : "", id);
	}
	return strbuf_take(&buf);
}
