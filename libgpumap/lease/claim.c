/* SPDX-License-Identifier: MIT */
/* What a job asks for. */
#include "lease/claim.h"

#include "memory.h"
#include "quantity.h"
#include "report/report.h"
#include "request/profile_keys.h"

EXPORT int gpumap_claim_new(gpumap_claim **ret)
{
	gpumap_claim *claim = xcalloc(1, sizeof(*claim));

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
	free(claim->profile);
	lease_terms_free(&claim->terms);
	free(claim->folder);
	free(claim->sysfs);
	free(claim->settings);
	gpumap_request_free(claim->request);
	free(claim->visible);
	free(claim);
}

/* --- its members ------------------------------------------------------------------------ */

/* `where` may be NULL. False without memory; both members are then unchanged. */
static bool set_text(char **member, const char *value, char **where, const char *origin)
{
	char *copy = xstrdup(value), *from = where ? xstrdup(origin) : NULL;

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

/* Returns the values that are valid, or NULL if the value was taken. */
static const char *set_number(gpumap_claim *claim, const char *key, struct span value)
{
	int64_t number;

	if (streq(key, "count")) {
		claim->all = span_is(value, "all");
		number = claim->all ? 1 : span_number(value, GPUMAP_MAX_DEVICES);
		if (number < 1 && span_starts(value, "0."))
			return "write 1, and in both jobs --from 0 --slots 2, by which they share "
			       "GPU 0";
		if (number < 1)
			return "write a number of GPUs, 1 or more, or all for all free ones";
		claim->count = (size_t)number;
		return NULL;
	}
	if (streq(key, "max_used") || streq(key, "min_free")) {
		number = span_bytes(value);
		if (number < 0)
			return "write bytes, such as 500M or 2G";
		*(streq(key, "max_used") ? &claim->terms.max_used : &claim->terms.min_free) =
			number;
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
		claim->slots_set = true;
		return NULL;
	}
	if (streq(key, "near")) {
		if (!span_is(value, "yes") && !span_is(value, "no"))
			return "write yes or no";
		claim->terms.near = span_is(value, "yes");
		return NULL;
	}
	if (streq(key, "for")) {
		number = span_milliseconds(value);
		if (number <= 0)
			return "write a time such as 30m or 8h";
		claim->for_ms = number;
		return NULL;
	}
	number = span_is(value, "yes") ? -1 : span_is(value, "no") ? 0 : span_milliseconds(value);
	if (number < 0 && !span_is(value, "yes"))
		return "write a time such as 30s, 10m or 2h, yes for no limit, or no";
	claim->wait_ms = number;
	return NULL;
}

EXPORT int gpumap_claim_set(gpumap_claim *claim, const char *key, const char *value,
			    const char *origin, gpumap_report *report)
{
	const struct {
		const char *key;
		char **member, **origin;
	} texts[] = {{"from", &claim->from, &claim->from_origin},
		     {"prefer", &claim->prefer, &claim->prefer_origin},
		     {"ignore", &claim->terms.ignore, NULL},
		     {"folder", &claim->folder, NULL},
		     {"sysfs", &claim->sysfs, NULL},
		     {"settings", &claim->settings, NULL}};
	const char *wanted;

	if (span_is_any(span_of(key), "count for max_used min_free max_load near slots wait")) {
		wanted = claim->instances ? instances_refuse(key, span_of(value)) : NULL;
		if (wanted)
			return claim_clash("--mig", wanted, origin, report);
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
	if (streq(key, "mig"))
		return claim_set_mig(claim, value, origin, report);
	return report_fail(report, GPUMAP_EKEY, FINDING_UNKNOWN_KEY, ABOUT(.origin = origin),
			   "a claim has no key '%s'", QUOTE(span_of(key)));
}
