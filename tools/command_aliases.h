/* SPDX-License-Identifier: MIT */
/* First words that are no command, but can mean one thing only: gpumap answers them. */
#ifndef GM_COMMAND_ALIASES_H
#define GM_COMMAND_ALIASES_H

#include <stdbool.h>

/* The arguments of the command that argv[1] stands for, of which there are *argc then: "inventory"
 * for "list". The caller frees them. NULL: the word is no alias, or there is no memory. */
char **command_of_alias(int *argc, char **argv);

/* Whether the word is answered with another behind it. */
bool is_command_alias(const char *word);

#endif
