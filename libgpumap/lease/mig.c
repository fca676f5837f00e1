/* SPDX-License-Identifier: MIT */
/* Claims of MIG instances: what they are, which ones they may use, and what is said about them. */
#include "lease/claim.h"
#include "lease/units.h"
#include "memory.h"
#include "report/report.h"
#include "request/profile_keys.h"

#define NO_SLOTS "MIG instances have no slots"
#define NO_LINK "no link connects MIG instances"

int claim_clash(const char *other, const char *why, const char *origin, gpumap_report *report)
{
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
			   ABOUT(.origin = origin, .fix = "leave one of the two out"),
			   "cannot be combined with %s: %s", other, why);
}

const char *instances_refuse(const char *key, struct span value)
{
	if (streq(key, "slots") && span_number(value, MAX_SLOTS) > 1)
		return NO_SLOTS;
	return streq(key, "near") && span_is(value, "yes") ? NO_LINK : NULL;
}

int claim_set_mig(gpumap_claim *claim, const char *value, const char *origin, gpumap_report *report)
{
	bool any = streq(value, "yes"), none = streq(value, "no");
	struct span wrong;
	const char *wanted =
		any || none || form_check(form_find(span_of("PROFILE")), span_of(value), &wrong)
			? NULL
			: "write a profile of MIG instances such as 1g.10gb, yes or no";
	char *profile = NULL;

	if (wanted)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
				   ABOUT(.origin = origin, .fix = wanted), "'%s' is not valid",
				   QUOTE(span_of(value)));
	if (!none && claim->terms.slots > 1)
		return claim_clash("--slots", NO_SLOTS, origin, report);
	if (!none && claim->terms.near)
		return claim_clash("--near", NO_LINK, origin, report);
	if (!any && !none && !(profile = xstrdup(value)))
		return report_nomem(report);
	free(claim->profile);
	claim->profile = profile;
	claim->instances = !none;
	return GPUMAP_OK;
}

bool claim_is_of_kind(const gpumap_claim *claim, const gpumap_device *unit)
{
	return is_instance(unit) == claim->instances;
}

bool claim_can_lease(const gpumap_claim *claim, const gpumap_device *unit)
{
	return claim_is_of_kind(claim, unit) && unit_can_be_leased(unit) &&
	       (!claim->profile || (unit->profile && streq(unit->profile, claim->profile)));
}

int claim_keep_instances(bool *ret, const gpumap_claim *claim, const gpumap_inventory *units,
			 gpumap_report *report)
{
	struct span rest = span_of(claim->from), word;
	CLEANUP_FREE bool *named = xcalloc(units->count + 1, sizeof(*named));

	if (!named)
		return report_nomem(report);
	while (span_split(&rest, ',', &word)) {
		bool found = false;

		word = span_trim(word);
		for (size_t g = 0; g < units->count; g++)
			if (is_instance(&units->gpus[g]) && unit_is_named(&units->gpus[g], word))
				named[g] = found = true;
		if (found)
			continue;
		return report_fail(
			report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
			ABOUT(.origin = claim->from_origin,
			      .fix = "write numbers of nvidia-smi, or UUIDs, as gpumap inventory "
				     "lists them"),
			"'%s' is not a MIG instance of this machine, or a GPU with one",
			QUOTE(word));
	}
	for (size_t g = 0; g < units->count; g++)
		ret[g] = ret[g] && named[g];
	return GPUMAP_OK;
}

const char *claim_kind(const gpumap_claim *claim, size_t count)
{
	return claim->instances ? count == 1 ? "MIG instance" : "MIG instances"
	       : count == 1     ? "GPU"
				: "GPUs";
}

const char *claim_fix(const gpumap_claim *claim, const gpumap_inventory *units, const char *inside,
		      size_t there)
{
	bool instances = false;

	for (size_t g = 0; g < units->count; g++)
		instances = instances || is_instance(&units->gpus[g]);
	if (inside)
		return !claim->instances && lease_names_instance(span_of(inside), NULL)
			       ? "this job runs in a lease of MIG instances, from which --mig "
				 "chooses"
			       : "ask for fewer: this job runs in a lease, and chooses from its "
				 "GPUs";
	if (!claim->instances && instances)
		return "ask for fewer, or for MIG instances with --mig";
	if (claim->profile)
		return "ask for fewer, or for a profile that gpumap inventory lists";
	return there ? "ask for fewer" : "gpumap doctor shows what is wrong with the GPUs";
}

/* How many of several instances one process sees is a rule, which depends on the driver. */
int claim_report_hidden(const gpumap_claim *claim, const gpumap_lease *lease, gpumap_report *report)
{
	OWNED(request) *request = NULL;
	OWNED(mapping) *mapping = NULL;
	int r = GPUMAP_OK;

	if (!claim->instances || lease->count < 2)
		return GPUMAP_OK;
	r = gpumap_request_new(&request);
	if (r == GPUMAP_OK)
		r = gpumap_request_set(request, "prefix", lease->visible, NULL, NULL);
	if (r == GPUMAP_OK)
		r = gpumap_resolve(&mapping, request, lease->machine, NULL);
	if (r == GPUMAP_OK && gpumap_mapping_visible_count(mapping) < lease->count)
		report_add(report, FINDING_LEASE_HIDDEN,
			   ABOUT(.rule = "V9",
				 .fix = "start one process for each, each with one UUID of the "
					"list"),
			   "one process sees only %zu of these %zu MIG instances",
			   gpumap_mapping_visible_count(mapping), lease->count);
	return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
}
