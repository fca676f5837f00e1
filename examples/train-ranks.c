/* SPDX-License-Identifier: MIT */
/*
 * DistributedDataParallel in short: softmax regression with a process for each rank. Before any of
 * them starts it is said which physical GPU each would run on, and why; then each learns from its
 * part of the samples, and all step alike by the sum of their gradients.
 *
 *	train-ranks MACHINE VISIBLE RANKS	such as: train-ranks 8xH100 2,3,4,5 4
 *
 * Build it with: cc train-ranks.c $(pkg-config --cflags --libs libgpumap) -lm -pthread
 */
#include <gpumap.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FEATURES = 8, CLASSES = 4, SAMPLES = 512, STEPS = 60, MOST_RANKS = 16 };

struct weights {
	double of[CLASSES][FEATURES + 1]; /* the last is the bias */
	double loss;
};

struct shared {
	pthread_barrier_t barrier;
	int world;
	struct weights gradients[MOST_RANKS];
};

/* What a shell, a launcher and DistributedDataParallel say for this rank. 0: it has a GPU. */
static int find_device(const char *machine, const char *visible, int rank)
{
	gpumap_inventory *inventory = NULL;
	gpumap_request *request = NULL;
	gpumap_mapping *mapping = NULL;
	gpumap_report *report = NULL;
	char local_rank[16];
	const char *statements[][2] = {
		{"visible", visible}, {"mode", "ddp"}, {"local_rank", local_rank}};
	int r = gpumap_report_new(&report);

	snprintf(local_rank, sizeof(local_rank), "%d", rank);
	if (r == GPUMAP_OK)
		r = gpumap_request_new(&request);
	for (int i = 0; r == GPUMAP_OK && i < 3; i++)
		r = gpumap_request_set(request, statements[i][0], statements[i][1], NULL, report);
	if (r == GPUMAP_OK)
		r = gpumap_inventory_open(&inventory, machine, report);
	if (r == GPUMAP_OK)
		r = gpumap_resolve(&mapping, request, inventory, report);
	if (r == GPUMAP_OK && gpumap_mapping_int(mapping, GPUMAP_MAPPING_ANSWERED) != 1)
		r = 1;
	if (r == GPUMAP_OK)
		printf("rank %d: physical GPU %" PRId64 "\n", rank,
		       gpumap_entry_int(gpumap_mapping_chosen(mapping), GPUMAP_ENTRY_PHYSICAL));
	for (size_t i = 0; r == GPUMAP_OK && i < gpumap_mapping_step_count(mapping); i++) {
		const gpumap_step *step = gpumap_mapping_step(mapping, i);

		printf("  %-4s %s\n", gpumap_step_str(step, GPUMAP_STEP_RULE),
		       gpumap_step_str(step, GPUMAP_STEP_TEXT));
	}
	for (size_t i = 0; i < gpumap_report_count(report); i++)
		fprintf(stderr, "train-ranks: rank %d: %s\n", rank,
			gpumap_finding_str(gpumap_report_get(report, i), GPUMAP_FINDING_TEXT));
	gpumap_mapping_free(mapping);
	gpumap_inventory_free(inventory);
	gpumap_request_free(request);
	gpumap_report_free(report);
	return r;
}

/* Sample i is of class i % CLASSES: features of that class are greater, and all have noise. */
static double feature(int i, int f)
{
	uint32_t x = ((uint32_t)i * FEATURES + (uint32_t)f + 1) * 2654435761u;

	x = (x ^ x >> 15) * 2246822519u;
	return (double)(x ^ x >> 13) / UINT32_MAX + (f % CLASSES == i % CLASSES ? 0.5 : 0);
}

/* Adds this sample's part of the mean loss over all samples, and of its gradient. */
static void learn(const struct weights *w, struct weights *gradient, int i)
{
	double logits[CLASSES], sum = 0;

	for (int c = 0; c < CLASSES; c++) {
		logits[c] = w->of[c][FEATURES];
		for (int f = 0; f < FEATURES; f++)
			logits[c] += w->of[c][f] * feature(i, f);
		sum += exp(logits[c]);
	}
	for (int c = 0; c < CLASSES; c++) {
		double slope = (exp(logits[c]) / sum - (c == i % CLASSES)) / SAMPLES;

		for (int f = 0; f < FEATURES; f++)
			gradient->of[c][f] += slope * feature(i, f);
		gradient->of[c][FEATURES] += slope;
	}
	gradient->loss += (log(sum) - logits[i % CLASSES]) / SAMPLES;
}

/* Sums are taken in the order of ranks, so that all stay alike to the bit. */
static void train(struct shared *s, int rank)
{
	struct weights w = {.loss = 0};

	for (int step = 1; step <= STEPS; step++) {
		w.loss = 0;
		memset(&s->gradients[rank], 0, sizeof(s->gradients[rank]));
		for (int i = rank; i < SAMPLES; i += s->world)
			learn(&w, &s->gradients[rank], i);
		pthread_barrier_wait(&s->barrier);
		for (int r = 0; r < s->world; r++) {
			w.loss += s->gradients[r].loss;
			for (int c = 0; c < CLASSES; c++)
				for (int f = 0; f <= FEATURES; f++)
					w.of[c][f] -= 2 * s->gradients[r].of[c][f];
		}
		pthread_barrier_wait(&s->barrier);
		if (rank == 0 && step % 20 == 0)
			printf("step %d  loss %.4f\n", step, w.loss);
	}
}

int main(int argc, char **argv)
{
	struct shared *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int world = argc == 4 ? (int)strtol(argv[3], NULL, 10) : 0, status = 0;
	pthread_barrierattr_t of_processes;

	if (s == MAP_FAILED || world < 1 || world > MOST_RANKS) {
		fprintf(stderr, "usage: train-ranks MACHINE VISIBLE RANKS (at most %d)\n",
			MOST_RANKS);
		return 2;
	}
	for (int rank = 0; rank < world; rank++)
		if (find_device(argv[1], argv[2], rank) != GPUMAP_OK)
			return 1;
	fflush(stdout);
	s->world = world;
	pthread_barrierattr_init(&of_processes);
	pthread_barrierattr_setpshared(&of_processes, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&s->barrier, &of_processes, (unsigned)world);
	for (int rank = 0; rank < world && status == 0; rank++) {
		pid_t pid = fork();

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL); /* a rank that is alone waits for ever */
			train(s, rank);
			return 0;
		}
		status = pid < 0;
	}
	while (status == 0 && wait(&status) > 0)
		continue;
	return status != 0;
}
