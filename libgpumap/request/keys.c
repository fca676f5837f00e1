/* SPDX-License-Identifier: MIT */
/* The key table, and which values are valid for a key. */
#include "request/request.h"

#include <stdio.h>

#include "report/report.h"
#include "request/profile_keys.h"
#include "suggest.h"

static const gpumap_key keys[] = {
#define KEY(name, option, environment, kind, value, help) \
	{#name, option, environment, value, help, KIND_##kind, NULL, NULL},
#include "request/keys.def"
#undef KEY
};

/* Yes, no, yes, no ... */
#define SWITCH_WORDS "yes|no|true|false|on|off|1|0"

const gpumap_key *key_get(enum key_id id)
{
	return &keys[id];
}

/* Words that are not modes but are used for one, and the mode that places devices in the same way.
 */
static const struct {
	const char *words, *fix;
} other_modes[] = {
	{"fsdp fsdp1 fsdp2 hsdp zero zero1 zero2 zero3 zero-1 zero-2 zero-3 deepspeed horovod "
	 "megatron tp tensor tensor-parallel sp cp ep distributed distributed-data-parallel "
	 "distributeddataparallel",
	 "write ddp: one process for each GPU"},
	{"dataparallel data-parallel", "write dp, one process for all GPUs; or ddp, one for each"},
	{"pp pipe pipeline pipeline-parallel modelparallel model-parallel gpipe",
	 "write mp where one process has all stages; ddp where each has its own"},
	{"1 one gpu cuda serial none", "write single"},
};

const char *mode_hint(struct span word)
{
	for (size_t i = 0; i < ARRAY_SIZE(other_modes); i++)
		if (span_among(word, other_modes[i].words))
			return other_modes[i].fix;
	return NULL;
}

EXPORT int gpumap_key_each(int (*fn)(const gpumap_key *key, void *data), void *data)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		int r = fn(&keys[i], data);

		if (r)
			return r;
	}
	return 0;
}

EXPORT const char *gpumap_key_str(const gpumap_key *key, enum gpumap_key_str_attr attr)
{
	if (!key)
		return NULL;
	switch (attr) {
	case GPUMAP_KEY_NAME:
		return key->name;
	case GPUMAP_KEY_OPTION:
		return key->option;
	case GPUMAP_KEY_ENVIRONMENT:
		return key->environment;
	case GPUMAP_KEY_VALUE:
		return key->value;
	case GPUMAP_KEY_HELP:
		return key->help;
	case GPUMAP_KEY_SECTION:
		return key->section;
	case GPUMAP_KEY_DEFAULT:
		return key->initial;
	default:
		return NULL;
	}
}

static int bad_value(const gpumap_key *key, const char *value, const char *origin, const char *fix,
		     gpumap_report *report)
{
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
			   ABOUT(.origin = origin, .fix = fix), "%s cannot be '%s'", key->name,
			   QUOTE(span_of(value)));
}

static int check_word(const gpumap_key *key, struct span word, const char *words, const char *value,
		      const char *origin, gpumap_report *report)
{
	const char *mode = key->kind == KIND_MODE ? mode_hint(word) : NULL;

	if (word_place(words, word) >= 0)
		return GPUMAP_OK;
	return bad_value(key, value, origin, mode ? mode : WORD_FIX(words, word), report);
}

static int check_number(const gpumap_key *key, const char *value, const char *origin,
			gpumap_report *report)
{
	bool batch = streq(key->name, "batch");
	int64_t n = span_number(span_of(value), batch ? INT64_MAX / 2 : INT32_MAX);

	if (n < 0 || (batch && n == 0))
		return bad_value(key, value, origin,
				 batch ? "write a number of samples, 1 or more"
				       : "write a number, 0 or more",
				 report);
	return GPUMAP_OK;
}

/* "570", "570.124", "570.124.06" */
static int check_driver(const gpumap_key *key, const char *value, const char *origin,
			gpumap_report *report)
{
	struct span rest = span_of(value), part;

	while (span_split(&rest, '.', &part))
		if (part.length > 6 || span_number(part, INT32_MAX) < 0)
			return bad_value(key, value, origin, "write a version such as 570.124.06",
					 report);
	return GPUMAP_OK;
}

/* Parses a device whose rank is known only later, as if the rank were 0 (rule R5). */
static struct device_choice parse_ranked(struct span text, bool *nomem)
{
	static const struct rank_words zero = {0};
	struct strbuf buf = {0}, copy = {0};
	struct device_choice choice = {.kind = CHOICE_BAD};

	strbuf_add(&copy, text.text, text.length);
	if (!copy.failed)
		rank_words_expand(&buf, copy.text ? copy.text : "", &zero, NULL);
	*nomem = copy.failed || buf.failed;
	if (!*nomem)
		choice = device_parse(span_of(buf.text ? buf.text : ""));
	strbuf_free(&copy);
	strbuf_free(&buf);
	return choice;
}

static int check_device(const gpumap_key *key, const char *value, const char *origin,
			gpumap_report *report)
{
	bool set_device = streq(key->name, "set_device"), nomem;
	struct device_choice choice = parse_ranked(span_of(value), &nomem);

	if (nomem)
		return report_nomem(report);
	if (choice.kind == CHOICE_BAD || (choice.negative && !set_device))
		return bad_value(
			key, value, origin,
			"write N or cuda:N, as in cuda:1, in lower case and without blanks",
			report);
	if (set_device && choice.kind != CHOICE_INDEX)
		return bad_value(key, value, origin, "set_device() needs an index, N or cuda:N",
				 report);
	return GPUMAP_OK;
}

static int check_devices(const gpumap_key *key, const char *value, const char *origin,
			 gpumap_report *report)
{
	struct span rest = span_of(value), part;
	size_t count = 0;

	while (span_split(&rest, ',', &part)) {
		bool nomem;
		struct device_choice choice = parse_ranked(span_trim(part), &nomem);

		if (nomem)
			return report_nomem(report);
		if (choice.kind != CHOICE_INDEX || choice.several || choice.negative)
			return bad_value(key, value, origin, "write logical numbers, as in 0,1",
					 report);
		if (++count > GPUMAP_MAX_DEVICES)
			return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT,
					   ABOUT(.origin = origin), "more than %d device_ids",
					   GPUMAP_MAX_DEVICES);
	}
	return GPUMAP_OK;
}

static int check_launcher(const gpumap_key *key, const char *value, const char *origin,
			  gpumap_report *report)
{
	struct span rest = span_of(value), name;

	span_split(&rest, ':', &name);
	if (rest.text && word_place("torchrun|dask", name) >= 0)
		return bad_value(key, value, origin, "leave the list out: it takes none", report);
	return check_word(key, name, LAUNCHER_WORDS, value, origin, report);
}

int key_check(const gpumap_key *key, const char *value, const char *origin, gpumap_report *report)
{
	switch (key->kind) {
	case KIND_STATEMENT:
	case KIND_VIEW:
		return GPUMAP_OK;
	case KIND_LAUNCHER:
		return check_launcher(key, value, origin, report);
	case KIND_DEVICE:
		return check_device(key, value, origin, report);
	case KIND_DEVICES:
		return check_devices(key, value, origin, report);
	case KIND_MODE:
	case KIND_DIALECT:
		return check_word(key, span_of(value), key->value, value, origin, report);
	case KIND_NUMBER:
		return check_number(key, value, origin, report);
	case KIND_DRIVER:
		return check_driver(key, value, origin, report);
	case KIND_SWITCH:
		return check_word(key, span_of(value), SWITCH_WORDS, value, origin, report);
	}
	return GPUMAP_EINPUT;
}

bool request_switch(const gpumap_request *request, enum key_id key)
{
	const char *value = request->values[key];

	return value && word_place(SWITCH_WORDS, span_of(value)) % 2 == 0;
}

int64_t request_number(const gpumap_request *request, enum key_id key)
{
	return request->values[key] ? span_number(span_of(request->values[key]), INT64_MAX) : -1;
}

const char *request_dialect_name(const gpumap_request *request)
{
	return request->values[KEY_dialect] ? request->values[KEY_dialect] : "driver";
}

enum dialect request_dialect(const gpumap_request *request)
{
	return (enum dialect)word_place(keys[KEY_dialect].value,
					span_of(request_dialect_name(request)));
}

/* The variables that gpumap reads, for finding the nearest. */
struct variables {
	const char *names[128];
	size_t count;
};

static int add_variable(const gpumap_key *key, void *data)
{
	struct variables *variables = data;

	if (key->environment && variables->count + 1 < ARRAY_SIZE(variables->names))
		variables->names[variables->count++] = key->environment;
	return 0;
}

void key_variable_misspelt(struct span name, gpumap_report *report)
{
	static const char *const of_commands[] = {"GPUMAP_CONFIG",       "GPUMAP_LEASE",
						  "GPUMAP_LEASES",       "GPUMAP_MAX_CPU_ISA",
						  "GPUMAP_PROFILE",      "GPUMAP_PRETEND_INVENTORY",
						  "GPUMAP_PRETEND_TEXT", "GPUMAP_RUN_ID",
						  "GPUMAP_RUN_RANK",     "GPUMAP_RUN_GPUS"};
	struct variables variables = {0};

	for (size_t i = 0; i < ARRAY_SIZE(of_commands); i++)
		variables.names[variables.count++] = of_commands[i];
	gpumap_key_each(add_variable, &variables);
	gpumap_profile_key_each(add_variable, &variables);
	for (size_t i = 0; i < variables.count; i++)
		if (span_is(name, variables.names[i]))
			return;
	misspelt_report(name, suggest(name, variables.names), report);
}
