/* SPDX-License-Identifier: MIT */
/*
 * The inventory that every reader builds, and the functions that readers share. A reader fills an
 * inventory with inventory_add(); then inventory_finish() sorts and checks the GPUs. After that the
 * inventory is immutable.
 */
#ifndef GM_INVENTORY_H
#define GM_INVENTORY_H

#include "gpumap.h"

#include "base.h"
#include "report/report.h"
#include "strbuf.h"
#include "text.h"

enum {
	MAX_MIG = 64,           /* instances of one GPU; today's have 7 */
	MAX_PROCESSES = 1 << 20 /* on one GPU */
};

struct gpumap_process {
	int64_t pid, memory; /* -1: not known */
	unsigned types;      /* GPUMAP_PROCESS_TYPE_* */
	int mig;             /* position of the instance among its GPU's; -1 */
	int visible;         /* -1 not known, 0, 1 */
	int64_t uid, start;  /* -1: not known */
	int64_t active;      /* when it used the GPU; 0: in no sample; -1: not known */
	char started[24];    /* `start` as text; "" */
	char was_active[24]; /* `active` as text; "" */
	char *user, *command, *container;
};

/* What is known of a device's processes. */
enum listed { LISTED_UNKNOWN = -1, LISTED_NONE, LISTED_SOME, LISTED_ALL };

struct gpumap_device {
	const gpumap_device *gpu; /* a MIG instance's GPU, itself for a GPU; set by finish */
	int index;                /* as the source printed it, -1: not printed */
	int physical; /* nvidia-smi's number: index, else by PCI order; -1: not known; set by finish
		       */
	int mig_position; /* among its GPU's instances; -1 for a GPU; set by finish */
	char *uuid, *pci, *name, *numa, *cpus; /* NULL: not known */
	int64_t memory;                        /* bytes, -1: not known */
	int minor;
	int mig_enabled;  /* -1 not known, 0, 1 */
	int *nvlink;      /* indices, ascending */
	int nvlink_count; /* -1: not in the source */
	gpumap_device *mig;
	size_t mig_count;
	char *profile; /* of a MIG instance */
	int gi, ci;

	/* usage; -1: not known */
	int64_t used, free, reserved;
	int utilization, temperature, compute_mode;
	enum listed listed;
	/* all of a GPU, its instances' included, by instance and pid; NULL for an instance */
	gpumap_process *processes;
	size_t process_room;
	size_t process_first, process_count; /* of a device, in its GPU's; set by finish */
};

struct gpumap_inventory {
	gpumap_device *gpus;
	size_t count, room;
	char *source, *origin, *driver, *host, *date;
	char *no_gpu;           /* why no program can use a GPU of this host; NULL: one can */
	const char *no_gpu_fix; /* static */
	size_t left_out;        /* GPUs that NVML counts but cannot open */
	bool assumed, partial, usage;
	bool one_model; /* all GPUs are of one model; set by inventory_finish() */
	/* From this number on it is not known how CUDA numbers the GPUs; -1: it is. 0 without
	 * nvidia-smi's numbers. */
	int doubt;
	int *order[2]; /* measured: positions by CUDA number (gpumap_order); NULL: not measured */
	const gpumap_inventory
		*whole; /* of a list of its units (lease/units.h); NULL: it is not a list */
};

/* An empty inventory. NULL without memory. */
gpumap_inventory *inventory_new(const char *source, const char *origin);

/* A device with nothing known. */
gpumap_device device_unknown(void);
/* Adds a GPU. NULL: no memory, or GPUMAP_MAX_DEVICES reached. */
gpumap_device *inventory_add(gpumap_inventory *inventory);
/* Adds a MIG instance of `gpu`. NULL: no memory, or more than MAX_MIG. */
gpumap_device *device_add_mig(gpumap_device *gpu);

/* Adds a process to a GPU, with nothing known. NULL: no memory, or more than MAX_PROCESSES. */
gpumap_process *device_add_process(gpumap_device *gpu);
/* "2026-11-21T10:00:00Z"; "" for a time, in seconds since the epoch, that has no such text. */
enum { TIME_TEXT = 24 };
void time_text(char ret[TIME_TEXT], int64_t seconds);
/* Sets the start of a process, and when it used the GPU, in seconds since the epoch. */
void process_set_start(gpumap_process *process, int64_t seconds);
void process_set_active(gpumap_process *process, int64_t seconds);
/* A process of which only the pid is known, if that is. */
gpumap_process process_of(int64_t pid);
/* Frees the texts of a process. */
void process_clear(gpumap_process *process);
/* Fills in from /proc who the processes are; sorts the list by pid. False without memory. */
bool processes_describe(gpumap_process **processes, size_t count);
/* The first word of its command, without the folder; "": not known. */
struct span process_program(const gpumap_process *process);
/* Whether that is one of these names, "Xorg,gdm"; NULL: none. */
bool process_is_named(const gpumap_process *process, const char *names);
/* Appends "process 4711 (python3 of jo)". */
void process_tell(struct strbuf *buf, const gpumap_process *process);
/* "process 4711 (jo)", or that it is not visible here. The caller frees it; NULL without memory. */
char *process_text(int64_t pid);
/* Fills in the same for all processes of an inventory. */
bool usage_describe(gpumap_inventory *inventory) MUST_CHECK;
/* The number of a compute mode ("exclusive-process"); -1: there is none. And its word; NULL. */
int compute_mode_number(struct span word);
const char *compute_mode_word(int number);
/* The type with this word ("compute"); 0: there is none. And the word of the i-th type; NULL. */
unsigned process_type(struct span word);
const char *process_type_word(size_t i, unsigned *type);

/* The GPU with this PCI address; NULL: none so far. */
const gpumap_device *inventory_by_pci(const gpumap_inventory *inventory, const char *pci);

/* Replaces a string member by a copy, with \xNN for what is not shown, such as bytes that are not
 * UTF-8. False without memory; the member is then unchanged. */
bool member_set(char **member, struct span value);
/* Replaces the NVLink neighbours by a copy (sorted, without repeats); false without memory. */
bool device_set_nvlink(gpumap_device *device, const int *neighbours, size_t count) MUST_CHECK;

/* Orders numbers, for qsort(). */
int compare_int(const void *a, const void *b);

/* Sorts GPUs by index (those without one follow in order of arrival), keeps MIG instances in order
 * of arrival, and sets gpu, physical, mig_position and the processes of instances. Two GPUs with
 * one index, UUID or PCI address are an error. GPUs without an index are numbered by PCI address,
 * unless one has none or `doubt` is set. */
int inventory_finish(gpumap_inventory *inventory, gpumap_report *report) MUST_CHECK;
/* Whether it is not known how CUDA numbers this GPU among those of the inventory. */
static inline bool inventory_doubts(const gpumap_inventory *inventory, const gpumap_device *gpu)
{
	return inventory && inventory->doubt >= 0 &&
	       (gpu->physical < 0 || gpu->physical >= inventory->doubt);
}
/* Whether nvidia-smi's numbers of the GPUs are not known. */
static inline bool inventory_unnumbered(const gpumap_inventory *inventory)
{
	return inventory && inventory->count && inventory->gpus[0].physical < 0;
}

/* Devices of one model, as far as the source shows it: those with the least and the most memory.
 * Begins as {0}. */
struct model {
	const gpumap_device *least, *most;
};
/* Adds a device. False: it is of another model than one of those before (rule N4). If it is true
 * for all devices, it is true for any of them, in any order. */
bool model_add(struct model *model, const gpumap_device *device) MUST_CHECK;

/* The first NUMA node of a device; -1: not known. */
int64_t device_node(const gpumap_device *device);

/* Where a GPU is in its host. */
struct site {
	const gpumap_device *gpu;
	int64_t node, domain;
	int bus; /* -1: not known */
};
struct site site_of(const gpumap_device *gpu);

/* How close two GPUs are, or the sum of several pairs. The first member counts first. */
struct closeness {
	int64_t links; /* pairs that NVLink connects */
	int64_t nodes; /* pairs on one NUMA node */
	int64_t buses; /* pairs in one PCI domain, the more, the nearer their buses are */
};
struct closeness site_closeness(const struct site *a, const struct site *b);
void closeness_add(struct closeness *sum, const struct closeness *more);
/* Less than 0: `b` is closer. */
int closeness_compare(const struct closeness *a, const struct closeness *b);

/* "GPU-" and 8-4-4-4-12 hexadecimal digits; also of "MIG-". */
bool is_full_uuid(struct span s, const char *prefix);

/* Readers, each in its own file. `text` is not NUL-terminated. */
bool snapshot_recognise(struct span text);
/* Appends the snapshot. Returns the name of a member that is too long to be read back, with the
 * allowed bytes in *limit; else NULL. */
const char *snapshot_write(struct strbuf *buf, const gpumap_inventory *inventory, int *limit);
int snapshot_parse(gpumap_inventory **ret, struct span text, const char *origin,
		   gpumap_report *report);
int recorded_parse(gpumap_inventory **ret, struct span text, const char *origin,
		   gpumap_report *report);
/* Whether gpumap_inventory_open treats `what` as a machine and not as a path. */
bool synthetic_recognise(const char *what);
/* The memory of a GPU with this name, in bytes; -1: the model is not known. */
int64_t model_memory(const char *name);
int synthetic_parse(gpumap_inventory **ret, struct span text, gpumap_report *report);
/* `root` "" is this machine; tests pass the folder of a recorded one. */
int proc_probe(gpumap_inventory **ret, const char *root, gpumap_report *report);
/* Makes the usage of a copy of a device unknown, and frees nothing. */
void usage_forget(gpumap_device *copy);
/* The memory in use less that of the processes; -1: not known. */
int64_t usage_hidden(const gpumap_device *device);
/* Sorts the processes of a GPU, and finds those of each instance. */
void usage_finish(gpumap_device *gpu);

#endif
