/* SPDX-License-Identifier: MIT */
/* See plan_lease.h. */
#include "job/plan_lease.h"

#include "cli/output.h"
#include "memory.h"
#include "pick/lease_here.h"
#include "plan/job.h"
#include "profile/profile.h"
#include "report/report.h"

/* What is leased, and for which plan. */
struct chooser {
	const struct plan_options *options;
	const gpumap_profile *profile;
	struct plan_hosts *hosts;
	gpumap_report *report;
	gpumap_claim *claim;
	struct plan_settings settings;
};

/* --- the claim ---------------------------------------------------------------------------- */

/* The settings that a claim has by the same name, and what gpumap run does by them. */
static const struct term {
	enum profile_key_id key;
	const char *unset; /* the value that sets nothing */
	const char *only;  /* NULL: it has a meaning without a lease, too */
} terms[] = {
	{PKEY_PROFILE_slots, "1", "gpumap run leases slots only of GPUs that it chooses itself"},
	{PKEY_PROFILE_mig, "no", "gpumap run leases MIG instances only if it chooses them itself"},
	{PKEY_PROFILE_wait, "no", "gpumap run waits only for free GPUs that it chooses itself"},
	{PKEY_PROFILE_ignore, "", NULL},
};

enum { TERMS = ARRAY_SIZE(terms) };

static int set_term(gpumap_claim *claim, const struct term *term,
		    const struct plan_setting *setting, gpumap_report *report)
{
	CLEANUP_FREE char *text = xstrndup(setting->part.text, setting->part.length);

	return gpumap_claim_set(claim, profile_key(term->key)->key.name, text, setting->origin,
				report);
}

/* What the job does not set is left to the administrator. */
static int make_claim(gpumap_claim **ret, size_t count, const struct plan_settings *settings,
		      gpumap_report *report)
{
	gpumap_claim *claim = NULL;
	int r = gpumap_claim_new(&claim);

	if (r != GPUMAP_OK)
		memory_ran_out();
	r = gpumap_claim_set(claim, "count", FORMAT("%zu", count), "gpus", report);
	for (size_t i = 0; r == GPUMAP_OK && i < TERMS; i++) {
		const struct plan_setting *setting = SETTING_OF(settings, terms[i].key);

		if (setting->origin)
			r = set_term(claim, &terms[i], setting, report);
	}
	if (r == GPUMAP_OK)
		r = lease_here(claim, report);
	return give_claim(ret, claim, r);
}

/* --- a plan that is made -------------------------------------------------------------------- */

static int tell_hosts(const struct chooser *c, const gpumap_lease *lease)
{
	return gpumap_hosts_set_free(c->hosts->hosts, (size_t)c->hosts->node,
				     gpumap_lease_visible(lease));
}

static int show(const struct chooser *c, gpumap_report *report)
{
	OWNED(lease) *lease = NULL;
	int r = gpumap_lease_preview(&lease, c->claim, report);

	return r == GPUMAP_OK ? tell_hosts(c, lease) : r;
}

/* A job that waits for hours must not fail then for a reason that is known now. Makes its plan with
 * any GPUs that it could get. */
static int check_first(const struct chooser *c)
{
	OWNED(report) *scratch = report_begin();
	OWNED(plan) *plan = NULL;
	int r = show(c, scratch);

	if (r == GPUMAP_OK)
		r = gpumap_plan_make(&plan, c->profile, c->hosts->hosts, scratch);
	if (r == GPUMAP_OK)
		plan_judge(plan, scratch);
	if (r == GPUMAP_OK && plan->answered && gpumap_profile_argument_count(c->profile))
		r = plan_check_programs(plan, c->hosts->node, scratch);
	if (r == GPUMAP_OK && !plan->answered)
		r = GPUMAP_EINPUT;
	if (r != GPUMAP_OK)
		report_copy_all(c->report, scratch, FINDING_COUNT);
	return r;
}

/* How many of several MIG instances a rank can use is a matter of the plan, which reports it. */
static int take_for_ranks(gpumap_lease **ret, const gpumap_claim *claim, gpumap_report *report)
{
	size_t before = gpumap_report_count(report);
	int r = lease_take(ret, claim, report);

	report_drop(report, before, FINDING_LEASE_HIDDEN);
	return r;
}

static int take(const struct chooser *c, bool waits)
{
	int r = GPUMAP_OK;

	/* The run is refused later. */
	if (c->settings.launcher.word != PLAN_LAUNCHER_LOCAL)
		return show(c, c->report);
	if (waits)
		r = check_first(c);
	if (r == GPUMAP_OK)
		r = take_for_ranks(c->options->lease, c->claim, c->report);
	return r == GPUMAP_OK ? tell_hosts(c, *c->options->lease) : r;
}

/* The plan is shown without GPUs. */
static int show_or_refuse(const struct chooser *c)
{
	int r = show(c, c->report);

	if (r == GPUMAP_OK)
		report_add(c->report, FINDING_LEASE_SHOWN, NULL,
			   "the plan keeps no GPU: gpumap run chooses free ones when it starts");
	else
		c->hosts->hosts->hosts[c->hosts->node].no_free = true;
	return GPUMAP_OK;
}

static int refuse_inventory(const struct chooser *c, const char *inventory)
{
	report_add(c->report, FINDING_LEASE_NOT_HERE,
		   ABOUT(.origin = setting_origin(&c->settings.inventory),
			 .fix = FORMAT("leave " SETTING(
					       "inventory") " out; to plan for that "
							    "machine: gpumap pretend --inventory "
							    "%.80s -- gpumap plan ...",
				       inventory)),
		   "only GPUs of this machine can be leased, not those of '%s'",
		   QUOTE(span_of(inventory)));
	c->hosts->hosts->hosts[c->hosts->node].no_free = true;
	return c->options->lease ? GPUMAP_EINPUT : GPUMAP_OK;
}

static int choose(struct chooser *c)
{
	int r;

	if (c->settings.inventory.word != PLAN_INVENTORY_HOST)
		return refuse_inventory(c, c->settings.inventory.text);
	r = make_claim(&c->claim, (size_t)c->settings.gpus.number, &c->settings, c->report);
	if (r == GPUMAP_OK)
		r = c->options->lease ? take(c, c->settings.wait.word != PLAN_WAIT_NO)
				      : show_or_refuse(c);
	gpumap_claim_free(c->claim);
	return r;
}

int plan_lease(const struct plan_options *options, const gpumap_profile *profile,
	       struct plan_hosts *hosts, gpumap_report *report)
{
	struct chooser c = {
		.options = options, .profile = profile, .hosts = hosts, .report = report};

	struct place here = {NULL, hosts->node, -1, -1};

	if (hosts->node >= 0)
		here.host = gpumap_hosts_name(hosts->hosts, (size_t)hosts->node);
	/* gpumap_plan_make reports what is malformed. */
	if (!options->chooses || node_settings_read(&c.settings, profile, &here, NULL) != GPUMAP_OK)
		return GPUMAP_OK;
	for (size_t i = 0; i < TERMS; i++) {
		const char *value = profile_option_value(&options->profile,
							 profile_key(terms[i].key)->key.option);

		if (c.settings.gpus.word != PLAN_GPUS_FREE && terms[i].only && value &&
		    !streq(value, terms[i].unset))
			return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
					   ABOUT(.origin = profile_key(terms[i].key)->key.option,
						 .fix = "write for example --gpus free:2"),
					   "%s", terms[i].only);
	}
	/* gpumap_plan_make reports other hosts. */
	return c.settings.gpus.word == PLAN_GPUS_FREE && hosts->node >= 0 &&
			       gpumap_hosts_count(hosts->hosts) == 1
		       ? choose(&c)
		       : GPUMAP_OK;
}

/* --- a plan that is read -------------------------------------------------------------------- */

int plan_lease_again(gpumap_lease **ret, const gpumap_plan *plan, gpumap_report *report)
{
	const char *list = plan->lease;
	struct span rest = span_of(list ? list : ""), number;
	OWNED(claim) *claim = NULL;
	size_t count = 0;
	int r;

	if (!list)
		return GPUMAP_OK;
	while (span_split(&rest, ',', &number))
		count++;
	r = make_claim(&claim, count, &plan->settings, report);
	if (r == GPUMAP_OK)
		r = gpumap_claim_set(claim, "from", list, "the plan", report);
	if (r == GPUMAP_OK)
		r = take_for_ranks(ret, claim, report);
	return r;
}
