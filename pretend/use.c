/* SPDX-License-Identifier: MIT */
/* The current use of the machine: as it was recorded, or from the file that the environment names.
 */
#include "pretend.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

void use_free(struct use *use)
{
	free(use->processes);
}

/* `mig` NULL: on the whole GPU. */
static bool add(struct use *use, unsigned int pid, unsigned long long bytes, unsigned types,
		const struct unit *mig)
{
	struct used_process *more =
		array_room(use->processes, use->count, &use->room, sizeof(*more));

	if (!more)
		return false;
	use->processes = more;
	more[use->count++] = (struct used_process){
		{.pid = pid,
		 .bytes = bytes,
		 .gi = mig ? mig->gi : UINT32_MAX,
		 .ci = mig ? mig->ci : UINT32_MAX},
		types,
	};
	return true;
}

/* --- the file ---------------------------------------------------------------------------- */

/* What a line is about, for a unit. */
struct place {
	bool exact; /* the unit itself; otherwise an instance of it */
	const struct unit *mig;
};

/* "3" or "3:1": whether it is this unit, or one of its instances. */
static bool is_here(struct place *ret, struct span where, const struct unit *unit)
{
	struct span gpu;
	int64_t mig;

	span_split(&where, ':', &gpu);
	mig = where.text ? span_number(where, INT32_MAX) : -1;
	if (span_number(gpu, INT32_MAX) != (int64_t)unit->gpu->index)
		return false;
	*ret = (struct place){.exact = mig < 0 ? unit == unit->gpu
					       : unit != unit->gpu && mig == (int64_t)unit->index};
	if (mig >= 0 && mig < (int64_t)unit->gpu->mig_count)
		ret->mig = &unit->gpu->mig[mig];
	return ret->exact || (mig >= 0 && unit == unit->gpu);
}

/* 0: a word is not a type. */
static unsigned types_of(struct span words)
{
	unsigned types = 0;
	struct span word;

	if (!words.length)
		return GPUMAP_PROCESS_TYPE_COMPUTE;
	while (span_split(&words, ',', &word)) {
		unsigned type = process_type(word);

		if (!type)
			return 0;
		types |= type;
	}
	return types;
}

static enum nvml_return add_process(struct use *use, struct span who, struct span amount,
				    struct span words, const struct unit *mig)
{
	unsigned types = types_of(words);
	bool known = true;
	int64_t pid, mib;

	if (amount.length && amount.text[amount.length - 1] == '?') {
		known = false;
		amount.length--;
	}
	mib = span_number(amount, INT32_MAX);
	if (mib < 0 || !types)
		return NVML_ERROR_UNKNOWN;
	use->used += (unsigned long long)mib << 20;
	if (span_is(who, "hidden"))
		return NVML_SUCCESS;
	pid = span_is(who, "self") ? (int64_t)getpid() : span_number(who, INT32_MAX);
	if (pid < 0)
		return NVML_ERROR_UNKNOWN;
	return add(use, (unsigned int)pid,
		   known ? (unsigned long long)mib << 20 : NVML_NOT_AVAILABLE, types, mig)
		       ? NVML_SUCCESS
		       : NVML_ERROR_MEMORY;
}

static enum nvml_return take_number(int64_t *member, struct span amount, int64_t max)
{
	int64_t n = span_number(amount, max);

	if (n < 0)
		return NVML_ERROR_UNKNOWN;
	*member = n;
	return NVML_SUCCESS;
}

static enum nvml_return add_lately(struct use *use, int64_t pid, int64_t seconds)
{
	if (pid < 0 || seconds < 0 || use->lately_count == MAX_USED_LATELY)
		return NVML_ERROR_UNKNOWN;
	use->lately[use->lately_count++] = (struct used_lately){(unsigned int)pid, seconds};
	return NVML_SUCCESS;
}

/* A word about a whole unit. NVML_ERROR_NOT_FOUND: it is not one. */
static enum nvml_return take_word(struct use *use, struct span word, struct span amount)
{
	int64_t mib = 0;
	enum nvml_return r = NVML_SUCCESS;

	if (span_is(word, "lost")) {
		use->state = NVML_ERROR_GPU_IS_LOST;
	} else if (span_is(word, "unlisted")) {
		use->list = NVML_ERROR_NO_PERMISSION;
	} else if (span_is(word, "unsampled")) {
		use->samples = NVML_ERROR_NOT_SUPPORTED;
	} else if (span_is(word, "unmeasured")) {
		use->memory = NVML_ERROR_NO_PERMISSION;
	} else if (span_is(word, "wide")) {
		use->entry = WIDE_ENTRY;
	} else if (span_is(word, "load")) {
		r = take_number(&use->utilization, amount, 100);
	} else if (span_is(word, "temperature")) {
		r = take_number(&use->temperature, amount, 1000);
	} else if (span_is(word, "mode")) {
		use->compute = compute_mode_number(amount);
		r = use->compute < 0 ? NVML_ERROR_UNKNOWN : NVML_SUCCESS;
	} else if (span_is(word, "reserved")) {
		r = take_number(&mib, amount, INT32_MAX);
		use->reserved = (unsigned long long)mib << 20;
	} else {
		r = NVML_ERROR_NOT_FOUND;
	}
	return r;
}

/* Takes a word off the line; an empty one at its end. */
static struct span take(struct span *line)
{
	struct span word = {NULL, 0};

	*line = line->text ? span_trim(*line) : *line;
	span_split(line, ' ', &word);
	return word;
}

/* NVML_ERROR_UNKNOWN: the line is invalid. */
static enum nvml_return take_line(struct use *use, struct span line, const struct unit *unit)
{
	struct span where, what, amount, words;
	struct place place;
	struct use other = {0};
	enum nvml_return r;

	line = span_trim(line);
	if (!line.length || *line.text == '#')
		return NVML_SUCCESS;
	where = take(&line);
	if (!is_here(&place, where, unit))
		return NVML_SUCCESS;
	what = take(&line);
	amount = take(&line);
	words = take(&line);
	if (span_is(what, "used")) {
		int64_t ago = span_number(words, INT32_MAX);

		return add_lately(use, span_number(amount, INT32_MAX),
				  ago < 0 ? -1 : (int64_t)time(NULL) - ago);
	}
	r = take_word(place.exact ? use : &other, what, amount);
	return r == NVML_ERROR_NOT_FOUND ? add_process(use, what, amount, words, place.mig) : r;
}

static enum nvml_return read_lines(struct use *ret, const char *path, const struct unit *unit)
{
	enum nvml_return r = NVML_SUCCESS;
	char line[128];
	FILE *file = fopen(path, "re");

	if (!file)
		return NVML_ERROR_UNKNOWN;
	while (r == NVML_SUCCESS && fgets(line, sizeof(line), file))
		r = take_line(ret, span_of(line), unit);
	fclose(file);
	return r;
}

/* --- the recording ----------------------------------------------------------------------- */

static enum nvml_return read_recorded(struct use *ret, const struct unit *unit)
{
	const gpumap_device *d = unit->device;

	ret->memory = d->used < 0 ? NVML_ERROR_NO_PERMISSION : NVML_SUCCESS;
	ret->used = d->used < 0 ? 0 : (unsigned long long)d->used;
	ret->reserved = d->reserved < 0 ? 0 : (unsigned long long)d->reserved;
	ret->utilization = d->utilization;
	ret->temperature = d->gpu->temperature;
	ret->compute = d->gpu->compute_mode;
	if (gpumap_device_process_count(d) < 0)
		ret->list = NVML_ERROR_NO_PERMISSION;
	for (size_t i = 0; i < d->process_count; i++) {
		const gpumap_process *p = gpumap_device_process(d, i);

		if (!add(ret, (unsigned int)p->pid,
			 p->memory < 0 ? NVML_NOT_AVAILABLE : (unsigned long long)p->memory,
			 p->types, p->mig < 0 ? NULL : &unit->gpu->mig[p->mig]))
			return NVML_ERROR_MEMORY;
		if (p->active < 0)
			ret->samples = NVML_ERROR_NOT_SUPPORTED;
		else if (p->active && ret->lately_count < MAX_USED_LATELY)
			add_lately(ret, p->pid, p->active);
	}
	return NVML_SUCCESS;
}

enum nvml_return use_read(struct use *ret, const struct unit *unit)
{
	const char *path = getenv("GPUMAP_PRETEND_USE");
	struct use use = {.entry = ENTRY, .utilization = -1, .temperature = -1, .compute = -1};
	enum nvml_return r = NVML_SUCCESS;

	if (path && *path)
		r = read_lines(&use, path, unit);
	else if (unit->device && machine_get()->inventory->usage)
		r = read_recorded(&use, unit);
	if (r != NVML_SUCCESS) {
		use_free(&use);
		return r;
	}
	*ret = use;
	return NVML_SUCCESS;
}
