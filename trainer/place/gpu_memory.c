/* SPDX-License-Identifier: MIT */
/* See gpu_memory.h. */
#include "place/gpu_memory.h"

#include <gpumap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings/print_findings.h"

static void copy(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text ? text : "");
}

static void find_own(struct gpu_use *use, const gpumap_device *device, int pid)
{
	const gpumap_process *p;

	for (size_t i = 0; (p = gpumap_device_process(device, i)); i++)
		if (gpumap_process_int(p, GPUMAP_PROCESS_PID) == pid) {
			use->own = true;
			use->own_bytes = gpumap_process_int(p, GPUMAP_PROCESS_MEMORY);
		}
}

/* A GPU, or its instance `mig`. */
static struct gpu_use use_of(const gpumap_device *gpu, int mig, int pid)
{
	const gpumap_device *device = mig < 0 ? gpu : gpumap_device_mig(gpu, (size_t)mig);
	struct gpu_use use = {
		.index = (int)gpumap_device_int(gpu, GPUMAP_DEVICE_INDEX),
		.mig = mig,
		.gi = (int)gpumap_device_int(device, GPUMAP_DEVICE_MIG_GI),
		.used = gpumap_device_int(device, GPUMAP_DEVICE_MEMORY_USED),
		.hidden = gpumap_device_int(device, GPUMAP_DEVICE_MEMORY_HIDDEN),
		.listed = gpumap_device_process_count(device) >= 0,
		.own_bytes = -1,
	};

	copy(use.pci, sizeof(use.pci), gpumap_device_str(gpu, GPUMAP_DEVICE_PCI));
	copy(use.uuid, sizeof(use.uuid), gpumap_device_str(device, GPUMAP_DEVICE_UUID));
	copy(use.gpu_uuid, sizeof(use.gpu_uuid), gpumap_device_str(gpu, GPUMAP_DEVICE_UUID));
	find_own(&use, device, pid);
	if (!use.listed && use.used < 0)
		copy(use.why, sizeof(use.why), "its memory and its processes are not known");
	return use;
}

/* The last finding says why NVML gives nothing; other remarks may come before it. */
static bool no_usage(const gpumap_report *report, struct train_error *error)
{
	const gpumap_finding *last = gpumap_report_get(report, gpumap_report_count(report) - 1);

	return train_fail(error, TRAIN_NO_BACKEND,
			  "--verify-mapping: %.150s; NVML comes with NVIDIA's driver; a container "
			  "needs NVIDIA_DRIVER_CAPABILITIES=compute,utility",
			  last ? gpumap_finding_str(last, GPUMAP_FINDING_TEXT)
			       : "NVML does not answer");
}

static bool probe(gpumap_inventory **inventory, gpumap_report *report, struct train_error *error)
{
	int code = gpumap_inventory_probe(inventory, GPUMAP_PROBE_FLAG_USAGE, NULL, report);

	if (code == GPUMAP_OK && gpumap_inventory_int(*inventory, GPUMAP_INVENTORY_USAGE) == 1)
		return true;
	if (code == GPUMAP_ENOMEM)
		memory_ran_out();
	return no_usage(report, error);
}

/* A finding has the reason why a GPU cannot be read: "GPU 3 does not answer: the GPU is lost". If
 * that is not in the inventory, nothing but its number is known. */
static void explain(struct gpu_use *uses, int *count, const gpumap_finding *finding)
{
	struct gpu_use lost = {.mig = -1, .gi = -1, .used = -1, .own_bytes = -1};
	const char *text = gpumap_finding_str(finding, GPUMAP_FINDING_TEXT), *why = text;
	int mig = -1;
	bool listed = false;

	if (sscanf(text, "GPU %d, MIG %d", &lost.index, &mig) < 1)
		return;
	for (const char *part = text; (part = strstr(part, ": "));)
		why = part += 2;
	for (int i = 0; i < *count; i++) {
		struct gpu_use *use = &uses[i];

		listed = listed || use->index == lost.index;
		if (use->index == lost.index && (mig < 0 || use->mig == mig) && *use->why)
			copy(use->why, sizeof(use->why), why);
	}
	copy(lost.why, sizeof(lost.why), why);
	if (!listed)
		uses[(*count)++] = lost;
}

static void read_all(const gpumap_inventory *inventory, const gpumap_report *report, int pid,
		     struct gpu_use **uses, int *count)
{
	size_t room = 1 + gpumap_report_count(report);
	const gpumap_device *gpu;

	for (size_t i = 0; (gpu = gpumap_inventory_get(inventory, i)); i++)
		room += 1 + gpumap_device_mig_count(gpu);
	*uses = xcalloc(room, sizeof(**uses));
	*count = 0;
	for (size_t i = 0; (gpu = gpumap_inventory_get(inventory, i)); i++) {
		int instances = (int)gpumap_device_mig_count(gpu);

		for (int mig = instances ? 0 : -1; mig < instances; mig++)
			(*uses)[(*count)++] = use_of(gpu, mig, pid);
	}
	for (size_t i = 0; i < gpumap_report_count(report); i++)
		explain(*uses, count, gpumap_report_get(report, i));
}

bool gpu_memory_read(int pid, struct gpu_use **uses, int *count, struct train_error *error)
{
	gpumap_inventory *inventory = NULL;
	FINDINGS *report = findings_new();
	bool ok = probe(&inventory, report, error);

	if (ok)
		read_all(inventory, report, pid, uses, count);
	gpumap_inventory_free(inventory);
	return ok;
}
