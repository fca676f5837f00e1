/* SPDX-License-Identifier: MIT */
/* Whether output has colours: --color, NO_COLOR, TERM and the terminal decide. style.h has what
 * each part looks like. */
#ifndef GM_COLOR_H
#define GM_COLOR_H

#include "gpumap.h"

#include <stdbool.h>

/* Whether text on this descriptor gets colours. */
bool color_on(int fd);
/* Flags for the library: colours if standard output has them. */
unsigned color_flags(void);

/* Takes --color. True: the option was it. *failed is set after an error. */
bool color_option(const char *name, const char *value, gpumap_report *report, bool *failed);

#endif
