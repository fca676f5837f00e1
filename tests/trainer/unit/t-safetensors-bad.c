/* SPDX-License-Identifier: MIT */
/* Files of others, good and bad. */
#include "checkpoint/safetensors.h"
#include "folders.h"

/* Parses a file of this header and so many bytes of data. */
static bool parsed(const char *header, size_t size, struct safetensors **file,
		   struct train_error *error)
{
	static char bytes[4096];
	uint64_t length = strlen(header);

	ck_assert_uint_lt(8 + length + size, sizeof(bytes));
	memset(bytes, 1, sizeof(bytes));
	memcpy(bytes, &length, 8);
	memcpy(bytes + 8, header, length);
	return safetensors_parse(file, bytes, 8 + length + size, "f", error);
}

#define ENTRY(name, dtype, shape, begin, end) \
	"\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" begin \
	"," end "]}"

static const struct {
	const char *header;
	size_t size, tensors;
} good_rows[] = {
	{"{}", 0, 0},
	{"{}      ", 0, 0},
	{"{\"__metadata__\":{}}", 0, 0},
	{"{\"__metadata__\":{\"crc\":\"0\"}}", 0, 0},
	{"{" ENTRY("attn.0", "F32", "1,2,3", "0", "24") "}", 24, 1},
	{"{" ENTRY("s", "F64", "", "0", "8") "}", 8, 1},
	{"{" ENTRY("b", "U8", "3", "0", "3") "," ENTRY("a", "F32", "", "3", "7") "}", 7, 2},
	{"{" ENTRY("b", "U8", "3", "4", "7") "," ENTRY("a", "F32", "", "0", "4") "}", 7, 2},
	{"{" ENTRY("a", "F32", "0", "0", "0") "," ENTRY("b", "I8", "2", "0", "2") "," ENTRY(
		 "c", "F32", "0,9223372036854775807", "2", "2") "}",
	 2, 3},
};

START_TEST(good_files)
{
	struct train_error error = {.status = TRAIN_OK};
	struct safetensors *file = NULL;

	ck_assert_msg(parsed(good_rows[_i].header, good_rows[_i].size, &file, &error), "%s: %s",
		      good_rows[_i].header, error.text);
	ROW_EQ_INT(good_rows[_i].header, file->count, good_rows[_i].tensors);
	ck_assert(!file->checked);
	safetensors_free(file);
}
END_TEST

static const struct {
	const char *header;
	size_t size;
	const char *want;
} bad_rows[] = {
	{"", 0, "its header does not begin with {"},
	{" {}", 0, "its header does not begin with {"},
	{"[]", 0, "its header does not begin with {"},
	{"{", 0, "its header is wrong at byte 9: string or '}' expected near end of file"},
	{"{}}", 0, "its header is wrong at byte 11: end of file expected near '}'"},
	{"{\"a\":{},\"a\":{}}", 0,
	 "its header is wrong at byte 19: duplicate object key near '\"a\"'"},
	{"{\"a\\u0000\":{}}", 0,
	 "its header is wrong at byte 18: NUL byte in object key not supported near "
	 "'\"a\\u0000\"'"},
	{"{\"\xff\":{}}", 0,
	 "its header is wrong at byte 10: unable to decode byte 0xff near '\"'"},
	{"{\"__metadata__\":3}", 0, "__metadata__ is not an object"},
	{"{\"__metadata__\":{\"a\":3}}", 0, "a in __metadata__ is not text"},
	{"{\"a\":3}", 0, "a lacks its dtype, shape or data_offsets"},
	{"{\"a\":{\"shape\":[],\"data_offsets\":[0,4]}}", 4,
	 "a lacks its dtype, shape or data_offsets"},
	{"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4,
	 "a lacks its dtype, shape or data_offsets"},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", 4, "a lacks its dtype, shape or data_offsets"},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"offsets\":[0,4]}}", 4,
	 "a lacks its dtype, shape or data_offsets"},
	{"{\"a\":{\"dtype\":7,\"shape\":[],\"data_offsets\":[0,4]}}", 4,
	 "a lacks its dtype, shape or data_offsets"},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4,4]}}", 4,
	 "a lacks its dtype, shape or data_offsets"},
	{"{" ENTRY("a", "F32", "", "0", "4.0") "}", 4, "a lacks its dtype, shape or data_offsets"},
	{"{" ENTRY("a", "F31", "", "0", "4") "}", 4, "a is of dtype F31, which is not known here"},
	{"{" ENTRY("a", "F32", "1,1,1,1,1", "0", "4") "}", 4,
	 "a has 5 dimensions, and here they have at most 4"},
	{"{" ENTRY("a", "F32", "2,-1", "0", "4") "}", 4, "dimension 1 of a is not a size"},
	{"{" ENTRY("a", "F32", "1.0", "0", "4") "}", 4, "dimension 0 of a is not a size"},
	{"{" ENTRY("a", "F32", "1e0", "0", "4") "}", 4, "dimension 0 of a is not a size"},
	{"{" ENTRY("a", "F32", "4294967296,4294967296", "0", "0") "}", 0,
	 "a has more elements than can be counted: [4294967296, 4294967296]"},
	{"{" ENTRY("a", "F32", "4611686018427387904", "0", "0") "}", 0,
	 "a has more elements than can be counted: [4611686018427387904]"},
	{"{" ENTRY("a", "F32", "99999999999999999999", "0", "0") "}", 0,
	 "its header is wrong at byte 57: too big integer near '99999999999999999999'"},
	{"{" ENTRY("a", "F32", "1", "0", "5") "}", 5, "a has 5 bytes, and [1] of F32 takes 4"},
	{"{" ENTRY("a", "F32", "", "0", "0") "}", 0, "a has 0 bytes, and [] of F32 takes 4"},
	{"{" ENTRY("a", "F32", "0", "0", "4") "}", 4, "a has 4 bytes, and [0] of F32 takes 0"},
	{"{" ENTRY("a", "F32", "2", "0", "8") "}", 4, "a lies at 0 to 8 of 4 bytes"},
	{"{" ENTRY("a", "F32", "1", "4", "0") "}", 8, "a lies at 4 to 0 of 8 bytes"},
	{"{" ENTRY("a", "F32", "1", "-4", "0") "}", 8, "a lies at -4 to 0 of 8 bytes"},
	{"{" ENTRY("a", "F32", "1", "0", "9223372036854775807") "}", 4,
	 "a lies at 0 to 9223372036854775807 of 4 bytes"},
	{"{" ENTRY("a", "F32", "1", "1", "5") "}", 5,
	 "there is a hole before a, at byte 1 of the data"},
	{"{" ENTRY("a", "F32", "1", "0", "4") "," ENTRY("b", "F32", "1", "5", "9") "}", 9,
	 "there is a hole before b, at byte 5 of the data"},
	{"{" ENTRY("a", "F32", "2", "0", "8") "," ENTRY("b", "F32", "1", "4", "8") "}", 8,
	 "tensors overlap before b, at byte 4 of the data"},
	{"{" ENTRY("a", "F32", "2", "0", "8") "," ENTRY("b", "F32", "2", "0", "8") "}", 8,
	 "tensors overlap before "},
	{"{" ENTRY("a", "F32", "2", "0", "8") "," ENTRY("b", "F32", "0", "4", "4") "}", 8,
	 "tensors overlap before b, at byte 4 of the data"},
	{"{" ENTRY("a", "F32", "1", "0", "4") "}", 5, "1 bytes after the last tensor"},
	{"{}", 1, "1 bytes after the last tensor"},
	{"{\"__metadata__\":{\"crc32\":\"00000000\"}}", 0, "damaged, its CRC-32 is "},
	{"{\"__metadata__\":{\"crc32\":\"0000000\"}}", 0, "its crc32 is not at byte 34"},
	{"{\"__metadata__\":{\"crc32\":\"\"}}", 0, "its crc32 is not at byte 34"},
	{"{\"__metadata__\":{\"a\":\"\",\"crc32\":\"00000000\"}}", 0,
	 "its crc32 is not at byte 34"},
	{"{\"__metadata__\":{\"crc32\":\"\\u00300000000\"}}", 0, "its crc32 is not at byte 34"},
};

START_TEST(bad_files)
{
	struct train_error error = {.status = TRAIN_OK};
	struct safetensors *file = NULL;
	char want[256];

	ck_assert_msg(!parsed(bad_rows[_i].header, bad_rows[_i].size, &file, &error), "%s is read",
		      bad_rows[_i].header);
	ck_assert_ptr_null(file);
	ROW_EQ_INT(bad_rows[_i].header, error.status, TRAIN_BAD_INPUT);
	snprintf(want, sizeof(want), "f: %s", bad_rows[_i].want);
	ck_assert_msg(strncmp(error.text, want, strlen(want)) == 0 &&
			      strstr(error.text, "; write the file again, or use another"),
		      "%s: '%s' is not '%s'", bad_rows[_i].header, error.text, want);
}
END_TEST

static const struct {
	const char *bytes;
	size_t size;
	const char *want;
} raw_rows[] = {
	{"", 0, "f: 0 bytes are not a safetensors file; "},
	{"\2\0\0\0\0\0\0", 7, "f: 7 bytes are not a safetensors file; "},
	{"\0\0\0\0\0\0\0\0", 8, "f: its header does not begin with {; "},
	{"\3\0\0\0\0\0\0\0{}", 10, "f: cut short, 10 bytes with a header of 3; "},
	{"\0\0\0\1\0\0\0\0{}", 10,
	 "f: no safetensors file, or a header of 16777216 bytes, more than 8388608; "},
	{"\xff\xff\xff\xff\xff\xff\xff\xff{}", 10,
	 "f: no safetensors file, or a header of 18446744073709551615 bytes, more than 8388608; "},
};

START_TEST(bad_beginnings)
{
	struct train_error error = {.status = TRAIN_OK};
	struct safetensors *file = NULL;

	ck_assert(!safetensors_parse(&file, raw_rows[_i].bytes, raw_rows[_i].size, "f", &error));
	ck_assert_int_eq(error.status, TRAIN_BAD_INPUT);
	ck_assert_msg(strncmp(error.text, raw_rows[_i].want, strlen(raw_rows[_i].want)) == 0, "%s",
		      error.text);
}
END_TEST

START_TEST(deep_header)
{
	struct train_error error = {.status = TRAIN_OK};
	struct safetensors *file = NULL;
	size_t n = 1 << 20;
	char *bytes = malloc(n);
	uint64_t length = n - 8;

	ck_assert_ptr_nonnull(bytes);
	memset(bytes, '[', n);
	memcpy(bytes, &length, 8);
	memcpy(bytes + 8, "{\"a\":", 5);
	ck_assert(!safetensors_parse(&file, bytes, n, "f", &error));
	ck_assert_ptr_nonnull(strstr(error.text, "maximum parsing depth reached"));
	free(bytes);
}
END_TEST

START_TEST(what_cannot_be_opened)
{
	static const struct {
		const char *path, *want;
	} rows[] = {
		{"none", "none: cannot read: No such file or directory; use another file"},
		{".", ".: no regular file; use another file"},
		{"fifo", "fifo: no regular file; use another file"},
		{"/dev/null", "/dev/null: no regular file; use another file"},
		{"sparse", "sparse: more than 16 GiB; use another file"},
	};

	ck_assert_int_eq(mkfifo("fifo", 0666), 0);
	spit("sparse", "", 0);
	if (truncate("sparse", ((off_t)16 << 30) + 1) < 0)
		ck_assert_int_eq(remove("sparse"), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct train_error error = {.status = TRAIN_OK};
		struct safetensors *file = NULL;

		if (strcmp(rows[i].path, "sparse") == 0 && access("sparse", F_OK) < 0)
			continue; /* this file system has no files so large */
		ck_assert(!safetensors_open(&file, rows[i].path, &error));
		ROW_EQ_STR(rows[i].path, error.text, rows[i].want);
		ROW_EQ_INT(rows[i].path, error.status, TRAIN_BAD_INPUT);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("safetensors-bad");
	TCase *tests = tcase_create("safetensors-bad");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, enter_folder, leave_folder);
	tcase_add_loop_test(tests, good_files, 0, sizeof(good_rows) / sizeof(*good_rows));
	tcase_add_loop_test(tests, bad_files, 0, sizeof(bad_rows) / sizeof(*bad_rows));
	tcase_add_loop_test(tests, bad_beginnings, 0, sizeof(raw_rows) / sizeof(*raw_rows));
	tcase_add_test(tests, deep_header);
	tcase_add_test(tests, what_cannot_be_opened);
	return unit_run(suite);
}
