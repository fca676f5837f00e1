/* SPDX-License-Identifier: MIT */
/* Files of processes: their paths, the starts of files, links, and what the status has. */
#include "base/process_path.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process_stat.h"
#include "base/readfile.h"
#include "tree.h"
#include "unit.h"

static void begin(void)
{
	static const struct file files[] = {{"text", "one\ntwo"}, {"empty", ""}};
	char path[4096];

	tree_make();
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		tree_put(&files[i]);
	snprintf(path, sizeof(path), "%s/link", tree_root());
	ck_assert_int_eq(symlink("text", path), 0);
}

static void end(void)
{
	tree_drop();
}

START_TEST(process_paths)
{
	errno = ESRCH;
	ck_assert_str_eq(PROCESS_PATH(4711, "fd/%d", 3), "/proc/4711/fd/3");
	ck_assert_str_eq(PROCESS_PATH(0, "stat"), "/proc/0/stat");
	ck_assert_str_eq(PROCESS_PATH(PROCESS_SELF, "exe"), "/proc/self/exe");
	ck_assert_str_eq(PROCESS_FOLDER(INT32_MAX), "/proc/2147483647/");
	ck_assert_int_eq(errno, ESRCH);
}
END_TEST

static const struct {
	const char *name, *path, *start;
	size_t room;
	ssize_t length;
	int error;
} start_rows[] = {
	{"whole", "text", "one\ntwo", 9, 7, 0},
	{"as far as it fits", "text", "one\ntw", 7, 6, 0},
	{"no room", "text", "", 1, 0, 0},
	{"empty", "empty", "", 9, 0, 0},
	{"missing", "missing", "", 9, -1, ENOENT},
	{"a folder", ".", "", 9, -1, EISDIR},
};

START_TEST(starts_of_files)
{
	char path[4096], got[16] = "before";

	snprintf(path, sizeof(path), "%s/%s", tree_root(), start_rows[_i].path);
	errno = 0;
	ROW_EQ_INT(start_rows[_i].name, read_start(got, start_rows[_i].room, path),
		   start_rows[_i].length);
	if (start_rows[_i].error)
		ROW_EQ_INT(start_rows[_i].name, errno, start_rows[_i].error);
	ROW_EQ_STR(start_rows[_i].name, got, start_rows[_i].start);
}
END_TEST

static const struct {
	const char *name, *path, *target;
	size_t room;
	int error;
} link_rows[] = {
	{"a link", "link", "text", 5, 0},
	{"no room for its NUL", "link", "", 4, ENAMETOOLONG},
	{"a file", "text", "", 9, EINVAL},
	{"missing", "missing", "", 9, ENOENT},
};

START_TEST(links)
{
	char path[4096], got[16] = "before";

	snprintf(path, sizeof(path), "%s/%s", tree_root(), link_rows[_i].path);
	ROW_EQ_INT(link_rows[_i].name, read_link(got, link_rows[_i].room, path),
		   !link_rows[_i].error);
	if (link_rows[_i].error)
		ROW_EQ_INT(link_rows[_i].name, errno, link_rows[_i].error);
	ROW_EQ_STR(link_rows[_i].name, got, link_rows[_i].target);
}
END_TEST

/* The line of a user's groups comes before that of the numbers. */
START_TEST(process_status)
{
	enum { GROUPS = 3000 };
	int64_t numbers[MAX_PID_SPACES];
	gid_t groups[GROUPS];
	pid_t child = fork();
	int status;

	for (int i = 0; i < GROUPS; i++)
		groups[i] = 1000000000 + (gid_t)i;
	if (child == 0) {
		bool many = setgroups(GROUPS, groups) == 0;
		size_t count = process_numbers(numbers, getpid());

		_exit(many && (!count || numbers[count - 1] != getpid()));
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(process_user(getpid()), getuid());
	ck_assert_int_eq(process_effective_user(getpid()), geteuid());
	ck_assert_int_eq(process_parent(getpid()), getppid());
	ck_assert_int_eq(process_user(0), -1);
	ck_assert_int_eq(process_effective_user(0), -1);
	ck_assert_int_eq(process_parent(0), 0);
	ck_assert_uint_eq(process_numbers(numbers, 0), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("process path");
	TCase *tests = tcase_create("files");

	suite_add_tcase(suite, tests);
	tcase_add_unchecked_fixture(tests, begin, end);
	tcase_add_test(tests, process_paths);
	tcase_add_loop_test(tests, starts_of_files, 0, ARRAY_SIZE(start_rows));
	tcase_add_loop_test(tests, links, 0, ARRAY_SIZE(link_rows));
	tcase_add_test(tests, process_status);
	return unit_run(suite);
}
