/* SPDX-License-Identifier: MIT */
/* Shared by the readers of node lists and of hostfiles. */
#ifndef GM_HOSTLIST_ADD_H
#define GM_HOSTLIST_ADD_H

#include "text/hostlist.h"

/* A byte that a host's name may have. */
bool host_byte(char c);

/* Appends a host; the name is copied. */
int host_add(struct hostlist *list, struct span name, int64_t slots, const char *origin,
	     gpumap_report *report);

#endif
