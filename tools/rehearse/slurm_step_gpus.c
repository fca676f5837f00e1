/* SPDX-License-Identifier: MIT */
/* As with Slurm, a step has its GPUs alone unless --overlap says otherwise. */
#include "rehearse/slurm_step.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "cli/output.h"
#include "closing.h"

int step_open(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", getenv(REHEARSE_FOLDER), name);
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static void give_back(struct step *step)
{
	for (int64_t node = 0; node < step->size.nodes; node++)
		for (int64_t i = 0; i < step->size.gpus; i++)
			if (step->locks[node][i] > 0) {
				close(step->locks[node][i]);
				step->locks[node][i] = 0;
			}
}

/* Whether each node has enough that are free; these are taken. */
static bool take_gpus(struct step *step)
{
	for (int64_t node = 0; node < step->size.nodes; node++) {
		int64_t count = 0;

		for (int64_t i = 0; i < step->job_count && count < step->size.gpus; i++) {
			int fd = step->wish.overlap
					 ? 0
					 : step_open(FORMAT("gpu-%lld-%d",
							    (long long)(step->first + node),
							    step->job_gpus[i]));

			if (fd < 0)
				step->failed = errno;
			if (fd > 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
				close(fd);
				continue;
			}
			if (fd < 0)
				continue;
			step->locks[node][count] = fd;
			step->gpus[node][count++] = step->job_gpus[i];
		}
		if (count < step->size.gpus) {
			give_back(step);
			return false;
		}
	}
	return true;
}

/* The number of the step, from 0, which is the size of `gate`. */
static int next_number(int gate)
{
	off_t number = lseek(gate, 0, SEEK_END);

	return ftruncate(gate, number + 1) == 0 ? (int)number : 0;
}

static int refuse_files(int why)
{
	return slurm_refuse("srun", why == EMFILE ? SLURM_MORE_FILES : NULL, "%s: %s",
			    getenv(REHEARSE_FOLDER), strerror(why));
}

int step_wait(struct step *step)
{
	const struct timespec pause = {.tv_nsec = 100000000};
	CLEANUP_CLOSE int gate = step_open("step");
	bool taken, told = false;

	if (gate < 0)
		return refuse_files(errno);
	for (;;) {
		flock(gate, LOCK_EX);
		taken = take_gpus(step);
		if (taken)
			step->number = next_number(gate);
		flock(gate, LOCK_UN);
		if (taken)
			return STATUS_ANSWERED;
		if (step->failed)
			return refuse_files(step->failed);
		if (!told)
			fprintf(stderr,
				"gpumap: srun: the GPUs are those of another step, so this one "
				"waits until that ends; --overlap shares them\n");
		told = true;
		nanosleep(&pause, NULL);
	}
}

/* The i-th of a list of numbers, which repeats. */
static struct span nth(struct span list, int64_t i)
{
	struct span rest = list, piece;
	int64_t count = 0;

	while (span_split(&rest, ',', &piece))
		count++;
	rest = list;
	for (i %= count; span_split(&rest, ',', &piece) && i; i--)
		;
	return piece;
}

/* What follows the colon of a value of --gpu-bind; .text NULL: nothing. */
static struct span argument(struct span bind)
{
	struct span before;

	if (!span_split(&bind, ':', &before))
		return (struct span){NULL, 0};
	return bind;
}

int64_t step_own_gpus(const struct step *step, const int *gpus, int64_t i, int *ret)
{
	const struct slurm_wish *wish = &step->wish;
	struct span bind = wish->slurm.bind.text ? wish->slurm.bind : span_of(""), value;
	int64_t count = step->size.gpus, each = wish->slurm.per_task, n = 0;

	if (span_starts(bind, "verbose,") || span_starts(bind, "v,"))
		span_split(&bind, ',', &(struct span){0});
	value = argument(bind);
	if (span_is(bind, "none"))
		return -1;
	if (value.text && span_starts(bind, "map")) {
		ret[0] = (int)span_number(nth(value, i), SLURM_GPUS_MAX - 1);
		return ret[0] >= 0;
	}
	if (value.text && span_starts(bind, "mask")) {
		unsigned long long mask = strtoull(
			FORMAT("%.*s", (int)nth(value, i).length, nth(value, i).text), NULL, 16);

		for (int gpu = 0; gpu < 64; gpu++)
			if (mask >> gpu & 1)
				ret[n++] = gpu;
		return n;
	}
	if (count > 0 && ((value.text && span_starts(bind, "single:")) ||
			  (!bind.length && wish->tasks_per_gpu > 0))) {
		int64_t tasks =
			bind.length ? span_number(value, SLURM_TASKS_MAX) : wish->tasks_per_gpu;

		ret[0] = gpus[(tasks > 0 ? i / tasks : i) % count];
		return 1;
	}
	if (value.text && span_starts(bind, "per_task:"))
		each = span_number(value, SLURM_GPUS_MAX);
	else if (bind.length)
		each = -1;
	if (each < 1 || count < 1) {
		memcpy(ret, gpus, (size_t)count * sizeof(*gpus));
		return count;
	}
	for (; n < each && n < count; n++)
		ret[n] = gpus[(i * each + n) % count];
	return n;
}
