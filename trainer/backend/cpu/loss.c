/* SPDX-License-Identifier: MIT */
/* Softmax cross-entropy: loss = log(sum exp(x - max)) + max - x[label], in double. */
#include <math.h>

#include "backend/cpu/cpu.h"

struct row {
	const struct layout *layout;
	const void *logits;
	void *gradient; /* NULL: not wanted */
	int64_t first;  /* index of its first value in both */
	int label;
	double scale;
};

static double row_loss(const struct row *row, bool *correct)
{
	int64_t classes = row->layout->channels, best = 0;
	enum value_type type = row->layout->type;
	double greatest = value_get(type, row->logits, row->first), sum = 0.0, gradient, loss;

	for (int64_t c = 1; c < classes; c++) {
		double x = value_get(type, row->logits, row->first + c);

		if (x > greatest) {
			greatest = x;
			best = c;
		}
	}
	for (int64_t c = 0; c < classes; c++)
		sum += exp(value_get(type, row->logits, row->first + c) - greatest);
	/* Computed before the gradient, which may overwrite the logits. */
	loss = log(sum) + greatest - value_get(type, row->logits, row->first + row->label);
	for (int64_t c = 0; row->gradient && c < classes; c++) {
		gradient = exp(value_get(type, row->logits, row->first + c) - greatest) / sum;
		value_set(type, row->gradient, row->first + c,
			  (gradient - (c == row->label)) * row->scale);
	}
	*correct = best == row->label && !isnan(loss);
	return loss;
}

static bool loss_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	const struct layout *layout = &op->info.input;
	struct loss_result result = args->overwrite ? (struct loss_result){0, 0} : *args->result;
	double scale =
		(double)args->control->scale * (args->scaler ? (double)args->scaler->scale : 1);
	struct row row = {layout, args->input, args->input_gradient, 0, 0, scale};
	bool correct;

	for (int64_t n = 0; n < layout->batch; n++) {
		row.first = n * layout->channels;
		row.label = n < args->control->rows ? args->labels[n] : -1;
		if (row.label >= 0 && row.label < layout->channels) {
			result.loss += row_loss(&row, &correct);
			result.correct += correct;
		} else {
			for (int64_t c = 0; row.gradient && c < layout->channels; c++)
				value_set(layout->type, row.gradient, row.first + c, 0.0);
		}
	}
	*args->result = result;
	return true;
}

bool cpu_loss(struct op **op, struct device *device, const struct layout *logits,
	      struct train_error *error)
{
	static const struct op_calls calls = {.forward = loss_forward};
	const struct op_shape shape = {.input = *logits};
	struct op *made = op_new(sizeof(*made), device, &calls, &shape);

	made->info.algorithm = "double";
	*op = made;
	return true;
}
