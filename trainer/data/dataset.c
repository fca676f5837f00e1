/* SPDX-License-Identifier: MIT */
/* See dataset.h. */
#include "dataset.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "kernels/philox.h"
#include "memory.h"

enum { FIELDS = 4, BYTES = 16 };

static void fill_values(float *values, const struct dataset_scale *scale)
{
	for (int byte = 0; byte < 256; byte++)
		values[byte] = ((float)byte / 255 - scale->mean) / scale->std;
}

bool dataset_init(struct dataset *dataset, const struct dataset_scale *scales, int count,
		  struct train_error *error)
{
	struct dataset d = *dataset;

	d.records = calloc((size_t)d.samples, dataset_record(&d.shape));
	if (!d.records)
		return train_nomem(error, "the data");
	d.values = xcalloc(256 * (size_t)d.shape.channels, sizeof(*d.values));
	pages_want_huge(d.records, (size_t)d.samples * dataset_record(&d.shape));
	for (int c = 0; c < d.shape.channels; c++)
		fill_values(d.values + 256 * (size_t)c, &scales[c % count]);
	*dataset = d;
	return true;
}

void dataset_free(struct dataset *dataset)
{
	free(dataset->records);
	free(dataset->values);
	dataset->records = NULL;
	dataset->values = NULL;
}

/* Little endian on every machine. */
static void draw_bytes(uint8_t bytes[BYTES], const struct random_key *key, uint32_t draw)
{
	uint32_t words[BYTES / 4];

	random_keyed(words, key, draw);
	for (int i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
}

/* The pattern of a class, as if it were an image. */
static void fill_pattern(uint8_t *pattern, const struct dataset_synthetic *of, int label)
{
	struct random_key key = {.seed = of->seed, .purpose = RANDOM_PATTERN, .sample = label};
	int height = of->shape.height, width = of->shape.width;
	uint8_t fields[FIELDS * FIELDS];

	for (int c = 0; c < of->shape.channels; c++) {
		key.epoch = (uint32_t)c;
		draw_bytes(fields, &key, 0);
		for (int y = 0; y < height; y++)
			for (int x = 0; x < width; x++)
				*pattern++ = fields[FIELDS * (int)((int64_t)y * FIELDS / height) +
						    (int)((int64_t)x * FIELDS / width)];
	}
}

static void fill_image(uint8_t *image, const uint8_t *pattern, size_t pixels,
		       const struct random_key *key)
{
	uint8_t noise[BYTES];

	for (size_t i = 0; i < pixels; i += BYTES) {
		size_t n = pixels - i < BYTES ? pixels - i : BYTES;

		draw_bytes(noise, key, (uint32_t)(i / BYTES));
		for (size_t j = 0; j < n; j++)
			image[i + j] = (uint8_t)((pattern[i + j] + 3 * noise[j]) / 4);
	}
}

static void fill_samples(struct dataset *dataset, const struct dataset_synthetic *of,
			 const uint8_t *patterns)
{
	struct random_key key = {.seed = of->seed};
	size_t pixels = dataset_pixels(&of->shape);
	uint8_t *record = dataset->records;

	for (int64_t i = 0; i < of->samples; i++, record += 1 + pixels) {
		uint32_t label[4];

		key.sample = of->first + i;
		key.purpose = RANDOM_LABEL;
		random_keyed(label, &key, 0);
		record[0] = (uint8_t)random_below(label[0], (uint32_t)of->classes);
		key.purpose = RANDOM_NOISE;
		fill_image(record + 1, patterns + record[0] * pixels, pixels, &key);
	}
}

bool dataset_make(struct dataset *dataset, const struct dataset_synthetic *synthetic,
		  struct train_error *error)
{
	static const struct dataset_scale grey = {0.5f, 0.25f};
	struct dataset d = {.shape = synthetic->shape,
			    .classes = synthetic->classes,
			    .samples = synthetic->samples};
	size_t pixels = dataset_pixels(&synthetic->shape);
	CLEANUP_FREE uint8_t *patterns = xcalloc((size_t)synthetic->classes, pixels);

	if (!dataset_init(&d, &grey, 1, error))
		return false;
	for (int label = 0; label < synthetic->classes; label++)
		fill_pattern(patterns + (size_t)label * pixels, synthetic, label);
	fill_samples(&d, synthetic, patterns);
	*dataset = d;
	return true;
}
