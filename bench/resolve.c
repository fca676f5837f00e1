/* SPDX-License-Identifier: MIT */
/*
 * resolve: measures the time and the allocations of one gpumap_resolve() on machines of 8 to 10,000
 * GPUs. The list names all GPUs in reverse. Time is the median of batches.
 */
#include <gpumap.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base.h"

/* glibc's own names of these functions, so that the replacements here can count. The library calls
 * the replacements too (strdup). */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static size_t allocations;

EXPORT void *malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	allocations++;
	return __libc_calloc(count, size);
}

EXPORT void *realloc(void *memory, size_t size)
{
	allocations++;
	return __libc_realloc(memory, size);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* "7,6,5,4,3,2,1,0" */
static char *reversed(int count)
{
	char *list = malloc((size_t)count * 8 + 1), *end = list;

	for (int i = count - 1; list && i >= 0; i--)
		end += snprintf(end, 8, i ? "%d," : "%d", i);
	return list;
}

struct question {
	gpumap_inventory *inventory;
	gpumap_request *request;
};

static bool ask(struct question *q, int count)
{
	char machine[32], device[16], *list = reversed(count);
	bool ok;

	snprintf(machine, sizeof(machine), "%dxH100", count);
	snprintf(device, sizeof(device), "%d", count / 2);
	ok = list && gpumap_inventory_open(&q->inventory, machine, NULL) == GPUMAP_OK &&
	     gpumap_request_new(&q->request) == GPUMAP_OK &&
	     gpumap_request_set(q->request, "visible", list, "bench", NULL) == GPUMAP_OK &&
	     gpumap_request_set(q->request, "device", device, "bench", NULL) == GPUMAP_OK;
	free(list);
	return ok;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool resolve(const struct question *q)
{
	gpumap_mapping *mapping = NULL;
	gpumap_report *report = NULL;
	bool ok = gpumap_report_new(&report) == GPUMAP_OK &&
		  gpumap_resolve(&mapping, q->request, q->inventory, report) == GPUMAP_OK &&
		  gpumap_mapping_chosen(mapping);

	gpumap_mapping_free(mapping);
	gpumap_report_free(report);
	return ok;
}

static bool measure(int count)
{
	enum { BATCHES = 21 };
	struct question q = {NULL, NULL};
	int each = 100000 / count + 1;
	double times[BATCHES];
	size_t before;

	if (!ask(&q, count) || !resolve(&q))
		return false;
	for (int batch = 0; batch < BATCHES; batch++) {
		double start = now();

		for (int i = 0; i < each; i++)
			resolve(&q);
		times[batch] = (now() - start) / each;
	}
	before = allocations;
	resolve(&q);
	qsort(times, BATCHES, sizeof(*times), compare);
	printf("%8d GPUs %12.2f us %12.1f ns per GPU %8zu allocations\n", count, times[BATCHES / 2],
	       times[BATCHES / 2] * 1e3 / count, allocations - before);
	gpumap_request_free(q.request);
	gpumap_inventory_free(q.inventory);
	return true;
}

int main(void)
{
	static const int counts[] = {8, 10, 100, 1000, 10000};

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		if (!measure(counts[i])) {
			fprintf(stderr, "resolve: no answer for %d GPUs\n", counts[i]);
			return 1;
		}
	return 0;
}
