/* SPDX-License-Identifier: MIT */
/* The folder of leases, and locks on its files. */
#include "lease/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "closing.h"
#include "container.h"
#include "inventory/inventory.h"
#include "lease/holders.h"
#include "memory.h"
#include "process_path.h"
#include "readfile.h"
#include "report/report.h"
#include "trust.h"

#define SYSFS "/sys/bus/pci/devices"

enum {
	MAX_LOCKS = 16 << 20,
	MAX_MOUNTS = 16 << 20,
	MAX_INFO = 65536,
	GATE_MS = 10000, /* how long the gate is waited for */
	TRY_MS = 20,
	LOOKS = 3
};

/* --- the folder ---------------------------------------------------------------------- */

/* Others must not be able to replace a file of the folder: it has the sticky bit, or only its
 * owner, root or this user, may write in it. */
static bool is_safe(int fd, int64_t *stranger)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	*stranger = owner_trusted(&st) ? -1 : (int64_t)st.st_uid;
	errno = EPERM;
	return (st.st_mode & S_ISVTX) || (*stranger < 0 && !(st.st_mode & (S_IWGRP | S_IWOTH)));
}

static int open_folder(const char *path, int64_t *stranger)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd >= 0 && !is_safe(fd, stranger))
		close_variable(&fd);
	return fd;
}

/* The umask must not take the mode away. The name may mean another folder by now, and a new one has
 * a mode that others do not have. */
static int make_folder(const char *path, int64_t *stranger)
{
	const mode_t fresh = S_ISVTX | S_IRWXU;
	struct stat st;
	bool made = mkdir(path, fresh) == 0;
	int fd = made || errno == EEXIST ? open_folder(path, stranger) : -1;

	if (fd < 0 || !made || fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
	    (st.st_mode & 01777) != fresh || fchmod(fd, 01777) == 0)
		return fd;
	close(fd);
	return -1;
}

int lease_folder_open(struct lease_folder *ret, const char *path, const char *sysfs, bool make,
		      gpumap_report *report)
{
	struct lease_folder folder = {.fd = -1, .stranger = -1, .sysfs = -1};
	const char *used = path ? path : LEASE_FOLDER;

	folder.fd = open_folder(used, &folder.stranger);
	if (folder.fd < 0 && !path && errno == ENOENT) {
		used = LEASE_OTHER_FOLDER;
		folder.fd = open_folder(used, &folder.stranger);
	}
	if (folder.fd < 0 && errno == ENOENT && make)
		folder.fd = make_folder(used, &folder.stranger);
	if (path) /* who names a folder relies on its owner */
		folder.stranger = -1;
	if (folder.fd < 0 && (make || errno != ENOENT))
		return report_fail(
			report, GPUMAP_EFILE, FINDING_FILE_ACCESS,
			ABOUT(.origin = used, .fix = "make it a folder of root with mode 1777"),
			"the folder of leases cannot be used: %s", strerror(errno));
	folder.path = xstrdup(used);
	if (!folder.path) {
		close_variable(&folder.fd);
		return report_nomem(report);
	}
	folder.sysfs = open(sysfs ? sysfs : SYSFS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*ret = folder;
	return GPUMAP_OK;
}

void lease_folder_close(struct lease_folder *folder)
{
	close_variable(&folder->fd);
	close_variable(&folder->sysfs);
	free(folder->path);
	free(folder->inside);
	free(folder->seen);
	*folder = NO_FOLDER;
}

/* --- its files ------------------------------------------------------------------------- */

/* What is only looked at counts under any name, as others may give it a second one. */
static bool is_plain(int fd, bool looks)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_nlink == 1 || looks);
}

void lease_file_remove(const struct lease_folder *folder, const char *name)
{
	unlinkat(folder->fd, FORMAT("%s%s", folder->prefix, name), 0);
}

int lease_file(const struct lease_folder *folder, const char *suffix, int mode, bool make)
{
	const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	/* What no one has yet is written by its owner alone. */
	const mode_t access = mode & O_EXCL ? 0644 : 0666;
	const char *name = FORMAT("%s%s", folder->prefix, suffix);
	int fd = -1;

	/* No permission is needed to look at what was seen. */
	if (folder->seen)
		mode = O_PATH;
	/* Opened before it is made: in a sticky folder O_CREAT on the file of another user fails
	 * (fs.protected_regular). */
	errno = ENOENT;
	if (folder->fd < 0)
		return -1;
	if (!(mode & O_EXCL))
		fd = openat(folder->fd, name, (mode & ~O_EXCL) | flags);
	if (fd < 0 && errno == ENOENT && make) {
		fd = openat(folder->fd, name, (mode & ~O_EXCL) | flags | O_CREAT | O_EXCL, access);
		/* The umask must not take the mode away. */
		if (fd >= 0 && fchmod(fd, access) < 0) {
			close(fd);
			return -1;
		}
		if (fd < 0 && errno == EEXIST && !(mode & O_EXCL))
			fd = openat(folder->fd, name, mode | flags);
	}
	if (fd >= 0 && !is_plain(fd, mode & O_PATH || (!make && (mode & O_ACCMODE) == O_RDONLY))) {
		close(fd);
		errno = ELOOP;
		return -1;
	}
	return fd;
}

bool lease_try(int fd, bool shared)
{
	int r;

	do {
		r = flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB);
	} while (r < 0 && errno == EINTR);
	return r == 0;
}

/* --- what the kernel shows of locks ---------------------------------------------------------- */

/* A lock of flock(2), as /proc shows it. */
struct lock_line {
	bool exclusive;
	int64_t owner;
	struct span where; /* "08:01:1234" */
};

/* "1: FLOCK  ADVISORY  WRITE 4242 08:01:1234 0 EOF". False: it is another lock. */
static bool read_lock_line(struct lock_line *ret, struct span line)
{
	struct span word = {NULL, 0};
	bool flock_line = false;

	*ret = (struct lock_line){0};
	for (int i = 0; span_split(&line, ' ', &word);) {
		if (!word.length)
			continue;
		flock_line = flock_line || (i == 1 && span_is(word, "FLOCK"));
		if (i == 3)
			ret->exclusive = span_is(word, "WRITE");
		if (i == 4)
			ret->owner = span_number(word, INT32_MAX);
		if (i == 5)
			ret->where = word;
		i++;
	}
	return flock_line;
}

/* The lock at this place; its owner is 0: none that is visible. */
static struct lock_line find_lock(const char *locks, const unsigned int device[2], ino_t inode)
{
	const char *where =
		FORMAT("%02x:%02x:%llu", device[0], device[1], (unsigned long long)inode);
	struct span rest = span_of(locks), line;
	struct lock_line lock;

	while (span_split(&rest, '\n', &line))
		if (read_lock_line(&lock, line) && span_is(lock.where, where) && lock.owner > 0)
			return lock;
	return (struct lock_line){0};
}

/* The number of the mount that a file of this process is in; -1: not known. */
static int64_t mount_of(int fd)
{
	CLEANUP_FREE char *info = lease_own_fdinfo(fd);
	struct span rest = span_of(info ? info : ""), line, word;

	while (span_split(&rest, '\n', &line))
		if (span_split(&line, '\t', &word) && span_is(word, "mnt_id:") && line.text)
			return span_number(line, INT32_MAX);
	return -1;
}

/* The device of the file system that is mounted there: "46 27 0:41 / /tmp ..." */
static bool mounted_device(unsigned int device[2], int64_t mount)
{
	CLEANUP_FREE char *text = NULL;
	struct span rest, line, word;
	size_t size;

	if (read_file(PROCESS_PATH(PROCESS_SELF, "mountinfo"), false, MAX_MOUNTS, &text, &size))
		return false;
	rest = (struct span){text, size};
	while (span_split(&rest, '\n', &line)) {
		span_split(&line, ' ', &word);
		if (span_number(word, INT32_MAX) != mount)
			continue;
		span_split(&line, ' ', &word);
		span_split(&line, ' ', &word);
		span_split(&word, ':', &line);
		device[0] = (unsigned int)span_number(line, INT32_MAX);
		device[1] = (unsigned int)span_number(word, INT32_MAX);
		return true;
	}
	return false;
}

/* On btrfs and overlayfs fstat(2) gives another device than /proc/locks. Files outside of the
 * folder that was seen are those of sysfs. */
static struct lock_line lock_of(const struct lease_folder *seen, const char *locks, int fd)
{
	struct lock_line lock;
	unsigned int device[2];
	struct stat st;
	int64_t mount;

	if (fstat(fd, &st) < 0)
		return (struct lock_line){0};
	device[0] = major(st.st_dev);
	device[1] = minor(st.st_dev);
	lock = find_lock(locks, device, st.st_ino);
	mount = lock.owner ? -1 : mount_of(fd);
	if (mount >= 0 && seen && mount == seen->mount)
		return find_lock(locks, seen->device, st.st_ino);
	return mount < 0 || seen || !mounted_device(device, mount)
		       ? lock
		       : find_lock(locks, device, st.st_ino);
}

static char *read_locks(void)
{
	char *text;
	size_t size;

	return read_file("/proc/locks", false, MAX_LOCKS, &text, &size) ? NULL : text;
}

int64_t lease_locker(const struct lease_folder *folder, int fd)
{
	int64_t owner = 0;

	if (folder->seen)
		return lock_of(folder, folder->seen, fd).owner;
	/* The kernel gives the file piece by piece, and what comes and goes meanwhile moves it. */
	for (int i = 0; i < LOOKS && !owner; i++) {
		CLEANUP_FREE char *locks = i && container_hides_processes() ? NULL : read_locks();

		if (!locks)
			break;
		owner = lock_of(NULL, locks, fd).owner;
	}
	return owner;
}

bool lease_see(struct lease_folder *folder)
{
	if (!folder->seen) {
		folder->mount = folder->fd >= 0 ? mount_of(folder->fd) : -1;
		if (folder->mount >= 0 && !mounted_device(folder->device, folder->mount))
			folder->mount = -1;
	}
	free(folder->seen);
	folder->seen = container_hides_processes() ? NULL : read_locks();
	return folder->seen;
}

bool lease_is_locked(const struct lease_folder *folder, int fd, bool *exclusive)
{
	struct lock_line lock;

	if (folder->seen) {
		lock = lock_of(folder, folder->seen, fd);
		*exclusive = lock.exclusive;
		return lock.owner;
	}
	*exclusive = !lease_try(fd, true);
	return *exclusive || !lease_try(fd, false);
}

char *lease_fdinfo(int64_t pid, const char *fd)
{
	const char *path = PROCESS_PATH(pid, "fdinfo/%s", fd);
	char *text;
	size_t size;
	int error = read_file(path, false, MAX_INFO, &text, &size);

	if (!error)
		return text;
	errno = error;
	return NULL;
}

char *lease_own_fdinfo(int fd)
{
	return lease_fdinfo(PROCESS_SELF, FORMAT("%d", fd));
}

bool lease_lock_in(bool *exclusive, int64_t *owner, const char *info)
{
	struct span rest = span_of(info), line;
	struct lock_line lock;

	while (span_split(&rest, '\n', &line)) {
		if (!span_starts(line, "lock:") || !read_lock_line(&lock, line))
			continue;
		*exclusive = lock.exclusive;
		*owner = lock.owner;
		return true;
	}
	return false;
}

/* --- the gate ------------------------------------------------------------------------------- */

int lease_gate(int *ret, const struct lease_folder *folder, gpumap_report *report)
{
	const struct timespec pause = {0, TRY_MS * 1000000L};
	int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), why = errno;

	for (int64_t waited = 0; fd >= 0; waited += TRY_MS) {
		if (lease_try(fd, false)) {
			*ret = fd;
			return GPUMAP_OK;
		}
		why = errno;
		if (why != EWOULDBLOCK || waited >= GATE_MS)
			break;
		nanosleep(&pause, NULL);
	}
	if (fd >= 0) {
		CLEANUP_FREE char *who =
			process_text(why == EWOULDBLOCK ? lease_locker(folder, fd) : 0);

		close(fd);
		if (!who)
			return report_nomem(report);
		if (why == EWOULDBLOCK)
			return report_fail(report, GPUMAP_EBUSY, FINDING_LEASE_GATE,
					   ABOUT(.origin = folder->path,
						 .fix = "end that process, or continue it if it is "
							"stopped"),
					   "%s has locked the gate of the leases for longer than "
					   "%d s",
					   who, GATE_MS / 1000);
	}
	return report_fail(report, GPUMAP_EFILE, FINDING_FILE_ACCESS, ABOUT(.origin = folder->path),
			   "the gate of the leases cannot be locked: %s", strerror(why));
}
