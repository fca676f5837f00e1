/* SPDX-License-Identifier: MIT */
/* Rule S6a inside a rank of gpumap run, or of another launcher: it has only its own GPUs. */
#include "plan/build.h"

#include <stdio.h>

#include "plan/hosts.h"
#include "plan/job.h"
#include "strbuf.h"

/* The device that a local rank selects among those that the host's processes see; NULL: they see
 * only one, or it is not known. *none: there is no such device. */
static const gpumap_device *device_of_rank(const struct known_host *host, size_t local_rank,
					   bool *none)
{
	const gpumap_mapping *mapping =
		host->inherited_count ? host->inherited[host->inherited_count - 1].mapping : NULL;
	size_t count = mapping ? mapping->visible_count : host->inventory->count;

	*none = count > 1 && local_rank >= count;
	if (count < 2 || *none)
		return NULL;
	if (!mapping)
		return host->inventory->gpus[local_rank].mig_enabled == 1
			       ? NULL
			       : &host->inventory->gpus[local_rank];
	return entry_decided(&mapping->visible[local_rank])
		       ? mapping->visible[local_rank].candidates[0]
		       : NULL;
}

int hosts_limit_rank(gpumap_hosts *hosts, size_t i, int64_t local_rank, const char *launcher,
		     gpumap_report *report)
{
	struct known_host *host = i < hosts->count ? &hosts->hosts[i] : NULL;
	const gpumap_device *device;
	char number[24] = "";
	const char *origin;
	bool none;
	int r;

	if (!host || !host->inventory)
		return GPUMAP_OK;
	device = device_of_rank(host, (size_t)local_rank, &none);
	if (!device && !none)
		return GPUMAP_OK;
	if (device)
		snprintf(number, sizeof(number), "%d", device->physical);
	origin = arena_printf(&hosts->arena, "local rank %lld of %s", (long long)local_rank,
			      launcher);
	r = hosts_limit_to(hosts, host, PLAN_LIMIT_RANK, origin,
			   device && device->uuid ? device->uuid : number);
	return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
}

/* "GPU 1 alone", "GPU 0, GPU 1", "no GPU" */
static void label_own(struct strbuf *buf, const struct plan_inherited *limit)
{
	const gpumap_mapping *mapping = limit->mapping;
	size_t count;

	for (size_t i = 0; i < mapping->visible_count; i++) {
		const gpumap_device *const *devices = limit_devices(mapping, i, &count);

		for (size_t k = 0; k < count; k++)
			strbuf_printf(buf, "%s%s", i || k ? ", " : "", DEVICE_LABEL(devices[k]));
	}
	strbuf_puts(buf, !mapping->visible_count ? "no GPU" : "");
}

static void report_taken(struct builder *b, struct host_class *class,
			 const struct plan_inherited *limit, const char *labels, const char *own)
{
	static const char take[] =
		"write " SETTING("gpus = inherit") " to take its own, or start gpumap run once, "
						   "outside of the ranks";
	static const char none[] =
		"write " SETTING("gpus = none") ", or start gpumap run once, outside of the ranks";
	const struct plan_place *place = &class->settings->gpus.place;

	class->bad = true;
	plan_report(
		b, FINDING_OTHER_RANKS,
		ABOUT_PLACE(place, .rule = "S6a",
			    .fix = limit->mapping->visible_count ? take : none),
		SETTING("gpus") ": %s of %s would be taken from another rank: this is %s, which "
				"has %s%s",
		labels, class->host->name, limit->origin, own, MORE_HOSTS(class->host_count));
}

/* It is not known which GPUs are the rank's own. */
static void report_bad_own(struct builder *b, struct host_class *class,
			   const struct plan_inherited *limit)
{
	class->bad = true;
	plan_report(b, FINDING_BAD_VALUE,
		    ABOUT(.rule = "S6a", .origin = RUN_GPUS,
			  .fix = "gpumap run sets it in its ranks: unset it if this is not one of "
				 "them, else plan with an inventory of this host"),
		    "'%s' is not a GPU of %s%s", QUOTE(span_of(limit->bad)), class->host->name,
		    MORE_HOSTS(class->host_count));
}

/* The part that a rank takes of a list, if other ranks share the list. */
static void report_own(struct builder *b, const struct host_class *class,
		       const struct plan_inherited *limit, const char *own)
{
	plan_step(b, "S6a", limit->origin,
		  "gpus = inherit: of the GPUs that %s sees on %s, its own: %s", limit->origin,
		  class->host->name, own);
	if (limit->kind == PLAN_LIMIT_RANK)
		plan_report(b, FINDING_OWN_GPU,
			    ABOUT(.rule = "R4", .origin = limit->origin,
				  .fix = "start gpumap run once for each host, or name its "
					 "GPUs: " SETTING("gpus = 0,1")),
			    "ranks of this launcher share the GPUs of %s: this one takes %s",
			    class->host->name, own);
}

int own_gpus_apply(struct builder *b, struct host_class *class, const struct plan_inherited *limit,
		   const struct device_index *index)
{
	bool *inside, inherit = class->selection->kind == PLAN_GPUS_INHERIT;
	CLEANUP(strbuf_free) struct strbuf labels = {0}, own = {0};
	size_t kept;

	if (limit->kind == PLAN_LIMIT_RANK &&
	    (class->selection->kind == PLAN_GPUS_GPU || class->selection->kind == PLAN_GPUS_FREE))
		return GPUMAP_OK;
	if (limit->bad && class->count) {
		report_bad_own(b, class, limit);
		return GPUMAP_OK;
	}
	inside = inside_limit(b, class, limit->mapping, index, &kept);
	if (!inside)
		return plan_nomem(b);
	label_outside(&labels, class, inside);
	label_own(&own, limit);
	if (labels.failed || own.failed) {
		plan_nomem(b);
	} else if (kept < class->count && (!inherit || !kept)) {
		report_taken(b, class, limit, labels.text, own.text);
	} else if (kept < class->count) {
		report_own(b, class, limit, own.text);
		keep_inside(class, inside);
	}
	return b->arena->failed ? plan_nomem(b) : GPUMAP_OK;
}
