/* SPDX-License-Identifier: MIT */
/*
 * A lock of flock(2) belongs to an open file, which processes share by inheriting it. So it can be
 * unlocked through a copy of any of their descriptors.
 *
 * The lease itself ends first, then those inside it: a job inside looks for the lease before it
 * takes GPUs. The gate is held meanwhile, so that no later lease loses what is inside of it.
 */
#include "lease/revoke.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "closing.h"
#include "container.h"
#include "lease/claim.h"
#include "lease/units.h"
#include "memory.h"
#include "process_handle.h"
#include "process_path.h"
#include "process_stat.h"
#include "report/report.h"

#ifndef SYS_pidfd_getfd /* in headers older than the kernel; all machines have this number */
#define SYS_pidfd_getfd 438
#endif

enum { MAX_DEPTH = 16 };

/* A file that a lease locks, or one inside it. */
struct locked_file {
	int fd; /* open, so that its number is no other file's */
	dev_t dev;
	ino_t ino;
	int64_t number; /* of a slot or instance, which the names of what is inside have; 0 */
	bool inside;
};

/* A lease that ends. */
struct ending {
	const gpumap_inventory *inventory;
	const bool *gpus; /* those that it has */
	int64_t owner;    /* the process that took it; 0: not visible */
	int level;        /* how many leases it is inside */
	int64_t outer;    /* the number in the names of what is inside; -1: those of its parts */
	bool inside;      /* what is inside ends now */
	struct lease_folder folder;
	struct locked_file *files;
	size_t count, room;
	bool nomem;
	int why; /* errno of the last descriptor that could not be had; 0 */
};

/* --- the files ----------------------------------------------------------------------------- */

static const struct locked_file *find_file(const struct ending *e, const struct stat *st)
{
	for (size_t i = 0; i < e->count; i++)
		if (e->files[i].dev == st->st_dev && e->files[i].ino == st->st_ino)
			return &e->files[i];
	return NULL;
}

/* Takes the descriptor; -1: there is no such file. */
static void add_file(struct ending *e, int fd, bool part)
{
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0 || find_file(e, &st)) {
		close(fd);
		return;
	}
	if (!ARRAY_ROOM(e->files, e->count, e->room)) {
		e->nomem = true;
		close(fd);
		return;
	}
	e->files[e->count++] = (struct locked_file){fd, st.st_dev, st.st_ino,
						    part ? lease_number(st.st_ino) : 0, e->inside};
}

static void close_files(struct ending *e)
{
	for (size_t i = 0; i < e->count; i++)
		close(e->files[i].fd);
	free(e->files);
}

/* Whether the name is that of a unit that ends, or of the GPU of an instance that does. */
static bool is_of_units(const struct ending *e, struct span name)
{
	const gpumap_device *units = e->inventory->gpus;
	size_t named = lease_named(e->inventory, name);

	if (named == e->inventory->count || e->gpus[named])
		return named < e->inventory->count;
	for (size_t g = 0; g < e->inventory->count; g++)
		if (e->gpus[g] && !is_instance(&units[named]) && units[g].gpu == units[named].gpu)
			return true;
	return false;
}

/* Whether the file of a name is of a job inside: at a deeper level, and inside the lease or one of
 * the parts that were found. */
static bool is_inside(const struct ending *e, const struct lease_file_name *name)
{
	bool of_lease = name->outer == e->outer;

	for (size_t i = 0; name->outer && i < e->count && !of_lease; i++)
		of_lease = e->files[i].number == name->outer;
	return of_lease && name->level > e->level && is_of_units(e, name->gpu);
}

/* Adds the files of jobs inside. False: there are no further ones. */
static bool add_inside(struct ending *e)
{
	CLEANUP_FOLDER DIR *dir = entries_of(e->folder.fd);
	struct lease_file_name name;
	struct dirent *entry;
	size_t before = e->count;

	while (dir && (entry = readdir(dir)))
		if (lease_name_read(&name, entry->d_name) && is_inside(e, &name))
			add_file(e, lease_file(&e->folder, entry->d_name, O_RDONLY, false),
				 lease_is_part(&name));
	return e->count > before;
}

/* --- the processes ------------------------------------------------------------------------- */

/* Others have slots of the GPU, too: theirs were taken by another process. */
static bool is_of_lease(struct ending *e, int fd)
{
	CLEANUP_FREE char *info = lease_own_fdinfo(fd);
	bool exclusive;
	int64_t owner;

	e->nomem = e->nomem || !info;
	return info && lease_lock_in(&exclusive, &owner, info) && owner == e->owner;
}

/* The number may mean another file by now; unlocking that would do harm. */
static void unlock_there(struct ending *e, int pidfd, int number)
{
	CLEANUP_CLOSE int fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
	const struct locked_file *file;
	struct stat st;

	if (fd < 0) {
		e->why = errno;
		return;
	}
	file = fstat(fd, &st) == 0 ? find_file(e, &st) : NULL;
	if (file && file->inside == e->inside && (file->inside || is_of_lease(e, fd)))
		flock(fd, LOCK_UN);
}

/* `folder` has the descriptors of the process. *pidfd is opened when it is needed. */
static void look_at(struct ending *e, pid_t pid, int folder, const char *fd, int *pidfd)
{
	int64_t number = span_number(span_of(fd), INT32_MAX);
	const struct locked_file *file;
	struct stat st;

	if (number < 0 || fstatat(folder, fd, &st, 0) < 0)
		return;
	file = find_file(e, &st);
	if (!file || file->inside != e->inside)
		return;
	if (*pidfd < 0)
		*pidfd = process_pidfd(pid);
	if (*pidfd >= 0)
		unlock_there(e, *pidfd, (int)number);
	else
		e->why = errno;
}

static void visit(struct ending *e, pid_t pid)
{
	CLEANUP_FOLDER DIR *dir = opendir(PROCESS_PATH(pid, "fd"));
	struct dirent *entry;
	CLEANUP_CLOSE int pidfd = -1;

	/* It may have nothing to do with the lease. */
	if (!dir && errno != ENOENT && errno != ESRCH && !e->why)
		e->why = errno;
	while (dir && (entry = readdir(dir)))
		look_at(e, pid, dirfd(dir), entry->d_name, &pidfd);
}

static void visit_all(struct ending *e)
{
	CLEANUP_FOLDER DIR *proc = opendir("/proc");
	pid_t pid;

	while ((pid = process_next(proc)))
		if (pid != getpid())
			visit(e, pid);
}

/* Jobs inside lose theirs, which would keep those of a later lease away. */
static void end_inside(struct ending *e)
{
	size_t own = e->count;

	e->inside = true;
	for (int i = 0; i < MAX_DEPTH && add_inside(e); i++)
		;
	if (e->count > own)
		visit_all(e);
}

/* --- another's lease ----------------------------------------------------------------------- */

/* Which of the units the lease has, and the files of its parts. It may have ended by now, and
 * others may have the GPUs. */
static int find_leased(struct ending *e, bool *leased)
{
	struct lease_walk walk;
	int64_t owner;

	for (size_t g = 0; g < e->inventory->count; g++)
		leased[g] = e->gpus[g] &&
			    lease_held(&e->folder, &e->inventory->gpus[g], &owner) == LEASE_HELD &&
			    owner == e->owner;
	walk = lease_walk(&e->folder, NULL);
	while (lease_next(&walk)) {
		size_t g = lease_named(e->inventory, walk.unit);

		if (g == e->inventory->count || !e->gpus[g] ||
		    lease_locker(&e->folder, walk.fd) != e->owner)
			continue;
		leased[g] = true;
		add_file(e, fcntl(walk.fd, F_DUPFD_CLOEXEC, 0), walk.slots != 1);
		if (walk.slots != 1)
			e->outer = -1;
	}
	return walk.code;
}

static enum revoke_failure failure_of(const struct ending *e)
{
	return e->why == ENOSYS                        ? REVOKE_NO_CALL
	       : e->why == EPERM || e->why == EACCES   ? REVOKE_REFUSED
	       : e->why || container_hides_processes() ? REVOKE_NOT_VISIBLE
						       : REVOKE_UNOPENED;
}

/* GPUMAP_EFILE without a report: the folder cannot be listed. */
static int revoke_all(struct ending *e, bool *leased, enum revoke_failure *ret)
{
	int code = find_leased(e, leased);
	bool failed = false;

	for (size_t g = 0; g < e->inventory->count; g++) {
		ret[g] = leased[g] ? REVOKE_DONE : REVOKE_NOT_LEASED;
		if (!leased[g])
			continue;
		add_file(e, lease_vendor(&e->folder, &e->inventory->gpus[g]), false);
		add_file(e,
			 lease_file(&e->folder, LEASE_NAME(e->inventory->gpus[g].gpu), O_RDONLY,
				    false),
			 false);
	}
	if (code == GPUMAP_OK) {
		visit_all(e);
		code = find_leased(e, leased);
	}
	for (size_t g = 0; g < e->inventory->count; g++) {
		if (ret[g] == REVOKE_DONE && leased[g]) {
			ret[g] = failure_of(e);
			failed = true;
		}
		leased[g] = ret[g] == REVOKE_DONE;
	}
	e->gpus = leased;
	if (code == GPUMAP_OK && !failed)
		end_inside(e);
	return code == GPUMAP_OK && e->nomem ? GPUMAP_ENOMEM : code;
}

int lease_revoke(enum revoke_failure *ret, const gpumap_claim *claim,
		 const gpumap_inventory *inventory, const bool *gpus, int64_t owner,
		 gpumap_report *report)
{
	struct ending e = {.inventory = inventory, .gpus = gpus, .owner = owner};
	CLEANUP_FREE bool *leased = xcalloc(inventory->count + 1, sizeof(*leased));
	CLEANUP_CLOSE int gate = -1;
	int code;

	if (!leased)
		return report_nomem(report);
	code = lease_folder_open(&e.folder, claim->folder, claim->sysfs, false, report);
	if (code != GPUMAP_OK)
		return code;
	if (e.folder.fd >= 0)
		code = lease_gate(&gate, &e.folder, report);
	if (code == GPUMAP_OK && (code = revoke_all(&e, leased, ret)) == GPUMAP_EFILE)
		report_add(report, FINDING_FILE_ACCESS, ABOUT(.origin = e.folder.path),
			   "the folder of leases cannot be listed: %s", strerror(errno));
	close_files(&e);
	lease_folder_close(&e.folder);
	return code == GPUMAP_ENOMEM ? report_nomem(report) : code;
}

/* --- one's own ------------------------------------------------------------------------------ */

/* Where the lease is: how many leases it is inside, and the number of the one around it. */
static void find_place(struct ending *e, const gpumap_lease *lease, bool parts)
{
	struct lease_file_name read;

	lease_name_read(&read, FORMAT("%s" LEASE_GPU, lease->prefix));
	e->level = read.level;
	e->outer = parts ? -1 : read.outer;
}

/* Marks in `gpus` those that the lease has. Returns whether it has parts of GPUs. */
static bool find_own(struct ending *e, const gpumap_lease *lease, bool *gpus)
{
	bool parts = false;

	for (size_t i = 0; i < lease->count; i++) {
		const struct lease_locks *locks = &lease->locks[i];

		gpus[lease->gpus[i]] = lease_has_lock(locks);
		if (!locks->part || !gpus[lease->gpus[i]])
			continue;
		parts = true;
		add_file(e, fcntl(locks->own, F_DUPFD_CLOEXEC, 0), true);
	}
	e->gpus = gpus;
	return parts;
}

void lease_let_go(const gpumap_lease *lease)
{
	struct ending e = {.inventory = lease->inventory, .folder = NO_FOLDER};
	CLEANUP_FREE bool *gpus = xcalloc(lease->inventory->count + 1, sizeof(*gpus));
	CLEANUP_CLOSE int gate = -1;
	struct lease_walk walk;
	bool parts = false;
	int fd;

	if (lease->folder)
		lease_folder_open(&e.folder, lease->folder, NULL, false, NULL);
	memcpy(e.folder.prefix, lease->prefix, sizeof(e.folder.prefix));
	/* If a process keeps the gate, no one else takes a lease. */
	lease_gate(&gate, &e.folder, NULL);
	*e.folder.prefix = '\0'; /* all levels */
	if (gpus)
		parts = find_own(&e, lease, gpus);
	find_place(&e, lease, parts);
	for (size_t i = 0; (fd = gpumap_lease_descriptor(lease, i)) >= 0; i++)
		flock(fd, LOCK_UN);
	if (gpus)
		end_inside(&e);
	/* Its files go, which wakes those who wait. */
	memcpy(e.folder.prefix, lease->prefix, sizeof(e.folder.prefix));
	walk = lease_walk(&e.folder, NULL);
	while (lease_next(&walk))
		;
	close_files(&e);
	lease_folder_close(&e.folder);
}
