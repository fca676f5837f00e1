/* SPDX-License-Identifier: MIT */
/*
 * usage RUNS PROGRAM [ARGUMENT...]: runs a program RUNS times, one after the other, and discards
 * its output. Prints the median CPU time in microseconds and the greatest resident memory in KiB:
 * "812 3412". A shell's time(1) would round gpumap's time to zero.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int compare(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return (x > y) - (x < y);
}

static long micros(struct timeval t)
{
	return (long)t.tv_sec * 1000000 + (long)t.tv_usec;
}

/* CPU time of one run in microseconds, -1 on failure. *memory is the greatest use so far. */
static long run(char **argv, const posix_spawn_file_actions_t *actions, long *memory)
{
	struct rusage usage;
	pid_t pid;
	int status;

	if (posix_spawnp(&pid, *argv, actions, NULL, argv, environ) != 0)
		return -1;
	if (wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) || WEXITSTATUS(status) > 1)
		return -1;
	if (usage.ru_maxrss > *memory)
		*memory = usage.ru_maxrss;
	return micros(usage.ru_utime) + micros(usage.ru_stime);
}

int main(int argc, char **argv)
{
	long runs = argc > 2 ? strtol(argv[1], NULL, 10) : 0, memory = 0;
	long *times = runs > 0 ? calloc((size_t)runs, sizeof(*times)) : NULL;
	posix_spawn_file_actions_t actions;

	if (!times || posix_spawn_file_actions_init(&actions) != 0) {
		fputs("usage: usage RUNS PROGRAM [ARGUMENT...]\n", stderr);
		return 2;
	}
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	for (long i = 0; i < runs; i++) {
		times[i] = run(argv + 2, &actions, &memory);
		if (times[i] < 0) {
			fprintf(stderr, "usage: %s failed\n", argv[2]);
			return 1;
		}
	}
	qsort(times, (size_t)runs, sizeof(*times), compare);
	printf("%ld %ld\n", times[runs / 2], memory);
	posix_spawn_file_actions_destroy(&actions);
	free(times);
	return 0;
}
