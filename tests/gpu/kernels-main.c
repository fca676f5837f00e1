/* SPDX-License-Identifier: MIT */
/*
 * Every kernel against its reference on this machine's GPU, and its speed beside a copy's.
 *	kernels [--seed N] [--small] [--raw] [--record FILE]
 * --small leaves out what is measured; --raw leaves memory as it is where only the kernel writes,
 *so that compute-sanitizer's initcheck sees what is read too early. Prints TAP.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels-trial.h"

static const struct kernel_test *const tests[] = {
#define KERNEL(name, args_struct) &test_##name,
#include "kernels/kernels.def"
#undef KERNEL
};
enum { TESTS = sizeof(tests) / sizeof(*tests) };

struct options {
	uint64_t seed;
	bool small, raw;
	const char *record;
};

struct counts {
	FILE *record; /* or NULL */
	int done, failed;
};

static void parse(struct options *options, int argc, char **argv)
{
	static const struct option known[] = {{"seed", required_argument, NULL, 's'},
					      {"small", no_argument, NULL, 'm'},
					      {"raw", no_argument, NULL, 'w'},
					      {"record", required_argument, NULL, 'r'},
					      {NULL, 0, NULL, 0}};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 's')
			options->seed = strtoull(optarg, NULL, 0);
		else if (option == 'm')
			options->small = true;
		else if (option == 'w')
			options->raw = true;
		else if (option == 'r')
			options->record = optarg;
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
	printf("1..0 # SKIP no GPU: cudaGetDeviceCount: %s\n",
	       code == cudaSuccess ? "no device" : cudaGetErrorString(code));
	fprintf(stderr, "SKIP: no GPU: NOTHING WAS COMPARED\n");
	exit(0);
}

static void print(struct counts *counts, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void print(struct counts *counts, const char *format, ...)
{
	va_list list;

	if (!counts->record)
		return;
	va_start(list, format);
	vfprintf(counts->record, format, list);
	va_end(list);
	fflush(counts->record);
}

static void print_device(struct counts *counts, const struct options *options)
{
	struct cudaDeviceProp device;
	int runtime = 0, driver = 0;

	MUST(cudaGetDeviceProperties(&device, 0));
	MUST(cudaRuntimeGetVersion(&runtime));
	MUST(cudaDriverGetVersion(&driver));
	printf("# %s, %d multiprocessors, runtime %d, driver %d, seed %llu\n", device.name,
	       device.multiProcessorCount, runtime, driver, (unsigned long long)options->seed);
	print(counts, "gpu\t%s\t%d multiprocessors\truntime %d\tdriver %d\tseed %llu\n",
	      device.name, device.multiProcessorCount, runtime, driver,
	      (unsigned long long)options->seed);
	print(counts, "speed\tkernel\tshape\tus\tGB/s\tcopy us\tof the copy's speed\n");
}

static void measure(struct counts *counts, struct trial *t, const struct kernel_test *test)
{
	double time = trial_time(t, test), copy = trial_copy_time(t);

	printf("# %s, %s: %.2f us, %.0f GB/s; a copy: %.2f us\n", test->name, t->shape->name, time,
	       t->moved / time / 1e3, copy);
	print(counts, "speed\t%s\t%s\t%.2f\t%.0f\t%.2f\t%.2f\n", test->name, t->shape->name, time,
	      t->moved / time / 1e3, copy, copy / time);
}

static void try_shape(struct counts *counts, const struct kernel_test *test,
		      const struct shape *shape, const struct options *options)
{
	struct trial t = {.shape = shape, .poisons = !options->raw};
	char why[512];
	double greatest;
	bool good;

	/* A seed for each trial, so that one can be run again by itself. */
	random_seed(&t.random, options->seed + (uint64_t)counts->done);
	/* A stream that waits for copies from the host, which are on the default stream. */
	MUST(cudaStreamCreate(&t.stream));
	test->prepare(&t);
	good = trial_check(&t, test, why, sizeof(why), &greatest);
	counts->done++;
	counts->failed += !good;
	printf("%sok %d - %s, %s\n", good ? "" : "not ", counts->done, test->name, shape->name);
	if (!good)
		printf("# %s\n", why);
	print(counts, "check\t%s\t%s\t%s\t%.3f of what is allowed\n", test->name, shape->name,
	      good ? "agrees" : why, greatest);
	if (shape->large)
		measure(counts, &t, test);
	fflush(stdout);
	trial_free(&t);
	MUST(cudaStreamDestroy(t.stream));
}

int main(int argc, char **argv)
{
	struct options options = {.seed = (uint64_t)time(NULL)};
	struct counts counts = {NULL, 0, 0};

	parse(&options, argc, argv);
	skip_without_gpu();
	if (options.record && !(counts.record = fopen(options.record, "w"))) {
		printf("Bail out! %s cannot be written\n", options.record);
		return 99;
	}
	print_device(&counts, &options);
	for (int i = 0; i < TESTS; i++)
		for (int k = 0; k < tests[i]->shape_count; k++)
			if (!options.small || !tests[i]->shapes[k].large)
				try_shape(&counts, tests[i], &tests[i]->shapes[k], &options);
	printf("1..%d\n", counts.done);
	print(&counts, "total\t%d trials\t%d failed\n", counts.done, counts.failed);
	if (counts.record)
		fclose(counts.record);
	return counts.failed ? 1 : 0;
}
