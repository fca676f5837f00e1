/* SPDX-License-Identifier: MIT */
/* Changes the command line that ps shows for this process. */
#include "process_title.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "process_stat.h"

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
	int memory;

	prctl(PR_SET_NAME, name);
	if (!process_stat_read(&stat, getpid()) || stat.arg_end <= stat.arg_start)
		return;
	/* The last byte stays 0: otherwise the kernel shows the environment as well. */
	room = (size_t)(stat.arg_end - stat.arg_start);
	if ((size_t)snprintf(text, sizeof(text), "%s of %d", name, (int)pid) >= room &&
	    (size_t)snprintf(text, sizeof(text), "%s %d", name, (int)pid) >= room)
		snprintf(text, room < sizeof(text) ? room : sizeof(text), "%s", name);
	memory = open("/proc/self/mem", O_WRONLY | O_CLOEXEC);
	if (memory < 0)
		return;
	overwrite(memory, stat.arg_start, stat.arg_end, text);
	close(memory);
}
