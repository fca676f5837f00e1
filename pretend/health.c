/* SPDX-License-Identifier: MIT */
/*
 * The state of the GPUs and of their driver, from the file that GPUMAP_PRETEND_HEALTH names. What
 * the file does not state is answered "not supported".
 */
#include "pretend.h"

#include <stdio.h>

/* Takes the words of a line from `line`: up to 4 numbers. Returns how many there are. */
static size_t take_numbers(struct span line, int64_t *numbers)
{
	struct span word;
	size_t count = 0;

	while (line.text && count < 4 && span_split(&line, ' ', &word)) {
		if (!word.length)
			continue;
		numbers[count] = span_number(word, INT64_MAX / 2);
		if (numbers[count] < 0)
			break;
		count++;
	}
	return count;
}

/* Whether the line states this fact of `gpu`, NULL: of the system. */
static bool is_about(struct span *line, const struct unit *gpu, const char *fact)
{
	struct span where, what = {NULL, 0};

	*line = span_trim(*line);
	if (!line->length || *line->text == '#')
		return false;
	span_split(line, ' ', &where);
	*line = span_trim(line->text ? *line : (struct span){"", 0});
	span_split(line, ' ', &what);
	if (!span_is(what, fact))
		return false;
	return gpu ? span_number(where, INT32_MAX) == (int64_t)gpu->index
		   : span_is(where, "system");
}

enum nvml_return health(const struct unit *unit, const char *fact, int64_t *numbers, size_t count)
{
	const char *path = getenv("GPUMAP_PRETEND_HEALTH");
	enum nvml_return r = NVML_ERROR_NOT_SUPPORTED;
	int64_t read[4];
	char text[128];
	FILE *file;

	if (!path || !*path)
		return NVML_ERROR_NOT_SUPPORTED;
	file = fopen(path, "re");
	if (!file)
		return NVML_ERROR_UNKNOWN;
	while (fgets(text, sizeof(text), file)) {
		struct span line = span_of(text);

		if (!is_about(&line, unit, fact))
			continue;
		r = NVML_ERROR_UNKNOWN;
		if (take_numbers(line.text ? span_trim(line) : line, read) != count)
			break;
		memcpy(numbers, read, count * sizeof(*numbers));
		r = NVML_SUCCESS;
	}
	fclose(file);
	return r;
}

#define SERVE_NUMBER(name, fact, type) \
	SERVE(name, struct nvml_handle *device, type *ret) \
	{ \
		int64_t number; \
		enum nvml_return r; \
		UNIT_OR_RETURN(u, device); \
\
		r = health(u->gpu, fact, &number, 1); \
		if (r == NVML_SUCCESS && !ret) \
			r = NVML_ERROR_INVALID_ARGUMENT; \
		if (r == NVML_SUCCESS) \
			*ret = (type)number; \
		return r; \
	}

SERVE_NUMBER(nvmlDeviceGetPersistenceMode, "persistence", unsigned int)
SERVE_NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "pages", unsigned int)
SERVE_NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, "clocks", unsigned long long)
SERVE_NUMBER(nvmlDeviceGetCurrentClocksEventReasons, "clocks", unsigned long long)
SERVE_NUMBER(nvmlDeviceGetPerformanceState, "performance", unsigned int)

/* All clocks alike. */
SERVE(nvmlDeviceGetClockInfo, struct nvml_handle *device, enum nvml_clock clock, unsigned int *mhz)
{
	int64_t number;
	enum nvml_return r;
	UNIT_OR_RETURN(u, device);

	r = health(u->gpu, "mhz", &number, 1);
	if (r == NVML_SUCCESS && !mhz)
		r = NVML_ERROR_INVALID_ARGUMENT;
	if (r == NVML_SUCCESS)
		*mhz = (unsigned int)number;
	return r;
}

/* Gives the numbers of a line. */
static enum nvml_return give_numbers(struct nvml_handle *device, const char *fact, size_t count,
				     unsigned int *const *ret)
{
	int64_t numbers[4];
	enum nvml_return r;
	UNIT_OR_RETURN(u, device);

	r = health(u->gpu, fact, numbers, count);
	for (size_t i = 0; r == NVML_SUCCESS && i < count; i++)
		if (!ret[i])
			r = NVML_ERROR_INVALID_ARGUMENT;
	for (size_t i = 0; r == NVML_SUCCESS && i < count; i++)
		*ret[i] = (unsigned int)numbers[i];
	return r;
}

/* Two numbers in one line: how it is, and how it should be. */
static enum nvml_return one_of_two(struct nvml_handle *device, const char *fact, size_t place,
				   unsigned int *ret)
{
	unsigned int numbers[2];
	enum nvml_return r =
		give_numbers(device, fact, 2, (unsigned int *[]){&numbers[0], &numbers[1]});

	if (r == NVML_SUCCESS && !ret)
		r = NVML_ERROR_INVALID_ARGUMENT;
	if (r == NVML_SUCCESS)
		*ret = numbers[place];
	return r;
}

SERVE_AS(one_of_two(device, "width", 0, lanes), nvmlDeviceGetCurrPcieLinkWidth,
	 struct nvml_handle *device, unsigned int *lanes)
SERVE_AS(one_of_two(device, "width", 1, lanes), nvmlDeviceGetMaxPcieLinkWidth,
	 struct nvml_handle *device, unsigned int *lanes)
SERVE_AS(one_of_two(device, "generation", 0, generation), nvmlDeviceGetCurrPcieLinkGeneration,
	 struct nvml_handle *device, unsigned int *generation)
SERVE_AS(one_of_two(device, "generation", 1, generation), nvmlDeviceGetMaxPcieLinkGeneration,
	 struct nvml_handle *device, unsigned int *generation)

SERVE_AS(give_numbers(device, "ecc", 2, (unsigned int *[]){now, pending}), nvmlDeviceGetEccMode,
	 struct nvml_handle *device, unsigned int *now, unsigned int *pending)

SERVE(nvmlDeviceGetCudaComputeCapability, struct nvml_handle *device, int *major, int *minor)
{
	unsigned int numbers[2];
	enum nvml_return r =
		give_numbers(device, "capability", 2, (unsigned int *[]){&numbers[0], &numbers[1]});

	if (r == NVML_SUCCESS && (!major || !minor))
		r = NVML_ERROR_INVALID_ARGUMENT;
	if (r == NVML_SUCCESS) {
		*major = (int)numbers[0];
		*minor = (int)numbers[1];
	}
	return r;
}

SERVE(nvmlDeviceGetTotalEccErrors, struct nvml_handle *device, enum nvml_memory_error kind,
      enum nvml_counter since, unsigned long long *count)
{
	unsigned int number;
	enum nvml_return r = one_of_two(device, "errors", kind == NVML_ERRORS_UNCORRECTED, &number);

	if (r == NVML_SUCCESS && !count)
		r = NVML_ERROR_INVALID_ARGUMENT;
	if (r == NVML_SUCCESS)
		*count = number;
	return r;
}

SERVE_AS(give_numbers(device, "rows", 4,
		      (unsigned int *[]){corrected, uncorrected, pending, failed}),
	 nvmlDeviceGetRemappedRows, struct nvml_handle *device, unsigned int *corrected,
	 unsigned int *uncorrected, unsigned int *pending, unsigned int *failed)

SERVE(nvmlDeviceGetGpuFabricInfo, struct nvml_handle *device, struct nvml_fabric *fabric)
{
	unsigned int numbers[2];
	enum nvml_return r =
		give_numbers(device, "fabric", 2, (unsigned int *[]){&numbers[0], &numbers[1]});

	if (r == NVML_SUCCESS && !fabric)
		r = NVML_ERROR_INVALID_ARGUMENT;
	if (r == NVML_SUCCESS)
		*fabric = (struct nvml_fabric){.state = (unsigned char)numbers[0],
					       .status = (enum nvml_return)numbers[1]};
	return r;
}

/* --- the system ------------------------------------------------------------------------------- */

static enum nvml_return of_system(const char *fact, unsigned int *ret)
{
	int64_t number;
	enum nvml_return r =
		machine_get() ? health(NULL, fact, &number, 1) : NVML_ERROR_UNINITIALIZED;

	if (r == NVML_SUCCESS && !ret)
		r = NVML_ERROR_INVALID_ARGUMENT;
	if (r == NVML_SUCCESS)
		*ret = (unsigned int)number;
	return r;
}

SERVE(nvmlSystemGetConfComputeState, struct nvml_confidential *state)
{
	unsigned int feature;
	enum nvml_return r = of_system("confidential", &feature);

	if (r == NVML_SUCCESS && !state)
		r = NVML_ERROR_INVALID_ARGUMENT;
	if (r == NVML_SUCCESS)
		*state = (struct nvml_confidential){.feature = feature};
	return r;
}

SERVE_AS(of_system("ready", accepting), nvmlSystemGetConfComputeGpusReadyState,
	 unsigned int *accepting)
