/* SPDX-License-Identifier: MIT */
/* The reports of a run besides its losses: devices, memory, times of ranks, and what was saved. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint/folder.h"
#include "memory.h"
#include "report/summary.h"
#include "run/run.h"

void *run_collect(struct run *r, const void *mine, int count, size_t size, int *total,
		  const char *what, struct train_error *error)
{
	struct communicator *comm = r->comm;
	int32_t own = count, max = 0;
	CLEANUP_FREE int32_t *counts = gather_all(comm, &own, sizeof(own), what, error);
	CLEANUP_FREE char *padded = NULL, *each = NULL;
	char *all, *to;

	*total = 0;
	for (int i = 0; counts && i < comm->world; i++) {
		max = counts[i] > max ? counts[i] : max;
		*total += counts[i];
	}
	if (!counts)
		return NULL;
	padded = xcalloc((size_t)max, size);
	if (count > 0)
		memcpy(padded, mine, (size_t)count * size);
	each = gather_all(comm, padded, (size_t)max * size, what, error);
	if (!each)
		return NULL;
	to = all = xcalloc((size_t)*total, size);
	for (int i = 0; i < comm->world; i++) {
		memcpy(to, each + (size_t)i * (size_t)max * size, (size_t)counts[i] * size);
		to += (size_t)counts[i] * size;
	}
	return all;
}

const struct place_device *run_place_device(const struct run *r, int i)
{
	const struct place *place = &r->training->place;

	return &place->devices[r->settings->mode == MODE_DP ? i : place->ranks > 1 ? r->rank : 0];
}

/* For a MIG instance the driver names the GPU. */
const char *run_device_uuid(const struct run *r, int i)
{
	const char *mapped = run_place_device(r, i)->uuid, *real = r->parallel->device[i]->uuid;

	return real && strncmp(mapped, "MIG-", 4) != 0 ? real : mapped;
}

static void name_layers(struct summary_device *d, const struct model_spec *spec, int first,
			int last)
{
	if (first == last)
		snprintf(d->layers, sizeof(d->layers), "%s", spec->layers[first].name);
	else
		snprintf(d->layers, sizeof(d->layers), "%s to %s", spec->layers[first].name,
			 spec->layers[last].name);
}

static void describe(const struct run *r, int i, struct summary_device *d)
{
	const struct place *place = &r->training->place;
	const struct parallel *p = r->parallel;
	const struct device *real = p->device[i];
	const struct place_device *device = run_place_device(r, i);

	*d = (struct summary_device){
		.rank = r->rank,
		.local_rank = place->ranks > 1 ? r->rank : place->local_rank,
		.logical = device->logical,
		.physical = device->physical,
		.index = i,
		.bytes = (int64_t)p->device[i]->bytes,
		.peak_bytes = (int64_t)p->device[i]->peak_bytes,
	};
	if (place->world > place->local_world)
		gethostname(d->host, sizeof(d->host) - 1);
	snprintf(d->uuid, sizeof(d->uuid), "%s", run_device_uuid(r, i));
	snprintf(d->pci, sizeof(d->pci), "%s", real->pci ? real->pci : "");
	snprintf(d->name, sizeof(d->name), "%s", device->name);
	switch (r->settings->mode) {
	case MODE_SINGLE:
		break;
	case MODE_DP:
		d->role = i == place->master ? SUMMARY_MASTER : SUMMARY_REPLICA;
		break;
	case MODE_DDP:
		d->role = SUMMARY_REPLICA;
		d->index = r->rank;
		break;
	case MODE_MP:
		d->role = SUMMARY_STAGE;
		d->index = r->rank;
		name_layers(d, r->training->spec, p->first_layer[i], p->last_layer[i]);
		break;
	}
}

static struct summary_device *collect_devices(struct run *r, int *count, struct train_error *error)
{
	struct summary_device mine[PLACE_MAX_DEVICES];

	for (int i = 0; i < r->parallel->devices; i++)
		describe(r, i, &mine[i]);
	return run_collect(r, mine, r->parallel->devices, sizeof(*mine), count, "devices", error);
}

bool run_report_places(struct run *r, struct train_error *error)
{
	int count;
	CLEANUP_FREE struct summary_device *all = collect_devices(r, &count, error);

	if (all && r->rank == 0) {
		summary_places(stdout, all, count);
		if (*r->training->place.assumption)
			printf("Assumed: %s\n", r->training->place.assumption);
		run_report_beginning(r, count);
		fflush(stdout);
	}
	return all;
}

static bool report_memory_and_times(struct run *r, struct train_error *error)
{
	CLEANUP_FREE struct summary_device *devices = NULL;
	CLEANUP_FREE struct summary_rank *ranks = NULL;
	struct summary_rank mine = {.rank = r->rank,
				    .physical = r->parallel->device[0]->physical,
				    .steps = r->counted,
				    .timed = r->timed,
				    .own_seconds = (double)r->own_ns * 1e-9,
				    .waited_seconds = (double)r->waited_ns * 1e-9};
	int device_count;

	if (r->training->place.world > r->training->place.local_world)
		gethostname(mine.host, sizeof(mine.host) - 1);
	devices = collect_devices(r, &device_count, error);
	if (devices)
		ranks = gather_all(r->comm, &mine, sizeof(mine), "times of ranks", error);
	if (ranks && r->rank == 0) {
		summary_memory(stdout, devices, device_count);
		if (r->comm->world > 1)
			summary_times(stdout, ranks, r->comm->world);
		fflush(stdout);
	}
	return ranks;
}

static bool write_profile(struct run *r, const struct timeline_interval *all, int count,
			  struct train_error *error)
{
	const char *who = r->settings->mode == MODE_DP ? "replica" : "rank";
	char svg[4096], json[4096];

	snprintf(svg, sizeof(svg), "%s.svg", r->settings->profile_to);
	snprintf(json, sizeof(json), "%s.json", r->settings->profile_to);
	return timeline_svg(svg, all, count, who, error) &&
	       timeline_json(json, all, count, who, error);
}

static bool report_lost(struct run *r, int64_t mine, struct train_error *error)
{
	int64_t lost = 0;
	CLEANUP_FREE int64_t *all =
		gather_all(r->comm, &mine, sizeof(mine), "the time line", error);

	for (int i = 0; all && i < r->comm->world; i++)
		lost += all[i];
	if (all && r->rank == 0 && lost > 0)
		fprintf(stderr,
			"gpumap-train: warning: the time line lacks %lld parts, for which there "
			"was no room; give fewer --profile-steps\n",
			(long long)lost);
	return all;
}

static bool report_not_profiled(const struct run *r)
{
	if (r->rank == 0)
		fprintf(stderr,
			"gpumap-train: remark: no time line: of %lld steps none was measured, "
			"since that begins after the first %d; give more --steps or --epochs\n",
			(long long)r->counted, RUN_NOT_PROFILED);
	return true;
}

static bool report_profile(struct run *r, struct train_error *error)
{
	const struct parallel *p = r->parallel;
	CLEANUP_FREE struct timeline_interval *mine = NULL;
	CLEANUP_FREE struct timeline_interval *all = NULL;
	int64_t lost = 0;
	int count = 0, next = 0, total;

	for (int i = 0; i < p->timelines; i++) {
		count += p->timeline[i]->count;
		lost += p->timeline[i]->lost;
	}
	mine = xmalloc((size_t)count * sizeof(*mine));
	for (int i = 0; i < p->timelines; next += p->timeline[i++]->count)
		memcpy(mine + next, p->timeline[i]->intervals,
		       (size_t)p->timeline[i]->count * sizeof(*mine));
	all = run_collect(r, mine, count, sizeof(*mine), &total, "the time line", error);
	return all && report_lost(r, lost, error) &&
	       (r->rank != 0 || write_profile(r, all, total, error));
}

bool run_finish(struct run *r, struct train_error *error)
{
	if (r->settings->profile_steps > 0 &&
	    !(r->profiled > 0 ? report_profile(r, error) : report_not_profiled(r)))
		return false;
	return report_memory_and_times(r, error);
}

/* --- what was saved ------------------------------------------------------------------------ */

/* One more file of the list. */
__attribute__((format(printf, 2, 3))) static void list(int *listed, const char *format, ...)
{
	va_list args;

	fputs((*listed)++ ? ", " : "Saved: ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

static void report_files(const struct run *r)
{
	const struct settings *s = r->settings;
	char name[CHECKPOINT_NAME];
	int listed = 0;

	/* A stopped run reports it on stderr. */
	if (r->saved && !r->stopped)
		list(&listed, "%s/%s", s->checkpoint, folder_name(name, r->saved));
	if (s->metrics)
		list(&listed, "%s", s->metrics);
	if (s->plot)
		list(&listed, "%s", s->plot);
	if (r->profiled)
		list(&listed, "%s.svg, %s.json (time line of %lld step%s)", s->profile_to,
		     s->profile_to, (long long)r->profiled, r->profiled == 1 ? "" : "s");
	if (listed)
		putchar('\n');
	if (!s->checkpoint && !s->burn_ms && !r->stopped)
		puts("The trained weights were not saved; --checkpoint DIR saves them");
}

static void report_stopped(const struct run *r)
{
	const struct settings *s = r->settings;
	char name[CHECKPOINT_NAME];

	fprintf(stderr, "gpumap-train: stopped at step %lld of %lld, ", (long long)r->step,
		(long long)r->steps);
	if (s->checkpoint)
		fprintf(stderr, "saved %s/%s; continue with %s\n", s->checkpoint,
			folder_name(name, r->saved),
			s->resume ? "the same command" : "the same command and --resume");
	else
		fputs("nothing was saved; give --checkpoint DIR next time, and --resume continues "
		      "from there\n",
		      stderr);
}

bool run_report_saved(const struct run *r, struct train_error *error)
{
	report_files(r);
	if (r->stopped && !r->settings->burn_ms)
		report_stopped(r);
	return (fflush(stdout) == 0 && !ferror(stdout)) ||
	       train_fail(error, TRAIN_FAILED,
			  "standard output cannot be written; the %s is done, and its tables are "
			  "lost",
			  r->settings->burn_ms ? "burn test" : "training");
}
