/* SPDX-License-Identifier: MIT */
#include "supervisor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open /* headers older than the kernel; one number on all machines */
#define SYS_pidfd_open 434
#define SYS_pidfd_send_signal 424
#endif

struct node {
	pid_t pid, parent, group;
	bool dead, chosen;
	uint64_t start; /* with the pid, names a process for good */
};

struct tree {
	struct node *nodes;
	size_t count, room;
};

/* The fields after the name in /proc/PID/stat; the name may hold anything. */
static bool read_node(pid_t pid, struct node *node)
{
	char path[48], text[1024], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	p = strrchr(text, ')');
	if (!p || p[1] != ' ' || !p[2])
		return false;
	*node = (struct node){.pid = pid, .dead = p[2] == 'Z' || p[2] == 'X'};
	p += 3;
	node->parent = (pid_t)strtol(p, &p, 10);
	node->group = (pid_t)strtol(p, NULL, 10);
	for (int field = 5; p && field <= 22; field++) {
		p = strchr(p + 1, ' ');
		if (field == 21 && p)
			node->start = strtoull(p, NULL, 10);
	}
	return true;
}

static bool add_node(struct tree *tree, const struct node *node)
{
	if (tree->count == tree->room) {
		size_t room = tree->room ? 2 * tree->room : 1024;
		struct node *nodes = reallocarray(tree->nodes, room, sizeof(*nodes));

		if (!nodes)
			return false;
		tree->nodes = nodes;
		tree->room = room;
	}
	tree->nodes[tree->count++] = *node;
	return true;
}

static struct tree read_tree(void)
{
	struct tree tree = {0};
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	while (dir && (entry = readdir(dir))) {
		int64_t pid = span_number(span_of(entry->d_name), INT32_MAX);
		struct node node;

		if (pid > 0 && read_node((pid_t)pid, &node) && !add_node(&tree, &node))
			break;
	}
	if (dir)
		closedir(dir);
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

/* Marks the descendants: a node is chosen when its parent is; repeated until nothing changes,
 * which takes as many rounds as the tree is deep against the order of pids. */
static void choose(struct tree *tree, pid_t root, const struct tree_except *except)
{
	bool changed = tree->count > 0;

	if (changed)
		qsort(tree->nodes, tree->count, sizeof(*tree->nodes), by_pid);
	while (changed) {
		changed = false;
		for (size_t i = 0; i < tree->count; i++) {
			struct node *node = &tree->nodes[i];
			struct node key = {.pid = node->parent};
			struct node *parent;

			if (node->chosen)
				continue;
			parent = bsearch(&key, tree->nodes, tree->count, sizeof(key), by_pid);
			if (node->parent != root && !(parent && parent->chosen))
				continue;
			if (node->parent == root &&
			    has(except->spared, except->spared_count, node->pid))
				continue;
			node->chosen = changed = true;
		}
	}
}

/* A pid may be another process by now: look again once it is held. */
static void send_signal(const struct node *node, int sig)
{
	int fd = (int)syscall(SYS_pidfd_open, node->pid, 0);
	struct node again;
	bool same;

	if (fd < 0 && errno == ESRCH)
		return;
	same = read_node(node->pid, &again) && again.start == node->start;
	if (same && fd >= 0) {
		syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
		if (sig != SIGKILL)
			syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0);
	} else if (same) { /* a kernel without pidfd */
		kill(node->pid, sig);
		kill(node->pid, SIGCONT);
	}
	if (fd >= 0)
		close(fd);
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

		if (!node->chosen || node->dead ||
		    has(except->groups, except->group_count, node->group))
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
		if (tree.nodes[i].parent == root)
			ret[count++] = tree.nodes[i].pid;
	free(tree.nodes);
	return count;
}
