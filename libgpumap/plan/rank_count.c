/* SPDX-License-Identifier: MIT */
/* Rule R4: the number of ranks on each host. */
#include "plan/build.h"

static bool lacks_gpus(const struct host_class *class)
{
	return !class->bad && !class->without && !class->count;
}

const char plan_ask_fix[] =
	"write " SETTING("inventory = 8") " for nodes with 8 GPUs each, or " SETTING(
		"gpus = none") " for a job without GPUs";

const char *plan_no_gpu(struct builder *b, const struct host_class *class)
{
	const char *why = class->host->inventory->no_gpu, *host = class->host->name;

	if (why && starts_with(why, "this host "))
		return arena_printf(b->arena, "%s %s", host, why + strlen("this host "));
	return why ? arena_printf(b->arena, "no GPU on %s, because %s", host, why)
		   : arena_printf(b->arena, "no GPU on %s", host);
}

const char *plan_no_gpu_fix(struct builder *b, const struct host_class *class, const char *fix)
{
	const char *first = b->input->scheduled ? NULL : class->host->inventory->no_gpu_fix;

	return first ? arena_printf(b->arena, "%s; or %s", first, fix) : fix;
}

static const char *why_none(struct builder *b, const struct host_class *class)
{
	if (!class->host->inventory->count)
		return plan_no_gpu(b, class);
	return arena_printf(b->arena, "no GPU on %s, because %s", class->host->name,
			    class->host->inherited_count ? "the inherited list leaves none"
							 : "its MIG instances are not known");
}

/* Whether the user gave the number of the host's ranks. */
static bool counted(const struct builder *b, const struct host_class *class)
{
	return b->input->settings->world_size.number != PLAN_AUTO ||
	       class->settings->ranks.number != PLAN_AUTO;
}

/* If no host has a GPU, ranks whose number the user gave start without GPUs. */
static void settle_without(struct builder *b)
{
	static const char leave[] =
		"leave the host out, or write " SETTING("gpus = none") " for it";
	static const char write[] =
		"write " SETTING("ranks = N") " to start ranks without GPUs, or " SETTING(
			"inventory = 8") " to plan for 8 GPUs";
	const char *fix = b->input->scheduled ? plan_ask_fix : write;
	bool any = false;

	for (size_t i = 0; i < b->input->host_count; i++)
		any = any || b->host_classes[i]->count || b->host_classes[i]->bad;
	for (size_t i = 0; i < b->input->host_count; i++) {
		struct host_class *class = b->host_classes[i];

		if (!lacks_gpus(class))
			continue;
		if (counted(b, class) && !any) {
			class->without = true;
			plan_report(b, FINDING_NO_GPU, ABOUT(.rule = "E1"),
				    "%s: its ranks start without%s", why_none(b, class),
				    MORE_HOSTS(class->host_count));
			continue;
		}
		class->bad = true;
		plan_report(
			b, FINDING_NO_DEVICE,
			ABOUT(.rule = "E1", .fix = plan_no_gpu_fix(b, class, any ? leave : fix)),
			"%s%s", why_none(b, class), MORE_HOSTS(class->host_count));
	}
}

/* How many ranks the GPUs of such a host can take. */
static size_t room(const struct host_class *class)
{
	size_t max = PLAN_MAX_RANKS, per_gpu = (size_t) class->settings->ranks_per_gpu.number;

	if (class->without)
		return max;
	return class->count > max / per_gpu ? max : class->count * per_gpu;
}

static size_t automatic(const struct builder *b, const struct host_class *class)
{
	if (b->input->settings->mode.word == PLAN_DDP && !class->without)
		return room(class);
	return class->without || class->count;
}

/* The list of the user leaves GPUs of the host out. */
static void too_few_selected(struct builder *b, const struct about *about, int64_t ranks,
			     const struct host_class *class, const char *more)
{
	const struct plan_setting *gpus = &class->settings->gpus;
	bool of_file = gpus->origin && *gpus->origin != '-';

	plan_report(b, FINDING_TOO_MANY_RANKS, about,
		    "%lld ranks, but " SETTING("gpus = %s") "%s%s selects %zu of the %zu GPUs of "
							    "%s%s",
		    (long long)ranks, gpus->text, of_file ? " of " : "",
		    of_file ? QUOTE(span_of(gpus->origin)) : "", class->count,
		    class->host->inventory->count, class->host->name, more);
}

/* `class`: of the host that takes only `max` ranks; NULL: all hosts together do. */
static void too_many(struct builder *b, const struct plan_settings *settings,
		     enum profile_key_id key, int64_t ranks, size_t max,
		     const struct host_class *class, const char *more)
{
	const struct plan_place *place = &SETTING_OF(settings, key)->place;
	const char *host = class ? class->host->name : "all hosts";
	bool selected = class && class->count == max && class->selection->kind == PLAN_GPUS_GPU &&
			class->count < class->host->inventory->count;
	struct quoted fix;
	struct about about = {.rule = "G10",
			      .origin = place->origin,
			      .line = place->line,
			      .column = place->column,
			      .fix = fix.text};

	format_text(
		&fix,
		"%swrite " SETTING("%s = %zu") ", or share GPUs with " SETTING("ranks_per_gpu = N"),
		selected ? "write " SETTING("gpus = all") ", or " : "", profile_key(key)->key.name,
		max);
	if (selected) {
		too_few_selected(b, &about, ranks, class, more);
		return;
	}
	plan_report(b, FINDING_TOO_MANY_RANKS, &about,
		    class && class->count == max
			    ? "%lld ranks, but %s has %zu GPU%s%s"
			    : "%lld ranks, but the GPUs of %s have room for %zu rank%s%s",
		    (long long)ranks, host, max, max == 1 ? "" : "s", more);
}

/* Each host gets the number that the user gave, or one rank per GPU. */
static void spread_evenly(struct builder *b)
{
	for (size_t i = 0; i < b->input->host_count; i++) {
		struct host_class *class = b->host_classes[i];
		size_t max = room(class);
		int64_t each = class->settings->ranks.number;

		if (each == PLAN_AUTO) {
			b->local_sizes[i] = automatic(b, class);
			continue;
		}
		b->local_sizes[i] = (size_t)each < max ? (size_t)each : max;
		if ((size_t)each > max && !class->bad) {
			too_many(b, class->settings, PKEY_PROFILE_ranks, each, max, class,
				 MORE_HOSTS(class->host_count));
			class->bad = true;
		}
	}
}

/* Fills the hosts in their order; without GPUs all get the same number. */
static void spread_total(struct builder *b)
{
	size_t total = (size_t)b->input->settings->world_size.number, left = total, taken = 0,
	       idle = 0;
	size_t count = b->input->host_count;
	bool without = true;

	for (size_t i = 0; i < count; i++)
		without = without && b->host_classes[i]->without;
	for (size_t i = 0; i < count; i++) {
		const struct host_class *class = b->host_classes[i];
		size_t max = without          ? total / count + (i < total % count)
			     : class->without ? 1
					      : room(class);

		b->local_sizes[i] = left < max ? left : max;
		idle += !b->local_sizes[i];
		left -= b->local_sizes[i];
		taken += b->local_sizes[i];
	}
	if (left && !b->failed)
		too_many(b, b->input->settings, PKEY_PROFILE_world_size,
			 b->input->settings->world_size.number, taken,
			 count == 1 ? b->host_classes[0] : NULL, "");
	else if (idle && !left)
		plan_step(b, "R4", b->input->settings->world_size.place.origin,
			  "%zu ranks fill the hosts in their order: %zu of %zu hosts get none",
			  total, idle, count);
}

int spread_ranks(struct builder *b)
{
	const struct plan_settings *settings = b->input->settings;
	size_t world = 0;

	settle_without(b);
	if (settings->world_size.number == PLAN_AUTO)
		spread_evenly(b);
	else
		spread_total(b);
	for (size_t i = 0; i < b->input->host_count; i++) {
		if (b->host_classes[i]->bad)
			b->local_sizes[i] = 0;
		if (!b->host_classes[i]->without && b->local_sizes[i] > PLAN_MAX_LOCAL)
			return report_fail(b->report, GPUMAP_ELIMIT, FINDING_LIMIT, NULL,
					   "more than %d ranks on the GPUs of one host",
					   PLAN_MAX_LOCAL);
		world += b->local_sizes[i];
		if (world > PLAN_MAX_RANKS)
			return report_fail(b->report, GPUMAP_ELIMIT, FINDING_LIMIT, NULL,
					   "more than %d ranks", PLAN_MAX_RANKS);
	}
	b->plan->world_size = world;
	return GPUMAP_OK;
}
