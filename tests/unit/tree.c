/* SPDX-License-Identifier: MIT */
#include "tree.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

static char root[] = "/tmp/t-tree-XXXXXX";

const char *tree_root(void)
{
	return root;
}

void tree_make(void)
{
	ck_assert_ptr_nonnull(mkdtemp(root));
}

void tree_put(const struct file *file)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, file->path);
	for (char *p = path + sizeof(root); (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		mkdir(path, 0700);
	}
	f = fopen(path, "w");
	ck_assert_msg(f, "%s: %s", path, strerror(errno));
	fputs(file->text, f);
	fclose(f);
}

static int drop(const char *path, const struct stat *about, int kind, struct FTW *walk)
{
	return remove(path);
}

void tree_drop(void)
{
	nftw(root, drop, 8, FTW_DEPTH | FTW_PHYS);
	strcpy(root + sizeof(root) - 7, "XXXXXX");
}
