/* SPDX-License-Identifier: MIT */
/* The visible lists that limit what a claim may use, and the one of a lease: numbers of GPUs, or
 * UUIDs if it has MIG instances. */
#include "lease/claim.h"
#include "lease/units.h"
#include "memory.h"
#include "report/report.h"
#include "strbuf.h"

/* An old driver shows a process one MIG instance, and then no GPU. A job that gets a list of its
 * own can have any that the list names, or all without one. */
static int any_instances(gpumap_request *request, gpumap_report *report)
{
	return gpumap_request_set(request, "driver", "570", NULL, report);
}

EXPORT int gpumap_claim_set_environ(gpumap_claim *claim, const char *const *envp,
				    gpumap_report *report)
{
	const char *keeper, *visible = environ_find(envp, "CUDA_VISIBLE_DEVICES");
	char *copy = visible ? xstrdup(visible) : NULL;
	gpumap_request *request = NULL;
	int r = visible && !copy ? GPUMAP_ENOMEM : gpumap_request_new(&request);

	if (r == GPUMAP_OK)
		r = gpumap_request_set_environ(request, envp, report);
	if (r == GPUMAP_OK)
		r = any_instances(request, report);
	if (r != GPUMAP_OK) {
		gpumap_request_free(request);
		free(copy);
		return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
	}
	gpumap_request_free(claim->request);
	claim->request = request;
	free(claim->visible);
	claim->visible = copy;
	keeper = environ_nonempty(envp, "GPUMAP_LEASE");
	claim->keeper = keeper ? span_number(span_of(keeper), INT32_MAX) : 0;
	return GPUMAP_OK;
}

/* Keeps of `ret` the units that the mapping shows. */
static int keep_visible(bool *ret, const gpumap_mapping *mapping, const gpumap_inventory *units,
			const char *origin, gpumap_report *report)
{
	const size_t count = gpumap_mapping_visible_count(mapping);
	CLEANUP_FREE bool *shown = xcalloc(units->count + 1, sizeof(*shown));

	if (!shown)
		return report_nomem(report);
	for (size_t i = 0; i < count; i++) {
		const gpumap_entry *entry = gpumap_mapping_visible(mapping, i);
		bool decided = gpumap_entry_int(entry, GPUMAP_ENTRY_PHYSICAL) >= 0;

		for (size_t k = 0; k < gpumap_entry_candidate_count(entry); k++) {
			const gpumap_device *d = gpumap_entry_candidate(entry, k);

			/* An order that is not known does not matter for a set. Of the compute
			 * instances of one GPU instance each can be named. */
			if (!decided && !is_instance(d) &&
			    gpumap_entry_candidate_count(entry) != count) {
				return report_fail(report, GPUMAP_EINPUT, FINDING_UNDECIDABLE,
						   ABOUT(.origin = origin,
							 .fix = "name the GPUs by UUID, or set "
								"CUDA_DEVICE_ORDER=PCI_BUS_ID"),
						   "the GPUs of the list cannot be decided");
			}
			for (size_t g = 0; g < units->count; g++)
				shown[g] = shown[g] ||
					   (units->gpus[g].physical == d->physical &&
					    units->gpus[g].mig_position == d->mig_position);
		}
	}
	for (size_t g = 0; g < units->count; g++)
		ret[g] = ret[g] && shown[g];
	return GPUMAP_OK;
}

/* The list --from has no GPU, because of an entry that ended it. */
static int refuse_entry(const gpumap_claim *claim, const gpumap_inventory *machine,
			const gpumap_mapping *mapping, gpumap_report *report)
{
	struct span entry = span_of(gpumap_mapping_str(mapping, GPUMAP_MAPPING_ENDED_TEXT));
	const char *rule = gpumap_mapping_str(mapping, GPUMAP_MAPPING_ENDED_RULE);
	int last = machine->count ? machine->gpus[machine->count - 1].physical : -1;
	const char *why = machine->partial ? "is not among the GPUs that answer"
					   : "is not a GPU of this machine";
	const char *fix =
		span_number(entry, INT32_MAX) >= 0 && last > 0
			? FORMAT("there are GPUs 0 %s %d", last == 1 ? "and" : "to", last)
			: "write numbers of nvidia-smi, or UUIDs, as gpumap inventory lists them";

	if (rule && streq(rule, "V5")) {
		why = "names a GPU that the list already has";
		fix = "name each GPU once";
	}
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
			   ABOUT(.origin = claim->from_origin, .fix = fix), "'%s' %s", QUOTE(entry),
			   why);
}

/* What is found about the list, as one error if the list has no GPU. */
static int ask_list(gpumap_mapping **ret, const gpumap_claim *claim, const gpumap_request *request,
		    const gpumap_inventory *machine, gpumap_report *report)
{
	size_t before = gpumap_report_count(report);
	int r = gpumap_resolve(ret, request, machine, report);

	if (r == GPUMAP_OK && machine->count && !gpumap_mapping_visible_count(*ret) &&
	    gpumap_mapping_str(*ret, GPUMAP_MAPPING_ENDED_TEXT)) {
		report_keep(report, before, NULL, NULL);
		return refuse_entry(claim, machine, *ret, report);
	}
	report_drop(report, before, FINDING_NO_DEVICE);
	return r;
}

static int keep_list(bool *ret, const gpumap_claim *claim, const gpumap_inventory *units,
		     gpumap_report *report)
{
	OWNED(mapping) *mapping = NULL;
	OWNED(request) *request = NULL;
	int r = gpumap_request_new(&request);

	if (r == GPUMAP_OK)
		r = gpumap_request_set(request, "prefix", "CUDA_DEVICE_ORDER=PCI_BUS_ID", NULL,
				       NULL);
	if (r == GPUMAP_OK)
		r = gpumap_request_set(request, "prefix", claim->from, claim->from_origin, report);
	if (r == GPUMAP_OK)
		r = any_instances(request, report);
	if (r == GPUMAP_OK)
		r = ask_list(&mapping, claim, request, units_machine(units), report);
	if (r == GPUMAP_OK)
		r = keep_visible(ret, mapping, units, claim->from_origin, report);
	return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
}

int claim_usable(bool *ret, const gpumap_claim *claim, const gpumap_inventory *units,
		 gpumap_report *report)
{
	OWNED(mapping) *mapping = NULL;
	int r = GPUMAP_OK;

	for (size_t g = 0; g < units->count; g++)
		ret[g] = claim_can_lease(claim, &units->gpus[g]);
	if (claim->request) {
		/* Its warnings are about programs. */
		r = gpumap_resolve(&mapping, claim->request, units_machine(units), NULL);
		if (r == GPUMAP_OK)
			r = keep_visible(ret, mapping, units, "the environment", report);
		else
			gpumap_resolve(&mapping, claim->request, units_machine(units), report);
	}
	if (r == GPUMAP_OK && claim->from)
		r = claim->instances ? claim_keep_instances(ret, claim, units, report)
				     : keep_list(ret, claim, units, report);
	return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
}

char *claim_lists(const gpumap_claim *claim, const gpumap_inventory *units)
{
	struct strbuf text = {0};
	size_t there = 0;

	for (size_t g = 0; g < units->count; g++)
		there += claim_can_lease(claim, &units->gpus[g]);
	if (there < claim->count || (!claim->from && !claim->visible))
		return strbuf_take(&text);
	strbuf_puts(&text, claim->from && claim->visible ? " in both" : " in");
	if (claim->from)
		strbuf_printf(&text, " %s '%s'", claim->from_origin, QUOTE(span_of(claim->from)));
	if (claim->visible)
		strbuf_printf(&text, "%s CUDA_VISIBLE_DEVICES='%s'", claim->from ? " and" : "",
			      QUOTE(span_of(claim->visible)));
	return strbuf_take(&text);
}

/* --- of a lease --------------------------------------------------------------------------- */

EXPORT const char *gpumap_lease_visible(const gpumap_lease *lease)
{
	return lease ? lease->visible : NULL;
}

/* An instance has no number, and a list has numbers or UUIDs. */
int lease_list(gpumap_lease *lease)
{
	struct strbuf text = {0};
	bool uuids = false;

	for (size_t i = 0; i < lease->count; i++)
		uuids = uuids || is_instance(unit_device(&lease->inventory->gpus[lease->gpus[i]]));
	for (size_t i = 0; i < lease->count; i++) {
		const gpumap_device *unit = unit_device(&lease->inventory->gpus[lease->gpus[i]]);

		strbuf_puts(&text, i ? "," : "");
		if (uuids && unit->uuid)
			strbuf_puts(&text, unit->uuid);
		else
			strbuf_printf(&text, "%d", unit->physical);
	}
	lease->visible = strbuf_take(&text);
	return lease->visible ? GPUMAP_OK : GPUMAP_ENOMEM;
}
