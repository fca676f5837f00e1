/* SPDX-License-Identifier: MIT */
/*
 * Every kernel against its reference on this machine's GPU, and its speed beside a copy's.
 *
 *	kernels [--seed N] [--small | --large] [--only KERNEL] [--raw] [--record]
 *		[--seconds N] [--threads N]
 *
 * Small shapes come first; the large ones are measured. --raw leaves memory as it is where only
 * the kernel writes, so that compute-sanitizer's initcheck sees what is read too early. --seconds
 * is how long a trial may take, and its reference before it. Prints TAP, or with --record the
 * lines of a record, each as soon as it is known.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels-watch.h"

static const struct kernel_test *const tests[] = {
#define KERNEL(name, args_struct) &test_##name,
#include "kernels/kernels.def"
#undef KERNEL
};
enum { TESTS = sizeof(tests) / sizeof(*tests) };

static struct options {
	uint64_t seed;
	bool no_small, no_large, raw, record;
	const char *only;
	int seconds, threads;
} options;

static void parse(int argc, char **argv)
{
	static const struct option known[] = {{"seed", required_argument, NULL, 's'},
					      {"small", no_argument, NULL, 'm'},
					      {"large", no_argument, NULL, 'l'},
					      {"only", required_argument, NULL, 'o'},
					      {"raw", no_argument, NULL, 'w'},
					      {"record", no_argument, NULL, 'r'},
					      {"seconds", required_argument, NULL, 'e'},
					      {"threads", required_argument, NULL, 't'},
					      {NULL, 0, NULL, 0}};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 's')
			options.seed = strtoull(optarg, NULL, 0);
		else if (option == 'm')
			options.no_large = true;
		else if (option == 'l')
			options.no_small = true;
		else if (option == 'o')
			options.only = optarg;
		else if (option == 'w')
			options.raw = true;
		else if (option == 'r')
			options.record = true;
		else if (option == 'e')
			options.seconds = atoi(optarg);
		else if (option == 't')
			options.threads = atoi(optarg);
		else
			exit(2);
	}
}

/* Prints a TAP plan that skips all tests, with the reason. */
static void skip_without_gpu(void)
{
	int count = 0;
	cudaError_t code = cudaGetDeviceCount(&count);

	if (code == cudaSuccess && count > 0)
		return;
	if (options.record)
		must(code == cudaSuccess ? cudaErrorNoDevice : code, "cudaGetDeviceCount");
	printf("1..0 # SKIP no GPU: cudaGetDeviceCount: %s\n",
	       code == cudaSuccess ? "no device" : cudaGetErrorString(code));
	fprintf(stderr, "SKIP: no GPU: NOTHING WAS COMPARED\n");
	exit(0);
}

/* A line of the record, or else of TAP's remarks. */
static void record(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void record(const char *format, ...)
{
	va_list list;

	if (!options.record)
		printf("# ");
	va_start(list, format);
	vprintf(format, list);
	va_end(list);
}

static void print_device(void)
{
	struct cudaDeviceProp device;
	int runtime = 0, driver = 0;

	MUST(cudaGetDeviceProperties(&device, 0));
	MUST(cudaRuntimeGetVersion(&runtime));
	MUST(cudaDriverGetVersion(&driver));
	record("gpu\t%s\t%d multiprocessors\truntime %d\tdriver %d\tseed %llu\n", device.name,
	       device.multiProcessorCount, runtime, driver, (unsigned long long)options.seed);
	if (!options.no_large)
		record("speed\tkernel\tshape\tus\tGB/s\tcopy us\tof the copy's speed\n");
}

static void print_trial(int number, const struct job *job, bool good, const char *what)
{
	if (options.record)
		printf("check\t%s\t%s\t%s\n", job->test->name, job->shape->name, what);
	else
		printf("%sok %d - %s, %s%s%s\n", good ? "" : "not ", number, job->test->name,
		       job->shape->name, good ? "" : "\n# ", good ? "" : what);
}

static void try_job(struct watch *watch, int i)
{
	struct job *job = &watch->jobs[i];
	struct trial *t;
	char why[512], what[64];
	double greatest, time, copy;
	bool good;

	watch_begins(watch, i); /* also while its reference is computed */
	t = ahead_trial(job);
	watch_begins(watch, i);
	good = trial_check(t, job->test, why, sizeof(why), &greatest);
	watch->shared->done++;
	watch->shared->failed += !good;
	snprintf(what, sizeof(what), "agrees\t%.3f of what is allowed", greatest);
	print_trial(watch->shared->done, job, good, good ? what : why);
	if (job->shape->large) {
		time = trial_time(t, job->test);
		copy = trial_copy_time(t);
		record("speed\t%s\t%s\t%.2f\t%.0f\t%.2f\t%.2f\n", job->test->name, job->shape->name,
		       time, t->moved / time / 1e3, copy, copy / time);
	}
	end_ahead(job);
}

/* Tries the jobs from this one on, in a process of its own. */
static int run_jobs(struct watch *watch, int from)
{
	struct watched *shared = watch->shared;

	skip_without_gpu();
	if (from == 0)
		print_device();
	MUST(cudaFree(NULL)); /* the GPU begins with the first call that needs it */
	begin_ahead(watch->jobs + from, watch->count - from, options.threads);
	for (int i = from; i < watch->count; i++)
		if (!watch->jobs[i].skipped)
			try_job(watch, i);
	if (!options.record)
		printf("1..%d\n", shared->done);
	record("total\t%d trials\t%d failed\n", shared->done, shared->failed);
	shared->ended = true;
	return shared->failed ? 1 : 0;
}

static void print_death(struct watch *watch, const struct job *job, const char *why)
{
	char text[2 * WHY_BYTES];

	snprintf(text, sizeof(text), "DIED: %s; no other shape of this kernel is tried", why);
	print_trial(watch->shared->done, job, false, text);
}

/* Small shapes first. Each has its own seed, whatever else is tried. Returns their number. */
static int list_jobs(struct job *jobs, bool large)
{
	int count = 0, number = 0;

	for (int i = 0; i < TESTS; i++)
		for (int k = 0; k < tests[i]->shape_count; k++, number++) {
			const struct shape *shape = &tests[i]->shapes[k];

			if (shape->large != large ||
			    (options.only && strcmp(options.only, tests[i]->name) != 0))
				continue;
			if (jobs)
				jobs[count] = (struct job){.test = tests[i],
							   .shape = shape,
							   .seed = options.seed + (uint64_t)number,
							   .poisons = !options.raw};
			count++;
		}
	return count;
}

int main(int argc, char **argv)
{
	struct watch watch = {.run = run_jobs, .died = print_death};
	int small = 0, large = 0, status;

	options = (struct options){.seed = (uint64_t)time(NULL),
				   .seconds = 20,
				   .threads = (int)sysconf(_SC_NPROCESSORS_ONLN)};
	parse(argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	small = options.no_small ? 0 : list_jobs(NULL, false);
	large = options.no_large ? 0 : list_jobs(NULL, true);
	watch.jobs = calloc((size_t)(small + large) + 1, sizeof(*watch.jobs));
	if (small + large == 0 || !watch.jobs) {
		printf("Bail out! there is no kernel %s with such shapes\n",
		       options.only ? options.only : "");
		return 2;
	}
	if (small)
		list_jobs(watch.jobs, false);
	if (large)
		list_jobs(watch.jobs + small, true);
	watch.count = small + large;
	watch.seconds = options.seconds;
	status = watch_jobs(&watch);
	free(watch.jobs);
	return status;
}
