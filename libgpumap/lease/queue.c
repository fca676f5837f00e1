/* SPDX-License-Identifier: MIT */
/* The queue: a ticket is a file that its job has locked. */
#include "lease/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "closing.h"
#include "memory.h"
#include "process_stat.h"
#include "readfile.h"
#include "report/report.h"
#include "strbuf.h"
#include "write_all.h"

#define TICKET "ticket-"
#define TICKET_NAME(number) FORMAT(TICKET "%020" PRIu64, number)

enum {
	MAX_TICKET = 65536, /* of its text */
	MAX_FILES = 128,    /* of one user, how many are looked at */
	MAX_USERS = 64,     /* that have so many */
	MAX_WAITING = 64    /* jobs of one user */
};

/* --- reading ---------------------------------------------------------------------------- */

static bool set_once(char **member, struct span value)
{
	if (!*member)
		*member = xstrndup(value.text, value.length);
	return *member;
}

/* Names, separated by blanks. False without memory. */
static bool add_names(char **member, struct span value)
{
	char *names;

	if (!*member || !**member) /* all */
		return set_once(member, value);
	if (xasprintf(&names, "%s %.*s", *member, (int)value.length, value.text) < 0)
		return false;
	free(*member);
	*member = names;
	return true;
}

/* "4242 1234567", a process and its start */
static void read_maker(struct lease_ticket *ticket, struct span line)
{
	struct span pid;

	span_split(&line, ' ', &pid);
	ticket->pid = span_number(pid, INT32_MAX);
	ticket->start = line.text ? (uint64_t)span_number(line, INT64_MAX) : 0;
}

/* A line of a ticket: "want 2". What another version wrote is skipped. False without memory. */
static bool read_line(struct lease_ticket *ticket, struct span line)
{
	struct span word;
	int64_t number;

	span_split(&line, ' ', &word);
	if (span_is(word, "near"))
		ticket->terms.near = true;
	if (!line.text)
		return true;
	number = span_number(line, INT64_MAX);
	if (span_is(word, "by"))
		read_maker(ticket, line);
	else if (span_is(word, "want"))
		ticket->count = number > 0 && number <= GPUMAP_MAX_DEVICES ? (size_t)number : 0;
	else if (span_is(word, "free-memory"))
		ticket->terms.max_used = number;
	else if (span_is(word, "min-free"))
		ticket->terms.min_free = number;
	else if (span_is(word, "max-load"))
		ticket->terms.max_load = number <= 100 ? (int)number : -1;
	else if (span_is(word, "slots"))
		ticket->terms.slots = number > 0 && number <= MAX_SLOTS ? (size_t)number : 1;
	else if (span_is(word, "from"))
		return add_names(&ticket->from, line);
	else if (span_is(word, "prefer"))
		return set_once(&ticket->prefer, line);
	else if (span_is(word, "ignore"))
		return set_once(&ticket->terms.ignore, line);
	return true;
}

static void ticket_free(struct lease_ticket *ticket)
{
	free(ticket->from);
	free(ticket->prefer);
	lease_terms_free(&ticket->terms);
}

/* False: it is no wish, or *nomem. */
static bool read_wish(struct lease_ticket *ticket, int fd, bool *nomem)
{
	CLEANUP_FREE char *text = NULL;
	struct span rest, line;
	size_t size;
	int error = read_all(fd, MAX_TICKET, &text, &size);

	*nomem = error == ENOMEM;
	if (error)
		return false;
	rest = (struct span){text, size};
	while (!*nomem && span_split(&rest, '\n', &line))
		*nomem = !read_line(ticket, line);
	*nomem = *nomem || !set_once(&ticket->from, span_of("")) ||
		 !set_once(&ticket->prefer, span_of(""));
	return !*nomem && ticket->count;
}

/* Whether the process that made the ticket still is there, and is one of its user. */
static bool is_maker_there(const struct lease_ticket *ticket, const struct stat *st)
{
	struct process_stat process;
	pid_t pid = (pid_t)ticket->pid;

	return pid > 0 && process_stat_read(&process, pid) && !process.dead &&
	       process.start == ticket->start && process_effective_user(pid) == (int64_t)st->st_uid;
}

/* Others cannot write into it, and the process that has locked it is one of its user, as far as
 * that is visible. For the kernel it takes milliseconds to show locks. */
static bool is_of_user(const struct lease_ticket *ticket, struct lease_folder *seen, int fd,
		       const struct stat *st, bool *nomem)
{
	int64_t pid, user;

	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return false;
	if (is_maker_there(ticket, st))
		return true;
	errno = 0;
	if (!seen->seen)
		lease_see(seen);
	*nomem = errno == ENOMEM;
	pid = lease_locker(seen, fd);
	user = pid > 0 ? process_effective_user((pid_t)pid) : -1;
	return user < 0 || user == (int64_t)st->st_uid;
}

/* A ticket that is not locked is what a job left that was killed. */
static bool read_ticket(struct lease_ticket *ticket, const struct lease_folder *folder,
			struct lease_folder *seen, bool *nomem)
{
	const char *name = TICKET_NAME(ticket->number);
	CLEANUP_CLOSE int fd = lease_file(folder, name, O_RDONLY, false);
	struct stat st;
	bool live;

	if (fd < 0)
		return false;
	live = !lease_try(fd, true);
	if (!live)
		lease_file_remove(folder, name);
	live = live && fstat(fd, &st) == 0 && read_wish(ticket, fd, nomem) &&
	       is_of_user(ticket, seen, fd, &st, nomem);
	if (live)
		ticket->user = (int64_t)st.st_uid;
	return live;
}

/* How many files each user has. */
struct owners {
	struct {
		uid_t uid;
		size_t files;
	} list[MAX_USERS];
	size_t count;
};

/* Whether a file is one of not too many of its owner: any user may leave any number. */
static bool is_looked_at(struct owners *owners, const struct lease_folder *folder, const char *name)
{
	struct stat st;
	size_t i = 0;

	if (fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return false;
	while (i < owners->count && owners->list[i].uid != st.st_uid)
		i++;
	if (i == MAX_USERS)
		return false;
	if (i == owners->count) {
		owners->list[i].uid = st.st_uid;
		owners->list[owners->count++].files = 0;
	}
	/* Root sweeps them all. */
	return geteuid() == 0 || st.st_uid == geteuid() || ++owners->list[i].files <= MAX_FILES;
}

int lease_queue_read(struct lease_ticket **ret, size_t *count, const struct lease_folder *folder,
		     uint64_t before)
{
	CLEANUP_FOLDER DIR *dir = entries_of(folder->fd);
	struct lease_ticket *tickets = NULL;
	size_t n = 0, room = 0;
	struct lease_folder seen = *folder; /* /proc/locks is read once for all */
	struct owners owners = {.count = 0};
	struct dirent *entry;
	bool nomem = false;

	if (folder->fd < 0) {
		*ret = NULL;
		*count = 0;
		return GPUMAP_OK;
	}
	if (!dir)
		return errno == ENOMEM ? GPUMAP_ENOMEM : GPUMAP_EFILE;
	while (!nomem && n < MAX_TICKETS && (entry = readdir(dir))) {
		struct lease_ticket ticket = {
			.number = lease_name_number(folder, TICKET, entry->d_name, '\0'),
			.terms = DEFAULT_TERMS};

		if (!ticket.number || ticket.number >= before ||
		    !is_looked_at(&owners, folder, entry->d_name))
			continue;
		if (!read_ticket(&ticket, folder, &seen, &nomem)) {
			ticket_free(&ticket);
			continue;
		}
		nomem = !ARRAY_ROOM(tickets, n, room);
		if (nomem)
			ticket_free(&ticket);
		else
			tickets[n++] = ticket;
	}
	if (n)
		qsort(tickets, n, sizeof(*tickets), lease_ticket_order);
	if (!nomem)
		lease_passes_count(tickets, n, folder, before == UINT64_MAX, dir);
	free(seen.seen);
	if (nomem) {
		lease_queue_free(tickets, n);
		return GPUMAP_ENOMEM;
	}
	*ret = tickets;
	*count = n;
	return GPUMAP_OK;
}

void lease_queue_free(struct lease_ticket *tickets, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ticket_free(&tickets[i]);
	free(tickets);
}

int64_t lease_queue_process(const struct lease_folder *folder, uint64_t number)
{
	CLEANUP_CLOSE int fd = lease_file(folder, TICKET_NAME(number), O_RDONLY, false);

	return fd < 0 ? 0 : lease_locker(folder, fd);
}

/* --- writing ---------------------------------------------------------------------------- */

static bool write_text(int fd, const char *text)
{
	return write_all(fd, text, strlen(text)) == strlen(text);
}

/* NULL without memory. */
static char *ticket_text(const struct lease_ticket *wish)
{
	struct process_stat process;
	struct strbuf text = {0};

	strbuf_printf(&text, "want %zu\nfrom %s\n", wish->count, wish->from);
	if (process_stat_read(&process, getpid()))
		strbuf_printf(&text, "by %d %" PRIu64 "\n", (int)getpid(), process.start);
	if (wish->terms.max_used >= 0)
		strbuf_printf(&text, "free-memory %" PRId64 "\n", wish->terms.max_used);
	if (wish->terms.min_free >= 0)
		strbuf_printf(&text, "min-free %" PRId64 "\n", wish->terms.min_free);
	if (wish->terms.max_load >= 0)
		strbuf_printf(&text, "max-load %d\n", wish->terms.max_load);
	if (wish->terms.ignore)
		strbuf_printf(&text, "ignore %s\n", wish->terms.ignore);
	if (*wish->prefer)
		strbuf_printf(&text, "prefer %s\n", wish->prefer);
	if (wish->terms.near)
		strbuf_puts(&text, "near\n");
	if (wish->terms.slots > 1)
		strbuf_printf(&text, "slots %zu\n", wish->terms.slots);
	return strbuf_take(&text);
}

/* One user must not make the queue long for all. */
int lease_queue_check(const struct lease_ticket *tickets, size_t count, gpumap_report *report)
{
	size_t waiting = 0;

	for (size_t i = 0; i < count; i++)
		waiting += tickets[i].user == (int64_t)geteuid();
	if (waiting < MAX_WAITING || geteuid() == 0)
		return GPUMAP_OK;
	return report_fail(report, GPUMAP_EINPUT, FINDING_LEASE_WAITING,
			   ABOUT(.fix = "start it when one of them has its GPUs, or let one job "
					"start several programs in turn"),
			   "%zu of your jobs wait for GPUs already, and no more than %d may",
			   waiting, MAX_WAITING);
}

int lease_queue_join(int *ret, uint64_t *number, const struct lease_folder *folder,
		     const struct lease_ticket *wish)
{
	CLEANUP_FREE char *text = ticket_text(wish);
	uint64_t mine;
	int fd;

	if (!text)
		return GPUMAP_ENOMEM;
	if (strlen(text) > MAX_TICKET) {
		errno = EOVERFLOW;
		return GPUMAP_EFILE;
	}
	do {
		mine = lease_next_number();
		fd = lease_file(folder, TICKET_NAME(mine), O_RDWR | O_EXCL, true);
	} while (fd < 0 && errno == EEXIST);
	if (fd < 0)
		return GPUMAP_EFILE;
	if (!lease_try(fd, false) || !write_text(fd, text)) {
		int why = errno;

		lease_queue_leave(folder, fd, mine);
		errno = why;
		return GPUMAP_EFILE;
	}
	*ret = fd;
	*number = mine;
	return GPUMAP_OK;
}

bool lease_queue_add(int fd, const char *names)
{
	CLEANUP_FREE char *line = NULL;
	struct stat st;
	int n = xasprintf(&line, "from %s\n", names);

	return n >= 0 && fstat(fd, &st) == 0 && st.st_size + n <= MAX_TICKET &&
	       lseek(fd, 0, SEEK_END) >= 0 && write_text(fd, line);
}

void lease_queue_leave(const struct lease_folder *folder, int fd, uint64_t number)
{
	lease_file_remove(folder, TICKET_NAME(number));
	lease_passes_remove(folder, number);
	close(fd);
}
