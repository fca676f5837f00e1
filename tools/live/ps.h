/* SPDX-License-Identifier: MIT */
/*
 * gpumap ps: who uses which GPU, under which number of their own.
 *
 *	ps_read()	the usage of this host, and what /proc has about each process
 *	ps_text()	a frame for people, at a given width
 *	ps_json()	the same for programs
 *	ps_follow()	frame after frame
 */
#ifndef GM_PS_H
#define GM_PS_H

#include "gpumap.h"

#include "live/lease_people.h"
#include "live/process.h"
#include "strbuf.h"

struct json_t;
struct process_stat;

/* How a process calls the GPU that it uses. */
enum ps_name {
	PS_NAME_HIDDEN,      /* the process is not visible here */
	PS_NAME_UNREADABLE,  /* its environment may not be read */
	PS_NAME_UNKNOWN,     /* its environment gives no answer */
	PS_NAME_CONTAINER,   /* it counts inside of its container */
	PS_NAME_UNDECIDABLE, /* the order of its devices is not known */
	PS_NAME_OUTSIDE,     /* the GPU is not in the list that it started with */
	PS_NAME_KNOWN
};

enum ps_run_state { PS_RUN_NONE, PS_RUN_UNKNOWN, PS_RUN_RUNNING, PS_RUN_ENDED };

/* What /proc has about a process, whatever GPU it uses. */
struct ps_facts {
	int64_t pid;
	enum ps_name name; /* PS_NAME_KNOWN: the mapping has it */
	gpumap_mapping *mapping;
	char *run;    /* of gpumap run; NULL */
	int64_t rank; /* -1 */
	enum ps_run_state state;
	bool by_run;   /* its environment is not readable: name, run and rank are what its run shows
			*/
	int64_t cpu;   /* ticks of the clock that it has computed; -1: not known */
	bool detached; /* its parent has ended, and it has no terminal */
	bool own;      /* of the user of this command */
};

/* A process on a GPU. */
struct ps_process {
	const gpumap_process *process;
	size_t facts; /* its place in struct ps */
	enum ps_name name;
	int64_t logical; /* N of cuda:N, with PS_NAME_KNOWN */
	bool stale;      /* a rank whose run has ended */
};

struct ps_gpu {
	const gpumap_device *device;
	struct ps_process *processes;
	size_t count;
	int64_t owner; /* of its lease, as gpumap_lease_holders gives it */
	const gpumap_process
		*owner_process; /* who that is; NULL: not leased, or not visible here */
	int64_t *pids;          /* those that have slots leased, ascending; 0: not visible */
	size_t leased;          /* how many slots; 0: the GPU is leased as a whole, or not */
	int64_t slots;          /* of how many */
	int64_t *instances;     /* the owner of each MIG instance, if one is leased; NULL */
	int64_t hidden;         /* bytes in use by processes that are not visible here */
	char *run;              /* has it for a rank; looked for if the GPU has no process; NULL */
	int launcher;           /* of that run */
	bool left;              /* stale memory: hidden, and no process is listed */
};

/* A lease whose process has ended; what that started holds it. */
struct ps_ended {
	int64_t owner;
	bool *gpus; /* whether it has the i-th GPU of the inventory, or a part of it */
	struct lease_kept kept;
};

struct ps {
	gpumap_inventory *inventory;
	struct ps_gpu *gpus;
	size_t count;
	struct lease_kept owners; /* of the leases that the GPUs have */
	bool leases_known;        /* of all GPUs */
	struct ps_facts *facts;
	size_t fact_count, fact_room;
	struct ps_ended *ended;
	size_t ended_count, ended_room;
	int64_t now; /* seconds since the epoch */
};

/* Less memory than this is the driver's own: a context of CUDA takes more. */
enum { PS_LEAST_HIDDEN = 64 << 20 };

/* Reads the usage of this host, without leases. `json`: the report also gets what a frame for
 * people shows itself. GPUMAP_ENODRIVER after a finding: NVML does not answer. */
int ps_read(struct ps *ret, bool json, gpumap_report *report);
/* The same of an inventory with usage, which is taken over. */
void ps_make(struct ps *ret, gpumap_inventory *inventory);
void ps_free(struct ps *ps);

/* What the environment of facts->pid shows: its name of GPUs, its run and rank. facts->name says
 * whether it could be read. */
void ps_read_environment(struct ps_facts *facts, const gpumap_inventory *inventory);
void ps_facts_free(struct ps_facts *facts);

const struct ps_facts *ps_facts_of(const struct ps *ps, const struct ps_process *p);

/* Whether the process is in another container than this one. */
bool ps_is_inside(int64_t pid);
/* Whether the list means the same inside of a container and outside. */
bool list_names_uuids(const char *list);

/* Whether memory of the GPU is stale: hidden, and of no process that is listed or could be hidden
 * by a container. */
bool ps_is_left(const struct ps_gpu *gpu);

/* Whether the run that started a rank of gpumap run has ended, as far as /proc shows it. `text` is
 * the environment of the process. */
enum ps_run_state ps_run_state(int pid, const struct process_text *text);
/* Who has leased the GPUs, and which run has those without a process for its ranks; a warning says
 * why that is not known. */
void ps_read_leases(struct ps *ps, gpumap_report *report);
/* How old a lease is at most, in seconds; -1: not known. A process can wait for its lease, so that
 * is not older than the process. */
int64_t ps_lease_age(const struct ps *ps, const gpumap_process *owner);
/* The first of the leases from ps->ended[*i] on that has the GPU; NULL: none. *i is behind it. */
const struct ps_ended *ps_next_ended(const struct ps *ps, const struct ps_gpu *gpu, size_t *i);
/* Whether the parent of the process has ended, and it has no terminal. */
bool ps_is_detached(const struct process_stat *stat);

/* Leaves only the GPUs that a list names, "0,3" or UUIDs, and frees the rest. GPUMAP_EINPUT after
 * its error: it names one that is not there. */
int ps_keep(struct ps *ps, const char *list, gpumap_report *report);

/* What of it to show. */
struct ps_view {
	const char *gpus; /* a list; NULL: all */
	bool stale;       /* only what is stale */
	bool quits;       /* the first line says that q ends it */
	bool dated;       /* the date in the first line */
	size_t width;     /* cells; SIZE_MAX: lines are not cut */
	bool styled;
};

/* Appends a frame of whole lines. */
void ps_text(struct strbuf *buf, const struct ps *ps, const struct ps_view *view);
/* Appends one line of JSON, schema 1. */
void ps_json(struct strbuf *buf, const struct ps *ps, const struct ps_view *view,
	     const gpumap_report *report);

/* The stale processes of this user, ascending and each once; *count of them. The caller frees
 * it. */
int64_t *ps_own_stale(const struct ps *ps, size_t *count);

/* Draws a frame every `seconds` until a signal ends it: in place on a terminal, else one after the
 * other. Returns a code of the library. */
int ps_follow(const struct ps_view *view, int64_t seconds, bool json, gpumap_report *report);
/* Appends the user of a process: the name, or the number; "-": not known. */
void ps_user(struct strbuf *buf, const gpumap_process *p);
/* A time as frames have it, "3m" or "2h10m". */
const char *ps_age(char ret[16], int64_t seconds);
/* The width of standard output in cells, at least 60: of the terminal, or of COLUMNS. SIZE_MAX: it
 * is neither. */
size_t ps_width(void);

#endif
