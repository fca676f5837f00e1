/* SPDX-License-Identifier: MIT */
/* A plan for people: a table for each kind of host, and the reasons. */
#include "explain/plan.h"

#include <stdio.h>

#include "explain/explain.h"
#include "request/profile_keys.h"
#include "style.h"
#include "text/words.h"

/* How many ranks of a host, and how many hosts, are shown. The JSON has all. */
enum { MAX_RANKS = 64, MAX_HOSTS = 64, LIST_WIDTH = 32, STEP_WIDTH = 56 };
enum { KEY_WIDTH = 17, VALUE_WIDTH = 30, RULE_WIDTH = 5 };

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* The text is escaped, because a plan that was read can hold anything. */
static void escaped(struct strbuf *buf, const char *before, const char *text, const char *after)
{
	strbuf_puts(buf, before);
	escape_all(buf, text);
	strbuf_puts(buf, after);
}

void plan_headline(struct strbuf *buf, const gpumap_plan *plan)
{
	style_set(buf, plan->answered ? STYLE_ANSWER : STYLE_ERROR);
	/* Without an answer it may not be known how many ranks there would be. */
	if (plan->answered || plan->world_size)
		strbuf_printf(buf, "%zu rank%s on ", plan->world_size, plural(plan->world_size));
	strbuf_printf(buf, "%zu host%s, %s", plan->host_count, plural(plan->host_count),
		      plan->settings.mode.text);
	if (plan->profile)
		escaped(buf, ", profile ", plan->profile, "");
	strbuf_puts(buf, plan->answered ? "" : ": cannot be started");
	style_set(buf, STYLE_PLAIN);
}

void plan_rendezvous(struct strbuf *buf, const gpumap_plan *plan)
{
	escaped(buf, "Rendezvous at ", plan->master_addr, "");
	if (plan->master_port)
		strbuf_printf(buf, ":%d.", plan->master_port);
	else
		strbuf_puts(buf, ", on a free port reserved when the run starts.");
}

bool plan_may_land(const gpumap_plan *plan)
{
	bool stated = plan->settings.device.use.text || *plan->settings.set_device.text ||
		      *plan->settings.device_ids.text;

	return plan->answered || !stated;
}

/* Whether it is unknown if the rank uses the GPU that it is given. */
static bool is_open(const struct local_rank *local, bool may_land)
{
	return local->device_count && !local->lands && may_land;
}

static const char *device_label(struct quoted *ret, const struct local_rank *local, bool may_land)
{
	const struct plan_device *d = local->lands ? local->lands : local->devices;

	if (!local->device_count || (!local->lands && !may_land))
		return local->device_count ? "none" : "-";
	return format_text(ret, "%s%s%s%s", d->physical < 0 ? "?" : FORMAT("%d", d->physical),
			   d->mig >= 0 ? FORMAT(":%d", d->mig) : "",
			   local->device_count > 1 ? FORMAT(" of %zu", local->device_count) : "",
			   is_open(local, may_land) ? "?" : "");
}

static bool lists_fit(const struct plan_layout *layout)
{
	for (size_t l = 0; l < layout->count; l++)
		if (strlen(layout->ranks[l].visible) > LIST_WIDTH)
			return false;
	return true;
}

bool lists_equal(const struct plan_layout *layout)
{
	for (size_t l = 1; l < layout->count; l++)
		if (!streq(layout->ranks[l].visible, layout->ranks[0].visible))
			return false;
	return true;
}

/* How a host's ranks are shown. */
struct look {
	int cores_width;
	bool lists, may_land;
};

static void rank_row(struct strbuf *buf, const struct plan_host *host, size_t l,
		     const struct look *look)
{
	const struct local_rank *local = &host->layout->ranks[l];
	const char *logical = local->logical >= 0 ? FORMAT("cuda:%d", local->logical) : "-";
	const char *threads = local->threads ? FORMAT("%d", local->threads) : "-";
	struct quoted room;
	const char *device = device_label(&room, local, look->may_land);

	strbuf_printf(buf, "  %-6zu%-7zu%-9s%-9s", host->first_rank + l, l, device, logical);
	put_cell(buf, local->cpus ? local->cpus : "-", look->cores_width);
	strbuf_printf(buf, "%-9s", threads);
	if (look->lists)
		escape_all(buf, *local->visible ? local->visible : "(empty)");
	trim_end(buf);
	strbuf_puts(buf, "\n");
}

/* The device that an entry of a list names by its whole UUID; NULL: it is another entry. */
static const struct plan_device *device_named(const struct plan_layout *layout, struct span entry)
{
	for (size_t l = 0; l < layout->count; l++)
		for (size_t i = 0; i < layout->ranks[l].device_count; i++) {
			const struct plan_device *d = &layout->ranks[l].devices[i];

			if (d->uuid && span_is(entry, d->uuid))
				return d;
		}
	for (size_t i = 0; i < layout->gpu_count; i++)
		if (layout->gpus[i].uuid && span_is(entry, layout->gpus[i].uuid))
			return &layout->gpus[i];
	return NULL;
}

/* Long lists have UUIDs. People read "GPUs 0-7" more easily; JSON has the list itself. */
static void put_list(struct strbuf *buf, const struct plan_layout *layout, const char *list)
{
	struct span rest = span_of(list), entry;
	CLEANUP(strbuf_free) struct strbuf numbers = {0};
	bool known = *list != '\0';

	while (known && span_split(&rest, ',', &entry)) {
		const struct plan_device *d = device_named(layout, entry);

		known = d && d->physical >= 0;
		if (known)
			strbuf_printf(&numbers, "%s%d", numbers.length ? "," : "", d->physical);
		if (known && d->mig >= 0)
			strbuf_printf(&numbers, ":%d", d->mig);
	}
	if (known && numbers.text) {
		strbuf_puts(buf, strchr(list, ',') ? "GPUs " : "GPU ");
		fold_numbers(buf, (struct span){numbers.text, numbers.length});
	} else {
		escape_all(buf, list);
	}
	buf->failed = buf->failed || numbers.failed;
}

static void long_lists(struct strbuf *buf, const struct plan_host *host, size_t shown)
{
	const struct plan_layout *layout = host->layout;
	bool equal = lists_equal(layout);

	for (size_t l = 0; l < (equal ? 1 : shown); l++) {
		if (equal)
			strbuf_puts(buf, "  all see ");
		else
			strbuf_printf(buf, "  rank %zu sees ", host->first_rank + l);
		put_list(buf, layout, layout->ranks[l].visible);
		strbuf_puts(buf, "\n");
	}
}

/* Explains the question marks in the column of GPUs. */
static void legend(struct strbuf *buf, const struct plan_layout *layout, size_t shown,
		   const struct look *look)
{
	bool open = false, unnumbered = false;

	for (size_t l = 0; l < shown; l++) {
		const struct local_rank *local = &layout->ranks[l];
		const struct plan_device *d = local->lands ? local->lands : local->devices;
		bool is = is_open(local, look->may_land);

		open = open || is;
		unnumbered = unnumbered || ((is || local->lands) && d->physical < 0);
	}
	if (open)
		strbuf_puts(buf, "  N?: GPU N is meant for the rank; which one the program uses is "
				 "not known\n");
	if (unnumbered)
		strbuf_puts(buf, "  ?: a GPU whose number is not known\n");
}

static void host_table(struct strbuf *buf, const gpumap_plan *plan, const struct plan_host *host)
{
	const struct plan_layout *layout = host->layout;
	size_t shown = layout->count < MAX_RANKS ? layout->count : MAX_RANKS;
	struct look look = {7, lists_fit(layout), plan_may_land(plan)};

	for (size_t l = 0; l < shown; l++) {
		int length = (int)strlen(layout->ranks[l].cpus ? layout->ranks[l].cpus : "-");

		look.cores_width = length + 2 > look.cores_width ? length + 2 : look.cores_width;
	}
	strbuf_puts(buf, "\n");
	style_set(buf, STYLE_HEADING);
	escape_all(buf, host->name);
	style_set(buf, STYLE_PLAIN);
	if (!layout->count) {
		strbuf_puts(buf, ": no rank\n");
		return;
	}
	strbuf_puts(buf, "\n");
	style_set(buf, STYLE_FAINT);
	strbuf_printf(buf, "  rank  local  GPU      uses     %-*sthreads%s", look.cores_width,
		      "cores", look.lists ? "  CUDA_VISIBLE_DEVICES" : "");
	style_set(buf, STYLE_PLAIN);
	strbuf_puts(buf, "\n");
	for (size_t l = 0; l < shown; l++)
		rank_row(buf, host, l, &look);
	if (shown < layout->count)
		strbuf_printf(buf, "  ... %zu more ranks\n", layout->count - shown);
	legend(buf, layout, shown, &look);
	if (!look.lists)
		long_lists(buf, host, shown);
	if (layout->device_order)
		escaped(buf, "  with CUDA_DEVICE_ORDER=", layout->device_order, "\n");
}

/* Hosts that follow one another with the same layout as an earlier one. */
static void same_hosts(struct strbuf *buf, const gpumap_plan *plan, size_t from, size_t to,
		       size_t like)
{
	const struct plan_host *first = &plan->hosts[from], *last = &plan->hosts[to - 1];
	size_t count = last->first_rank + last->layout->count - first->first_rank;

	strbuf_puts(buf, "\n");
	escape_all(buf, first->name);
	if (to - from > 1) {
		strbuf_puts(buf, to - from > 2 ? " ... " : ", ");
		escape_all(buf, last->name);
		strbuf_printf(buf, " (%zu hosts)", to - from);
	}
	strbuf_puts(buf, ": as ");
	escape_all(buf, plan->hosts[like].name);
	if (count)
		strbuf_printf(buf, ", ranks %zu-%zu", first->first_rank,
			      first->first_rank + count - 1);
	strbuf_puts(buf, "\n");
}

/* The first host with this layout. */
static size_t first_like(const gpumap_plan *plan, size_t i)
{
	size_t first = 0;

	while (plan->hosts[first].layout != plan->hosts[i].layout)
		first++;
	return first;
}

static void hosts(struct strbuf *buf, const gpumap_plan *plan)
{
	size_t blocks = 0, i = 0;

	while (i < plan->host_count && blocks++ < MAX_HOSTS) {
		size_t like = first_like(plan, i), end = i + 1;

		if (like == i) {
			host_table(buf, plan, &plan->hosts[i++]);
			continue;
		}
		while (end < plan->host_count &&
		       plan->hosts[end].layout == plan->hosts[like].layout)
			end++;
		same_hosts(buf, plan, i, end, like);
		i = end;
	}
	if (i < plan->host_count)
		strbuf_printf(buf, "\n... %zu more hosts\n", plan->host_count - i);
}

/* Writes % for %%, except where the program's % would read as a macro. */
static void put_readable(struct strbuf *buf, const char *word)
{
	CLEANUP(strbuf_free) struct strbuf plain = {0};

	while (*word) {
		size_t step = strncmp(word, "%%", 2) ? 1 : 2;
		const char *next = word + step;
		bool macro = *next && (strchr("rlnhjs0123456789", *next) ||
				       (*next == '%' && next[1] != '%'));

		strbuf_add(&plain, word, macro ? step : 1);
		word += step;
	}
	words_quote(buf, plain.text ? plain.text : "");
	buf->failed = buf->failed || plain.failed;
}

static void program(struct strbuf *buf, const gpumap_plan *plan)
{
	CLEANUP(strbuf_free) struct strbuf line = {0};

	if (plan->argument_count) {
		for (size_t i = 0; i < plan->argument_count; i++) {
			strbuf_puts(&line, i ? " " : "");
			put_readable(&line, plan->arguments[i]);
		}
		put_heading(buf, "Program");
		strbuf_puts(buf, "  ");
		escape_all(buf, line.text ? line.text : "");
		strbuf_puts(buf, "\n");
	}
	buf->failed = buf->failed || line.failed;
	for (size_t i = 0; i < plan->variable_count; i++) {
		const struct job_variable *v = &plan->variables[i];

		if (i == 0)
			put_heading(buf, "Environment");
		escaped(buf, "  ", v->name, v->value ? "=" : " is unset");
		escaped(buf, "", v->value ? v->value : "", "  ");
		put_origin(buf, v->origin);
	}
}

static void settings(struct strbuf *buf, const gpumap_plan *plan)
{
	put_heading(buf, "Settings");
	EACH_PLAN_KEY (k) {
		const struct plan_setting *s = SETTING_OF(&plan->settings, k);

		strbuf_puts(buf, "  ");
		put_cell(buf, profile_key(k)->key.name, KEY_WIDTH);
		put_cell(buf, s->text, VALUE_WIDTH);
		strbuf_puts(buf, "  ");
		put_origin(buf, setting_origin(s));
	}
	for (size_t i = 0; i < plan->exception_count && i < MAX_RANKS; i++) {
		const struct job_exception *e = &plan->exceptions[i];

		strbuf_printf(buf, "  rank %zu: ", e->rank);
		escaped(buf, "", profile_key(e->key)->key.name, " = ");
		escaped(buf, "", e->setting.text, "  ");
		put_origin(buf, setting_origin(&e->setting));
	}
}

/* A file that was found, not named, must not surprise. Lists what the plan has from it and from the
 * files that it includes. */
static void found_settings(struct strbuf *buf, const gpumap_plan *plan)
{
	const char *file = NULL;
	size_t length = 0;

	EACH_PLAN_KEY (k) {
		const struct plan_setting *s = SETTING_OF(&plan->settings, k);
		const char *colon = s->found ? strrchr(s->origin, ':') : NULL;
		size_t n = colon ? (size_t)(colon - s->origin) : 0;

		if (!n || setting_is_default(k, s))
			continue;
		if (!file || n != length || strncmp(file, s->origin, n) != 0) {
			strbuf_puts(buf, file ? "\nFrom " : "From ");
			strbuf_puts(buf, QUOTE(((struct span){s->origin, n})));
			strbuf_puts(buf, ": ");
		} else {
			strbuf_puts(buf, ", ");
		}
		file = s->origin;
		length = n;
		escaped(buf, "", profile_key(k)->key.name, " (line ");
		escaped(buf, "", s->origin + n + 1, ")");
	}
	strbuf_puts(buf, file ? "\n" : "");
}

static void steps(struct strbuf *buf, const gpumap_plan *plan)
{
	if (plan->step_count)
		put_heading(buf, "Why");
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct plan_step *s = &plan->steps[i];

		strbuf_puts(buf, "  ");
		style_set(buf, STYLE_RULE);
		put_cell(buf, s->rule, RULE_WIDTH);
		style_set(buf, STYLE_PLAIN);
		put_cell(buf, s->text, s->origin ? STEP_WIDTH : 0);
		strbuf_puts(buf, s->origin ? "  " : "");
		put_origin(buf, s->origin ? s->origin : "");
	}
}

void plan_text(struct strbuf *buf, const gpumap_plan *plan, bool origins)
{
	plan_headline(buf, plan);
	strbuf_puts(buf, "\n");
	if (plan->world_size > 1) {
		plan_rendezvous(buf, plan);
		strbuf_puts(buf, "\n");
	}
	if (!origins)
		found_settings(buf, plan);
	hosts(buf, plan);
	program(buf, plan);
	if (origins)
		settings(buf, plan);
	steps(buf, plan);
}
