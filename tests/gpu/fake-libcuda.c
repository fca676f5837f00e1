/* SPDX-License-Identifier: MIT */
/*
 * A libcuda.so.1 without a GPU, for tests of what asks the driver. It reads
 *
 *	FAKE_CUDA_GPUS       UUID@PCI,UUID@PCI: the GPUs in PCI order; unset: none
 *	FAKE_CUDA_FASTEST    their order unless CUDA_DEVICE_ORDER=PCI_BUS_ID, "2,0,1"
 *	FAKE_CUDA_INIT       what cuInit returns
 *	FAKE_CUDA_HANG       cuInit never returns
 *	FAKE_CUDA_QUIRK      a GPU named twice counts once
 *	FAKE_CUDA_CAPABILITY the compute capability of all, "9.0"
 *
 * and CUDA_VISIBLE_DEVICES by the documented rules.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum {
	MAX = 64,
	NO_DEVICE = 100,
	INVALID = 1,
	NOT_INITIALIZED = 3,
	COMPUTE_MAJOR = 75,
	COMPUTE_MINOR = 76
};

struct gpu {
	char uuid[41]; /* with GPU- */
	char pci[24];
};

static struct gpu gpus[MAX], visible[MAX];
static int gpu_count, visible_count;

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *name, int size, int device);
int cuDeviceGetUuid_v2(unsigned char uuid[16], int device);
int cuDeviceGetPCIBusId(char *pci, int size, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);

static void read_gpus(const char *text)
{
	while (text && *text && gpu_count < MAX) {
		struct gpu *gpu = &gpus[gpu_count];

		if (sscanf(text, "%40[^@]@%23[^,]", gpu->uuid, gpu->pci) != 2)
			return;
		gpu_count++;
		text = strchr(text, ',');
		text = text ? text + 1 : NULL;
	}
}

static void order_gpus(void)
{
	const char *order = getenv("CUDA_DEVICE_ORDER"), *text = getenv("FAKE_CUDA_FASTEST");
	struct gpu sorted[MAX];
	char *end;

	if (!text || (order && strcmp(order, "PCI_BUS_ID") == 0))
		return;
	for (int i = 0; i < gpu_count; i++, text = *end ? end + 1 : end) {
		long k = strtol(text, &end, 10);

		if (k < 0 || k >= gpu_count)
			return;
		sorted[i] = gpus[k];
	}
	memcpy(gpus, sorted, sizeof(gpus));
}

/* The GPU that an entry names, -1: none. kind is 'i' or 'u'. */
static int lookup(const char *token, char *kind)
{
	char *end;
	unsigned long number;
	int found = -1;

	if (strncmp(token, "GPU-", 4) == 0) {
		*kind = 'u';
		for (int i = 0; i < gpu_count; i++) {
			if (strncmp(gpus[i].uuid, token, strlen(token)) != 0)
				continue;
			if (found >= 0)
				return -1;
			found = i;
		}
		return found;
	}
	*kind = 'i';
	errno = 0;
	number = strtoul(token, &end, 10);
	/* strtoul takes -1 for a large number, which is right here too. */
	return end == token || errno || number >= (unsigned long)gpu_count ? -1 : (int)number;
}

static int is_visible(const char *uuid)
{
	for (int i = 0; i < visible_count; i++)
		if (strcmp(visible[i].uuid, uuid) == 0)
			return 1;
	return 0;
}

static void apply_list(const char *list)
{
	char *copy = strdup(list), *rest = copy, *token;
	char kind, first = 0;

	while (copy && *list && (token = strsep(&rest, ","))) {
		int i = lookup(token, &kind);

		if (i < 0 || (first && kind != first))
			break;
		first = kind;
		if (is_visible(gpus[i].uuid)) {
			if (getenv("FAKE_CUDA_QUIRK"))
				continue;
			visible_count = 0;
			break;
		}
		visible[visible_count++] = gpus[i];
	}
	free(copy);
}

API int cuInit(unsigned flags)
{
	const char *code = getenv("FAKE_CUDA_INIT"), *list = getenv("CUDA_VISIBLE_DEVICES");

	while (getenv("FAKE_CUDA_HANG"))
		pause();
	if (code)
		return atoi(code);
	if (visible_count)
		return 0; /* the environment is read once */
	gpu_count = 0;
	read_gpus(getenv("FAKE_CUDA_GPUS"));
	order_gpus();
	if (list) {
		apply_list(list);
	} else {
		memcpy(visible, gpus, sizeof(gpus));
		visible_count = gpu_count;
	}
	return visible_count ? 0 : NO_DEVICE;
}

API int cuDriverGetVersion(int *version)
{
	const char *text = getenv("FAKE_CUDA_VERSION");

	*version = text ? atoi(text) : 99000; /* newer than what any program wants */
	return 0;
}

API int cuDeviceGetCount(int *count)
{
	*count = visible_count;
	return visible_count ? 0 : NOT_INITIALIZED;
}

API int cuDeviceGet(int *device, int ordinal)
{
	if (ordinal < 0 || ordinal >= visible_count)
		return INVALID;
	*device = ordinal;
	return 0;
}

API int cuDeviceGetName(char *name, int size, int device)
{
	snprintf(name, (size_t)size, "Fake GPU %d", device);
	return 0;
}

API int cuDeviceGetUuid_v2(unsigned char uuid[16], int device)
{
	const char *p = visible[device].uuid + 4;

	for (int i = 0; i < 16; i++) {
		char digits[3] = {0};

		p += *p == '-';
		memcpy(digits, p, 2);
		uuid[i] = (unsigned char)strtoul(digits, NULL, 16);
		p += 2;
	}
	return 0;
}

API int cuDeviceGetPCIBusId(char *pci, int size, int device)
{
	snprintf(pci, (size_t)size, "%s", visible[device].pci);
	return 0;
}

API int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	const char *text = getenv("FAKE_CUDA_CAPABILITY");
	int major, minor;

	if (!text || sscanf(text, "%d.%d", &major, &minor) != 2 ||
	    (attribute != COMPUTE_MAJOR && attribute != COMPUTE_MINOR))
		return INVALID;
	*value = attribute == COMPUTE_MAJOR ? major : minor;
	return 0;
}
