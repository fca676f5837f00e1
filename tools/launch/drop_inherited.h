/* SPDX-License-Identifier: MIT */
#ifndef GM_LAUNCH_DROP_INHERITED_H
#define GM_LAUNCH_DROP_INHERITED_H

#include <stddef.h>

/* For a process that may outlive its caller. Leaves what it inherited, except the descriptors
 * `keep` and `held` (ended by -1; NULL: none): readers of a program's output must see its end, and
 * no disk or terminal may stay in use. `null` is /dev/null. */
void drop_inherited(int null, const int *keep, size_t count, const int *held);

#endif
