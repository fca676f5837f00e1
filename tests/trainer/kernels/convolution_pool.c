/* SPDX-License-Identifier: MIT */
/* kernels/convolution_pool.h */
#include <math.h>
#include <string.h>

#include "tests/trainer/kernels/references.h"

enum {
	MAX_TAPS = 9 * CONVOLUTION_POOL_MAX_CHANNELS,
	IN_WORD = 8, /* channels whose places have one word */
};

/* The input of both. */
struct images {
	const void *values;
	int32_t height, width, channels;
	enum value_type type;
};

/* The rows of the input that a line of windows needs, with zeros around the image. A row has
 * `pitch` values. */
struct input_rows {
	int32_t pitch;
	double values[CONVOLUTION_POOL_TILE];
};

/* Lines are counted over all images. */
static void read_rows(struct input_rows *rows, const struct images *m, int64_t line)
{
	int32_t c = m->channels, first = 2 * (int32_t)(line % (m->height / 2)) - 1;
	int64_t image = line / (m->height / 2);

	rows->pitch = (m->width + 2) * c;
	memset(rows->values, 0, (size_t)rows->pitch * 4 * sizeof(*rows->values));
	for (int32_t i = 0; i < 4; i++) {
		int32_t y = first + i;
		int64_t at = (image * m->height + y) * m->width;

		for (int32_t x = 0; x < m->width && y >= 0 && y < m->height; x++)
			for (int32_t k = 0; k < c; k++)
				rows->values[i * rows->pitch + (x + 1) * c + k] = value_get(
					m->type, m->values, (at + x) * CONVOLUTION_POOL_PIXEL + k);
	}
}

/* The first input of the sum at a place of a window; three rows of 3 * channels follow. */
static const double *inputs_of(const struct input_rows *rows, int32_t channels, int32_t window,
			       int place)
{
	return rows->values + place / 2 * rows->pitch + (2 * window + place % 2) * channels;
}

/* --- forward */

struct filter {
	double taps[MAX_TAPS], bias;
};

static void read_filter(struct filter *filter, const struct convolution_pool_args *args,
			int32_t channel)
{
	int taps = 9 * args->channels;

	for (int k = 0; k < taps && channel < args->out; k++) {
		uint16_t rounded;

		value_set(args->type, &rounded, 0, (double)args->weight[channel * taps + k]);
		filter->taps[k] = value_get(args->type, &rounded, 0);
	}
	if (channel < args->out)
		filter->bias = (double)args->bias[channel];
}

static double convolve(const struct filter *filter, const double *inputs, int32_t pitch,
		       int32_t channels)
{
	double sum = filter->bias;

	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3 * channels; k++)
			sum += inputs[i * pitch + k] * filter->taps[i * 3 * channels + k];
	return sum;
}

/* Writes the channel of a window; returns its place. */
static unsigned pool(const struct convolution_pool_args *args, const struct filter *filter,
		     const struct input_rows *rows, int32_t window, int64_t output)
{
	float max = 0;
	unsigned place = 0;

	for (int i = 0; i < 4; i++) {
		const double *inputs = inputs_of(rows, args->channels, window, i);
		float sum = (float)convolve(filter, inputs, rows->pitch, args->channels);

		if (!(sum <= max))
			place = (unsigned)i;
		if (sum > max || isnan(sum))
			max = sum;
	}
	value_set(args->type, args->output, output, (double)max);
	return place;
}

/* One channel of a line of windows, whose outputs begin at `output`. */
static void pool_line(const struct convolution_pool_args *args, const struct input_rows *rows,
		      int32_t channel, int64_t output)
{
	int32_t padded = convolution_pool_padded(args->out), in_word = channel % IN_WORD;
	struct filter filter = {.bias = 0};

	read_filter(&filter, args, channel);
	for (int32_t x = 0; x < args->width / 2; x++) {
		int64_t at = output + x * padded + channel;
		uint16_t *places = &args->places[at / IN_WORD];
		unsigned place = pool(args, &filter, rows, x, at);

		*places = (uint16_t)((in_word ? *places : 0) | place << 2 * in_word);
	}
}

void reference_convolution_pool(const struct convolution_pool_args *args)
{
	const struct images images = {args->input, args->height, args->width, args->channels,
				      args->type};
	const int32_t padded = convolution_pool_padded(args->out);
	int64_t lines = args->batch * (args->height / 2);
	struct input_rows rows;

	for (int64_t line = 0; line < lines; line++) {
		read_rows(&rows, &images, line);
		for (int32_t channel = 0; channel < padded; channel++)
			pool_line(args, &rows, channel, line * (args->width / 2) * padded);
	}
}

/* --- backward */

/* Of the channels of a word of places: of the weights, then of the bias. */
struct sums {
	double of[IN_WORD][MAX_TAPS + 1];
};

/* Adds a window, the gradients of whose channels begin at `output`. */
static void add_window(struct sums *sums, const struct convolution_pool_backward_args *args,
		       const struct input_rows *rows, int32_t window, int64_t output)
{
	unsigned places = args->places[output / IN_WORD];
	int c = 3 * args->channels;

	for (int i = 0; i < IN_WORD; i++) {
		const double *inputs = inputs_of(rows, args->channels, window, places >> 2 * i & 3);
		double gradient = value_get(args->type, args->output_gradient, output + i);

		if (!(value_get(args->type, args->output, output + i) > 0))
			continue;
		for (int k = 0; k < 3 * c; k++)
			sums->of[i][k] += gradient * inputs[k / c * rows->pitch + k % c];
		sums->of[i][3 * c] += gradient;
	}
}

static void write_sums(const struct convolution_pool_backward_args *args, const struct sums *sums,
		       int32_t channel)
{
	int taps = 9 * args->channels;

	for (int i = 0; i < IN_WORD && channel + i < args->out; i++) {
		for (int k = 0; k < taps; k++)
			args->weight_gradient[(channel + i) * taps + k] = (float)sums->of[i][k];
		args->bias_gradient[channel + i] = (float)sums->of[i][taps];
	}
}

void reference_convolution_pool_backward(const struct convolution_pool_backward_args *args)
{
	const struct images images = {args->input, args->height, args->width, args->channels,
				      args->type};
	const int32_t columns = args->width / 2, padded = convolution_pool_padded(args->out);
	int64_t lines = args->batch * (args->height / 2);
	struct input_rows rows;

	for (int32_t channel = 0; channel < padded; channel += IN_WORD) {
		struct sums sums = {{{0}}};

		for (int64_t line = 0; line < lines; line++) {
			read_rows(&rows, &images, line);
			for (int32_t x = 0; x < columns; x++)
				add_window(&sums, args, &rows, x,
					   (line * columns + x) * padded + channel);
		}
		write_sums(args, &sums, channel);
	}
}
