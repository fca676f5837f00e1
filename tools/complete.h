/* SPDX-License-Identifier: MIT */
/*
 * What may stand at the cursor of a command line, for the completion of shells. The answer has one
 * line for each word that begins as typed: the word, a tab, and its description. Other lines are
 *
 *	:open		no blank follows the words
 *	:files N	files may follow the first N bytes of the word; :folders N
 *	:program N	the N-th word of the line begins a command line of its own
 */
#ifndef GM_COMPLETE_H
#define GM_COMPLETE_H

#include "command.h"
#include "text.h"

struct completion {
	struct strbuf text;
	struct span ahead; /* of the word at the cursor, kept: "--mode=", "2,3," */
	const char *begin; /* what follows it: what words have to begin with */
	size_t cut;        /* of each word, which the shell has already: bash splits at = and : */
	/* values of these options in the line; NULL */
	const char *inventory, *config;
};

/* Adds a word if it begins as typed. */
void complete_word(struct completion *c, const char *word, const char *description);
/* Adds what `grammar`, the value of an option, allows. `option` and `help` are of its row; NULL. */
void complete_values(struct completion *c, struct span grammar, const char *option,
		     const char *help);

/* Adds what may stand at the last of `words`, those of a line after "gpumap". `split`: the shell
 * splits them at = and :, as bash does. */
void complete_line(struct completion *c, int count, char **words, bool split);

#endif
