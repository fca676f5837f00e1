/* SPDX-License-Identifier: MIT */
/*
 * gpumap-train --verify-mapping without a GPU, under `gpumap pretend`, for verify.test in cli/:
 *	verify-main OPTIONS
 * Devices are the reference's, but for what they write into the file GPUMAP_PRETEND_USE:
 *	VERIFY_HELD	what a device that is opened holds, in MiB; "": nothing
 *	VERIFY_WHO	"hidden": no list shows whose it is
 *	VERIFY_STRAY	a GPU where each process that opens a device holds 500 MiB too
 *	VERIFY_LATE	the same, from the third update on
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "place/threads.h"
#include "run/stop.h"
#include "run/training.h"

extern char **environ;

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

/* Writes the line by one call, because ranks write at the same time. */
static void hold(const char *gpu, const char *amount)
{
	int fd = open(variable("GPUMAP_PRETEND_USE"), O_WRONLY | O_APPEND | O_CLOEXEC);
	char line[96];
	int n;

	if (*variable("VERIFY_WHO"))
		n = snprintf(line, sizeof(line), "%.8s %.16s %.16s\n", gpu, variable("VERIFY_WHO"),
			     amount);
	else
		n = snprintf(line, sizeof(line), "%.8s %d %.16s\n", gpu, (int)getpid(), amount);
	if (fd < 0 || write(fd, line, (size_t)n) != n || close(fd) != 0)
		abort();
}

static struct backend pretended;

static bool pretend_open(struct device **device, const struct device_options *options,
			 struct train_error *error)
{
	char gpu[16];

	if (!backend_reference.open(device, options, error))
		return false;
	(*device)->backend = &pretended;
	(*device)->pci = "0000:5e:00.0";
	(*device)->uuid = options->uuid;
	snprintf(gpu, sizeof(gpu), "%d", options->physical);
	if (*variable("VERIFY_HELD"))
		hold(gpu, variable("VERIFY_HELD"));
	if (*variable("VERIFY_STRAY"))
		hold(variable("VERIFY_STRAY"), "500");
	return true;
}

static void count_update(void)
{
	static atomic_int updates;

	if (atomic_fetch_add(&updates, 1) == 2 && *variable("VERIFY_LATE"))
		hold(variable("VERIFY_LATE"), "500");
}

static bool pretend_run(struct optimize *optimize, const struct update_control *control,
			const struct gradient_measure *measure, struct train_error *error)
{
	count_update();
	return backend_reference.optimize_run(optimize, control, measure, error);
}

static bool pretend_end(struct optimize *optimize, struct train_error *error)
{
	count_update();
	return backend_reference.optimize_end(optimize, error);
}

struct ranks {
	struct training training;
	struct train_error error;
};

static bool work(void *argument, int index, struct train_error *error)
{
	struct ranks *ranks = argument;
	const struct place *place = &ranks->training.place;
	int stopped;

	return training_rank(&ranks->training, place->ranks > 1 ? index : place->rank, &stopped,
			     error);
}

static bool train(struct ranks *ranks, const struct command_line *command)
{
	struct threads *threads;
	bool done;

	if (!training_open(&ranks->training, command, &ranks->error))
		return false;
	ranks->training.backend = &pretended;
	done = threads_open(&threads, ranks->training.place.ranks, &ranks->error);
	if (done) {
		done = threads_run(threads, work, NULL, ranks, &ranks->error);
		threads_close(threads);
	}
	if (ranks->training.first.status != TRAIN_OK)
		ranks->error = ranks->training.first;
	training_close(&ranks->training);
	return done;
}

int main(int argc, char **argv)
{
	struct ranks ranks = {.error = {.status = TRAIN_OK}};
	struct command_line command;
	bool done;

	pretended = backend_reference;
	pretended.open = pretend_open;
	pretended.optimize_run = pretend_run;
	pretended.optimize_end = pretend_end;
	if (!settings_read(&command, argc, argv, (const char *const *)environ, &ranks.error)) {
		fprintf(stderr, "verify-main: %s\n", ranks.error.text);
		return ranks.error.status;
	}
	/* The option needs cuda, of which a build may have none. */
	command.settings.backend = "reference";
	done = stop_open(&ranks.error) && train(&ranks, &command);
	if (!done && *ranks.error.text)
		fprintf(stderr, "verify-main: %s\n", ranks.error.text);
	settings_free(&command);
	return done ? 0 : ranks.error.status;
}
