/* SPDX-License-Identifier: MIT */
/* The remedies where ranks fail or collide: which other cell of rule R3's table works. */
#include "plan/build.h"

const char *clash_cell(struct quoted *ret, const struct plan_settings *settings)
{
	const char *device = settings->device.use.text, *current = settings->set_device.use.text;

	return format_text(ret, SETTING("share = %s") "%s%s",
			   KEY_WORD(PKEY_PROFILE_share, settings->share.word),
			   device && *device ? FORMAT(", " SETTING("device = %.40s"), device) : "",
			   current && *current ? FORMAT(", " SETTING("set_device = %.40s"), current)
					       : "");
}

/* By what the program picks its device. */
static enum device_use_kind pick_of(const struct plan_settings *settings)
{
	enum device_use_kind device = settings->device.use.kind;

	return device == USE_NOTHING || device == USE_CURRENT ? settings->set_device.use.kind
							      : device;
}

/* Whether the list has MIG instances of which CUDA shows one process only some (rule V9). */
static bool hides_instances(const struct host_class *class)
{
	size_t instances = 0;

	for (size_t i = 0; i < class->count; i++)
		instances += class->devices[i]->mig_position >= 0;
	return instances > 1;
}

static const char *mig_fix(const struct builder *b, const struct plan_settings *settings)
{
	if (!plan_one_each(b, settings))
		return "use GPUs without MIG, or start one rank for each MIG instance, "
		       "with " SETTING("share = isolate");
	return settings->share.word == PLAN_SHARE_ISOLATE
		       ? "let the program use cuda:0: one process cannot use all MIG instances"
		       : "write " SETTING(
				 "share = isolate") ", and let the program use cuda:0: one "
						    "process cannot use all MIG instances";
}

const char *clash_fix(const struct builder *b, const struct host_class *class)
{
	const struct plan_settings *settings = class->settings;
	enum device_use_kind pick = pick_of(settings);

	if (hides_instances(class))
		return mig_fix(b, settings);
	if (!plan_one_each(b, settings))
		return b->input->settings->mode.word == PLAN_MP
			       ? "write " SETTING("device = cuda:%l") " for a stage on each, "
								      "or " SETTING(
									      "share = isolate")
			       : "write " SETTING(
					 "share = isolate") " and name devices from cuda:0 on, or "
							    "start one rank for each host";
	if (pick == USE_LOCAL_RANK)
		return "write " SETTING("share = list") ", or let the program use cuda:0";
	if (pick == USE_RANK)
		return "let the program use its local rank, not its rank, with " SETTING(
			"share = list");
	if (pick == USE_MODULO)
		return settings->share.word == PLAN_SHARE_LIST
			       ? "let the program use its local rank, or write " SETTING(
					 "share = isolate")
			       : "write " SETTING("share = isolate");
	if (pick == USE_LOCAL_MODULO)
		return "write " SETTING("share = list") " or " SETTING("share = isolate");
	if (pick == USE_NUMBER && settings->share.word != PLAN_SHARE_LIST)
		return "let the program use cuda:0 with " SETTING("share = isolate");
	return "use LOCAL_RANK in the program, or write " SETTING("share = isolate") " with cuda:0";
}

const char *clash_plain_fix(struct quoted *ret, const struct builder *b,
			    const struct host_class *class)
{
	const struct plan_settings *settings = class->settings;
	const char *fix = clash_fix(b, class);

	if (b->input->settings->mode.word != PLAN_DDP || b->input->host_count > 1 ||
	    b->input->settings->world_size.number != PLAN_AUTO ||
	    settings->ranks.number != PLAN_AUTO || use_is_by_rank(pick_of(settings)))
		return fix;
	return format_text(ret, "%s; if the program is one process, write " SETTING("ranks = 1"),
			   fix);
}
