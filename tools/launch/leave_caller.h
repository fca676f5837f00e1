/* SPDX-License-Identifier: MIT */
/* What a forked process leaves of its caller, whom it may outlive. */
#ifndef GM_LAUNCH_LEAVE_CALLER_H
#define GM_LAUNCH_LEAVE_CALLER_H

#include <stddef.h>
#include <sys/types.h>

/* Leaves what it inherited, except the descriptors `keep` and `held` (ended by -1; NULL: none):
 * readers of a program's output must see its end, and no disk or terminal may stay in use. `null`
 * is /dev/null. */
void drop_inherited(int null, const int *keep, size_t count, const int *held);

#endif
