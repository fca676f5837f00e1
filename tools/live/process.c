/* SPDX-License-Identifier: MIT */
/* What /proc shows of a running process: its environment, its cgroup, its device files. */
#include "live/process.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "closing.h"
#include "container.h"
#include "memory.h"
#include "process_path.h"
#include "process_stat.h"
#include "readfile.h"
#include "report/report.h"
#include "strbuf.h"

enum {
	MAX_BYTES = 64 << 20,
	EXEC_MS = 2000 /* exec() takes longer only if it waits for a slow disk */
};

/* Reads a small file. False: it cannot be read (errno has the reason). */
static bool file_text(const char *path, char **text, size_t *size)
{
	errno = read_file(path, false, MAX_BYTES, text, size);
	return errno == 0;
}

/* The environment of a process reads as empty while exec() replaces it, and for a zombie on some
 * kernels (environ_read of Linux's fs/proc/base.c). It is empty only if it still is when the
 * process is neither. */
bool process_text_read(struct process_text *ret, int pid)
{
	struct process_stat stat;
	bool settled = false;
	const char *path = PROCESS_PATH(pid, "environ");

	for (int ms = 0; ms < EXEC_MS; ms++) {
		if (!file_text(path, &ret->text, &ret->size))
			return false;
		if (ret->size > 0 || settled)
			return true;
		process_text_free(ret);
		if (!process_stat_read(&stat, pid) || stat.no_memory) {
			errno = ESRCH;
			return false;
		}
		settled = !stat.in_exec;
		if (!settled)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	errno = EAGAIN;
	return false;
}

void process_text_free(struct process_text *text)
{
	free(text->text);
	*text = (struct process_text){0};
}

const char *process_variable(const struct process_text *text, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < text->size; i += strlen(text->text + i) + 1)
		if (strncmp(text->text + i, name, length) == 0 && text->text[i + length] == '=')
			return text->text + i + length + 1;
	return NULL;
}

const char *process_refused_fix(void)
{
	return geteuid() ? "only its user and root may look: try sudo"
			 : "this system refuses it to root too, as a container may: look from "
			   "outside of it";
}

static int unreadable(const char *pid, const char *path, gpumap_report *report)
{
	const char *fix = errno == ENOENT   ? "ps lists the processes"
			  : errno == ESRCH  ? "it has ended, or belongs to the kernel"
			  : errno == EACCES ? process_refused_fix()
			  : errno == EAGAIN ? "it has not started its program yet: try again"
					    : NULL;

	return report_fail(report, GPUMAP_EFILE, FINDING_FILE_ACCESS,
			   ABOUT(.origin = "--pid", .fix = fix),
			   "cannot look at process %s: %s: %s", pid, path, strerror(errno));
}

int process_text_state(gpumap_request *request, const struct process_text *text,
		       gpumap_report *report)
{
	CLEANUP_FREE const char **envp = NULL;
	size_t count = 0, n = 0;

	for (size_t i = 0; i < text->size; i++)
		count += text->text[i] == '\0';
	envp = xcalloc(count + 2, sizeof(*envp));
	for (size_t i = 0; i < text->size; i += strlen(text->text + i) + 1)
		envp[n++] = text->text + i;
	return gpumap_request_set_environ(request, envp, report);
}

static int read_named(struct process_text *ret, const char *pid, gpumap_report *report)
{
	int64_t number = span_number(span_of(pid), INT32_MAX);

	if (number <= 0)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.origin = "--pid", .fix = "write the number of a process"),
				   "no process number: '%s'", QUOTE(span_of(pid)));
	if (process_text_read(ret, (int)number))
		return GPUMAP_OK;
	return unreadable(pid, PROCESS_PATH(number, "environ"), report);
}

int process_check(const char *pid, gpumap_report *report)
{
	CLEANUP(process_text_free) struct process_text text = {0};

	return read_named(&text, pid, report);
}

int process_environ(gpumap_request *request, const char *pid, gpumap_report *report)
{
	CLEANUP(process_text_free) struct process_text text = {0};
	int r = read_named(&text, pid, report);

	return r == GPUMAP_OK ? process_text_state(request, &text, report) : r;
}

static const gpumap_device *device_of_minor(const gpumap_inventory *inventory, int64_t minor)
{
	for (size_t i = 0; i < gpumap_inventory_count(inventory); i++) {
		const gpumap_device *d = gpumap_inventory_get(inventory, i);

		if (gpumap_device_int(d, GPUMAP_DEVICE_MINOR) == minor)
			return d;
	}
	return NULL;
}

/* "2,3": the devices with these minor numbers, as /dev/nvidiaN if the inventory does not have them.
 */
static void add_minors(struct strbuf *buf, const bool *minors, const gpumap_inventory *inventory,
		       bool indices)
{
	for (int minor = 0; minor < MAX_MINOR; minor++) {
		const gpumap_device *d = minors[minor] ? device_of_minor(inventory, minor) : NULL;

		if (!minors[minor])
			continue;
		strbuf_puts(buf, buf->length ? "," : "");
		if (indices && d)
			strbuf_printf(buf, "%lld",
				      (long long)gpumap_device_int(d, GPUMAP_DEVICE_PHYSICAL));
		else
			strbuf_printf(buf, "/dev/nvidia%d", minor);
	}
}

bool process_open_minors(bool minors[MAX_MINOR], int64_t pid, bool *known)
{
	CLEANUP_FOLDER DIR *dir = opendir(PROCESS_PATH(pid, "fd"));
	struct dirent *entry;
	bool any = false;

	*known = dir != NULL;
	while (dir && (entry = readdir(dir))) {
		char target[64];
		int64_t minor;

		if (!read_link(target, sizeof(target), PROCESS_PATH(pid, "fd/%s", entry->d_name)) ||
		    !starts_with(target, "/dev/nvidia"))
			continue;
		minor = span_number(span_of(target + strlen("/dev/nvidia")), MAX_MINOR - 1);
		if (minor >= 0)
			any = minors[minor] = true;
	}
	return any;
}

static void remark_open_files(int64_t pid, const gpumap_inventory *inventory, gpumap_report *report)
{
	bool minors[MAX_MINOR] = {false}, known;
	CLEANUP(strbuf_free) struct strbuf files = {0}, indices = {0};
	const char *path = PROCESS_PATH(pid, "fd");

	if (!process_open_minors(minors, pid, &known))
		return;
	add_minors(&files, minors, NULL, false);
	add_minors(&indices, minors, inventory, true);
	report_add(report, FINDING_OPEN_DEVICES, ABOUT(.rule = "N1", .origin = path),
		   "it has %s open%s%s%s", files.text, inventory ? " (physical " : "",
		   inventory ? indices.text : "", inventory ? ")" : "");
}

/* Parses devices.list of cgroup version 1: "c 195:2 rw" allows /dev/nvidia2, "a *:* rwm"
 * everything. Version 2 keeps its filter in the kernel, where it cannot be read. */
static bool allowed_minors(const char *list, bool *minors)
{
	bool any = false;

	while (list && *list) {
		char type, access[8];
		int major, minor;

		if (*list == 'a' || starts_with(list, "c *:*") || starts_with(list, "c 195:*"))
			return false;
		if (sscanf(list, "%c %d:%d %7s", &type, &major, &minor, access) == 4 &&
		    type == 'c' && major == 195 && minor >= 0 && minor < 255)
			any = minors[minor] = true;
		list = strchr(list, '\n');
		list += list != NULL;
	}
	return any;
}

int process_cgroup(gpumap_request *request, const char *cgroup, const gpumap_inventory *inventory,
		   gpumap_report *report)
{
	const char *line = strstr(cgroup, ":devices:");
	bool minors[MAX_MINOR] = {false};
	CLEANUP(strbuf_free) struct strbuf path = {0}, indices = {0};
	size_t size;
	CLEANUP_FREE char *list = NULL;
	int r = GPUMAP_OK;

	if (!line || !inventory)
		return GPUMAP_OK;
	line += strlen(":devices:");
	strbuf_printf(&path, "/sys/fs/cgroup/devices%.*s/devices.list", (int)strcspn(line, "\n"),
		      line);
	if (file_text(path.text, &list, &size) && allowed_minors(list, minors)) {
		add_minors(&indices, minors, inventory, true);
		if (indices.text && !strstr(indices.text, "/dev/"))
			r = gpumap_request_set(request, "cgroup", indices.text, path.text, report);
	}
	return r;
}

static int read_cgroup(gpumap_request *request, const char *pid, const gpumap_inventory *inventory,
		       gpumap_report *report)
{
	const char *path = PROCESS_PATH(span_number(span_of(pid), INT32_MAX), "cgroup");
	struct container container;
	CLEANUP_FREE char *text = NULL;
	size_t size;

	if (!file_text(path, &text, &size))
		return unreadable(pid, path, report);
	if (container_find(&container, text) && container.separate)
		report_add(report, FINDING_INSIDE_CONTAINER,
			   ABOUT(.rule = "L1", .origin = path,
				 .fix = "give --container LIST, the host's numbers that it was "
					"granted"),
			   "the process runs inside a container (%s): its numbers count inside it",
			   container.runtime);
	return process_cgroup(request, text, inventory, report);
}

int process_views(gpumap_request *request, const char *pid, const gpumap_inventory *inventory,
		  gpumap_report *report)
{
	int r = read_cgroup(request, pid, inventory, report);

	if (r != GPUMAP_OK)
		return r;
	remark_open_files(span_number(span_of(pid), INT32_MAX), inventory, report);
	report_add(report, FINDING_CONSTRAINED_PROCESS, ABOUT(.rule = "S4", .origin = "--pid"),
		   "the answer uses the environment at the start of process %s; later changes are "
		   "not visible",
		   pid);
	return GPUMAP_OK;
}

bool process_ended(int pid)
{
	struct process_stat stat;

	return process_stat_read(&stat, pid) ? stat.dead : !process_exists(pid);
}

bool process_is_gpumap(int pid)
{
	char target[4096];
	const char *name;

	if (!read_link(target, sizeof(target), PROCESS_PATH(pid, "exe")))
		return false;
	name = strrchr(target, '/');
	/* After a binary was replaced, " (deleted)" follows its name. */
	return name && (streq(name, "/gpumap") || starts_with(name, "/gpumap "));
}

bool process_same_namespace(int pid)
{
	char there[64], here[64];

	return read_link(there, sizeof(there), PROCESS_PATH(pid, "ns/pid")) &&
	       read_link(here, sizeof(here), PROCESS_PATH(PROCESS_SELF, "ns/pid")) &&
	       streq(there, here);
}
