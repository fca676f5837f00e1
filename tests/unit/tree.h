/* SPDX-License-Identifier: MIT */
/* Trees of small files, such as a made-up /proc and /sys. */
#ifndef GM_TREE_H
#define GM_TREE_H

struct file {
	const char *path, *text;
};

/* Where the tree is. Valid between tree_make and tree_drop, which suit a fixture. */
const char *tree_root(void);
void tree_make(void);
void tree_put(const struct file *file);
void tree_drop(void);

#endif
