/* SPDX-License-Identifier: MIT */
/* Calls the parts that read the machine. */
#include "gather.h"

#include "report/report.h"

/* The environment of a recorded machine: /proc/self/environ, whose entries end with NUL. */
static const char *const *recorded_environ(struct facts *facts)
{
	size_t size = 0, count = 0;
	struct fact fact = fact_bytes(facts, 1 << 20, &size, "/proc/self/environ");
	const char **list;

	if (fact.sight != SEEN)
		return NULL;
	for (size_t i = 0; i < size; i++)
		count += !fact.text[i];
	list = arena_alloc(&facts->arena, count + 2, sizeof(*list));
	count = 0;
	for (size_t i = 0; i < size; i += strlen(fact.text + i) + 1)
		list[count++] = fact.text + i;
	return list;
}

void gather(struct facts *facts, const char *root, const char *const *environ)
{
	facts->root = root;
	facts->environ = *root ? recorded_environ(facts) : environ;
	facts->confidential = facts->accepts_work = -1;
	gpumap_report_new(&facts->inventory_report);
	gpumap_report_new(&facts->environment_report);
	gather_system(facts);
	gather_limits(facts);
	gather_driver(facts);
	gather_libraries(facts);
	gather_pci(facts);
	gather_nvml(facts);
	/* The library of NVML makes device files that are missing, as the first program would. */
	gather_devices(facts);
	gather_log(facts);
}
