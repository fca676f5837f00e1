/* SPDX-License-Identifier: MIT */
/* Files below a root, whose links lead out of it, in circles, and too deep. */
#include "base/rootfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/readfile.h"
#include "tree.h"
#include "unit.h"

static const struct file files[] = {{"top", "top"},           {"a/b/file", "deep"},
				    {"etc/passwd", "inside"}, {"a/empty/x", ""},
				    {"a/in/one", "one"},      {"proc/self/fd/x", ""}};

static const struct link {
	const char *path, *target;
} links[] = {
	{"near", "a/b/file"},
	{"absolute", "/a/b/file"},
	{"folder", "/a/b/"},
	{"a/b/up", "../../top"},
	{"a/out", "../../../../../../etc/passwd"},
	{"away", "/etc/passwd"},
	{"chain", "near"},
	{"root", "/"},
	{"circle", "circle"},
	{"one", "two"},
	{"two", "/one"},
	{"dangling", "nothing"},
	{"through", "top/file"},
	{"a/b/dots", "./.././b/./file"},
};

static const struct {
	const char *path;
	int error;
	const char *text, *real; /* of a file; NULL: a folder */
} cases[] = {
	{"/top", 0, "top", "/top"},
	{"top", 0, "top", "/top"},
	{"//a///b//file", 0, "deep", "/a/b/file"},
	{"/a/./b/../b/file", 0, "deep", "/a/b/file"},
	{"/near", 0, "deep", "/a/b/file"},
	{"/absolute", 0, "deep", "/a/b/file"},
	{"/folder/file", 0, "deep", "/a/b/file"},
	{"/folder/up", 0, "top", "/top"},
	{"/folder/../in/one", 0, "one", "/a/in/one"},
	{"/chain", 0, "deep", "/a/b/file"},
	{"/root/root/a/b/dots", 0, "deep", "/a/b/file"},
	{"/a/out", 0, "inside", "/etc/passwd"},
	{"/away", 0, "inside", "/etc/passwd"},
	{"/../../etc/passwd", 0, "inside", "/etc/passwd"},
	{"/", 0, NULL, ""},
	{"/..", 0, NULL, ""},
	{"/root", 0, NULL, ""},
	{"/a/b", 0, NULL, "/a/b"},
	{"/a/b/", 0, NULL, "/a/b"},
	{"/a/b/.", 0, NULL, "/a/b"},
	{"/folder", 0, NULL, "/a/b"},
	{"/nothing", ENOENT, NULL, NULL},
	{"/dangling", ENOENT, NULL, NULL},
	{"/a/nothing/file", ENOENT, NULL, NULL},
	{"/top/file", ENOTDIR, NULL, NULL},
	{"/top/", ENOTDIR, NULL, NULL},
	{"/top/..", ENOTDIR, NULL, NULL},
	{"/near/.", ENOTDIR, NULL, NULL},
	{"/through", ENOTDIR, NULL, NULL},
	{"/circle", ELOOP, NULL, NULL},
	{"/one", ELOOP, NULL, NULL},
	{"/one/file", ELOOP, NULL, NULL},
};

static int open_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

static void begin(void)
{
	char path[4096];

	tree_make();
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		tree_put(&files[i]);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		snprintf(path, sizeof(path), "%s/%s", tree_root(), links[i].path);
		ck_assert_int_eq(symlink(links[i].target, path), 0);
	}
}

static void end(void)
{
	tree_drop();
}

START_TEST(path_below)
{
	const char *name = cases[_i].path;
	int before = open_descriptors(), error;
	char *text = NULL, real[4096];
	struct stat about;
	size_t size;
	DIR *folder;

	error = root_stat(tree_root(), name, &about);
	ck_assert_msg(error == cases[_i].error, "%s: %s", name, strerror(error));
	error = root_real(tree_root(), name, real, sizeof(real));
	ck_assert_msg(error == cases[_i].error, "%s: real: %s", name, strerror(error));
	if (!error)
		ck_assert_str_eq(real, cases[_i].real);
	error = root_read(tree_root(), name, 100, &text, &size);
	if (cases[_i].text) {
		ck_assert_msg(error == 0, "%s: read: %s", name, strerror(error));
		ck_assert_str_eq(text, cases[_i].text);
		free(text);
		ck_assert_ptr_null(root_folder(tree_root(), name));
		ck_assert_int_eq(errno, ENOTDIR);
	} else if (cases[_i].error) {
		ck_assert_msg(error == cases[_i].error, "%s: read: %s", name, strerror(error));
	} else {
		ck_assert_msg(error == EISDIR, "%s: read: %s", name, strerror(error));
		folder = root_folder(tree_root(), name);
		ck_assert_msg(folder, "%s: folder: %s", name, strerror(errno));
		closedir(folder);
	}
	ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

/* Folders, then a file, below each other; the last one that fits and the first one that does not.
 */
START_TEST(depth)
{
	char path[4096] = "";
	struct stat about;
	int before = open_descriptors();

	for (int i = 0; i < 62; i++)
		strcat(path, "d/");
	strcat(path, "x");
	tree_put(&(struct file){path, "62 folders"});
	ck_assert_int_eq(root_stat(tree_root(), path, &about), 0);
	strcpy(path + strlen(path) - 1, "d/x");
	tree_put(&(struct file){path, "63 folders"});
	ck_assert_int_eq(root_stat(tree_root(), path, &about), ENAMETOOLONG);
	ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

START_TEST(length)
{
	static char path[20000];
	struct stat about;

	memset(path, 'x', 300);
	ck_assert_int_eq(root_stat(tree_root(), path, &about), ENAMETOOLONG);
	memset(path, '/', sizeof(path) - 1);
	ck_assert_int_eq(root_stat(tree_root(), path, &about), ENAMETOOLONG);
	path[5000] = '\0';
	ck_assert_int_eq(root_stat(tree_root(), path, &about), 0);
	ck_assert_int_eq(root_stat("/nothing/here", "/", &about), ENOENT);
}
END_TEST

START_TEST(pipe_is_not_waited_for)
{
	char path[4096], *text;
	size_t size;

	snprintf(path, sizeof(path), "%s/pipe", tree_root());
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(root_read(tree_root(), "/pipe", 100, &text, &size), ENOTSUP);
	ck_assert_int_eq(root_read(tree_root(), "/top", 2, &text, &size), EFBIG);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rootfile");
	TCase *tests = tcase_create("rootfile");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_loop_test(tests, path_below, 0, ARRAY_SIZE(cases));
	tcase_add_test(tests, depth);
	tcase_add_test(tests, length);
	tcase_add_test(tests, pipe_is_not_waited_for);
	return unit_run(suite);
}
