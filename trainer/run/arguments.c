/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "run/findings.h"
#include "run/nearest.h"
#include "run/told.h"

const struct told_option told_options[] = {
	{"--inventory", "FILE|N|8xH100|host",
	 "the machine: recorded, imagined, or this one; 4 is four devices; GPUMAP_INVENTORY"},
	{"--config", "FILE", "the profile file, instead of GPUMAP_CONFIG or ./gpumap.ini"},
	{"--trainer", "NAME", "its [trainer NAME] section; may be left out if it has one alone"},
	{"--help", NULL, "this text"},
	{"--version", NULL, "the version, and what this build computes with"},
	{NULL, NULL, NULL},
};

/* What other programs call it. */
static const struct {
	const char *option, *remedy;
} instead[] = {
	{"--batch", "write --global-batch N or --batch-per-device N"},
	{"--batch-size", "write --global-batch N or --batch-per-device N"},
	{"--bf16", "write --precision bf16"},
	{"--cpu", "leave it out: without --backend cuda the CPU computes"},
	{"--cuda", "write --backend cuda"},
	{"--data-dir", "write --data DIR"},
	{"--dataset", "write --data DIR"},
	{"--fp16", "write --precision fp16"},
	{"--gpu", "write --device N, or --visible LIST"},
	{"--gpus", "write --visible LIST; gpumap run has --gpus"},
	{"--learning-rate", "write --lr X"},
	{"--max-steps", "write --steps N"},
	{"--num-epochs", "write --epochs N"},
	{"--nproc-per-node", "write gpumap run --nproc-per-node N -- gpumap-train --mode ddp"},
	{"--output-dir", "write --checkpoint DIR"},
	{"--world-size", "there is a rank on each visible device: write --inventory N"},
};

static int add_key(const gpumap_key *key, void *data)
{
	struct told *told = data;
	const char *name = gpumap_key_str(key, GPUMAP_KEY_NAME);

	if (strcmp(name, "mode") == 0 || strcmp(name, "batch") == 0)
		return 0;
	if (told->keys_count == TOLD_MOST_KEYS)
		return 1;
	told->keys[told->keys_count++] = (struct told_key){
		.name = name,
		.option = gpumap_key_str(key, GPUMAP_KEY_OPTION),
		.environment = gpumap_key_str(key, GPUMAP_KEY_ENVIRONMENT),
		.value = gpumap_key_str(key, GPUMAP_KEY_VALUE),
		.help = gpumap_key_str(key, GPUMAP_KEY_HELP),
	};
	return 0;
}

bool told_begin(struct told *told, gpumap_request *request, gpumap_report *report,
		struct train_error *error)
{
	*told = (struct told){.request = request, .report = report};
	if (gpumap_key_each(add_key, told))
		return train_fail(error, TRAIN_FAILED, "libgpumap %s has more than %d keys",
				  gpumap_version(), TOLD_MOST_KEYS);
	return true;
}

/* One argument: the option's name, with '-' where '_' was written, and what stands behind '='. */
struct argument {
	char name[48];
	const char *whole, *value; /* NULL: there is no '=' */
	char **next, **end;        /* the arguments behind it */
};

static bool split(struct argument *argument, const char *text, struct train_error *error)
{
	const char *equals = strchr(text, '=');
	size_t length = equals ? (size_t)(equals - text) : strlen(text);

	argument->whole = text;
	argument->value = equals ? equals + 1 : NULL;
	if (strncmp(text, "--", 2) != 0 || !text[2])
		return train_fail(error, TRAIN_BAD_INPUT,
				  "unexpected argument: '%.64s'; everything is said by options: "
				  "gpumap-train --help lists them",
				  text);
	snprintf(argument->name, sizeof(argument->name), "%.*s",
		 (int)(length < sizeof(argument->name) ? length : sizeof(argument->name) - 1),
		 text);
	for (char *c = argument->name + 2; *c; c++)
		if (*c == '_')
			*c = '-';
	return true;
}

/* The value of an option that must have one. */
static const char *value_of(struct argument *argument, const char *what, struct train_error *error)
{
	const char *value = argument->value;

	if (!value && argument->next < argument->end)
		value = *argument->next++;
	if (value && *value)
		return value;
	train_fail(error, TRAIN_BAD_INPUT, "%s needs a value: %s", argument->name, what);
	return NULL;
}

static void tell(struct told *told, enum row_id row, const char *text, const char *origin)
{
	told->rows[row].text = text;
	told->rows[row].origin = origin;
	told->rows[row].option = true;
}

static bool no_value(const struct argument *argument, struct train_error *error)
{
	return !argument->value || train_fail(error, TRAIN_BAD_INPUT, "%s takes no value: '%.64s'",
					      argument->name, argument->value);
}

/* --NAME, --no-NAME and --NAME=yes|no; another option that is written in one word. *done tells
 * whether it is one. */
static bool read_flag(struct told *told, struct argument *argument, bool *done,
		      struct train_error *error)
{
	bool no = strncmp(argument->name, "--no-", 5) == 0;

	*done = true;
	for (const struct row_alias *alias = row_aliases; alias->option; alias++) {
		if (strcmp(alias->option, argument->name) != 0)
			continue;
		tell(told, alias->row, alias->text, alias->option);
		return no_value(argument, error);
	}
	for (int i = 0; i < ROWS; i++) {
		if (rows[i].kind != ROW_FLAG ||
		    strcmp(rows[i].option + 2, argument->name + (no ? 5 : 2)) != 0)
			continue;
		if (argument->value && !no)
			tell(told, (enum row_id)i, argument->value, rows[i].option);
		else
			tell(told, (enum row_id)i, no ? "no" : "yes", argument->whole);
		return !no || no_value(argument, error);
	}
	*done = false;
	return true;
}

static bool read_key(struct told *told, struct told_key *key, struct argument *argument,
		     struct train_error *error)
{
	bool is_switch = strcmp(key->value, "yes|no") == 0;
	int code;

	key->text = is_switch && !argument->value ? "yes" : value_of(argument, key->value, error);
	if (!key->text)
		return false;
	code = gpumap_request_set(told->request, key->name, key->text, key->option, told->report);
	return code == GPUMAP_OK || findings_fail(told->report, code, error);
}

static bool read_own(struct told *told, const struct told_option *option, struct argument *argument,
		     struct train_error *error)
{
	const char *value = NULL;

	if (option->value)
		value = value_of(argument, option->value, error);
	if (option->value ? !value : !no_value(argument, error))
		return false;
	if (strcmp(option->name, "--inventory") == 0)
		told->inventory = value;
	else if (strcmp(option->name, "--config") == 0)
		told->config = value;
	else if (strcmp(option->name, "--trainer") == 0)
		told->trainer = value;
	else if (strcmp(option->name, "--help") == 0)
		told->help = true;
	else
		told->version = true;
	return true;
}

static bool unknown(const struct told *told, const struct argument *argument,
		    struct train_error *error)
{
	struct nearest nearest;

	for (size_t i = 0; i < sizeof(instead) / sizeof(*instead); i++)
		if (strcmp(instead[i].option, argument->name) == 0)
			return train_fail(error, TRAIN_BAD_INPUT, "no such option: '%s'; %s",
					  argument->name, instead[i].remedy);
	nearest_begin(&nearest, argument->name);
	for (int i = 0; i < ROWS; i++)
		nearest_try(&nearest, rows[i].option);
	for (const struct row_alias *alias = row_aliases; alias->option; alias++)
		nearest_try(&nearest, alias->option);
	for (int i = 0; i < told->keys_count; i++)
		nearest_try(&nearest, told->keys[i].option);
	for (const struct told_option *option = told_options; option->name; option++)
		nearest_try(&nearest, option->name);
	if (*nearest.name)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "no such option: '%.64s'; did you mean %s?", argument->whole,
				  nearest.name);
	return train_fail(error, TRAIN_BAD_INPUT,
			  "no such option: '%.64s'; gpumap-train --help lists the options",
			  argument->whole);
}

static bool read_option(struct told *told, struct argument *argument, struct train_error *error)
{
	const char *value;
	bool done;

	if (!read_flag(told, argument, &done, error) || done)
		return done && error->status == TRAIN_OK;
	for (int i = 0; i < ROWS; i++) {
		if (strcmp(rows[i].option, argument->name) != 0)
			continue;
		value = value_of(argument, rows[i].value, error);
		tell(told, (enum row_id)i, value, rows[i].option);
		return value != NULL;
	}
	for (int i = 0; i < told->keys_count; i++)
		if (strcmp(told->keys[i].option, argument->name) == 0)
			return read_key(told, &told->keys[i], argument, error);
	for (const struct told_option *option = told_options; option->name; option++)
		if (strcmp(option->name, argument->name) == 0)
			return read_own(told, option, argument, error);
	return unknown(told, argument, error);
}

bool told_arguments(struct told *told, int argc, char **argv, struct train_error *error)
{
	struct argument argument = {.next = argv + (argc > 0), .end = argv + argc};

	while (argument.next < argument.end) {
		const char *text = *argument.next++;

		if (strcmp(text, "-h") == 0)
			text = "--help";
		if (!split(&argument, text, error) || !read_option(told, &argument, error))
			return false;
		if (told->help || told->version)
			return true;
	}
	return true;
}
