/* SPDX-License-Identifier: MIT */
/* See run_record.h. */
#include "job/run_record.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "explain/json.h"
#include "explain/plan.h"
#include "strbuf.h"
#include "text/writefile.h"

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

const char *record_cause(enum launch_cause cause)
{
	static const char *const words[] = {"done", "signalled", "time limit", "refused", "broken"};

	return words[cause];
}

static json_t *exit_json(const struct record *record, size_t l)
{
	static const struct launch_exit never = {.status = -1};
	const struct launch_exit *e =
		record->result && l < record->result->count && record->result->ranks[l].pid
			? &record->result->ranks[l]
			: &never;
	const struct launch_rank *rank = &record->ranks->ranks[l];

	return JSON_OBJECT({"rank", json_integer(rank->rank)},
			   {"pid", e->pid ? json_integer(e->pid) : json_null()},
			   {"started", e->pid ? moment(&e->started) : json_null()},
			   {"ended", e->pid ? moment(&e->ended) : json_null()},
			   {"status", e->status < 0 ? json_null() : json_integer(e->status)},
			   {"signal", e->signal ? json_integer(e->signal) : json_null()},
			   {"first", json_boolean(e->first)}, {"told", json_boolean(e->stopped)},
			   {"stdout", json_text(rank->out_path)},
			   {"stderr", json_text(rank->err_path)});
}

/* The entry of the same name; NULL: there is none. */
static const char *same_name(char *const *envp, const char *entry)
{
	size_t length = strcspn(entry, "=");

	while (*envp && strncmp(*envp, entry, length + 1) != 0)
		envp++;
	return *envp;
}

enum { MAX_NAME = 256 };

/* A name may hold any bytes. */
static void put_variable(json_t **object, const char *variable, json_t *value)
{
	json_t *name = json_text(FORMAT("%.*s", (int)strcspn(variable, "="), variable));

	json_put(object, json_string_value(name), value);
	json_decref(name);
}

/* The variables of the first rank that differ from the shell's. The rest is the user's own and may
 * be secret. */
static json_t *difference_json(const struct record *record)
{
	json_t *o = json_object();
	char *const *envp =
		record->ranks && record->ranks->launch.count ? record->ranks->ranks[0].envp : NULL;

	for (char *const *e = envp; e && *e; e++) {
		size_t length = strcspn(*e, "=");

		if (!text_same(same_name(environ, *e), *e) && length < MAX_NAME && (*e)[length])
			put_variable(&o, *e, json_text(*e + length + 1));
	}
	for (char **e = environ; envp && *e; e++) {
		size_t length = strcspn(*e, "=");

		if (!same_name(envp, *e) && length < MAX_NAME)
			put_variable(&o, *e, json_null());
	}
	return o;
}

bool record_plan(struct record *record, const gpumap_plan *plan)
{
	record->plan = plan_json_keeps(plan) ? plan_json(plan, NULL) : json_null();
	return record->plan;
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

static json_t *record_json(const struct record *record)
{
	const struct launch_result *result = record->result;
	const gpumap_plan *plan = record->run->plan;
	struct utsname system = {.nodename = ""};

	uname(&system);
	return JSON_DOCUMENT(
		"run", {"kind", json_string("run")}, {"version", json_string(gpumap_version())},
		{"kernel", json_text(system.release)}, {"host", json_text(system.nodename)},
		{"run", json_text(gpumap_plan_str(plan, GPUMAP_PLAN_RUN))},
		{"node", json_number(record->run->node)},
		{"command_line", json_texts(record->run->words)},
		{"started", moment(&record->started)}, {"ended", moment(&record->ended)},
		{"status", result ? json_integer(result->status) : json_null()},
		{"cause", result ? json_string(record_cause(result->cause)) : json_null()},
		{"restarts", json_integer(result ? result->restarts : 0)},
		{"cgroup", result ? json_boolean(result->in_cgroup) : json_null()},
		{"environment", difference_json(record)},
		{"ranks", JSON_LIST(l, record->ranks ? record->ranks->launch.count : 0,
				    exit_json(record, l))},
		{"plan", record->plan ? json_incref(record->plan) : json_null()},
		{"verify", record->verified ? json_incref(record->verified) : json_null()},
		{"findings", json_findings(record->report)});
}

/* NULL without memory; the caller frees it. */
static char *record_text(const struct record *record)
{
	struct strbuf buf = {0};

	json_dump(&buf, record_json(record));
	return strbuf_take(&buf);
}

int record_place(char **ret, const struct record *record, gpumap_report *report)
{
	const struct run *run = record->run;
	struct strbuf buf = {0};
	CLEANUP_FREE char *folder = NULL;
	int code;

	if (run->manifest) {
		*ret = strdup(run->manifest);
		return *ret ? GPUMAP_OK : report_nomem(report);
	}
	code = gpumap_plan_expand_setting(&folder, run->plan, "log_dir",
					  (int64_t)record->ranks->first, "record", report);
	if (code != GPUMAP_OK || !*folder)
		return code;
	strbuf_printf(&buf, "%s/run-%s", folder, gpumap_plan_str(run->plan, GPUMAP_PLAN_RUN));
	if (run->plan->host_count > 1)
		strbuf_printf(&buf, "-node%lld", (long long)run->node);
	strbuf_puts(&buf, ".json");
	*ret = strbuf_take(&buf);
	return *ret ? GPUMAP_OK : report_nomem(report);
}

int record_write(const struct record *record, const char *path, gpumap_report *report)
{
	CLEANUP_FREE char *text = record_text(record);

	return text ? write_file(path, span_of(text), "the record of the run", report)
		    : report_nomem(report);
}

int record_keep_output(const struct run *run)
{
	int out = run->json ? dup(STDOUT_FILENO) : -1;

	if (out >= 0)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	return out;
}

void record_give_back_output(int out)
{
	if (out < 0)
		return;
	dup2(out, STDOUT_FILENO);
	close(out);
}

bool record_print(const struct record *record, gpumap_report *report)
{
	CLEANUP_FREE char *text = record_text(record);

	return (text ? print_text(text, report) : report_nomem(report)) == GPUMAP_OK;
}
