/* SPDX-License-Identifier: MIT */
/* Settings from their texts. */
#include "plan/build.h"

#include <stdio.h>

#include "suggest.h"

enum { MAX_NUMBER = PLAN_MAX_RANKS };

static const struct key {
	const char *name;
	const char *words[5]; /* for the values of an enum, in its order */
	size_t member;        /* of the enum or number */
	const char *accepts;
} keys[PLAN_KEY_COUNT] = {
#define MEMBER(m) offsetof(struct plan_settings, m)
	[PLAN_KEY_GPUS] = {"gpus", {NULL}, MEMBER(gpus), NULL},
	[PLAN_KEY_ORDER] = {"order", {"listed", "pci", "numa", "nvlink"}, MEMBER(order), NULL},
	[PLAN_KEY_ON_CONFLICT] = {"on_conflict",
				  {"error", "intersect", "override"},
				  MEMBER(on_conflict),
				  NULL},
	[PLAN_KEY_MODE] = {"mode", {"single", "dp", "ddp", "mp"}, MEMBER(mode), NULL},
	[PLAN_KEY_WORLD_SIZE] = {"world_size",
				 {NULL},
				 MEMBER(world_size),
				 "auto or a number from 1"},
	[PLAN_KEY_RANKS] = {"ranks", {NULL}, MEMBER(ranks), "auto or a number from 1"},
	[PLAN_KEY_RANKS_PER_GPU] = {"ranks_per_gpu",
				    {NULL},
				    MEMBER(ranks_per_gpu),
				    "a number from 1"},
	[PLAN_KEY_SHARE] = {"share", {"list", "isolate", "rotate"}, MEMBER(share), NULL},
	[PLAN_KEY_IDS] = {"ids", {"uuid", "index"}, MEMBER(ids), NULL},
	[PLAN_KEY_CPU_BIND] = {"cpu_bind",
			       {"none", "numa"},
			       MEMBER(cpu_bind),
			       "none, numa, cores:N or list:0-7"},
	[PLAN_KEY_MEM_BIND] = {"mem_bind", {"none", "preferred", "strict"}, MEMBER(mem_bind), NULL},
	[PLAN_KEY_THREADS] = {"threads", {NULL}, MEMBER(threads), "auto, keep or a number from 1"},
	[PLAN_KEY_DEVICE] = {"device",
			     {NULL},
			     MEMBER(device),
			     "cuda:%l, cuda:%r, cuda:modulo, cuda:N, cuda, cpu or unknown"},
	[PLAN_KEY_SET_DEVICE] = {"set_device",
				 {NULL},
				 MEMBER(set_device),
				 "%l, %r, modulo or a number"},
	[PLAN_KEY_DEVICE_IDS] = {"device_ids",
				 {NULL},
				 MEMBER(device_ids),
				 "%l, %r, modulo or numbers between commas"},
	[PLAN_KEY_IN_CODE] = {"in_code", {NULL}, MEMBER(in_code), NULL},
	[PLAN_KEY_SCRIPT_INLINE] = {"script_inline", {NULL}, MEMBER(script_inline), NULL},
	[PLAN_KEY_SCRIPT_EXPORT] = {"script_export", {NULL}, MEMBER(script_export), NULL},
	[PLAN_KEY_PREFIX] = {"prefix", {NULL}, MEMBER(prefix), NULL},
#undef MEMBER
};

struct plan_settings plan_settings_default(void)
{
	return (struct plan_settings){
		.gpus = "inherit",
		.mode = PLAN_DDP,
		.world_size = PLAN_AUTO,
		.ranks = PLAN_AUTO,
		.ranks_per_gpu = 1,
		.cpu_bind = PLAN_CPU_NUMA,
		.mem_bind = PLAN_MEM_PREFERRED,
		.threads = PLAN_AUTO,
	};
}

const char *plan_key_name(enum plan_key key)
{
	return keys[key].name;
}

const char *plan_word(enum plan_key key, int value)
{
	return value >= 0 && value < 4 ? keys[key].words[value] : NULL;
}

struct use use_index(struct span text)
{
	int64_t n = span_number(text, GPUMAP_MAX_DEVICES);

	if (n >= 0)
		return (struct use){USE_NUMBER, (int)n};
	if (!text.length)
		return (struct use){.kind = USE_NOTHING};
	return (struct use){.kind = span_is(text, "%l")       ? USE_LOCAL_RANK
				    : span_is(text, "%r")     ? USE_RANK
				    : span_is(text, "modulo") ? USE_MODULO
							      : USE_BAD};
}

struct use use_device(struct span text)
{
	if (span_starts(text, "cuda:") && text.length > 5)
		return use_index((struct span){text.text + 5, text.length - 5});
	return (struct use){.kind = !text.length            ? USE_NOTHING
				    : span_is(text, "cuda") ? USE_CURRENT
				    : span_is(text, "cpu")  ? USE_CPU
							    : USE_BAD};
}

static bool good_use(enum plan_key key, const char *value)
{
	struct span rest = span_of(value), part;

	if (key == PLAN_KEY_DEVICE)
		return use_device(rest).kind != USE_BAD;
	if (key == PLAN_KEY_SET_DEVICE || !rest.length)
		return use_index(rest).kind != USE_BAD;
	while (span_split(&rest, ',', &part)) {
		enum use_kind kind = use_index(span_trim(part)).kind;

		if (kind == USE_BAD || kind == USE_NOTHING)
			return false;
	}
	return true;
}

static int bad_value(enum plan_key key, const char *value, struct plan_place place,
		     gpumap_report *report)
{
	const struct key *k = &keys[key];
	char fix[128], *end = fix;

	if (k->accepts) {
		snprintf(fix, sizeof(fix), "write %s", k->accepts);
	} else {
		const char *near = suggest(span_of(value), k->words);

		end += snprintf(end, 32, near ? "did you mean %s? " : "write ", near);
		for (size_t i = 0; k->words[i] && !near; i++)
			end += snprintf(end, 16, "%s%s",
					!i                ? ""
					: k->words[i + 1] ? ", "
							  : " or ",
					k->words[i]);
		if (near)
			end[-1] = '\0';
	}
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
			   ABOUT(.origin = place.origin, .line = place.line, .column = place.column,
				 .fix = fix),
			   SETTING("%s") " cannot be '%s'", k->name, QUOTE(span_of(value)));
}

static bool set_word(struct plan_settings *settings, enum plan_key key, const char *value)
{
	for (int i = 0; keys[key].words[i]; i++) {
		if (!streq(keys[key].words[i], value))
			continue;
		memcpy((char *)settings + keys[key].member, &i, sizeof(i));
		return true;
	}
	return false;
}

static bool set_number(struct plan_settings *settings, enum plan_key key, const char *value)
{
	int64_t n = span_number(span_of(value), MAX_NUMBER);
	int number = (int)n;

	if (streq(value, "auto") && key != PLAN_KEY_RANKS_PER_GPU)
		number = PLAN_AUTO;
	else if (streq(value, "keep") && key == PLAN_KEY_THREADS)
		number = PLAN_KEEP;
	else if (n < 1)
		return false;
	memcpy((char *)settings + keys[key].member, &number, sizeof(number));
	return true;
}

static bool set_cpu_bind(struct plan_settings *settings, const char *value)
{
	int64_t cores;

	if (starts_with(value, "cores:")) {
		cores = span_number(span_of(value + 6), PLAN_MAX_CPUS);
		if (cores < 1)
			return false;
		settings->cpu_bind = PLAN_CPU_CORES;
		settings->cores = (int)cores;
		return true;
	}
	if (starts_with(value, "list:") && value[5]) {
		struct arena arena = {0};
		struct cpu_set set;
		bool ok = cpu_set_parse(&arena, &set, span_of(value + 5), PLAN_MAX_CPUS - 1);

		arena_free(&arena);
		if (!ok)
			return false;
		settings->cpu_bind = PLAN_CPU_LIST;
		settings->cpu_list = value + 5;
		return true;
	}
	return set_word(settings, PLAN_KEY_CPU_BIND, value);
}

static void set_default(struct plan_settings *settings, enum plan_key key)
{
	const struct plan_settings fresh = plan_settings_default();
	size_t member = keys[key].member;
	bool text = key == PLAN_KEY_GPUS || key >= PLAN_KEY_DEVICE;

	memcpy((char *)settings + member, (const char *)&fresh + member,
	       text ? sizeof(char *) : sizeof(int));
}

static bool set_text(struct plan_settings *settings, enum plan_key key, const char *value)
{
	bool use = key >= PLAN_KEY_DEVICE && key <= PLAN_KEY_DEVICE_IDS;

	if (key == PLAN_KEY_DEVICE && streq(value, "unknown"))
		value = NULL;
	if (value && use && !good_use(key, value))
		return false;
	memcpy((char *)settings + keys[key].member, &value, sizeof(value));
	return true;
}

int plan_set(struct plan_settings *settings, const char *name, const char *value,
	     struct plan_place place, gpumap_report *report)
{
	const char *names[PLAN_KEY_COUNT + 1] = {NULL}, *near;
	bool ok = true;
	size_t key = 0;

	while (key < PLAN_KEY_COUNT && !streq(name, keys[key].name)) {
		names[key] = keys[key].name;
		key++;
	}
	if (key == PLAN_KEY_COUNT) {
		near = suggest(span_of(name), names);
		return report_fail(report, GPUMAP_EKEY, FINDING_UNKNOWN_KEY,
				   ABOUT(.origin = place.origin, .line = place.line,
					 .fix = DID_YOU_MEAN(near, NULL)),
				   "no such key: '%s'", QUOTE(span_of(name)));
	}
	if (!*value && key != PLAN_KEY_SET_DEVICE && key != PLAN_KEY_DEVICE_IDS)
		set_default(settings, (enum plan_key)key);
	else if (key == PLAN_KEY_CPU_BIND)
		ok = set_cpu_bind(settings, value);
	else if (keys[key].words[0])
		ok = set_word(settings, (enum plan_key)key, value);
	else if (key == PLAN_KEY_GPUS || key >= PLAN_KEY_DEVICE)
		ok = set_text(settings, (enum plan_key)key, value);
	else
		ok = set_number(settings, (enum plan_key)key, value);
	if (!ok)
		return bad_value((enum plan_key)key, value, place, report);
	settings->places[key] = place;
	return GPUMAP_OK;
}
