/* SPDX-License-Identifier: MIT */
/* See guard_command_line.h. */
#include "guard_command_line.h"

#include <fcntl.h>
#include <linux/prctl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "closing.h"
#include "process_stat.h"
#include "process_state.h"
#include "strbuf.h"
#include "text.h"

/* Ends the text with its NUL. */
static void end_text(struct strbuf *buf)
{
	strbuf_add(buf, "", 1);
}

static void put_rank(struct strbuf *buf, size_t *place, const struct launch_rank *rank, pid_t pid,
		     const char *const *names)
{
	strbuf_puts(buf, SHOWN_PROCESS);
	*place = buf->length;
	strbuf_printf(buf, "%d", (int)pid);
	end_text(buf);
	for (; *names; names++) {
		const char *value = environ_find((const char *const *)rank->envp, *names);

		if (!value)
			continue;
		strbuf_printf(buf, "%s=%s", *names, value);
		end_text(buf);
	}
}

/* Tells the kernel that the command line of this process is there. The other addresses stay. */
static bool show(const char *text, size_t size)
{
	struct prctl_mm_map map;

	if (!process_memory_read(&map))
		return false;
	map.arg_start = (uintptr_t)text;
	map.arg_end = (uintptr_t)text + size;
	return prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0) == 0;
}

void rank_shown_begin(struct rank_shown *ret, const struct launch *launch, const pid_t *pids,
		      pid_t launcher)
{
	struct strbuf buf = {0};

	*ret = (struct rank_shown){0};
	if (!launch->shown)
		return;
	ret->places = calloc(launch->count + 1, sizeof(*ret->places));
	strbuf_printf(&buf, GUARD_TITLE " of %d", (int)launcher);
	end_text(&buf);
	for (size_t i = 0; ret->places && i < launch->count; i++)
		put_rank(&buf, &ret->places[i], &launch->ranks[i], pids[i], launch->shown);
	if (!ret->places || buf.failed || !show(buf.text, buf.length)) {
		strbuf_free(&buf);
		free(ret->places);
		ret->places = NULL;
		return;
	}
	ret->text = strbuf_take(&buf);
}

void rank_shown_ended(const struct rank_shown *shown, size_t index)
{
	if (!shown->text)
		return;
	for (char *digit = shown->text + shown->places[index]; *digit; digit++)
		*digit = '0';
}

/* --- the title alone ----------------------------------------------------------------------- */

/* Writes through the kernel, so a wrong address is an error and not a crash. */
static void overwrite(int memory, uint64_t start, uint64_t end, const char *text)
{
	char page[4096] = {0};

	memcpy(page, text, strlen(text));
	while (start < end) {
		size_t size = end - start < sizeof(page) ? (size_t)(end - start) : sizeof(page);
		ssize_t n = pwrite(memory, page, size, (off_t)start);

		if (n <= 0)
			return;
		start += (uint64_t)n;
		memset(page, 0, sizeof(page));
	}
}

void process_title(const char *name, pid_t pid)
{
	struct process_stat stat;
	char text[64];
	size_t room;
	CLEANUP_CLOSE int memory = -1;

	prctl(PR_SET_NAME, name);
	if (!process_stat_read(&stat, getpid()) || stat.arg_end <= stat.arg_start)
		return;
	/* The last byte stays 0: otherwise the kernel shows the environment as well. */
	room = (size_t)(stat.arg_end - stat.arg_start);
	if ((size_t)snprintf(text, sizeof(text), "%s of %d", name, (int)pid) >= room &&
	    (size_t)snprintf(text, sizeof(text), "%s %d", name, (int)pid) >= room)
		snprintf(text, room < sizeof(text) ? room : sizeof(text), "%s", name);
	memory = open("/proc/self/mem", O_WRONLY | O_CLOEXEC);
	if (memory >= 0)
		overwrite(memory, stat.arg_start, stat.arg_end, text);
}
