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

/* The remedy "gpumap rules GM009 explains it", kept in `ret`, if `word` is the id of a finding or a
 * rule; else `otherwise`. */
const char *id_fix(struct quoted *ret, const char *word, const char *otherwise);
#define ID_FIX(word, otherwise) id_fix(&(struct quoted){{0}}, word, otherwise)

/* Each command, and its options, which a name of NULL ends. */
#define COMMAND(name, summary, keys, operands) \
	extern const struct option_row name##_rows[]; \
	int cmd_##name(int argc, char **argv);
#include "commands.def"
#undef COMMAND

#endif
