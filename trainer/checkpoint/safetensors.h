/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes safetensors files, as huggingface/safetensors describes them (README.md,
 * "Format"): tensors by name, and texts by key.
 *
 * 	8 bytes   n, the length of the header; little endian, as everything here
 * 	n bytes   the header, JSON, filled up with spaces:
 * 	          {"__metadata__": {KEY: TEXT, ...},
 * 	           NAME: {"dtype": "F32", "shape": [2, 3], "data_offsets": [BEGIN, END]}, ...}
 * 	the rest  the elements of the tensors in C order; the offsets count from here
 *
 * The tensors fill the rest without holes and overlaps. Written files have them by descending
 * dtype, then by name, and n is a multiple of 8, so each is aligned to its elements.
 *
 * The format has no checksum. Written files begin their metadata with one, at a fixed place:
 * {"__metadata__":{"crc32":"xxxxxxxx", with the digits at the bytes 34 to 41 of the file. They are
 * the CRC-32 (crc32.h) of the whole file, header included, with zeros ("00000000") as digits. Other
 * readers see one more text.
 */
#ifndef TRAIN_SAFETENSORS_H
#define TRAIN_SAFETENSORS_H

#include "base.h"
#include "base/error.h"
#include "base/tensor.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensors are written as they lie in memory, which must be little endian"
#endif

/* In the order of the format, so that the smaller elements come first. */
enum safetensors_dtype {
	SAFETENSORS_BOOL,
	SAFETENSORS_U8,
	SAFETENSORS_I8,
	SAFETENSORS_F8_E5M2,
	SAFETENSORS_F8_E4M3,
	SAFETENSORS_I16,
	SAFETENSORS_U16,
	SAFETENSORS_F16,
	SAFETENSORS_BF16,
	SAFETENSORS_I32,
	SAFETENSORS_U32,
	SAFETENSORS_F32,
	SAFETENSORS_F64,
	SAFETENSORS_I64,
	SAFETENSORS_U64,
	SAFETENSORS_DTYPES
};

struct safetensors_tensor {
	const char *name; /* UTF-8, unique */
	enum safetensors_dtype dtype;
	struct tensor_shape shape;
	const void
		*data; /* safetensors_bytes() of them; in files of other programs at any address */
};

struct safetensors_text {
	const char *key, *value; /* UTF-8; the key is unique */
};

/* A file that was read. */
struct safetensors {
	size_t count;
	struct safetensors_tensor *tensors; /* by name, as strcmp orders them */
	bool checked;                       /* it has a checksum, which is right */
	char *path;
	const void *bytes; /* the whole file, so that other ranks need not read it */
	size_t size;
	void *owned;           /* bytes, if they are the file's own */
	struct json_t *header; /* holds names and texts */
};

/* "F32". */
const char *safetensors_dtype_name(enum safetensors_dtype dtype);

/* The bytes of its elements. False: too many to count. */
bool safetensors_bytes(size_t *bytes, const struct safetensors_tensor *tensor);
/* The same of a tensor whose bytes were counted before; 0 otherwise. */
static inline size_t safetensors_size(const struct safetensors_tensor *tensor)
{
	size_t bytes = 0;

	return safetensors_bytes(&bytes, tensor) ? bytes : 0;
}

/* "[512, 8192]", and "[]" for a scalar. Returns text. */
enum { SAFETENSORS_SHAPE_TEXT = 96 };
const char *safetensors_shape(char text[SAFETENSORS_SHAPE_TEXT], const struct tensor_shape *shape);

/* Reads a whole file, once; tensors point into it. TRAIN_BAD_INPUT: another form than above, a
 * wrong checksum, more than TENSOR_MAX_DIMS dimensions, a header of more than 8 MiB, a file of more
 * than 16 GiB. TRAIN_FAILED: memory, or the system. The caller frees *ret, which is untouched on
 * failure. safetensors_read takes an open file and leaves it open; path is for messages. */
bool safetensors_open(struct safetensors **ret, const char *path, struct train_error *error);
bool safetensors_read(struct safetensors **ret, int fd, const char *path,
		      struct train_error *error);

/* The same of a file in memory, which must outlive *ret. */
bool safetensors_parse(struct safetensors **ret, const void *bytes, size_t size, const char *path,
		       struct train_error *error);
void safetensors_free(struct safetensors *file); /* may be NULL */
/* Of a variable. */
static inline void safetensors_drop(struct safetensors **file)
{
	safetensors_free(*file);
}
#define SAFETENSORS CLEANUP(safetensors_drop) struct safetensors

/* NULL: there is none. */
const struct safetensors_tensor *safetensors_find(const struct safetensors *file, const char *name);
const char *safetensors_text(const struct safetensors *file, const char *key);

/* Writes a file with its checksum to fd, which may be a pipe; does not sync or close it. path is
 * for messages. */
bool safetensors_write(int fd, const char *path, const struct safetensors_tensor *tensors,
		       size_t count, const struct safetensors_text *texts, size_t text_count,
		       struct train_error *error);

/* For writing and reading. */
#define SAFETENSORS_BEGINNING "{\"__metadata__\":{\"crc32\":\""
enum {
	SAFETENSORS_LENGTH = 8, /* of the length of the header */
	SAFETENSORS_CRC32 = SAFETENSORS_LENGTH + sizeof(SAFETENSORS_BEGINNING) - 1,
	SAFETENSORS_DIGITS = 8,
	SAFETENSORS_MAX_HEADER = 8 << 20
};

#endif
