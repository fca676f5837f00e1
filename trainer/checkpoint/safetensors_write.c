/* SPDX-License-Identifier: MIT */
/* Writes a safetensors file: the order of its tensors, its header, and its end. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/crc32.h"
#include "checkpoint/safetensors.h"
#include "memory.h"
#include "write_all.h"

struct writer {
	int fd;
	const char *path;
	const struct safetensors_tensor **order; /* as they lie in the file */
	size_t count;
	char *header; /* its length, JSON and spaces */
	size_t header_size;
	struct train_error *error;
};

static bool no_header(const struct writer *w)
{
	return train_fail(w->error, TRAIN_FAILED,
			  "%s: a name or text in the header is not UTF-8; rename it", w->path);
}

static int by_dtype_and_name(const void *a, const void *b)
{
	const struct safetensors_tensor *const *x = a, *const *y = b;

	if ((*x)->dtype != (*y)->dtype)
		return (*x)->dtype < (*y)->dtype ? 1 : -1;
	return strcmp((*x)->name, (*y)->name);
}

static void arrange(struct writer *w, const struct safetensors_tensor *tensors, size_t count)
{
	w->order = xmalloc(count * sizeof(*w->order));
	for (size_t i = 0; i < count; i++)
		w->order[i] = &tensors[i];
	w->count = count;
	qsort(w->order, count, sizeof(*w->order), by_dtype_and_name);
}

/* Adds a member, and takes value over. */
static bool set(const struct writer *w, json_t *object, const char *key, json_t *value)
{
	if (json_object_get(object, key)) {
		json_decref(value);
		return train_fail(w->error, TRAIN_FAILED,
				  "%s: the name %s is taken; choose another", w->path, key);
	}
	return json_object_set_new(object, key, value) == 0 || no_header(w);
}

static bool set_texts(const struct writer *w, json_t *root, const struct safetensors_text *texts,
		      size_t count)
{
	json_t *metadata = json_object();

	/* the first member, so that its place is known */
	if (!set(w, root, "__metadata__", metadata) ||
	    !set(w, metadata, "crc32", json_string("00000000")))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!set(w, metadata, texts[i].key, json_string(texts[i].value)))
			return false;
	return true;
}

static bool set_tensor(const struct writer *w, json_t *root,
		       const struct safetensors_tensor *tensor, size_t *offset)
{
	json_t *shape = json_array(), *info;
	size_t bytes, end;

	if (tensor->shape.dims < 0 || tensor->shape.dims > TENSOR_MAX_DIMS ||
	    !safetensors_bytes(&bytes, tensor) || __builtin_add_overflow(*offset, bytes, &end) ||
	    end > INT64_MAX) {
		json_decref(shape);
		return train_fail(w->error, TRAIN_FAILED, "%s: %s has no shape that can be written",
				  w->path, tensor->name);
	}
	for (int i = 0; i < tensor->shape.dims; i++)
		json_array_append_new(shape, json_integer(tensor->shape.size[i]));
	info = json_pack("{s:s, s:o, s:[I, I]}", "dtype", safetensors_dtype_name(tensor->dtype),
			 "shape", shape, "data_offsets", (json_int_t)*offset, (json_int_t)end);
	*offset = end;
	return set(w, root, tensor->name, info);
}

/* The length and the JSON as one text, filled up with spaces to a multiple of 8. */
static bool print_header(struct writer *w, const json_t *root)
{
	CLEANUP_FREE char *text = json_dumps(root, JSON_COMPACT);
	size_t length = strlen(text);
	uint64_t padded = (length + 7) / 8 * 8;

	if (padded > SAFETENSORS_MAX_HEADER)
		return train_fail(w->error, TRAIN_FAILED,
				  "%s: the names are longer than %d bytes; shorten them", w->path,
				  SAFETENSORS_MAX_HEADER);
	w->header_size = SAFETENSORS_LENGTH + padded;
	w->header = xmalloc(w->header_size);
	memset(w->header, ' ', w->header_size);
	memcpy(w->header, &padded, SAFETENSORS_LENGTH);
	memcpy(w->header + SAFETENSORS_LENGTH, text, length);
	return true;
}

static bool make_header(struct writer *w, const struct safetensors_text *texts, size_t count)
{
	json_auto_t *root = json_object();
	size_t offset = 0;

	if (!set_texts(w, root, texts, count))
		return false;
	for (size_t i = 0; i < w->count; i++)
		if (!set_tensor(w, root, w->order[i], &offset))
			return false;
	return print_header(w, root);
}

static void set_checksum(struct writer *w)
{
	char digits[SAFETENSORS_DIGITS + 1];
	struct crc32 crc;

	crc32_begin(&crc);
	crc32_add(&crc, w->header, w->header_size);
	for (size_t i = 0; i < w->count; i++)
		crc32_add(&crc, w->order[i]->data, safetensors_size(w->order[i]));
	snprintf(digits, sizeof(digits), "%08x", crc.value);
	memcpy(w->header + SAFETENSORS_CRC32, digits, SAFETENSORS_DIGITS);
}

static bool write_failed(const struct writer *w, int error)
{
	const char *remedy = write_remedy(error);

	return train_fail(w->error, TRAIN_FAILED,
			  "%s: cannot write: %s; %s%swrite to another folder", w->path,
			  strerror(error), remedy ? remedy : "", remedy ? ", or " : "");
}

static bool write_part(const struct writer *w, const void *bytes, size_t size)
{
	return write_all(w->fd, bytes, size) == size || write_failed(w, errno);
}

static void writer_free(struct writer *w)
{
	free(w->header);
	free(w->order);
}

bool safetensors_write(int fd, const char *path, const struct safetensors_tensor *tensors,
		       size_t count, const struct safetensors_text *texts, size_t text_count,
		       struct train_error *error)
{
	CLEANUP(writer_free) struct writer w = {.fd = fd, .path = path, .error = error};

	arrange(&w, tensors, count);
	if (!make_header(&w, texts, text_count))
		return false;
	set_checksum(&w);
	if (!write_part(&w, w.header, w.header_size))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!write_part(&w, w.order[i]->data, safetensors_size(w.order[i])))
			return false;
	return true;
}
