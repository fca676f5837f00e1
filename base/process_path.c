/* SPDX-License-Identifier: MIT */
/* See process_path.h. */
#include "process_path.h"

#include <errno.h>
#include <stdio.h>

const char *process_path(struct process_path *ret, int64_t pid, const char *format, ...)
{
	int error = errno, n;
	va_list args;

	n = pid == PROCESS_SELF
		    ? snprintf(ret->text, sizeof(ret->text), "/proc/self/")
		    : snprintf(ret->text, sizeof(ret->text), "/proc/%lld/", (long long)pid);
	va_start(args, format);
	vsnprintf(ret->text + n, sizeof(ret->text) - (size_t)n, format, args);
	va_end(args);
	errno = error;
	return ret->text;
}
