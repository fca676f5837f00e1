/* SPDX-License-Identifier: MIT */
/* The queue: a ticket is a file that its job has locked. */
#include "lease/lease.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "readfile.h"
#include "write_all.h"

#define TICKET "ticket-"

/* Of a ticket, and of a number: a job with a larger one could not be followed. */
enum { MAX_TICKET = 16384 };
#define MAX_NUMBER (INT64_MAX - 1)

static void ticket_name(char ret[LEASE_NAME], uint64_t number)
{
	snprintf(ret, LEASE_NAME, TICKET "%020" PRIu64, number);
}

/* The number of a ticket's file; 0: it is another file. */
static uint64_t ticket_number(const char *name)
{
	struct span digits = span_of(name);
	int64_t number;

	if (!starts_with(name, TICKET))
		return 0;
	digits.text += strlen(TICKET);
	digits.length -= strlen(TICKET);
	number = digits.length == 20 ? span_number(digits, MAX_NUMBER) : -1;
	return number > 0 ? (uint64_t)number : 0;
}

static int by_number(const void *a, const void *b)
{
	const struct lease_ticket *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* "want 2" and "from GPU-... GPU-...". False: it is no wish, or *nomem. */
static bool read_wish(struct lease_ticket *ticket, int fd, bool *nomem)
{
	CLEANUP_FREE char *text = NULL;
	struct span rest, line, word;
	int64_t count = -1;
	size_t size;
	int error = read_all(fd, MAX_TICKET, &text, &size);

	*nomem = error == ENOMEM;
	if (error)
		return false;
	rest = (struct span){text, size};
	while (span_split(&rest, '\n', &line)) {
		span_split(&line, ' ', &word);
		if (span_is(word, "want") && line.text)
			count = span_number(line, GPUMAP_MAX_DEVICES);
		else if (span_is(word, "from") && line.text && !ticket->from)
			ticket->from = strndup(line.text, line.length);
	}
	ticket->count = count > 0 ? (size_t)count : 0;
	if (!ticket->from)
		ticket->from = strdup("");
	*nomem = !ticket->from;
	return count > 0 && ticket->from;
}

/* A ticket that is not locked is what a job left that was killed. */
static bool read_ticket(struct lease_ticket *ticket, const struct lease_folder *folder,
			const char *name, bool *nomem)
{
	int fd = lease_file(folder, name, O_RDONLY, false);
	bool live;

	if (fd < 0)
		return false;
	live = !lease_try(fd, true);
	if (live)
		live = read_wish(ticket, fd, nomem);
	else
		unlinkat(folder->fd, name, 0);
	close(fd);
	return live;
}

int lease_queue_read(struct lease_ticket **ret, size_t *count, const struct lease_folder *folder,
		     uint64_t before)
{
	int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct lease_ticket *tickets = NULL;
	size_t n = 0, room = 0;
	struct dirent *entry;
	bool nomem = false;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return GPUMAP_EFILE;
	}
	while (!nomem && n < MAX_TICKETS && (entry = readdir(dir))) {
		struct lease_ticket ticket = {.number = ticket_number(entry->d_name)}, *grown;

		if (!ticket.number || ticket.number >= before)
			continue;
		if (!read_ticket(&ticket, folder, entry->d_name, &nomem)) {
			free(ticket.from);
			continue;
		}
		grown = array_room(tickets, n, &room, sizeof(*tickets));
		nomem = !grown;
		if (nomem) {
			free(ticket.from);
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
		free(tickets[i].from);
	free(tickets);
}

static uint64_t highest(const struct lease_folder *folder)
{
	int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	uint64_t most = 0;

	while (dir && (entry = readdir(dir))) {
		uint64_t number = ticket_number(entry->d_name);

		most = number > most ? number : most;
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return most;
}

static bool write_text(int fd, const char *text)
{
	return write_all(fd, text, strlen(text)) == strlen(text);
}

int lease_queue_join(int *ret, uint64_t *number, const struct lease_folder *folder, size_t count,
		     const char *from)
{
	uint64_t mine = highest(folder) + 1;
	char name[LEASE_NAME], head[64];
	int fd;

	snprintf(head, sizeof(head), "want %zu\nfrom ", count);
	if (mine > MAX_NUMBER) {
		errno = EOVERFLOW;
		return GPUMAP_EFILE;
	}
	ticket_name(name, mine);
	fd = lease_file(folder, name, O_RDWR | O_EXCL, true);
	if (fd < 0)
		return GPUMAP_EFILE;
	if (!lease_try(fd, false) || !write_text(fd, head) || !write_text(fd, from) ||
	    !write_text(fd, "\n")) {
		int why = errno;

		lease_queue_leave(folder, fd, mine);
		errno = why;
		return GPUMAP_EFILE;
	}
	*ret = fd;
	*number = mine;
	return GPUMAP_OK;
}

void lease_queue_leave(const struct lease_folder *folder, int fd, uint64_t number)
{
	char name[LEASE_NAME];

	ticket_name(name, number);
	unlinkat(folder->fd, name, 0);
	close(fd);
}
