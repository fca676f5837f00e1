/* SPDX-License-Identifier: MIT */
/* See log.h. */
#include "lease/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "inventory/inventory.h"
#include "lease/units.h"
#include "memory.h"
#include "process_path.h"
#include "strbuf.h"
#include "trust.h"
#include "write_all.h"

/* --- the file ----------------------------------------------------------------------------- */

/* The log is made by the administrator: this process follows no link of others, and writes into no
 * file of theirs. -1 with errno. */
static int open_log(const char *path)
{
	struct stat st;
	int fd = open_unplanted(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
				false);

	if (fd < 0 ||
	    (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 && owner_trusted(&st)))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

static int append(const char *path, const char *text)
{
	int fd = open_log(path), error = 0;
	size_t length = strlen(text);

	if (fd < 0)
		return errno;
	errno = ENOSPC;
	if (write(fd, text, length) != (ssize_t)length)
		error = errno;
	close(fd);
	return error;
}

/* 0, or an errno. `subject` is "USER PID GPUS". */
static int write_line(const char *path, const char *event, const char *subject)
{
	struct strbuf line = {0};
	time_t now = time(NULL);
	struct tm utc = {.tm_year = 0};
	char stamp[32], *text;
	int error;

	gmtime_r(&now, &utc);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &utc);
	strbuf_printf(&line, "%s %s %s\n", stamp, event, subject);
	text = strbuf_take(&line);
	error = text ? append(path, text) : ENOMEM;
	free(text);
	return error;
}

/* --- its lines ---------------------------------------------------------------------------- */

/* "jo", or "1000" without a name. A name with a blank would be two columns. False without memory.
 */
static bool put_user(struct strbuf *text, int64_t pid)
{
	gpumap_process process = process_of(pid), *list[] = {&process};
	bool good = processes_describe(list, 1);
	const char *name = good ? gpumap_process_str(&process, GPUMAP_PROCESS_USER) : NULL;
	int64_t uid = good ? gpumap_process_int(&process, GPUMAP_PROCESS_UID) : -1;

	for (const char *p = name; name && p && *p; p++)
		name = (unsigned char)*p <= ' ' ? NULL : name;
	if (name && *name)
		strbuf_puts(text, name);
	else if (uid >= 0)
		strbuf_printf(text, "%lld", (long long)uid);
	else
		strbuf_puts(text, "-");
	process_clear(&process);
	return good;
}

/* "0", "0/4" for a slot, "0:1" for a MIG instance. */
static void put_unit(struct strbuf *text, const gpumap_device *unit, size_t slots, bool first)
{
	strbuf_printf(text, "%s%d", first ? "" : ",", unit->physical);
	if (is_instance(unit))
		strbuf_printf(text, ":%d", unit->mig_position);
	else if (slots > 1)
		strbuf_printf(text, "/%zu", slots);
}

/* NULL without memory. */
static char *subject_of(const gpumap_inventory *units, const bool *gpus, size_t slots, int64_t pid)
{
	struct strbuf text = {0};
	bool good = put_user(&text, pid), first = true;
	char *subject;

	if (pid > 0)
		strbuf_printf(&text, " %lld ", (long long)pid);
	else
		strbuf_puts(&text, " - ");
	for (size_t g = 0; g < units->count; g++) {
		if (!gpus[g])
			continue;
		put_unit(&text, &units->gpus[g], slots, first);
		first = false;
	}
	subject = strbuf_take(&text);
	if (good)
		return subject;
	free(subject);
	return NULL;
}

static char *subject_of_lease(const gpumap_lease *lease, size_t slots, int64_t pid)
{
	bool *gpus = xcalloc(lease->inventory->count + 1, sizeof(*gpus));
	char *subject = NULL;

	for (size_t i = 0; gpus && i < lease->count; i++)
		gpus[lease->gpus[i]] = true;
	if (gpus)
		subject = subject_of(lease->inventory, gpus, slots, pid);
	free(gpus);
	return subject;
}

int lease_log_taken(gpumap_lease *lease, const struct lease_settings *settings, size_t slots,
		    gpumap_report *report)
{
	char place[SETTING_PLACE];
	int error;

	if (!settings->log)
		return GPUMAP_OK;
	lease->owner = getpid();
	lease->log = xstrdup(settings->log);
	lease->log_subject = subject_of_lease(lease, slots, lease->owner);
	if (!lease->log || !lease->log_subject)
		return report_nomem(report);
	error = write_line(lease->log, LOG_TAKEN, lease->log_subject);
	if (error)
		report_add(report, FINDING_LEASE_LOG,
			   ABOUT(.origin = lease_setting_place(place, settings, PKEY_LEASES_log),
				 .fix = "make it a regular file of root that users may write to"),
			   "the log of leases '%s' cannot be written: %s",
			   QUOTE(span_of(lease->log)), strerror(error));
	return error == ENOMEM ? report_nomem(report) : GPUMAP_OK;
}

void lease_log_end(const gpumap_lease *lease, const char *event)
{
	if (lease->log && lease->log_subject)
		write_line(lease->log, event, lease->log_subject);
}

void lease_log_revoked(const struct lease_settings *settings, const gpumap_inventory *units,
		       const bool *gpus, size_t slots, int64_t owner)
{
	CLEANUP_FREE char *subject = settings->log ? subject_of(units, gpus, slots, owner) : NULL;

	if (subject)
		write_line(settings->log, LOG_REVOKED, subject);
}

/* --- the end of a lease that is closed ---------------------------------------------------- */

static int lock_of(const struct lease_locks *locks)
{
	return locks->own;
}

/* The same file once more: a copy of the descriptor would keep the lock. A lease that was revoked
 * has ended before. */
int lease_log_before_close(const gpumap_lease *lease)
{
	if (!lease->log || !lease->count || !lease_has_lock(&lease->locks[0]))
		return -1;
	return open(PROCESS_PATH(PROCESS_SELF, "fd/%d", lock_of(&lease->locks[0])),
		    O_RDONLY | O_CLOEXEC);
}

void lease_log_after_close(const gpumap_lease *lease, int watch)
{
	if (watch < 0)
		return;
	if (lease->ends_here || lease_locker(NULL, watch) != lease->owner)
		lease_log_end(lease, LOG_ENDED);
	close(watch);
}

void lease_log_see_to_end(gpumap_lease *lease)
{
	if (lease)
		lease->ends_here = true;
}

void lease_log_leave_end(gpumap_lease *lease)
{
	free(lease->log);
	lease->log = NULL;
}
