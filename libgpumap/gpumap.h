/* SPDX-License-Identifier: MIT */
/*
 * libgpumap: which physical GPU will this code run on, and why?
 *
 *	inventory (what exists)  --+
 *	request   (statements)    -+-> gpumap_resolve() -> mapping -> gpumap_mapping_format()
 *	profile   (what to launch, from INI files) --+
 *	hosts     (where)                          --+-> gpumap_plan_make() -> plan
 *
 * A statement is one setting that decides which GPU a process uses, such as a value of
 * CUDA_VISIBLE_DEVICES in the shell or in the program's code, or the index in .cuda(1).
 *
 * Conventions, for every function below unless its comment says otherwise:
 *
 *  - Functions returning int return GPUMAP_OK (0) or a negative gpumap_code. The codes in a
 *    function's comment are the errors that it can return, with a reason where that is not obvious.
 *  - The output parameter comes first and is written only on success.
 *  - Objects are opaque. The caller frees what a function creates, with the
 *    *_free function of its type; every *_free accepts NULL.
 *  - The library copies its arguments and keeps no pointer of the caller. The only
 *    exception is the inventory of gpumap_hosts_set_inventory.
 *  - Pointers must not be NULL, except `origin` and where a comment allows it. Functions that
 *    read an object (*_str, *_int, *_count, *_get, ...) accept NULL and return "not known".
 *  - An object has text attributes (enum gpumap_X_str_attr, read by *_str) and number attributes
 *    (enum gpumap_X_int_attr, read by *_int). An attribute of the wrong enum reads as not known.
 *    The values of enumerators never change.
 *  - A returned string is valid UTF-8; bytes of a caller's `origin` that are not UTF-8 become \xNN.
 *    Values of settings and variables, and arguments, are the exception: they are returned byte for
 *    byte as they were given. A string belongs to the object that it was read
 *    from and lives as long as that object. NULL means "not known".
 *  - "Static" means that the result is never freed.
 *  - A returned integer is -1 if it is not known. Sizes are in bytes.
 *  - `report` collects errors, warnings and remarks as findings. It may be NULL.
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

/* --- codes ---------------------------------------------------------------- */

/* X(value, name, meaning): every status the library returns. */
#define GPUMAP_CODES(X) \
	X(0, GPUMAP_OK, "success") \
	X(-1, GPUMAP_ENOMEM, "out of memory") \
	X(-2, GPUMAP_EINPUT, "malformed input") \
	X(-3, GPUMAP_EKEY, "unknown key") \
	X(-4, GPUMAP_EFILE, "a file cannot be read or written") \
	X(-5, GPUMAP_ESTRICT, "refused because of the key strict") \
	X(-6, GPUMAP_ENODRIVER, "the NVIDIA driver is missing or does not answer") \
	X(-7, GPUMAP_ELIMIT, "larger than the library's limits") \
	X(-8, GPUMAP_EBUSY, "the GPUs are in use")

enum gpumap_code {
#define GPUMAP_CODE_ENUM(value, name, meaning) name = value,
	GPUMAP_CODES(GPUMAP_CODE_ENUM)
#undef GPUMAP_CODE_ENUM
};

/* An inventory with more devices, or a list with more entries, gives GPUMAP_ELIMIT. */
#define GPUMAP_MAX_DEVICES 65536
/* A recorded inventory with more bytes (256 MiB) gives GPUMAP_ELIMIT. */
#define GPUMAP_MAX_FILE (256u << 20)

/* The library's version, such as "0.2.0". Static. */
const char *gpumap_version(void);

/* One line for a code; "unknown code" for any other number. Static, never NULL. */
const char *gpumap_strerror(int code);

/* --- report: errors, warnings and remarks --------------------------------- */

typedef struct gpumap_report gpumap_report;
typedef struct gpumap_finding gpumap_finding;

enum gpumap_severity {
	GPUMAP_SEVERITY_REMARK = 0,  /* worth knowing; the answer is still valid */
	GPUMAP_SEVERITY_WARNING = 1, /* probably not what was meant; the answer is still valid */
	GPUMAP_SEVERITY_ERROR = 2    /* the answer is "no", or there is no answer */
};

enum gpumap_finding_str_attr {
	GPUMAP_FINDING_ID = 0,     /* permanent, "GM012" */
	GPUMAP_FINDING_RULE = 1,   /* "V5", its rule in gpumap-rules(7); or NULL */
	GPUMAP_FINDING_TEXT = 2,   /* one line, control characters escaped */
	GPUMAP_FINDING_FIX = 3,    /* the remedy for this case, or NULL */
	GPUMAP_FINDING_ORIGIN = 4, /* file, option or variable, or NULL */
	/* These depend only on the id. */
	GPUMAP_FINDING_MEANING = 5, /* what the id stands for, one line */
	GPUMAP_FINDING_CAUSE = 6,   /* why it comes up */
	GPUMAP_FINDING_EXAMPLE = 7, /* a shell command that shows it, or NULL */
	GPUMAP_FINDING_REMEDY = 8   /* the general remedy */
};

enum gpumap_finding_int_attr {
	GPUMAP_FINDING_SEVERITY = 100, /* enum gpumap_severity */
	GPUMAP_FINDING_LINE = 101,     /* 1-based; -1: does not apply */
	GPUMAP_FINDING_COLUMN = 102    /* 1-based; -1: does not apply */
};

/* An empty report. GPUMAP_ENOMEM. */
int gpumap_report_new(gpumap_report **ret);
void gpumap_report_free(gpumap_report *report);

/* The number of findings, and the i-th in the order in which they were added (NULL past the end).
 * If memory ran out while reporting, the last finding is GM001. */
size_t gpumap_report_count(const gpumap_report *report);
const gpumap_finding *gpumap_report_get(const gpumap_report *report, size_t i);

const char *gpumap_finding_str(const gpumap_finding *finding, enum gpumap_finding_str_attr attr);
int64_t gpumap_finding_int(const gpumap_finding *finding, enum gpumap_finding_int_attr attr);

/* The worst severity in the report, or -1 when it is empty. */
int gpumap_report_worst(const gpumap_report *report);

/* --- formats: how objects are written out ---------------------------------- */

enum gpumap_format {
	GPUMAP_FORMAT_TEXT = 0, /* as the command prints it */
	GPUMAP_FORMAT_JSON = 1, /* schema 1, described in gpumap(1) */
	GPUMAP_FORMAT_SVG = 2,
	GPUMAP_FORMAT_INI = 3 /* the library can read the object from it again */
};

/* Flags of the functions below. A flag without a meaning for the format is ignored. */
#define GPUMAP_FORMAT_FLAG_COLORS 1u  /* text: use a terminal's colours */
#define GPUMAP_FORMAT_FLAG_ORIGINS 2u /* text, INI: show where each value comes from */

/* gpumap_mapping_format, gpumap_inventory_format, gpumap_profile_format, gpumap_plan_format,
 * gpumap_plan_diff and gpumap_plan_emit write an object out. *ret is the whole text; it is
 * NUL-terminated, never NULL, and ends in a newline unless it is empty. The caller frees it with
 * free(3). JSON and SVG include the findings of `report`; with text and INI the caller prints them.
 * The object may be NULL: then JSON and SVG have only the findings, and text is empty.
 * GPUMAP_EINPUT: a flag is unknown, or the object does not have this format (NULL has no INI).
 * GPUMAP_ENOMEM. */

/* --- rules ---------------------------------------------------------------- */

typedef struct gpumap_rule gpumap_rule;

enum gpumap_rule_str_attr {
	GPUMAP_RULE_ID = 0,      /* "V5", permanent */
	GPUMAP_RULE_LINE = 1,    /* the rule in one line */
	GPUMAP_RULE_TEXT = 2,    /* the rule in full */
	GPUMAP_RULE_EXAMPLE = 3, /* or NULL */
	GPUMAP_RULE_SOURCE = 4,  /* where it is documented or was seen */
	/* "documented", "observed", "implemented", "verified" or "assumed" */
	GPUMAP_RULE_EVIDENCE = 5
};

/* The rule with this id, in any letter case; NULL if there is no such rule. Static. */
const gpumap_rule *gpumap_rule_find(const char *id);
/* The i-th rule in the order of the manual; NULL past the end. */
const gpumap_rule *gpumap_rule_get(size_t i);
const char *gpumap_rule_str(const gpumap_rule *rule, enum gpumap_rule_str_attr attr);

/* --- findings, looked up -------------------------------------------------- */

/* The description of the id of a finding, such as "GM019", in any letter case; NULL if there is no
 * such id. No report is needed. Its GPUMAP_FINDING_TEXT is the meaning of the id, and its
 * GPUMAP_FINDING_RULE is the rule that findings with this id come from. Static. */
const gpumap_finding *gpumap_finding_find(const char *id);
/* The i-th description in the order of the manual; NULL past the end. */
const gpumap_finding *gpumap_finding_get(size_t i);

/* --- inventory: what exists ----------------------------------------------- */

typedef struct gpumap_inventory gpumap_inventory;
typedef struct gpumap_device gpumap_device;   /* a GPU, or a MIG instance of one */
typedef struct gpumap_process gpumap_process; /* a process that uses a GPU */

enum gpumap_inventory_str_attr {
	GPUMAP_INVENTORY_SOURCE = 0, /* "nvml", "proc", "snapshot", "nvidia-smi -L", ... */
	GPUMAP_INVENTORY_ORIGIN = 1, /* file name, host name or the text it was made from */
	GPUMAP_INVENTORY_DRIVER = 2, /* driver version, "570.124.06" */
	GPUMAP_INVENTORY_HOST = 3,   /* host name at the time of recording */
	GPUMAP_INVENTORY_DATE = 4,   /* when it was recorded, "2026-11-21T10:00:00Z" */
	/* why no program can use a GPU of the probed host; NULL: programs can use one, or no host
	 * was probed. A snapshot keeps this text. */
	GPUMAP_INVENTORY_NO_GPU = 5
};

enum gpumap_inventory_int_attr {
	GPUMAP_INVENTORY_ASSUMED = 100, /* 1: synthetic; its devices may not exist */
	/* 1: the source was truncated, or a device did not answer */
	GPUMAP_INVENTORY_PARTIAL = 101,
	GPUMAP_INVENTORY_USAGE = 102 /* 1: the usage of its devices was read */
};

/* A MIG instance has its own UUID, memory, profile, numbers, load and processes. Its other
 * attributes are those of its GPU. */
enum gpumap_device_str_attr {
	GPUMAP_DEVICE_UUID = 0,       /* "GPU-..." or "MIG-...", as nvidia-smi -L prints it */
	GPUMAP_DEVICE_PCI = 1,        /* "0000:07:00.0", lower case */
	GPUMAP_DEVICE_NAME = 2,       /* "NVIDIA H100 80GB HBM3" */
	GPUMAP_DEVICE_NUMA = 3,       /* NUMA nodes as a list, "0" or "0-1" */
	GPUMAP_DEVICE_CPUS = 4,       /* CPUs near the GPU as a list, "0-31,64-95" */
	GPUMAP_DEVICE_MIG_PROFILE = 5 /* "1g.10gb"; NULL for a GPU */
};

enum gpumap_device_int_attr {
	GPUMAP_DEVICE_INDEX = 100,  /* nvidia-smi's number as the source printed it (rule N1) */
	GPUMAP_DEVICE_MEMORY = 101, /* bytes */
	GPUMAP_DEVICE_MINOR = 102,  /* N of /dev/nvidiaN; not the index */
	GPUMAP_DEVICE_MIG_ENABLED = 103, /* 1 enabled, 0 disabled */
	GPUMAP_DEVICE_MIG_GI = 104,      /* GPU instance; -1 for a GPU */
	GPUMAP_DEVICE_MIG_CI = 105,      /* compute instance; -1 for a GPU */
	GPUMAP_DEVICE_PHYSICAL = 106,    /* the index, else the position in PCI order */
	/* The usage at the time of recording, if it was read. The memory of a GPU with MIG
	 * instances includes theirs. */
	GPUMAP_DEVICE_MEMORY_USED = 107,
	GPUMAP_DEVICE_MEMORY_FREE = 108,
	/* memory that the driver reserves. If it is not known, GPUMAP_DEVICE_MEMORY_USED
	 * includes it. */
	GPUMAP_DEVICE_MEMORY_RESERVED = 109,
	GPUMAP_DEVICE_UTILIZATION = 110,  /* percent, as NVML reports it */
	GPUMAP_DEVICE_TEMPERATURE = 111,  /* degrees Celsius */
	GPUMAP_DEVICE_COMPUTE_MODE = 112, /* enum gpumap_compute_mode */
	/* the list of processes. 1: complete; 0: processes may be missing, or there is no list */
	GPUMAP_DEVICE_PROCESSES_COMPLETE = 113,
	/* used memory that no listed process accounts for: that of processes that are not visible
	 * here, and a little of the driver. Leases count it as used. Not known if the used memory,
	 * or that of a listed process, is not known. */
	GPUMAP_DEVICE_MEMORY_HIDDEN = 114
};

/* Which programs may use the GPU; NVML's numbers. */
enum gpumap_compute_mode {
	GPUMAP_COMPUTE_MODE_DEFAULT = 0,
	GPUMAP_COMPUTE_MODE_EXCLUSIVE_THREAD = 1, /* old drivers: one thread */
	GPUMAP_COMPUTE_MODE_PROHIBITED = 2,       /* none */
	GPUMAP_COMPUTE_MODE_EXCLUSIVE_PROCESS = 3 /* one process */
};

enum gpumap_order {
	GPUMAP_ORDER_FASTEST = 0, /* CUDA_DEVICE_ORDER unset or FASTEST_FIRST (rule N2) */
	GPUMAP_ORDER_PCI = 1      /* CUDA_DEVICE_ORDER=PCI_BUS_ID */
};

/* Flags of gpumap_inventory_probe. */
#define GPUMAP_PROBE_FLAG_ASK_DRIVER 1u /* measure the CUDA order in a helper process (rule N6) */
#define GPUMAP_PROBE_FLAG_USAGE 2u      /* read the use of the devices, and their processes */

/* Reads the GPUs of this host from NVML. Without NVML it reads /proc/driver/nvidia, or /sys/bus/pci
 * if no driver is loaded. It never creates a CUDA context.
 *
 * A GPU that NVML counts but that this process may not open (rule L6) is reported and left out. A
 * GPU that does not answer is reported and makes the inventory partial; it is left out if nothing
 * can be read of it. A host without GPUs gives an empty inventory. If NVML does not answer or has
 * no GPU, a finding gives the reason, one of those in rule E1. If GPUMAP_INVENTORY_NO_GPU is set,
 * gpumap_resolve gives no device.
 *
 * With GPUMAP_PROBE_FLAG_USAGE it also reads the usage of each device from NVML, and the owners of
 * its processes from /proc. Without NVML the usage is not known. What NVML refuses to give is
 * reported, and stays unknown.
 *
 * `helper` is the path of gpumap-ask-driver, the program that measures CUDA's order; NULL: the
 * installed one. GPUMAP_ENODRIVER: the driver did not give the order that was asked for.
 * GPUMAP_EINPUT: a flag is unknown, or the driver gives two GPUs one UUID or PCI address.
 * GPUMAP_ELIMIT, GPUMAP_ENOMEM. */
int gpumap_inventory_probe(gpumap_inventory **ret, unsigned flags, const char *helper,
			   gpumap_report *report);

/* Reads `size` bytes of any recorded form: a snapshot of gpumap_inventory_save,
 * nvidia-smi -L, the plain table, --query-gpu CSV, topo -m, nvlink -s,
 * /proc/driver/nvidia/gpus/N/information, NCCL topology XML, or several of
 * them one after the other. `origin` names the text in findings.
 * GPUMAP_EINPUT: the text has no GPU, or its parts contradict each other.
 * GPUMAP_ELIMIT, GPUMAP_ENOMEM. */
int gpumap_inventory_parse(gpumap_inventory **ret, const char *text, size_t size,
			   const char *origin, gpumap_report *report);

/* Does the same for the file at `path`; "-" is standard input. Also GPUMAP_EFILE. */
int gpumap_inventory_read(gpumap_inventory **ret, const char *path, gpumap_report *report);

/* Makes a synthetic inventory: `count` unnamed GPUs of one model in PCI order (rule N4). If `count`
 * is 0, the machine has no GPUs. GPUMAP_EINPUT: `count` is negative. GPUMAP_ELIMIT, GPUMAP_ENOMEM.
 */
int gpumap_inventory_assume(gpumap_inventory **ret, int count, gpumap_report *report);

/* Opens what a user writes after --inventory: "host", "-", a synthetic machine such as "8",
 * "8xH100" or "2xA100+1xT1000", or the path of a file. Returns the codes of
 * gpumap_inventory_probe and gpumap_inventory_read. */
int gpumap_inventory_open(gpumap_inventory **ret, const char *what, gpumap_report *report);

/* Writes a snapshot, from which gpumap_inventory_read makes the same inventory. The file
 * appears complete or not at all (temporary file, fsync, rename); "-" is standard output.
 * GPUMAP_EFILE. GPUMAP_ELIMIT: a member is too long to be read again. GPUMAP_ENOMEM. */
int gpumap_inventory_save(const gpumap_inventory *inventory, const char *path,
			  gpumap_report *report);

/* Writes the inventory as JSON, or as the INI file of gpumap_inventory_save. Also GPUMAP_ELIMIT. */
int gpumap_inventory_format(char **ret, const gpumap_inventory *inventory,
			    enum gpumap_format format, unsigned flags, const gpumap_report *report);

void gpumap_inventory_free(gpumap_inventory *inventory);

size_t gpumap_inventory_count(const gpumap_inventory *inventory);
/* The i-th GPU in the order of nvidia-smi's numbers, if they are known; NULL past the end. */
const gpumap_device *gpumap_inventory_get(const gpumap_inventory *inventory, size_t i);
const char *gpumap_inventory_str(const gpumap_inventory *inventory,
				 enum gpumap_inventory_str_attr attr);
int64_t gpumap_inventory_int(const gpumap_inventory *inventory,
			     enum gpumap_inventory_int_attr attr);

/* The position (for gpumap_inventory_get) of CUDA device `i` in this order, when no visible list is
 * set; -1: it is not known (rule N4), or there is no such GPU. */
int gpumap_inventory_cuda_position(const gpumap_inventory *inventory, enum gpumap_order order,
				   size_t i);

const char *gpumap_device_str(const gpumap_device *device, enum gpumap_device_str_attr attr);
int64_t gpumap_device_int(const gpumap_device *device, enum gpumap_device_int_attr attr);

/* The number of MIG instances of a GPU, and the i-th instance (NULL past the end). */
size_t gpumap_device_mig_count(const gpumap_device *device);
const gpumap_device *gpumap_device_mig(const gpumap_device *device, size_t i);

/* The processes on a device: their number (-1: the list is not known), and the i-th (NULL past the
 * end). Those of a GPU include those of its MIG instances. They are in the order of instances and
 * pids. */
int gpumap_device_process_count(const gpumap_device *device);
const gpumap_process *gpumap_device_process(const gpumap_device *device, size_t i);

enum gpumap_process_str_attr {
	GPUMAP_PROCESS_USER = 0,      /* the name; NULL also if the user has none */
	GPUMAP_PROCESS_COMMAND = 1,   /* the command line, truncated after 1024 bytes */
	GPUMAP_PROCESS_CONTAINER = 2, /* "docker:3f2a91c07d4e", or a job such as "slurm:4711" */
	GPUMAP_PROCESS_START = 3,     /* "2026-11-21T10:00:00Z" */
	GPUMAP_PROCESS_ACTIVE = 4     /* as ACTIVE_TIME; NULL also if that is 0 */
};

enum gpumap_process_int_attr {
	GPUMAP_PROCESS_PID = 100,
	GPUMAP_PROCESS_MEMORY = 101,     /* bytes of the device */
	GPUMAP_PROCESS_UID = 102,        /* of its user */
	GPUMAP_PROCESS_TYPES = 103,      /* GPUMAP_PROCESS_TYPE_*, one or more */
	GPUMAP_PROCESS_START_TIME = 104, /* seconds since 1970-01-01T00:00:00Z */
	GPUMAP_PROCESS_MIG = 105,        /* the index of its MIG instance on the GPU, from 0 */
	/* 1: /proc has it; 0: it is of another pid namespace, or hidden (hidepid, WSL), so only its
	 * pid and memory are known */
	GPUMAP_PROCESS_VISIBLE = 106,
	/* When it last used the GPU, in seconds since 1970-01-01T00:00:00Z; 0: not within the last
	 * seconds, the time that the driver's samples cover. Not known for GPUs with MIG
	 * instances. */
	GPUMAP_PROCESS_ACTIVE_TIME = 107
};

#define GPUMAP_PROCESS_TYPE_COMPUTE 1u
#define GPUMAP_PROCESS_TYPE_GRAPHICS 2u
#define GPUMAP_PROCESS_TYPE_MPS 4u /* a client of MPS */

const char *gpumap_process_str(const gpumap_process *process, enum gpumap_process_str_attr attr);
int64_t gpumap_process_int(const gpumap_process *process, enum gpumap_process_int_attr attr);

/* The number of GPUs that NVLink connects with this one (-1: not known), and the index of the i-th
 * of them, in ascending order (-1 past the end). */
int gpumap_device_nvlink_count(const gpumap_device *device);
int gpumap_device_nvlink(const gpumap_device *device, size_t i);

/* --- request: statements -------------------------------------------------- */

/* A request is a list of statements. */
typedef struct gpumap_request gpumap_request;

enum gpumap_key_str_attr {
	GPUMAP_KEY_NAME = 0,        /* "set_device"; the option is --set-device */
	GPUMAP_KEY_OPTION = 1,      /* "--set-device" */
	GPUMAP_KEY_ENVIRONMENT = 2, /* "GPUMAP_SET_DEVICE" */
	GPUMAP_KEY_VALUE = 3,       /* what its value looks like, "N|cuda:N" */
	GPUMAP_KEY_HELP = 4,        /* one line */
	GPUMAP_KEY_SECTION = 5,     /* its section in profile files, "program"; NULL for requests */
	GPUMAP_KEY_DEFAULT = 6      /* its default value in profiles; NULL for requests */
};

typedef struct gpumap_key gpumap_key;

/* Calls fn(key, data) for every key, in the order of the manual, until fn returns a value other
 * than 0. Returns that value, or 0. gpumap_key_str reads the key. */
int gpumap_key_each(int (*fn)(const gpumap_key *key, void *data), void *data);
const char *gpumap_key_str(const gpumap_key *key, enum gpumap_key_str_attr attr);

/* An empty request, without statements. GPUMAP_ENOMEM. */
int gpumap_request_new(gpumap_request **ret);
void gpumap_request_free(gpumap_request *request);

/* Adds one statement. `origin` is where it comes from ("--visible", "train.ini:7"). Among
 * prefix, script_export, script_inline and in_code, the later in this order wins (rule S2),
 * whatever the order of the calls. visible cannot be combined with these four, and after_init
 * changes nothing in this process (rule S4). If a key is set twice, the last call wins. GPUMAP_EKEY
 * (the finding names the nearest key), GPUMAP_EINPUT, GPUMAP_ELIMIT, GPUMAP_ENOMEM. On failure the
 * request is unchanged. */
int gpumap_request_set(gpumap_request *request, const char *key, const char *value,
		       const char *origin, gpumap_report *report);

/* Adds a whole environment in the form that execve(2) takes, of the caller or of another process.
 * Visible lists, CUDA_DEVICE_ORDER and scheduler variables become the weakest statements (rule S3).
 * GPUMAP_KEY=value sets that key unless it is set already (rule S6). Names such as
 * CUDA_VISABLE_DEVICES are reported (rule S7). Returns the codes of gpumap_request_set; after a
 * failure the request keeps the variables before the one that failed. */
int gpumap_request_set_environ(gpumap_request *request, const char *const *envp,
			       gpumap_report *report);

/* --- identity: which rank a process is ------------------------------------ */

/* The rank of a process, from the launcher's variables in the environment of the request (rules R1,
 * R2 and R4). */
enum gpumap_identity_str_attr {
	/* the launcher whose variables apply: "torch", "Open MPI", "MPICH", "MVAPICH2", "PALS",
	 * "jsrun", "Flux", "Slurm step"; or "Kubernetes", whose variables give only the number of
	 * a pod (rule R2) */
	GPUMAP_IDENTITY_LAUNCHER = 0
};

enum gpumap_identity_int_attr {
	GPUMAP_IDENTITY_RANK = 100, /* from 0 to GPUMAP_IDENTITY_WORLD_SIZE - 1 */
	GPUMAP_IDENTITY_WORLD_SIZE = 101,
	GPUMAP_IDENTITY_LOCAL_RANK = 102, /* on its host; the key local_rank wins */
	GPUMAP_IDENTITY_LOCAL_SIZE = 103, /* ranks on its host */
	GPUMAP_IDENTITY_NODE_RANK = 104,
	GPUMAP_IDENTITY_NODES = 105
};

/* NULL or -1 if the value is not known or no launcher set variables. Invalid values are ignored
 * here; gpumap_resolve reports them. The string is static. */
const char *gpumap_request_identity_str(const gpumap_request *request,
					enum gpumap_identity_str_attr attr);
int64_t gpumap_request_identity_int(const gpumap_request *request,
				    enum gpumap_identity_int_attr attr);

/* --- mapping: the answer -------------------------------------------------- */

typedef struct gpumap_mapping gpumap_mapping;
typedef struct gpumap_entry gpumap_entry; /* one logical device */
typedef struct gpumap_step gpumap_step;   /* one rule that was used */

/* How certain the physical GPU of a logical device is; rule N4 defines these words. */
enum gpumap_certainty {
	GPUMAP_CERTAINTY_CERTAIN = 0,
	GPUMAP_CERTAINTY_LIKELY = 1,
	GPUMAP_CERTAINTY_ASSUMED = 2,
	GPUMAP_CERTAINTY_UNDECIDABLE = 3
};

enum gpumap_mapping_str_attr {
	GPUMAP_MAPPING_MODE = 0,       /* "single", "dp", "ddp", "mp" */
	GPUMAP_MAPPING_ASSUMPTION = 1, /* the assumption, one sentence; NULL: none */
	/* the entry that ended the visible list; NULL: no entry did */
	GPUMAP_MAPPING_ENDED_TEXT = 2,
	GPUMAP_MAPPING_ENDED_REASON = 3, /* why it ended the list, "no such device" */
	GPUMAP_MAPPING_ENDED_RULE = 4    /* the rule by which it did, "V2" */
};

enum gpumap_mapping_int_attr {
	/* 0: the answer is an error of the report, such as "no device is visible"; else 1 */
	GPUMAP_MAPPING_ANSWERED = 100,
	GPUMAP_MAPPING_ENDED_ENTRY = 101 /* 0-based number of the entry that ended the list */
};

/* Finds the physical GPU that one process uses. It is a pure function of its arguments. If
 * `inventory` is NULL, nothing is known of the machine, and every device that the request names is
 * assumed to exist, in PCI order. If the statements end in an error (rules D7, G3, E1, ...), the
 * function still returns GPUMAP_OK and a mapping; its GPUMAP_MAPPING_ANSWERED is 0, and the report
 * has the error. GPUMAP_EINPUT: a statement is malformed, or two statements exclude each other.
 * GPUMAP_ESTRICT, GPUMAP_ELIMIT, GPUMAP_ENOMEM. */
int gpumap_resolve(gpumap_mapping **ret, const gpumap_request *request,
		   const gpumap_inventory *inventory, gpumap_report *report);
void gpumap_mapping_free(gpumap_mapping *mapping);

const char *gpumap_mapping_str(const gpumap_mapping *mapping, enum gpumap_mapping_str_attr attr);
int64_t gpumap_mapping_int(const gpumap_mapping *mapping, enum gpumap_mapping_int_attr attr);

/* The visible devices in logical order (rule V1). NULL past the end. */
size_t gpumap_mapping_visible_count(const gpumap_mapping *mapping);
const gpumap_entry *gpumap_mapping_visible(const gpumap_mapping *mapping, size_t logical);

/* The device that the program uses (rules D1-D3, G7); NULL after an error, or for the CPU. */
const gpumap_entry *gpumap_mapping_chosen(const gpumap_mapping *mapping);
/* The DataParallel master (rule G2); NULL in other modes. */
const gpumap_entry *gpumap_mapping_master(const gpumap_mapping *mapping);
/* In mode dp the devices of the replicas, in mp those of the stages, in order; in the modes single
 * and ddp the device of this process. */
size_t gpumap_mapping_replica_count(const gpumap_mapping *mapping);
const gpumap_entry *gpumap_mapping_replica(const gpumap_mapping *mapping, size_t i);

/* The samples that replica `i` gets of the request's batch (rule G6); -1 if the replica gets none,
 * or the request has no batch. */
int64_t gpumap_mapping_replica_samples(const gpumap_mapping *mapping, size_t i);

/* The logical number of the GPU with the physical number `physical`; -1 if it is not visible, or
 * its logical number is undecidable. It is the inverse of GPUMAP_ENTRY_PHYSICAL. */
int gpumap_mapping_logical(const gpumap_mapping *mapping, int physical);

enum gpumap_entry_str_attr {
	/* NULL when not known or undecidable */
	GPUMAP_ENTRY_UUID = 0,
	GPUMAP_ENTRY_PCI = 1,
	GPUMAP_ENTRY_NAME = 2
};

enum gpumap_entry_int_attr {
	GPUMAP_ENTRY_LOGICAL = 100,   /* N of cuda:N */
	GPUMAP_ENTRY_PHYSICAL = 101,  /* nvidia-smi's number, on the host if known (N1) */
	GPUMAP_ENTRY_CERTAINTY = 102, /* enum gpumap_certainty */
	GPUMAP_ENTRY_MIG = 103        /* position among its GPU's MIG instances; -1: a whole GPU */
};

const char *gpumap_entry_str(const gpumap_entry *entry, enum gpumap_entry_str_attr attr);
int64_t gpumap_entry_int(const gpumap_entry *entry, enum gpumap_entry_int_attr attr);

/* The devices that this entry can be: one if it is decided, otherwise several (rules N4, V9). They
 * are copies that belong to the mapping and have no NVLink neighbours and no usage. */
size_t gpumap_entry_candidate_count(const gpumap_entry *entry);
const gpumap_device *gpumap_entry_candidate(const gpumap_entry *entry, size_t i);

/* "certain", "likely", "assumed", "undecidable". Static. */
const char *gpumap_certainty_name(enum gpumap_certainty certainty);

enum gpumap_step_str_attr {
	GPUMAP_STEP_RULE = 0,  /* "S2" */
	GPUMAP_STEP_TEXT = 1,  /* one line */
	GPUMAP_STEP_ORIGIN = 2 /* the statement's origin, or NULL */
};

/* The rules that were used, in the order of use. */
size_t gpumap_mapping_step_count(const gpumap_mapping *mapping);
const gpumap_step *gpumap_mapping_step(const gpumap_mapping *mapping, size_t i);
const char *gpumap_step_str(const gpumap_step *step, enum gpumap_step_str_attr attr);

/* The number of statements that this step's statement has overridden. */
size_t gpumap_step_loser_count(const gpumap_step *step);
/* The key of the i-th overridden statement, or "environment". NULL past the end. */
const char *gpumap_step_loser_source(const gpumap_step *step, size_t i);
/* The value of the i-th overridden statement, "unset" if it unsets the variable. NULL past the
 * end. */
const char *gpumap_step_loser_value(const gpumap_step *step, size_t i);

/* Writes the whole answer as text, JSON or SVG. */
int gpumap_mapping_format(char **ret, const gpumap_mapping *mapping, enum gpumap_format format,
			  unsigned flags, const gpumap_report *report);

/* --- profile: what to launch ---------------------------------------------- */

/* INI files that state which GPUs to use, how many ranks to start, and what to run; gpumap.ini(5)
 * describes them. These sources can give a key its value, the strongest first (rule S6):
 * gpumap_profile_set, GPUMAP_* variables, [override] sections, the [profile], its parents, the
 * built-in default. An empty value resets a key to the built-in default. A list replaces the whole
 * list of a weaker source. */
typedef struct gpumap_profile gpumap_profile;
typedef struct gpumap_section gpumap_section;

/* Limits in bytes. A larger file gives GPUMAP_ELIMIT. A longer value is an error. Only a command
 * or a key that is a list may be longer: up to four times GPUMAP_MAX_VALUE in a file; elsewhere
 * only a command, up to GPUMAP_MAX_PROFILE. */
#define GPUMAP_MAX_PROFILE (4u << 20)
#define GPUMAP_MAX_VALUE 131072u /* Linux's limit for one argument, with its NUL */

/* Does the same as gpumap_key_each for the keys of profile files. A profile has a value for each
 * key of the sections "profile" and "program". The sections "override" and "sweep" have keys of
 * their own, and the keys of "profile" can stand in "override" too. */
int gpumap_profile_key_each(int (*fn)(const gpumap_key *key, void *data), void *data);

/* A profile with the built-in defaults. GPUMAP_ENOMEM. */
int gpumap_profile_new(gpumap_profile **ret);

/* Reads a file and the files that it includes, and chooses the profile `name`. If `name` is NULL,
 * it chooses the profile that [gpumap] names as default, or else the only profile. If there is
 * neither, no profile is chosen: GPUMAP_PROFILE_NAME is NULL, and all values are built-in defaults.
 * All errors of all files are reported together. GPUMAP_EINPUT, GPUMAP_EFILE, GPUMAP_ELIMIT,
 * GPUMAP_ENOMEM. */
int gpumap_profile_read(gpumap_profile **ret, const char *path, const char *name,
			gpumap_report *report);

/* Does the same for a text. `origin` is the path of its file; includes are relative to the folder
 * of that file. */
int gpumap_profile_parse(gpumap_profile **ret, const char *text, size_t size, const char *origin,
			 const char *name, gpumap_report *report);
void gpumap_profile_free(gpumap_profile *profile);

/* Finds a profile file and reads it, as gpumap and gpumap-train do. The file is the first of these:
 *
 *	`path`, unless it is NULL
 *	GPUMAP_CONFIG of `envp`, unless it is empty
 *	./gpumap.ini, if it exists and is trusted
 *	gpumap/gpumap.ini in XDG_CONFIG_HOME of `envp` (if not absolute: in .config of its
 *	HOME), if it exists
 *	/etc/gpumap/gpumap.ini, if it exists
 *
 * A profile holds a command, and the working directory may belong to another user. So ./gpumap.ini
 * is trusted only if it is a regular file of the effective user or of root, and neither its group
 * nor others may write to it. A symbolic link must belong to the effective user or to root too.
 * Otherwise a warning (GM165) gives the reason, and the search continues without this file. The
 * owner of a file that `path`, GPUMAP_CONFIG or an include names is not checked. The user's file
 * and the file in /etc are not checked either: only their owners can write in those directories.
 *
 * If there is no file, the profile has the built-in defaults, and GPUMAP_PROFILE_FILE is NULL; with
 * a `name` the result is GPUMAP_EINPUT. `envp`, which may be NULL, is used only to find the file;
 * gpumap_profile_set_environ applies it. `flags`: GPUMAP_OPEN_FLAG_HERE ends the search with
 * ./gpumap.ini. Returns the codes of gpumap_profile_read. */
#define GPUMAP_OPEN_FLAG_HERE 1u
int gpumap_profile_open(gpumap_profile **ret, const char *path, const char *name,
			const char *const *envp, unsigned flags, gpumap_report *report);

/* Gives a key a value, as an option does; `origin` is the name of the option, "--gpus". A list may
 * be spread over several lines. On failure the profile is unchanged. GPUMAP_EKEY,
 * GPUMAP_EINPUT. GPUMAP_ELIMIT: the value names too many GPUs or hosts. GPUMAP_ENOMEM. */
int gpumap_profile_set(gpumap_profile *profile, const char *key, const char *value,
		       const char *origin, gpumap_report *report);

/* Sets the environment in which the profile is launched. It replaces the environment of an earlier
 * call. GPUMAP_KEY=value sets a key, and ${VAR} in a value stands for any other variable. On
 * failure the profile is unchanged. GPUMAP_EINPUT. GPUMAP_ELIMIT: the condition of an override
 * names too many hosts after its variables are expanded. GPUMAP_ENOMEM. */
int gpumap_profile_set_environ(gpumap_profile *profile, const char *const *envp,
			       gpumap_report *report);

/* Checks whether the profile can be launched: every ${VAR} in an effective value must be set, every
 * effective value must be valid, and the program must exist. Reports all errors. Returns the code
 * of the first error, GPUMAP_EINPUT or GPUMAP_ELIMIT; or GPUMAP_ENOMEM. */
int gpumap_profile_check(const gpumap_profile *profile, gpumap_report *report);

enum gpumap_profile_str_attr {
	GPUMAP_PROFILE_NAME = 0, /* of the chosen profile; NULL: no profile is chosen */
	GPUMAP_PROFILE_FILE = 1  /* the file that was read; NULL: no file was read */
};

const char *gpumap_profile_str(const gpumap_profile *profile, enum gpumap_profile_str_attr attr);

/* Strings live until the profile is changed or freed. */
enum gpumap_setting_attr {
	GPUMAP_SETTING_NAME = 0,  /* the key */
	GPUMAP_SETTING_VALUE = 1, /* with variables expanded; as written if one is not set */
	GPUMAP_SETTING_TEXT = 2,  /* as written */
	GPUMAP_SETTING_ORIGIN = 3 /* "train.ini:7", "--gpus", "GPUMAP_GPUS" or "default" */
};

/* The effective value of a key of [profile] or [program]. Lists and the command keep their
 * quotes, and macros such as %r are kept. NULL: no such key. */
const char *gpumap_profile_setting(const gpumap_profile *profile, const char *key,
				   enum gpumap_setting_attr attr);
/* The same for a host, node, rank and local rank; NULL or -1 stands for one that is not known. An
 * override whose condition tests an unknown one does not apply. gpumap_profile_setting treats all
 * four as unknown. */
const char *gpumap_profile_setting_at(const gpumap_profile *profile, const char *key,
				      enum gpumap_setting_attr attr, const char *host, int64_t node,
				      int64_t rank, int64_t local_rank);

/* The number of arguments of the program's command, and the i-th (NULL past the end). */
size_t gpumap_profile_argument_count(const gpumap_profile *profile);
const char *gpumap_profile_argument(const gpumap_profile *profile, size_t i);

/* The number of variables that [env] and [unset] of the profile and its parents set, and the
 * attributes of the i-th. A NULL value means that the variable is unset. Past the end all
 * attributes are NULL. */
size_t gpumap_profile_variable_count(const gpumap_profile *profile);
const char *gpumap_profile_variable(const gpumap_profile *profile, size_t i,
				    enum gpumap_setting_attr attr);

enum gpumap_section_str_attr {
	/* "profile", "program", "env", "unset", "trainer", "override" or "sweep" */
	GPUMAP_SECTION_KIND = 0,
	GPUMAP_SECTION_NAME = 1,   /* "base" of [profile base] */
	GPUMAP_SECTION_ORIGIN = 2, /* "train.ini:7" */
	GPUMAP_SECTION_PARENT = 3  /* the profile that a profile inherits from, or NULL */
};

/* The i-th section of a kind (NULL: of any kind) in the order of the files, and its entries as they
 * are written. The sections of an included file stand in the place of the include. NULL past the
 * end. */
const gpumap_section *gpumap_profile_section(const gpumap_profile *profile, const char *kind,
					     size_t i);
const char *gpumap_section_str(const gpumap_section *section, enum gpumap_section_str_attr attr);
size_t gpumap_section_entry_count(const gpumap_section *section);
const char *gpumap_section_entry(const gpumap_section *section, size_t i,
				 enum gpumap_setting_attr attr);

/* The number of combinations of a [sweep] (0 if `sweep` is not a sweep), how many of them run at a
 * time (-1 if it is not a sweep), and the name and value of its i-th variable (NULL past the end).
 * From one combination to the next the last variable changes fastest. */
size_t gpumap_sweep_combination_count(const gpumap_section *sweep);
int64_t gpumap_sweep_jobs(const gpumap_section *sweep);
const char *gpumap_sweep_variable(const gpumap_section *sweep, size_t i);
const char *gpumap_sweep_value(const gpumap_section *sweep, size_t combination, size_t i);

/* From this call on ${name} stands for the sweep's variable of that name in this combination, and
 * otherwise for a variable of the environment. If `sweep` is NULL, ${name} stands only for a
 * variable of the environment. GPUMAP_EINPUT; GPUMAP_ELIMIT as in gpumap_profile_set_environ;
 * GPUMAP_ENOMEM. */
int gpumap_profile_set_sweep(gpumap_profile *profile, const char *sweep, size_t combination,
			     gpumap_report *report);

/* Writes the chosen profile as JSON, or as an INI file. The INI file is flat: it has no includes,
 * parents, overrides with a condition, trainers or sweeps. Otherwise reading it gives the same
 * profile. */
int gpumap_profile_format(char **ret, const gpumap_profile *profile, enum gpumap_format format,
			  unsigned flags, const gpumap_report *report);

/* Writes only these keys, as JSON. `keys` ends with NULL. If `keys` is NULL, it writes all keys. */
int gpumap_profile_format_keys(char **ret, const gpumap_profile *profile, const char *const *keys,
			       enum gpumap_format format, unsigned flags,
			       const gpumap_report *report);

/* --- hosts: where ranks can run ------------------------------------------- */

/* The hosts in the order of their node ranks, and what is known of each host. A plan groups
 * hosts with identical data, so thousands of hosts cost little. */
typedef struct gpumap_hosts gpumap_hosts;

/* Makes an empty object, without hosts. GPUMAP_ENOMEM. */
int gpumap_hosts_new(gpumap_hosts **ret);
void gpumap_hosts_free(gpumap_hosts *hosts);

/* Adds the hosts of a list in Slurm's form, "tux[08-11,20],gpu1", in the order of the list. On
 * failure no host is added. GPUMAP_EINPUT: the list is malformed, or two hosts have one name.
 * GPUMAP_ELIMIT: there are more than 100,000 hosts. GPUMAP_ENOMEM. */
int gpumap_hosts_parse_list(gpumap_hosts *hosts, const char *list, const char *origin,
			    gpumap_report *report);

/* Adds the hosts of a hostfile. Its lines are "NAME", "NAME slots=N" or "NAME:N". The slots are the
 * number of ranks on the host, unless the profile sets that number. A host with slots=0 is left
 * out. Returns the codes of gpumap_hosts_parse_list. */
int gpumap_hosts_parse_hostfile(gpumap_hosts *hosts, const char *text, size_t size,
				const char *origin, gpumap_report *report);

size_t gpumap_hosts_count(const gpumap_hosts *hosts);
/* NULL past the end. */
const char *gpumap_hosts_name(const gpumap_hosts *hosts, size_t i);

/* Each setter below is for the i-th host. On failure the hosts are unchanged, unless its comment
 * says otherwise. GPUMAP_EINPUT: there is no such host. GPUMAP_ENOMEM. */

/* Sets the GPUs of the host. The inventory is not copied and must live until the hosts are freed.
 * NULL: nothing is known of the host. */
int gpumap_hosts_set_inventory(gpumap_hosts *hosts, size_t i, const gpumap_inventory *inventory);

/* Sets the environment in which the host's ranks start. Call it after gpumap_hosts_set_inventory.
 * gpumap reads from it
 *  - the inherited list, and who set it (rule S6a);
 *  - the scheduler's job;
 *  - in a rank of gpumap run, the GPUs of that rank (GPUMAP_RUN_GPUS).
 * On failure the host has no inherited list. Also GPUMAP_ELIMIT. */
int gpumap_hosts_set_environ(gpumap_hosts *hosts, size_t i, const char *const *envp,
			     gpumap_report *report);

/* Sets the GPUs that the setting gpus = free:COUNT stands for on the host: numbers of nvidia-smi,
 * or UUIDs of MIG instances, as gpumap_lease_visible() gives them. Without them such a plan cannot
 * be started. */
int gpumap_hosts_set_free(gpumap_hosts *hosts, size_t i, const char *list);

/* Sets the CPUs of the host. `allowed` lists the CPUs that the inherited affinity and cpuset allow,
 * "0-31"; NULL: not known. core[n] is a number that the threads of one core share, or -1 if there
 * is no CPU n. node[n] is the NUMA node of CPU n, or -1 if it is not known. `count` is the length
 * of both arrays; 0: nothing is known of the CPUs. */
int gpumap_hosts_set_cpus(gpumap_hosts *hosts, size_t i, const char *allowed, const int *core,
			  const int *node, size_t count);

/* Makes host i use the GPUs, inherited list and cores of host `other`. If `other` uses those of
 * host k, so does host i. If that host is i itself, it uses its own again. */
int gpumap_hosts_set_like(gpumap_hosts *hosts, size_t i, size_t other);

/* --- plan: the host, devices and environment of each rank ----------------- */

/* Immutable except for gpumap_plan_set_run, and independent of what it was made from. */
typedef struct gpumap_plan gpumap_plan;

/* Plans the profile's ranks over the hosts (rules R3 to R5, S6a, G10). It is a pure function: it
 * reads no file and no environment, and writes nothing. If the plan cannot work, the function still
 * returns GPUMAP_OK and a plan, with GPUMAP_PLAN_ANSWERED 0; the report has the reason, and the
 * plan must not be started. GPUMAP_EINPUT: a value is malformed, a ${VAR} is not set, or there is
 * no host. GPUMAP_ELIMIT, GPUMAP_ENOMEM. */
int gpumap_plan_make(gpumap_plan **ret, const gpumap_profile *profile, const gpumap_hosts *hosts,
		     gpumap_report *report);

/* Read the JSON of gpumap_plan_format. The result equals the plan that was written.
 * For gpumap_plan_read the path "-" is standard input. GPUMAP_EINPUT: the text is truncated, has
 * another schema, or is not a plan. GPUMAP_ELIMIT, GPUMAP_ENOMEM; gpumap_plan_read also
 * GPUMAP_EFILE. */
int gpumap_plan_parse(gpumap_plan **ret, const char *text, size_t size, const char *origin,
		      gpumap_report *report);
int gpumap_plan_read(gpumap_plan **ret, const char *path, gpumap_report *report);
void gpumap_plan_free(gpumap_plan *plan);

enum gpumap_plan_str_attr {
	GPUMAP_PLAN_PROFILE = 0, /* its name, or NULL */
	GPUMAP_PLAN_MODE = 1,    /* "single", "dp", "ddp" or "mp" */
	GPUMAP_PLAN_MASTER_ADDR = 2,
	GPUMAP_PLAN_RUN = 3 /* the run's id, by gpumap_plan_set_run or the scheduler; or NULL */
};

enum gpumap_plan_int_attr {
	GPUMAP_PLAN_ANSWERED = 100, /* 1: the plan can be started */
	GPUMAP_PLAN_WORLD_SIZE = 101,
	GPUMAP_PLAN_HOSTS = 102,
	GPUMAP_PLAN_MASTER_PORT = 103 /* 0: gpumap run chooses a free port of the first host */
};
const char *gpumap_plan_str(const gpumap_plan *plan, enum gpumap_plan_str_attr attr);
int64_t gpumap_plan_int(const gpumap_plan *plan, enum gpumap_plan_int_attr attr);

/* The value of a key of [profile] or [program] for a rank, after the overrides for its host and
 * rank. For the rank -1 no such override applies. Macros such as %r are kept. NULL: no such key. */
const char *gpumap_plan_setting(const gpumap_plan *plan, const char *key, int64_t rank);

/* The same value with the rank's macros expanded; the caller frees it. `stream` replaces %s, and
 * may be NULL. GPUMAP_EKEY. GPUMAP_EINPUT: the value has a macro without a meaning here.
 * GPUMAP_ENOMEM. */
int gpumap_plan_expand_setting(char **ret, const gpumap_plan *plan, const char *key, int64_t rank,
			       const char *stream, gpumap_report *report);

enum gpumap_rank_str_attr {
	GPUMAP_RANK_HOST = 0,
	GPUMAP_RANK_VISIBLE = 1, /* the value of CUDA_VISIBLE_DEVICES; "": no GPU */
	/* of the device that the rank uses, or of its only visible one; NULL: not known */
	GPUMAP_RANK_UUID = 2,
	GPUMAP_RANK_PCI = 3,
	GPUMAP_RANK_NAME = 4,
	GPUMAP_RANK_CPUS = 5,        /* "0-7,64-71"; NULL: not bound */
	GPUMAP_RANK_MEMORY_NODES = 6 /* NUMA nodes, "0"; NULL: not bound */
};

enum gpumap_rank_int_attr {
	GPUMAP_RANK_NODE = 100, /* node rank */
	GPUMAP_RANK_LOCAL_RANK = 101,
	GPUMAP_RANK_LOCAL_SIZE = 102,
	GPUMAP_RANK_PHYSICAL = 103, /* nvidia-smi's number of the device of GPUMAP_RANK_UUID */
	GPUMAP_RANK_MIG = 104,      /* the index of its MIG instance on the GPU, from 0 */
	GPUMAP_RANK_LOGICAL = 105,  /* N of the cuda:N that the program uses */
	GPUMAP_RANK_THREADS = 106   /* OMP_NUM_THREADS; 0: unchanged */
};
const char *gpumap_plan_rank_str(const gpumap_plan *plan, int64_t rank,
				 enum gpumap_rank_str_attr attr);
int64_t gpumap_plan_rank_int(const gpumap_plan *plan, int64_t rank, enum gpumap_rank_int_attr attr);

/* Sets what is known only when the ranks start: the id of the run, for %j and TORCHELASTIC_RUN_ID
 * (NULL: unchanged), and the number of the port that was reserved (0: unchanged). GPUMAP_EINPUT:
 * the id is empty, "." or "..", or has a slash or a control character. GPUMAP_ENOMEM. */
int gpumap_plan_set_run(gpumap_plan *plan, const char *run, int port);

/* The arguments of a rank's program; the first is the name of the program. The rank's macros are
 * expanded, and the argument of pass_local_rank is appended. *ret ends with NULL; the caller frees
 * each argument and the array. The array is empty if the plan has no program. GPUMAP_EINPUT: there
 * is no such rank. GPUMAP_ENOMEM. */
int gpumap_plan_rank_arguments(char ***ret, const gpumap_plan *plan, int64_t rank,
			       gpumap_report *report);

/* Calls fn(name, value, data) for each variable whose value in the rank differs from `envp`, the
 * environment in which the rank is started. `value` NULL: unset the variable. `envp` NULL: the
 * environment is empty. The variables are
 *  - RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, GROUP_WORLD_SIZE, NODE_RANK,
 *    ROLE_NAME, ROLE_RANK, ROLE_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, TORCHELASTIC_RUN_ID,
 *    TORCHELASTIC_RESTART_COUNT, TORCHELASTIC_MAX_RESTARTS and TORCHELASTIC_USE_AGENT_STORE,
 *    with the values that torchrun would set, if they apply to the plan. A single rank of mode
 *    single, dp or mp does not get them, because programs that find them use
 *    DistributedDataParallel;
 *  - the rank variables of other launchers, and those above that this rank does not get: they
 *    are unset (rule R1);
 *  - CUDA_VISIBLE_DEVICES and, if that needs it, CUDA_DEVICE_ORDER (rule N5);
 *  - those of keys of the profile: OMP_NUM_THREADS, with threads = auto only if `envp` does not
 *    have it, and others that gpumap.ini(5) names;
 *  - GPUMAP_RUN_GPUS (the rank's own GPUs, as a visible list), GPUMAP_RUN_RANK (its number) and
 *    GPUMAP_RUN_ID (the run); a gpumap that the rank itself starts reads them;
 *  - those of [env] and [unset]. If fn is called twice for a variable, the last call wins.
 * If fn returns a value other than 0, no more variables follow, and that value is returned.
 * GPUMAP_EINPUT: there is no such rank. GPUMAP_ENOMEM. */
int gpumap_plan_variable_each(const gpumap_plan *plan, int64_t rank, const char *const *envp,
			      int (*fn)(const char *name, const char *value, void *data),
			      void *data);

/* Writes the plan as text, JSON or SVG. JSON always has the origins of values. */
int gpumap_plan_format(char **ret, const gpumap_plan *plan, enum gpumap_format format,
		       unsigned flags, const gpumap_report *report);

/* Writes the differences from plan `a` to plan `b` as text or JSON: those of the plan as a whole,
 * its settings, environment, program, nodes and ranks. Equal differences are listed once. Origins
 * and reasons of values are not compared. *differs is 1 if there is a difference, else 0. If `a` or
 * `b` is NULL, the result is that of a NULL object, and *differs is 0. */
int gpumap_plan_diff(char **ret, int *differs, const gpumap_plan *a, const gpumap_plan *b,
		     enum gpumap_format format, unsigned flags, const gpumap_report *report);

/* --- emit: the plan for another launcher ----------------------------------- */

/* A launcher that a plan can be written for. */
typedef struct gpumap_target gpumap_target;

enum gpumap_target_str_attr {
	GPUMAP_TARGET_NAME = 0,   /* "sbatch" */
	GPUMAP_TARGET_SUMMARY = 1 /* one line */
};

/* The i-th launcher in the order of the manual; NULL past the end. */
const gpumap_target *gpumap_target_get(size_t i);
const char *gpumap_target_str(const gpumap_target *target, enum gpumap_target_str_attr attr);

/* Writes the plan for the launcher `target`. The text is a shell command or script. It also
 * contains the files that the launcher needs; JSON has these files as separate members. The report
 * lists what the launcher does not support or does differently. *emitted is 1, or 0 if the launcher
 * cannot start the plan; then the text is empty, and the report has the reason. It is a pure
 * function. GPUMAP_EKEY: there is no such launcher. */
int gpumap_plan_emit(char **ret, int *emitted, const gpumap_plan *plan, const char *target,
		     enum gpumap_format format, unsigned flags, gpumap_report *report);

/* --- leases: GPUs for one job --------------------------------------------- */

/* A lease reserves GPUs, slots of GPUs or MIG instances for one job. Only programs that use gpumap
 * respect it. It is a lock that the kernel holds for as long as a process has its descriptors open,
 * so it ends with the job, also after kill -9.
 *
 * To start a program with a lease, make a claim, set its keys and its environment, and take the
 * lease. Let the program inherit the descriptors, and set for it CUDA_VISIBLE_DEVICES to
 * gpumap_lease_visible, CUDA_DEVICE_ORDER to PCI_BUS_ID, and GPUMAP_LEASE to the pid of a process
 * that holds the lease. examples/pick.c does that.
 *
 * libgpumap/lease/README.md describes how jobs compete for the same GPUs. These functions read the
 * host's GPUs, and write into the folder of leases. */
typedef struct gpumap_claim gpumap_claim; /* what a job asks for */
typedef struct gpumap_lease gpumap_lease; /* the GPUs that it got */

/* Makes an empty claim. GPUMAP_ENOMEM. */
int gpumap_claim_new(gpumap_claim **ret);
void gpumap_claim_free(gpumap_claim *claim);

/* Sets a key. A later value replaces an earlier one. The keys are
 *  - count: how many GPUs, 1 or more; "all": those that are free, at least one. gpumap_lease_take
 *    and gpumap_lease_preview need it;
 *  - from: the visible list to choose from, "2,3" or UUIDs. A number is that of nvidia-smi;
 *  - prefer: the GPUs to choose first, in this order, "3,1" or UUIDs, and others if these are not
 *    free. The leased list is still in PCI order. With `near`, the set has as many preferred GPUs
 *    as possible, then the best links;
 *  - ignore: names of programs, separated by commas, whose processes do not make a GPU busy,
 *    "Xorg";
 *  - max_used: the limit of used memory below which a GPU is free, "500M" (MiB) or "2G" (GiB; "2GB"
 *    and "2GiB" are the same).
 *    Default: 512 MiB, or 5 % of the memory if that is less, or if the driver does not report what
 *    it reserves; with min_free none;
 *  - min_free: the memory that has to be free, "20G". A process that `ignore` does not name still
 *    makes the GPU busy;
 *  - max_load: the highest load with which a GPU is free, "10" percent. If the load is not known,
 *    the GPU is free only if it has no process and is under the default memory limit. Default: any
 *    load;
 *  - slots: "4": the job takes one slot of each of its GPUs, and allows at most 4 jobs on it. Jobs
 *    with slots share GPUs only with each other. If the jobs on a GPU ask for different numbers,
 *    the smallest applies. If a slot of a GPU is leased already, its processes do not count, and
 *    its memory counts only with `max_used` and `min_free`. Default: the administrator's setting,
 * else 1 (the whole GPU);
 *  - mig: "yes": MIG instances rather than GPUs, `count` of them; "1g.10gb": those of this profile.
 *    Only its own processes and memory decide whether an instance is free. In `from` and `prefer` a
 *    number or UUID of a GPU stands for all of its instances. It cannot be combined with slots and
 *    near. Default: "no";
 *  - near: "yes": of the free GPUs, those that are connected best. NVLink between them counts
 *    first, then one NUMA node, then near PCI buses; of equal sets it takes the one that leaves the
 *    best connected GPUs free. Default: "no", which takes the lowest numbers, or with `slots` the
 *    GPUs with the most free slots;
 *  - for: the time after which the caller ends the lease, "30m"; the library does not end it. Such
 *    a lease may use GPUs that are promised to a waiting job, if it ends before that job can be
 *    served (backfill). This is known only if the leases that the job waits for have an end, which
 *    gpumap pick --for sets. Default: the end is not known;
 *  - wait: how long to wait, "30s" or "10m"; "yes": without limit. Default: "no";
 *  - folder: the folder of leases, which is made if it does not exist. Default: /run/lock/gpumap if
 *    that exists, else /tmp/gpumap-leases;
 *  - sysfs: a folder in place of /sys/bus/pci/devices, for tests;
 *  - settings: a file in place of /etc/gpumap/gpumap.ini, for tests; "": none.
 * GPUMAP_EKEY, GPUMAP_EINPUT, GPUMAP_ENOMEM. On failure the claim is unchanged. */
int gpumap_claim_set(gpumap_claim *claim, const char *key, const char *value, const char *origin,
		     gpumap_report *report);

/* Limits the claim to the GPUs that a process with this environment sees, by its visible list and
 * the scheduler's variables. If GPUMAP_LEASE is set and this process runs inside a lease, it also
 * limits the claim to the GPUs of that outer lease. The jobs inside compete for them by the same
 * rules. Returns the codes of gpumap_request_set_environ. On failure the claim is unchanged. */
int gpumap_claim_set_environ(gpumap_claim *claim, const char *const *envp, gpumap_report *report);

/* Leases `count` free GPUs, or none if fewer are free. A GPU is free if it has no lease and no
 * process besides those of `ignore`, has as much memory free as `max_used` and `min_free` say, and
 * no higher load than `max_load`. Memory of processes that are not visible counts. If NVML does not
 * report its memory or its processes, it is not free. With MIG enabled, only instances are leased,
 * and only to claims with `mig`.
 *
 * Waiting jobs are served in order. A job may be overtaken at most 8 times, by jobs that take GPUs
 * which it cannot use yet, or whose lease ends (`for`) before it can be served. While it waits,
 * waits(text, data) is called after each look at the GPUs, with what it waits for; `text` is NULL
 * if that has not changed. A signal with a handler makes it look at once. If waits returns a value
 * other than 0, waiting ends with GPUMAP_EBUSY. `waits` may be NULL.
 *
 * The section [leases] of /etc/gpumap/gpumap.ini, see gpumap.ini(5), applies to every caller
 * outside a lease: `gpus_per_user` and `slots`. The library does not enforce `longest`;
 * gpumap pick and gpumap run do.
 *
 * GPUMAP_EBUSY: not enough GPUs are free, or they were not free in time, or the user has as many as
 * the administrator permits, or another process has been choosing for too long. GPUMAP_EINPUT: this
 * job can never use that many, or it is not visible which GPUs are free, or a list or [leases] is
 * malformed. GPUMAP_EFILE: the folder cannot be used. GPUMAP_ESTRICT, GPUMAP_ELIMIT,
 * GPUMAP_ENOMEM. */
int gpumap_lease_take(gpumap_lease **ret, const gpumap_claim *claim,
		      int (*waits)(const char *text, void *data), void *data,
		      gpumap_report *report);

/* Gives the GPUs that gpumap_lease_take would take now, without reserving them: the lease has no
 * descriptors. It does not wait. If not enough GPUs are free, it adds busy ones, with a warning. It
 * makes no folder. Returns the codes of gpumap_lease_take, but GPUMAP_EBUSY only if
 * another process has been choosing for too long. */
int gpumap_lease_preview(gpumap_lease **ret, const gpumap_claim *claim, gpumap_report *report);

/* Leases the GPUs and MIG instances that the process `pid` and its descendants use now, also if
 * others use them too: then a warning names these, unless the claim has `slots`. Of the claim, only
 * the outer lease, `slots`, `folder`, `sysfs` and `settings` are used. It does not wait. The
 * administrator's GPU limit applies; the default slots do not. GPUMAP_EINPUT: they use no
 * GPU, or one that cannot be leased or is not in the outer lease, or it is not visible which they
 * use. GPUMAP_EBUSY: one of them is leased already, or the user would have more than is permitted,
 * or another process has been choosing for too long. GPUMAP_EFILE, GPUMAP_ELIMIT, GPUMAP_ENOMEM. */
int gpumap_lease_adopt(gpumap_lease **ret, const gpumap_claim *claim, int64_t pid,
		       gpumap_report *report);

enum {
	GPUMAP_LEASE_NONE = -1,   /* the GPU is not leased */
	GPUMAP_LEASE_UNKNOWN = -2 /* it is not known whether it is leased */
};
/* Who holds the leases of the GPUs of `inventory`, which is that of this host. ret[i] is the
 * process that took the lease of the i-th GPU, or one of the above. 0: the holder is not visible
 * here. If several jobs hold slots or MIG instances, the result is one of them. Of the claim, only
 * `folder` and `sysfs` are used, and no folder is made. GPUMAP_EFILE, GPUMAP_EBUSY, after a warning
 * that says why: it is not known who holds the leases, of all GPUs or of those whose ret[i] is
 * GPUMAP_LEASE_UNKNOWN. Initialise ret with that. GPUMAP_ENOMEM. */
int gpumap_lease_holders(int64_t *ret, const gpumap_claim *claim, const gpumap_inventory *inventory,
			 gpumap_report *report);

/* Calls fn(device, slots, pid, data) for each GPU, slot and MIG instance that is leased, in the
 * order of the inventory and of processes. `slots` is N for one of N slots, and 1 for a whole GPU
 * or an instance. `pid` is the process that took the lease; 0: it is not visible here; negative:
 * it was that number's, has ended, and a process of another user has the number now. GPUs whose
 * leases are unknown are left out, and the result is not GPUMAP_OK. If fn returns a value other
 * than 0, no more leases follow, and that value is returned. Also the codes of
 * gpumap_lease_holders. */
int gpumap_lease_each(const gpumap_claim *claim, const gpumap_inventory *inventory,
		      int (*fn)(const gpumap_device *device, int64_t slots, int64_t pid,
				void *data),
		      void *data, gpumap_report *report);

/* Closes the descriptors. If no other process has them open, the lease ends. */
void gpumap_lease_free(gpumap_lease *lease);

/* The number of its GPUs or MIG instances, and the i-th in the order of nvidia-smi's numbers (NULL
 * past the end), which lives as long as the lease. */
size_t gpumap_lease_count(const gpumap_lease *lease);
const gpumap_device *gpumap_lease_device(const gpumap_lease *lease, size_t i);
/* The value for CUDA_VISIBLE_DEVICES, "2,3"; with MIG instances it has UUIDs. Also set
 * CUDA_DEVICE_ORDER=PCI_BUS_ID. */
const char *gpumap_lease_visible(const gpumap_lease *lease);
/* The i-th of the descriptors that hold the lease; -1 past the end. They are closed on exec. A
 * child that is to hold the lease needs all of them: clear FD_CLOEXEC of each in the child. */
int gpumap_lease_descriptor(const gpumap_lease *lease, size_t i);

#ifdef __cplusplus
}
#endif
#endif
