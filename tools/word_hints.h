/* SPDX-License-Identifier: MIT */
/* Words that people type who do not know the commands yet, and their remedies. */
#ifndef GM_WORD_HINTS_H
#define GM_WORD_HINTS_H

#include "strbuf.h"

/* What to type instead of the first word, which is not a command or an option: "gpumap inventory
 * lists the GPUs", kept in `ret`; `otherwise` if the word is not known. */
const char *word_hint(struct strbuf *ret, char **words, const char *otherwise);

#endif
