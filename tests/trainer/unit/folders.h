/* SPDX-License-Identifier: MIT */
/* A folder of the test's own, and files in it. */
#ifndef TRAIN_TEST_FOLDERS_H
#define TRAIN_TEST_FOLDERS_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

static char folder_of_test[64];

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

/* For tcase_add_checked_fixture: the folder is the current one. */
static inline void enter_folder(void)
{
	snprintf(folder_of_test, sizeof(folder_of_test), "/tmp/gpumap-t-train-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder_of_test));
	ck_assert_int_eq(chdir(folder_of_test), 0);
}

static inline void leave_folder(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(nftw(folder_of_test, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* All of a file; the caller's. */
static inline char *slurp(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	char *bytes;

	ck_assert_msg(fd >= 0, "cannot open %s", path);
	ck_assert_int_eq(fstat(fd, &st), 0);
	*size = (size_t)st.st_size;
	bytes = malloc(*size + 1);
	ck_assert_ptr_nonnull(bytes);
	ck_assert_int_eq(read(fd, bytes, *size), (ssize_t)*size);
	close(fd);
	return bytes;
}

static inline void spit(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	ck_assert_msg(fd >= 0, "cannot write %s", path);
	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
	ck_assert_int_eq(close(fd), 0);
}

#endif
