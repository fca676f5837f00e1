/* SPDX-License-Identifier: MIT */
/* The commands of gpumap. Each is one file, cmd_NAME.c. */
#ifndef GM_COMMAND_H
#define GM_COMMAND_H

#include "cli/options.h"

struct command {
	const char *name;
	const char *summary; /* one line for gpumap --help */
	/* argv[0] is the command's name; returns the exit status. */
	int (*run)(int argc, char **argv);
};

int cmd_completion(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_emit(int argc, char **argv);
int cmd_exec(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_inventory(int argc, char **argv);
int cmd_leases(int argc, char **argv);
int cmd_lint(int argc, char **argv);
int cmd_pick(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_pretend(int argc, char **argv);
int cmd_ps(int argc, char **argv);
int cmd_rehearse(int argc, char **argv);
int cmd_rules(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_verify(int argc, char **argv);

/* The remedy "gpumap rules GM009 explains it", kept in `ret`, if `word` is the id of a finding or a
 * rule; else `otherwise`. */
const char *id_fix(struct quoted *ret, const char *word, const char *otherwise);
#define ID_FIX(word, otherwise) id_fix(&(struct quoted){{0}}, word, otherwise)

/* The options of each command, ended by a name of NULL. */
#define COMMAND(name, summary, keys, operands) extern const struct option_row name##_rows[];
#include "commands.def"
#undef COMMAND

#endif
