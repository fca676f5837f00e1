/* SPDX-License-Identifier: MIT */
/*
 * DistributedDataParallel in 100 lines: logistic regression with a thread for each rank. First it
 * prints the physical GPU of each rank, and the reason; then all ranks make the same steps.
 *
 * 	train-ranks MACHINE VISIBLE RANKS	such as: train-ranks 8xH100 2,3,4,5 4
 *
 * Build it with: cc train-ranks.c $(pkg-config --cflags --libs libgpumap) -lm -pthread
 */
#include <gpumap.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { FEATURES = 8, SAMPLES = 512, STEPS = 60, MAX_RANKS = 16 };

static struct rank {
	double gradient[FEATURES], loss;
} ranks[MAX_RANKS];
static int world;
static pthread_barrier_t barrier;

/* Collects the statements of the shell, the launcher and DistributedDataParallel about this rank.
 * 0: it has a GPU. */
static int explain(const char *machine, const char *visible, const char *rank)
{
	const char *statements[][2] = {{"visible", visible}, {"mode", "ddp"}, {"local_rank", rank}};
	gpumap_report *report = NULL;
	gpumap_request *request = NULL;
	gpumap_inventory *inventory = NULL;
	gpumap_mapping *mapping = NULL;
	char *answer = NULL;
	int r = gpumap_report_new(&report);

	r = r ? r : gpumap_request_new(&request);
	for (int i = 0; r == 0 && i < 3; i++)
		r = gpumap_request_set(request, statements[i][0], statements[i][1], NULL, report);
	r = r ? r : gpumap_inventory_open(&inventory, machine, report);
	r = r ? r : gpumap_resolve(&mapping, request, inventory, report);
	r = r ? r : gpumap_mapping_format(&answer, mapping, GPUMAP_FORMAT_TEXT, 0, report);
	r = r ? r : gpumap_mapping_int(mapping, GPUMAP_MAPPING_ANSWERED) != 1;
	printf("rank %s: %s", rank, answer ? answer : "no answer\n");
	for (size_t i = 0; i < gpumap_report_count(report); i++)
		fprintf(stderr, "train-ranks: rank %s: %s\n", rank,
			gpumap_finding_str(gpumap_report_get(report, i), GPUMAP_FINDING_TEXT));
	free(answer);
	gpumap_mapping_free(mapping);
	gpumap_inventory_free(inventory);
	gpumap_request_free(request);
	gpumap_report_free(report);
	return r;
}

/* Feature f of sample i: noise, plus a little that depends on the class, 0 or 1. Feature 0 is the
 * constant of the bias. */
static double feature(int i, int f)
{
	return f == 0 ? 1 : sin(i * FEATURES + f) + 0.5 * (i % 2);
}

/* Adds this sample's part of the mean loss over all samples, and of its gradient. */
static void learn(struct rank *r, const double *weights, int i)
{
	double logit = 0;

	for (int f = 0; f < FEATURES; f++)
		logit += weights[f] * feature(i, f);
	r->loss += log1p(exp(i % 2 ? -logit : logit)) / SAMPLES;
	for (int f = 0; f < FEATURES; f++)
		r->gradient[f] += (1 / (1 + exp(-logit)) - i % 2) * feature(i, f) / SAMPLES;
}

/* Sums are taken in the order of ranks, so that all ranks have the same bits. */
static void *train(void *rank)
{
	struct rank *own = rank;
	double weights[FEATURES] = {0}, loss;

	for (int step = 1; step <= STEPS; step++) {
		*own = (struct rank){.loss = loss = 0};
		for (int i = (int)(own - ranks); i < SAMPLES; i += world)
			learn(own, weights, i);
		pthread_barrier_wait(&barrier); /* all gradients are written */
		for (struct rank *r = ranks; r < ranks + world; r++) {
			loss += r->loss;
			for (int f = 0; f < FEATURES; f++)
				weights[f] -= 2 * r->gradient[f];
		}
		pthread_barrier_wait(&barrier); /* all ranks have read them */
		if (own == ranks && step % 20 == 0)
			printf("step %d  loss %.4f\n", step, loss);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MAX_RANKS];
	char number[16];

	world = argc == 4 ? atoi(argv[3]) : 0;
	if (world < 1 || world > MAX_RANKS)
		return fprintf(stderr, "usage: train-ranks MACHINE VISIBLE RANKS (1 to 16)\n"), 2;
	for (int r = 0; r < world; r++)
		if (snprintf(number, sizeof(number), "%d", r), explain(argv[1], argv[2], number))
			return 1;
	pthread_barrier_init(&barrier, NULL, (unsigned)world);
	for (int r = 1; r < world; r++)
		if (pthread_create(&threads[r], NULL, train, &ranks[r]))
			return 1;
	train(ranks);
	for (int r = 1; r < world; r++)
		pthread_join(threads[r], NULL);
	return 0;
}
