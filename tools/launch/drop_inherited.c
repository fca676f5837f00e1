/* SPDX-License-Identifier: MIT */
#include "drop_inherited.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

void drop_inherited(int null, int *keep, size_t count)
{
	unsigned next = 3;

	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	qsort(keep, count, sizeof(*keep), by_number);
	for (size_t i = 0; i <= count; i++) {
		unsigned end = i < count ? (unsigned)keep[i] : ~0u;

		if (end > next && syscall(SYS_close_range, next, end - (end != ~0u), 0) < 0)
			for (unsigned fd = next; fd < end && fd < 65536; fd++)
				close((int)fd);
		if (end >= next)
			next = end + 1;
	}
	if (chdir("/") < 0)
		return; /* a busy file system must not end the process */
}
