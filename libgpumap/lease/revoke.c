/* SPDX-License-Identifier: MIT */
/* A lock of flock(2) belongs to an open file, which processes share by inheriting it. So it can be
 * unlocked through a copy of any of their descriptors. */
#include "lease/revoke.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inventory/inventory.h"
#include "lease/claim.h"
#include "process_handle.h"
#include "process_path.h"
#include "readfile.h"
#include "report.h"

#ifndef SYS_pidfd_getfd /* in headers older than the kernel; all machines have this number */
#define SYS_pidfd_getfd 438
#endif

enum { GATE_MS = 10000 };

/* A file of the marked GPUs that leases lock. */
struct locked_file {
	int fd; /* open, so that its number is no other file's */
	dev_t dev;
	ino_t ino;
	int level; /* of the lease; 0: it is not inside another */
};

struct revoking {
	const gpumap_inventory *inventory;
	const bool *gpus;
	int64_t slots_of; /* a process whose slots are revoked; -1: whole GPUs are */
	int level;        /* of the leases */
	int64_t outer;    /* the number of the lease of slots that they are inside; 0: none */
	bool inside;      /* only what is inside the leases */
	struct lease_folder folder;
	struct locked_file *files;
	size_t count, room;
	bool nomem;
	int why; /* errno of the last descriptor that could not be had; 0 */
};

/* --- the files ----------------------------------------------------------------------------- */

static void add_file(struct revoking *r, int fd, int level)
{
	struct locked_file *files;
	struct stat st;

	if (fd < 0)
		return;
	files = array_room(r->files, r->count, &r->room, sizeof(*files));
	r->nomem = r->nomem || !files;
	if (files)
		r->files = files;
	if (files && fstat(fd, &st) == 0)
		files[r->count++] = (struct locked_file){fd, st.st_dev, st.st_ino, level};
	else
		close(fd);
}

static bool is_marked(const struct revoking *r, struct span name)
{
	char own[LEASE_NAME];

	for (size_t g = 0; g < r->inventory->count; g++) {
		lease_name(own, &r->inventory->gpus[g]);
		if (r->gpus[g] && span_is(name, own))
			return true;
	}
	return false;
}

/* Whether it is a file of the leases, or of one inside them. */
static bool is_concerned(const struct revoking *r, const struct lease_file_name *name)
{
	return name->level >= r->level && is_marked(r, name->gpu) &&
	       (!r->outer || r->slots_of >= 0 || name->outer == r->outer);
}

static int open_files(struct revoking *r)
{
	DIR *dir = r->folder.fd >= 0 ? lease_folder_list(&r->folder) : NULL;
	struct lease_file_name name;
	struct dirent *entry;

	if (!dir && r->folder.fd >= 0)
		return errno == ENOMEM ? GPUMAP_ENOMEM : GPUMAP_EFILE;
	for (size_t g = 0; g < r->inventory->count; g++)
		if (r->gpus[g])
			add_file(r, lease_vendor(&r->folder, &r->inventory->gpus[g]), 0);
	while (dir && (entry = readdir(dir)))
		if (lease_name_read(&name, entry->d_name) && is_concerned(r, &name))
			add_file(r, lease_file(&r->folder, entry->d_name, O_RDONLY, false),
				 name.level);
	if (dir)
		closedir(dir);
	return r->nomem ? GPUMAP_ENOMEM : GPUMAP_OK;
}

static void close_files(struct revoking *r)
{
	for (size_t i = 0; i < r->count; i++)
		close(r->files[i].fd);
	free(r->files);
}

static const struct locked_file *find_file(const struct revoking *r, const struct stat *st)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->files[i].dev == st->st_dev && r->files[i].ino == st->st_ino)
			return &r->files[i];
	return NULL;
}

/* --- the processes ------------------------------------------------------------------------- */

/* The number may mean another file by now; unlocking that would do harm. */
static void unlock_there(struct revoking *r, int pidfd, int number)
{
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
	struct stat st;

	if (fd < 0) {
		r->why = errno;
		return;
	}
	if (fstat(fd, &st) == 0 && find_file(r, &st))
		flock(fd, LOCK_UN);
	close(fd);
}

/* Whether the descriptor is one of the lease. Others have slots of the GPU too: theirs were taken
 * by another process. */
static bool is_of_lease(const struct revoking *r, pid_t pid, const char *fd)
{
	CLEANUP_FREE char *info = lease_fdinfo(pid, fd);
	bool exclusive;
	int64_t taker;

	return info && lease_lock_in(&exclusive, &taker, info) && taker == r->slots_of;
}

/* One process, and what is unlocked there. */
struct visit {
	struct revoking *r;
	pid_t pid;
	int pidfd;    /* -1: not open yet */
	bool in_slot; /* it has the lease itself, so what it has inside a lease is inside that one
		       */
};

static bool is_revoked(struct visit *v, const struct locked_file *file, const char *fd)
{
	bool inside = file->level > v->r->level;

	if (v->r->slots_of < 0)
		return inside || !v->r->inside;
	if (inside)
		return v->r->inside && v->in_slot;
	if (!is_of_lease(v->r, v->pid, fd))
		return false;
	v->in_slot = true;
	return !v->r->inside;
}

static void look_at(struct visit *v, int folder, const char *fd)
{
	int64_t number = span_number(span_of(fd), INT32_MAX);
	const struct locked_file *file;
	struct stat st;

	if (number < 0 || fstatat(folder, fd, &st, 0) < 0)
		return;
	file = find_file(v->r, &st);
	if (!file || !is_revoked(v, file, fd))
		return;
	if (v->pidfd < 0)
		v->pidfd = process_pidfd(v->pid);
	if (v->pidfd >= 0)
		unlock_there(v->r, v->pidfd, (int)number);
	else
		v->r->why = errno;
}

static void visit(struct revoking *r, pid_t pid)
{
	struct visit v = {.r = r, .pid = pid, .pidfd = -1};
	DIR *dir = opendir(PROCESS_PATH(pid, "fd"));
	struct dirent *entry;

	if (!dir && errno != ENOENT && errno != ESRCH)
		r->why = errno;
	/* Twice: what is inside counts once the process is known to have the lease. */
	for (int i = 0; dir && i < (r->inside ? 2 : 1); i++) {
		rewinddir(dir);
		while ((entry = readdir(dir)))
			look_at(&v, dirfd(dir), entry->d_name);
	}
	if (v.pidfd >= 0)
		close(v.pidfd);
	if (dir)
		closedir(dir);
}

static void visit_all(struct revoking *r)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int64_t pid = span_number(span_of(entry->d_name), INT32_MAX);

		if (pid > 0 && pid != getpid())
			visit(r, (pid_t)pid);
	}
	if (dir)
		closedir(dir);
}

/* Closing a bell wakes those who wait at its level. */
static void ring(const struct lease_folder *folder)
{
	DIR *dir = folder->fd >= 0 ? lease_folder_list(folder) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int bell = -1;

		const char *end = strrchr(entry->d_name, '-');

		if (streq(entry->d_name, LEASE_BELL) ||
		    (starts_with(entry->d_name, LEASE_NESTED) && streq(end + 1, LEASE_BELL)))
			bell = lease_file(folder, entry->d_name, O_WRONLY, false);
		if (bell >= 0)
			close(bell);
	}
	if (dir)
		closedir(dir);
}

/* --- the leases ---------------------------------------------------------------------------- */

struct found {
	const struct revoking *r;
	bool *leased; /* of each GPU */
};

static void find_slot(struct span gpu, size_t slots, int fd, void *data)
{
	const struct found *found = data;
	char name[LEASE_NAME];

	(void)slots;
	if (lease_locker(fd) != found->r->slots_of)
		return;
	for (size_t g = 0; g < found->r->inventory->count; g++) {
		lease_name(name, &found->r->inventory->gpus[g]);
		found->leased[g] = found->leased[g] || span_is(gpu, name);
	}
}

/* Which of the GPUs are leased so. */
static int find_leased(const struct revoking *r, bool *leased)
{
	struct found found = {r, leased};
	int64_t holder;

	memset(leased, 0, r->inventory->count * sizeof(*leased));
	if (r->slots_of >= 0)
		return lease_slots_each(&r->folder, find_slot, &found);
	for (size_t g = 0; g < r->inventory->count; g++)
		leased[g] = r->gpus[g] &&
			    lease_held(&r->folder, &r->inventory->gpus[g], &holder) == LEASE_HELD;
	return GPUMAP_OK;
}

static enum revoke_failure failure_of(const struct revoking *r)
{
	return r->why == ENOSYS                      ? REVOKE_NO_CALL
	       : r->why == EPERM || r->why == EACCES ? REVOKE_REFUSED
						     : REVOKE_NOT_VISIBLE;
}

/* GPUMAP_EFILE without a report: the folder cannot be listed. */
static int revoke_all(struct revoking *r, bool *leased, enum revoke_failure *ret)
{
	int code = find_leased(r, leased);

	for (size_t g = 0; g < r->inventory->count; g++)
		ret[g] = r->gpus[g] && leased[g] ? REVOKE_DONE : REVOKE_NOT_LEASED;
	if (code == GPUMAP_OK)
		code = open_files(r);
	/* What is inside first, while the locks of the slots show where they are. */
	r->inside = true;
	if (code == GPUMAP_OK && r->slots_of >= 0)
		visit_all(r);
	r->inside = false;
	if (code == GPUMAP_OK)
		visit_all(r);
	close_files(r);
	if (code == GPUMAP_OK)
		code = find_leased(r, leased);
	for (size_t g = 0; g < r->inventory->count; g++)
		if (ret[g] == REVOKE_DONE && leased[g])
			ret[g] = failure_of(r);
	ring(&r->folder);
	return code;
}

int lease_revoke(enum revoke_failure *ret, const gpumap_claim *claim,
		 const gpumap_inventory *inventory, const bool *gpus, int64_t slots_of,
		 gpumap_report *report)
{
	struct revoking r = {.inventory = inventory, .gpus = gpus, .slots_of = slots_of};
	bool *leased = calloc(inventory->count + 1, sizeof(*leased));
	int gate = -1, code;

	if (!leased)
		return report_nomem(report);
	code = lease_folder_open(&r.folder, claim->folder, claim->sysfs, false, report);
	if (code != GPUMAP_OK) {
		free(leased);
		return code;
	}
	/* No one takes a lease meanwhile, whose locks would be taken away too. */
	if (r.folder.fd >= 0)
		code = lease_gate(&gate, &r.folder, GATE_MS, report);
	if (code == GPUMAP_OK && (code = revoke_all(&r, leased, ret)) == GPUMAP_EFILE)
		report_add(report, FINDING_FILE_ACCESS, ABOUT(.origin = r.folder.path),
			   "the folder of leases cannot be listed: %s", strerror(errno));
	if (gate >= 0)
		close(gate);
	lease_folder_close(&r.folder);
	free(leased);
	return code == GPUMAP_ENOMEM ? report_nomem(report) : code;
}

/* Where the lease is, by the path of its bell: "/run/lock/gpumap/sub-1-bell". */
static bool find_place(struct revoking *r, const gpumap_lease *lease)
{
	char path[PATH_MAX], name[LEASE_NAME], *bell;
	struct lease_file_name read;

	if (!read_link(path, sizeof(path), PROCESS_PATH(PROCESS_SELF, "fd/%d", lease->bell)))
		return false;
	bell = strrchr(path, '/');
	if (!bell || strlen(bell + 1) < strlen(LEASE_BELL))
		return false;
	*bell++ = '\0';
	/* The file of a GPU has the same prefix. */
	snprintf(name, sizeof(name), "%.*s" LEASE_GPU, (int)(strlen(bell) - strlen(LEASE_BELL)),
		 bell);
	if (!lease_name_read(&read, name))
		return false;
	r->level = read.level;
	r->outer = read.outer;
	return lease_folder_open(&r->folder, path, NULL, false, NULL) == GPUMAP_OK;
}

/* Jobs inside the lease lose theirs, which would keep those of a later lease away. */
static void let_go_inside(const gpumap_lease *lease)
{
	struct revoking r = {.inventory = lease->inventory, .slots_of = -1, .inside = true};
	bool *gpus = calloc(lease->inventory->count + 1, sizeof(*gpus));

	if (!gpus || !find_place(&r, lease)) {
		free(gpus);
		return;
	}
	r.gpus = gpus;
	for (size_t i = 0; i < lease->count; i++) {
		gpus[lease->gpus[i]] = true;
		if (lease->locks[i].slot >= 0)
			r.slots_of = lease_locker(lease->locks[i].slot);
	}
	if (open_files(&r) == GPUMAP_OK)
		visit_all(&r);
	close_files(&r);
	lease_folder_close(&r.folder);
	free(gpus);
}

void lease_let_go(const gpumap_lease *lease)
{
	int fd;

	if (lease && lease->bell >= 0)
		let_go_inside(lease);
	for (size_t i = 0; (fd = gpumap_lease_descriptor(lease, i)) >= 0; i++)
		flock(fd, LOCK_UN);
	/* The bell may be open in other processes, so it is opened once more to be closed. */
	if (!lease || lease->bell < 0)
		return;
	fd = open(PROCESS_PATH(PROCESS_SELF, "fd/%d", lease->bell), O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
}
