/* SPDX-License-Identifier: MIT */
/* See leave_caller.h. */
#include "leave_caller.h"

#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* The lowest of the descriptors that is `from` or more; ~0: there is none. */
static unsigned next_kept(const int *keep, size_t count, const int *held, unsigned from)
{
	unsigned next = ~0u;

	for (size_t i = 0; i < count; i++)
		if ((unsigned)keep[i] >= from && (unsigned)keep[i] < next)
			next = (unsigned)keep[i];
	for (; held && *held >= 0; held++)
		if ((unsigned)*held >= from && (unsigned)*held < next)
			next = (unsigned)*held;
	return next;
}

void drop_inherited(int null, const int *keep, size_t count, const int *held)
{
	unsigned from = 3, kept;

	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	do {
		kept = next_kept(keep, count, held, from);
		if (kept > from && syscall(SYS_close_range, from, kept - (kept != ~0u), 0) < 0)
			for (unsigned fd = from; fd < kept && fd < 65536; fd++)
				close((int)fd);
		from = kept + 1;
	} while (kept != ~0u);
	if (chdir("/") < 0)
		return; /* a busy file system must not end the process */
}
