/* SPDX-License-Identifier: MIT */
/* See holders.h. */
#include "lease/holders.h"

#include <dirent.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "lease/claim.h"
#include "lease/units.h"
#include "closing.h"
#include "memory.h"
#include "process_path.h"
#include "process_stat.h"
#include "report/report.h"
#include "write_all.h"

enum { LOOKS = 50, LOOK_PAUSE_MS = 2 };

struct held {
	size_t gpu, slots;
	int64_t pid;
};

/* All that is leased. */
struct leases {
	gpumap_inventory *units;
	struct lease_sight *sights;
	struct held *list;
	size_t count, room;
	bool nomem;
	bool seen; /* they are known, but perhaps of some units */
};

/* --- each lease --------------------------------------------------------------------------- */

int lease_held_each(const struct lease_folder *folder, const gpumap_inventory *units,
		    const struct lease_sight *sights, held_fn *fn, void *data)
{
	CLEANUP_FREE bool *visited = xcalloc(units->count + 1, sizeof(*visited));
	struct lease_walk walk;

	if (!visited)
		return GPUMAP_ENOMEM;
	walk = lease_walk(folder, NULL);
	while (lease_next(&walk)) {
		size_t g = lease_named(units, walk.unit);

		if (g == units->count)
			continue;
		visited[g] = true;
		fn(g, walk.slots ? walk.slots : 1, lease_locker(folder, walk.fd), walk.fd, data);
	}
	/* Those of other folders, and of versions whose leases have no file. */
	for (size_t g = 0; walk.code == GPUMAP_OK && g < units->count; g++)
		if (sights[g].lease == LEASE_HELD && !sights[g].instances && !visited[g] &&
		    !is_instance(&units->gpus[g]))
			fn(g, 1, sights[g].owner, -1, data);
	return walk.code;
}

/* --- the processes ------------------------------------------------------------------------ */

static bool is_one_of(const struct stat *files, size_t count, const struct stat *st)
{
	for (size_t i = 0; i < count; i++)
		if (st->st_dev == files[i].st_dev && st->st_ino == files[i].st_ino)
			return true;
	return false;
}

bool lease_holds(int64_t pid, const struct stat *files, size_t count, bool hidden, bool *nomem)
{
	CLEANUP_FOLDER DIR *dir = opendir(PROCESS_PATH(pid, "fd"));
	struct dirent *entry;
	bool found = false;

	*nomem = *nomem || (!dir && errno == ENOMEM);
	if (!dir)
		return hidden;
	while (!found && (entry = readdir(dir))) {
		CLEANUP_FREE char *info = NULL;
		struct stat st;
		bool exclusive;
		int64_t owner;

		if (fstatat(dirfd(dir), entry->d_name, &st, 0) < 0) {
			found = hidden && errno == EACCES;
			continue;
		}
		if (!is_one_of(files, count, &st))
			continue;
		info = lease_fdinfo(pid, entry->d_name);
		*nomem = *nomem || (!info && errno == ENOMEM);
		found = info && lease_lock_in(&exclusive, &owner, info);
	}
	return found;
}

static int64_t *list_keepers(size_t *count, const struct stat *file)
{
	int64_t *pids = NULL;
	CLEANUP_FOLDER DIR *proc = opendir("/proc");
	bool nomem = false;
	size_t room = 0;
	pid_t pid;

	while (!nomem && (pid = process_next(proc))) {
		if (!lease_holds(pid, file, 1, false, &nomem))
			continue;
		nomem = !ARRAY_ROOM(pids, *count, room);
		if (!nomem)
			pids[(*count)++] = pid;
	}
	return pids;
}

int64_t *lease_kept_by(size_t *count, const gpumap_claim *claim, int64_t owner)
{
	CLEANUP(lease_folder_close) struct lease_folder folder = NO_FOLDER;
	bool found = false;
	struct stat file; /* of one of its units: who holds the lease has all of them open */

	*count = 0;
	if (lease_folder_open(&folder, claim->folder, claim->sysfs, false, NULL) != GPUMAP_OK)
		return NULL;
	/* Elsewhere the kernel does not show who took a lock, and has ended. */
	if (lease_see(&folder)) {
		struct lease_walk walk = lease_walk(&folder, NULL);

		while (lease_next(&walk))
			if (!found && lease_locker(&folder, walk.fd) == owner)
				found = fstat(walk.fd, &file) == 0;
	}
	return found ? list_keepers(count, &file) : NULL;
}

/* --- for others --------------------------------------------------------------------------- */

static void add(size_t gpu, size_t slots, int64_t pid, int fd, void *data)
{
	struct leases *all = data;

	if (!ARRAY_ROOM(all->list, all->count, all->room)) {
		all->nomem = true;
		return;
	}
	pid = fd < 0 || lease_is_owner(pid, fd) ? pid : -pid;
	all->list[all->count++] = (struct held){gpu, slots, pid};
}

static int by_gpu_and_pid(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	if (x->gpu != y->gpu)
		return (x->gpu > y->gpu) - (x->gpu < y->gpu);
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* In the gate, or by what is seen. */
static int look(struct leases *all, const struct lease_folder *folder)
{
	int r = lease_look(all->sights, folder, all->units);

	all->count = 0;
	if (r == GPUMAP_OK)
		r = lease_held_each(folder, all->units, all->sights, add, all);
	if (all->count)
		qsort(all->list, all->count, sizeof(*all->list), by_gpu_and_pid);
	return all->nomem ? GPUMAP_ENOMEM : r;
}

static bool are_alike(const struct leases *a, const struct leases *b)
{
	for (size_t g = 0; g < a->units->count; g++)
		if (a->sights[g].lease != b->sights[g].lease ||
		    a->sights[g].owner != b->sights[g].owner)
			return false;
	return a->count == b->count &&
	       (!a->count || !memcmp(a->list, b->list, a->count * sizeof(*a->list)));
}

/* Looks without the gate until two looks in a row agree: to test a lock takes it for microseconds,
 * and the kernel shows the locks piece by piece. GPUMAP_EBUSY: not all is seen here. */
static int see(struct leases *all, struct lease_folder *folder)
{
	const struct timespec pause = {0, LOOK_PAUSE_MS * 1000000L};
	struct leases last = {.units = all->units};
	int r = GPUMAP_EBUSY;

	last.sights = xcalloc(all->units->count + 1, sizeof(*last.sights));
	if (!last.sights)
		return GPUMAP_ENOMEM;
	for (int i = 0; i < LOOKS && lease_see(folder); i++) {
		struct leases swap = last;

		last = *all;
		*all = swap;
		r = look(all, folder);
		if (r != GPUMAP_OK || (i && are_alike(all, &last)))
			break;
		r = GPUMAP_EBUSY;
		nanosleep(&pause, NULL);
	}
	free(folder->seen);
	folder->seen = NULL;
	free(last.sights);
	free(last.list);
	return r;
}

/* To test a lock takes it for a moment, in which a job would find the GPU leased. */
static int look_in_gate(struct leases *all, const struct lease_folder *folder,
			gpumap_report *report)
{
	CLEANUP_CLOSE int gate = -1;
	int r = GPUMAP_OK;

	if (folder->fd >= 0)
		r = lease_gate(&gate, folder, report);
	return r == GPUMAP_OK ? look(all, folder) : r;
}

/* A lock cannot be looked at, so a lease may not be visible. */
static int check_each(const struct leases *all, const struct lease_folder *folder,
		      gpumap_report *report)
{
	int r = GPUMAP_OK;

	for (size_t g = 0; g < all->units->count; g++) {
		const gpumap_device *unit = &all->units->gpus[g];
		const int why = all->sights[g].why;

		if (all->sights[g].lease != LEASE_UNKNOWN)
			continue;
		r = report_fail(report, GPUMAP_EFILE, FINDING_LEASES_NOT_SEEN,
				ABOUT(.origin = folder->path,
				      .fix = lease_lacks(why)
						     ? write_remedy(why)
						     : "ask as root, or outside of the container"),
				"it is not visible whether %s is leased: %s", UNIT_TEXT(unit),
				LEASE_HIDDEN_BY(unit, why));
	}
	return r;
}

/* Adds why nothing is visible: the last finding of `why`. */
static void tell_unseen(const struct lease_folder *folder, const gpumap_report *why,
			gpumap_report *report)
{
	const gpumap_finding *f = gpumap_report_get(why, gpumap_report_count(why) - 1);

	report_add(report, FINDING_LEASES_NOT_SEEN,
		   ABOUT(.origin = folder->path, .fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX)),
		   "it is not visible which GPUs are leased: %s",
		   f ? gpumap_finding_str(f, GPUMAP_FINDING_TEXT) : strerror(errno));
}

static int look_somehow(struct leases *all, struct lease_folder *folder, gpumap_report *report)
{
	OWNED(report) *why = NULL;
	int r = see(all, folder);

	if (r == GPUMAP_EBUSY)
		r = gpumap_report_new(&why);
	if (why)
		r = look_in_gate(all, folder, why);
	all->seen = r == GPUMAP_OK;
	if (r == GPUMAP_EBUSY || r == GPUMAP_EFILE)
		tell_unseen(folder, why, report);
	return all->seen ? check_each(all, folder, report) : r;
}

static int read_leases(struct leases *all, const gpumap_claim *claim,
		       const gpumap_inventory *inventory, gpumap_report *report)
{
	CLEANUP(lease_folder_close) struct lease_folder folder = NO_FOLDER;
	int r;

	all->units = units_of(inventory);
	all->sights = all->units ? xcalloc(all->units->count + 1, sizeof(*all->sights)) : NULL;
	if (!all->sights)
		return report_nomem(report);
	r = lease_folder_open(&folder, claim->folder, claim->sysfs, false, report);
	if (r == GPUMAP_OK)
		r = look_somehow(all, &folder, report);
	return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
}

static void leases_free(struct leases *all)
{
	units_free(all->units);
	free(all->sights);
	free(all->list);
}

static int64_t holder_of(const struct lease_sight *sight)
{
	return sight->lease == LEASE_FREE      ? GPUMAP_LEASE_NONE
	       : sight->lease == LEASE_UNKNOWN ? GPUMAP_LEASE_UNKNOWN
					       : sight->owner;
}

EXPORT int gpumap_lease_holders(int64_t *ret, const gpumap_claim *claim,
				const gpumap_inventory *inventory, gpumap_report *report)
{
	struct leases all = {0};
	int r = read_leases(&all, claim, inventory, report);

	for (size_t g = 0; all.seen && g < all.units->count; g++)
		if (!is_instance(&all.units->gpus[g]))
			*ret++ = holder_of(&all.sights[g]);
	leases_free(&all);
	return r;
}

bool lease_runs_inside(const gpumap_claim *claim)
{
	CLEANUP(lease_folder_close) struct lease_folder folder = NO_FOLDER;

	return claim->keeper &&
	       lease_folder_open(&folder, claim->folder, claim->sysfs, false, NULL) == GPUMAP_OK &&
	       lease_nested(&folder, claim->keeper, NULL) == GPUMAP_OK && folder.inside;
}

/* Forgets the leases of the units of the lease that this process runs in. */
static int forget_inside(const struct leases *all, const gpumap_claim *claim)
{
	CLEANUP(lease_folder_close) struct lease_folder folder = NO_FOLDER;
	int r = lease_folder_open(&folder, claim->folder, claim->sysfs, false, NULL);

	if (r == GPUMAP_OK)
		r = lease_nested(&folder, claim->keeper, NULL);
	for (size_t g = 0; r == GPUMAP_OK && g < all->units->count; g++)
		if (folder.inside && lease_is_inside(&folder, &all->units->gpus[g]))
			all->sights[g].lease = LEASE_FREE;
	return r;
}

int lease_outside(int64_t *ret, const gpumap_claim *claim, const gpumap_inventory *inventory,
		  gpumap_report *report)
{
	struct leases all = {0};
	int r = read_leases(&all, claim, inventory, report);

	if (all.seen)
		r = claim->keeper ? forget_inside(&all, claim) : GPUMAP_OK;
	for (size_t g = 0; r == GPUMAP_OK && g < all.units->count; g++)
		ret[g] = holder_of(&all.sights[g]);
	leases_free(&all);
	return r;
}

EXPORT int gpumap_lease_each(const gpumap_claim *claim, const gpumap_inventory *inventory,
			     int (*fn)(const gpumap_device *device, int64_t slots, int64_t pid,
				       void *data),
			     void *data, gpumap_report *report)
{
	struct leases all = {0};
	int r = read_leases(&all, claim, inventory, report), stop = 0;

	for (size_t i = 0; all.seen && !stop && i < all.count; i++)
		stop = fn(unit_device(&all.units->gpus[all.list[i].gpu]),
			  (int64_t)all.list[i].slots, all.list[i].pid, data);
	leases_free(&all);
	return stop ? stop : r;
}
