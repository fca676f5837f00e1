/* SPDX-License-Identifier: MIT */
/* The reader of safetensors files: what it takes lies within the file, is found by its name, and is
 * written and read as the same. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checkpoint/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t bytes_of(const struct safetensors_tensor *tensor)
{
	size_t bytes = 0;

	if (!safetensors_bytes(&bytes, tensor))
		abort();
	return bytes;
}

static void check_within(const struct safetensors *file, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < file->count; i++) {
		const struct safetensors_tensor *t = &file->tensors[i];
		const uint8_t *begin = t->data;
		size_t bytes = bytes_of(t);

		if (begin < data || begin > data + size || bytes > (size_t)(data + size - begin))
			abort();
		if (safetensors_find(file, t->name) != t)
			abort();
	}
}

static void check_round_trip(const struct safetensors *file)
{
	struct train_error error = {.status = TRAIN_OK};
	struct safetensors *again = NULL;
	int fd = memfd_create("fuzz", 0);

	if (fd < 0 || !safetensors_write(fd, "fuzz", file->tensors, file->count, NULL, 0, &error) ||
	    lseek(fd, 0, SEEK_SET) < 0 || !safetensors_read(&again, fd, "fuzz", &error))
		abort();
	if (!again->checked || again->count != file->count)
		abort();
	for (size_t i = 0; i < file->count; i++) {
		const struct safetensors_tensor *a = &file->tensors[i], *b = &again->tensors[i];

		if (strcmp(a->name, b->name) != 0 || a->dtype != b->dtype ||
		    a->shape.dims != b->shape.dims || bytes_of(a) != bytes_of(b) ||
		    memcmp(a->data, b->data, bytes_of(a)) != 0)
			abort();
	}
	safetensors_free(again);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct train_error error = {.status = TRAIN_OK};
	struct checkpoint_progress progress;
	struct safetensors *file = NULL;

	if (!safetensors_parse(&file, data, size, "fuzz", &error)) {
		if (file || error.status != TRAIN_BAD_INPUT || !error.text[0])
			abort();
		return 0;
	}
	check_within(file, data, size);
	check_round_trip(file);
	if (checkpoint_progress(&progress, file, &error) && progress.step < 0)
		abort();
	safetensors_free(file);
	return 0;
}
