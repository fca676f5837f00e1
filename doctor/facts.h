/* SPDX-License-Identifier: MIT */
/*
 * What was seen of a machine. gather() reads all of it; the checks
 * are functions over it alone.
 */
#ifndef GM_FACTS_H
#define GM_FACTS_H

#include <sys/types.h>

#include "arena.h"
#include "gpumap.h"
#include "nvml_api.h"
#include "rootfile.h"
#include "text.h"

enum { NVML_PATIENCE = 30000 }; /* milliseconds: without persistence mode GPUs wake up slowly */

/* What cannot be seen is not "absent": a check that needs it states that it could not look. */
enum sight { UNSEEN, ABSENT, SEEN };

struct fact {
	enum sight sight;
	const char *text; /* SEEN; NULL: only the number counts */
	int64_t number;   /* SEEN */
	const char *why;  /* UNSEEN: the reason; NULL: it was not looked for */
};

/* A device file of the driver. */
struct node {
	const char *path;
	enum sight sight;
	int error; /* errno of opening it; 0: it opens, or it is of a recorded machine */
	unsigned int major, minor;
};

/* A GPU on the PCI bus. */
struct pci_gpu {
	const char *address;
	const char *driver;    /* that is bound to it; NULL: none */
	const char *iommu;     /* type of its IOMMU group; NULL: it is in none */
	bool used;             /* the environment's list has it, as far as that is known */
	const char *near_cpus; /* list; NULL: not known */
	const char *folder;    /* below /sys/devices, in that of its bridge; NULL: not known */
};

/* A GPU, by NVML. Numbers are -1 where it does not answer. */
struct gpu {
	enum nvml_return state; /* of its handle, or the first answer that says that it is lost */
	unsigned int index;
	bool visible;    /* the environment's list has it, as far as that is known */
	const char *pci; /* "0000:07:00.0"; NULL: not known */
	const char *name;
	union {
		struct {
			int64_t memory, used;
			int64_t major, minor; /* compute capability */
			int64_t compute, persistence;
			int64_t ecc, ecc_pending, errors;
			int64_t pages_pending, rows_pending, rows_failed;
			int64_t clocks, performance;
			int64_t width, max_width, generation, max_generation;
			int64_t mig, mig_pending, instances;
			int64_t fabric, fabric_status;
			int64_t processes;
		};
		int64_t numbers[24]; /* all of these */
	};
	bool mps_server; /* one of them is the server of MPS */
	bool hidden;     /* the name of one of them is not visible */
};

/* A shared library at one place. */
struct library {
	const char *name;    /* "libcuda.so.1" */
	const char *path;    /* as the loader finds it */
	const char *real;    /* without links */
	const char *version; /* after ".so." in the name of the file; NULL: none */
};

/* What a program would load. */
struct needed {
	const char *name;    /* "libcudnn.so.9" */
	const char *by;      /* the file that needs it */
	const char *path;    /* NULL: it is not found */
	const char *version; /* of the wheel that it is in, or of the file; NULL: not known */
	const char *wheel;   /* the copy beside the program that another one hides; NULL: none */
	const char *wheel_version; /* of that copy; NULL: not known */
};

/* The packages of Python that doctor looks for. */
#define NO_PACKAGE "no PyTorch, JAX, TensorFlow or CuPy"
enum package_kind { PACKAGE_TORCH, PACKAGE_JAX, PACKAGE_TENSORFLOW, PACKAGE_CUPY, PACKAGE_KINDS };

struct package {
	const char *site;    /* the folder that it is in; NULL: it is not installed */
	const char *version; /* NULL: not known */
	bool rocm;           /* the build is for AMD's GPUs */
	struct fact cuda;    /* of the build: 12040, "12.4"; ABSENT: it is not for CUDA */
};

/* Where a python3 is looked for without a program, in this order. */
enum python_source { FROM_PATH, FROM_VIRTUAL_ENV, FROM_CONDA_PREFIX, PYTHON_SOURCES };

/* An interpreter with its environment. */
struct python {
	bool from[PYTHON_SOURCES];
	const char *path;    /* NULL: none was found */
	const char *prefix;  /* of the environment; NULL: not known */
	const char *real;    /* the prefix without links */
	const char *version; /* "3.11"; NULL: not known */
	const char *why;     /* why its packages are not known; NULL: they are */
	struct package packages[PACKAGE_KINDS];
};

struct program_facts {
	const char *name;      /* NULL: no program was named */
	struct fact kind;      /* "ELF", "Python 3.11" */
	struct fact cuda;      /* of an ELF program: 12040 */
	struct gpu_code *code; /* of elf_file.h; NULL: none was found */
	struct needed *needed;
	size_t needed_count, needed_room;
};

struct facts {
	struct arena arena;
	const char *root;
	const char *const *environ; /* NULL: not visible */

	struct fact os, kernel, container;
	bool tegra; /* a processor with a GPU, as Jetson has it */

	/* the driver */
	struct fact module;  /* version of the kernel's module; ABSENT: not loaded */
	bool open_module;    /* it is NVIDIA's open one */
	struct fact modules; /* SEEN: the list of modules could be read */
	bool nouveau, nvidia_listed, uvm, peermem;
	struct fact module_file; /* that of NVIDIA in this kernel's modules.dep */
	struct fact secure_boot; /* number: 1 it is on; text: what shows it */
	enum nvml_return nvml;
	bool nvml_hangs; /* it did not answer in time, so it was not asked */
	bool nvml_asked; /* false: of a recorded machine */
	struct fact nvml_driver, nvml_library, cuda; /* cuda: 12040 */
	gpumap_inventory *inventory;
	gpumap_report *inventory_report, *environment_report;

	/* libraries that a program of this environment would load */
	struct fact folders; /* UNSEEN: a recorded machine has no folder of libraries */
	struct library *libraries;
	size_t library_count, library_room;
	struct fact stub_folder; /* of LD_LIBRARY_PATH */
	struct fact toolkit;     /* its version */
	struct loader *loader;   /* of find_library.h */

	/* devices */
	struct node *nodes;
	size_t node_count, node_room;
	bool makes_nodes;                  /* nvidia-modprobe makes missing files for this user */
	struct fact devices_cgroup;        /* text of devices.list, cgroup v1 */
	size_t listed_gpus, excluded_gpus; /* in /proc/driver/nvidia/gpus */

	/* PCI */
	struct pci_gpu *pci;
	size_t pci_count, pci_room;
	struct fact bus;        /* SEEN: the PCI bus could be listed */
	size_t switches;        /* NVSwitch */
	int joined;             /* 1: each GPU has NVLink to another; -1: not known */
	struct fact acs;        /* number: ports between GPUs that redirect; text: the first */
	struct fact infiniband; /* number: InfiniBand or RoCE devices that programs can use */

	/* by NVML */
	struct gpu *gpus;
	size_t gpu_count;
	int64_t confidential, accepts_work;

	struct fact fabric_manager; /* number: its process */
	struct fact xid;            /* text: numbers of hardware faults, "79 (2), 94 (1)" */
	struct fact xid_program;    /* those of programs */
	struct fact init_failed;    /* text: what the driver wrote */

	/* limits of this process */
	struct fact shm, shm_free, memlock, open_files, address_space; /* -1: unlimited */
	struct fact cpus;                                              /* allowed: a list */
	bool ipc_lock;                                                 /* memlock does not count */
	struct fact leases; /* text: their folder; number: its owner, if that is a stranger; -1 */
	struct fact mps;    /* text: the pipe folder; number: 1 a daemon has its socket */

	struct program_facts program;
	/* Of the program, which has one or none; without a program, those of the sources. */
	struct python pythons[PYTHON_SOURCES];
	size_t python_count;
};

void facts_free(struct facts *facts);

/* --- for the parts ---------------------------------------------------------------------------- */

struct fact fact_text(const char *text);
struct fact fact_number(int64_t number);
struct fact fact_absent(void);
struct fact fact_unseen(const char *why);
/* 12040 with "12.4"; 12000 with "12" if `minor` is -1. */
struct fact fact_cuda(struct facts *facts, int64_t major, int64_t minor);
/* UNSEEN with the reason of an errno; ABSENT if there is no such file. */
struct fact fact_error(struct facts *facts, int error);

/* The text of a file of at most `max` bytes, without blanks around it. */
struct fact fact_file(struct facts *facts, size_t max, const char *format, ...) PRINTF(3, 4);
/* fact_file() with bytes of any value; *size is their number. */
struct fact fact_bytes(struct facts *facts, size_t max, size_t *size, const char *path);

bool facts_has_file(const struct facts *facts, const char *path);
/* The path without links, in the arena; NULL: it leads nowhere. */
const char *facts_real(struct facts *facts, const char *path);

/* The first library with that name; NULL: the loader finds none. */
const struct library *first_library(const struct facts *facts, const char *name);

/* "PyTorch" */
const char *package_name(enum package_kind kind);
/* Whether one is installed. */
bool has_packages(const struct python *python);
/* "VIRTUAL_ENV" */
const char *python_source_name(enum python_source source);

/* The value of a variable, NULL: not set, or the environment is not visible. */
const char *facts_variable(const struct facts *facts, const char *name);

#endif
