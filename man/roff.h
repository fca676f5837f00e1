/* SPDX-License-Identifier: MIT */
/* Text on standard output, as roff takes it. */
#ifndef GM_MAN_ROFF_H
#define GM_MAN_ROFF_H

#include <stddef.h>

/* Writes the text unchanged, with minus signs that can be copied. */
void put_escaped(const char *text, size_t length);
void put(const char *text);
void put_line(const char *text);
/* Lines of at most 76 columns; roff wants each sentence to begin a line. */
void put_lines(const char *text);

#endif
