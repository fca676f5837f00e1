/* SPDX-License-Identifier: MIT */
/* The command table of gpumap: one file per command, cmd_NAME.c. */
#ifndef GM_COMMAND_H
#define GM_COMMAND_H

/* Exit statuses, as gpumap(1) documents them. */
enum {
	STATUS_ANSWERED = 0,
	STATUS_NO = 1,          /* well-formed statements that end in an error or a "no" */
	STATUS_MALFORMED = 2,   /* bad input, unknown option, bad file, strict refusal */
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

int cmd_explain(int argc, char **argv);
int cmd_inventory(int argc, char **argv);
int cmd_pretend(int argc, char **argv);
int cmd_rules(int argc, char **argv);

#endif
