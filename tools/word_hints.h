/* SPDX-License-Identifier: MIT */
/* Words that people type who do not know the commands yet, and their remedies. */
#ifndef GM_WORD_HINTS_H
#define GM_WORD_HINTS_H

#include "suggest.h"

/* What to type instead of a word that is not a command or an option: "gpumap inventory lists the
 * GPUs", perhaps kept in `ret`; `otherwise` if the word is not known. */
const char *word_direction(struct remedy *ret, const char *word, const char *otherwise);
#define WORD_DIRECTION(word, otherwise) word_direction(&(struct remedy){{0}}, word, otherwise)

#endif
