/* SPDX-License-Identifier: MIT */
/* Exit statuses of commands that start programs. Others are those of a program, or 128 + N if
 * signal N ended it. */
#ifndef GM_EXIT_STATUS_H
#define GM_EXIT_STATUS_H

#include "gpumap.h"

enum {
	STATUS_TIME_LIMIT = 124,
	STATUS_OWN_FAILURE = 125, /* gpumap refused the start, or failed itself */
	STATUS_NOT_EXECUTABLE = 126,
	STATUS_NOT_FOUND = 127
};

/* The status if a program cannot be executed, by errno. */
int status_of_error(int error);
/* The status after gpumap_lease_take() failed with `code`: STATUS_TIME_LIMIT if it waited in vain,
 * else STATUS_OWN_FAILURE. */
int status_of_lease(int code, const gpumap_report *report);

#endif
