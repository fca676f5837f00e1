/* SPDX-License-Identifier: MIT */
/* A lock of flock(2) belongs to an open file, which processes share by inheriting it. So it can be
 * unlocked through a copy of any of their descriptors. */
#include "lease/revoke.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inventory/inventory.h"
#include "lease/claim.h"
#include "process_handle.h"
#include "report.h"

#ifndef SYS_pidfd_getfd /* in headers older than the kernel; all machines have this number */
#define SYS_pidfd_getfd 438
#endif

enum { GATE_MS = 10000 };

/* A file with a lock; fd -1: there is no such file. */
struct locked_file {
	int fd;
	dev_t dev;
	ino_t ino;
};

struct revoking {
	const gpumap_inventory *inventory;
	const bool *gpus;
	struct lease_folder folder;
	struct locked_file *files; /* two for each GPU */
	int why;                   /* errno of the last descriptor that could not be had; 0 */
};

static void open_file(struct locked_file *ret, int fd)
{
	struct stat st;

	*ret = (struct locked_file){.fd = fd};
	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0) {
		close(fd);
		ret->fd = -1;
		return;
	}
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
}

static void open_files(const struct revoking *r)
{
	char name[LEASE_NAME];

	for (size_t g = 0; g < r->inventory->count; g++) {
		const gpumap_device *gpu = &r->inventory->gpus[g];

		r->files[2 * g].fd = r->files[2 * g + 1].fd = -1;
		if (!r->gpus[g])
			continue;
		lease_name(name, gpu);
		open_file(&r->files[2 * g], lease_vendor(&r->folder, gpu));
		open_file(&r->files[2 * g + 1], lease_file(&r->folder, name, O_RDONLY, false));
	}
}

static bool is_ours(const struct revoking *r, const struct stat *st)
{
	for (size_t i = 0; i < 2 * r->inventory->count; i++)
		if (r->files[i].fd >= 0 && r->files[i].dev == st->st_dev &&
		    r->files[i].ino == st->st_ino)
			return true;
	return false;
}

/* The number may mean another file by now; unlocking that would do harm. */
static void unlock_there(struct revoking *r, int pidfd, int number)
{
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
	struct stat st;

	if (fd < 0) {
		r->why = errno;
		return;
	}
	if (fstat(fd, &st) == 0 && is_ours(r, &st))
		flock(fd, LOCK_UN);
	close(fd);
}

static void visit(struct revoking *r, pid_t pid)
{
	struct dirent *entry;
	int pidfd = -1;
	char path[48];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir && errno != ENOENT && errno != ESRCH)
		r->why = errno;
	while (dir && (entry = readdir(dir))) {
		int64_t number = span_number(span_of(entry->d_name), INT32_MAX);
		struct stat st;

		if (number < 0 || fstatat(dirfd(dir), entry->d_name, &st, 0) < 0 ||
		    !is_ours(r, &st))
			continue;
		if (pidfd < 0)
			pidfd = process_pidfd(pid);
		if (pidfd >= 0)
			unlock_there(r, pidfd, (int)number);
		else
			r->why = errno;
	}
	if (pidfd >= 0)
		close(pidfd);
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

/* Closing the bell wakes those who wait. */
static void ring(const struct lease_folder *folder)
{
	int bell = lease_file(folder, "bell", O_WRONLY, false);

	if (bell >= 0)
		close(bell);
}

static bool is_leased(const struct revoking *r, size_t g)
{
	int64_t holder;

	return lease_held(&r->folder, &r->inventory->gpus[g], &holder) == LEASE_HELD;
}

static enum revoke_failure failure_of(const struct revoking *r)
{
	return r->why == ENOSYS                      ? REVOKE_NO_CALL
	       : r->why == EPERM || r->why == EACCES ? REVOKE_REFUSED
						     : REVOKE_NOT_VISIBLE;
}

static int revoke_all(struct revoking *r, enum revoke_failure *ret)
{
	bool any = false;

	for (size_t g = 0; g < r->inventory->count; g++) {
		ret[g] = r->gpus[g] && is_leased(r, g) ? REVOKE_DONE : REVOKE_NOT_LEASED;
		any = any || ret[g] == REVOKE_DONE;
	}
	if (!any)
		return GPUMAP_OK;
	r->files = calloc(2 * r->inventory->count + 1, sizeof(*r->files));
	if (!r->files)
		return GPUMAP_ENOMEM;
	open_files(r);
	visit_all(r);
	for (size_t i = 0; i < 2 * r->inventory->count; i++)
		if (r->files[i].fd >= 0)
			close(r->files[i].fd);
	free(r->files);
	for (size_t g = 0; g < r->inventory->count; g++)
		if (ret[g] == REVOKE_DONE && is_leased(r, g))
			ret[g] = failure_of(r);
	ring(&r->folder);
	return GPUMAP_OK;
}

int lease_revoke(enum revoke_failure *ret, const gpumap_claim *claim,
		 const gpumap_inventory *inventory, const bool *gpus, gpumap_report *report)
{
	struct revoking r = {.inventory = inventory, .gpus = gpus};
	int gate = -1,
	    code = lease_folder_open(&r.folder, claim->folder, claim->sysfs, false, report);

	if (code != GPUMAP_OK)
		return code;
	/* No one takes a lease meanwhile, whose locks would be taken away too. */
	if (r.folder.fd >= 0)
		code = lease_gate(&gate, &r.folder, GATE_MS, report);
	if (code == GPUMAP_OK)
		code = revoke_all(&r, ret);
	if (gate >= 0)
		close(gate);
	lease_folder_close(&r.folder);
	return code == GPUMAP_ENOMEM ? report_nomem(report) : code;
}

void lease_let_go(const gpumap_lease *lease)
{
	char path[48];
	int fd;

	for (size_t i = 0; (fd = gpumap_lease_descriptor(lease, i)) >= 0; i++)
		flock(fd, LOCK_UN);
	/* The bell may be open in other processes, so it is opened once more to be closed. */
	if (!lease || lease->bell < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", lease->bell);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
}
