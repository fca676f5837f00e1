/* SPDX-License-Identifier: MIT */
/*
 * Reads command lines by tables. getopt_long(3) accepts abbreviations, which a later option can
 * make ambiguous, and it cannot suggest names; so options are matched whole here.
 */
#include "cli/options.h"

#include <string.h>

#include "cli/foreign_option.h"
#include "cli/hint_line.h"
#include "report/report.h"
#include "request/profile_keys.h"
#include "suggest.h"

/* Lines of a terminal, 80 columns. */
enum { HELP_COLUMN = 28, HELP_WIDTH = 80 - HELP_COLUMN };

static const struct option_row common[] = {
	{"--color", "[auto|always|never]",
	 "whether to print colours; NO_COLOR in the environment switches them off", 0},
	{"--help", "[all]", "this text; all: with all options", 0},
	{NULL, NULL, NULL, 0},
};

static int add_key(const gpumap_key *key, void *data)
{
	struct options *options = data;
	const char *name = gpumap_key_str(key, GPUMAP_KEY_OPTION);
	const char *section = gpumap_key_str(key, GPUMAP_KEY_SECTION);

	if (!name)
		return 0;
	if (section && streq(section, "program") && !options->program)
		options->program = options->count;
	/* The default of the program's device is to read the program, as its help describes. */
	if (section && streq(section, "profile"))
		options->defaults[options->count] = gpumap_key_str(key, GPUMAP_KEY_DEFAULT);
	options->rows[options->count++] =
		(struct option_row){name, gpumap_key_str(key, GPUMAP_KEY_VALUE),
				    gpumap_key_str(key, GPUMAP_KEY_HELP), 0};
	return 0;
}

void options_init(struct options *options, const char *command, const struct option_row *rows,
		  void *arguments, enum option_keys keys, int argc, char **argv)
{
	*options = (struct options){
		.command = command, .arguments = arguments, .index = 1, .argc = argc, .argv = argv};
	if (keys == REQUEST_KEYS)
		gpumap_key_each(add_key, options);
	options->statements = options->count;
	for (; rows->name; rows++)
		options->rows[options->count++] = *rows;
	for (const struct option_row *row = common; row->name; row++)
		options->rows[options->count++] = *row;
	options->own = options->count;
	if (keys == PROFILE_KEYS)
		gpumap_profile_key_each(add_key, options);
}

/* "[auto|always]" is, "[VAR=]LIST" is not. */
static bool in_brackets(const char *value)
{
	return *value == '[' && value[strlen(value) - 1] == ']';
}

bool option_is_optional(const struct option_row *row)
{
	return row->value && (in_brackets(row->value) || starts_with(row->value, "yes|no"));
}

struct span option_values(const struct option_row *row)
{
	size_t length = strlen(row->value);

	return in_brackets(row->value) ? (struct span){row->value + 1, length - 2}
				       : (struct span){row->value, length};
}

/* Whether a form of the option's values has the word, such as DURATION. */
static bool fits_form(const struct option_row *row, const char *word)
{
	struct span words = option_values(row), one, wrong;

	while (span_split(&words, '|', &one)) {
		const struct form *form = form_find(one);

		if (form && form_check(form, span_of(word), &wrong))
			return true;
	}
	return false;
}

static bool is_number(const char *word)
{
	return is_digit(*word) && !word[strspn(word, "0123456789")];
}

bool option_takes(const struct option_row *row, const char *word)
{
	return word && is_digit(*word) && !is_number(word) && fits_form(row, word);
}

/* `--color always` would treat "always" as an operand, which may be a program. A number may be that
 * of the GPUs of gpumap pick, but no program. */
static bool is_apart(const struct options *options, const struct option_row *row, const char *word)
{
	struct span words = option_values(row), one;

	while (word && span_split(&words, '|', &one))
		if (span_is(one, word))
			return true;
	return word && options->own < options->count && is_number(word) && fits_form(row, word);
}

static int compare_key(const gpumap_key *key, void *name)
{
	const char *option = gpumap_key_str(key, GPUMAP_KEY_OPTION);

	return option && span_is(*(struct span *)name, option);
}

/* The command that has the option. */
static const char *belongs(const struct options *options, struct span option)
{
	if (!streq(options->command, "explain") && gpumap_key_each(compare_key, &option))
		return "it belongs to gpumap explain";
	return gpumap_profile_key_each(compare_key, &option)
		       ? "it belongs to gpumap plan, run, exec and emit"
		       : NULL;
}

/* Options of torchrun may be written with - or _; --nproc_per_node is the older form. */
static bool same_name(struct span given, const char *name)
{
	if (given.length != strlen(name))
		return false;
	for (size_t i = 0; i < given.length; i++)
		if ((given.text[i] == '_' && i > 1 ? '-' : given.text[i]) != name[i])
			return false;
	return true;
}

/* What to write instead of an option of another program; NULL: none is known to have it. */
static const char *instead(const struct options *options, struct span name)
{
	bool launches = options->own < options->count;
	const char *guessed = guessed_option(options->command, name);

	if (guessed)
		return guessed;
	for (const struct foreign *f = foreign_options; launches && f->name; f++)
		if (same_name(name, f->name))
			return f->fix;
	return NULL;
}

static int unknown(const struct options *options, struct span name, gpumap_report *report)
{
	const char *names[MAX_OPTIONS + 1] = {0};
	const char *near, *foreign = instead(options, name);
	CLEANUP(strbuf_free) struct strbuf fix = {0};

	for (int i = 0; i < options->count; i++)
		names[i] = options->rows[i].name;
	near = suggest(name, names);
	foreign = foreign ? foreign : belongs(options, name);
	foreign = foreign ? foreign : intended(name);
	hint_fill(&fix,
		  foreign ? foreign
			  : DID_YOU_MEAN(near, FORMAT("gpumap %s --help lists the options",
						      options->command)),
		  options->argv);
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION, ABOUT(.fix = fix.text),
			   "no such option: '%s'", QUOTE(name));
}

const struct option_row *options_find(const struct options *options, struct span name)
{
	for (int i = 0; i < options->count; i++)
		if (same_name(name, options->rows[i].name) ||
		    (span_is(name, "-h") && streq(options->rows[i].name, "--help")))
			return &options->rows[i];
	return NULL;
}

static int read_help(struct options *options, const char *equals, gpumap_report *report)
{
	options->help_all = equals && streq(equals + 1, "all");
	return !equals || options->help_all
		       ? GPUMAP_OK
		       : option_refuse("--help", equals + 1, "write --help or --help=all", report);
}

/* Reads the value of an option. GPUMAP_EINPUT. */
static int read_value(struct options *options, const struct option_row *row, const char *equals,
		      gpumap_report *report)
{
	const char *next = options->argv[options->index], *fix;

	if (streq(row->name, "--help"))
		return read_help(options, equals, report);
	if (equals && !row->value)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.origin = row->name), "takes no value: '%s'",
				   QUOTE(span_of(equals + 1)));
	if (equals || !row->value) {
		options->value = equals ? equals + 1 : NULL;
	} else if (!option_is_optional(row) && !next) {
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.origin = row->name, .fix = "write it after the option"),
				   "%s needs a value: %s", row->name, row->value);
	} else if (!option_is_optional(row) || option_takes(row, next)) {
		options->value = next;
		options->index++;
	} else if (is_apart(options, row, next)) {
		fix = "write both in one word, with =; write a program after --";
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.origin = row->name, .fix = fix),
				   "its value is a separate word: '%s'", QUOTE(span_of(next)));
	}
	return GPUMAP_OK;
}

/* Whether the option fills a member; it is then filled. */
static bool fills(const struct options *options, const struct option_row *row)
{
	char *at;

	if (!row->into)
		return false;
	at = (char *)options->arguments + (row->into - 1);
	if (row->value)
		memcpy(at, &options->value, sizeof(options->value));
	else
		memcpy(at, &(bool){true}, sizeof(bool));
	return true;
}

/* The next word; NULL: there is none. */
static const char *next_argument(struct options *options)
{
	const char *argument = options->argv[options->index];

	if (argument && !options->ended && streq(argument, "--")) {
		options->ended = true;
		argument = options->argv[++options->index];
	}
	options->index += argument != NULL;
	return argument;
}

const char *options_next(struct options *options, gpumap_report *report)
{
	const struct option_row *row;
	const char *argument, *equals;
	struct span name;

	do {
		options->value = options->operand = NULL;
		argument = next_argument(options);
		if (!argument)
			return NULL;
		if (options->ended || *argument != '-' || !argument[1]) {
			options->operand = argument;
			return "";
		}
		equals = strchr(argument, '=');
		name = (struct span){argument,
				     equals ? (size_t)(equals - argument) : strlen(argument)};
		row = options_find(options, name);
		options->code = row ? read_value(options, row, equals, report)
				    : unknown(options, name, report);
		if (options->code != GPUMAP_OK)
			return NULL;
	} while (fills(options, row));
	return row->name;
}

const char *options_name(const struct options *options, const char *word)
{
	const struct option_row *row =
		options_find(options, (struct span){word, strcspn(word, "=")});

	return row ? row->name : NULL;
}

char **options_rest(const struct options *options)
{
	return &options->argv[options->index - (options->operand != NULL)];
}

/* Prints the rest of a line, and as many lines below as the text needs. */
static void print_help(const char *text)
{
	while (strlen(text) > HELP_WIDTH) {
		int length = HELP_WIDTH;

		while (length > 1 && text[length] != ' ')
			length--;
		printf("%.*s\n%*s", length, text, HELP_COLUMN, "");
		text += length + 1;
	}
	puts(text);
}

static void print_row(const struct options *options, const struct option_row *row)
{
	const char *initial = options->defaults[row - options->rows];
	char left[80], help[512];

	if (option_is_optional(row))
		snprintf(left, sizeof(left), "%s[=%.*s]", row->name, (int)option_values(row).length,
			 option_values(row).text);
	else
		snprintf(left, sizeof(left), "%s%s%s", row->name, row->value ? " " : "",
			 row->value ? row->value : "");
	if (strlen(left) > HELP_COLUMN - 4)
		printf("  %s\n%*s", left, HELP_COLUMN, "");
	else
		printf("  %-*s", HELP_COLUMN - 2, left);
	if (initial && *initial)
		snprintf(help, sizeof(help), "%s (default %s)", row->help, initial);
	print_help(initial && *initial ? help : row->help);
}

/* Those of a short help, and how many there are more. */
static void print_first(const struct options *options)
{
	int more = options->count;

	puts("most used");
	for (const char *const *name = options->first; *name; name++, more--)
		print_row(options, options_find(options, span_of(*name)));
	printf("\n%d more options: gpumap %s --help=all\n", more, options->command);
}

static void print_all(const struct options *options)
{
	if (options->statements)
		puts("statements about the program and how it is started");
	for (int i = 0; i < options->count; i++) {
		if (i && i == options->statements)
			puts("\noptions");
		if (i == options->own)
			puts("\noptions that a profile can also set: gpumap.ini(5)");
		if (i && i == options->program)
			fputs("\nwhat the program does, as the [program] section of gpumap.ini(5) "
			      "can state it\n"
			      "gpumap only checks the plan against it.\n"
			      "LIST is a value of CUDA_VISIBLE_DEVICES; VAR=LIST names another "
			      "variable.\n",
			      stdout);
		print_row(options, &options->rows[i]);
	}
}

void options_help(const struct options *options, const char *help)
{
	const char *here = strstr(help, OPTIONS_HERE);

	printf("%.*s", (int)(here - help), help);
	if (options->list)
		options->list();
	if (options->first && !options->help_all)
		print_first(options);
	else
		print_all(options);
	fputs(here + strlen(OPTIONS_HERE), stdout);
}

int option_number(const char *option, const char *text, const char *what, int64_t least,
		  int64_t max, int64_t *ret, gpumap_report *report)
{
	*ret = span_number(span_of(text), max);
	if (*ret >= least)
		return GPUMAP_OK;
	return option_refuse(
		option, text,
		FORMAT("write %s from %lld to %lld", what, (long long)least, (long long)max),
		report);
}

int option_word(const char *option, const char *words, const char *text, int *ret,
		gpumap_report *report)
{
	int place = word_place(words, span_of(text));

	if (place < 0)
		return option_refuse(option, text, WORD_FIX(words, span_of(text)), report);
	*ret = place;
	return GPUMAP_OK;
}

int option_refuse(const char *option, const char *value, const char *fix, gpumap_report *report)
{
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			   ABOUT(.origin = option, .fix = fix), "cannot be '%s'",
			   QUOTE(span_of(value)));
}

int operand_refuse(const char *operand, const char *fix, gpumap_report *report)
{
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION, ABOUT(.fix = fix),
			   "unexpected argument: '%s'", QUOTE(span_of(operand)));
}
