/* SPDX-License-Identifier: MIT */
/*
 * Measures the time from Enter to the last rank's main():
 *
 * 	arrive FILE				as a rank: adds the clock to FILE
 * 	arrive FILE RANKS PROGRAM [ARGUMENT...]	starts a launcher, and prints the milliseconds
 * 						from its start to the last of RANKS lines
 *
 * A launcher that has not ended some seconds after the last line is killed.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* A single write, so that the lines of several ranks do not mix. */
static int arrived(const char *path)
{
	char line[32];
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
	int length = snprintf(line, sizeof(line), "%lld\n", clock_ns());

	return fd < 0 || write(fd, line, (size_t)length) != length;
}

/* The latest clock in the file; -1: a rank is missing. */
static long long last_of(const char *path, long ranks)
{
	FILE *file = fopen(path, "r");
	long long at, last = 0;

	for (; file && fscanf(file, "%lld", &at) == 1; ranks--)
		last = at > last ? at : last;
	if (file)
		fclose(file);
	return ranks == 0 ? last : -1;
}

/* Waits until the launcher has ended, or until the time is up. */
static void wait_for(pid_t pid, const char *path, long ranks)
{
	enum { STEP_US = 20000, PATIENCE = 3000000, LIMIT = 90000000 };
	long waited = 0, idle = 0;

	while (waitpid(pid, NULL, WNOHANG) == 0) {
		if (idle > PATIENCE || waited > LIMIT) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			return;
		}
		usleep(STEP_US);
		waited += STEP_US;
		if (idle > 0 || last_of(path, ranks) >= 0)
			idle += STEP_US;
	}
}

int main(int argc, char **argv)
{
	long long start, last;
	long ranks = argc > 3 ? strtol(argv[2], NULL, 10) : 0;
	pid_t pid;

	if (argc == 2)
		return arrived(argv[1]);
	if (argc < 4) {
		fputs("usage: arrive FILE [RANKS PROGRAM [ARGUMENT...]]\n", stderr);
		return 2;
	}
	unlink(argv[1]);
	start = clock_ns();
	if (posix_spawnp(&pid, argv[3], NULL, NULL, argv + 3, environ) != 0)
		return 1;
	wait_for(pid, argv[1], ranks);
	last = last_of(argv[1], ranks);
	unlink(argv[1]);
	if (last < 0)
		return 1;
	printf("%.1f\n", (double)(last - start) / 1e6);
	return 0;
}
