/* SPDX-License-Identifier: MIT */
/*
 * data-main cifar10 FOLDER train|test: how many samples there are, of each class, the mean and the
 * standard deviation of each channel.
 *
 * data-main: orders, random numbers and initial weights for torch-data.py. Each line of standard
 *input is a request; the answer is its number of bytes, a newline, and the bytes: int64 or float32.
 *
 *	randperm SEED N
 *	uniform SEED N FROM TO
 *	normal SEED N STD
 *	init SEED [OUT IN KERNEL]...	weight and bias of each layer; KERNEL 0: Linear
 *	sampler ORDER TAIL N RANKS BATCH WHOLE SEED EPOCH	steps, then each rank's samples
 *	values	what a byte of CIFAR-10 becomes, by channel
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/cifar10.h"
#include "data/first_weights.h"
#include "data/sampler.h"

enum { MAX_NUMBERS = 64 };

struct numbers {
	double of[MAX_NUMBERS];
	int count;
};

static void *room(int64_t n, size_t size)
{
	void *p = calloc((size_t)n + 1, size);

	if (!p)
		exit(1);
	return p;
}

static void answer(void *data, int64_t n, size_t size)
{
	printf("%lld\n", (long long)n * (long long)size);
	fwrite(data, size, (size_t)n, stdout);
	fflush(stdout);
	free(data);
}

static struct random_generator seeded(const struct numbers *in)
{
	struct random_generator g;

	random_seed(&g, (uint64_t)(int64_t)in->of[0]);
	return g;
}

static void randperm(const struct numbers *in)
{
	struct random_generator g = seeded(in);
	int64_t n = (int64_t)in->of[1], *out = room(n, sizeof(*out));

	random_permutation(&g, out, n);
	answer(out, n, sizeof(*out));
}

static void normal(const struct numbers *in)
{
	struct random_generator g = seeded(in);
	int64_t n = (int64_t)in->of[1];
	float *out = room(n, sizeof(*out));

	random_normal(&g, out, n, (float)in->of[2]);
	answer(out, n, sizeof(*out));
}

static void uniform(const struct numbers *in)
{
	struct random_generator g = seeded(in);
	int64_t n = (int64_t)in->of[1];
	float *out = room(n, sizeof(*out));

	random_uniform(&g, out, n, (float)in->of[2], (float)in->of[3]);
	answer(out, n, sizeof(*out));
}

/* Which layer the i-th is, with its data at `at` if that is not NULL. Returns its parameters. */
static int64_t layer(struct tensor *weight, struct tensor *bias, const double *of, float *at)
{
	int64_t outputs = (int64_t)of[0], inputs = (int64_t)of[1], kernel = (int64_t)of[2];

	*weight = (struct tensor){.shape = {kernel ? 4 : 2, {outputs, inputs, kernel, kernel}}};
	*bias = (struct tensor){.shape = {1, {outputs}}};
	if (at) {
		weight->data = at;
		bias->data = at + tensor_elements(&weight->shape);
	}
	return tensor_elements(&weight->shape) + outputs;
}

static void init(const struct numbers *in)
{
	struct random_generator g = seeded(in);
	struct tensor weight, bias;
	int64_t n = 0, done = 0;
	float *out;

	for (int i = 1; i + 2 < in->count; i += 3)
		n += layer(&weight, &bias, in->of + i, NULL);
	out = room(n, sizeof(*out));
	for (int i = 1; i + 2 < in->count; i += 3) {
		done += layer(&weight, &bias, in->of + i, out + done);
		init_layer(&g, &weight, &bias);
	}
	answer(out, done, sizeof(*out));
}

static void sampler(const struct numbers *in)
{
	struct train_error error = {.status = TRAIN_OK};
	struct sampler_options options = {.order = (enum sampler_order)in->of[0],
					  .tail = (enum sampler_tail)in->of[1],
					  .samples = (int64_t)in->of[2],
					  .ranks = (int64_t)in->of[3],
					  .batch = (int64_t)in->of[4],
					  .drop_last = in->of[5] != 0,
					  .seed = (uint64_t)(int64_t)in->of[6]};
	struct sampler s;
	int64_t *out, n = 1;

	random_seed(&options.generator, options.seed);
	if (!sampler_init(&s, &options, &error)) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	sampler_set_epoch(&s, (int64_t)in->of[7]);
	out = room(1 + s.total, sizeof(*out));
	out[0] = s.steps;
	for (int64_t rank = 0; rank < options.ranks; rank++)
		for (int64_t step = 0; step < s.steps; step++)
			n += sampler_batch(&s, rank, step, out + n).count;
	sampler_free(&s);
	answer(out, n, sizeof(*out));
}

static void values(const struct numbers *in)
{
	struct train_error error = {.status = TRAIN_OK};
	struct dataset d = {.shape = {3, 1, 1}, .classes = 1, .samples = 1};

	if (!dataset_init(&d, cifar10_scales, 3, &error))
		exit(1);
	answer(d.values, 3 * 256, sizeof(*d.values));
	d.values = NULL;
	dataset_free(&d);
}

static const struct {
	const char *name;
	void (*run)(const struct numbers *in);
} requests[] = {
	{"randperm", randperm}, {"uniform", uniform}, {"normal", normal},
	{"init", init},         {"sampler", sampler}, {"values", values},
};

/* Sums of bytes and of their squares are whole numbers, so a double holds them exactly. */
static void print_scales(const struct dataset *d)
{
	size_t plane = dataset_pixels(&d->shape) / 3;
	double n = (double)d->samples * (double)plane, mean[3], std[3];

	for (size_t c = 0; c < 3; c++) {
		double sum = 0, squares = 0;

		for (int64_t i = 0; i < d->samples; i++) {
			const uint8_t *p =
				d->records + (size_t)i * dataset_record(&d->shape) + 1 + c * plane;

			for (size_t j = 0; j < plane; j++) {
				sum += p[j];
				squares += p[j] * p[j];
			}
		}
		mean[c] = sum / n / 255;
		std[c] = sqrt(squares / n - sum / n * (sum / n)) / 255;
	}
	printf("mean %.4f %.4f %.4f std %.4f %.4f %.4f\n", mean[0], mean[1], mean[2], std[0],
	       std[1], std[2]);
}

static int cifar10(const char *folder, const char *part)
{
	struct train_error error = {.status = TRAIN_OK};
	long long classes[CIFAR10_CLASSES] = {0};
	struct dataset d;

	if (!cifar10_read(&d, folder, strcmp(part, "test") == 0 ? CIFAR10_TEST : CIFAR10_TRAIN,
			  CIFAR10_RECORDS, &error)) {
		fprintf(stderr, "%s\n", error.text);
		return (int)error.status;
	}
	for (int64_t i = 0; i < d.samples; i++)
		classes[d.records[(size_t)i * dataset_record(&d.shape)]]++;
	printf("%lld samples", (long long)d.samples);
	for (int i = 0; i < CIFAR10_CLASSES; i++)
		printf(" %lld", classes[i]);
	putchar('\n');
	print_scales(&d);
	dataset_free(&d);
	return 0;
}

int main(int argc, char **argv)
{
	char line[2048];

	if (argc == 4 && strcmp(argv[1], "cifar10") == 0)
		return cifar10(argv[2], argv[3]);
	while (fgets(line, sizeof(line), stdin)) {
		char *rest = NULL, *name = strtok_r(line, " \n", &rest), *word;
		struct numbers in = {.count = 0};

		while (in.count < MAX_NUMBERS && (word = strtok_r(NULL, " \n", &rest)))
			in.of[in.count++] = strtod(word, NULL);
		for (size_t i = 0; name && i < sizeof(requests) / sizeof(requests[0]); i++)
			if (strcmp(name, requests[i].name) == 0)
				requests[i].run(&in);
	}
	return 0;
}
