/* SPDX-License-Identifier: MIT */
/* See leave_caller.h. */
#include "leave_caller.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "closing.h"
#include "process_stat.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Writes through the kernel, so a wrong address is an error and not a crash. */
static void overwrite(int memory, uint64_t start, uint64_t end, const char *text)
{
	char page[4096] = {0};

	memcpy(page, text, strlen(text));
	while (start < end) {
		size_t size = end - start < sizeof(page) ? (size_t)(end - start) : sizeof(page);
		ssize_t n = pwrite(memory, page, size, (off_t)start);

		if (n <= 0)
			return;
		start += (uint64_t)n;
		memset(page, 0, sizeof(page));
	}
}

void process_title(const char *name, pid_t pid)
{
	struct process_stat stat;
	char text[64];
	size_t room;
	CLEANUP_CLOSE int memory = -1;

	prctl(PR_SET_NAME, name);
	if (!process_stat_read(&stat, getpid()) || stat.arg_end <= stat.arg_start)
		return;
	/* The last byte stays 0: otherwise the kernel shows the environment as well. */
	room = (size_t)(stat.arg_end - stat.arg_start);
	if ((size_t)snprintf(text, sizeof(text), "%s of %d", name, (int)pid) >= room &&
	    (size_t)snprintf(text, sizeof(text), "%s %d", name, (int)pid) >= room)
		snprintf(text, room < sizeof(text) ? room : sizeof(text), "%s", name);
	memory = open("/proc/self/mem", O_WRONLY | O_CLOEXEC);
	if (memory >= 0)
		overwrite(memory, stat.arg_start, stat.arg_end, text);
}

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
