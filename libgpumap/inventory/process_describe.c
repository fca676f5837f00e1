/* SPDX-License-Identifier: MIT */
/* Who the processes on GPUs are, from /proc. A process may end at any time; then what was read of
 * it stays. */
#include "inventory/host.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container.h"
#include "memory.h"
#include "process_path.h"
#include "process_stat.h"
#include "readfile.h"
#include "strbuf.h"

enum {
	MAX_COMMAND = 1024,  /* bytes that are shown */
	MAX_STAT = 16 << 20, /* of /proc/stat, which has a line for each CPU */
	MAX_CGROUP = 8192,
	SHOWN_ID = 12, /* characters of a container's id, as docker shows it */
	MAX_PASSWD = 1 << 16
};

struct user {
	int64_t uid;
	char *name; /* NULL: it has none */
};

struct describer {
	int64_t booted; /* seconds since the epoch; -1: not known */
	int64_t ticks;  /* in a second */
	struct user *users;
	size_t count, room;
};

/* The time when the system was started, which is stable: the clocks' difference is not. */
static int64_t boot_time(void)
{
	static const char key[] = "\nbtime ";
	CLEANUP_FREE char *text = NULL;
	const char *at;
	size_t size;
	int64_t seconds = -1;

	if (read_file("/proc/stat", false, MAX_STAT, &text, &size) != 0)
		return -1;
	at = strstr(text, key);
	if (at)
		seconds = strtoll(at + strlen(key), NULL, 10);
	return seconds;
}

/* Looks the name up. False without memory. */
static bool find_name(char **name, int64_t uid)
{
	struct passwd entry, *found = NULL;
	CLEANUP_FREE char *buf = xmalloc(MAX_PASSWD);
	int error = ENOMEM;
	bool good;

	if (buf)
		error = getpwuid_r((uid_t)uid, &entry, buf, MAX_PASSWD, &found);
	good = error != ENOMEM;
	if (error == 0 && found && *found->pw_name)
		good = member_set(name, span_of(found->pw_name));
	return good;
}

/* The name may come over a network, so each user is looked up once. */
static bool set_user(struct describer *d, gpumap_process *p)
{
	size_t i = 0;

	while (i < d->count && d->users[i].uid != p->uid)
		i++;
	if (i == d->count) {
		if (!ARRAY_ROOM(d->users, d->count, d->room))
			return false;
		d->users[d->count++] = (struct user){p->uid, NULL};
		if (!find_name(&d->users[i].name, p->uid))
			return false;
	}
	return !d->users[i].name || member_set(&p->user, span_of(d->users[i].name));
}

/* The real user; a file's owner would be root for a process that cannot be traced. */
static bool read_user(struct describer *d, gpumap_process *p)
{
	int64_t uid = process_user((pid_t)p->pid);

	if (uid < 0)
		return true;
	p->uid = uid;
	return set_user(d, p);
}

/* Cuts a text that has more bytes, at a whole character. */
static size_t cut(char text[MAX_COMMAND + 4], size_t length)
{
	size_t i = 0, n = 0;
	bool shown;

	if (length <= MAX_COMMAND)
		return length;
	while (i + (n = utf8_next(text + i, length - i, &shown)) <= MAX_COMMAND)
		i += n;
	memcpy(text + i, "...", 3);
	return i + 3;
}

static bool read_command(gpumap_process *p)
{
	char text[MAX_COMMAND + 4], name[64];
	ssize_t n = read_start(text, MAX_COMMAND + 2, PROCESS_PATH(p->pid, "cmdline"));

	while (n > 0 && text[n - 1] == '\0')
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	if (n > 0)
		return member_set(&p->command, (struct span){text, cut(text, (size_t)n)});
	/* A dead process has no command line, and is shown as ps(1) does. */
	if (read_start(name, sizeof(name), PROCESS_PATH(p->pid, "comm")) <= 0)
		return true;
	snprintf(text, sizeof(text), "[%.*s]", (int)strcspn(name, "\n"), name);
	return member_set(&p->command, span_of(text));
}

static bool read_container(gpumap_process *p)
{
	struct container container;
	char text[MAX_CGROUP], name[256];
	size_t length;
	bool hex = true;

	if (read_start(text, sizeof(text), PROCESS_PATH(p->pid, "cgroup")) <= 0 ||
	    !container_find(&container, text))
		return true;
	length = container.id.length < 200 ? container.id.length : 200;
	for (size_t i = 0; i < length; i++)
		hex = hex && is_hex(container.id.text[i]);
	if (hex && length == 64)
		length = SHOWN_ID;
	snprintf(name, sizeof(name), "%s:%.*s", container.runtime, (int)length, container.id.text);
	return member_set(&p->container, span_of(name));
}

static bool describe(struct describer *d, gpumap_process *p)
{
	struct process_stat process;
	struct stat folder;

	p->visible =
		p->pid > 0 && p->pid <= INT32_MAX && process_stat_read(&process, (pid_t)p->pid);
	if (!p->visible) {
		/* hidepid=1 shows the folder, but not the files in it. */
		if (p->pid <= 0 || stat(PROCESS_FOLDER(p->pid), &folder) != 0)
			return true;
		p->uid = folder.st_uid;
		return set_user(d, p);
	}
	if (d->booted >= 0 && d->ticks > 0)
		process_set_start(p, d->booted + (int64_t)process.start / d->ticks);
	/* Another process had the number. The second is rounded down. */
	if (p->active > 0 && p->active < p->start - 1)
		process_set_active(p, 0);
	return read_user(d, p) && read_command(p) && read_container(p);
}

static bool copy_text(char **member, const char *text)
{
	return !text || member_set(member, span_of(text));
}

/* A process uses several GPUs or instances. */
static bool copy(gpumap_process *p, const gpumap_process *from)
{
	p->visible = from->visible;
	p->uid = from->uid;
	process_set_start(p, from->start);
	return copy_text(&p->user, from->user) && copy_text(&p->command, from->command) &&
	       copy_text(&p->container, from->container);
}

static int by_pid(const void *a, const void *b)
{
	const gpumap_process *x = *(gpumap_process *const *)a, *y = *(gpumap_process *const *)b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

bool processes_describe(gpumap_process **all, size_t count)
{
	struct describer d = {.booted = boot_time(), .ticks = sysconf(_SC_CLK_TCK)};
	bool good = true;

	if (count)
		qsort(all, count, sizeof(*all), by_pid);
	for (size_t i = 0; good && i < count; i++)
		good = i && all[i]->pid == all[i - 1]->pid ? copy(all[i], all[i - 1])
							   : describe(&d, all[i]);
	for (size_t i = 0; i < d.count; i++)
		free(d.users[i].name);
	free(d.users);
	return good;
}

bool usage_describe(gpumap_inventory *inventory)
{
	CLEANUP_FREE gpumap_process **all = NULL;
	size_t count = 0, n = 0;

	for (size_t i = 0; i < inventory->count; i++)
		count += inventory->gpus[i].process_count;
	all = xmalloc((count + 1) * sizeof(*all));
	for (size_t i = 0; all && i < inventory->count; i++)
		for (size_t k = 0; k < inventory->gpus[i].process_count; k++)
			all[n++] = &inventory->gpus[i].processes[k];
	return all && processes_describe(all, n);
}

struct span process_program(const gpumap_process *process)
{
	const char *command = gpumap_process_str(process, GPUMAP_PROCESS_COMMAND);
	struct span rest = span_of(command ? command : ""), word, name = rest, piece;

	span_split(&rest, ' ', &word);
	while (span_split(&word, '/', &piece))
		name = piece;
	return name;
}

bool process_is_named(const gpumap_process *process, const char *names)
{
	struct span name = process_program(process), rest = span_of(names ? names : ""), piece;

	while (name.length && span_split(&rest, ',', &piece))
		if (span_same(span_trim(piece), name))
			return true;
	return false;
}

void process_tell(struct strbuf *buf, const gpumap_process *process)
{
	const char *user = gpumap_process_str(process, GPUMAP_PROCESS_USER);
	struct span program = process_program(process);

	strbuf_printf(buf, "process %lld",
		      (long long)gpumap_process_int(process, GPUMAP_PROCESS_PID));
	if (program.length || user)
		strbuf_printf(buf, " (%s%s%s)", program.length ? QUOTE(program) : "",
			      program.length && user ? " of " : "", user ? user : "");
}

char *process_text(int64_t pid)
{
	gpumap_process process = process_of(pid), *list[] = {&process};
	struct strbuf text = {0};
	bool good = pid <= 0 || processes_describe(list, 1);

	if (pid > 0)
		strbuf_printf(&text, "process %lld", (long long)pid);
	else
		strbuf_puts(&text, "a process that is not visible here");
	if (process.user)
		strbuf_printf(&text, " (%s)", process.user);
	process_clear(&process);
	text.failed = text.failed || !good;
	return strbuf_take(&text);
}
