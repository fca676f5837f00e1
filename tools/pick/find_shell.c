/* SPDX-License-Identifier: MIT */
/*
 * The parent of this process may be a copy that the shell has forked for $(...), and which ends at
 * once. The shell itself is known by the pipe: it reads what this process writes. Without a pipe,
 * it is the nearest shell above that is not a copy. A copy has the memory of its parent, where
 * the command line is at the same address; a program that was started has an address of its own.
 */
#include "pick/find_shell.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "closing.h"
#include "process_path.h"
#include "process_stat.h"
#include "readfile.h"
#include "text/words.h"

enum { LOOKS = 1000, SLEEPING_LOOKS = 20 };

bool is_shell_name(const char *name)
{
	static const char *const names[] = {"sh",      "ash",   "bash", "dash", "fish",
					    "busybox", "ksh",   "lksh", "mksh", "oksh",
					    "rksh",    "rbash", "yash", "zsh"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t length = strlen(names[i]);

		if (starts_with(name, names[i]) && !isalpha((unsigned char)name[length]))
			return true;
	}
	return false;
}

/* By its program, because a script has a name of its own. */
static bool is_shell(pid_t pid)
{
	char target[4096];
	const char *name;

	if (!read_link(target, sizeof(target), PROCESS_PATH(pid, "exe")))
		return false;
	name = strrchr(target, '/');
	return name && is_shell_name(name + 1);
}

/* The permissions of the link show how the file was opened. */
static bool is_reader(int folder, const char *name, const struct stat *pipe)
{
	struct stat link, file;

	return fstatat(folder, name, &link, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(link.st_mode) &&
	       (link.st_mode & S_IRUSR) && !(link.st_mode & S_IWUSR) &&
	       fstatat(folder, name, &file, 0) == 0 && file.st_dev == pipe->st_dev &&
	       file.st_ino == pipe->st_ino;
}

static bool reads(pid_t pid, const struct stat *pipe)
{
	CLEANUP_FOLDER DIR *dir = opendir(PROCESS_PATH(pid, "fd"));
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)))
		found = is_reader(dirfd(dir), entry->d_name, pipe);
	return found;
}

/* False: its output is not a pipe. */
static bool output_of(struct stat *ret, pid_t pid)
{
	return stat(PROCESS_PATH(pid, "fd/1"), ret) == 0 && S_ISFIFO(ret->st_mode);
}

/* The highest process above `pid` that reads the pipe. It made the pipe; a copy of it may have
 * inherited the end that is read. 0: none does. */
static pid_t reader_above(pid_t pid, const struct stat *pipe)
{
	pid_t found = 0;

	for (int i = 0; i < MAX_ABOVE && (pid = process_parent(pid)) > 0; i++)
		if (reads(pid, pipe))
			found = pid;
	return found;
}

static bool same_program(pid_t a, pid_t b)
{
	struct stat x, y;

	return stat(PROCESS_PATH(a, "exe"), &x) == 0 && stat(PROCESS_PATH(b, "exe"), &y) == 0 &&
	       x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool is_copy(pid_t pid, pid_t parent)
{
	struct process_stat x, y;

	return process_stat_read(&x, pid) && process_stat_read(&y, parent) && x.arg_start &&
	       x.arg_start == y.arg_start && x.arg_end == y.arg_end && same_program(pid, parent);
}

/* For "$(gpumap pick 2 --shell | cat)" zsh has a copy of itself that makes the pipe, and closes it
 * soon. A subshell stays a copy, has it open, and waits for what it reads. */
static bool will_close(pid_t pid, const struct stat *pipe)
{
	const struct timespec pause = {0, 5000000};
	struct process_stat process;
	int slept = 0;

	for (int i = 0; i < LOOKS && slept < SLEEPING_LOOKS; i++) {
		if (!reads(pid, pipe) || !is_copy(pid, process_parent(pid)))
			return true;
		slept = process_stat_read(&process, pid) && process.sleeping ? slept + 1 : 0;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* A reader that is not a shell may only copy what it reads, and end soon: sudo, or a filter. Then
 * the shell reads what that one writes. */
static pid_t find_reader(void)
{
	pid_t pid = getpid(), reader, first = 0;
	struct stat pipe;

	while (output_of(&pipe, pid) && (reader = reader_above(pid, &pipe)) > 0) {
		if (is_copy(reader, process_parent(reader)) && will_close(reader, &pipe))
			continue;
		pid = reader;
		first = first ? first : pid;
		if (is_shell(pid))
			return pid;
	}
	return first;
}

/* Not the first process, which adopts those whose parent has ended. */
static pid_t find_above(void)
{
	pid_t pid = getppid(), found = 0;

	for (int i = 0; i < MAX_ABOVE && pid > 1; i++) {
		pid_t parent = process_parent(pid);

		if (!is_copy(pid, parent)) {
			found = found ? found : pid;
			if (is_shell(pid))
				return pid;
		}
		pid = parent;
	}
	return found;
}

pid_t shell_find(void)
{
	pid_t pid = find_reader();

	return pid ? pid : find_above();
}

void shell_export(struct strbuf *buf, const char *list, pid_t keeper)
{
	strbuf_puts(buf, "export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=");
	words_quote(buf, list);
	strbuf_printf(buf, " GPUMAP_LEASE=%d\n", (int)keeper);
}
