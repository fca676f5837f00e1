/* SPDX-License-Identifier: MIT */
/* How Python reads the numbers of a list: PyTorch's dialect, and launchers in Python. */
#ifndef GM_PYTHON_NUMBER_H
#define GM_PYTHON_NUMBER_H

#include "text.h"

/* Writes the list as plain ASCII: Unicode's decimal digits as 0-9, its blanks as ' ', its other
 * digits (superscripts), which int() refuses, as PYTHON_NO_NUMBER, anything else as '?'. Commas
 * keep their places. `ret` needs text.length bytes; returns how many were written. */
enum { PYTHON_NO_NUMBER = '\x01' };
size_t python_plain(char *ret, struct span text);

/* Whether int() raises ValueError on the number that an entry of such a list begins with. */
bool python_raises(struct span entry);

/* Writes str(int(entry)) to `ret`, of entry.length bytes; returns its length, 0 if int() raises
 * ValueError. */
size_t python_int(char *ret, struct span entry);

#endif
