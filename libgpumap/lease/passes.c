/* SPDX-License-Identifier: MIT */
/* How often a job that waits may be passed. A pass is a file of who passes, as no one may write
 * into the ticket of another user. */
#include "lease/lease.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "closing.h"

#define PASS "pass-"

enum {
	MAX_PASSES = 8,
	MAX_SWEPT = 64 /* files that are removed at a time */
};

bool lease_passed_enough(const struct lease_ticket *ticket)
{
	return ticket->passes >= MAX_PASSES;
}

static uint64_t passed_ticket(const struct lease_folder *folder, const char *name)
{
	return lease_name_number(folder, PASS, name, '-');
}

int lease_ticket_order(const void *a, const void *b)
{
	const struct lease_ticket *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

void lease_passes_count(struct lease_ticket *tickets, size_t count,
			const struct lease_folder *folder, bool all, DIR *dir)
{
	struct dirent *entry;
	size_t swept = 0;

	rewinddir(dir);
	while ((entry = readdir(dir))) {
		const struct lease_ticket key = {.number = passed_ticket(folder, entry->d_name)};
		struct lease_ticket *found =
			key.number && count
				? bsearch(&key, tickets, count, sizeof(key), lease_ticket_order)
				: NULL;

		if (found)
			found->passes += found->passes < MAX_PASSES;
		else if (key.number && all && swept++ < MAX_SWEPT)
			unlinkat(folder->fd, entry->d_name, 0);
	}
}

bool lease_pass(const struct lease_folder *folder, uint64_t number)
{
	const char *name = FORMAT(PASS "%020" PRIu64 "-%020" PRIu64, number, lease_next_number());
	CLEANUP_CLOSE int fd = lease_file(folder, name, O_RDONLY | O_EXCL, true);

	return fd >= 0;
}

void lease_passes_remove(const struct lease_folder *folder, uint64_t number)
{
	CLEANUP_FOLDER DIR *dir = entries_of(folder->fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (passed_ticket(folder, entry->d_name) == number)
			unlinkat(folder->fd, entry->d_name, 0);
}
