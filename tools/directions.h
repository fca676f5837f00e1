/* SPDX-License-Identifier: MIT */
/* What people type who do not know the commands yet, and what to type instead. */
#ifndef GM_DIRECTIONS_H
#define GM_DIRECTIONS_H

#include "suggest.h"

/* What to type instead of a word that is no command and no option: "gpumap inventory lists the
 * GPUs", perhaps kept in `ret`; `otherwise` where the word says nothing. */
const char *word_direction(struct remedy *ret, const char *word, const char *otherwise);
#define WORD_DIRECTION(word, otherwise) word_direction(&(struct remedy){{0}}, word, otherwise)

#endif
