/* SPDX-License-Identifier: MIT */
/* What a run of any user shows of its ranks, in the command line of its guard. */

#include <errno.h>
#include <stdlib.h>

#include "launch/launch.h"
#include "live/process.h"
#include "process_path.h"
#include "process_stat.h"
#include "readfile.h"
#include "text.h"

enum { MAX_BYTES = 4 << 20 /* for thousands of ranks */ };

/* The part of a rank: *size bytes, with the NULs. NULL: it is not there. */
static const char *find_rank(const char *text, size_t all, int64_t number, size_t *size)
{
	const char *found = NULL, *end = text + all;

	for (const char *at = text; at < end; at += strlen(at) + 1) {
		if (!starts_with(at, SHOWN_PROCESS))
			continue;
		if (found) {
			end = at;
			break;
		}
		if (span_number(span_of(at + strlen(SHOWN_PROCESS)), INT32_MAX) == number)
			found = at + strlen(at) + 1;
	}
	*size = found ? (size_t)(end - found) : 0;
	return found;
}

/* Takes the part of its child out of the command line of a process. EAGAIN: it is no guard; ENOENT:
 * it shows no such rank. */
static int read_guard(struct process_text *ret, int guard, int child)
{
	static const char title[] = GUARD_TITLE " of ";
	char start[sizeof(title)], *text;
	int64_t above[MAX_PID_SPACES], below[MAX_PID_SPACES];
	size_t depth = process_numbers(above, guard), count = process_numbers(below, child);
	size_t all = 0, size = 0;
	const char *found = NULL;
	const char *path = PROCESS_PATH(guard, "cmdline");

	/* The command line of another process can be long. */
	if (read_start(start, sizeof(start), path) <= 0 || !streq(start, title))
		return EAGAIN;
	if (read_file(path, false, MAX_BYTES, &text, &all))
		return EAGAIN;
	if (depth && depth <= count)
		found = find_rank(text, all, below[depth - 1], &size);
	if (!found) {
		free(text);
		return ENOENT;
	}
	memmove(text, found, size);
	text[size] = '\0';
	*ret = (struct process_text){text, size};
	return 0;
}

/* The user of a process speaks for its own processes alone, and root for all. While the guard is
 * the parent of the child, it is the process that was read, and no other has its number. */
static bool may_speak(int guard, int child, int64_t user)
{
	int64_t speaker = process_user(guard);

	return (speaker == 0 || (speaker > 0 && speaker == user)) && process_parent(child) == guard;
}

bool run_shown_read(struct process_text *ret, int pid)
{
	int64_t user = process_user(pid);
	int error = EAGAIN;

	for (int i = 0; i < MAX_ABOVE && error == EAGAIN; i++) {
		int parent = process_parent(pid);

		if (parent <= 1)
			break;
		error = read_guard(ret, parent, pid);
		if (!error && !may_speak(parent, pid, user)) {
			process_text_free(ret);
			error = EACCES;
		}
		pid = parent;
	}
	return !error;
}
