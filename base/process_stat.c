/* SPDX-License-Identifier: MIT */
/* See process_stat.h. */
#include "process_stat.h"

#include <errno.h>
#include <linux/prctl.h>
#include <signal.h>
#include <unistd.h>

#include "process_path.h"
#include "readfile.h"
#include "text.h"

/* Fields as proc_pid_stat(5) numbers them. */
enum {
	STATE = 3,
	PARENT,
	GROUP,
	TERMINAL = 7,
	USER_TIME = 14,
	SYSTEM_TIME,
	START_TIME = 22,
	VSIZE,
	CODE_START = 26,
	CODE_END,
	STACK_START,
	DATA_START = 45,
	DATA_END,
	HEAP_START,
	ARG_START,
	ARG_END,
	ENV_START,
	ENV_END
};

enum {
	LINE = 2048,
	STATUS = 1 << 16 /* a line of it has the groups of the user, which can be thousands */
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

/* The line from STATE on; NULL: there is no such process. */
static const char *read_fields(char text[LINE], pid_t pid)
{
	const char *fields;

	if (read_start(text, LINE, PROCESS_PATH(pid, "stat")) <= 0)
		return NULL;
	/* The name before it may contain anything. */
	fields = strrchr(text, ')');
	return fields && fields[1] == ' ' && fields[2] ? fields + 2 : NULL;
}

bool process_memory_read(struct prctl_mm_map *ret)
{
	char text[LINE];
	const char *fields = read_fields(text, getpid());

	if (!fields)
		return false;
	*ret = (struct prctl_mm_map){
		.start_code = field(fields, CODE_START),
		.end_code = field(fields, CODE_END),
		.start_data = field(fields, DATA_START),
		.end_data = field(fields, DATA_END),
		.start_brk = field(fields, HEAP_START),
		.brk = (uintptr_t)sbrk(0),
		.start_stack = field(fields, STACK_START),
		.arg_start = field(fields, ARG_START),
		.arg_end = field(fields, ARG_END),
		.env_start = field(fields, ENV_START),
		.env_end = field(fields, ENV_END),
		.exe_fd = UINT32_MAX,
	};
	return true;
}

bool process_stat_read(struct process_stat *ret, pid_t pid)
{
	char text[LINE];
	const char *fields = read_fields(text, pid);

	if (!fields)
		return false;
	*ret = (struct process_stat){
		.parent = (pid_t)field(fields, PARENT),
		.group = (pid_t)field(fields, GROUP),
		.terminal = field(fields, TERMINAL) != 0,
		.dead = *fields == 'Z' || *fields == 'X',
		.sleeping = *fields == 'S',
		.stopped = *fields == 'T' || *fields == 't',
		.no_memory = field(fields, VSIZE) == 0,
		.cpu = field(fields, USER_TIME) + field(fields, SYSTEM_TIME),
		.start = field(fields, START_TIME),
		.arg_start = field(fields, ARG_START),
		.arg_end = field(fields, ARG_END),
	};
	ret->in_exec = !ret->no_memory && field(fields, ENV_END) == 0;
	return true;
}

bool process_exists(pid_t pid)
{
	return kill(pid, 0) == 0 || errno != ESRCH;
}

pid_t process_parent(pid_t pid)
{
	struct process_stat stat;

	return process_stat_read(&stat, pid) ? stat.parent : 0;
}

bool process_is_below(pid_t pid, pid_t above)
{
	for (int i = 0; i < MAX_ABOVE && pid > 1; i++) {
		if (pid == above)
			return true;
		pid = process_parent(pid);
	}
	return false;
}

/* The rest of a line of the status after its key ("\nUid:\t"), in `text`. */
static bool read_status(struct span *ret, char text[STATUS], pid_t pid, const char *key)
{
	const char *line;

	if (read_start(text, STATUS, PROCESS_PATH(pid, "status")) <= 0)
		return false;
	line = strstr(text, key);
	if (!line)
		return false;
	line += strlen(key);
	*ret = (struct span){line, strcspn(line, "\n")};
	return true;
}

/* "Uid:\t1000\t1000\t1000\t1000": the real user, and the effective one. */
static int64_t read_user(pid_t pid, int place)
{
	struct span rest, user = {NULL, 0};
	char text[STATUS];
	bool found = read_status(&rest, text, pid, "\nUid:\t");

	for (int i = 0; found && i <= place; i++)
		found = span_split(&rest, '\t', &user);
	return found ? span_number(user, UINT32_MAX) : -1;
}

int64_t process_user(pid_t pid)
{
	return read_user(pid, 0);
}

int64_t process_effective_user(pid_t pid)
{
	return read_user(pid, 1);
}

pid_t process_next(DIR *proc)
{
	struct dirent *entry;
	int64_t pid = 0;

	while (pid <= 0 && proc && (entry = readdir(proc)))
		pid = span_number(span_of(entry->d_name), INT32_MAX);
	return pid > 0 ? (pid_t)pid : 0;
}

/* "NSpid:\t4711\t1" */
size_t process_numbers(int64_t ret[MAX_PID_SPACES], pid_t pid)
{
	struct span rest, number;
	char text[STATUS];
	size_t count = 0;

	if (!read_status(&rest, text, pid, "\nNSpid:\t"))
		return 0;
	while (count < MAX_PID_SPACES && span_split(&rest, '\t', &number))
		ret[count++] = span_number(number, INT32_MAX);
	return count;
}
