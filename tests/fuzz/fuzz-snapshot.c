/* SPDX-License-Identifier: MIT */
/* The snapshot reader: errors are reported, and what is read can be saved and read again. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inventory/inventory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const gpumap_inventory *inventory)
{
	size_t count = gpumap_inventory_count(inventory);

	for (size_t i = 0; i < count; i++) {
		int position = gpumap_inventory_cuda_position(inventory, GPUMAP_ORDER_FASTEST, i);
		const gpumap_device *gpu = gpumap_inventory_get(inventory, i);

		if (position < -1 || position >= (int)count)
			abort();
		for (size_t k = 0; k < gpumap_device_mig_count(gpu); k++)
			if (gpumap_device_mig(gpu, k)->gpu != gpu)
				abort();
		for (int k = 0; k < gpumap_device_process_count(gpu); k++)
			if (gpumap_device_process(gpu, (size_t)k)->mig >= (int)gpu->mig_count)
				abort();
	}
}

/* Standard output is a file in memory while the inventory is saved to it. */
static size_t save(const gpumap_inventory *inventory, char *text, size_t room)
{
	int fd = memfd_create("snapshot", MFD_CLOEXEC), saved = dup(STDOUT_FILENO);
	ssize_t n;

	if (fd < 0 || saved < 0 || dup2(fd, STDOUT_FILENO) < 0)
		abort();
	if (gpumap_inventory_save(inventory, "-", NULL) != GPUMAP_OK)
		abort();
	n = pread(fd, text, room, 0);
	if (dup2(saved, STDOUT_FILENO) < 0 || n < 0)
		abort();
	close(saved);
	close(fd);
	return (size_t)n;
}

static void check_round_trip(const gpumap_inventory *inventory)
{
	enum { ROOM = 4 << 20 };
	char *first = malloc(ROOM), *second = malloc(ROOM);
	gpumap_inventory *again;
	size_t n, m;

	if (!first || !second)
		abort();
	n = save(inventory, first, ROOM);
	if (n < ROOM) {
		if (!snapshot_recognise((struct span){first, n}) ||
		    snapshot_parse(&again, (struct span){first, n}, "again", NULL) != GPUMAP_OK)
			abort();
		m = save(again, second, ROOM);
		if (m != n || memcmp(first, second, n) != 0)
			abort();
		gpumap_inventory_free(again);
	}
	free(first);
	free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gpumap_inventory *inventory = NULL;
	gpumap_report *report;
	int r;

	if (gpumap_report_new(&report) != GPUMAP_OK)
		return 0;
	snapshot_recognise((struct span){(const char *)data, size});
	r = snapshot_parse(&inventory, (struct span){(const char *)data, size}, "fuzz", report);
	if (r != GPUMAP_OK && (inventory || gpumap_report_worst(report) != GPUMAP_SEVERITY_ERROR))
		abort();
	if (r == GPUMAP_OK) {
		look(inventory);
		check_round_trip(inventory);
		gpumap_inventory_free(inventory);
	}
	gpumap_report_free(report);
	return 0;
}
