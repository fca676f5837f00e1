/* SPDX-License-Identifier: MIT */
/* Removes a folder with all below it. */
#include "remove_tree.h"

#include <ftw.h>
#include <stdio.h>

static int drop(const char *path, const struct stat *about, int type, struct FTW *where)
{
	remove(path);
	return 0;
}

void remove_tree(const char *path)
{
	nftw(path, drop, 8, FTW_PHYS | FTW_DEPTH);
}
