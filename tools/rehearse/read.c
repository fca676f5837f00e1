/* SPDX-License-Identifier: MIT */
/* Reads what the processes of a rehearsal have recorded. */
#include "rehearse/rehearse.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "closing.h"
#include "readfile.h"
#include "rehearse/slurm.h"
#include "report/report.h"

enum { MAX_RECORD = 64 << 20 };

const char *rehearsed_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

int64_t rehearsed_number(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

const json_t *rehearsed_list(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	/* Of a value that is no array, jansson says that it has no elements. */
	return json_is_array(value) ? value : object;
}

void rehearsed_gpu(struct strbuf *buf, const json_t *device)
{
	int64_t physical = rehearsed_number(device, "physical");

	if (physical >= 0)
		strbuf_printf(buf, "GPU %lld", (long long)physical);
	else
		strbuf_puts(buf, rehearsed_text(device, "uuid"));
}

void rehearsed_who(struct strbuf *buf, const struct rehearsed *process)
{
	if (process->rank >= 0)
		strbuf_printf(buf, "rank %lld", (long long)process->rank);
	else
		strbuf_printf(buf, "process %lld", (long long)process->pid);
}

void rehearsed_size(struct strbuf *buf, int64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
	double size = (double)bytes;
	size_t unit = 0;

	while (size >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
		size /= 1024;
		unit++;
	}
	strbuf_printf(buf, unit ? "%.1f %s" : "%.0f %s", size, units[unit]);
}

bool rehearsed_same_host(const struct rehearsed *a, const struct rehearsed *b)
{
	return streq(rehearsed_text(a->record, "host"), rehearsed_text(b->record, "host"));
}

bool rehearsed_same_gpu(const json_t *a, const json_t *b)
{
	const char *uuid = rehearsed_text(a, "uuid");

	return *uuid ? streq(uuid, rehearsed_text(b, "uuid"))
		     : rehearsed_number(a, "physical") == rehearsed_number(b, "physical");
}

const struct rehearsed *rehearsal_owner(const struct rehearsal *rehearsal,
					const struct rehearsed *self, const json_t *device)
{
	for (size_t i = 0; i < rehearsal->count; i++) {
		const struct rehearsed *other = &rehearsal->processes[i];

		if (other != self && other->rank >= 0 && other->home &&
		    rehearsed_same_host(other, self) && rehearsed_same_gpu(other->home, device))
			return other;
	}
	return NULL;
}

/* --- reading ---------------------------------------------------------------------------- */

/* The rank that init_process_group gave, or a launcher. */
static int64_t rank_of(const json_t *record)
{
	int64_t rank = rehearsed_number(record, "rank");
	const char *variable = rehearsed_text(json_object_get(record, "variables"), "RANK");

	return rank >= 0 ? rank : span_number(span_of(variable), INT32_MAX);
}

/* Where DistributedDataParallel has its module; else where most of its tensors were. */
static const json_t *home_of(const json_t *record)
{
	const json_t *devices = rehearsed_list(record, "devices"), *home = NULL;
	const json_t *wrapped = json_array_get(json_object_get(record, "wrapped"), 0);
	int64_t ordinal = rehearsed_number(wrapped, "ordinal"), most = 0;

	for (size_t i = 0; i < json_array_size(devices); i++) {
		const json_t *device = json_array_get(devices, i);
		int64_t peak = rehearsed_number(device, "peak_bytes");

		if (ordinal >= 0 && rehearsed_number(device, "logical") == ordinal)
			return device;
		if (peak > most) {
			most = peak;
			home = device;
		}
	}
	return home;
}

/* Launchers import PyTorch too, and compute nothing. */
static bool did_something(const json_t *record)
{
	return json_array_size(rehearsed_list(record, "events")) ||
	       json_array_size(rehearsed_list(record, "raised")) ||
	       rehearsed_number(record, "steps") > 0 ||
	       json_object_get(record, "wanted_world_size");
}

static int compare(const void *a, const void *b)
{
	const struct rehearsed *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank > y->rank ? 1 : -1;
	if (x->started != y->started)
		return x->started > y->started ? 1 : -1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool add(struct rehearsal *r, size_t *room, json_t *record)
{
	double started = json_number_value(json_object_get(record, "started"));

	if (!ARRAY_ROOM(r->processes, r->count, *room))
		return false;
	r->processes[r->count++] = (struct rehearsed){
		.record = record,
		.rank = rank_of(record),
		.pid = rehearsed_number(record, "pid"),
		.started = started > 0 && started < 1e12 ? (int64_t)(started * 1e3) : 0,
		.home = home_of(record),
	};
	return true;
}

static int read_one(struct rehearsal *r, size_t *room, const char *path, gpumap_report *report)
{
	json_error_t error;
	json_t *record;
	CLEANUP_FREE char *text = NULL;
	size_t size;
	int why = read_file(path, false, MAX_RECORD, &text, &size);

	r->imported = true;
	if (why)
		return report_read(report, why, path, "the record of a process", MAX_RECORD, NULL);
	record = json_loadb(text, size, 0, &error);
	if (!json_is_object(record)) {
		json_decref(record);
		return report_fail(report, GPUMAP_EFILE, FINDING_REHEARSE, ABOUT(.origin = path),
				   "the record of a process cannot be read: %s",
				   record ? "it is no object" : error.text);
	}
	if (did_something(record) && add(r, room, record))
		return GPUMAP_OK;
	why = did_something(record);
	json_decref(record);
	return why ? report_nomem(report) : GPUMAP_OK;
}

/* PID.json.new: a process writes its record under this name, and renames it when it is whole. */
static int judge_part(struct rehearsal *r, const char *name, gpumap_report *report)
{
	struct span rest = span_of(name), pid;

	span_split(&rest, '.', &pid);
	if (span_number(pid, INT32_MAX) <= 0 || kill((pid_t)span_number(pid, INT32_MAX), 0) == 0 ||
	    errno != ESRCH)
		return GPUMAP_OK;
	r->imported = true;
	return report_fail(report, GPUMAP_EFILE, FINDING_REHEARSE,
			   ABOUT(.fix = "set TMPDIR to a folder with more space, unless it was "
					"killed"),
			   "the last record of process %s is not whole", QUOTE(pid));
}

/* Whether `b` is the same rank as `a`, started again. A program that sets RANK itself makes one
 * rank of several processes. */
static bool started_again(const struct rehearsed *a, const struct rehearsed *b)
{
	return a->rank >= 0 && a->rank == b->rank &&
	       streq(rehearsed_text(json_object_get(a->record, "variables"), "LOCAL_RANK"),
		     rehearsed_text(json_object_get(b->record, "variables"), "LOCAL_RANK"));
}

/* Of a rank that was started again the last process counts. */
static void drop_earlier(struct rehearsal *r)
{
	size_t kept = 0;

	qsort(r->processes, r->count, sizeof(*r->processes), compare);
	for (size_t i = 0; i < r->count; i++) {
		const struct rehearsed *next = i + 1 < r->count ? &r->processes[i + 1] : NULL;

		if (next && started_again(&r->processes[i], next))
			json_decref(r->processes[i].record);
		else
			r->processes[kept++] = r->processes[i];
	}
	r->count = kept;
}

static void read_not_rehearsed(struct rehearsal *r, const char *folder)
{
	char path[PATH_MAX];
	size_t size;

	if (snprintf(path, sizeof(path), "%s/" REHEARSE_NOT, folder) < PATH_MAX)
		read_file(path, false, MAX_RECORD, &r->not_rehearsed, &size);
}

int rehearsal_read(struct rehearsal *ret, const char *folder, gpumap_report *report)
{
	CLEANUP_FOLDER DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[PATH_MAX];
	size_t room = 0;
	int r = GPUMAP_OK;

	ret->imported = !dir;
	if (!dir)
		return report_fail(
			report, GPUMAP_EFILE, FINDING_FILE_ACCESS,
			ABOUT(.origin = folder, .fix = "let the program leave this folder alone"),
			"cannot be read: %s", strerror(errno));
	while (r != GPUMAP_ENOMEM && (entry = readdir(dir))) {
		int one = GPUMAP_OK;

		if (text_ends(entry->d_name, ".json.new"))
			one = judge_part(ret, entry->d_name, report);
		else if (text_ends(entry->d_name, ".json") &&
			 snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) < PATH_MAX)
			one = read_one(ret, &room, path, report);
		r = one == GPUMAP_OK ? r : one;
	}
	read_not_rehearsed(ret, folder);
	if (ret->count)
		drop_earlier(ret);
	return r;
}

void rehearsal_free(struct rehearsal *rehearsal)
{
	for (size_t i = 0; i < rehearsal->count; i++)
		json_decref(rehearsal->processes[i].record);
	free(rehearsal->processes);
	free(rehearsal->not_rehearsed);
}
