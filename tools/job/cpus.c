/* SPDX-License-Identifier: MIT */
/* The CPUs of this machine: which thread is of which core and node, and which are allowed. */
#include "job/cpus.h"

#include <errno.h>
#include <stdio.h>

#include "closing.h"
#include "cpuset.h"
#include "inventory/host.h"

enum { LIST_ROOM = 65536 };

struct reader {
	const char *root;
	struct arena *arena, scratch;
	char *text; /* LIST_ROOM bytes of the last file */
	size_t count;
	int *core, *node;
};

/* Parses the list in the last file. False: it is malformed. */
static bool parse_list(struct reader *x, struct cpu_set *ret)
{
	return cpu_set_parse(&x->scratch, ret, span_of(x->text));
}

/* The core of a CPU: all threads of a core list the same first one. Kernels before 5.2 have only
 * the older file name. */
static int core_of(struct reader *x, size_t cpu)
{
	static const char *const names[] = {"core_cpus_list", "thread_siblings_list"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct span first = {x->text, 0};
		int64_t number;

		if (!host_read(x->text, LIST_ROOM, x->root,
			       "/sys/devices/system/cpu/cpu%zu/topology/%s", cpu, names[i]))
			continue;
		first.length = strcspn(x->text, ",-");
		number = span_number(first, (int64_t)cpu);
		if (number >= 0)
			return (int)number;
	}
	return (int)cpu;
}

/* An offline CPU has no core. */
static bool read_cores(struct reader *x)
{
	struct cpu_set online;
	size_t end;

	if (!host_read(x->text, LIST_ROOM, x->root, "/sys/devices/system/cpu/online") ||
	    !parse_list(x, &online))
		return true;
	for (end = cpu_set_end(online); end > 0 && !cpu_set_has(online, end - 1);)
		end--;
	x->core = arena_alloc(x->arena, end + 1, sizeof(*x->core));
	x->node = arena_alloc(x->arena, end + 1, sizeof(*x->node));
	if (!x->core || !x->node)
		return false;
	for (size_t i = 0; i < end; i++) {
		x->core[i] = cpu_set_has(online, i) ? core_of(x, i) : -1;
		x->node[i] = -1;
	}
	x->count = end;
	return true;
}

static void read_node(struct reader *x, int node)
{
	struct cpu_set cpus;

	if (!host_read(x->text, LIST_ROOM, x->root, "/sys/devices/system/node/node%d/cpulist",
		       node) ||
	    !parse_list(x, &cpus))
		return;
	for (size_t i = 0; i < x->count; i++)
		if (cpu_set_has(cpus, i))
			x->node[i] = node;
}

/* Nodes may have any numbers: POWER counts 0, 8. */
static bool read_nodes(struct reader *x)
{
	CLEANUP_FOLDER DIR *dir = NULL;
	struct dirent *entry;
	char path[4096];

	errno = 0;
	if (snprintf(path, sizeof(path), "%s/sys/devices/system/node", x->root) < (int)sizeof(path))
		dir = opendir(path);
	if (!dir)
		return errno != ENOMEM;
	while ((entry = readdir(dir))) {
		struct span name = span_of(entry->d_name);
		int64_t node = -1;

		if (span_starts(name, "node"))
			node = span_number((struct span){name.text + 4, name.length - 4},
					   CPUSET_MAX_CPUS - 1);
		if (node >= 0)
			read_node(x, (int)node);
	}
	return true;
}

/* *ret is NULL if the system does not report it. */
static bool read_affinity(struct reader *x, const char **ret)
{
	struct cpu_set set;

	if (!cpu_set_allowed(&x->scratch, &set))
		return !x->scratch.failed;
	*ret = cpu_set_print(x->arena, set);
	return *ret;
}

int cpus_read(struct cpus *ret, const char *sysroot, gpumap_report *report)
{
	struct cpus cpus = {0};
	struct reader x = {.root = sysroot ? sysroot : "", .arena = &cpus.arena};
	bool ok;

	x.text = arena_alloc(&x.scratch, LIST_ROOM, 1);
	ok = x.text && read_cores(&x) && (!x.count || read_nodes(&x));
	ok = ok && (sysroot || read_affinity(&x, &cpus.plan.allowed)) && !x.scratch.failed;
	arena_free(&x.scratch);
	if (!ok) {
		arena_free(&cpus.arena);
		return report_nomem(report);
	}
	*ret = cpus;
	ret->topology = (struct cpu_topology){x.count, x.core, x.node};
	if (x.count)
		ret->plan.topology = &ret->topology;
	return GPUMAP_OK;
}

void cpus_free(struct cpus *cpus)
{
	arena_free(&cpus->arena);
}
