/* SPDX-License-Identifier: MIT */
#include "process_stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fields as proc_pid_stat(5) numbers them. */
enum {
	STATE = 3,
	PARENT,
	GROUP,
	TERMINAL = 7,
	START_TIME = 22,
	VSIZE,
	ARG_START = 48,
	ARG_END,
	ENV_END = 51
};

/* `fields` begins with STATE. */
static uint64_t field(const char *fields, int number)
{
	for (int i = STATE; fields && i < number; i++) {
		fields = strchr(fields, ' ');
		fields += fields != NULL;
	}
	return fields ? strtoull(fields, NULL, 10) : 0;
}

bool process_stat_read(struct process_stat *ret, pid_t pid)
{
	char path[48], text[2048];
	const char *fields;
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
	/* The name before it may contain anything. */
	fields = strrchr(text, ')');
	if (!fields || fields[1] != ' ' || !fields[2])
		return false;
	fields += 2;
	*ret = (struct process_stat){
		.parent = (pid_t)field(fields, PARENT),
		.group = (pid_t)field(fields, GROUP),
		.terminal = field(fields, TERMINAL) != 0,
		.dead = *fields == 'Z' || *fields == 'X',
		.stopped = *fields == 'T' || *fields == 't',
		.no_memory = field(fields, VSIZE) == 0,
		.start = field(fields, START_TIME),
		.arg_start = field(fields, ARG_START),
		.arg_end = field(fields, ARG_END),
	};
	ret->in_exec = !ret->no_memory && field(fields, ENV_END) == 0;
	return true;
}
