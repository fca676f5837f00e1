/* SPDX-License-Identifier: MIT */
/*
 * libgpumap: which physical GPU will this code run on, and why?
 *
 *	inventory (what exists)  --+
 *	request   (what was said) -+-> gpumap_resolve() -> mapping -> gpumap_explain()
 *	profile   (what to launch, from INI files) --+
 *	hosts     (where)                          --+-> gpumap_plan_make() -> plan
 *
 * Conventions, true for every function below unless it says otherwise:
 *
 *  - Functions returning int return GPUMAP_OK (0) or a negative gpumap_code.
 *  - The output parameter comes first and is written only on success.
 *  - Objects are opaque. The caller frees what a function creates, with the
 *    *_free function of its type; every *_free accepts NULL.
 *  - Arguments are copied: nothing of the caller's is kept after the call.
 *  - Pointers must not be NULL but where that is said, and `origin`. What reads an
 *    object (*_str, *_int, *_count, *_get, ...) takes NULL as one that knows nothing.
 *  - Strings handed out are UTF-8 or plain ASCII, borrowed, and live as long as
 *    the object they were read from. NULL means "not known".
 *  - Integers handed out are -1 when not known. Sizes are bytes.
 *  - `report` collects errors and remarks as findings and may be NULL.
 *  - The library keeps no state, reads no environment variable, prints nothing
 *    and never exits. Different threads may use different objects freely, and
 *    may read one inventory or mapping at the same time.
 *  - Rules named here (S1, V2, ...) are documented in gpumap-rules(7), findings (GM019, ...) in
 *    gpumap-findings(7).
 */
#ifndef GPUMAP_H
#define GPUMAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- codes --------------------------------------------------------------- */

/* X(value, name, meaning): every status the library returns. */
#define GPUMAP_CODES(X) \
	X(0, GPUMAP_OK, "success") \
	X(-1, GPUMAP_ENOMEM, "out of memory") \
	X(-2, GPUMAP_EINPUT, "malformed input") \
	X(-3, GPUMAP_EKEY, "unknown key") \
	X(-4, GPUMAP_EFILE, "a file cannot be read or written") \
	X(-5, GPUMAP_ESTRICT, "refused because of the key strict") \
	X(-6, GPUMAP_ENODRIVER, "the NVIDIA driver is missing or does not answer") \
	X(-7, GPUMAP_ELIMIT, "larger than the library's limits")

enum gpumap_code {
#define GPUMAP_CODE_ENUM(value, name, meaning) name = value,
	GPUMAP_CODES(GPUMAP_CODE_ENUM)
#undef GPUMAP_CODE_ENUM
};

/* Limits: more devices in an inventory, or more entries in a list, is GPUMAP_ELIMIT. */
#define GPUMAP_MAX_DEVICES 65536
/* A recorded inventory larger than this many bytes is GPUMAP_ELIMIT (256 MiB). */
#define GPUMAP_MAX_FILE (256u << 20)

/* The library's version, such as "0.1.0". Static. */
const char *gpumap_version(void);

/* One line for a code; "unknown code" for any other number. Static, never NULL. */
const char *gpumap_strerror(int code);

/* --- report: errors, warnings and remarks --------------------------------- */

typedef struct gpumap_report gpumap_report;
typedef struct gpumap_finding gpumap_finding;

enum gpumap_severity {
	GPUMAP_REMARK,  /* worth knowing; the answer stands */
	GPUMAP_WARNING, /* probably not what was meant; the answer stands */
	GPUMAP_ERROR    /* the answer is "no", or there is none */
};

enum gpumap_finding_attr {
	/* str */
	GPUMAP_FINDING_ID,     /* permanent, "GM012" */
	GPUMAP_FINDING_RULE,   /* "V5", or NULL when no rule of gpumap-rules(7) is meant */
	GPUMAP_FINDING_TEXT,   /* one line, control characters escaped */
	GPUMAP_FINDING_FIX,    /* the remedy, or NULL */
	GPUMAP_FINDING_ORIGIN, /* file, option or variable, or NULL */
	/* int */
	GPUMAP_FINDING_SEVERITY, /* enum gpumap_severity */
	GPUMAP_FINDING_LINE,     /* 1-based; -1: does not apply */
	GPUMAP_FINDING_COLUMN,   /* 1-based; -1: does not apply */
	/* str: the same for all findings of one id */
	GPUMAP_FINDING_MEANING, /* what the id stands for, one line */
	GPUMAP_FINDING_CAUSE,   /* why it comes up */
	GPUMAP_FINDING_EXAMPLE, /* a shell command that shows it, or NULL */
	GPUMAP_FINDING_REMEDY   /* what to do about it */
};

/* An empty report. GPUMAP_ENOMEM. */
int gpumap_report_new(gpumap_report **ret);
void gpumap_report_free(gpumap_report *report);

/* The number of findings; the i-th in the order of arrival, NULL past the end.
 * When memory ran out while reporting, the last one says so (GM001). */
size_t gpumap_report_count(const gpumap_report *report);
const gpumap_finding *gpumap_report_get(const gpumap_report *report, size_t i);

const char *gpumap_finding_str(const gpumap_finding *finding, enum gpumap_finding_attr attr);
int64_t gpumap_finding_int(const gpumap_finding *finding, enum gpumap_finding_attr attr);

/* The worst severity in the report, or -1 when it is empty. */
int gpumap_report_worst(const gpumap_report *report);

/* --- inventory: what exists ----------------------------------------------- */

typedef struct gpumap_inventory gpumap_inventory;
typedef struct gpumap_device gpumap_device; /* a GPU, or a MIG instance of one */

enum gpumap_inventory_attr {
	/* str */
	GPUMAP_INVENTORY_SOURCE, /* "nvml", "proc", "snapshot", "nvidia-smi -L", "assumed", ... */
	GPUMAP_INVENTORY_ORIGIN, /* file name, host name or the text it was made from */
	GPUMAP_INVENTORY_DRIVER, /* driver version, "570.124.06" */
	GPUMAP_INVENTORY_HOST,   /* host name at the time of recording */
	GPUMAP_INVENTORY_DATE,   /* when it was recorded, "2026-11-21T10:00:00Z" */
	/* int */
	GPUMAP_INVENTORY_ASSUMED, /* 1: its devices are taken as existing, nobody saw them */
	GPUMAP_INVENTORY_PARTIAL, /* 1: the source was cut or a device did not answer */
	/* str: why no program can use a GPU of the host that was probed, or of that of a snapshot,
	 * which keeps it; NULL: one can, or the inventory is another's */
	GPUMAP_INVENTORY_NO_GPU
};

/* A MIG instance has UUID, memory, profile and numbers of its own, else its GPU's. */
enum gpumap_device_attr {
	/* str */
	GPUMAP_DEVICE_UUID,        /* "GPU-..." or "MIG-...", as nvidia-smi -L prints it */
	GPUMAP_DEVICE_PCI,         /* "0000:07:00.0", lower case */
	GPUMAP_DEVICE_NAME,        /* "NVIDIA H100 80GB HBM3" */
	GPUMAP_DEVICE_NUMA,        /* NUMA nodes as a list, "0" or "0-1" */
	GPUMAP_DEVICE_CPUS,        /* CPUs near the GPU as a list, "0-31,64-95" */
	GPUMAP_DEVICE_MIG_PROFILE, /* "1g.10gb"; NULL for a GPU */
	/* int */
	GPUMAP_DEVICE_INDEX,       /* nvidia-smi's number as the source printed it (rule N1) */
	GPUMAP_DEVICE_MEMORY,      /* bytes */
	GPUMAP_DEVICE_MINOR,       /* N of /dev/nvidiaN; not the index */
	GPUMAP_DEVICE_MIG_ENABLED, /* 1 enabled, 0 disabled */
	GPUMAP_DEVICE_MIG_GI,      /* GPU instance; -1 for a GPU */
	GPUMAP_DEVICE_MIG_CI,      /* compute instance; -1 for a GPU */
	GPUMAP_DEVICE_PHYSICAL     /* the index; where the source printed none, the place by PCI */
};

enum gpumap_order {
	GPUMAP_ORDER_FASTEST, /* CUDA_DEVICE_ORDER unset or FASTEST_FIRST (rule N2) */
	GPUMAP_ORDER_PCI      /* CUDA_DEVICE_ORDER=PCI_BUS_ID */
};

/* Flags of gpumap_inventory_probe. */
#define GPUMAP_PROBE_ASK_DRIVER 1u /* measure the CUDA order in a helper process (rule N6) */

/* The GPUs of this host: NVML; without it /proc/driver/nvidia, or /sys/bus/pci while
 * no driver is loaded. No CUDA context is ever created. A GPU that NVML counts but
 * that this process may not open (rule L6) or that does not answer is left out and
 * reported; the latter makes the inventory partial. A host without GPUs gives an
 * empty inventory. Where NVML does not answer or has no GPU, a finding says which of rule
 * E1's cases it is; while GPUMAP_INVENTORY_NO_GPU is set, gpumap_resolve gives no device.
 * `helper` is the path of gpumap-ask-driver, NULL for the installed one.
 * GPUMAP_ENODRIVER when the order was asked for and not answered; GPUMAP_EINPUT for
 * unknown flags, and when the driver tells two GPUs of one UUID or PCI address;
 * GPUMAP_ELIMIT, GPUMAP_ENOMEM. */
int gpumap_inventory_probe(gpumap_inventory **ret, unsigned flags, const char *helper,
			   gpumap_report *report);

/* Reads `size` bytes of any recorded form: a snapshot of gpumap_inventory_save,
 * nvidia-smi -L, the plain table, --query-gpu CSV, topo -m, nvlink -s,
 * /proc/driver/nvidia/gpus/N/information, NCCL topology XML, or several of
 * them one after the other. `origin` names the text in findings.
 * GPUMAP_EINPUT when no GPU can be read out of it, or its parts exclude each other,
 * GPUMAP_ELIMIT, GPUMAP_ENOMEM. */
int gpumap_inventory_parse(gpumap_inventory **ret, const char *text, size_t size,
			   const char *origin, gpumap_report *report);

/* As gpumap_inventory_parse, from the file at `path`; "-" is standard input.
 * Also GPUMAP_EFILE. */
int gpumap_inventory_read(gpumap_inventory **ret, const char *path, gpumap_report *report);

/* `count` unnamed GPUs of one model in PCI order, taken as existing (rule N4).
 * 0 is a machine without GPUs. GPUMAP_EINPUT below 0, GPUMAP_ELIMIT, GPUMAP_ENOMEM. */
int gpumap_inventory_assume(gpumap_inventory **ret, int count, gpumap_report *report);

/* What a user writes after --inventory: "host", "-", a number such as "8", a
 * synthetic machine such as "8xH100" or "2xA100+1xT1000", or a file's path. Codes as
 * those of gpumap_inventory_probe and gpumap_inventory_read. */
int gpumap_inventory_open(gpumap_inventory **ret, const char *what, gpumap_report *report);

/* Writes a snapshot that gpumap_inventory_read reads back to the same inventory.
 * The file appears complete or not at all (temporary file, fsync, rename); "-" is
 * standard output. GPUMAP_EFILE, GPUMAP_ELIMIT for a member that is too long to be
 * read back, GPUMAP_ENOMEM. */
int gpumap_inventory_save(const gpumap_inventory *inventory, const char *path,
			  gpumap_report *report);

void gpumap_inventory_free(gpumap_inventory *inventory);

size_t gpumap_inventory_count(const gpumap_inventory *inventory);
/* The i-th GPU, by nvidia-smi's number where known; NULL past the end. */
const gpumap_device *gpumap_inventory_get(const gpumap_inventory *inventory, size_t i);
const char *gpumap_inventory_str(const gpumap_inventory *inventory,
				 enum gpumap_inventory_attr attr);
int64_t gpumap_inventory_int(const gpumap_inventory *inventory, enum gpumap_inventory_attr attr);

/* Position (for gpumap_inventory_get) of the GPU that CUDA numbers `i` without a
 * visible list; -1 when not known (rule N4). */
int gpumap_inventory_cuda_order(const gpumap_inventory *inventory, enum gpumap_order order,
				size_t i);

const char *gpumap_device_str(const gpumap_device *device, enum gpumap_device_attr attr);
int64_t gpumap_device_int(const gpumap_device *device, enum gpumap_device_attr attr);

/* MIG instances of a GPU: their number, and the i-th (NULL past the end). */
size_t gpumap_device_mig_count(const gpumap_device *device);
const gpumap_device *gpumap_device_mig(const gpumap_device *device, size_t i);

/* NVLink neighbours: their number (-1: the source does not tell), and the index
 * of the i-th (-1 past the end), ascending. */
int gpumap_device_nvlink_count(const gpumap_device *device);
int gpumap_device_nvlink(const gpumap_device *device, size_t i);

/* --- request: what was said ------------------------------------------------ */

typedef struct gpumap_request gpumap_request;

enum gpumap_key_attr {
	GPUMAP_KEY_NAME,        /* "set_device"; the option is --set-device */
	GPUMAP_KEY_OPTION,      /* "--set-device" */
	GPUMAP_KEY_ENVIRONMENT, /* "GPUMAP_SET_DEVICE" */
	GPUMAP_KEY_VALUE,       /* what its value looks like, "N|cuda:N" */
	GPUMAP_KEY_HELP,        /* one line */
	GPUMAP_KEY_SECTION,     /* of profile files, "program"; NULL: a key of requests */
	GPUMAP_KEY_DEFAULT      /* its value when nobody gives it one; NULL: a key of requests */
};

typedef struct gpumap_key gpumap_key;

/* Calls fn(key, data) for every key, in the order of the manual, until fn returns
 * other than 0; returns that value, or 0. Read `key` with gpumap_key_str. */
int gpumap_key_each(int (*fn)(const gpumap_key *key, void *data), void *data);
const char *gpumap_key_str(const gpumap_key *key, enum gpumap_key_attr attr);

/* An empty request: nothing was said. GPUMAP_ENOMEM. */
int gpumap_request_new(gpumap_request **ret);
void gpumap_request_free(gpumap_request *request);

/* One statement. `origin` says where it comes from ("--visible", "train.ini:7").
 * Statements about variables (visible, prefix, script_export, script_inline,
 * in_code, after_init) add up, in the order of the calls; any other key holds its last value.
 * GPUMAP_EKEY (the nearest key is named), GPUMAP_EINPUT, GPUMAP_ELIMIT, GPUMAP_ENOMEM;
 * on failure the request is unchanged. */
int gpumap_request_set(gpumap_request *request, const char *key, const char *value,
		       const char *origin, gpumap_report *report);

/* A whole environment as execve(2) takes it: the caller's, or that of a process.
 * Visible lists, CUDA_DEVICE_ORDER and scheduler variables become the weakest
 * statements (rule S3); GPUMAP_KEY=value sets that key unless it is set already
 * (rule S6); names like CUDA_VISABLE_DEVICES are reported (rule S7). Codes as those of
 * gpumap_request_set; what stands before the variable that failed was taken. */
int gpumap_request_environ(gpumap_request *request, const char *const *envp, gpumap_report *report);

/* --- mapping: the answer --------------------------------------------------- */

typedef struct gpumap_mapping gpumap_mapping;
typedef struct gpumap_entry gpumap_entry; /* one logical device */
typedef struct gpumap_step gpumap_step;   /* one rule that was used */

enum gpumap_certainty { GPUMAP_CERTAIN, GPUMAP_LIKELY, GPUMAP_ASSUMED, GPUMAP_UNDECIDABLE };

enum gpumap_mapping_attr {
	/* str */
	GPUMAP_MAPPING_MODE,         /* "single", "dp", "ddp", "mp" */
	GPUMAP_MAPPING_ASSUMPTION,   /* what was assumed, one sentence; NULL: nothing */
	GPUMAP_MAPPING_ENDED_TEXT,   /* the entry that ended the visible list; NULL: none did */
	GPUMAP_MAPPING_ENDED_REASON, /* why, "no such device" */
	GPUMAP_MAPPING_ENDED_RULE,   /* "V2" */
	/* int */
	GPUMAP_MAPPING_ANSWERED,   /* 1; 0: the statements end in an error or a "no" */
	GPUMAP_MAPPING_ENDED_ENTRY /* 0-based number of the entry that ended the list */
};

/* Which physical GPU does this code run on? A pure function of its arguments, for
 * one process. `inventory` NULL: nothing is known of the machine; every device that
 * the request names is taken as existing, in PCI order.
 * Statements that end in an error (rules D7, G3, E1, ...) still give a mapping:
 * GPUMAP_MAPPING_ANSWERED is then 0 and the report holds an error.
 * GPUMAP_EINPUT: a statement is malformed or two exclude each other.
 * GPUMAP_ESTRICT, GPUMAP_ELIMIT, GPUMAP_ENOMEM. */
int gpumap_resolve(gpumap_mapping **ret, const gpumap_request *request,
		   const gpumap_inventory *inventory, gpumap_report *report);
void gpumap_mapping_free(gpumap_mapping *mapping);

const char *gpumap_mapping_str(const gpumap_mapping *mapping, enum gpumap_mapping_attr attr);
int64_t gpumap_mapping_int(const gpumap_mapping *mapping, enum gpumap_mapping_attr attr);

/* The visible devices in logical order (rule V1). NULL past the end. */
size_t gpumap_mapping_visible_count(const gpumap_mapping *mapping);
const gpumap_entry *gpumap_mapping_visible(const gpumap_mapping *mapping, size_t logical);

/* The device that is used (rules D1-D3, G7); NULL: none (an error, or the CPU). */
const gpumap_entry *gpumap_mapping_chosen(const gpumap_mapping *mapping);
/* The DataParallel master (rule G2); NULL in other modes. */
const gpumap_entry *gpumap_mapping_master(const gpumap_mapping *mapping);
/* Replicas (dp), this process's device (single, ddp) or stages (mp), in order. */
size_t gpumap_mapping_replica_count(const gpumap_mapping *mapping);
const gpumap_entry *gpumap_mapping_replica(const gpumap_mapping *mapping, size_t i);

/* Samples for replica i of the batch that the request gave (rule G6); -1: past the
 * end of the split, or no batch was given. */
int64_t gpumap_mapping_batch(const gpumap_mapping *mapping, size_t i);

/* Logical number of physical GPU `physical` in this mapping; -1: not visible, or
 * undecidable. The inverse of gpumap_entry_int(.., GPUMAP_ENTRY_PHYSICAL). */
int gpumap_mapping_logical(const gpumap_mapping *mapping, int physical);

enum gpumap_entry_attr {
	/* str: NULL when not known or undecidable */
	GPUMAP_ENTRY_UUID,
	GPUMAP_ENTRY_PCI,
	GPUMAP_ENTRY_NAME,
	/* int */
	GPUMAP_ENTRY_LOGICAL,   /* N of cuda:N */
	GPUMAP_ENTRY_PHYSICAL,  /* nvidia-smi's number in the outermost view known (rule N1) */
	GPUMAP_ENTRY_CERTAINTY, /* enum gpumap_certainty */
	GPUMAP_ENTRY_MIG        /* position among its GPU's MIG instances; -1: a whole GPU */
};

const char *gpumap_entry_str(const gpumap_entry *entry, enum gpumap_entry_attr attr);
int64_t gpumap_entry_int(const gpumap_entry *entry, enum gpumap_entry_attr attr);

/* The devices it can be: one when decided, several when not (rules N4, V9). They are
 * the mapping's own copies, without NVLink neighbours. */
size_t gpumap_entry_candidate_count(const gpumap_entry *entry);
const gpumap_device *gpumap_entry_candidate(const gpumap_entry *entry, size_t i);

/* "certain", "likely", "assumed", "undecidable". Static. */
const char *gpumap_certainty_name(enum gpumap_certainty certainty);

enum gpumap_step_attr {
	GPUMAP_STEP_RULE,  /* "S2" */
	GPUMAP_STEP_TEXT,  /* one line */
	GPUMAP_STEP_ORIGIN /* the statement's origin, or NULL */
};

/* The rules that were used, in the order of use. */
size_t gpumap_mapping_step_count(const gpumap_mapping *mapping);
const gpumap_step *gpumap_mapping_step(const gpumap_mapping *mapping, size_t i);
const char *gpumap_step_str(const gpumap_step *step, enum gpumap_step_attr attr);

/* Statements that lost to this step's: how many; source ("environment" or the key's
 * name) and value of the i-th (NULL past the end; the value of an unset is "unset"). */
size_t gpumap_step_loser_count(const gpumap_step *step);
const char *gpumap_step_loser_source(const gpumap_step *step, size_t i);
const char *gpumap_step_loser_value(const gpumap_step *step, size_t i);

/* --- explain: the answer as text ------------------------------------------- */

enum gpumap_format {
	GPUMAP_TEXT,
	GPUMAP_JSON, /* schema 1, described in gpumap(1) */
	GPUMAP_SVG,
	GPUMAP_COLORED_TEXT /* GPUMAP_TEXT with the codes of a terminal's colours */
};

/* The whole answer in *ret (free(3) it), NUL-terminated, ending in a newline.
 * `mapping` NULL: there is none; JSON then carries the report's findings alone.
 * Findings are part of JSON and SVG; for text print the report yourself.
 * GPUMAP_EINPUT: no such format. GPUMAP_ENOMEM. */
int gpumap_explain(char **ret, const gpumap_mapping *mapping, const gpumap_report *report,
		   enum gpumap_format format);

/* The inventory as JSON, as gpumap_explain. */
int gpumap_inventory_json(char **ret, const gpumap_inventory *inventory,
			  const gpumap_report *report);

#ifdef __cplusplus
}
#endif

/* Launch profiles, plans and rules; headers of their own for their length only. */
#include "gpumap_plan.h"
#include "gpumap_profile.h"
#include "gpumap_rules.h"
#endif
