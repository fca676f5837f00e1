/* SPDX-License-Identifier: MIT */
#include "loss.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

enum { MOST_CLASSES = 256 };

/* x - max - log(sum of exp(x - max)): no exponential overflows, and one of them is 1. */
static void log_softmax(float *log_p, const float *x, int classes)
{
	float most = x[0], sum = 0;

	for (int c = 1; c < classes; c++)
		most = x[c] > most ? x[c] : most;
	for (int c = 0; c < classes; c++)
		sum += expf(x[c] - most);
	sum = logf(sum);
	for (int c = 0; c < classes; c++)
		log_p[c] = x[c] - most - sum;
}

/* Comparisons are written so that a NaN fails. */
static bool is_correct(const float *x, int classes, int label)
{
	bool correct = true;

	for (int c = 0; c < classes; c++)
		correct = correct && (c < label ? x[label] > x[c] : x[label] >= x[c]);
	return correct;
}

struct loss_result loss_cross_entropy(const struct loss_batch *batch, float *gradient)
{
	struct loss_result result = {0};
	int classes = batch->classes;
	/* PyTorch's backward pass: of the mean, then of the label, then of the softmax. */
	float share = batch->scale / (float)batch->count;
	float log_p[MOST_CLASSES];

	for (int64_t i = 0; i < batch->samples; i++) {
		const float *x = batch->logits + i * classes;
		int label = batch->labels[i];

		log_softmax(log_p, x, classes);
		result.loss -= (double)log_p[label];
		result.correct += is_correct(x, classes, label);
		if (!gradient)
			continue;
		for (int c = 0; c < classes; c++)
			gradient[i * classes + c] =
				(c == label ? -share : 0) + expf(log_p[c]) * share;
	}
	result.loss /= (double)batch->count;
	return result;
}
