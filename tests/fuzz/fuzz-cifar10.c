/* SPDX-License-Identifier: MIT */
/* The reader of CIFAR-10 through a real file: it gives whole records of good labels, or one line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/batch.h"
#include "data/cifar10.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz-cifar10-XXXXXX";
static char path[64];
static FILE *file;

static void clean(void)
{
	remove(path);
	rmdir(folder);
}

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void rewrite(const uint8_t *data, size_t size)
{
	if (!file) {
		require(mkdtemp(folder) != NULL);
		atexit(clean);
		snprintf(path, sizeof(path), "%s/test_batch.bin", folder);
		file = fopen(path, "wb");
		require(file != NULL);
		setvbuf(file, NULL, _IONBF, 0);
	}
	rewind(file);
	require(ftruncate(fileno(file), 0) == 0 && fwrite(data, 1, size, file) == size);
}

static void check_batch(const struct dataset *dataset)
{
	static float images[3 * 28 * 28];
	const struct batch_options options = {28, 28, true, 1};

	for (int64_t i = 0; i < dataset->samples; i++) {
		int32_t label;

		batch_fill(images, &label, dataset, &options, i, &i, 1);
		require(label >= 0 && label < CIFAR10_CLASSES);
		for (size_t p = 0; p < sizeof(images) / sizeof(images[0]); p++)
			require(images[p] > -3 && images[p] < 3);
	}
}

/* The first byte is how many records are expected, or 0; the others are the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct train_error error = {.status = TRAIN_OK};
	struct dataset dataset;
	int64_t records = size ? data[0] % 4 : 0;

	if (size)
		rewrite(++data, --size);
	else
		rewrite((const uint8_t *)"", 0);
	if (cifar10_read(&dataset, folder, CIFAR10_TEST, records, &error)) {
		require(size == (size_t)dataset.samples * CIFAR10_RECORD);
		require(!records || dataset.samples == records);
		require(memcmp(dataset.records, data, size) == 0);
		check_batch(&dataset);
		dataset_free(&dataset);
	} else {
		require(error.status == TRAIN_BAD_INPUT && strstr(error.text, path) == error.text);
		require(!strchr(error.text, '\n'));
	}
	return 0;
}
