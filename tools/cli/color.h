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

/* Takes the value of --color. GPUMAP_EINPUT. */
int color_option(const char *value, gpumap_report *report);

#endif
