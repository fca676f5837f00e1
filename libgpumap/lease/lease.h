/* SPDX-License-Identifier: MIT */
/* Leases: README.md describes the protocol. The words of it:
 *  - vendor file: a file of sysfs; who has it locked has leased the GPU;
 *  - gate: the lock of the one process that chooses GPUs now;
 *  - ticket: the file of a job that waits, which has its terms and its wish;
 *  - pass: a job gets GPUs before one that came earlier;
 *  - backfill: a pass onto GPUs that are promised to that one, by a lease that ends in time;
 *  - level: 0, or how deep a job is in leases inside a lease. */
#ifndef GM_LEASE_H
#define GM_LEASE_H

#include "gpumap.h"

#include <dirent.h>
#include <errno.h>

#include "base.h"
#include "text.h"

enum {
	MAX_TICKETS = 4096,
	LEASE_NAME_SIZE = 128,
	LEASE_PREFIX = 48,
	MAX_SLOTS = 64 /* of a GPU */
};

/* --- the folder ---------------------------------------------------------------------- */

struct lease_folder {
	int fd; /* -1: there is none */
	char *path;
	int64_t stranger; /* who owns the default folder, neither root nor this user; -1 */
	int sysfs; /* /sys/bus/pci/devices, or where vendor files of pretended GPUs are; -1 */
	char prefix[LEASE_PREFIX]; /* of the names of its files: "", or "sub-1-" inside a lease */
	char *inside; /* the names of the GPUs of that lease, separated by blanks; NULL: none */
	/* What /proc/locks had: it is read instead of testing locks. NULL: they are tested. */
	char *seen;
	int64_t mount;          /* with `seen`, of the folder, */
	unsigned int device[2]; /* and the device that /proc/locks shows for its files */
};

#define NO_FOLDER ((struct lease_folder){.fd = -1, .sysfs = -1})

/* How names of files begin: of a job inside a lease; then of a GPU. */
#define LEASE_NESTED "sub-"
#define LEASE_GPU "gpu-"
/* Of a lease's file, behind the name of its unit; and of a MIG instance, behind that of its GPU. */
#define LEASE_SLOT "-slot-"
#define LEASE_OF "-of-"
#define LEASE_INSTANCE "-mig-"

/* Opens the folder `path`; NULL: the default. If it does not exist, it is made if `make`, and
 * otherwise counts as empty. GPUMAP_EFILE: it cannot be used, or others could replace the files in
 * it. */
int lease_folder_open(struct lease_folder *ret, const char *path, const char *sysfs, bool make,
		      gpumap_report *report);
void lease_folder_close(struct lease_folder *folder);

/* Opens a file of the folder, which is made if `make`. Returns a descriptor that is closed on exec,
 * or -1 with errno; ELOOP: it is not a regular file with one name. */
int lease_file(const struct lease_folder *folder, const char *name, int mode, bool make);
void lease_file_remove(const struct lease_folder *folder, const char *name);

/* Whether this process lacks what it needs to look: that shows nothing of others. */
static inline bool lease_lacks(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* Locks a descriptor, by flock(2), without waiting. False: another process has the lock. */
bool lease_try(int fd, bool shared);
/* The process that took the lock of a file, by /proc/locks, or what was seen of that; 0: it is not
 * visible here. */
int64_t lease_locker(const struct lease_folder *folder, int fd);
/* Reads /proc/locks into `seen`, in place of what was there. False: it does not show all locks
 * here, and `seen` is NULL. */
bool lease_see(struct lease_folder *folder);
/* Whether another process has the lock of a file: it is tested, or was seen. */
bool lease_is_locked(const struct lease_folder *folder, int fd, bool *exclusive);
/* What the kernel says about a descriptor of a process. The caller frees it; NULL with errno: it is
 * not visible. */
char *lease_fdinfo(int64_t pid, const char *fd);
/* The same of this process, also where /proc shows another pid namespace. */
char *lease_own_fdinfo(int fd);
/* The lock that the open file has, which the processes that inherited it share; false: none.
 * *owner is the process that took it, 0: it is not visible, or has ended. */
bool lease_lock_in(bool *exclusive, int64_t *owner, const char *info);

/* Locks the gate, for which it waits. Returns its descriptor; closing it opens the gate.
 * GPUMAP_EBUSY: it is held longer; GPUMAP_EFILE. */
int lease_gate(int *ret, const struct lease_folder *folder, gpumap_report *report);

/* --- the GPUs ------------------------------------------------------------------------- */

/* The files of one GPU, or of a MIG instance, open and locked; -1: there is no such file. */
struct lease_locks {
	int vendor, file; /* of the GPU */
	int own;          /* of the lease */
	bool part;        /* it has a slot or an instance, not the whole GPU */
};

#define NO_LOCKS ((struct lease_locks){-1, -1, -1, false})

enum lease_state {
	LEASE_FREE,
	LEASE_HELD,        /* by a lease */
	LEASE_SHARED,      /* by leases of slots */
	LEASE_IN_USE,      /* by processes without a lease, or its memory is */
	LEASE_FULL,        /* less of its memory is free than the job asks for */
	LEASE_LOADED,      /* its load is above the limit */
	LEASE_LOAD_HIDDEN, /* it has processes or memory, and its load is not known */
	LEASE_UNKNOWN,     /* whether it is free cannot be seen */
};

/* The name of its file in the folder. */
const char *lease_name(struct quoted *ret, const gpumap_device *unit);
#define LEASE_NAME(unit) lease_name(&(struct quoted){{0}}, unit)
/* Whether it is the name of a MIG instance; with `gpu`, of that GPU. */
bool lease_names_instance(struct span name, const char *gpu);
/* The unit that has the name. A MIG instance that does not exist any more counts as its GPU, which
 * its lease keeps. The count of units: there is none. */
size_t lease_named(const gpumap_inventory *units, struct span name);

/* What the name of a file says: "gpu-UUID", "gpu-UUID-mig-UUID-slot-1795878568539368720-of-1",
 * "sub-1-4711-gpu-UUID-slot-1795878568539368720-of-4". */
struct lease_file_name {
	int level;       /* 0: it is not of a job inside a lease */
	int64_t outer;   /* the number of the lease of parts that the job is inside; 0: none */
	struct span gpu; /* or the MIG instance, as lease_name() writes it */
	size_t slots;    /* of a lease's file; 0: it is another one */
};

/* The number of a slot or MIG instance, by the inode of its file. */
static inline int64_t lease_number(ino_t inode)
{
	return (int64_t)(inode & INT64_MAX);
}

/* Whether it is the file of a lease of a part of a GPU: a slot or a MIG instance. */
bool lease_is_part(const struct lease_file_name *name);
/* False: it is another file. */
bool lease_name_read(struct lease_file_name *ret, const char *name);
/* The number of a new file: the time, so no file that others leave has an effect on it. */
uint64_t lease_next_number(void);
/* The number of 20 digits in a name of this level, between `word` and `end`; 0: it is another file.
 */
uint64_t lease_name_number(const struct lease_folder *folder, const char *word, const char *name,
			   char end);
/* Whether a file of the folder is one of this level. */
bool lease_concerns(const struct lease_folder *folder, const char *name);
/* Opens the vendor file of its GPU; -1 with ENOENT: sysfs has no such device, as in WSL and some
 * containers. */
int lease_vendor(const struct lease_folder *folder, const gpumap_device *unit);
/* LEASE_FREE; LEASE_HELD or LEASE_SHARED, *owner is a process that took it, 0: not visible;
 * LEASE_UNKNOWN with errno: its vendor file cannot be opened, or lease_lacks(). A MIG instance is
 * shared if its GPU is, and it is not held itself. */
enum lease_state lease_held(const struct lease_folder *folder, const gpumap_device *unit,
			    int64_t *owner);
/* Why it is LEASE_UNKNOWN, by errno: "0000:01:00.0/vendor in sysfs: Permission denied". */
const char *lease_hidden_by(struct quoted *ret, const gpumap_device *unit, int why);
#define LEASE_HIDDEN_BY(unit, why) lease_hidden_by(&(struct quoted){{0}}, unit, why)
/* Locks a GPU that is not leased, or one of its `slots`; 1: the whole GPU, or the MIG instance. The
 * descriptors are closed on exec. False with errno. */
bool lease_lock(struct lease_locks *ret, const struct lease_folder *folder,
		const gpumap_device *unit, size_t slots);
/* errno stays. */
void lease_unlock(struct lease_locks *locks);
/* Whether these descriptors still have their lock: a lease can be revoked. */
bool lease_has_lock(const struct lease_locks *locks);

/* --- a lease -------------------------------------------------------------------------- */

struct gpumap_lease {
	gpumap_inventory *machine;   /* the GPUs of this host */
	gpumap_inventory *inventory; /* its units (units.h) */
	size_t *gpus;                /* positions among the units, ascending */
	struct lease_locks *locks;
	size_t count;
	char *visible;
	/* Where its files are: the absolute name of the folder, NULL if it was removed, and their
	 * prefix there. */
	char *folder, prefix[LEASE_PREFIX];
};

/* Reads the GPUs of this host with their usage, and the units of these. Returns the codes of
 * gpumap_inventory_probe, after their error. */
int lease_probe(gpumap_lease *lease, gpumap_report *report);
void lease_forget_units(gpumap_lease *lease);
/* Sets the list of its GPUs. GPUMAP_ENOMEM. */
int lease_list(gpumap_lease *lease);
/* Sets its list, once its GPUs are locked. GPUMAP_ENOMEM, after its error. */
int lease_complete(gpumap_lease *lease, const struct lease_folder *folder, gpumap_report *report);

/* --- slots ---------------------------------------------------------------------------- */

/* How many jobs share a GPU, and the smallest number of slots that one of them allows. */
struct lease_load {
	size_t used, most;
};

#define NO_LOAD ((struct lease_load){0, MAX_SLOTS})

/* The slots of a job's GPUs: those that it asks for, else `site`, which the administrator has set;
 * 0: not set. MIG instances have none. */
size_t slots_of_claim(const gpumap_claim *claim, size_t site);
/* One more job, which allows this number of slots. */
void load_add(struct lease_load *load, size_t slots);
/* How many more jobs can share the GPU, if one of them allows this number of slots. */
size_t load_room(const struct lease_load *load, size_t slots);

/* What is seen of a GPU or a MIG instance. */
struct lease_sight {
	enum lease_state lease; /* by its locks; of a GPU with leased instances, LEASE_HELD */
	enum lease_state use;   /* by the terms of a job */
	struct lease_load load; /* its slots */
	size_t instances;       /* how many of its MIG instances are leased */
	int64_t owner;          /* a process that took a lease; 0: not visible */
	int why;                /* errno, of LEASE_UNKNOWN */
};

/* Looks at the locks of all units, and sets the members but `use`. Call it in the gate.
 * GPUMAP_EFILE with errno: the slots cannot be seen; GPUMAP_ENOMEM. */
int lease_look(struct lease_sight *ret, const struct lease_folder *folder,
	       const gpumap_inventory *units);

/* A walk over the files of leases that are held. It removes those that are left behind, as far as
 * this user may. */
struct lease_walk {
	const struct lease_folder *folder;
	const char *gpu;  /* the name of the GPU that is looked at, with its instances; NULL: all */
	struct span unit; /* the name of the lease's unit */
	size_t slots;     /* 1: the whole GPU; 0: a MIG instance */
	int fd;           /* of its file */
	int code;         /* at the end: GPUMAP_OK, GPUMAP_EFILE with errno, or GPUMAP_ENOMEM */
	DIR *dir;
	size_t swept;
	int lacks; /* errno of the last file that could not be looked at; 0 */
};
struct lease_walk lease_walk(const struct lease_folder *folder, const char *gpu);
/* Goes to the next lease. Goes on until it is false. */
bool lease_next(struct lease_walk *walk);
/* Whether the process may have taken the lease of which `fd` has the file. False: that one has
 * ended, and this one, of another user, began later and has its number. */
bool lease_is_owner(int64_t pid, int fd);
/* Makes and locks the file of a lease of a unit, or of one of `slots` of a GPU. Returns its
 * descriptor; -1 with errno, EWOULDBLOCK: there is no room beside the leases that others have. */
int lease_own_file(const struct lease_folder *folder, const gpumap_device *unit, size_t slots);

/* --- what is free --------------------------------------------------------------------- */

/* What a job calls free, and which of the free GPUs it takes. */
struct lease_terms {
	char *ignore;     /* names of programs that do not count, separated by commas; NULL */
	int64_t max_used; /* bytes in use below which a GPU is free; -1: the default */
	int64_t min_free; /* bytes not in use with which a GPU is free; -1: max_used counts */
	int max_load;     /* percent; a GPU with a higher load is not free; -1: any is */
	size_t slots;     /* it takes a slot of so many on each GPU; 1: the whole GPU */
	bool near;        /* of the free GPUs it takes those that are connected best */
};

#define DEFAULT_TERMS \
	((struct lease_terms){.max_used = -1, .min_free = -1, .max_load = -1, .slots = 1})
void lease_terms_free(struct lease_terms *terms);
/* Whether processes, memory or load show that the GPU is in use; its lease is not looked at.
 * `shared`: other jobs have slots of the GPU, so their processes do not count. */
enum lease_state lease_state_of(const struct lease_terms *terms, const gpumap_device *gpu,
				bool shared);
/* The memory of a GPU that programs can have; -1: not known. */
int64_t lease_memory_most(const gpumap_device *gpu);
/* Whether the GPU has the memory that has to be free, if nothing uses it. */
bool lease_is_large(const struct lease_terms *terms, const gpumap_device *gpu);
/* Appends what makes a GPU LEASE_IN_USE or LEASE_FULL: " by process 4711 (python3 of jo)". */
void lease_tell_use(struct strbuf *buf, const struct lease_terms *terms, const gpumap_device *gpu,
		    bool shared);

/* --- choosing ------------------------------------------------------------------------- */

/* What a job waits for. The lists have an element for each GPU. */
struct lease_wish {
	size_t count;
	bool *usable;          /* it may have the GPU */
	const bool *free_gpus; /* the GPU, or a slot, has no lease, and the job calls it free */
	const size_t *order;   /* all GPUs, those that it prefers first */
	size_t preferred;      /* how many it prefers */
	bool near;             /* it takes those that are connected best */
	bool firm;             /* lease_passed_enough() */
	size_t slots;          /* it takes a slot of so many; 1: whole GPUs */
	int64_t ready; /* not one's own: when it can be served at the earliest (backfill_ready) */
	int64_t end;   /* one's own: when its lease has ended; INT64_MAX: not known */
};

/* What lease_choose() finds. */
struct lease_chosen {
	size_t *gpus;     /* in the order of preference */
	bool *passed;     /* of each earlier wish: its job is passed */
	size_t *promised; /* of each GPU: the first wish whose promise keeps it from one's own job;
			   * the number of that one: none */
};

/* Moves the `count` GPUs that are connected best to the front of the `n` in `gpus`, and keeps their
 * order. As many as possible are of the first `preferred`. */
void lease_near(size_t *gpus, size_t count, size_t n, size_t preferred,
		const gpumap_inventory *inventory);

/* Gives GPUs to each wish in turn, as the README says. The last wish is one's own. `loads` are the
 * slots that are held. Returns false if the job has to wait, or if *nomem. */
bool lease_choose(struct lease_chosen *ret, const struct lease_wish *wishes, size_t count,
		  const struct lease_load *loads, const gpumap_inventory *inventory, bool *nomem);
/* Chooses among all that the wish may have, free ones first, where a lease would have to wait. */
void lease_choose_any(size_t *ret, const struct lease_wish *wish, size_t gpus);
/* A lease has its GPUs in ascending order, whatever it prefers. */
void lease_sort_chosen(size_t *gpus, size_t count);

/* --- the queue ------------------------------------------------------------------------ */

struct lease_ticket {
	uint64_t number;
	size_t count;
	char *from;   /* the names of the GPUs that it can use, separated by blanks; "": all */
	char *prefer; /* those that it prefers, in that order; "": none */
	struct lease_terms terms;
	int passes;   /* how often it was passed */
	int64_t user; /* who waits: the owner of its file */
	int64_t pid;  /* the process that made it, and its start */
	uint64_t start;
};

/* Reads the live tickets below `before` in their order; the caller frees them. GPUMAP_EFILE with
 * errno; GPUMAP_ENOMEM. */
int lease_queue_read(struct lease_ticket **ret, size_t *count, const struct lease_folder *folder,
		     uint64_t before);
void lease_queue_free(struct lease_ticket *tickets, size_t count);
/* GPUMAP_EINPUT, with its error: so many jobs of this user wait that no other may join. */
int lease_queue_check(const struct lease_ticket *tickets, size_t count, gpumap_report *report);
/* Makes a ticket behind all others, with the members of `wish` from `count` to `terms`. Returns its
 * locked descriptor. Call it in the gate. GPUMAP_EFILE with errno; GPUMAP_ENOMEM. */
int lease_queue_join(int *ret, uint64_t *number, const struct lease_folder *folder,
		     const struct lease_ticket *wish);
/* Adds names to those of the GPUs that the job of one's own ticket can use. False: they cannot be
 * written. Call it in the gate. */
bool lease_queue_add(int fd, const char *names);
/* The process that waits with a ticket; 0: it is not visible here. */
int64_t lease_queue_process(const struct lease_folder *folder, uint64_t number);
/* Removes the ticket. */
void lease_queue_leave(const struct lease_folder *folder, int fd, uint64_t number);

/* --- passes --------------------------------------------------------------------------- */

/* Notes that the job of a ticket is passed. False: it cannot be written. Call it in the gate. */
bool lease_pass(const struct lease_folder *folder, uint64_t number);
/* Whether a job was passed as often as it may be. */
bool lease_passed_enough(const struct lease_ticket *ticket);
/* Counts the passes of the tickets, which are in their order; if they are `all`, removes those of
 * jobs that wait no longer. */
void lease_passes_count(struct lease_ticket *tickets, size_t count,
			const struct lease_folder *folder, bool all, DIR *dir);
/* Removes those of one ticket. */
void lease_passes_remove(const struct lease_folder *folder, uint64_t number);
/* The order of the tickets, for qsort. */
int lease_ticket_order(const void *a, const void *b);

/* --- backfill: a job whose lease ends in time takes GPUs that are promised to others -------- */

/* Between a choice and the begin of the lease, and between its end and the time when the driver
 * shows that its GPUs are free. */
enum { BACKFILL_MARGIN_MS = 10000 };

/* Sets ret[g] to the time at which the leases of a unit end, by lease_note_now(); 0: no lease, or
 * none whose end is known. Call it in the gate. GPUMAP_EFILE with errno; GPUMAP_ENOMEM. */
int backfill_ends(int64_t *ret, const struct lease_folder *folder, const gpumap_inventory *units,
		  const struct lease_sight *sights);
/* The earliest time at which the job of a wish can be served, if no lease ends before its time; 0:
 * perhaps at any moment. */
int64_t backfill_ready(const struct lease_wish *wish, const struct lease_sight *sights,
		       const int64_t *ends, size_t units);
/* Whether the lease of `own` has ended when the job of `waiting`, which cannot be served now, can
 * be. A lease of slots does not fit: others could follow beside it, whose leases last longer. */
bool backfill_fits(const struct lease_wish *own, const struct lease_wish *waiting);

/* --- leases inside a lease -------------------------------------------------------------- */

/* If this process runs in a lease, the folder's files are from now on those of the level below it,
 * and only its GPUs can be leased. `keeper` is the process that GPUMAP_LEASE names; 0: it is not
 * set, and nothing changes. The kernel decides: this process, one above it, or the keeper of one
 * above it has the locked files open. If none has, a remark says so. GPUMAP_ENOMEM. */
int lease_nested(struct lease_folder *folder, int64_t keeper, gpumap_report *report);

/* Whether the GPU is one of the outer lease; true if there is none. */
bool lease_is_inside(const struct lease_folder *folder, const gpumap_device *gpu);
/* Whether the outer lease has not ended; also if there is none. GPUMAP_EINPUT after its error. */
int lease_check_inside(const struct lease_folder *folder, int64_t keeper, gpumap_report *report);

#endif
