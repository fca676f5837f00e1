/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/cifar10.h"
#include "unit.h"
#include "vectors.h"

enum { FILES = 6, RECORDS = 3 };

static const char *const names[FILES] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
					 "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
static char folder[64];

static const char *path(const char *name)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s/%s", folder, name);
	return text;
}

/* Byte i of record r of file f, after its label (f + r) % 10. */
static int byte_of(int f, int r, int i)
{
	return (f * 50 + r * 10 + i) % 256;
}

static void write_file(int f, int records)
{
	FILE *file = fopen(path(names[f]), "wb");

	ck_assert_ptr_nonnull(file);
	for (int r = 0; r < records; r++) {
		fputc((f + r) % 10, file);
		for (int i = 0; i < 3072; i++)
			fputc(byte_of(f, r, i), file);
	}
	ck_assert_int_eq(fclose(file), 0);
}

static void set_up(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%.40s/cifar10-XXXXXX",
		 tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	for (int f = 0; f < FILES; f++)
		write_file(f, RECORDS);
}

static void tear_down(void)
{
	ck_assert_int_eq(seteuid(getuid()), 0);
	for (int f = 0; f < FILES; f++)
		remove(path(names[f]));
	rmdir(folder);
}

static void check_records(const struct dataset *d, int from, int files)
{
	const uint8_t *r = d->records;

	ck_assert_int_eq(d->samples, files * RECORDS);
	for (int f = from; f < from + files; f++)
		for (int n = 0; n < RECORDS; n++, r += 3073) {
			ck_assert_int_eq(r[0], (f + n) % 10);
			for (int i = 0; i < 3072; i++)
				ck_assert_int_eq(r[1 + i], byte_of(f, n, i));
		}
}

START_TEST(parts)
{
	struct train_error error = {.status = TRAIN_OK};
	struct dataset train, test;

	ck_assert_msg(cifar10_read(&train, folder, CIFAR10_TRAIN, RECORDS, &error), "%s",
		      error.text);
	ck_assert_msg(cifar10_read(&test, folder, CIFAR10_TEST, 0, &error), "%s", error.text);
	check_records(&train, 0, 5);
	check_records(&test, 5, 1);
	ck_assert_int_eq(test.classes, 10);
	ck_assert(test.shape.channels == 3 && test.shape.height == 32 && test.shape.width == 32);
	ck_assert(test.values[0] == -0.4914f / 0.2470f);
	dataset_free(&train);
	dataset_free(&test);
}
END_TEST

static void remove_third(void)
{
	ck_assert_int_eq(remove(path(names[2])), 0);
}

static void cut_third(void)
{
	ck_assert_int_eq(truncate(path(names[2]), 3 * 3073 - 1), 0);
}

static void cut_third_at_a_record(void)
{
	ck_assert_int_eq(truncate(path(names[2]), 2 * 3073), 0);
}

static void empty_third(void)
{
	ck_assert_int_eq(truncate(path(names[2]), 0), 0);
}

static void folder_for_third(void)
{
	remove_third();
	ck_assert_int_eq(mkdir(path(names[2]), 0700), 0);
}

static void fifo_for_third(void)
{
	remove_third();
	ck_assert_int_eq(mkfifo(path(names[2]), 0600), 0);
}

static void loop_for_third(void)
{
	remove_third();
	ck_assert_int_eq(symlink(names[2], path(names[2])), 0);
}

/* Root reads everything, so it becomes another user until tear_down. */
static void closed_third(void)
{
	ck_assert_int_eq(chmod(path(names[2]), 0), 0);
	ck_assert_int_eq(chmod(folder, 0755), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
}

static void wrong_label(void)
{
	FILE *file = fopen(path(names[2]), "r+b");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fseek(file, 3073, SEEK_SET), 0);
	fputc(11, file);
	ck_assert_int_eq(fclose(file), 0);
}

static const struct {
	void (*damage)(void);
	int64_t records;
	const char *want;
} damages[] = {
	{remove_third, 0, "No such file or directory; name a folder"},
	{cut_third, 0, "record 2 has 3072 bytes, not 3073"},
	{cut_third, RECORDS, "9218 bytes, not 9219 (3 records of 3073)"},
	{cut_third_at_a_record, RECORDS, "6146 bytes, not 9219"},
	{empty_third, 0, "it is empty"},
	{empty_third, RECORDS, "0 bytes, not 9219"},
	{folder_for_third, 0, "not a regular file"},
	{fifo_for_third, 0, "not a regular file"},
	{loop_for_third, 0, "Too many levels of symbolic links"},
	{closed_third, 0, "Permission denied"},
	{wrong_label, 0, "record 1 (at byte 3073): the label is 11, not 0 to 9"},
};

START_TEST(damaged)
{
	struct train_error error = {.status = TRAIN_OK};
	struct dataset d;

	damages[_i].damage();
	ck_assert(!cifar10_read(&d, folder, CIFAR10_TRAIN, damages[_i].records, &error));
	ROW_EQ_INT(damages[_i].want, error.status, TRAIN_BAD_INPUT);
	ck_assert_msg(strstr(error.text, path("data_batch_3.bin: ")) == error.text &&
			      strstr(error.text, damages[_i].want),
		      "%s is not in: %s", damages[_i].want, error.text);
}
END_TEST

START_TEST(other_files_do_not_matter)
{
	struct train_error error = {.status = TRAIN_OK};
	struct dataset d;

	remove_third();
	ck_assert(cifar10_read(&d, folder, CIFAR10_TEST, RECORDS, &error));
	dataset_free(&d);
}
END_TEST

static const struct {
	const char *name;
	size_t length;
	const char *want;
} folders[] = {
	{"long", 300, "/test_batch.bin: File name too long"},
	{"too long", 5000, "File name too long"},
	{"none", 0, "/test_batch.bin: No such file"},
};

START_TEST(folder_names)
{
	struct train_error error = {.status = TRAIN_OK};
	char name[5001];
	struct dataset d;

	memset(name, 'x', folders[_i].length);
	name[folders[_i].length] = '\0';
	ck_assert(!cifar10_read(&d, name, CIFAR10_TEST, 0, &error));
	ROW_EQ_INT(folders[_i].name, error.status, TRAIN_BAD_INPUT);
	ck_assert_msg(strstr(error.text, folders[_i].want) != NULL, "%s", error.text);
	ck_assert_msg(strstr(error.text, "cifar-10-binary.tar.gz") != NULL, "%s", error.text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cifar10");
	TCase *tests = tcase_create("cifar10");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, parts);
	tcase_add_loop_test(tests, damaged, 0, ROWS(damages));
	tcase_add_test(tests, other_files_do_not_matter);
	tcase_add_loop_test(tests, folder_names, 0, ROWS(folders));
	return unit_run(suite);
}
