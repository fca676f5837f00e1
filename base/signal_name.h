/* SPDX-License-Identifier: MIT */
/* Signals by their names. */
#ifndef GM_SIGNAL_NAME_H
#define GM_SIGNAL_NAME_H

#include "text.h"

/* The number of "TERM" or "SIGTERM"; 0: there is no such signal. */
int signal_number(struct span name);
/* "TERM"; NULL: the signal has no name here. */
const char *signal_name(int number);

/* "SIGTERM", or "signal 40". */
const char *signal_text(int number, char ret[16]);
#define SIGNAL_TEXT(number) signal_text(number, (char[16]){0})

#endif
