/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checkpoint/crc32.h"
#include "checkpoint/safetensors.h"
#include "unit.h"

static struct safetensors *written(const struct safetensors_tensor *tensors, size_t count,
				   const struct safetensors_text *texts, size_t text_count)
{
	struct train_error error = {.status = TRAIN_OK};
	struct safetensors *file = NULL;
	int fd = memfd_create("file", 0);

	ck_assert_msg(safetensors_write(fd, "w", tensors, count, texts, text_count, &error), "%s",
		      error.text);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_msg(safetensors_read(&file, fd, "w", &error), "%s", error.text);
	close(fd);
	return file;
}

/* --- the checksum ------------------------------------------------------------------ */

START_TEST(crc32_vectors)
{
	static const struct {
		const char *text;
		uint32_t want;
	} rows[] = {
		{"", 0},
		{"a", 0xe8b7be43},
		{"123456789", 0xcbf43926}, /* the check value of catalogues of CRCs */
		{"The quick brown fox jumps over the lazy dog", 0x414fa339},
	};
	static struct crc32 crc;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (size_t cut = 0; cut <= strlen(rows[i].text); cut++) {
			crc32_begin(&crc);
			crc32_add(&crc, rows[i].text, cut);
			crc32_add(&crc, rows[i].text + cut, strlen(rows[i].text) - cut);
			ROW_EQ_INT(rows[i].text, crc.value, rows[i].want);
		}
}
END_TEST

/* --- round trips --------------------------------------------------------------------- */

static const struct tensor_shape shapes[] = {
	{0, {0}},          {1, {0}},          {1, {1}},          {1, {7}},
	{2, {2, 3}},       {2, {0, 5}},       {3, {3, 0, 2}},    {3, {1, 2, 3}},
	{4, {2, 3, 1, 5}}, {4, {1, 1, 1, 1}}, {4, {0, 0, 0, 0}},
};
enum { SHAPES = sizeof(shapes) / sizeof(*shapes), ALL = SAFETENSORS_DTYPES * SHAPES };

START_TEST(every_dtype_and_shape)
{
	static unsigned char bytes[ALL][8 * 30];
	static char names[ALL][32];
	struct safetensors_tensor tensors[ALL];
	struct safetensors *file;
	size_t n;

	for (int i = 0; i < ALL; i++) {
		for (size_t k = 0; k < sizeof(bytes[i]); k++)
			bytes[i][k] = (unsigned char)(i * 7 + (int)k * 13);
		snprintf(names[i], sizeof(names[i]), "tensor.%d", i * 17 % ALL);
		tensors[i] = (struct safetensors_tensor){names[i], i % SAFETENSORS_DTYPES,
							 shapes[i / SAFETENSORS_DTYPES], bytes[i]};
	}
	file = written(tensors, ALL, NULL, 0);
	ck_assert(file->checked);
	ck_assert_uint_eq(file->count, ALL);
	for (int i = 0; i < ALL; i++) {
		const struct safetensors_tensor *got = safetensors_find(file, names[i]);
		size_t element = 1;

		ck_assert_msg(got != NULL, "%s is not there", names[i]);
		ROW_EQ_STR(names[i], got->name, names[i]);
		ROW_EQ_INT(names[i], got->dtype, tensors[i].dtype);
		ROW_EQ_INT(names[i], got->shape.dims, tensors[i].shape.dims);
		for (int d = 0; d < got->shape.dims; d++)
			ROW_EQ_INT(names[i], got->shape.size[d], tensors[i].shape.size[d]);
		ck_assert(safetensors_bytes(&n, got));
		ck_assert_msg(memcmp(got->data, bytes[i], n) == 0, "%s changed", names[i]);
		safetensors_bytes(&element, &(struct safetensors_tensor){.dtype = got->dtype});
		ck_assert_msg((uintptr_t)got->data % element == 0, "%s is not aligned", names[i]);
	}
	for (int i = 1; i < ALL; i++)
		ck_assert(strcmp(file->tensors[i - 1].name, file->tensors[i].name) < 0);
	ck_assert_ptr_null(safetensors_find(file, "tensor"));
	safetensors_free(file);
}
END_TEST

START_TEST(texts_and_nothing)
{
	static const struct safetensors_text texts[] = {
		{"format", "pt"},
		{"quoted \"\\\n", "\x01 \xc3\xa4 \xe2\x82\xac"},
		{"empty", ""},
		{"", "no key"}};
	struct safetensors *file = written(NULL, 0, texts, 4);

	ck_assert(file->checked);
	ck_assert_uint_eq(file->count, 0);
	for (int i = 0; i < 4; i++)
		ck_assert_str_eq(safetensors_text(file, texts[i].key), texts[i].value);
	ck_assert_ptr_null(safetensors_text(file, "none"));
	safetensors_free(file);
}
END_TEST

START_TEST(as_documented)
{
	static const float values[] = {1, 2};
	const struct safetensors_tensor a = {"a", SAFETENSORS_F32, {1, {2}}, values};
	struct safetensors *file = written(&a, 1, NULL, 0);
	const char *want = "{\"__metadata__\":{\"crc32\":\"xxxxxxxx\"},"
			   "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}      ";
	const char *bytes = file->bytes;
	char zeroed[256];
	static struct crc32 crc;

	ck_assert_uint_eq(file->size, 8 + strlen(want) + 8);
	ck_assert_uint_eq(strlen(want) % 8, 0);
	ck_assert_int_eq(bytes[0], (char)strlen(want));
	ck_assert_int_eq(memcmp(bytes + 1, "\0\0\0\0\0\0\0", 7), 0);
	ck_assert_int_eq(memcmp(bytes + 8, want, 26), 0);
	ck_assert_int_eq(memcmp(bytes + 42, want + 34, strlen(want) - 34), 0);
	ck_assert_int_eq(memcmp(bytes + file->size - 8, values, 8), 0);
	memcpy(zeroed, bytes, file->size);
	memcpy(zeroed + 34, "00000000", 8);
	crc32_begin(&crc);
	crc32_add(&crc, zeroed, file->size);
	ck_assert_uint_eq(strtoul(bytes + 34, NULL, 16), crc.value);
	safetensors_free(file);
}
END_TEST

/* --- what cannot be written ---------------------------------------------------------- */

#define A \
	{ \
		"a", SAFETENSORS_F32, {0, {0}}, &value \
	}
#define XY \
	{ \
		{"x", ""}, \
		{ \
			"y", "" \
		} \
	}

START_TEST(bad_tensors)
{
	static const float value = 1;
	static const struct {
		struct safetensors_tensor tensors[2];
		struct safetensors_text texts[2];
		const char *want;
	} rows[] = {
		{{A, {"a", SAFETENSORS_F16, {0, {0}}, &value}},
		 XY,
		 "w: the name a is taken; choose another"},
		{{A, {"__metadata__", SAFETENSORS_F32, {0, {0}}, &value}},
		 XY,
		 "w: the name __metadata__ is taken; choose another"},
		{{A, {"b", SAFETENSORS_F32, {1, {-1}}, &value}},
		 XY,
		 "w: b has no shape that can be written"},
		{{A, {"b", SAFETENSORS_F32, {2, {INT64_MAX, 4}}, &value}},
		 XY,
		 "w: b has no shape that can be written"},
		{{A, {"b", SAFETENSORS_F32, {5, {1, 1, 1, 1}}, &value}},
		 XY,
		 "w: b has no shape that can be written"},
		{{A, {"\xff", SAFETENSORS_F32, {0, {0}}, &value}},
		 XY,
		 "w: a name or text in the header is not UTF-8; rename it"},
		{{A, {"b", SAFETENSORS_F32, {0, {0}}, &value}},
		 {{"x", ""}, {"y", "\xff"}},
		 "w: a name or text in the header is not UTF-8; rename it"},
		{{A, {"b", SAFETENSORS_F32, {0, {0}}, &value}},
		 {{"x", ""}, {"crc32", ""}},
		 "w: the name crc32 is taken; choose another"},
	};
	int fd = memfd_create("file", 0);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct train_error error = {.status = TRAIN_OK};

		ck_assert(
			!safetensors_write(fd, "w", rows[i].tensors, 2, rows[i].texts, 2, &error));
		ck_assert_str_eq(error.text, rows[i].want);
		ck_assert_int_eq(error.status, TRAIN_FAILED);
		ck_assert_int_eq(lseek(fd, 0, SEEK_END), 0);
	}
	close(fd);
}
END_TEST

START_TEST(long_names)
{
	const size_t n = SAFETENSORS_MAX_HEADER;
	struct train_error error = {.status = TRAIN_OK};
	struct safetensors_tensor a = {NULL, SAFETENSORS_F32, {1, {0}}, NULL};
	char *name = malloc(n + 1);

	ck_assert_ptr_nonnull(name);
	memset(name, 'a', n);
	name[n] = '\0';
	a.name = name;
	ck_assert(!safetensors_write(-1, "w", &a, 1, NULL, 0, &error));
	ck_assert_str_eq(error.text, "w: the names are longer than 8388608 bytes; shorten them");
	name[n - 200] = '\0';
	safetensors_free(written(&a, 1, NULL, 0));
	free(name);
}
END_TEST

START_TEST(full_device)
{
	static const float values[4096];
	const struct safetensors_tensor a = {"a", SAFETENSORS_F32, {1, {4096}}, values};
	struct train_error error = {.status = TRAIN_OK};
	int fd = open("/dev/full", O_WRONLY);

	ck_assert_int_ge(fd, 0);
	ck_assert(!safetensors_write(fd, "w", &a, 1, NULL, 0, &error));
	ck_assert_str_eq(error.text,
			 "w: cannot write: No space left on device; free some space, or "
			 "write to another folder");
	close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("safetensors");
	TCase *tests = tcase_create("safetensors");

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, crc32_vectors);
	tcase_add_test(tests, every_dtype_and_shape);
	tcase_add_test(tests, texts_and_nothing);
	tcase_add_test(tests, as_documented);
	tcase_add_test(tests, bad_tensors);
	tcase_add_test(tests, long_names);
	tcase_add_test(tests, full_device);
	return unit_run(suite);
}
