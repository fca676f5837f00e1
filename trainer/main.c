/* SPDX-License-Identifier: MIT */
/* gpumap-train: a training run on the devices that gpumap's mapping names. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "place/threads.h"
#include "run/stop.h"
#include "run/training.h"
#include "write_all.h"

extern char **environ;

/* As a kill of the process: other ranks see that this one is gone. Of several threads one writes.
 */
void memory_ran_out(void)
{
	static const char line[] =
		"gpumap-train: out of memory; end other programs, or raise the limit (ulimit -v)\n";
	static atomic_flag ends = ATOMIC_FLAG_INIT;

	while (atomic_flag_test_and_set(&ends))
		pause();
	write_all(STDERR_FILENO, line, sizeof(line) - 1);
	_exit(TRAIN_FAILED);
}

struct ranks {
	struct training training;
	int stopped; /* by this signal, or 0 */
};

/* Opens closed standard streams. Otherwise a file could get their descriptor, and their text. */
static bool open_streams(struct train_error *error)
{
	for (;;) {
		int fd = open("/dev/null", O_RDWR);

		if (fd < 0)
			return train_fail(error, TRAIN_FAILED, "/dev/null: cannot open: %s",
					  strerror(errno));
		if (fd > STDERR_FILENO)
			return close(fd) == 0;
	}
}

static bool rank_work(void *argument, int index, struct train_error *error)
{
	struct ranks *ranks = argument;
	const struct place *place = &ranks->training.place;
	int stopped = 0;
	bool done = training_rank(&ranks->training, place->ranks > 1 ? index : place->rank,
				  &stopped, error);

	if (index == 0)
		ranks->stopped = stopped;
	return done;
}

static bool train(struct ranks *ranks, const struct command_line *command,
		  struct train_error *error)
{
	struct threads *threads;
	bool opened = training_open(&ranks->training, command, error);
	bool done = opened && threads_open(&threads, ranks->training.place.ranks, error);

	if (done) {
		done = threads_run(threads, rank_work, NULL, ranks, error);
		threads_close(threads);
	}
	if (ranks->training.first.status != TRAIN_OK)
		*error = ranks->training.first;
	if (opened)
		training_close(&ranks->training);
	return done;
}

/* OpenMP's threads would spin between operations and compete with other programs: on a busy machine
 * a step of two threads took three to six times as long. The library reads the variable while it is
 * loaded, so this program executes itself again. If it cannot, it continues without. */
static void let_threads_sleep(char **argv)
{
	if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") ||
	    setenv("OMP_WAIT_POLICY", "passive", 0) != 0)
		return;
	execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
	struct train_error error = {.status = TRAIN_OK};
	struct command_line command;
	struct ranks ranks = {.stopped = 0};

	let_threads_sleep(argv);
	json_set_alloc_funcs(xmalloc, free);
	if (!open_streams(&error) ||
	    !settings_read(&command, argc, argv, (const char *const *)environ, &error)) {
		fprintf(stderr, "gpumap-train: %s\n", error.text);
		return error.status;
	}
	if (command.asked) {
		settings_free(&command);
		return TRAIN_OK;
	}
	/* A file at its size limit is an error of write(2), and so is a closed pipe. */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (!(stop_open(&error) && train(&ranks, &command, &error)) && *error.text)
		fprintf(stderr, "gpumap-train: %s\n", error.text);
	stop_reported();
	settings_free(&command);
	if (error.status == TRAIN_OK && ranks.stopped)
		stop_now(ranks.stopped);
	if (error.status == TRAIN_OK && ranks.training.found > 0)
		return TRAIN_FAILED;
	return error.status;
}
