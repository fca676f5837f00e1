/* SPDX-License-Identifier: MIT */
/*
 * A libnvidia-ml.so.1 that serves a recorded machine. nvmlInit reads it:
 *
 *	GPUMAP_PRETEND_TEXT       the text of an inventory, any recorded form; or
 *	GPUMAP_PRETEND_INVENTORY  a file's path, or a machine such as 8xH100
 *
 * What the inventory does not know is answered "not supported", which tools show
 * as N/A; nothing runs on the machine, so its memory is free and it has no
 * processes. Only what tools cannot do without is made up, always in the same way:
 *
 *	UUID    GPU-70726574-656e-6400-8000-<index, 12 hexadecimal digits>
 *	        MIG-70726574-656e-6400-8001-<index, 8 digits><position, 4 digits>
 *	PCI     bus index + 1 (from 255 GPUs on the next domain); domain 0, or the
 *	        first after those of the GPUs whose address is known
 *	name    "GPU";  GPU instance: position + 1;  compute instance: 0
 *	BAR1    256 MiB
 *	NVLink  one link for each neighbour; a GPU joined to all others, 7 or more,
 *	        has one link to a switch instead
 *
 * Indices are those of the inventory. One that it lacks (a listing without its
 * head) is counted, and answers "GPU is lost".
 */
#ifndef GM_PRETEND_H
#define GM_PRETEND_H

#include "inventory/inventory.h"
#include "inventory/nvml_api.h"

/* Declares and defines one function of the library. */
#define SERVE(name, ...) \
	EXPORT enum nvml_return name(__VA_ARGS__); \
	EXPORT enum nvml_return name(__VA_ARGS__)

/* What a handle points to: a GPU or a MIG instance. */
struct unit {
	const gpumap_device *device; /* NULL: the inventory lacks this index */
	const struct unit *gpu;      /* of a MIG instance; itself for a GPU */
	unsigned int index;          /* of a GPU; among its GPU's instances */
	const struct unit *mig;      /* the first of mig_count */
	unsigned int mig_count;
	const char *uuid;
	char made_uuid[48];
	unsigned int domain, bus, slot; /* of a GPU */
};

struct machine {
	gpumap_inventory *inventory;
	struct unit *units; /* the GPUs by index, then the instances */
	size_t count, gpus;
};

/* Reads the machine that the environment names. */
enum nvml_return machine_load(struct machine *machine);
void machine_free(struct machine *machine);

/* The machine between nvmlInit and nvmlShutdown, else NULL. */
const struct machine *machine_get(void);

/* What a handle stands for, or the code that NVML gives instead. */
enum nvml_return unit_get(const struct unit **ret, const struct nvml_handle *handle);

/* Declares `var` as what a handle stands for; returns from the caller if that fails. */
#define UNIT_OR_RETURN(var, handle) \
	const struct unit *var; \
	do { \
		enum nvml_return code_ = unit_get(&var, handle); \
		if (code_ != NVML_SUCCESS) \
			return code_; \
	} while (0)

/* Copies a text into the caller's buffer, whole or not at all. */
enum nvml_return give_text(char *ret, unsigned int size, const char *text);
enum nvml_return give_handle(struct nvml_handle **ret, const struct unit *unit);

/* Fills the structure that nvmlDeviceGetPciInfo_v3 gives. */
void fill_pci(struct nvml_pci *ret, unsigned int domain, unsigned int bus, unsigned int slot);

#endif
