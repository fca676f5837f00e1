/* SPDX-License-Identifier: MIT */
/* The commands of gpumap and what they share. Each command is one file, cmd_NAME.c. */
#ifndef GM_COMMAND_H
#define GM_COMMAND_H

#include "gpumap.h"

#include <stdbool.h>
#include <stdio.h>

#include "style.h"
#include "suggest.h"

/* Exit statuses, as gpumap(1) documents them. */
enum {
	STATUS_ANSWERED = 0,
	STATUS_NO = 1,            /* well-formed statements that end in an error or a "no" */
	STATUS_MALFORMED = 2,     /* bad input, unknown option, bad file, strict refusal */
	STATUS_OWN_FAILURE = 125, /* pretend: gpumap itself failed */
	STATUS_NOT_EXECUTABLE = 126,
	STATUS_NOT_FOUND = 127
};

struct command {
	const char *name;
	const char *summary; /* one line for gpumap --help */
	/* argv[0] is the command's name; returns the exit status. */
	int (*run)(int argc, char **argv);
};

int cmd_config(int argc, char **argv);
int cmd_emit(int argc, char **argv);
int cmd_exec(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_inventory(int argc, char **argv);
int cmd_lint(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_pretend(int argc, char **argv);
int cmd_rules(int argc, char **argv);
int cmd_run(int argc, char **argv);

/* "gpumap rules GM009 explains it", kept in `ret`, where `word` is the id of a finding or a rule;
 * else `otherwise`. */
const char *id_remedy(struct remedy *ret, const char *word, const char *otherwise);
#define ID_REMEDY(word, otherwise) id_remedy(&(struct remedy){{0}}, word, otherwise)

/* --- what an answer is printed as ------------------------------------------ */

struct output {
	enum gpumap_format format;
	gpumap_report *report;
};

/* Prints the report's findings from the i-th on to standard error, a line each; how many
 * there are in all. */
size_t print_report(const struct output *output, size_t from);
/* Whether text is coloured on this descriptor: as --color says, or a terminal is there. */
bool output_colored(int fd);
/* Of a finding, GPUMAP_SEVERITY_REMARK to GPUMAP_SEVERITY_ERROR. */
enum style severity_style(int64_t severity);
/* For the library: colours where standard output has them. */
unsigned output_flags(void);

/* Writes `text` to standard output; false after a finding when that fails. */
bool print_text(const char *text, gpumap_report *report);

/* Ends what printed help or the version: 0, or 2 with a line on standard error where that
 * could not be written. */
int finish_help(void);

/* Ends a command: the report to standard error, and the exit status for `code`, the
 * library's answer, `answered` telling yes from no. */
int finish(const struct output *output, int code, bool answered);

/* --- options ---------------------------------------------------------------- */

/* One option of a command. Keys of the library are added to a command's own. */
struct option_row {
	const char *name;  /* "--inventory" */
	const char *value; /* "FILE", "[WHEN]" when it may be left out; NULL: takes none */
	const char *help;
};

/* What --inventory takes; a machine of two models shows how they are joined. */
#define INVENTORY_VALUE "FILE|N|8xH100|2xH100+6xA100|host|-"

enum { MAX_OPTIONS = 96 };

enum option_keys { NO_KEYS, REQUEST_KEYS, PROFILE_KEYS };

struct options {
	const char *command;
	struct option_row rows[MAX_OPTIONS];
	int count, own;  /* private: settings of a profile begin at the own-th */
	int index, argc; /* private: where options_next reads */
	char **argv;
	bool ended;          /* private: -- was read */
	const char *value;   /* of the option that was read last; NULL: none */
	const char *operand; /* set when an argument is no option */
	const char *const
		*first; /* names of those that the help begins with, to NULL; NULL: none */
};

/* A table of the rows (ended by a name of NULL) and of --help, --color, --json where
 * asked; the keys of a request come first, those of a profile last. */
void options_init(struct options *options, const char *command, const struct option_row *rows,
		  enum option_keys keys, int argc, char **argv);

/* The next option's name; "" for an operand; NULL at the end or after an error, which
 * is then in the report, and *failed is set. Options and operands may mix; -- ends options. */
const char *options_next(struct options *options, gpumap_report *report, bool *failed);

/* The operand that was read and everything behind it, which ends with NULL. */
char **options_rest(const struct options *options);

/* The value of an option that takes a number from `least` to `most`. GPUMAP_EINPUT. */
int option_number(const char *option, const char *text, int64_t least, int64_t max, int64_t *ret,
		  gpumap_report *report);

/* The table as help text. */
void options_help(const struct options *options, FILE *file);

/* Takes --format, --json and --color. True: it was one of them; *failed after an error. */
bool output_option(struct output *output, const char *name, const char *value, bool *failed);

/* --json anywhere: also an error of the command line is then answered in JSON. */
enum gpumap_format wanted_format(int argc, char **argv);

#endif
