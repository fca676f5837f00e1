/* SPDX-License-Identifier: MIT */
/* Measures the CUDA orders through the helper (rule N6). */
#include "inventory/driver.h"

#include <limits.h>

#include "installed_path.h"
#include "memory.h"
#include "text/pci.h"
#ifndef PKGLIBEXECDIR /* without configure's definition */
#define PKGLIBEXECDIR "/usr/local/libexec/gpumap"
#endif

static const struct {
	int code;
	const char *meaning, *fix;
} errors[] = {
	{2, "out of memory", NULL},
	{3, "the driver is not initialised", NULL},
	{34, "libcuda.so.1 is a stub for linking", "take the stubs folder out of LD_LIBRARY_PATH"},
	{35, "the driver is older than CUDA needs", "install a newer driver"},
	{36, "the driver is older than the call needs", "install a newer driver"},
	{46, "every GPU is busy in exclusive mode or prohibited",
	 "see nvidia-smi -q -d COMPUTE and the processes there"},
	{100, "no device",
	 "see whether this process may open /dev/nvidia*, and which GPUs its "
	 "container or job was granted"},
	{101, "no such device", NULL},
	{102, "a GPU has no licence", NULL},
	{214, "a GPU's memory has an uncorrectable error",
	 "reset the GPU, see nvidia-smi -q -d ECC"},
	{304, "a call of the operating system failed", "see whether /dev/nvidia-uvm can be opened"},
	{801, "not supported here", NULL},
	{802, "the system is not ready", "start nvidia-fabricmanager of the driver's version"},
	{803, "the kernel's driver and libcuda are of different versions",
	 "restart the machine, or reload the driver"},
	{804, "forward compatibility is not for one of these GPUs",
	 "take the compat folder out of LD_LIBRARY_PATH, or hide that GPU"},
	{805, "the MPS server cannot be reached", "see whether nvidia-cuda-mps-control runs"},
	{807, "the MPS server is not ready", "try again"},
	{999, "an unknown error", "see the kernel's log (dmesg) for NVRM and Xid"},
};

const char *driver_error(int code, const char **fix)
{
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i].code == code) {
			*fix = errors[i].fix;
			return errors[i].meaning;
		}
	*fix = NULL;
	return "an error";
}

/* One answer of the helper. */
struct answer {
	int *order;   /* a position for each of the inventory's GPUs, -1: CUDA has fewer */
	size_t count; /* the number of CUDA's devices */
	size_t strangers;
};

static int garbage(const char *helper, struct span line, gpumap_report *report)
{
	return report_fail(report, GPUMAP_ENODRIVER, FINDING_NO_DRIVER,
			   ABOUT(.origin = helper, .fix = "name gpumap's own helper"),
			   "cannot ask the driver: the helper's answer makes no sense: '%s'",
			   QUOTE(line));
}

/* Whether a device has this UUID, which is without "GPU-" or "MIG-". */
static bool same_uuid(const gpumap_device *device, struct span uuid)
{
	const char *text = device->uuid;

	if (text && (starts_with(text, "GPU-") || starts_with(text, "MIG-")))
		text += 4;
	return text && span_is(uuid, text);
}

static bool has_uuid(const gpumap_device *gpu, struct span uuid)
{
	if (same_uuid(gpu, uuid))
		return true;
	for (size_t i = 0; i < gpu->mig_count; i++)
		if (same_uuid(&gpu->mig[i], uuid))
			return true;
	return false;
}

/* The position of the GPU, or of the GPU whose instance it is; -1: not in the inventory. */
static int find(const gpumap_inventory *inventory, struct span uuid, struct span pci)
{
	const gpumap_device *gpu = NULL;
	char address[20];

	for (size_t i = 0; i < inventory->count; i++)
		if (has_uuid(&inventory->gpus[i], uuid))
			return (int)i;
	if (pci_normalise(pci, address))
		gpu = inventory_by_pci(inventory, address);
	return gpu ? (int)(gpu - inventory->gpus) : -1;
}

/* "device N UUID PCI"; false: another line. */
static bool read_device(const gpumap_inventory *inventory, struct answer *answer, struct span rest)
{
	struct span number, uuid;
	int position;

	if (!span_split(&rest, '\t', &number) || !span_split(&rest, '\t', &uuid) || !rest.text ||
	    span_number(number, INT_MAX) != (int64_t)answer->count)
		return false;
	position = find(inventory, uuid, rest);
	answer->strangers += position < 0;
	/* CUDA may count several MIG instances of one GPU, so the count can exceed that of GPUs. */
	if (answer->count < inventory->count)
		answer->order[answer->count] = position;
	answer->count++;
	return true;
}

static int missing(struct span why, gpumap_report *report)
{
	return report_fail(report, GPUMAP_ENODRIVER, FINDING_NO_DRIVER,
			   ABOUT(.rule = "E1", .fix = "install the NVIDIA driver; in a container, "
						      "let its runtime add libcuda.so.1"),
			   "the driver's libcuda.so.1 cannot be loaded: %s", QUOTE(why));
}

static int failed(const char *helper, struct span rest, gpumap_report *report)
{
	struct span all = rest, function;
	int64_t code = -1;
	const char *fix, *meaning;

	if (span_split(&rest, '\t', &function) && rest.text)
		code = span_number(rest, INT_MAX);
	if (code < 0)
		return garbage(helper, all, report);
	meaning = driver_error((int)code, &fix);
	return report_fail(report, GPUMAP_ENODRIVER, FINDING_NO_DRIVER,
			   ABOUT(.rule = "E1", .fix = fix), "the driver refuses: %s gives %d, %s",
			   QUOTE(function), (int)code, meaning);
}

/* Reads the helper's lines up to "end". */
static int read_answer(const gpumap_inventory *inventory, struct answer *answer, struct span text,
		       const char *helper, gpumap_report *report)
{
	struct span line, word, rest;
	bool first = true;

	while (span_split(&text, '\n', &line)) {
		rest = line;
		span_split(&rest, '\t', &word);
		if (!rest.text)
			break;
		if (first != span_is(word, "gpumap-ask-driver"))
			break;
		if (first && !span_is(rest, "1"))
			break;
		first = false;
		if (span_is(word, "missing"))
			return missing(rest, report);
		if (span_is(word, "failed"))
			return failed(helper, rest, report);
		if (span_is(word, "device") && !read_device(inventory, answer, rest))
			break;
		if (!span_is(word, "end"))
			continue;
		if (span_number(rest, INT_MAX) != (int64_t)answer->count)
			break;
		return GPUMAP_OK;
	}
	return garbage(helper, line, report);
}

static int ask(const gpumap_inventory *inventory, struct answer *answer, const char *helper,
	       const char *order, int patience, gpumap_report *report)
{
	CLEANUP_FREE struct ran *ran = xmalloc(sizeof(*ran));
	int r;

	answer->order = xmalloc((inventory->count + 1) * sizeof(*answer->order));
	if (!ran || !answer->order)
		return report_nomem(report);
	for (size_t i = 0; i < inventory->count; i++)
		answer->order[i] = -1;
	r = run_helper(ran, helper, order, patience, report);
	if (r == GPUMAP_OK)
		r = read_answer(inventory, answer, (struct span){ran->text, ran->length}, helper,
				report);
	return r;
}

static void compare(const gpumap_inventory *inventory, const struct answer *answer,
		    gpumap_report *report)
{
	if (answer->strangers)
		report_add(report, FINDING_CONTRADICTION, ABOUT(.origin = inventory->origin),
			   "devices that the driver counts and the inventory lacks: %zu",
			   answer->strangers);
	else if (answer->count < inventory->count)
		report_add(report, FINDING_NOT_GRANTED, ABOUT(.rule = "L6"),
			   "the driver counts %zu of the %zu GPUs", answer->count,
			   inventory->count);
}

int driver_order(gpumap_inventory *inventory, const char *helper, int patience,
		 gpumap_report *report)
{
	struct answer fastest = {0}, pci = {0};
	char path[PATH_MAX];
	int r;

	if (!helper) {
		installed_path(path, sizeof(path), "tools/gpumap-ask-driver",
			       PKGLIBEXECDIR "/gpumap-ask-driver");
		helper = path;
	}
	r = ask(inventory, &fastest, helper, "fastest", patience, report);
	if (r == GPUMAP_OK)
		r = ask(inventory, &pci, helper, "pci", patience, report);
	if (r != GPUMAP_OK) {
		free(fastest.order);
		free(pci.order);
		return r;
	}
	compare(inventory, &fastest, report);
	free(inventory->order[GPUMAP_ORDER_FASTEST]);
	free(inventory->order[GPUMAP_ORDER_PCI]);
	inventory->order[GPUMAP_ORDER_FASTEST] = fastest.order;
	inventory->order[GPUMAP_ORDER_PCI] = pci.order;
	return GPUMAP_OK;
}
