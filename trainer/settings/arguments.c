/* SPDX-License-Identifier: MIT */
/* Reads the command line: options, statements for libgpumap, and words that are none. */
#include <stdio.h>
#include <string.h>

#include "settings/print_findings.h"
#include "settings/arguments_raw.h"
#include "suggest.h"

const struct other_option other_options[] = {
	{"--inventory", "host|MACHINE",
	 "the machine; host: this one; MACHINE: a recorded one (a file) or a synthetic one: a "
	 "number of GPUs (4) or models (8xH100); also GPUMAP_INVENTORY"},
	{"--config", "FILE", "the profile file, instead of GPUMAP_CONFIG or ./gpumap.ini"},
	{"--trainer", "NAME", "the [trainer NAME] section of that file; needed if it has several"},
	{"--help", NULL, "this text"},
	{"--version", NULL, "the version, and the backends of this build"},
	{NULL, NULL, NULL},
};

/* Names in other programs. */
static const struct {
	const char *options, *remedy;
} instead[] = {
	{"--amp|--bf16", "write --precision bf16"},
	{"--batch|--batch-size|--bs", "write --global-batch N or --batch-per-device N"},
	{"--cpu", "leave it out: without --backend cuda the CPU computes"},
	{"--cuda", "write --backend cuda"},
	{"--data-dir|--dataset", "write --data DIR"},
	{"--devices|--n-gpus|--ngpus|--num-gpus",
	 "write --visible LIST for GPUs of this machine, or --inventory N for N simulated ones"},
	{"--fp16", "write --precision fp16"},
	{"--gpu", "write --device N, or --visible LIST"},
	{"--gpu-ids", "write --visible LIST"},
	{"--gpus", "write --visible LIST; gpumap run has --gpus"},
	{"--learning-rate", "write --lr X"},
	{"--load", "write --weights FILE, or --checkpoint DIR --resume"},
	{"--log-dir", "write --metrics FILE; gpumap run has --log-dir"},
	{"--max-steps", "write --steps N"},
	{"--nproc-per-node", "write gpumap run --nproc-per-node N -- gpumap-train --mode ddp"},
	{"--num-epochs", "write --epochs N"},
	{"--num-workers|--workers", "leave it out: there are no worker processes"},
	{"--output-dir|--save-dir", "write --checkpoint DIR"},
	{"--strategy", "write --mode single|dp|ddp|mp"},
	{"--wd", "write --weight-decay X"},
	{"--world-size", "there is a rank on each visible device: write --inventory N"},
};

static int add_key(const gpumap_key *key, void *data)
{
	struct arguments_raw *raw = data;
	const char *name = gpumap_key_str(key, GPUMAP_KEY_NAME);

	if (strcmp(name, "mode") == 0 || strcmp(name, "batch") == 0)
		return 0;
	if (raw->keys_count == RAW_MAX_KEYS)
		return 1;
	raw->keys[raw->keys_count++] = (struct raw_key){
		.name = name,
		.option = gpumap_key_str(key, GPUMAP_KEY_OPTION),
		.environment = gpumap_key_str(key, GPUMAP_KEY_ENVIRONMENT),
		.value = gpumap_key_str(key, GPUMAP_KEY_VALUE),
		.help = gpumap_key_str(key, GPUMAP_KEY_HELP),
	};
	return 0;
}

bool raw_begin(struct arguments_raw *raw, gpumap_request *request, gpumap_report *report,
	       struct train_error *error)
{
	*raw = (struct arguments_raw){.request = request, .report = report};
	if (gpumap_key_each(add_key, raw))
		return train_fail(error, TRAIN_FAILED, "libgpumap %s has more than %d keys",
				  gpumap_version(), RAW_MAX_KEYS);
	return true;
}

/* One argument: the option's name, with '-' for '_', and the text after '='. */
struct argument {
	char name[48];
	const char *text, *value; /* NULL: there is no '=' */
	char **next, **end;       /* the arguments after it */
};

/* A word that is not an option; `before` is the option before it. */
static bool unexpected(const char *word, const char *before, struct train_error *error)
{
	if (text_ends(word, ".py"))
		return train_fail(error, TRAIN_BAD_INPUT,
				  "unexpected argument: '%.64s'; gpumap-train trains models of its "
				  "own: gpumap run %.64s starts a program",
				  word, word);
	if (*word && *word != '-' && strcmp(before, "--resume") == 0)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "unexpected argument: '%.64s'; --resume takes no folder: write "
				  "--checkpoint %.64s --resume",
				  word, word);
	return train_fail(error, TRAIN_BAD_INPUT,
			  "unexpected argument: '%.64s'; gpumap-train takes only options, and "
			  "gpumap-train --help lists them",
			  word);
}

static bool split(struct argument *argument, const char *text, struct train_error *error)
{
	const char *equals = strchr(text, '=');
	size_t length = equals ? (size_t)(equals - text) : strlen(text);

	argument->text = text;
	argument->value = equals ? equals + 1 : NULL;
	if (strncmp(text, "--", 2) != 0 || !text[2])
		return unexpected(text, argument->name, error);
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

static void set_row(struct arguments_raw *raw, enum row_id row, const char *text,
		    const char *origin)
{
	raw->rows[row].text = text;
	raw->rows[row].origin = origin;
	raw->rows[row].option = true;
}

static bool no_value(const struct argument *argument, struct train_error *error)
{
	return !argument->value || train_fail(error, TRAIN_BAD_INPUT, "%s takes no value: '%.64s'",
					      argument->name, argument->value);
}

/* --NAME, --no-NAME and --NAME=yes|no; or another option in one word. *done: whether it is one. */
static bool read_flag(struct arguments_raw *raw, struct argument *argument, bool *done,
		      struct train_error *error)
{
	bool no = strncmp(argument->name, "--no-", 5) == 0;

	*done = true;
	for (const struct row_alias *alias = row_aliases; alias->option; alias++) {
		if (strcmp(alias->option, argument->name) != 0)
			continue;
		set_row(raw, alias->row, alias->text, alias->option);
		return no_value(argument, error);
	}
	for (int i = 0; i < ROWS; i++) {
		if (rows[i].kind != ROW_FLAG ||
		    strcmp(rows[i].option + 2, argument->name + (no ? 5 : 2)) != 0)
			continue;
		if (argument->value && !no)
			set_row(raw, (enum row_id)i, argument->value, rows[i].option);
		else
			set_row(raw, (enum row_id)i, no ? "no" : "yes", argument->text);
		return !no || no_value(argument, error);
	}
	*done = false;
	return true;
}

bool raw_state(const struct arguments_raw *raw, const struct raw_key *key, const char *origin,
	       struct train_error *error)
{
	int code = gpumap_request_set(raw->request, key->name, key->text, origin, raw->report);

	return findings_good(raw->report, code, error);
}

static bool read_key(struct arguments_raw *raw, struct raw_key *key, struct argument *argument,
		     struct train_error *error)
{
	bool is_switch = strcmp(key->value, "yes|no") == 0;

	key->text = is_switch && !argument->value ? "yes" : value_of(argument, key->value, error);
	return key->text && raw_state(raw, key, key->option, error);
}

static bool read_own(struct arguments_raw *raw, const struct other_option *option,
		     struct argument *argument, struct train_error *error)
{
	const char *value = NULL;

	if (option->value)
		value = value_of(argument, option->value, error);
	if (option->value ? !value : !no_value(argument, error))
		return false;
	if (strcmp(option->name, "--inventory") == 0)
		raw->inventory = value;
	else if (strcmp(option->name, "--config") == 0)
		raw->config = value;
	else if (strcmp(option->name, "--trainer") == 0)
		raw->trainer = value;
	else if (strcmp(option->name, "--help") == 0)
		raw->help = true;
	else
		raw->version = true;
	return true;
}

static bool unknown(const struct arguments_raw *raw, const struct argument *argument,
		    struct train_error *error)
{
	struct nearest nearest = nearest_to(span_of(argument->name));

	for (size_t i = 0; i < sizeof(instead) / sizeof(*instead); i++)
		if (word_place(instead[i].options, span_of(argument->name)) >= 0)
			return train_fail(error, TRAIN_BAD_INPUT, "no such option: '%s'; %s",
					  argument->name, instead[i].remedy);
	for (int i = 0; i < ROWS; i++)
		nearest_try(&nearest, rows[i].option);
	for (const struct row_alias *alias = row_aliases; alias->option; alias++)
		nearest_try(&nearest, alias->option);
	for (int i = 0; i < raw->keys_count; i++)
		nearest_try(&nearest, raw->keys[i].option);
	for (const struct other_option *option = other_options; option->name; option++)
		nearest_try(&nearest, option->name);
	return train_fail(error, TRAIN_BAD_INPUT, "no such option: '%.64s'; %s", argument->text,
			  DID_YOU_MEAN(nearest.name, "gpumap-train --help lists the options"));
}

static bool read_option(struct arguments_raw *raw, struct argument *argument,
			struct train_error *error)
{
	const char *value;
	bool done;

	if (!read_flag(raw, argument, &done, error) || done)
		return done && error->status == TRAIN_OK;
	for (int i = 0; i < ROWS; i++) {
		if (strcmp(rows[i].option, argument->name) != 0)
			continue;
		value = value_of(argument, rows[i].value, error);
		set_row(raw, (enum row_id)i, value, rows[i].option);
		return value != NULL;
	}
	for (int i = 0; i < raw->keys_count; i++)
		if (strcmp(raw->keys[i].option, argument->name) == 0)
			return read_key(raw, &raw->keys[i], argument, error);
	for (const struct other_option *option = other_options; option->name; option++)
		if (strcmp(option->name, argument->name) == 0)
			return read_own(raw, option, argument, error);
	return unknown(raw, argument, error);
}

bool raw_read_arguments(struct arguments_raw *raw, int argc, char **argv, struct train_error *error)
{
	struct argument argument = {.next = argv + (argc > 0), .end = argv + argc};

	while (argument.next < argument.end) {
		const char *text = *argument.next++;

		if (strcmp(text, "-h") == 0)
			text = "--help";
		if (!split(&argument, text, error) || !read_option(raw, &argument, error))
			return false;
		if (raw->help || raw->version)
			return true;
	}
	return true;
}
