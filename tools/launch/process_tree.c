/* SPDX-License-Identifier: MIT */
/* See process_tree.h. */
#include "process_tree.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "closing.h"
#include "process_handle.h"
#include "process_stat.h"
#include "text.h"

#ifndef SYS_pidfd_send_signal /* in headers older than the kernel; the same on all machines */
#define SYS_pidfd_send_signal 424
#endif

struct node {
	pid_t pid;
	struct process_stat stat;
	bool chosen;
};

struct tree {
	struct node *nodes;
	size_t count, room;
};

static struct tree read_tree(void)
{
	struct tree tree = {0};
	CLEANUP_FOLDER DIR *proc = opendir("/proc");
	pid_t pid;

	while ((pid = process_next(proc)) && ARRAY_ROOM(tree.nodes, tree.count, tree.room)) {
		struct node *node = &tree.nodes[tree.count];

		*node = (struct node){.pid = pid};
		tree.count += process_stat_read(&node->stat, pid);
	}
	return tree;
}

static int by_pid(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool has(const pid_t *pids, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* Marks descendants: a node is chosen if its parent is. This repeats until nothing changes, with as
 * many rounds as the tree is deep against the order of pids. */
static void choose(struct tree *tree, pid_t root, const struct tree_except *except)
{
	bool changed = tree->count > 0;

	if (changed)
		qsort(tree->nodes, tree->count, sizeof(*tree->nodes), by_pid);
	while (changed) {
		changed = false;
		for (size_t i = 0; i < tree->count; i++) {
			struct node *node = &tree->nodes[i];
			struct node key = {.pid = node->stat.parent};
			struct node *parent;

			if (node->chosen)
				continue;
			parent = bsearch(&key, tree->nodes, tree->count, sizeof(key), by_pid);
			if (node->stat.parent != root && !(parent && parent->chosen))
				continue;
			if (node->stat.parent == root &&
			    has(except->spared, except->spared_count, node->pid))
				continue;
			node->chosen = changed = true;
		}
	}
}

/* The pid may be another process by now, so check again once it is held. */
static void send_signal(const struct node *node, int sig)
{
	CLEANUP_CLOSE int fd = process_pidfd(node->pid);
	struct process_stat again;
	bool same;

	if (fd < 0 && errno == ESRCH)
		return;
	same = process_stat_read(&again, node->pid) && again.start == node->stat.start;
	if (same && fd >= 0) {
		syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
		if (sig != SIGKILL)
			syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0);
	} else if (same) { /* a kernel without pidfd */
		kill(node->pid, sig);
		kill(node->pid, SIGCONT);
	}
}

size_t tree_signal(pid_t root, const struct tree_except *except, int sig)
{
	static const struct tree_except none = {0};
	struct tree tree = read_tree();
	size_t living = 0;

	except = except ? except : &none;
	choose(&tree, root, except);
	for (size_t i = 0; i < tree.count; i++) {
		const struct node *node = &tree.nodes[i];

		if (!node->chosen || node->stat.dead ||
		    has(except->groups, except->group_count, node->stat.group))
			continue;
		living++;
		if (sig)
			send_signal(node, sig);
	}
	free(tree.nodes);
	return living;
}

size_t tree_children(pid_t root, pid_t *ret, size_t room)
{
	struct tree tree = read_tree();
	size_t count = 0;

	for (size_t i = 0; i < tree.count && count < room; i++)
		if (tree.nodes[i].stat.parent == root)
			ret[count++] = tree.nodes[i].pid;
	free(tree.nodes);
	return count;
}
