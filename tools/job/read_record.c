/* SPDX-License-Identifier: MIT */
/* Reads the record of a run, of a folder the last one: its plan, and how it ended. */
#include "job/run_record.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "closing.h"
#include "explain/json.h"
#include "memory.h"
#include "readfile.h"
#include "strbuf.h"

enum {
	MAX_BYTES = 256 << 20,
	/* The files of a folder that are read to find a record. */
	MAX_TRIED = 8
};

struct recent {
	struct timespec at;
	char name[NAME_MAX + 1];
};

static int no_record(const char *path, const char *what, gpumap_report *report)
{
	return report_fail(
		report, GPUMAP_EINPUT, FINDING_NOT_A_PLAN,
		ABOUT(.origin = path,
		      .fix = "name a record that gpumap run wrote; a plan is for --plan"),
		"not a record of a run, or truncated (%s)", what);
}

static int read_json(json_t **ret, const char *path, gpumap_report *report)
{
	json_error_t error;
	CLEANUP_FREE char *text = NULL;
	size_t size;
	int code = read_file(path, true, MAX_BYTES, &text, &size);

	if (code)
		return report_read(report, code, path, "the record of the run", MAX_BYTES,
				   code == EISDIR ? "it has no record; gpumap run --log-dir DIR "
						    "writes one there"
						  : NULL);
	*ret = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	if (*ret)
		return GPUMAP_OK;
	if (!*error.text || json_error_code(&error) == json_error_out_of_memory)
		return report_nomem(report);
	return no_record(path, QUOTE(span_of(error.text)), report);
}

static bool is_record(const json_t *o)
{
	return json_is_string(json_object_get(o, "run")) && json_object_get(o, "ranks");
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* The records of a folder that were written last, the last one first. Returns how many there are.
 */
static size_t newest(struct recent *ret, DIR *dir)
{
	struct dirent *entry;
	struct stat st;
	size_t count = 0, i;

	while ((entry = readdir(dir))) {
		if (!starts_with(entry->d_name, "run-") || !text_ends(entry->d_name, ".json") ||
		    fstatat(dirfd(dir), entry->d_name, &st, 0) != 0 || !S_ISREG(st.st_mode))
			continue;
		for (i = count; i > 0 && !is_before(&st.st_mtim, &ret[i - 1].at);)
			i--;
		if (i == MAX_TRIED)
			continue;
		count += count < MAX_TRIED;
		memmove(ret + i + 1, ret + i, (count - 1 - i) * sizeof(*ret));
		ret[i].at = st.st_mtim;
		snprintf(ret[i].name, sizeof(ret[i].name), "%s", entry->d_name);
	}
	return count;
}

/* Reads a record, of a folder the last one. A file there that is no record does not count, if one
 * of the others is. *file: its path, which the caller frees. */
static int read_record(json_t **ret, char **file, const char *path, gpumap_report *report)
{
	size_t before = gpumap_report_count(report), count = 0;
	struct recent recent[MAX_TRIED];
	CLEANUP_FOLDER DIR *dir = opendir(path);
	int r;

	/* A file, or the name of standard input. */
	if (!dir && errno != ENOTDIR && errno != ENOENT)
		return report_read(report, errno, path, "the folder of the run", MAX_BYTES, NULL);
	if (dir)
		count = newest(recent, dir);
	for (size_t i = 0; i < count; i++) {
		xasprintf(file, "%s/%s", path, recent[i].name);
		r = read_json(ret, *file, report);
		if (r == GPUMAP_OK ? is_record(*ret) : r != GPUMAP_EINPUT)
			return r;
		report_keep(report, before, NULL, NULL);
		json_decref(*ret);
		*ret = NULL;
		free(*file);
	}
	if (count)
		xasprintf(file, "%s/%s", path, recent[0].name);
	else
		*file = xstrdup(path);
	return read_json(ret, *file, report);
}

int record_read(gpumap_plan **ret, const char *path, gpumap_report *report)
{
	json_auto_t *o = NULL;
	CLEANUP_FREE char *file = NULL;
	int r = read_record(&o, &file, path, report);
	const json_t *plan = json_object_get(o, "plan");

	if (r == GPUMAP_OK)
		r = json_is_object(plan) ? job_read(ret, plan, file, report)
					 : no_record(file, "it has no plan", report);
	return r;
}

/* The rank that failed first. NULL: none did. */
static const json_t *first_failed(const json_t *o)
{
	const json_t *ranks = json_object_get(o, "ranks");

	for (size_t i = 0; i < json_array_size(ranks); i++)
		if (json_is_true(json_object_get(json_array_get(ranks, i), "first")))
			return json_array_get(ranks, i);
	return NULL;
}

/* "rank 1 failed first, with status 3" */
static void put_failed(struct strbuf *buf, const json_t *rank)
{
	const json_t *status = json_object_get(rank, "status");
	const json_t *signal = json_object_get(rank, "signal");

	strbuf_printf(buf, "rank %lld failed first, with %s %lld",
		      (long long)json_integer_value(json_object_get(rank, "rank")),
		      json_is_integer(signal) ? "signal" : "status",
		      (long long)json_integer_value(json_is_integer(signal) ? signal : status));
}

/* Where a log of the run with this record is: beside the record or at its path, which counts from
 * the folder where the run was started if it is relative. NULL: at neither. The caller frees it. */
static char *find_log(const char *log, const char *record)
{
	const char *slash = strrchr(record, '/'), *name = strrchr(log, '/');
	char *ret;

	xasprintf(&ret, "%.*s%s", slash ? (int)(slash + 1 - record) : 0, record,
		  name ? name + 1 : log);
	if (access(ret, F_OK) == 0)
		return ret;
	free(ret);
	return access(log, F_OK) == 0 ? xstrdup(log) : NULL;
}

/* Each line escaped, but for its tabs. */
static void put_lines(struct strbuf *buf, const char *lines)
{
	for (const char *end; *lines; lines = end + 1) {
		struct span rest = {lines, strcspn(lines, "\n")}, piece;
		const char *before = "    ";

		end = lines + rest.length;
		while (span_split(&rest, '\t', &piece)) {
			strbuf_puts(buf, before);
			escape_to(buf, piece.text, piece.length);
			before = "\t";
		}
		strbuf_puts(buf, "\n");
	}
}

/* The reverse of moment(), and a bit earlier: the kernel's times of files are those of its last
 * tick. */
static struct timespec before_moment(const char *text)
{
	struct tm tm = {0};
	const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	struct timespec ret = {0};

	if (!rest)
		return ret;
	ret.tv_sec = timegm(&tm);
	ret.tv_nsec = *rest == '.' ? strtol(rest + 1, NULL, 10) * 1000000 - 20000000 : 0;
	if (ret.tv_nsec < 0)
		ret = (struct timespec){ret.tv_sec - 1, ret.tv_nsec + 1000000000};
	return ret;
}

/* The log that shows why the rank failed, or where it would be. */
static void past_log(struct record_past *past, const json_t *rank, const char *record)
{
	static const char *const streams[] = {"stderr", "stdout"};
	const struct timespec from =
		before_moment(json_string_value(json_object_get(rank, "started")));
	struct stat st = {0};

	stat(record, &st);
	for (size_t i = 0; i < ARRAY_SIZE(streams) && !past->lines; i++) {
		const char *log = json_string_value(json_object_get(rank, streams[i]));
		CLEANUP_FREE char *found = log ? find_log(log, record) : NULL;
		CLEANUP_FREE char *lines = found ? log_last_lines(found, &from, &st.st_mtim) : NULL;
		struct strbuf name = {0}, shown = {0};

		if (lines || (log && !past->log)) {
			escape_all(&name, found ? found : log);
			strbuf_puts(&name, found || *log == '/' ? "" : " in the run's folder");
			free(past->log);
			past->log = strbuf_take(&name);
		}
		if (lines) {
			put_lines(&shown, lines);
			past->lines = strbuf_take(&shown);
		}
	}
}

/* "20261129-032020-7 on host ended at 2026-11-29T03:20:27.549Z with status 3 (time limit): rank 1
 * failed first, with status 3". NULL: the record does not have that. */
static char *past_end(const json_t *o, const json_t *rank)
{
	const char *host = json_string_value(json_object_get(o, "host"));
	const char *at = json_string_value(json_object_get(o, "ended"));
	const char *cause = json_string_value(json_object_get(o, "cause"));
	const json_t *status = json_object_get(o, "status");
	struct strbuf buf = {0};

	if (!at || !json_is_integer(status))
		return NULL;
	escape_all(&buf, json_string_value(json_object_get(o, "run")));
	strbuf_puts(&buf, " on ");
	escape_all(&buf, host ? host : "-");
	strbuf_puts(&buf, " ended at ");
	escape_all(&buf, at);
	strbuf_printf(&buf, " with status %lld", (long long)json_integer_value(status));
	if (cause && !streq(cause, record_cause(LAUNCH_DONE))) {
		strbuf_puts(&buf, " (");
		escape_all(&buf, cause);
		strbuf_puts(&buf, ")");
	}
	if (rank) {
		strbuf_puts(&buf, ": ");
		put_failed(&buf, rank);
	}
	return strbuf_take(&buf);
}

int record_look(struct record_past *ret, const char *path, gpumap_report *report)
{
	json_auto_t *o = NULL;
	json_t *verified;
	CLEANUP_FREE char *file = NULL;
	int r = read_record(&o, &file, path, report);

	*ret = (struct record_past){0};
	if (r == GPUMAP_OK && !is_record(o))
		r = no_record(file, "it has no run", report);
	if (r == GPUMAP_OK) {
		const json_t *rank = first_failed(o);

		ret->run = xstrdup(json_string_value(json_object_get(o, "run")));
		ret->end = past_end(o, rank);
		if (ret->end && rank)
			past_log(ret, rank, file);
		verified = json_object_get(o, "verify");
		ret->verified = json_is_object(verified) ? json_incref(verified) : NULL;
	}
	return r;
}

void record_past_free(struct record_past *past)
{
	free(past->run);
	free(past->end);
	free(past->log);
	free(past->lines);
	json_decref(past->verified);
	*past = (struct record_past){0};
}
