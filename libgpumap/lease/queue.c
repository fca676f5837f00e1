/* SPDX-License-Identifier: MIT */
/* The queue: a ticket is a file that its job has locked. */
#include "lease/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "readfile.h"
#include "strbuf.h"
#include "write_all.h"

#define TICKET "ticket-"
#define PASSED "passed\n"

/* Of a ticket, with the passes that others add, and of a number: a job with a larger one could not
 * be followed. */
enum { MAX_TICKET = 65536 };
#define MAX_NUMBER (INT64_MAX - 1)

static void ticket_name(char ret[LEASE_NAME], uint64_t number)
{
	snprintf(ret, LEASE_NAME, TICKET "%020" PRIu64, number);
}

/* The number of a ticket's file; 0: it is another file, or one of another level. */
static uint64_t ticket_number(const struct lease_folder *folder, const char *name)
{
	const size_t prefix = strlen(folder->prefix);
	struct span digits;
	int64_t number;

	if (!starts_with(name, folder->prefix) || !starts_with(name + prefix, TICKET))
		return 0;
	digits = span_of(name + prefix + strlen(TICKET));
	number = digits.length == 20 ? span_number(digits, MAX_NUMBER) : -1;
	return number > 0 ? (uint64_t)number : 0;
}

static int by_number(const void *a, const void *b)
{
	const struct lease_ticket *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* --- reading ---------------------------------------------------------------------------- */

static bool set_once(char **member, struct span value)
{
	if (!*member)
		*member = strndup(value.text, value.length);
	return *member;
}

/* Names, separated by blanks. False without memory. */
static bool add_names(char **member, struct span value)
{
	char *names;

	if (!*member || !**member) /* all */
		return set_once(member, value);
	if (asprintf(&names, "%s %.*s", *member, (int)value.length, value.text) < 0)
		return false;
	free(*member);
	*member = names;
	return true;
}

/* A line of a ticket: "want 2". What another version wrote is skipped. False without memory. */
static bool read_line(struct lease_ticket *ticket, struct span line)
{
	struct span word;
	int64_t number;

	span_split(&line, ' ', &word);
	if (span_is(word, "passed"))
		ticket->passes++;
	else if (span_is(word, "near"))
		ticket->terms.near = true;
	if (!line.text)
		return true;
	number = span_number(line, INT64_MAX);
	if (span_is(word, "want"))
		ticket->count = number > 0 && number <= GPUMAP_MAX_DEVICES ? (size_t)number : 0;
	else if (span_is(word, "free-memory"))
		ticket->terms.free_memory = number;
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

/* A ticket that is not locked is what a job left that was killed. */
static bool read_ticket(struct lease_ticket *ticket, const struct lease_folder *folder, bool *nomem)
{
	char name[LEASE_NAME];
	struct stat st;
	bool live;
	int fd;

	ticket_name(name, ticket->number);
	fd = lease_file(folder, name, O_RDONLY, false);
	if (fd < 0)
		return false;
	ticket->user = fstat(fd, &st) == 0 ? (int64_t)st.st_uid : -1;
	live = !lease_try(fd, true);
	if (live)
		live = read_wish(ticket, fd, nomem);
	else
		lease_file_remove(folder, name);
	close(fd);
	return live;
}

int lease_queue_read(struct lease_ticket **ret, size_t *count, const struct lease_folder *folder,
		     uint64_t before)
{
	DIR *dir = folder->fd >= 0 ? lease_folder_list(folder) : NULL;
	struct lease_ticket *tickets = NULL;
	size_t n = 0, room = 0;
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
		struct lease_ticket ticket = {.number = ticket_number(folder, entry->d_name),
					      .terms = DEFAULT_TERMS},
				    *grown;

		if (!ticket.number || ticket.number >= before)
			continue;
		if (!read_ticket(&ticket, folder, &nomem)) {
			ticket_free(&ticket);
			continue;
		}
		grown = array_room(tickets, n, &room, sizeof(*tickets));
		nomem = !grown;
		if (nomem) {
			ticket_free(&ticket);
			break;
		}
		tickets = grown;
		tickets[n++] = ticket;
	}
	closedir(dir);
	if (nomem) {
		lease_queue_free(tickets, n);
		return GPUMAP_ENOMEM;
	}
	if (n)
		qsort(tickets, n, sizeof(*tickets), by_number);
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
	char name[LEASE_NAME];
	int64_t pid;
	int fd;

	ticket_name(name, number);
	fd = lease_file(folder, name, O_RDONLY, false);
	if (fd < 0)
		return 0;
	pid = lease_locker(folder, fd);
	close(fd);
	return pid;
}

/* --- writing ---------------------------------------------------------------------------- */

static uint64_t highest(const struct lease_folder *folder)
{
	DIR *dir = lease_folder_list(folder);
	struct dirent *entry;
	uint64_t most = 0;

	while (dir && (entry = readdir(dir))) {
		uint64_t number = ticket_number(folder, entry->d_name);

		most = number > most ? number : most;
	}
	if (dir)
		closedir(dir);
	return most;
}

static bool write_text(int fd, const char *text)
{
	return write_all(fd, text, strlen(text)) == strlen(text);
}

/* NULL without memory. */
static char *ticket_text(const struct lease_ticket *wish)
{
	struct strbuf text = {0};

	strbuf_printf(&text, "want %zu\nfrom %s\n", wish->count, wish->from);
	if (wish->terms.free_memory >= 0)
		strbuf_printf(&text, "free-memory %" PRId64 "\n", wish->terms.free_memory);
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

int lease_queue_join(int *ret, uint64_t *number, const struct lease_folder *folder,
		     const struct lease_ticket *wish)
{
	uint64_t mine = highest(folder) + 1;
	CLEANUP_FREE char *text = ticket_text(wish);
	char name[LEASE_NAME];
	int fd;

	if (!text)
		return GPUMAP_ENOMEM;
	if (mine > MAX_NUMBER || strlen(text) > MAX_TICKET - MAX_PASSES * strlen(PASSED)) {
		errno = EOVERFLOW;
		return GPUMAP_EFILE;
	}
	ticket_name(name, mine);
	fd = lease_file(folder, name, O_RDWR | O_EXCL, true);
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
	char *line = NULL;
	struct stat st;
	int n = asprintf(&line, "from %s\n", names);
	bool added = n >= 0 && fstat(fd, &st) == 0 &&
		     st.st_size + n <= MAX_TICKET - (off_t)(MAX_PASSES * strlen(PASSED)) &&
		     lseek(fd, 0, SEEK_END) >= 0 && write_text(fd, line);

	free(line);
	return added;
}

bool lease_queue_pass(const struct lease_folder *folder, uint64_t number)
{
	char name[LEASE_NAME];
	bool written;
	int fd;

	ticket_name(name, number);
	fd = lease_file(folder, name, O_WRONLY | O_APPEND, false);
	if (fd < 0)
		return errno == ENOENT; /* its job waits no longer */
	written = write_text(fd, PASSED);
	close(fd);
	return written;
}

void lease_queue_leave(const struct lease_folder *folder, int fd, uint64_t number)
{
	char name[LEASE_NAME];

	ticket_name(name, number);
	lease_file_remove(folder, name);
	close(fd);
}
