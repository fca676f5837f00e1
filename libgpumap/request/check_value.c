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
	return TEXT_AT(attr, [GPUMAP_KEY_NAME] = key->name, [GPUMAP_KEY_OPTION] = key->option,
		       [GPUMAP_KEY_ENVIRONMENT] = key->environment, [GPUMAP_KEY_VALUE] = key->value,
		       [GPUMAP_KEY_HELP] = key->help, [GPUMAP_KEY_SECTION] = key->section,
		       [GPUMAP_KEY_DEFAULT] = key->initial);
}

/* A value that is checked. */
struct check {
	const gpumap_key *key;
	const char *value, *origin;
	gpumap_report *report;
};

static int bad_value(const struct check *c, const char *fix)
{
	return report_fail(c->report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
			   ABOUT(.origin = c->origin, .fix = fix), "%s cannot be '%s'",
			   c->key->name, QUOTE(span_of(c->value)));
}

static int check_word(const struct check *c, struct span word, const char *words)
{
	const char *mode = c->key->kind == KIND_MODE ? mode_hint(word) : NULL;

	if (word_place(words, word) >= 0)
		return GPUMAP_OK;
	return bad_value(c, mode ? mode : WORD_FIX(words, word));
}

static int check_number(const struct check *c)
{
	bool batch = streq(c->key->name, "batch");
	int64_t n = span_number(span_of(c->value), batch ? INT64_MAX / 2 : INT32_MAX);

	if (n < 0 || (batch && n == 0))
		return bad_value(c, batch ? "write a number of samples, 1 or more"
					  : "write a number, 0 or more");
	return GPUMAP_OK;
}

/* "570", "570.124", "570.124.06" */
static int check_driver(const struct check *c)
{
	struct span rest = span_of(c->value), part;

	while (span_split(&rest, '.', &part))
		if (part.length > 6 || span_number(part, INT32_MAX) < 0)
			return bad_value(c, "write a version such as 570.124.06");
	return GPUMAP_OK;
}

/* Parses a device whose rank is known only later, as if the rank were 0 (rule R5). */
static struct device_choice parse_ranked(struct span text, bool *nomem)
{
	static const struct rank_words zero = {0};
	CLEANUP(strbuf_free) struct strbuf buf = {0};

	rank_words_expand(&buf, text, &zero, NULL);
	*nomem = buf.failed;
	return device_parse((struct span){buf.text ? buf.text : "", buf.length});
}

static int check_device(const struct check *c)
{
	bool set_device = streq(c->key->name, "set_device"), nomem;
	struct device_choice choice = parse_ranked(span_of(c->value), &nomem);

	if (nomem)
		return report_nomem(c->report);
	if (choice.kind == CHOICE_BAD || (choice.negative && !set_device))
		return bad_value(
			c, "write N or cuda:N, as in cuda:1, in lower case and without blanks");
	if (set_device && choice.kind != CHOICE_INDEX)
		return bad_value(c, "set_device() needs an index, N or cuda:N");
	return GPUMAP_OK;
}

static int check_devices(const struct check *c)
{
	struct span rest = span_of(c->value), part;
	size_t count = 0;

	while (span_split(&rest, ',', &part)) {
		bool nomem;
		struct device_choice choice = parse_ranked(span_trim(part), &nomem);

		if (nomem)
			return report_nomem(c->report);
		if (choice.kind != CHOICE_INDEX || choice.several || choice.negative)
			return bad_value(c, "write logical numbers, as in 0,1");
		if (++count > GPUMAP_MAX_DEVICES)
			return report_fail(c->report, GPUMAP_ELIMIT, FINDING_LIMIT,
					   ABOUT(.origin = c->origin), "more than %d device_ids",
					   GPUMAP_MAX_DEVICES);
	}
	return GPUMAP_OK;
}

static int check_launcher(const struct check *c)
{
	struct span rest = span_of(c->value), name;

	span_split(&rest, ':', &name);
	if (rest.text && word_place("torchrun|dask", name) >= 0)
		return bad_value(c, "leave the list out: it takes none");
	return check_word(c, name, LAUNCHER_WORDS);
}

int key_check(const gpumap_key *key, const char *value, const char *origin, gpumap_report *report)
{
	const struct check c = {key, value, origin, report};

	switch (key->kind) {
	case KIND_STATEMENT:
	case KIND_VIEW:
		return GPUMAP_OK;
	case KIND_LAUNCHER:
		return check_launcher(&c);
	case KIND_DEVICE:
		return check_device(&c);
	case KIND_DEVICES:
		return check_devices(&c);
	case KIND_MODE:
	case KIND_DIALECT:
		return check_word(&c, span_of(value), key->value);
	case KIND_NUMBER:
		return check_number(&c);
	case KIND_DRIVER:
		return check_driver(&c);
	case KIND_SWITCH:
		return check_word(&c, span_of(value), SWITCH_WORDS);
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

/* Whether it is a variable that gpumap reads. */
static bool is_read(struct nearest *nearest, const char *variable)
{
	if (variable)
		nearest_try(nearest, variable);
	return variable && span_is(nearest->text, variable);
}

void key_variable_misspelt(struct span name, gpumap_report *report)
{
	static const char *const of_commands[] = {"GPUMAP_CONFIG",       "GPUMAP_LEASE",
						  "GPUMAP_LEASES",       "GPUMAP_MAX_CPU_ISA",
						  "GPUMAP_PROFILE",      "GPUMAP_PRETEND_INVENTORY",
						  "GPUMAP_PRETEND_TEXT", "GPUMAP_RUN_ID",
						  "GPUMAP_RUN_RANK",     "GPUMAP_RUN_GPUS"};
	struct nearest nearest = nearest_to(name);
	bool read = false;

	for (size_t i = 0; i < ARRAY_SIZE(of_commands); i++)
		read = is_read(&nearest, of_commands[i]) || read;
	for (size_t i = 0; i < KEY_COUNT; i++)
		read = is_read(&nearest, keys[i].environment) || read;
	for (int i = 0; i < PKEY_COUNT; i++)
		read = is_read(&nearest, profile_key((enum profile_key_id)i)->key.environment) ||
		       read;
	if (!read)
		misspelt_report(name, nearest.name, report);
}
