/* SPDX-License-Identifier: MIT */
/* The reports of a run besides its losses: devices, memory, and times of ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/summary.h"
#include "run/run.h"

bool run_collect(struct run *r, const void *mine, int count, size_t size, void **all, int *total,
		 const char *what, struct train_error *error)
{
	struct communicator *comm = r->comm;
	int32_t own = count, max = 0;
	int32_t *counts = gather_all(comm, &own, sizeof(own), what, error);
	char *padded = NULL, *each = NULL, *to;
	bool done = counts;

	*total = 0;
	for (int i = 0; done && i < comm->world; i++) {
		max = counts[i] > max ? counts[i] : max;
		*total += counts[i];
	}
	if (done) {
		padded = calloc((size_t)max + 1, size);
		*all = calloc((size_t)*total + 1, size);
		done = (padded && *all) || train_nomem(error, what);
	}
	if (done && count > 0)
		memcpy(padded, mine, (size_t)count * size);
	if (done)
		each = gather_all(comm, padded, (size_t)max * size, what, error);
	to = each ? *all : NULL;
	for (int i = 0; each && i < comm->world; i++) {
		memcpy(to, each + (size_t)i * (size_t)max * size, (size_t)counts[i] * size);
		to += (size_t)counts[i] * size;
	}
	done = each;
	free(counts);
	free(padded);
	free(each);
	return done;
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

static bool collect_devices(struct run *r, struct summary_device **all, int *count,
			    struct train_error *error)
{
	struct summary_device mine[PLACE_MAX_DEVICES];
	void *collected = NULL;
	bool done;

	for (int i = 0; i < r->parallel->devices; i++)
		describe(r, i, &mine[i]);
	done = run_collect(r, mine, r->parallel->devices, sizeof(*mine), &collected, count,
			   "devices", error);
	*all = collected;
	return done;
}

bool run_report_places(struct run *r, struct train_error *error)
{
	struct summary_device *all;
	int count;
	bool done = collect_devices(r, &all, &count, error);

	if (done && r->rank == 0) {
		summary_places(stdout, all, count);
		if (*r->training->place.assumption)
			printf("Assumed: %s\n", r->training->place.assumption);
		run_report_beginning(r, count);
		fflush(stdout);
	}
	free(all);
	return done;
}

static bool report_memory_and_times(struct run *r, struct train_error *error)
{
	struct summary_device *devices = NULL;
	struct summary_rank mine = {.rank = r->rank,
				    .physical = r->parallel->device[0]->physical,
				    .steps = r->counted,
				    .timed = r->timed,
				    .own_seconds = (double)r->own_ns * 1e-9,
				    .waited_seconds = (double)r->waited_ns * 1e-9};
	struct summary_rank *ranks = NULL;
	int device_count;
	bool done;

	if (r->training->place.world > r->training->place.local_world)
		gethostname(mine.host, sizeof(mine.host) - 1);
	if (collect_devices(r, &devices, &device_count, error))
		ranks = gather_all(r->comm, &mine, sizeof(mine), "times of ranks", error);
	done = ranks;
	if (done && r->rank == 0) {
		summary_memory(stdout, devices, device_count);
		if (r->comm->world > 1)
			summary_times(stdout, ranks, r->comm->world);
		fflush(stdout);
	}
	free(devices);
	free(ranks);
	return done;
}

static bool write_profile(struct run *r, const struct timeline_interval *all, int count,
			  struct train_error *error)
{
	const char *who = r->settings->mode == MODE_DP ? "replica" : "rank";
	char svg[4096], json[4096];

	snprintf(svg, sizeof(svg), "%s.svg", r->settings->profile_to);
	snprintf(json, sizeof(json), "%s.json", r->settings->profile_to);
	if (!timeline_svg(svg, all, count, who, error) ||
	    !timeline_json(json, all, count, who, error))
		return false;
	return true;
}

static bool report_lost(struct run *r, int64_t mine, struct train_error *error)
{
	int64_t lost = 0, *all = gather_all(r->comm, &mine, sizeof(mine), "the time line", error);
	bool done = all;

	for (int i = 0; done && i < r->comm->world; i++)
		lost += all[i];
	free(all);
	if (done && r->rank == 0 && lost > 0)
		fprintf(stderr,
			"gpumap-train: warning: the time line lacks %lld parts, for which there "
			"was "
			"no room; give fewer --profile-steps\n",
			(long long)lost);
	return done;
}

static bool report_not_profiled(const struct run *r)
{
	if (r->rank == 0)
		fprintf(stderr,
			"gpumap-train: remark: no time line: of %lld steps none was measured, "
			"since "
			"that begins after the first %d; give more --steps or --epochs\n",
			(long long)r->counted, RUN_NOT_PROFILED);
	return true;
}

static bool report_profile(struct run *r, struct train_error *error)
{
	const struct parallel *p = r->parallel;
	struct timeline_interval *mine;
	int64_t lost = 0;
	void *all = NULL;
	int count = 0, next = 0, total;
	bool done;

	for (int i = 0; i < p->timelines; i++) {
		count += p->timeline[i]->count;
		lost += p->timeline[i]->lost;
	}
	mine = malloc(((size_t)count + 1) * sizeof(*mine));
	if (!mine)
		return train_nomem(error, "the time line");
	for (int i = 0; i < p->timelines; next += p->timeline[i++]->count)
		memcpy(mine + next, p->timeline[i]->intervals,
		       (size_t)p->timeline[i]->count * sizeof(*mine));
	done = run_collect(r, mine, count, sizeof(*mine), &all, &total, "the time line", error) &&
	       report_lost(r, lost, error) && (r->rank != 0 || write_profile(r, all, total, error));
	free(mine);
	free(all);
	return done;
}

bool run_finish(struct run *r, struct train_error *error)
{
	if (r->settings->profile_steps > 0 &&
	    !(r->profiled > 0 ? report_profile(r, error) : report_not_profiled(r)))
		return false;
	return report_memory_and_times(r, error);
}
