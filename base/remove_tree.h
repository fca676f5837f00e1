/* SPDX-License-Identifier: MIT */
#ifndef GM_REMOVE_TREE_H
#define GM_REMOVE_TREE_H

/* Removes a folder and all in it, but follows no link. What cannot be removed stays. For folders in
 * which no other user can write. */
void remove_tree(const char *path);

#endif
