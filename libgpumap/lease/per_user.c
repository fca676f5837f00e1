/* SPDX-License-Identifier: MIT */
/*
 * A user's GPUs are those whose locks the user's processes took, as the kernel shows them. A job
 * that does not fit into what is left of the limit waits, and so do later ones of that user: they
 * would take what it waits for.
 */
#include "lease/per_user.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inventory/inventory.h"
#include "lease/holders.h"
#include "closing.h"
#include "process_path.h"
#include "process_stat.h"
#include "report/report.h"
#include "strbuf.h"

struct user {
	int64_t uid;
	size_t held, left, waiting;
};

struct count {
	const struct lease_folder *folder;
	const gpumap_inventory *units;
	size_t limit;
	struct user *users;
	size_t user_count, room;
	int64_t *pids; /* processes of this user; NULL: not listed yet */
	size_t pid_count, pid_room;
	bool nomem;
};

/* --- whose lease it is -------------------------------------------------------------------- */

/* The files that a lease has locked: its slot or instance, or those of the GPU. */
struct lock_files {
	struct stat list[2];
	size_t count;
};

/* Closes the descriptor; -1: there is no such file. */
static void add_file(struct lock_files *files, int fd)
{
	if (fd < 0)
		return;
	files->count += fstat(fd, &files->list[files->count]) == 0;
	close(fd);
}

/* `fd` has the slot or instance open; -1: it is a whole GPU. */
static struct lock_files find_files(const struct count *c, size_t unit, int fd)
{
	const gpumap_device *gpu = &c->units->gpus[unit];
	struct lock_files files = {.count = 0};

	add_file(&files, fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0)
				 : lease_file(c->folder, LEASE_NAME(gpu), O_RDONLY, false));
	if (fd < 0)
		add_file(&files, lease_vendor(c->folder, gpu));
	return files;
}

static bool has_lock(struct count *c, int64_t pid, const struct lock_files *files, bool hidden)
{
	return lease_holds(pid, files->list, files->count, hidden, &c->nomem);
}

static void list_own(struct count *c)
{
	CLEANUP_FOLDER DIR *proc = opendir("/proc");
	pid_t pid;

	c->nomem = c->nomem || (!proc && errno == ENOMEM);
	while (!c->nomem && (pid = process_next(proc))) {
		if (process_effective_user(pid) != (int64_t)geteuid())
			continue;
		c->nomem = !ARRAY_ROOM(c->pids, c->pid_count, c->pid_room);
		if (!c->nomem)
			c->pids[c->pid_count++] = pid;
	}
}

/* Whether a process of this user holds the lease. Those of other users cannot be seen. */
static bool is_own(struct count *c, const struct lock_files *files)
{
	if (!c->pids)
		list_own(c);
	for (size_t i = 0; i < c->pid_count; i++)
		if (has_lock(c, c->pids[i], files, false))
			return true;
	return false;
}

/* -1: it cannot be seen. The process that took the lease may have ended, and a later one may have
 * its number. */
static int64_t user_of(struct count *c, size_t unit, int64_t pid, int fd)
{
	const int64_t own = geteuid();
	struct process_stat stat;
	struct lock_files files;
	int64_t user = -1;
	struct stat file;

	if (fd >= 0 && fstat(fd, &file) == 0)
		user = (int64_t)file.st_uid;
	if (user >= 0 && user != own)
		return user;
	if (user < 0 && pid > 0 && process_stat_read(&stat, (pid_t)pid) && !stat.dead)
		user = process_effective_user((pid_t)pid);
	files = find_files(c, unit, fd);
	if (user == own && has_lock(c, pid, &files, true))
		return own;
	return is_own(c, &files) ? own : user == own ? -1 : user;
}

/* --- counting ----------------------------------------------------------------------------- */

/* NULL without memory. */
static struct user *find_user(struct count *c, int64_t uid)
{
	for (size_t i = 0; i < c->user_count; i++)
		if (c->users[i].uid == uid)
			return &c->users[i];
	if (!ARRAY_ROOM(c->users, c->user_count, c->room)) {
		c->nomem = true;
		return NULL;
	}
	c->users[c->user_count] = (struct user){.uid = uid, .left = c->limit};
	return &c->users[c->user_count++];
}

static void add(size_t unit, size_t slots, int64_t pid, int fd, void *data)
{
	struct count *c = data;
	struct user *user = find_user(c, user_of(c, unit, pid, fd));

	if (!user)
		return;
	user->held++;
	user->left -= user->left > 0;
}

/* Gives a job of `uid` what it asks for from what is left to the user. False: it has to wait for
 * other jobs of its user. */
static bool give(struct count *c, int64_t uid, size_t count)
{
	struct user *user = uid > 0 ? find_user(c, uid) : NULL;
	bool fits = !user || count <= user->left;

	if (user)
		user->left = fits ? user->left - count : 0;
	return fits;
}

static void share_of(struct user_share *ret, struct count *c, size_t count)
{
	struct user *user = find_user(c, geteuid());

	if (!user)
		return;
	ret->held = user->held;
	ret->waiting = user->waiting;
	ret->full = !give(c, geteuid(), count);
}

int per_user_look(struct user_share *ret, struct wishes *wishes, size_t count,
		  const struct lease_settings *settings, const struct lease_folder *folder,
		  const gpumap_inventory *units, const struct lease_sight *sights)
{
	struct count c = {.folder = folder, .units = units, .limit = settings->gpus_per_user};
	int r;

	*ret = (struct user_share){0};
	if (!c.limit || folder->inside || (!wishes && geteuid() == 0))
		return GPUMAP_OK;
	r = lease_held_each(folder, units, sights, add, &c);
	for (size_t i = 0; r == GPUMAP_OK && wishes && i < wishes->count; i++) {
		struct user *user;

		if (!give(&c, wishes->tickets[i].user, wishes->list[i].count))
			wishes_drop(wishes, i, units->count);
		user = find_user(&c, wishes->tickets[i].user);
		if (user)
			user->waiting++;
	}
	if (r == GPUMAP_OK && geteuid() != 0)
		share_of(ret, &c, count);
	free(c.users);
	free(c.pids);
	return c.nomem ? GPUMAP_ENOMEM : r;
}

/* --- what is said ------------------------------------------------------------------------- */

static bool applies(const struct lease_settings *settings)
{
	return settings->gpus_per_user && geteuid() != 0;
}

size_t per_user_left(const struct user_share *share, const struct lease_settings *settings)
{
	if (!applies(settings))
		return SIZE_MAX;
	return settings->gpus_per_user > share->held ? settings->gpus_per_user - share->held : 0;
}

int per_user_check(const struct lease_settings *settings, size_t count, const char *what,
		   const struct about *about, gpumap_report *report)
{
	if (!applies(settings) || count <= settings->gpus_per_user)
		return GPUMAP_OK;
	return report_fail(report, GPUMAP_EINPUT, FINDING_LEASE_USER_LIMIT, about,
			   "%s, and a user may lease at most %zu (%s)", what,
			   settings->gpus_per_user,
			   SETTING_PLACE(settings, PKEY_LEASES_gpus_per_user));
}

void per_user_tell(struct strbuf *text, const struct user_share *share,
		   const struct lease_settings *settings)
{
	strbuf_printf(text, "you have leased %zu of at most %zu GPU%s (%s)", share->held,
		      settings->gpus_per_user, settings->gpus_per_user == 1 ? "" : "s",
		      SETTING_PLACE(settings, PKEY_LEASES_gpus_per_user));
	if (share->waiting)
		strbuf_printf(text, ", and %zu of your jobs wait%s before this one", share->waiting,
			      share->waiting == 1 ? "s" : "");
}
