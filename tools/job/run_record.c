/* SPDX-License-Identifier: MIT */
/* See run_record.h. */
#include "job/run_record.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "explain/json.h"
#include "explain/plan.h"
#include "memory.h"
#include "readfile.h"
#include "strbuf.h"
#include "text/writefile.h"

enum { MAX_BYTES = 256 << 20 };

/* "2026-11-21T19:30:00.123Z"; null: never. */
static json_t *moment(const struct timespec *at)
{
	char text[64], seconds[32];
	struct tm tm;

	if (!at->tv_sec || !gmtime_r(&at->tv_sec, &tm))
		return json_null();
	strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%03ldZ", seconds, at->tv_nsec / 1000000);
	return json_string(text);
}

static const char *cause_word(enum launch_cause cause)
{
	static const char *const words[] = {"done", "signalled", "time limit", "refused", "broken"};

	return words[cause];
}

static json_t *exit_json(const struct record *record, size_t l, bool *failed)
{
	static const struct launch_exit never = {.status = -1};
	const struct launch_exit *e =
		record->result && l < record->result->count && record->result->ranks[l].pid
			? &record->result->ranks[l]
			: &never;
	const struct launch_rank *rank = &record->ranks->ranks[l];

	return JSON_OBJECT(failed, {"rank", json_integer(rank->rank)},
			   {"pid", e->pid ? json_integer(e->pid) : json_null()},
			   {"started", e->pid ? moment(&e->started) : json_null()},
			   {"ended", e->pid ? moment(&e->ended) : json_null()},
			   {"status", e->status < 0 ? json_null() : json_integer(e->status)},
			   {"signal", e->signal ? json_integer(e->signal) : json_null()},
			   {"first", json_boolean(e->first)}, {"told", json_boolean(e->stopped)},
			   {"stdout", json_text(rank->out_path)},
			   {"stderr", json_text(rank->err_path)});
}

static json_t *exits_json(const struct record *record, bool *failed)
{
	json_t *array = json_array();

	for (size_t l = 0; record->ranks && l < record->ranks->launch.count; l++)
		json_push(array, exit_json(record, l, failed), failed);
	return array;
}

static bool had(const char *entry)
{
	size_t length = strcspn(entry, "=");

	for (char **e = environ; *e; e++)
		if (strncmp(*e, entry, length + 1) == 0)
			return streq(*e, entry);
	return false;
}

static bool keeps(char *const *envp, const char *entry)
{
	size_t length = strcspn(entry, "=");

	for (; *envp; envp++)
		if (strncmp(*envp, entry, length + 1) == 0)
			return true;
	return false;
}

/* The variables of the first rank that differ from the shell's. The rest is the user's own and may
 * be secret. */
static json_t *difference_json(const struct record *record, bool *failed)
{
	json_t *o = json_object();
	char *const *envp =
		record->ranks && record->ranks->launch.count ? record->ranks->ranks[0].envp : NULL;

	for (char *const *e = envp; e && *e; e++) {
		size_t length = strcspn(*e, "=");
		char name[256];

		if (had(*e) || length >= sizeof(name) || !(*e)[length])
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)length, *e);
		json_put(o, name, json_text(*e + length + 1), failed);
	}
	for (char **e = environ; envp && *e; e++) {
		size_t length = strcspn(*e, "=");
		char name[256];

		if (keeps(envp, *e) || length >= sizeof(name))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)length, *e);
		json_put(o, name, json_null(), failed);
	}
	return o;
}

static json_t *words_json(char *const *words, bool *failed)
{
	json_t *array = json_array();

	for (; words && *words; words++)
		json_push(array, json_text(*words), failed);
	return array;
}

bool record_plan(struct record *record, const gpumap_plan *plan)
{
	bool failed = false;

	record->plan = plan_json_keeps(plan) ? plan_json(plan, NULL, &failed) : json_null();
	return record->plan && !failed;
}

void record_verify(struct record *record, const char *found)
{
	json_decref(record->verified);
	record->verified = found ? json_loads(found, 0, NULL) : NULL;
}

void record_free(struct record *record)
{
	json_decref(record->plan);
	json_decref(record->verified);
}

static json_t *record_json(const struct record *record, bool *failed)
{
	const struct launch_result *result = record->result;
	const gpumap_plan *plan = record->run->plan;
	struct utsname system = {.nodename = ""};

	uname(&system);
	return JSON_OBJECT(
		failed, JSON_HEAD("run"), {"kind", json_string("run")},
		{"version", json_string(gpumap_version())}, {"kernel", json_text(system.release)},
		{"host", json_text(system.nodename)},
		{"run", json_text(gpumap_plan_str(plan, GPUMAP_PLAN_RUN))},
		{"node", json_number(record->run->node)},
		{"command_line", words_json(record->run->words, failed)},
		{"started", moment(&record->started)}, {"ended", moment(&record->ended)},
		{"status", result ? json_integer(result->status) : json_null()},
		{"cause", result ? json_string(cause_word(result->cause)) : json_null()},
		{"restarts", json_integer(result ? result->restarts : 0)},
		{"cgroup", result ? json_boolean(result->in_cgroup) : json_null()},
		{"environment", difference_json(record, failed)},
		{"ranks", exits_json(record, failed)},
		{"plan", record->plan ? json_incref(record->plan) : json_null()},
		{"verify", record->verified ? json_incref(record->verified) : json_null()},
		{"findings", json_findings(record->report, failed)});
}

char *record_text(const struct record *record)
{
	struct strbuf buf = {0};
	bool failed = false;
	json_t *o = record_json(record, &failed);

	json_dump(&buf, o, failed || !o);
	return strbuf_take(&buf);
}

int record_place(char **ret, const struct record *record, gpumap_report *report)
{
	const struct run *run = record->run;
	struct strbuf buf = {0};
	char *folder = NULL;
	int code;

	if (run->manifest) {
		*ret = strdup(run->manifest);
		return *ret ? GPUMAP_OK : report_nomem(report);
	}
	code = gpumap_plan_expand_setting(&folder, run->plan, "log_dir",
					  (int64_t)record->ranks->first, "record", report);
	if (code != GPUMAP_OK || !*folder) {
		free(folder);
		return code;
	}
	strbuf_printf(&buf, "%s/run-%s", folder, gpumap_plan_str(run->plan, GPUMAP_PLAN_RUN));
	if (job_host_count(run->plan) > 1)
		strbuf_printf(&buf, "-node%lld", (long long)run->node);
	strbuf_puts(&buf, ".json");
	free(folder);
	*ret = strbuf_take(&buf);
	return *ret ? GPUMAP_OK : report_nomem(report);
}

int record_write(const struct record *record, const char *path, gpumap_report *report)
{
	char *text = record_text(record);
	int r = text ? write_file(path, span_of(text), "the record of the run", report)
		     : report_nomem(report);

	free(text);
	return r;
}

static int no_record(const char *path, const char *what, gpumap_report *report)
{
	return report_fail(
		report, GPUMAP_EINPUT, FINDING_NOT_A_PLAN,
		ABOUT(.origin = path,
		      .fix = "name a record that gpumap run wrote; a plan is for --plan"),
		"not a record of a run, or truncated (%s)", what);
}

char *record_last(const char *path)
{
	DIR *dir = opendir(path);
	struct timespec last = {0};
	struct strbuf ret = {0};
	struct dirent *entry;
	struct stat st;

	while (dir && (entry = readdir(dir))) {
		if (!starts_with(entry->d_name, "run-") || !text_ends(entry->d_name, ".json") ||
		    fstatat(dirfd(dir), entry->d_name, &st, 0) != 0 || !S_ISREG(st.st_mode) ||
		    st.st_mtim.tv_sec < last.tv_sec ||
		    (st.st_mtim.tv_sec == last.tv_sec && st.st_mtim.tv_nsec < last.tv_nsec))
			continue;
		last = st.st_mtim;
		ret.length = 0;
		strbuf_printf(&ret, "%s/%s", path, entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (!ret.length)
		strbuf_puts(&ret, path);
	return strbuf_take(&ret);
}

static int read_json(json_t **ret, const char *path, gpumap_report *report)
{
	json_error_t error;
	char *text = NULL;
	size_t size;
	int code = read_file(path, true, MAX_BYTES, &text, &size);

	if (code)
		return report_read(report, code, path, "the record of the run", MAX_BYTES,
				   code == EISDIR ? "it has no record; gpumap run --log-dir DIR "
						    "writes one there"
						  : NULL);
	*ret = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	free(text);
	if (*ret)
		return GPUMAP_OK;
	if (!*error.text || json_error_code(&error) == json_error_out_of_memory)
		return report_nomem(report);
	return no_record(path, QUOTE(span_of(error.text)), report);
}

int record_read(gpumap_plan **ret, const char *path, gpumap_report *report)
{
	json_t *o = NULL, *plan;
	int r = read_json(&o, path, report);

	if (r != GPUMAP_OK)
		return r;
	plan = json_object_get(o, "plan");
	if (!json_is_object(plan))
		r = no_record(path, "it has no plan", report);
	else
		r = job_read(ret, plan, path, report);
	json_decref(o);
	return r;
}

int record_run(char **ret, const char *path, gpumap_report *report)
{
	json_t *o = NULL;
	const char *run;
	int r = read_json(&o, path, report);

	if (r != GPUMAP_OK)
		return r;
	run = json_string_value(json_object_get(o, "run"));
	if (!run || !json_object_get(o, "ranks")) {
		r = no_record(path, "it has no run", report);
	} else {
		char *copy = strdup(run);

		if (copy)
			*ret = copy;
		else
			r = report_nomem(report);
	}
	json_decref(o);
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

/* The last lines of a log of the run with the record `path`. A relative path counts from the folder
 * where the run was started; elsewhere the log may be beside the record. *found: where it is; the
 * caller frees both. NULL: there are none. */
static char *log_of_record(char **found, const char *log, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = strrchr(log, '/');
	char *lines;
	struct stat st;

	if (stat(path, &st) != 0)
		return NULL;
	*found = xstrdup(log);
	lines = log_last_lines(*found, &st.st_mtim);
	if (lines)
		return lines;
	free(*found);
	xasprintf(found, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path,
		  name ? name + 1 : log);
	lines = log_last_lines(*found, &st.st_mtim);
	if (!lines)
		free(*found);
	return lines;
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

/* What a run ended with, as its log shows; `ended` is its record_ended(). NULL: no log does. */
static char *put_reason(const json_t *o, const json_t *rank, const char *ended, const char *path)
{
	static const char *const streams[] = {"stderr", "stdout"};
	const char *host = json_string_value(json_object_get(o, "host"));
	const char *run = json_string_value(json_object_get(o, "run"));
	struct strbuf buf = {0};

	for (size_t i = 0; i < ARRAY_SIZE(streams) && !buf.length; i++) {
		const char *log = json_string_value(json_object_get(rank, streams[i]));
		char *found = NULL, *lines = log ? log_of_record(&found, log, path) : NULL;

		if (!lines)
			continue;
		strbuf_puts(&buf, "Run ");
		escape_all(&buf, run ? run : "-");
		strbuf_puts(&buf, " on ");
		escape_all(&buf, host ? host : "-");
		strbuf_printf(&buf, " ended %s: ", ended);
		put_failed(&buf, rank);
		strbuf_puts(&buf, ".\n");
		escape_all(&buf, found);
		strbuf_puts(&buf, " ends:\n");
		put_lines(&buf, lines);
		free(found);
		free(lines);
	}
	return buf.length ? strbuf_take(&buf) : NULL;
}

int record_ended(char **ret, char **reason, const char *path, gpumap_report *report)
{
	const char *at, *cause, *log;
	struct strbuf buf = {0};
	const json_t *rank;
	json_t *o = NULL, *status;
	int r = read_json(&o, path, report);

	if (r != GPUMAP_OK)
		return r;
	at = json_string_value(json_object_get(o, "ended"));
	cause = json_string_value(json_object_get(o, "cause"));
	status = json_object_get(o, "status");
	rank = first_failed(o);
	if (at && json_is_integer(status)) {
		strbuf_puts(&buf, "at ");
		escape_all(&buf, at);
		strbuf_printf(&buf, " with status %lld", (long long)json_integer_value(status));
		if (cause && !streq(cause, cause_word(LAUNCH_DONE))) {
			strbuf_puts(&buf, " (");
			escape_all(&buf, cause);
			strbuf_puts(&buf, ")");
		}
		if (rank) {
			*reason = put_reason(o, rank, buf.text, path);
			log = json_string_value(json_object_get(rank, "stderr"));
			strbuf_puts(&buf, " (");
			put_failed(&buf, rank);
			strbuf_puts(&buf, log ? ": see " : "");
			escape_all(&buf, log ? log : "");
			strbuf_puts(&buf, ")");
		}
	}
	json_decref(o);
	if (buf.failed)
		r = report_nomem(report);
	*ret = buf.length ? strbuf_take(&buf) : NULL;
	return r;
}

int record_verified(json_t **ret, const char *path, gpumap_report *report)
{
	json_t *o = NULL, *verified;
	int r = read_json(&o, path, report);

	if (r != GPUMAP_OK)
		return r;
	verified = json_object_get(o, "verify");
	*ret = json_is_object(verified) ? json_incref(verified) : NULL;
	json_decref(o);
	return GPUMAP_OK;
}
