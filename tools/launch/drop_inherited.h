/* SPDX-License-Identifier: MIT */
#ifndef GM_LAUNCH_DROP_INHERITED_H
#define GM_LAUNCH_DROP_INHERITED_H

#include <stddef.h>

/* For a process that may outlive its caller. Leaves what it inherited, except the descriptors
 * `keep`, which it sorts: readers of a program's output must see its end, and no disk or terminal
 * may stay in use. `null` is /dev/null. */
void drop_inherited(int null, int *keep, size_t count);

#endif
