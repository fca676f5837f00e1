/* SPDX-License-Identifier: MIT */
/* The options of commands, by tables that drive parsing, help and suggestions. */
#ifndef GM_OPTIONS_H
#define GM_OPTIONS_H

#include "cli/output.h"
#include "suggest.h"
#include "text.h"

/* One option of a command. options_init() adds the keys of the library to them. */
struct option_row {
	const char *name;  /* "--inventory" */
	const char *value; /* "FILE", "[WHEN]" when it may be left out; NULL: takes none */
	const char *help;
	size_t into; /* where its value goes, by TEXT_TO or FLAG_TO; 0: options_next() returns it */
};

/* The member of a command's arguments that an option fills: its text, or that it was given. The
 * sizeof checks the member's type. */
#define TEXT_TO(type, member) \
	(1 + offsetof(type, member) + 0 * sizeof((const char **){&((type *)0)->member}))
#define FLAG_TO(type, member) \
	(1 + offsetof(type, member) + 0 * sizeof((bool *){&((type *)0)->member}))

/* --inventory of commands that read one machine. */
#define INVENTORY_ROW(into) \
	{ \
		"--inventory", "host|MACHINE", \
			"the machine; host: this one; MACHINE: a recorded one (a file, or - for " \
			"standard input) or a synthetic one: a number of GPUs (8) or models " \
			"(8xH100, 2xH100+6xA100)", \
			into \
	}

/* --format, and --json, of commands that have both. */
#define FORMAT_ROWS(words, help) \
	{"--format", words, help, 0}, \
	{ \
		"--json", NULL, "the same as --format json", 0 \
	}

enum { MAX_OPTIONS = 96 };

/* The result of a command that has shown its help, beside the library's. */
enum { OPTIONS_HELP = 1 };

enum option_keys { NO_KEYS, REQUEST_KEYS, PROFILE_KEYS };

struct options {
	const char *command;
	struct option_row rows[MAX_OPTIONS];
	int count;       /* of rows */
	int statements;  /* private: rows of a request, which come first */
	int own;         /* private: the first row of a profile's settings */
	int program;     /* private: the first of these that describes the program */
	void *arguments; /* private: the command's, which bound options fill */
	int index, argc; /* private: where options_next reads */
	char **argv;
	const char *defaults[MAX_OPTIONS]; /* private: of rows; NULL or "": none */
	int code;                          /* GPUMAP_OK, OPTIONS_HELP, or an error */
	bool ended;                        /* -- was read */
	const char *value;                 /* value of the last option; NULL: none */
	const char *operand;               /* set if an argument is not an option */
	const char *const *first; /* the options of a short help, ended by NULL; NULL: it has all */
	void (*list)(void);       /* prints what the help has before the options; NULL */
	bool help_all;            /* --help=all */
};

/* Makes a table of the rows (ended by a name of NULL), of --help and of --color. The keys of a
 * request come first, those of a profile last. `arguments` is the struct that the rows name in
 * TEXT_TO and FLAG_TO; NULL: the command line is not read. */
void options_init(struct options *options, const char *command, const struct option_row *rows,
		  void *arguments, enum option_keys keys, int argc, char **argv);

/* The next option's name, of those that fill no member; "" for an operand; NULL at the end or after
 * an error, which is then in the report and in options->code. Options and operands may mix; -- ends
 * the options. */
const char *options_next(struct options *options, gpumap_report *report);

/* The option that a word, "--gpus=2", would be; NULL: it is not one of the table. */
const char *options_name(const struct options *options, const char *word);

/* The row of an option; NULL: it is not one of the table. */
const struct option_row *options_find(const struct options *options, struct span name);
/* Whether the value may be left out: "[auto|always]", "yes|no", "yes|no|DURATION". */
bool option_is_optional(const struct option_row *row);
/* Whether the next word can only be such a value, as "10m" behind --wait. */
bool option_takes(const struct option_row *row, const char *word);
/* The words of a value, without brackets. */
struct span option_values(const struct option_row *row);

/* The last operand and all arguments after it, ended by NULL. */
char **options_rest(const struct options *options);

/* The value of an option that takes a number from `least` to `max`, "a number" or "seconds".
 * GPUMAP_EINPUT. */
int option_number(const char *option, const char *text, const char *what, int64_t least,
		  int64_t max, int64_t *ret, gpumap_report *report);
/* The place of an option's value among its words. GPUMAP_EINPUT: it is not one. */
int option_word(const char *option, const char *words, const char *text, int *ret,
		gpumap_report *report);
/* GPUMAP_EINPUT after the error that an option cannot have the value. */
int option_refuse(const char *option, const char *value, const char *fix, gpumap_report *report);
/* The same for an operand, which is not expected. */
int operand_refuse(const char *operand, const char *fix, gpumap_report *report);

/* Prints the text of --help, with the table of options at this mark. */
#define OPTIONS_HERE "\f"
void options_help(const struct options *options, const char *help);

/* options_next(), which takes --format, --json, --color, and --help, with this text, itself. NULL
 * also after --help and while options->code has an error. */
const char *options_next_own(struct options *options, struct output *output, const char *help);

/* GPUMAP_EINPUT after a finding if a picture is wanted; `why` there is none. */
int refuse_picture(const struct output *output, const char *why);

/* Looks for --json anywhere, so that even an error of the command line is reported in JSON. */
enum gpumap_format wanted_format(int argc, char **argv);

#endif
