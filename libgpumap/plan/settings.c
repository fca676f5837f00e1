/* SPDX-License-Identifier: MIT */
/* Settings from their texts. */
#include "plan/build.h"

#include <stdio.h>

#include "suggest.h"

enum { MAX_NUMBER = PLAN_MAX_RANKS };

/* Where each key's value is kept: the word of one, a number, or a text. */
static const struct key {
	enum profile_key_id id;
	size_t member;
	enum { KEEP_WORD, KEEP_NUMBER, KEEP_CPUS, KEEP_TEXT } keep;
	const char *accepts; /* of a text that says how the program uses devices */
} keys[PLAN_KEY_COUNT] = {
#define MEMBER(m) offsetof(struct plan_settings, m)
	[PLAN_KEY_GPUS] = {PKEY_PROFILE_gpus, MEMBER(gpus), KEEP_TEXT, NULL},
	[PLAN_KEY_ORDER] = {PKEY_PROFILE_order, MEMBER(order), KEEP_WORD, NULL},
	[PLAN_KEY_ON_CONFLICT] = {PKEY_PROFILE_on_conflict, MEMBER(on_conflict), KEEP_WORD, NULL},
	[PLAN_KEY_MODE] = {PKEY_PROFILE_mode, MEMBER(mode), KEEP_WORD, NULL},
	[PLAN_KEY_WORLD_SIZE] = {PKEY_PROFILE_world_size, MEMBER(world_size), KEEP_NUMBER, NULL},
	[PLAN_KEY_RANKS] = {PKEY_PROFILE_ranks, MEMBER(ranks), KEEP_NUMBER, NULL},
	[PLAN_KEY_RANKS_PER_GPU] = {PKEY_PROFILE_ranks_per_gpu, MEMBER(ranks_per_gpu), KEEP_NUMBER,
				    NULL},
	[PLAN_KEY_SHARE] = {PKEY_PROFILE_share, MEMBER(share), KEEP_WORD, NULL},
	[PLAN_KEY_IDS] = {PKEY_PROFILE_ids, MEMBER(ids), KEEP_WORD, NULL},
	[PLAN_KEY_CPU_BIND] = {PKEY_PROFILE_cpu_bind, MEMBER(cpu_bind), KEEP_CPUS, NULL},
	[PLAN_KEY_MEM_BIND] = {PKEY_PROFILE_mem_bind, MEMBER(mem_bind), KEEP_WORD, NULL},
	[PLAN_KEY_THREADS] = {PKEY_PROFILE_threads, MEMBER(threads), KEEP_NUMBER, NULL},
	[PLAN_KEY_DEVICE] = {PKEY_PROGRAM_device, MEMBER(device), KEEP_TEXT,
			     "cuda:%l, cuda:%r, cuda:modulo, cuda:N, cuda, cpu or unknown"},
	[PLAN_KEY_SET_DEVICE] = {PKEY_PROGRAM_set_device, MEMBER(set_device), KEEP_TEXT,
				 "%l, %r, modulo or a number"},
	[PLAN_KEY_DEVICE_IDS] = {PKEY_PROGRAM_device_ids, MEMBER(device_ids), KEEP_TEXT,
				 "%l, %r, modulo or numbers between commas"},
	[PLAN_KEY_IN_CODE] = {PKEY_PROGRAM_in_code, MEMBER(in_code), KEEP_TEXT, NULL},
	[PLAN_KEY_SCRIPT_INLINE] = {PKEY_PROGRAM_script_inline, MEMBER(script_inline), KEEP_TEXT,
				    NULL},
	[PLAN_KEY_SCRIPT_EXPORT] = {PKEY_PROGRAM_script_export, MEMBER(script_export), KEEP_TEXT,
				    NULL},
	[PLAN_KEY_PREFIX] = {PKEY_PROGRAM_prefix, MEMBER(prefix), KEEP_TEXT, NULL},
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
	return profile_key(keys[key].id)->key.name;
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

static int bad_value(enum plan_key key, const char *value, const char *accepts,
		     const struct about *about, gpumap_report *report)
{
	struct about here = *about;
	char fix[128];

	snprintf(fix, sizeof(fix), "write %s", accepts);
	here.fix = fix;
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE, &here,
			   SETTING("%s") " cannot be '%s'", plan_key_name(key),
			   QUOTE(span_of(value)));
}

/* "auto" and "keep" have no number. */
static int number_of(enum plan_key key, const struct key_value *value)
{
	if (value->number >= 0)
		return (int)value->number;
	return key == PLAN_KEY_THREADS && value->word == PLAN_THREADS_KEEP ? PLAN_KEEP : PLAN_AUTO;
}

/* What a plan can take is less than what a profile may say. */
static bool set_cpu_bind(struct plan_settings *settings, const struct key_value *value)
{
	struct arena arena = {0};
	struct cpu_set set;
	bool good = true;

	if (value->word == PLAN_CPU_LIST)
		good = cpu_set_parse(&arena, &set, value->text, PLAN_MAX_CPUS - 1);
	arena_free(&arena);
	if (!good || value->number > PLAN_MAX_CPUS)
		return false;
	settings->cpu_bind = (enum plan_cpu_bind)value->word;
	if (value->word == PLAN_CPU_CORES)
		settings->cores = (int)value->number;
	else if (value->word == PLAN_CPU_LIST)
		settings->cpu_list = value->text.text;
	return true;
}

static int set_value(struct plan_settings *settings, enum plan_key key, const char *text,
		     const struct about *about, gpumap_report *report)
{
	struct key_value value;
	int r = profile_value_read(&value, profile_key(keys[key].id), span_of(text), about, report);
	int number = keys[key].keep == KEEP_WORD ? value.word : number_of(key, &value);

	if (r != GPUMAP_OK)
		return r;
	if (keys[key].keep == KEEP_CPUS)
		return set_cpu_bind(settings, &value)
			       ? GPUMAP_OK
			       : bad_value(key, text, "none, numa, cores:N or list:0-7", about,
					   report);
	if (number > MAX_NUMBER)
		return bad_value(key, text, "a number up to 1048576", about, report);
	memcpy((char *)settings + keys[key].member, &number, sizeof(number));
	return GPUMAP_OK;
}

static void set_default(struct plan_settings *settings, enum plan_key key)
{
	const struct plan_settings fresh = plan_settings_default();
	size_t member = keys[key].member;
	bool text = keys[key].keep == KEEP_TEXT;

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
	const struct about about = {
		.origin = place.origin, .line = place.line, .column = place.column};
	const char *names[PLAN_KEY_COUNT + 1] = {NULL}, *near;
	enum plan_key key = 0;
	int r = GPUMAP_OK;

	while (key < PLAN_KEY_COUNT && !streq(name, plan_key_name(key))) {
		names[key] = plan_key_name(key);
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
		set_default(settings, key);
	else if (keys[key].keep != KEEP_TEXT)
		r = set_value(settings, key, value, &about, report);
	else if (!set_text(settings, key, value))
		r = bad_value(key, value, keys[key].accepts, &about, report);
	if (r == GPUMAP_OK)
		settings->places[key] = place;
	return r;
}
