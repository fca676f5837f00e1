/* SPDX-License-Identifier: MIT */
/* The limits of a lease: --for and --idle, and `longest` of the site's settings. */
#include "pick/lease_end.h"

#include <stdio.h>
#include <unistd.h>

#include "lease/holders.h"
#include "lease/site_settings.h"
#include "lease/units.h"
#include "report/report.h"
#include "request/profile_keys.h"

int lease_limits_option(struct lease_limits *limits, const char *name, const char *value,
			gpumap_report *report)
{
	int64_t *member = streq(name, "--for")    ? &limits->for_ms
			  : streq(name, "--idle") ? &limits->idle_ms
						  : NULL;
	int64_t ms = member ? form_number(form_find(span_of("DURATION")), span_of(value)) : 0;

	if (member && ms <= 0)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
				   ABOUT(.origin = name, .fix = "write a time such as 30m or 8h"),
				   "'%s' is not valid", QUOTE(span_of(value)));
	if (member)
		*member = ms;
	return GPUMAP_OK;
}

const char *lease_limits_given(const struct lease_limits *limits)
{
	return limits->for_ms ? "--for" : limits->idle_ms ? "--idle" : NULL;
}

const char *lease_time(char ret[LEASE_TIME], int64_t ms, bool exact)
{
	static const struct {
		int64_t ms;
		const char *unit;
	} units[] = {{3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
	size_t i = 0;

	while (ms % units[i].ms && (exact || ms < 3 * units[i].ms))
		i++;
	snprintf(ret, LEASE_TIME, "%lld%s", (long long)((ms + units[i].ms / 2) / units[i].ms),
		 units[i].unit);
	return ret;
}

int lease_limits_bound(struct lease_limits *limits, gpumap_claim *claim, gpumap_report *report)
{
	struct lease_settings settings;
	char longest[LEASE_TIME];
	int r;

	if (lease_runs_inside(claim))
		return GPUMAP_OK;
	r = lease_settings_read(&settings, claim, NULL);
	/* What is wrong with the file is reported when the lease is taken. */
	if (r == GPUMAP_OK && settings.longest_ms && geteuid() != 0) {
		lease_time(longest, settings.longest_ms, true);
		if (limits->for_ms > settings.longest_ms)
			r = report_fail(report, GPUMAP_EINPUT, FINDING_LEASE_LONGEST,
					ABOUT(.origin = "--for",
					      .fix = FORMAT("write at most %s", longest)),
					"a lease lasts at most %s (%s)", longest,
					SETTING_PLACE(&settings, PKEY_LEASES_longest));
		limits->longest = !limits->for_ms;
		limits->for_ms = limits->for_ms ? limits->for_ms : settings.longest_ms;
		if (r == GPUMAP_OK && limits->longest)
			r = gpumap_claim_set(claim, "for", longest, "longest", report);
	} else if (r == GPUMAP_EINPUT) {
		r = GPUMAP_OK;
	}
	lease_settings_free(&settings);
	return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
}

int lease_limits_check(const struct lease_limits *limits, const gpumap_lease *lease,
		       gpumap_report *report)
{
	for (size_t i = 0; limits->idle_ms && i < gpumap_lease_count(lease); i++) {
		const gpumap_device *unit = gpumap_lease_device(lease, i);

		if (gpumap_device_int(unit, GPUMAP_DEVICE_UTILIZATION) < 0)
			return report_fail(
				report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				ABOUT(.origin = "--idle", .fix = "write --for TIME instead"),
				"NVML does not report the load of %s", UNIT_TEXT(unit));
	}
	return GPUMAP_OK;
}
