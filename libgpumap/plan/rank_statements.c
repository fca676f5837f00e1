/* SPDX-License-Identifier: MIT */
/* The environment of a rank and the actions of its program, as statements of a request. */
#include "plan/build.h"

#include <stdio.h>

#include "strbuf.h"

/* Only keys of [program] state something. */
#define EACH_PROGRAM_KEY(k) \
	for (enum profile_key_id k = PKEY_PROGRAM_command; (k) < SETTING_END; (k)++)

/* The list that the setting states; "": none. */
static const char *stated_list(const struct plan_settings *settings, enum profile_key_id key)
{
	const char *text = SETTING_OF(settings, key)->text;

	return *text && profile_key(key)->use & STATES_LIST ? text : "";
}

bool plan_has_statements(const struct plan_settings *settings)
{
	EACH_PROGRAM_KEY (key)
		if (*stated_list(settings, key))
			return true;
	return false;
}

bool plan_states_by_rank(const struct plan_settings *settings)
{
	EACH_PROGRAM_KEY (key) {
		const char *text = stated_list(settings, key);

		if (*text && (strstr(text, "%r") || strstr(text, "%n")))
			return true;
	}
	return false;
}

enum plan_mode plan_mode_of_rank(enum plan_mode mode, const struct plan_settings *settings)
{
	bool by_rank = use_is_by_rank(settings->device.use.kind);

	return mode == PLAN_MP && by_rank && !*settings->device_ids.text ? PLAN_SINGLE : mode;
}

struct asking {
	const gpumap_plan *plan;
	const struct plan_host *host;
	const struct plan_settings *settings; /* the host's */
	enum plan_mode mode;
	size_t local_rank;
	gpumap_request *request;
	gpumap_report *report;
};

static const char *visible(const struct asking *a)
{
	return a->host->layout->ranks[a->local_rank].visible;
}

/* The number of devices in the rank's list. */
static size_t shown(const struct asking *a)
{
	const char *list = visible(a);
	size_t count = *list != '\0';

	for (; *list; list++)
		count += *list == ',';
	return count;
}

static size_t index_of(const struct asking *a, struct device_use use)
{
	size_t rank = a->host->first_rank + a->local_rank;

	switch (use.kind) {
	case USE_LOCAL_RANK:
		return a->local_rank;
	case USE_RANK:
		return rank;
	case USE_NODE:
		return (size_t)(a->host - a->plan->hosts);
	case USE_MODULO:
	case USE_LOCAL_MODULO:
		return rank_modulo(use.kind == USE_MODULO ? rank : a->local_rank, shown(a));
	default:
		return (size_t)use.number;
	}
}

static int state(const struct asking *a, enum profile_key_id key, const char *text)
{
	return gpumap_request_set(a->request, profile_key(key)->key.name, text,
				  SETTING_OF(a->settings, key)->place.origin, a->report);
}

static int state_index(const struct asking *a, enum profile_key_id key, struct device_use use)
{
	char text[32];

	if (use.kind == USE_CPU)
		return state(a, key, "cpu");
	/* With statements the number of visible devices follows from the request. */
	if ((use.kind == USE_MODULO || use.kind == USE_LOCAL_MODULO) &&
	    plan_has_statements(a->settings))
		return state(a, key, use.kind == USE_MODULO ? "modulo" : "local-modulo");
	snprintf(text, sizeof(text), "%zu", index_of(a, use));
	return state(a, key, text);
}

static int state_ids(const struct asking *a, const char *ids)
{
	struct span rest = span_of(ids), part;
	CLEANUP(strbuf_free) struct strbuf buf = {0};

	while (span_split(&rest, ',', &part))
		strbuf_printf(&buf, "%s%zu", buf.length ? "," : "",
			      index_of(a, device_index(span_trim(part))));
	return buf.failed ? GPUMAP_ENOMEM : state(a, PKEY_PROGRAM_device_ids, buf.text);
}

/* The ranks that statements of the program may refer to. */
static void add_ranks(const struct asking *a, const char **envp, char texts[5][40])
{
	const size_t values[5] = {a->host->first_rank + a->local_rank, a->plan->world_size,
				  a->local_rank, a->host->layout->count,
				  (size_t)(a->host - a->plan->hosts)};
	static const char *const names[5] = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
					     "GROUP_RANK"};

	for (size_t i = 0; i < 5; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%s=%zu", names[i], values[i]);
		envp[i] = texts[i];
	}
}

/* States the child's environment, which will be the weakest statement (rule S3). */
static int state_environment(const struct asking *a)
{
	const char *envp[8] = {NULL};
	CLEANUP(strbuf_free) struct strbuf buf = {0};
	char ranks[5][40];
	size_t count = 0;
	int r = GPUMAP_ENOMEM;

	strbuf_puts(&buf, "CUDA_VISIBLE_DEVICES=");
	strbuf_puts(&buf, visible(a));
	envp[count++] = buf.text;
	if (a->host->layout->device_order)
		envp[count++] = "CUDA_DEVICE_ORDER=PCI_BUS_ID";
	if (plan_has_statements(a->settings))
		add_ranks(a, envp + count, ranks);
	if (!buf.failed)
		r = gpumap_request_set_environ(a->request, envp, a->report);
	return r;
}

static int state_statements(const struct asking *a)
{
	int r = GPUMAP_OK;

	EACH_PROGRAM_KEY (key)
		if (r == GPUMAP_OK && *stated_list(a->settings, key))
			r = state(a, key, stated_list(a->settings, key));
	return r;
}

static int state_use(const struct asking *a)
{
	const struct plan_settings *s = a->settings;
	enum plan_mode mode = a->mode;
	int r = state(a, PKEY_PROFILE_mode, KEY_WORD(PKEY_PROFILE_mode, mode));

	if (r == GPUMAP_OK && mode != PLAN_MP && s->set_device.use.kind != USE_NOTHING)
		r = state_index(a, PKEY_PROGRAM_set_device, s->set_device.use);
	if (r == GPUMAP_OK && mode != PLAN_MP && s->device.use.kind != USE_NOTHING &&
	    s->device.use.kind != USE_CURRENT)
		r = state_index(a, PKEY_PROGRAM_device, s->device.use);
	if (r == GPUMAP_OK && mode != PLAN_SINGLE && *s->device_ids.text)
		r = state_ids(a, s->device_ids.text);
	return r;
}

int layout_ask(gpumap_mapping **ret, const struct builder *b, const struct layout *layout,
	       size_t local_rank, gpumap_report *report)
{
	const struct host_class *class = layout->class;
	struct asking a = {
		.plan = b->plan,
		.host = layout->host,
		.settings = class->settings,
		.mode = plan_mode_of_rank(b->input->settings->mode.word, class->settings),
		.local_rank = local_rank,
		.report = report};
	int r = gpumap_request_new(&a.request);

	if (r == GPUMAP_OK)
		r = state_environment(&a);
	if (r == GPUMAP_OK)
		r = state_statements(&a);
	if (r == GPUMAP_OK)
		r = state_use(&a);
	if (r == GPUMAP_OK)
		r = gpumap_resolve(ret, a.request, class->host->inventory, report);
	gpumap_request_free(a.request);
	return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
}
