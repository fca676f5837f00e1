/* SPDX-License-Identifier: MIT */
#include "process_stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the fields after the name; the name may contain anything. */
bool process_stat_read(struct process_stat *ret, pid_t pid)
{
	char path[48], text[1024], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	p = strrchr(text, ')');
	if (!p || p[1] != ' ' || !p[2])
		return false;
	*ret = (struct process_stat){.dead = p[2] == 'Z' || p[2] == 'X'};
	p += 3;
	ret->parent = (pid_t)strtol(p, &p, 10);
	ret->group = (pid_t)strtol(p, NULL, 10);
	for (int field = 5; p && field <= 22; field++) {
		p = strchr(p + 1, ' ');
		if (field == 21 && p)
			ret->start = strtoull(p, NULL, 10);
	}
	return true;
}
