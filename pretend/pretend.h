/* SPDX-License-Identifier: MIT */
/*
 * A libnvidia-ml.so.1 that serves a recorded machine. nvmlInit reads it:
 *
 *	GPUMAP_PRETEND_TEXT       the text of an inventory, any recorded form; or
 *	GPUMAP_PRETEND_INVENTORY  a file's path, or a machine such as 8xH100
 *
 * What the inventory does not know is answered "not supported", which tools show as N/A. If the
 * inventory has no usage, nothing runs on the machine: its memory is free and it has no processes.
 * Only values that tools need are made up, always in the same way:
 *
 *	UUID    GPU-70726574-656e-6400-8000-<index, 12 hexadecimal digits>
 *	        MIG-70726574-656e-6400-8001-<index, 8 digits><position, 4 digits>
 *	PCI     bus index + 1 (from 255 GPUs on the next domain); domain 0, or the
 *	        first after those of the GPUs whose address is known
 *	driver  580.00.00, whose CUDA is 13.0
 *	memory  that of the model, if the model is known
 *	name    "GPU";  GPU instance: position + 1;  compute instance: 0
 *	BAR1    256 MiB
 *	NVLink  one link for each neighbour; a GPU joined to all others, 7 or more,
 *	        has one link to a switch instead
 *
 * Indices are those of the inventory. One that it lacks (a listing without its head) is counted,
 * and answers "GPU is lost".
 *
 * GPUMAP_PRETEND_USE names a file with what is in use. Then the usage in the inventory does not
 * count. The file is read again for every query, so that tests can change it. Its lines are about a
 * GPU, "0", or an instance, "0:1"; # begins a comment:
 *
 *	0 4242 500	process 4242 holds 500 MiB
 *	0 4242 500 graphics,mps	it is in these lists; compute is the third
 *	0 self 500	the process that asks holds them
 *	0 4242 500?	it is in the list, but its memory is not reported
 *	0 used 4242 12	process 4242 computed on it 12 seconds ago
 *	0 unsampled	NVML does not sample which processes use it
 *	0 hidden 500	in use, by a process that is in no list
 *	0 reserved 500	the driver keeps them
 *	0 load 93	percent
 *	0 temperature 41	degrees Celsius
 *	0 mode exclusive-process	compute mode; also default, exclusive-thread, prohibited
 *	0 unlisted	the process that asks has no permission to see the lists
 *	0 unmeasured	nor, here, to see the memory in use
 *	0 wide		entries of the list have 32 bytes (drivers 535.43 to 535.86)
 *	0 lost		the GPU is lost
 *
 * A GPU's memory must be known to be reported. The memory of a GPU with instances includes theirs.
 *
 * GPUMAP_PRETEND_HEALTH names a file with the state of the GPUs, for gpumap doctor. It is read
 * again for every query. Its lines, of a GPU "0" or of the "system", with # for comments:
 *
 *	0 capability 9 0	compute capability 9.0
 *	0 persistence 0		persistence mode is off
 *	0 ecc 1 0		ECC now, and after the next restart
 *	0 errors 12 1		corrected and uncorrected errors
 *	0 pages 1		retired pages are pending
 *	0 rows 1 2 1 0		remapped rows: corrected, uncorrected, pending, failed
 *	0 clocks 64		why the clocks are low, a number of bits
 *	0 performance 0		the performance state, P0
 *	0 width 8 16		lanes of PCIe now, and at most; generation is alike
 *	0 mig 0 1		MIG now, and after the next reset
 *	0 fabric 1 0		state and status of the fabric
 *	system confidential 1	confidential computing is enabled
 *	system ready 0		the GPUs do not accept work yet
 */
#ifndef GM_PRETEND_H
#define GM_PRETEND_H

#include <sys/stat.h>

#include "inventory/inventory.h"
#include "nvml_api.h"

/* Declares and defines one function of the library. */
#define SERVE(name, ...) \
	EXPORT enum nvml_return name(__VA_ARGS__); \
	EXPORT enum nvml_return name(__VA_ARGS__)
/* One whose answer is that of a function for several. */
#define SERVE_AS(answer, ...) \
	SERVE(__VA_ARGS__) \
	{ \
		return answer; \
	}

/* The object behind a handle: a GPU or a MIG instance. */
struct unit {
	const gpumap_device *device; /* NULL: the inventory lacks this index */
	const struct unit *gpu;      /* of a MIG instance; itself for a GPU */
	unsigned int index;          /* of a GPU; or among its GPU's instances */
	const struct unit *mig;      /* the first of mig_count */
	unsigned int mig_count;
	const char *uuid;
	char made_uuid[48];
	unsigned int domain, bus, slot; /* of a GPU */
	unsigned int gi, ci;            /* of an instance; made up if the inventory lacks them */
};

/* Bytes of an entry of the list of processes, and of a wider one. */
enum { ENTRY = sizeof(struct nvml_process), WIDE_ENTRY = sizeof(struct nvml_process) + 8 };

struct used_process {
	struct nvml_process entry;
	unsigned types; /* GPUMAP_PROCESS_TYPE_* */
};

struct used_lately {
	unsigned int pid;
	int64_t seconds; /* since the epoch */
};
enum { MAX_USED_LATELY = 64 };

struct use {
	enum nvml_return state, memory, list;      /* of the GPU, its memory, its lists */
	unsigned long long used, reserved;         /* bytes */
	int64_t utilization, temperature, compute; /* -1: not known */
	struct used_process *processes;
	size_t count, room;
	struct used_lately lately[MAX_USED_LATELY];
	size_t lately_count;
	enum nvml_return samples; /* of processes */
	size_t entry;             /* bytes of an entry in the list */
};

struct machine {
	gpumap_inventory *inventory;
	struct unit *units; /* the GPUs by index, followed by the instances */
	size_t count, gpus;
	struct stat file;       /* that it was read from; all zero: none */
	struct machine *before; /* which the file had; NULL */
};

/* Whether its file has changed since it was read. */
bool machine_changed(const struct machine *machine);
/* Reads the machine that the environment names. */
enum nvml_return machine_load(struct machine *machine);
void machine_free(struct machine *machine);

/* The machine between nvmlInit and nvmlShutdown, else NULL. */
const struct machine *machine_get(void);

/* The unit of a handle, or the code that NVML returns instead. */
enum nvml_return unit_get(const struct unit **ret, const struct nvml_handle *handle);

/* The shares of its GPU that the profile of a MIG instance names, "3g.40gb" or "1c.3g.40gb"; the
 * other members are unchanged. False: it is not an instance, or its profile is not known. */
bool unit_shares(const struct unit *unit, struct nvml_attributes *ret);
/* All bytes; of an instance the number in its profile; -1: not known. */
int64_t unit_memory(const struct unit *unit);

/* The usage of a GPU with its instances, or of an instance; use_free() frees it.
 * NVML_ERROR_UNKNOWN: the file cannot be read, or a line of it is invalid. NVML_ERROR_MEMORY. After
 * a failure there is nothing to free. */
enum nvml_return use_read(struct use *ret, const struct unit *unit);
void use_free(struct use *use);

/* Reads `count` numbers of a fact about a GPU, or with NULL about the system. The last line that
 * states it counts. NVML_ERROR_NOT_SUPPORTED: there is none. NVML_ERROR_UNKNOWN: the file cannot be
 * read, or the line is invalid. */
enum nvml_return health(const struct unit *unit, const char *fact, int64_t *numbers, size_t count);

/* Declares `var` as the unit of a handle; returns from the caller if that fails. */
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
