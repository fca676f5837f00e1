/* SPDX-License-Identifier: MIT */
/* The lease that this process runs in: a job inside a lease chooses among its GPUs. */
#include "lease/lease.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "closing.h"
#include "process_path.h"
#include "process_stat.h"
#include "readfile.h"
#include "report/report.h"
#include "strbuf.h"

#define PROC "/proc/"

enum { MAX_CHAIN = 64 };

/* --- what a process has open ------------------------------------------------------------------ */

/* This process and those above it. */
struct chain {
	pid_t pids[MAX_CHAIN];
	size_t count;
};

/* What is found. */
struct search {
	const struct lease_folder *folder;
	const struct chain *chain;
	int level;           /* of the files in `names` */
	int64_t outer;       /* the number of the lease of parts that they are inside, or are; 0 */
	struct strbuf names; /* "gpu-UUID gpu-UUID" */
	bool watches;        /* the process has a handle of one of the chain */
};

static struct chain read_chain(void)
{
	struct chain chain = {.count = 0};
	struct process_stat stat;
	pid_t pid = getpid();

	while (pid > 0 && chain.count < MAX_CHAIN) {
		chain.pids[chain.count++] = pid;
		if (!process_stat_read(&stat, pid))
			break;
		pid = stat.parent;
	}
	return chain;
}

static bool in_chain(const struct chain *chain, int64_t pid)
{
	for (size_t i = 0; i < chain->count; i++)
		if (chain->pids[i] == pid)
			return true;
	return false;
}

/* "Pid:	4242": the descriptor is a handle of a process. */
static bool is_handle_of(const char *info, const struct chain *chain)
{
	struct span rest = span_of(info), line, word;

	while (span_split(&rest, '\n', &line))
		if (span_split(&line, '\t', &word) && span_is(word, "Pid:") && line.text &&
		    in_chain(chain, span_number(span_trim(line), INT32_MAX)))
			return true;
	return false;
}

/* Whether it is this file of the folder, and not one of that name elsewhere. */
static bool is_in_folder(const struct lease_folder *folder, const char *name, const char *path,
			 int64_t *number)
{
	struct stat ours, theirs;

	if (fstatat(folder->fd, name, &ours, AT_SYMLINK_NOFOLLOW) < 0 || stat(path, &theirs) < 0)
		return false;
	*number = lease_number(ours.st_ino);
	return S_ISREG(ours.st_mode) && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}

/* A lease of slots or MIG instances has the number of one of its files, the lowest. A lease that
 * was adopted can have GPUs, too, which have none. */
static void add_name(struct search *s, const struct lease_file_name *name, int64_t number)
{
	int64_t outer = lease_is_part(name) ? number : name->outer;

	if (name->level < s->level)
		return;
	if (name->level > s->level) {
		strbuf_free(&s->names);
		s->outer = 0;
	}
	if (outer && (!s->outer || outer < s->outer))
		s->outer = outer;
	s->level = name->level;
	strbuf_printf(&s->names, "%s%.*s", s->names.length ? " " : "", (int)name->gpu.length,
		      name->gpu.text);
}

/* Looks at one descriptor of a process. */
static void look_at(struct search *s, int64_t pid, const char *fd)
{
	const char *path = PROCESS_PATH(pid, "fd/%s", fd);
	char target[4096];
	CLEANUP_FREE char *info = NULL;
	struct lease_file_name file;
	const char *name;
	int64_t owner, number;
	bool exclusive;

	if (!read_link(target, sizeof(target), path))
		return;
	if (streq(target, "anon_inode:[pidfd]")) {
		info = lease_fdinfo(pid, fd);
		s->watches = s->watches || (info && is_handle_of(info, s->chain));
		return;
	}
	/* What stands for one where the kernel has none. */
	if (starts_with(target, PROC) &&
	    in_chain(s->chain, span_number(span_of(target + strlen(PROC)), INT32_MAX)))
		s->watches = true;
	name = strrchr(target, '/');
	if (!name || !lease_name_read(&file, name + 1) ||
	    !is_in_folder(s->folder, name + 1, path, &number))
		return;
	info = lease_fdinfo(pid, fd);
	if (info && lease_lock_in(&exclusive, &owner, info) && exclusive)
		add_name(s, &file, number);
}

static void look_at_all(struct search *s, int64_t pid)
{
	CLEANUP_FOLDER DIR *dir = opendir(PROCESS_PATH(pid, "fd"));
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (*entry->d_name != '.')
			look_at(s, pid, entry->d_name);
}

/* --- the lease ------------------------------------------------------------------------------- */

/* The GPUs of the innermost lease that this process or one above it has open, or that the keeper
 * has for one of them. `prefix` gets that of the files inside. NULL without memory; "": there is
 * none. */
static char *find_names(const struct lease_folder *folder, int64_t keeper,
			char prefix[LEASE_PREFIX])
{
	const struct chain chain = read_chain();
	struct search found = {.folder = folder, .chain = &chain}, kept = found;

	for (size_t i = 0; i < chain.count; i++)
		look_at_all(&found, chain.pids[i]);
	if (keeper > 0 && !in_chain(&chain, keeper))
		look_at_all(&kept, keeper);
	if (kept.watches && kept.names.length &&
	    (!found.names.length || kept.level > found.level)) {
		strbuf_free(&found.names);
		found = kept;
	} else {
		strbuf_free(&kept.names);
	}
	if (found.outer)
		snprintf(prefix, LEASE_PREFIX, LEASE_NESTED "%d-%lld-", found.level + 1,
			 (long long)found.outer);
	else
		snprintf(prefix, LEASE_PREFIX, LEASE_NESTED "%d-", found.level + 1);
	return strbuf_take(&found.names);
}

int lease_nested(struct lease_folder *folder, int64_t keeper, gpumap_report *report)
{
	char prefix[LEASE_PREFIX], *names;

	if (!keeper || folder->fd < 0)
		return GPUMAP_OK;
	names = find_names(folder, keeper, prefix);
	if (!names)
		return report_nomem(report);
	if (!*names) {
		free(names);
		report_add(report, FINDING_LEASE_NOT_INSIDE,
			   ABOUT(.origin = "GPUMAP_LEASE", .fix = "unset it"),
			   "names no lease of this process, and is ignored");
		return GPUMAP_OK;
	}
	folder->inside = names;
	memcpy(folder->prefix, prefix, sizeof(prefix));
	/* The outer lease has the locks of sysfs. */
	if (folder->sysfs >= 0)
		close(folder->sysfs);
	folder->sysfs = -1;
	return GPUMAP_OK;
}

bool lease_is_inside(const struct lease_folder *folder, const gpumap_device *gpu)
{
	return !folder->inside || span_is_any(span_of(LEASE_NAME(gpu)), folder->inside);
}

static bool still_inside(const struct lease_folder *folder, int64_t keeper)
{
	CLEANUP_FREE char *names = NULL;
	struct span rest, word;
	char prefix[LEASE_PREFIX];

	if (!folder->inside)
		return true;
	names = find_names(folder, keeper, prefix);
	rest = span_of(folder->inside);
	while (names && span_split(&rest, ' ', &word))
		if (!span_is_any(word, names))
			return false;
	return names;
}

int lease_check_inside(const struct lease_folder *folder, int64_t keeper, gpumap_report *report)
{
	if (still_inside(folder, keeper))
		return GPUMAP_OK;
	return report_fail(report, GPUMAP_EINPUT, FINDING_LEASE_TOO_MANY,
			   ABOUT(.origin = "GPUMAP_LEASE", .fix = "unset it"),
			   "the lease that this job runs in has ended");
}
