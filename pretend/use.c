/* SPDX-License-Identifier: MIT */
/* The current use of the machine, from the file that the environment names. */
#include "pretend.h"

#include <stdio.h>
#include <unistd.h>

/* "3" or "3:1": whether it is this unit, or one of its instances. */
static bool is_here(struct span where, const struct unit *unit)
{
	struct span gpu;
	int64_t mig;

	span_split(&where, ':', &gpu);
	mig = where.text ? span_number(where, INT32_MAX) : -1;
	return span_number(gpu, INT32_MAX) == (int64_t)unit->gpu->index &&
	       (unit == unit->gpu || mig == (int64_t)unit->index);
}

static bool add_process(struct use *use, struct span who, struct span amount)
{
	bool known = true;
	int64_t pid, mib;

	if (amount.length && amount.text[amount.length - 1] == '?') {
		known = false;
		amount.length--;
	}
	mib = span_number(amount, INT32_MAX);
	if (mib < 0)
		return false;
	use->used += (unsigned long long)mib << 20;
	if (span_is(who, "hidden"))
		return true;
	pid = span_is(who, "self") ? (int64_t)getpid() : span_number(who, INT32_MAX);
	if (pid < 0 || use->count == MAX_USE)
		return false;
	use->processes[use->count++] = (struct nvml_process){
		.pid = (unsigned int)pid,
		.bytes = known ? (unsigned long long)mib << 20 : NVML_NOT_AVAILABLE,
		.gi = UINT32_MAX,
		.ci = UINT32_MAX,
	};
	return true;
}

/* False: the line is invalid. */
static bool take_line(struct use *use, struct span line, const struct unit *unit)
{
	struct span where, what = {NULL, 0}, amount;

	line = span_trim(line);
	if (!line.length || *line.text == '#')
		return true;
	span_split(&line, ' ', &where);
	if (!is_here(where, unit))
		return true;
	line = span_trim(line);
	span_split(&line, ' ', &what);
	amount = line.text ? span_trim(line) : line;
	if (span_is(what, "lost"))
		use->state = NVML_ERROR_GPU_IS_LOST;
	else if (span_is(what, "unlisted"))
		use->list = NVML_ERROR_NO_PERMISSION;
	else if (span_is(what, "wide"))
		use->entry = WIDE_ENTRY;
	else
		return add_process(use, what, amount);
	return true;
}

enum nvml_return use_read(struct use *ret, const struct unit *unit)
{
	const char *path = getenv("GPUMAP_PRETEND_USE");
	enum nvml_return r = NVML_SUCCESS;
	char line[128];
	FILE *file;

	*ret = (struct use){.entry = ENTRY};
	if (!path || !*path)
		return NVML_SUCCESS;
	file = fopen(path, "re");
	if (!file)
		return NVML_ERROR_UNKNOWN;
	while (r == NVML_SUCCESS && fgets(line, sizeof(line), file))
		if (!take_line(ret, span_of(line), unit))
			r = NVML_ERROR_UNKNOWN;
	fclose(file);
	return r;
}
