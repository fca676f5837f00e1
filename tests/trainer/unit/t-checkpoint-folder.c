/* SPDX-License-Identifier: MIT */
/* Damaged checkpoints, and which one of a folder is used, kept or removed. */
#include <math.h>

#include "folders.h"
#include "models.h"

static void name_of(char *path, size_t size, int step)
{
	snprintf(path, size, "c/checkpoint-%012d.safetensors", step);
}

static void flip(int step, size_t at)
{
	char path[64], *bytes;
	size_t size;

	name_of(path, sizeof(path), step);
	bytes = slurp(path, &size);
	bytes[at % size] ^= 1;
	spit(path, bytes, size);
	free(bytes);
}

static bool exists(int step)
{
	char path[64];

	name_of(path, sizeof(path), step);
	return access(path, F_OK) == 0;
}

/* --- damage --------------------------------------------------------------------------- */

/* Whether a file of these bytes can be resumed from. */
static bool resumes(const char *bytes, size_t size)
{
	struct train_error error = {.status = TRAIN_OK};
	struct safetensors *file = NULL;
	struct model to;
	bool good;

	model_make(&to, 0);
	if (!safetensors_parse(&file, bytes, size, "f", &error))
		return false;
	good = checkpoint_load(&to.checkpoint, file, &error);
	safetensors_free(file);
	return good;
}

START_TEST(every_bit)
{
	char *bytes;
	size_t size;

	model_save("c", 7, 1);
	bytes = slurp("c/checkpoint-000000000007.safetensors", &size);
	ck_assert(resumes(bytes, size));
	for (size_t at = 0; at < size; at++)
		for (int bit = 0; bit <= 8; bit++) { /* the ninth time all of them */
			char flipped = (char)(bit == 8 ? 0xff : 1 << bit);

			bytes[at] ^= flipped;
			if (resumes(bytes, size))
				ck_abort_msg("byte %zu, bit %d is not found", at, bit);
			bytes[at] ^= flipped;
		}
	free(bytes);
}
END_TEST

START_TEST(every_cut)
{
	char *bytes, *longer;
	size_t size;

	model_save("c", 7, 1);
	bytes = slurp("c/checkpoint-000000000007.safetensors", &size);
	for (size_t cut = 0; cut < size; cut++) {
		char *exact = malloc(cut + 1); /* so that reading past it is seen */

		memcpy(exact, bytes, cut);
		if (resumes(exact, cut))
			ck_abort_msg("cut at %zu", cut);
		free(exact);
	}
	longer = calloc(1, size + 100);
	memcpy(longer, bytes, size);
	ck_assert(resumes(longer, size));
	for (size_t more = 1; more <= 100; more++)
		ck_assert(!resumes(longer, size + more));
	free(longer);
	free(bytes);
}
END_TEST

/* --- the folder ------------------------------------------------------------------------- */

START_TEST(damaged_ones_are_passed_over)
{
	struct train_error error = {.status = TRAIN_OK};
	struct safetensors *file = NULL;
	struct refusals refusals;

	ck_assert_int_eq(newest_step("c", &refusals), -1);
	ck_assert_int_eq(mkdir("c", 0777), 0);
	ck_assert_int_eq(newest_step("c", &refusals), -1);
	for (int step = 8; step <= 12; step++)
		model_save("c", step, 0);
	ck_assert_int_eq(newest_step("c", &refusals), 12);
	ck_assert_int_eq(refusals.count, 0);
	flip(12, 1200);
	ck_assert_int_eq(truncate("c/checkpoint-000000000011.safetensors", 100), 0);
	spit("c/checkpoint-000000000010.safetensors", "", 0);
	ck_assert_int_eq(newest_step("c", &refusals), 9);
	ck_assert_int_eq(refusals.count, 3);
	ck_assert_str_eq(refusals.last, "c/checkpoint-000000000010.safetensors: 0 bytes are not "
					"a safetensors file; write the file again, or use another");
	flip(9, 40); /* in the checksum itself */
	flip(8, 26); /* its name */
	ck_assert(!checkpoint_newest(&file, "c", model_refused, &refusals, &error));
	ck_assert_str_eq(
		error.text,
		"c: all 5 checkpoints are damaged, or of a run that diverged; name another folder");
	ck_assert_int_eq(error.status, TRAIN_BAD_INPUT);
	ck_assert_str_eq(refusals.last,
			 "c/checkpoint-000000000008.safetensors: damaged, it has lost "
			 "its CRC-32; use another checkpoint");
	ck_assert_ptr_null(file);
}
END_TEST

/* What the optimizer keeps may be infinite. */
START_TEST(diverged_ones_are_passed_over)
{
	struct train_error error = {.status = TRAIN_OK};
	struct refusals refusals;
	struct model m;

	model_save("c", 1, 0);
	for (int step = 2; step <= 3; step++) {
		model_make(&m, step);
		m.values[0][1][step - 2] = step == 2 ? NAN : -INFINITY;
		ck_assert(checkpoint_save("c", &m.checkpoint, 0, &error));
	}
	ck_assert_int_eq(newest_step("c", &refusals), 1);
	ck_assert_int_eq(refusals.count, 2);
	ck_assert_str_eq(refusals.last,
			 "c/checkpoint-000000000002.safetensors: fc1.bias has a value that is not "
			 "finite (nan, element 0): its run diverged; use earlier weights");
	model_make(&m, 4);
	m.values[1][1][0] = NAN;
	ck_assert(checkpoint_save("c", &m.checkpoint, 0, &error));
	ck_assert_int_eq(newest_step("c", &refusals), 4);
	ck_assert_int_eq(refusals.count, 0);
}
END_TEST

START_TEST(the_newest_are_kept)
{
	struct refusals refusals;

	for (int step = 1; step <= 5; step++)
		model_save("c", step, 3);
	for (int step = 1; step <= 5; step++)
		ROW_EQ_INT("kept", exists(step), step >= 3);
	flip(5, 700);
	model_save("c", 4, 1); /* resumed from 3, since 5 is damaged */
	for (int step = 1; step <= 5; step++)
		ROW_EQ_INT("later ones stay", exists(step), step >= 4);
	ck_assert_int_eq(newest_step("c", &refusals), 4);
	ck_assert_int_eq(refusals.count, 1);
	model_save("c", 5, 1); /* takes the place of the damaged one */
	ck_assert_int_eq(newest_step("c", &refusals), 5);
	ck_assert_int_eq(refusals.count, 0);
	ck_assert(!exists(4));
}
END_TEST

/* Files with other names are not taken for checkpoints, and not removed. */
START_TEST(other_files_stay)
{
	static const char *const names[] = {
		"checkpoint-1.safetensors",
		"checkpoint-000000000001.safetensors.bak",
		"checkpoint--00000000001.safetensors",
		"checkpoint-.safetensors",
		"checkpoint-99999999999999999999.safetensors",
		"model.safetensors",
		"a-b",
		"-",
	};
	struct refusals refusals;

	ck_assert_int_eq(mkdir("c", 0777), 0);
	ck_assert_int_eq(chdir("c"), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		spit(names[i], "x", 1);
	ck_assert_int_eq(newest_step(".", &refusals), -1);
	model_save(".", 5, 1);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		ROW_EQ_INT(names[i], access(names[i], F_OK), 0);
	ck_assert_int_eq(newest_step(".", &refusals), 5);
	ck_assert_int_eq(refusals.count, 0);
}
END_TEST

START_TEST(bad_folders)
{
	static const struct {
		const char *path, *want;
	} rows[] = {
		{"none/c",
		 "none/c/checkpoint-000000000001.safetensors: cannot open its folder: No such "
		 "file or directory; make the folder above it first"},
		{"file", "file/checkpoint-000000000001.safetensors: cannot open its folder: Not a "
			 "directory; write to another folder"},
		{"",
		 "/checkpoint-000000000001.safetensors: cannot open its folder: No such file or "
		 "directory; make the folder above it first"},
		{"taken",
		 "taken/checkpoint-000000000001.safetensors: cannot rename: Is a directory; "
		 "write to another folder"},
	};
	struct refusals refusals;

	spit("file", "", 0);
	ck_assert_int_eq(mkdir("taken", 0777), 0);
	ck_assert_int_eq(mkdir("taken/checkpoint-000000000001.safetensors", 0777), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct train_error error = {.status = TRAIN_OK};
		struct model m;

		model_make(&m, 1);
		ck_assert(!checkpoint_save(rows[i].path, &m.checkpoint, 1, &error));
		ROW_EQ_STR(rows[i].path, error.text, rows[i].want);
		ROW_EQ_INT(rows[i].path, error.status, TRAIN_FAILED);
	}
	ck_assert_int_eq(rmdir("taken/checkpoint-000000000001.safetensors"), 0);
	ck_assert_int_eq(rmdir("taken"), 0); /* nothing else was left there */
	ck_assert_int_eq(newest_step("none/c", &refusals), -1);
}
END_TEST

/* A checkpoint that may not be read is not a damaged one: nothing older is taken instead. */
START_TEST(unreadable)
{
	struct train_error error = {.status = TRAIN_OK};
	struct safetensors *file = NULL;
	struct refusals refusals = {0};
	bool good;

	model_save("c", 1, 0);
	model_save("c", 2, 0);
	ck_assert_int_eq(chmod("c/checkpoint-000000000002.safetensors", 0), 0);
	ck_assert_int_eq(chmod(".", 0755), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	good = checkpoint_newest(&file, "c", model_refused, &refusals, &error);
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert(!good);
	ck_assert_str_eq(error.text,
			 "c/checkpoint-000000000002.safetensors: cannot open: Permission "
			 "denied; make it readable, or remove it");
	ck_assert_int_eq(refusals.count, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("checkpoint-folder");
	TCase *tests = tcase_create("checkpoint-folder");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, enter_folder, leave_folder);
	tcase_add_test(tests, every_bit);
	tcase_add_test(tests, every_cut);
	tcase_add_test(tests, damaged_ones_are_passed_over);
	tcase_add_test(tests, diverged_ones_are_passed_over);
	tcase_add_test(tests, the_newest_are_kept);
	tcase_add_test(tests, other_files_stay);
	tcase_add_test(tests, bad_folders);
	tcase_add_test(tests, unreadable);
	return unit_run(suite);
}
