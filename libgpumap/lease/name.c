/* SPDX-License-Identifier: MIT */
/* The names of files in the folder: "gpu-UUID", "gpu-UUID-slot-0-of-4", "gpu-UUID-mig-UUID",
 * "sub-1-gpu-UUID". */
#include "lease/lease.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

#include "lease/units.h"

const char *lease_name(struct quoted *ret, const gpumap_device *unit)
{
	const gpumap_device *gpu = is_instance(unit) ? unit->gpu : unit;
	const char *name = gpu->uuid ? gpu->uuid : gpu->pci;
	size_t n;

	format_text(ret, LEASE_GPU "%s", name ? name : FORMAT("%d", gpu->physical));
	n = strlen(ret->text);
	if (is_instance(unit))
		snprintf(ret->text + n, sizeof(ret->text) - n, LEASE_INSTANCE "%s",
			 unit->uuid ? unit->uuid : FORMAT("%d", unit->mig_position));
	ret->text[LEASE_NAME_SIZE - 1] = '\0';
	for (char *c = ret->text; *c; c++)
		if (*c == '/')
			*c = '_';
	return ret->text;
}

bool lease_names_instance(struct span name, const char *gpu)
{
	const size_t length = gpu ? strlen(gpu) : 0;

	if (gpu && !span_starts(name, gpu))
		return false;
	for (size_t i = length; i < name.length; i++)
		if (span_starts(span_behind(name, i), LEASE_INSTANCE))
			return !gpu || i == length;
	return false;
}

size_t lease_named(const gpumap_inventory *units, struct span name)
{
	size_t gpu = units->count;

	for (size_t g = 0; g < units->count; g++) {
		const char *own = LEASE_NAME(&units->gpus[g]);

		if (span_is(name, own))
			return g;
		if (!is_instance(&units->gpus[g]) && lease_names_instance(name, own))
			gpu = g;
	}
	return gpu;
}

bool lease_is_part(const struct lease_file_name *name)
{
	return name->slots > 1 || lease_names_instance(name->gpu, NULL);
}

/* The number at the end of `name`, which is cut off with the `mark` before it; -1: there is none.
 */
static int64_t cut_number(struct span *name, const char *mark, int64_t max)
{
	const size_t length = strlen(mark);
	struct span digits = {name->text + name->length, 0};
	int64_t number;

	while (digits.text > name->text && digits.text[-1] >= '0' && digits.text[-1] <= '9') {
		digits.text--;
		digits.length++;
	}
	number = span_number(digits, max);
	name->length = (size_t)(digits.text - name->text);
	if (name->length < length || memcmp(digits.text - length, mark, length) != 0)
		return -1;
	name->length -= length;
	return number;
}

/* The K of a lease's file, and the name of the unit; 0: it is another file. */
static size_t read_name(struct span *unit, const char *name)
{
	int64_t slots, number;

	*unit = span_of(name);
	slots = cut_number(unit, LEASE_OF, MAX_SLOTS);
	number = slots < 1 ? -1 : cut_number(unit, LEASE_SLOT, INT64_MAX);
	return number >= 0 ? (size_t)slots : 0;
}

/* The number at the start of the text, at most `max`, which is cut off with the '-' behind it; 0:
 * there is none. */
static int64_t cut_first(const char **text, int64_t max)
{
	struct span rest = span_of(*text), number;
	int64_t value;

	span_split(&rest, '-', &number);
	value = rest.text ? span_number(number, max) : 0;
	if (value <= 0)
		return 0;
	*text = rest.text;
	return value;
}

bool lease_name_read(struct lease_file_name *ret, const char *name)
{
	*ret = (struct lease_file_name){0};
	if (starts_with(name, LEASE_NESTED)) {
		name += strlen(LEASE_NESTED);
		ret->level = (int)cut_first(&name, INT_MAX - 1);
		if (!ret->level)
			return false;
		ret->outer = cut_first(&name, INT64_MAX);
	}
	if (!starts_with(name, LEASE_GPU))
		return false;
	ret->slots = read_name(&ret->gpu, name);
	if (!ret->slots)
		ret->gpu = span_of(name);
	return true;
}

bool lease_concerns(const struct lease_folder *folder, const char *name)
{
	return *folder->prefix ? starts_with(name, folder->prefix)
			       : !starts_with(name, LEASE_NESTED);
}

uint64_t lease_next_number(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t lease_name_number(const struct lease_folder *folder, const char *word, const char *name,
			   char end)
{
	const size_t prefix = strlen(folder->prefix);
	struct span digits = {NULL, 20};
	int64_t number;

	if (!starts_with(name, folder->prefix) || !starts_with(name + prefix, word))
		return 0;
	digits.text = name + prefix + strlen(word);
	if (strnlen(digits.text, digits.length) < digits.length ||
	    digits.text[digits.length] != end)
		return 0;
	number = span_number(digits, INT64_MAX);
	return number > 0 ? (uint64_t)number : 0;
}
