/* SPDX-License-Identifier: MIT */
/* Reads a safetensors file: its header, checks of it, and its tensors. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/crc32.h"
#include "checkpoint/safetensors.h"
#include "closing.h"
#include "memory.h"

enum { ALIGNMENT = 64 };
static const off_t max_bytes = (off_t)16 << 30;

struct reader {
	struct safetensors *file;
	const char *data; /* after the header */
	size_t size;      /* of data */
	struct train_error *error;
};

/* FILE: WHAT; REMEDY. */
#define REFUSE(r, format, ...) \
	train_fail((r)->error, TRAIN_BAD_INPUT, \
		   "%s: " format "; write the file again, or use another", (r)->file->path, \
		   __VA_ARGS__)

static bool read_shape(const struct reader *r, struct safetensors_tensor *t, const json_t *shape)
{
	size_t dims = json_array_size(shape);

	if (dims > TENSOR_MAX_DIMS)
		return REFUSE(r, "%s has %zu dimensions, and here they have at most %d", t->name,
			      dims, TENSOR_MAX_DIMS);
	t->shape.dims = (int)dims;
	for (size_t i = 0; i < dims; i++) {
		const json_t *size = json_array_get(shape, i);

		if (!json_is_integer(size) || json_integer_value(size) < 0)
			return REFUSE(r, "dimension %zu of %s is not a size", i, t->name);
		t->shape.size[i] = json_integer_value(size);
	}
	return true;
}

static bool read_dtype(const struct reader *r, struct safetensors_tensor *t, const char *name)
{
	for (int i = 0; i < SAFETENSORS_DTYPES; i++)
		if (strcmp(safetensors_dtype_name(i), name) == 0) {
			t->dtype = i;
			return true;
		}
	return REFUSE(r, "%s is of dtype %s, which is not known here", t->name, name);
}

static bool read_tensor(const struct reader *r, struct safetensors_tensor *t, const json_t *info)
{
	const json_t *dtype = json_object_get(info, "dtype"),
		     *shape = json_object_get(info, "shape"),
		     *offsets = json_object_get(info, "data_offsets");
	const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
	int64_t first = json_integer_value(begin), last = json_integer_value(end);
	char text[SAFETENSORS_SHAPE_TEXT];
	size_t bytes;

	if (!json_is_string(dtype) || !json_is_array(shape) || json_array_size(offsets) != 2 ||
	    !json_is_integer(begin) || !json_is_integer(end))
		return REFUSE(r, "%s lacks its dtype, shape or data_offsets", t->name);
	if (!read_dtype(r, t, json_string_value(dtype)) || !read_shape(r, t, shape))
		return false;
	safetensors_shape(text, &t->shape);
	if (!safetensors_bytes(&bytes, t))
		return REFUSE(r, "%s has more elements than can be counted: %s", t->name, text);
	if (first < 0 || last < first || (size_t)last > r->size)
		return REFUSE(r, "%s lies at %" PRId64 " to %" PRId64 " of %zu bytes", t->name,
			      first, last, r->size);
	if (bytes != (size_t)(last - first))
		return REFUSE(r, "%s has %" PRId64 " bytes, and %s of %s takes %zu", t->name,
			      last - first, text, safetensors_dtype_name(t->dtype), bytes);
	t->data = r->data + first;
	return true;
}

static bool check_metadata(const struct reader *r, json_t *metadata)
{
	const char *key;
	json_t *value;

	if (!json_is_object(metadata))
		return REFUSE(r, "__metadata__ is %s", "not an object");
	json_object_foreach(metadata, key, value) if (!json_is_string(value)) return REFUSE(
		r, "%s in __metadata__ is not text", key);
	return true;
}

static bool read_tensors(const struct reader *r)
{
	struct safetensors *file = r->file;
	const char *name;
	json_t *info;

	file->tensors = xcalloc(json_object_size(file->header), sizeof(*file->tensors));
	json_object_foreach(file->header, name, info)
	{
		if (strcmp(name, "__metadata__") == 0) {
			if (!check_metadata(r, info))
				return false;
			continue;
		}
		file->tensors[file->count].name = name;
		if (!read_tensor(r, &file->tensors[file->count], info))
			return false;
		file->count++;
	}
	return true;
}

static const char *end_of(const struct safetensors_tensor *tensor)
{
	return (const char *)tensor->data + safetensors_size(tensor);
}

static int by_place(const void *a, const void *b)
{
	const struct safetensors_tensor *x = a, *y = b;

	if (x->data != y->data)
		return (const char *)x->data < (const char *)y->data ? -1 : 1;
	/* an empty tensor comes before one that begins at the same place */
	return (end_of(x) > end_of(y)) - (end_of(x) < end_of(y));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct safetensors_tensor *)a)->name,
		      ((const struct safetensors_tensor *)b)->name);
}

/* Each tensor begins where the previous one ends, from the first byte to the last. */
static bool check_places(const struct reader *r)
{
	struct safetensors *file = r->file;
	const char *expected = r->data, *end = r->data + r->size;

	qsort(file->tensors, file->count, sizeof(*file->tensors), by_place);
	for (size_t i = 0; i < file->count; i++) {
		const struct safetensors_tensor *t = &file->tensors[i];

		if ((const char *)t->data != expected)
			return REFUSE(r, "%s before %s, at byte %td of the data",
				      (const char *)t->data < expected ? "tensors overlap"
								       : "there is a hole",
				      t->name, (const char *)t->data - r->data);
		expected = end_of(t);
	}
	if (expected != end)
		return REFUSE(r, "%td bytes after the last tensor", end - expected);
	qsort(file->tensors, file->count, sizeof(*file->tensors), by_name);
	return true;
}

static bool check_crc32(const struct reader *r)
{
	const char *bytes = r->file->bytes, *expected = safetensors_text(r->file, "crc32");
	char digits[SAFETENSORS_DIGITS + 1];
	struct crc32 crc;

	if (!expected)
		return true;
	if (strlen(expected) != SAFETENSORS_DIGITS ||
	    r->file->size < SAFETENSORS_CRC32 + SAFETENSORS_DIGITS ||
	    memcmp(bytes + SAFETENSORS_LENGTH, SAFETENSORS_BEGINNING,
		   sizeof(SAFETENSORS_BEGINNING) - 1) != 0 ||
	    memcmp(bytes + SAFETENSORS_CRC32, expected, SAFETENSORS_DIGITS) != 0)
		return REFUSE(r, "its crc32 is not at byte %d", SAFETENSORS_CRC32);
	crc32_begin(&crc);
	crc32_add(&crc, bytes, SAFETENSORS_CRC32);
	crc32_add(&crc, "00000000", SAFETENSORS_DIGITS);
	crc32_add(&crc, bytes + SAFETENSORS_CRC32 + SAFETENSORS_DIGITS,
		  r->file->size - SAFETENSORS_CRC32 - SAFETENSORS_DIGITS);
	snprintf(digits, sizeof(digits), "%08x", crc.value);
	if (strcmp(digits, expected) != 0)
		return REFUSE(r, "damaged, its CRC-32 is %s and should be %s", digits, expected);
	r->file->checked = true;
	return true;
}

/* The length of the header, and the header, and where the data are. */
static bool read_header(struct reader *r)
{
	struct safetensors *file = r->file;
	const char *bytes = file->bytes;
	json_error_t why;
	uint64_t length;

	if (file->size < SAFETENSORS_LENGTH)
		return REFUSE(r, "%zu bytes are not a safetensors file", file->size);
	memcpy(&length, bytes, SAFETENSORS_LENGTH);
	if (length > SAFETENSORS_MAX_HEADER)
		return REFUSE(r,
			      "no safetensors file, or a header of %" PRIu64 " bytes, more than %d",
			      length, SAFETENSORS_MAX_HEADER);
	if (length > file->size - SAFETENSORS_LENGTH)
		return REFUSE(r, "cut short, %zu bytes with a header of %" PRIu64, file->size,
			      length);
	r->data = bytes + SAFETENSORS_LENGTH + length;
	r->size = file->size - SAFETENSORS_LENGTH - length;
	if (!length || bytes[SAFETENSORS_LENGTH] != '{')
		return REFUSE(r, "its header does not begin with %s", "{");
	file->header = json_loadb(bytes + SAFETENSORS_LENGTH, length, JSON_REJECT_DUPLICATES, &why);
	if (file->header)
		return true;
	return REFUSE(r, "its header is wrong at byte %d: %s", SAFETENSORS_LENGTH + why.position,
		      why.text);
}

bool safetensors_parse(struct safetensors **ret, const void *bytes, size_t size, const char *path,
		       struct train_error *error)
{
	struct safetensors *file = xcalloc(1, sizeof(*file));
	struct reader r = {.file = file, .error = error};

	file->path = xstrdup(path);
	file->bytes = bytes;
	file->size = size;
	if (read_header(&r) && read_tensors(&r) && check_places(&r) && check_crc32(&r)) {
		*ret = file;
		return true;
	}
	safetensors_free(file);
	return false;
}

/* Only damaged sectors of a disk count as a damaged file. */
static bool system_failed(const char *path, struct train_error *error)
{
	bool bad = errno == EIO || errno == ENOENT || errno == EACCES || errno == EISDIR;

	return train_fail(error, bad ? TRAIN_BAD_INPUT : TRAIN_FAILED,
			  "%s: cannot read: %s; use another file", path, strerror(errno));
}

static bool read_all(int fd, char *bytes, size_t size, const char *path, struct train_error *error)
{
	while (size) {
		ssize_t n = UNINTERRUPTED(read(fd, bytes, size));

		if (n < 0)
			return system_failed(path, error);
		if (n == 0)
			return train_fail(error, TRAIN_BAD_INPUT,
					  "%s: it was cut while it was read; read it again", path);
		bytes += n;
		size -= (size_t)n;
	}
	return true;
}

bool safetensors_read(struct safetensors **ret, int fd, const char *path, struct train_error *error)
{
	struct stat st;
	void *bytes;
	size_t size;

	if (fstat(fd, &st) < 0)
		return system_failed(path, error);
	if (!S_ISREG(st.st_mode) || st.st_size > max_bytes)
		return train_fail(error, TRAIN_BAD_INPUT, "%s: %s; use another file", path,
				  S_ISREG(st.st_mode) ? "more than 16 GiB" : "no regular file");
	size = (size_t)st.st_size;
	bytes = aligned_alloc(ALIGNMENT, (size / ALIGNMENT + 1) * ALIGNMENT);
	if (!bytes)
		return train_nomem(error, path);
	if (!read_all(fd, bytes, size, path, error) ||
	    !safetensors_parse(ret, bytes, size, path, error)) {
		free(bytes);
		return false;
	}
	(*ret)->owned = bytes;
	return true;
}

bool safetensors_open(struct safetensors **ret, const char *path, struct train_error *error)
{
	/* do not wait for a FIFO */
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? system_failed(path, error) : safetensors_read(ret, fd, path, error);
}

void safetensors_free(struct safetensors *file)
{
	if (!file)
		return;
	json_decref(file->header);
	free(file->tensors);
	free(file->path);
	free(file->owned);
	free(file);
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *file, const char *name)
{
	struct safetensors_tensor key = {.name = name};

	return bsearch(&key, file->tensors, file->count, sizeof(key), by_name);
}

const char *safetensors_text(const struct safetensors *file, const char *key)
{
	return json_string_value(
		json_object_get(json_object_get(file->header, "__metadata__"), key));
}
