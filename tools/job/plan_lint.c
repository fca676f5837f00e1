/* SPDX-License-Identifier: MIT */
/* The code of a plan's program against what the plan gives its ranks. */
#include "job/plan_open.h"

#include <stdlib.h>

#include "cli/output.h"
#include "lint/lint.h"
#include "lint/python.h"
#include "memory.h"
#include "plan/job.h"
#include "profile/profile.h"
#include "report/report.h"

/* The list that all ranks get, if it is one; how many GPUs each sees, if all see as many. */
static void see_lists(struct python_start *ret, const gpumap_plan *plan)
{
	const struct plan_host *host;
	const char *list = NULL;
	bool same = true, as_many = true;

	for (int64_t i = 0; (host = job_host(plan, i)); i++)
		for (size_t l = 0; l < host->layout->count; l++) {
			const char *visible = host->layout->ranks[l].visible;
			int64_t count = *visible ? 1 : 0;

			for (const char *c = visible; *c; c++)
				count += *c == ',';
			same = same && (!list || streq(list, visible));
			as_many = as_many && (!list || ret->visible == count);
			list = visible;
			ret->visible = count;
		}
	ret->visible = as_many ? ret->visible : -1;
	ret->list = same ? list : NULL;
	ret->list_varies = !same;
	ret->list_from = "the plan";
	host = job_host(plan, 0);
	if (host && host->layout->device_order && streq(host->layout->device_order, "PCI_BUS_ID"))
		ret->order = "CUDA_DEVICE_ORDER=PCI_BUS_ID";
}

void plan_picture(struct python_start *ret, const gpumap_plan *plan)
{
	size_t hosts = plan->host_count, world = plan->world_size;

	*ret = python_start_unknown();
	ret->launcher = "gpumap run";
	ret->from = "the plan";
	ret->passes = !streq(plan->settings.pass_local_rank.text, "no");
	ret->hosts = (int64_t)hosts;
	ret->ranks = hosts ? (int64_t)job_host(plan, 0)->layout->count : -1;
	for (int64_t i = 1; i < (int64_t)hosts; i++)
		if ((int64_t)job_host(plan, i)->layout->count != ret->ranks)
			ret->ranks = -1;
	ret->alone = world == 1;
	ret->meeting = ret->planned = true;
	see_lists(ret, plan);
}

/* The arguments behind the script, ended by NULL, in `room`; NULL: one differs between ranks. */
static const char *const *arguments_behind(const char *const *arguments, size_t count,
					   const char *script, const char **room)
{
	size_t i = 0, n = 0;

	while (i < count && arguments[i] != script)
		i++;
	for (size_t k = i + 1; k < count; k++) {
		if (strchr(arguments[k], '%'))
			return NULL;
		room[n++] = arguments[k];
	}
	return room;
}

/* What a finding is about: how the program fits what starts it; of these, the device that it uses;
 * and of these, ranks that use one device. */
enum about_what { ABOUT_NOTHING, ABOUT_START, ABOUT_DEVICE, ABOUT_SHARING };

static enum about_what about(const gpumap_finding *f)
{
	static const struct {
		enum finding_id id;
		enum about_what about;
	} ids[] = {
		{FINDING_WAITS, ABOUT_START},
		{FINDING_MAY_WAIT, ABOUT_START},
		{FINDING_LOCAL_AS_RANK, ABOUT_START},
		{FINDING_AGAINST_PLAN, ABOUT_START},
		{FINDING_CODE_SETS_RANK, ABOUT_START},
		{FINDING_FIXED_PORT, ABOUT_START},
		{FINDING_CODE_MAY_REPLACE, ABOUT_START},
		{FINDING_CODE_REPLACES, ABOUT_START},
		{FINDING_LOCAL_RANK_ARGUMENT, ABOUT_START},
		{FINDING_COPIES, ABOUT_DEVICE},
		{FINDING_INVALID_ORDINAL, ABOUT_DEVICE},
		{FINDING_ONE_DEVICE, ABOUT_SHARING},
		{FINDING_MASTER_MISMATCH, ABOUT_SHARING},
		{FINDING_NO_CHOICE, ABOUT_SHARING},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		if (finding_is(f, ids[i].id))
			return ids[i].about;
	return ABOUT_NOTHING;
}

/* Whether the plan itself has found that the device which was read does not exist, or the user has
 * stated which it is. */
static bool is_known(const gpumap_finding *f, const gpumap_plan *plan, const gpumap_report *report)
{
	const char *device = plan->settings.device.origin;
	bool stated = device && !speech_of_program(device);

	/* The plan shows a device that is known in each rank. */
	if (about(f) == ABOUT_SHARING)
		return device || plan->settings.set_device.origin ||
		       plan->settings.mode.word != PLAN_DDP;
	if (finding_is(f, FINDING_INVALID_ORDINAL) && stated)
		return true;
	return finding_is(f, FINDING_INVALID_ORDINAL) && report_has(report, FINDING_READ_DEVICE);
}

/* An error refuses the plan, or becomes a warning. */
static void relay(gpumap_plan *plan, const gpumap_finding *f, bool refuses, gpumap_report *report)
{
	const struct speech speech = job_speech(plan);
	struct about at = {.speech = &speech,
			   .rule = gpumap_finding_str(f, GPUMAP_FINDING_RULE),
			   .origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN),
			   .fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX),
			   .line = (int)gpumap_finding_int(f, GPUMAP_FINDING_LINE),
			   .column = (int)gpumap_finding_int(f, GPUMAP_FINDING_COLUMN)};

	if (gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY) != GPUMAP_SEVERITY_ERROR) {
		report_copy(report, f);
		return;
	}
	if (refuses) {
		report_relay_more(report, f, &at, " (" SETTING("lint = warn") " starts it anyway)");
		plan->answered = false;
	} else {
		at.fix = "change the program, and leave " SETTING("lint = warn") " out";
		report_add(report, FINDING_STARTED_ANYWAY, &at, "%s",
			   gpumap_finding_str(f, GPUMAP_FINDING_TEXT));
	}
}

static void judge(gpumap_plan *plan, const char *path, const struct python_start *start,
		  gpumap_report *report)
{
	bool refuses = plan->settings.lint.word == PLAN_LINT_REFUSE;
	const gpumap_finding *f;
	OWNED(report) *found = report_begin();

	lint_planned(start, path, found);
	for (size_t i = 0; (f = gpumap_report_get(found, i)); i++) {
		if (!about(f) || is_known(f, plan, report))
			continue;
		/* A device that is not there is no GPU that ranks share. */
		if (finding_is(f, FINDING_ONE_DEVICE) && report_has(found, FINDING_INVALID_ORDINAL))
			continue;
		relay(plan, f, refuses, report);
		if (about(f) >= ABOUT_DEVICE)
			report_drop(report, 0, FINDING_UNKNOWN_USE);
	}
}

const char *plan_code(const char *const *arguments, size_t count)
{
	static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh"};
	const char *script = plan_script(arguments, count);
	size_t word = 1;

	/* bash -eu FILE, but not -c TEXT or -o NAME. */
	while (word < count && *arguments[word] == '-' && arguments[word][1] != '-' &&
	       !strpbrk(arguments[word], "cos"))
		word++;
	for (size_t i = 0; count && i < ARRAY_SIZE(shells); i++)
		if (streq(file_name(arguments[0]), shells[i]))
			return word < count && *arguments[word] != '-' ? arguments[word] : NULL;
	return script || !count || !strchr(arguments[0], '/') ? script : arguments[0];
}

void plan_lint(gpumap_plan *plan, const gpumap_inventory *inventory, gpumap_report *report)
{
	const char *const *arguments = plan->arguments;
	size_t count = plan->argument_count;
	const char *code = plan_code(arguments, count);
	CLEANUP_FREE const char **room = NULL;
	const char *folder = plan->settings.workdir.text;
	struct python_start start;
	CLEANUP_FREE char *path = NULL;

	if (!plan->answered || !code || strchr(code, '%') || strchr(folder, '%') ||
	    plan->settings.lint.word == PLAN_LINT_NO)
		return;
	path = plan_code_path(folder, code);
	if (!path)
		return;
	plan_picture(&start, plan);
	start.inventory = inventory;
	room = xcalloc(count + 1, sizeof(*room));
	start.arguments = arguments_behind(arguments, count, code, room);
	judge(plan, path, &start, report);
}
