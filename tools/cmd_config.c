/* SPDX-License-Identifier: MIT */
/* gpumap config: the settings of a profile, and where each comes from. */
#include "command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/hint_line.h"
#include "explain/json.h"
#include "job/profile_options.h"
#include "profile/profile.h"
#include "report/report.h"
#include "strbuf.h"
#include "suggest.h"

enum { MAX_OPERANDS = 64 };

struct config {
	struct output output;
	struct profile_options options;
	const char *operands[MAX_OPERANDS + 1];
	int count;
	bool origin;
};

const struct option_row config_rows[] = {
	PROFILE_OPTION_ROWS(struct config, options),
	{"--origin", NULL, "also show where each value comes from", FLAG_TO(struct config, origin)},
	{"--json", NULL, "print JSON", 0},
	{NULL, NULL, NULL, 0},
};

static const char help[] =
	"usage: gpumap config [OPTIONS] [KEY...]\n"
	"       gpumap config list\n"
	"       gpumap config help [KEY...]\n"
	"\n"
	"Prints the settings of a launch profile as one flat file, after inheritance,\n"
	"includes, environment and options; keys at their defaults are comments. With KEYs\n"
	"it prints only their values. gpumap config list shows the profiles of the file,\n"
	"and gpumap config help describes keys. gpumap.ini(5) describes the files.\n"
	"\n"
	"  gpumap config --profile cifar-ddp --gpus 2,3 --origin\n"
	"  gpumap config gpus\n"
	"  gpumap config help kill_grace\n"
	"  gpumap config --gpus 2,3 >gpumap.ini     (writes a first file)\n"
	"\n" OPTIONS_HERE "\n"
	"Every setting is also read from the environment: GPUMAP_GPUS=2,3 is --gpus 2,3.\n"
	"\n"
	"Exit status: 0 success, 1 the profile cannot be launched, 2 malformed input.\n";

/* --- config help ------------------------------------------------------------------ */

struct description {
	struct strbuf text;
	const char *wanted; /* NULL: all, one line each */
	bool found;
	const char *names[128];
	int count;
};

static int describe(const gpumap_key *key, void *data)
{
	struct description *d = data;
	const char *name = gpumap_key_str(key, GPUMAP_KEY_NAME);
	const char *section = gpumap_key_str(key, GPUMAP_KEY_SECTION);
	const char *initial = gpumap_key_str(key, GPUMAP_KEY_DEFAULT);
	const char *option = gpumap_key_str(key, GPUMAP_KEY_OPTION);

	d->names[d->count++] = name;
	if (!d->wanted) {
		strbuf_printf(&d->text, "%-10s%-18s%s\n", section, name,
			      gpumap_key_str(key, GPUMAP_KEY_HELP));
		return 0;
	}
	if (!streq(name, d->wanted))
		return 0;
	strbuf_printf(&d->text, "%s%s = %s\n  %s\n\n  section   [%s%s]%s\n  default   %s\n",
		      d->found ? "\n" : "", name, gpumap_key_str(key, GPUMAP_KEY_VALUE),
		      gpumap_key_str(key, GPUMAP_KEY_HELP), section,
		      streq(section, "gpumap") ? "" : " NAME",
		      streq(section, "profile") && option ? ", [override NAME]" : "",
		      !initial || !*initial       ? "empty"
		      : streq(section, "program") ? "not given"
						  : initial);
	if (option)
		strbuf_printf(&d->text, "  option    %s\n  variable  %s\n", option,
			      gpumap_key_str(key, GPUMAP_KEY_ENVIRONMENT));
	d->found = true;
	return 0;
}

/* Words that people take for subcommands. */
static const char *known_fix(const char *word)
{
	static const struct {
		const char *words, *fix;
	} known[] = {
		{"init new create make add set edit write save",
		 "gpumap config --config /dev/null --profile NAME --gpus 2,3 --command train.py "
		 ">>gpumap.ini adds a new profile, and gpumap run --profile NAME uses it; edit it "
		 "after that"},
		{"show print get dump all",
		 "gpumap config shows all settings, gpumap config gpus one of them"},
		{"profiles ls profile", "gpumap config list shows the profiles"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (span_among(span_of(word), known[i].words))
			return known[i].fix;
	return NULL;
}

static int no_such_key(const char *name, const char *const *names, gpumap_report *report)
{
	CLEANUP(strbuf_free) struct strbuf command = {0};
	const char *word = known_fix(name);
	const char *near = word ? NULL : suggest(span_of(name), names);

	if (!near && (text_ends(name, ".py") || text_ends(name, ".sh"))) {
		hint_fill(&command, "write --command @", (char *[]){(char *)(uintptr_t)name, NULL});
		word = command.text;
	}
	report_add(
		report, FINDING_UNKNOWN_KEY,
		ABOUT(.fix = word ? word : DID_YOU_MEAN(near, "gpumap config help lists the keys")),
		"no such key: '%s'", QUOTE(span_of(name)));
	return GPUMAP_EKEY;
}

static int config_help(const struct config *config)
{
	struct description d = {.wanted = NULL};
	int r = GPUMAP_OK;

	if (config->count == 1)
		gpumap_profile_key_each(describe, &d);
	for (int i = 1; i < config->count && r == GPUMAP_OK; i++) {
		if (i > 1)
			strbuf_puts(&d.text, "\n");
		d = (struct description){.text = d.text, .wanted = config->operands[i]};
		gpumap_profile_key_each(describe, &d);
		if (!d.found)
			r = no_such_key(d.wanted, d.names, config->output.report);
	}
	if (r == GPUMAP_OK)
		return print_buffer(&d.text, config->output.report);
	strbuf_free(&d.text);
	return r;
}

/* --- config list ------------------------------------------------------------------ */

static void list_text(struct strbuf *text, const gpumap_profile *profile)
{
	const char *chosen = gpumap_profile_str(profile, GPUMAP_PROFILE_NAME);
	const gpumap_section *s;

	for (size_t i = 0; (s = gpumap_profile_section(profile, "profile", i)); i++) {
		const char *name = gpumap_section_str(s, GPUMAP_SECTION_NAME);
		const char *parent = gpumap_section_str(s, GPUMAP_SECTION_PARENT);

		strbuf_printf(text, "%c profile %-20s %s%s%s\n",
			      chosen && streq(chosen, name) ? '*' : ' ', name,
			      gpumap_section_str(s, GPUMAP_SECTION_ORIGIN),
			      parent ? "  inherits " : "", parent ? parent : "");
	}
	for (size_t i = 0; (s = gpumap_profile_section(profile, "sweep", i)); i++)
		strbuf_printf(text, "  sweep   %-20s %s  %zu runs, %lld at a time\n",
			      gpumap_section_str(s, GPUMAP_SECTION_NAME),
			      gpumap_section_str(s, GPUMAP_SECTION_ORIGIN),
			      gpumap_sweep_combination_count(s), (long long)gpumap_sweep_jobs(s));
}

/* Why the list is empty. */
static void list_nothing(struct strbuf *text, const gpumap_profile *profile)
{
	const char *file = gpumap_profile_str(profile, GPUMAP_PROFILE_FILE);
	CLEANUP_FREE char *places = file ? NULL : profile_places((const char *const *)environ);

	if (file)
		strbuf_printf(text, "%s has no profile\n", file);
	else
		strbuf_printf(text,
			      "there is no profile file; looked for %s\n"
			      "gpumap config --gpus 2,3 >gpumap.ini writes a first one\n",
			      places);
}

static json_t *profiles_json(const gpumap_profile *profile)
{
	const char *chosen = gpumap_profile_str(profile, GPUMAP_PROFILE_NAME);
	json_t *array = json_array();
	const gpumap_section *s;

	for (size_t i = 0; (s = gpumap_profile_section(profile, "profile", i)); i++) {
		const char *name = gpumap_section_str(s, GPUMAP_SECTION_NAME);

		json_push(&array,
			  JSON_OBJECT({"name", json_text(name)},
				      {"origin",
				       json_text(gpumap_section_str(s, GPUMAP_SECTION_ORIGIN))},
				      {"inherit",
				       json_text(gpumap_section_str(s, GPUMAP_SECTION_PARENT))},
				      {"chosen", json_boolean(chosen && streq(chosen, name))}));
	}
	return array;
}

static json_t *sweeps_json(const gpumap_profile *profile)
{
	json_t *array = json_array();
	const gpumap_section *s;

	for (size_t i = 0; (s = gpumap_profile_section(profile, "sweep", i)); i++)
		json_push(
			&array,
			JSON_OBJECT(
				{"name", json_text(gpumap_section_str(s, GPUMAP_SECTION_NAME))},
				{"origin", json_text(gpumap_section_str(s, GPUMAP_SECTION_ORIGIN))},
				{"runs",
				 json_integer((json_int_t)gpumap_sweep_combination_count(s))},
				{"jobs", json_integer((json_int_t)gpumap_sweep_jobs(s))}));
	return array;
}

static int config_list(const struct config *config, const gpumap_profile *profile)
{
	struct strbuf text = {0};

	if (config->output.format == GPUMAP_FORMAT_JSON)
		json_dump(&text, JSON_DOCUMENT("profiles",
					       {"file", json_text(gpumap_profile_str(
								profile, GPUMAP_PROFILE_FILE))},
					       {"profiles", profiles_json(profile)},
					       {"sweeps", sweeps_json(profile)}));
	else
		list_text(&text, profile);
	if (!text.length)
		list_nothing(&text, profile);
	return print_buffer(&text, config->output.report);
}

/* --- config ------------------------------------------------------------------------ */

static int add_name(const gpumap_key *key, void *data)
{
	struct description *d = data;
	const char *section = gpumap_key_str(key, GPUMAP_KEY_SECTION);

	if (streq(section, "profile") || streq(section, "program"))
		d->names[d->count++] = gpumap_key_str(key, GPUMAP_KEY_NAME);
	return 0;
}

/* Prints the values of the named keys; a single one without its name, for scripts. */
static int print_keys(const struct config *config, const gpumap_profile *profile)
{
	struct strbuf text = {0};

	for (int i = 0; i < config->count; i++) {
		const char *name = config->operands[i];
		const char *value = gpumap_profile_setting(profile, name, GPUMAP_SETTING_VALUE);

		if (config->count > 1 || config->origin)
			strbuf_printf(&text, "%s = ", name);
		strbuf_puts(&text, value);
		if (config->origin)
			strbuf_printf(&text, "  ; %s",
				      gpumap_profile_setting(profile, name, GPUMAP_SETTING_ORIGIN));
		strbuf_puts(&text, "\n");
	}
	return print_buffer(&text, config->output.report);
}

static int check_keys(const struct config *config, const gpumap_profile *profile)
{
	struct description d = {.wanted = NULL};

	gpumap_profile_key_each(add_name, &d);
	for (int i = 0; i < config->count; i++)
		if (!gpumap_profile_setting(profile, config->operands[i], GPUMAP_SETTING_VALUE))
			return no_such_key(config->operands[i], d.names, config->output.report);
	return GPUMAP_OK;
}

/* With several profiles and no default it is open which one is meant. */
static int check_chosen(const gpumap_profile *profile, gpumap_report *report)
{
	if (gpumap_profile_str(profile, GPUMAP_PROFILE_NAME) ||
	    !gpumap_profile_section(profile, "profile", 0))
		return GPUMAP_OK;
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			   ABOUT(.origin = gpumap_profile_str(profile, GPUMAP_PROFILE_FILE),
				 .fix = "--profile NAME; gpumap config list shows them"),
			   "several profiles, and no default among them");
}

static int config_print(const struct config *config, gpumap_profile *profile, bool *good)
{
	gpumap_report *report = config->output.report;
	CLEANUP_FREE char *text = NULL;
	int r = check_chosen(profile, report);

	if (r == GPUMAP_OK)
		r = check_keys(config, profile);
	if (r != GPUMAP_OK)
		return r;
	*good = profile_check_launch(profile, report);
	if (config->output.format == GPUMAP_FORMAT_JSON)
		r = gpumap_profile_format_keys(&text, profile,
					       config->count ? config->operands : NULL,
					       GPUMAP_FORMAT_JSON, 0, report);
	else if (config->count)
		return print_keys(config, profile);
	else
		r = gpumap_profile_format(&text, profile, GPUMAP_FORMAT_INI,
					  config->origin ? GPUMAP_FORMAT_FLAG_ORIGINS : 0, NULL);
	return r == GPUMAP_OK ? print_text(text, report) : r;
}

/* --- the command --------------------------------------------------------------------- */

static int read_options(struct config *config, int argc, char **argv)
{
	gpumap_report *report = config->output.report;
	struct options options;
	const char *name;

	options_init(&options, "config", config_rows, config, PROFILE_KEYS, argc, argv);
	while ((name = options_next_own(&options, &config->output, help))) {
		if (*name)
			profile_option(&config->options, name, options.value, NULL);
		else if (config->count == MAX_OPERANDS)
			return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION, NULL,
					   "more than %d keys", MAX_OPERANDS);
		else
			config->operands[config->count++] = options.operand;
	}
	return options.code;
}

static int answer(struct config *config, bool *good)
{
	const char *first = config->count ? config->operands[0] : "";
	OWNED(profile) *profile = NULL;
	bool lists;
	int r;

	if (streq(first, "help"))
		return config_help(config);
	lists = streq(first, "list") && config->count == 1;
	r = (lists ? profile_open : profile_open_first)(&profile, &config->options,
							config->output.report);
	if (r != GPUMAP_OK)
		return r;
	if (lists)
		r = config_list(config, profile);
	else
		r = config_print(config, profile, good);
	return r;
}

static int no_profile(char **text, const struct output *output)
{
	return gpumap_profile_format(text, NULL, GPUMAP_FORMAT_JSON, 0, output->report);
}

int cmd_config(int argc, char **argv)
{
	struct config config = {
		.output = {.format = wanted_format(argc, argv), .no_answer = no_profile}};
	bool good = true;
	int r;

	config.output.report = report_begin();
	r = read_options(&config, argc, argv);
	if (r == GPUMAP_OK)
		r = answer(&config, &good);
	return finish(&config.output, r, good);
}
