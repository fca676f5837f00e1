/* SPDX-License-Identifier: MIT */
/* What a job asks for, and which GPUs can serve it. */
#include "lease/claim.h"

#include "inventory/inventory.h"
#include "profile_keys.h"
#include "report.h"

EXPORT int gpumap_claim_new(gpumap_claim **ret)
{
	gpumap_claim *claim = calloc(1, sizeof(*claim));

	if (!claim)
		return GPUMAP_ENOMEM;
	claim->terms = DEFAULT_TERMS;
	*ret = claim;
	return GPUMAP_OK;
}

EXPORT void gpumap_claim_free(gpumap_claim *claim)
{
	if (!claim)
		return;
	free(claim->from);
	free(claim->from_origin);
	free(claim->prefer);
	free(claim->prefer_origin);
	lease_terms_free(&claim->terms);
	free(claim->folder);
	free(claim->sysfs);
	gpumap_request_free(claim->request);
	free(claim);
}

/* --- its members ------------------------------------------------------------------------ */

/* `where` may be NULL. False without memory; both members are then unchanged. */
static bool set_text(char **member, const char *value, char **where, const char *origin)
{
	char *copy = strdup(value), *from = where ? strdup(origin) : NULL;

	if (!copy || (where && !from)) {
		free(copy);
		free(from);
		return false;
	}
	free(*member);
	*member = copy;
	if (where) {
		free(*where);
		*where = from;
	}
	return true;
}

/* A ticket has the value in a line. */
static bool has_control(const char *value)
{
	for (; *value; value++)
		if ((unsigned char)*value < ' ')
			return true;
	return false;
}

/* "500M", "2G", or bytes; -1: anything else. */
static int64_t bytes_of(struct span value)
{
	static const struct {
		char unit;
		int shift;
	} units[] = {{'K', 10}, {'M', 20}, {'G', 30}};
	int shift = 0;
	int64_t number;

	for (size_t i = 0; value.length && i < ARRAY_SIZE(units); i++)
		if (value.text[value.length - 1] == units[i].unit)
			shift = units[i].shift;
	value.length -= shift != 0;
	number = span_number(value, shift ? INT32_MAX : INT64_MAX);
	return number <= 0 ? -1 : number << shift;
}

/* Returns the values that are valid, or NULL if the value was taken. */
static const char *set_number(gpumap_claim *claim, const char *key, struct span value)
{
	int64_t number;

	if (streq(key, "count")) {
		number = span_number(value, GPUMAP_MAX_DEVICES);
		if (number < 1)
			return "write a number of GPUs, 1 or more";
		claim->count = (size_t)number;
		return NULL;
	}
	if (streq(key, "free_memory")) {
		number = bytes_of(value);
		if (number < 0)
			return "write bytes, such as 500M or 2G";
		claim->terms.free_memory = number;
		return NULL;
	}
	if (streq(key, "max_load")) {
		number = span_number(value, 100);
		if (number < 0)
			return "write a percentage from 0 to 100";
		claim->terms.max_load = (int)number;
		return NULL;
	}
	if (streq(key, "slots")) {
		number = span_number(value, MAX_SLOTS);
		if (number < 1)
			return "write how many jobs may share a GPU, a number from 1 to 64";
		claim->terms.slots = (size_t)number;
		return NULL;
	}
	if (streq(key, "near")) {
		if (!span_is(value, "yes") && !span_is(value, "no"))
			return "write yes or no";
		claim->terms.near = span_is(value, "yes");
		return NULL;
	}
	number = span_is(value, "yes") ? -1 : form_number(form_find(span_of("DURATION")), value);
	if (number < 0 && !span_is(value, "yes"))
		return "write a time such as 30s, 10m or 2h, or yes for no limit";
	claim->wait_ms = number;
	return NULL;
}

EXPORT int gpumap_claim_set(gpumap_claim *claim, const char *key, const char *value,
			    const char *origin, gpumap_report *report)
{
	static const char *const numbers[] = {"count", "free_memory", "max_load",
					      "near",  "slots",       "wait"};
	const struct {
		const char *key;
		char **member, **origin;
	} texts[] = {{"from", &claim->from, &claim->from_origin},
		     {"prefer", &claim->prefer, &claim->prefer_origin},
		     {"ignore", &claim->terms.ignore, NULL},
		     {"folder", &claim->folder, NULL},
		     {"sysfs", &claim->sysfs, NULL}};
	const char *wanted;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (!streq(key, numbers[i]))
			continue;
		wanted = set_number(claim, key, span_of(value));
		return wanted ? report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
					    ABOUT(.origin = origin, .fix = wanted),
					    "'%s' is not valid", QUOTE(span_of(value)))
			      : GPUMAP_OK;
	}
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!streq(key, texts[i].key))
			continue;
		if (streq(key, "ignore") && has_control(value))
			return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
					   ABOUT(.origin = origin,
						 .fix = "write names of programs, such as Xorg"),
					   "'%s' is not valid", QUOTE(span_of(value)));
		return set_text(texts[i].member, value, texts[i].origin, origin ? origin : key)
			       ? GPUMAP_OK
			       : report_nomem(report);
	}
	return report_fail(report, GPUMAP_EKEY, FINDING_UNKNOWN_KEY, ABOUT(.origin = origin),
			   "a claim has no key '%s'", QUOTE(span_of(key)));
}

EXPORT int gpumap_claim_set_environ(gpumap_claim *claim, const char *const *envp,
				    gpumap_report *report)
{
	gpumap_request *request;
	const char *keeper;
	int r = gpumap_request_new(&request);

	if (r != GPUMAP_OK)
		return report_nomem(report);
	r = gpumap_request_set_environ(request, envp, report);
	if (r != GPUMAP_OK) {
		gpumap_request_free(request);
		return r;
	}
	gpumap_request_free(claim->request);
	claim->request = request;
	keeper = environ_nonempty(envp, "GPUMAP_LEASE");
	claim->keeper = keeper ? span_number(span_of(keeper), INT32_MAX) : 0;
	return GPUMAP_OK;
}

/* --- the GPUs that it may use ----------------------------------------------------------- */

/* Keeps of `ret` the whole GPUs that the mapping shows. */
static int keep_visible(bool *ret, const gpumap_mapping *mapping, const gpumap_inventory *inventory,
			const char *origin, gpumap_report *report)
{
	bool *shown = calloc(inventory->count + 1, sizeof(*shown));

	if (!shown)
		return report_nomem(report);
	for (size_t i = 0; i < gpumap_mapping_visible_count(mapping); i++) {
		const gpumap_entry *entry = gpumap_mapping_visible(mapping, i);
		int64_t physical = gpumap_entry_int(entry, GPUMAP_ENTRY_PHYSICAL);

		if (gpumap_entry_int(entry, GPUMAP_ENTRY_MIG) >= 0)
			continue;
		/* An order that is not known does not matter for a set. */
		for (size_t k = 0; k < gpumap_entry_candidate_count(entry); k++) {
			if (physical < 0 && gpumap_entry_candidate_count(entry) !=
						    gpumap_mapping_visible_count(mapping)) {
				free(shown);
				return report_fail(report, GPUMAP_EINPUT, FINDING_UNDECIDABLE,
						   ABOUT(.origin = origin,
							 .fix = "name the GPUs by UUID, or set "
								"CUDA_DEVICE_ORDER=PCI_BUS_ID"),
						   "the GPUs of the list cannot be decided");
			}
			physical = gpumap_device_int(gpumap_entry_candidate(entry, k),
						     GPUMAP_DEVICE_PHYSICAL);
			for (size_t g = 0; g < inventory->count; g++)
				shown[g] = shown[g] || inventory->gpus[g].physical == physical;
			physical = -1;
		}
	}
	for (size_t g = 0; g < inventory->count; g++)
		ret[g] = ret[g] && shown[g];
	free(shown);
	return GPUMAP_OK;
}

static int keep_list(bool *ret, const gpumap_claim *claim, const gpumap_inventory *inventory,
		     gpumap_report *report)
{
	gpumap_mapping *mapping = NULL;
	gpumap_request *request;
	int r = gpumap_request_new(&request);

	if (r == GPUMAP_OK)
		r = gpumap_request_set(request, "prefix", "CUDA_DEVICE_ORDER=PCI_BUS_ID", NULL,
				       NULL);
	if (r == GPUMAP_OK)
		r = gpumap_request_set(request, "prefix", claim->from, claim->from_origin, report);
	if (r == GPUMAP_OK)
		r = gpumap_resolve(&mapping, request, inventory, report);
	if (r == GPUMAP_OK)
		r = keep_visible(ret, mapping, inventory, claim->from_origin, report);
	gpumap_mapping_free(mapping);
	gpumap_request_free(request);
	return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
}

int claim_usable(bool *ret, const gpumap_claim *claim, const gpumap_inventory *inventory,
		 gpumap_report *report)
{
	gpumap_mapping *mapping = NULL;
	int r = GPUMAP_OK;

	for (size_t g = 0; g < inventory->count; g++)
		ret[g] = inventory->gpus[g].mig_enabled != 1;
	if (claim->request) {
		r = gpumap_resolve(&mapping, claim->request, inventory, NULL);
		if (r == GPUMAP_OK)
			r = keep_visible(ret, mapping, inventory, "the environment", report);
		gpumap_mapping_free(mapping);
	}
	if (r == GPUMAP_OK && claim->from)
		r = keep_list(ret, claim, inventory, report);
	return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
}
