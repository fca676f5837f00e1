/* SPDX-License-Identifier: MIT */
/* DeepSpeed's launcher: one command, GPUs by host and number. */
#include "emit/emit.h"

static bool can_host(struct emitter *e, const struct emit_node *node)
{
	const char *numbers = emit_numbers(e, node);
	size_t count = emit_count(numbers ? numbers : "");

	if (!numbers)
		emit_remark(e, FINDING_LAUNCHER_CANNOT,
			    "use torchrun, or whole GPUs of an inventory",
			    "deepspeed takes GPUs by their numbers, and %s has a MIG instance or "
			    "one without a number",
			    node->host->name);
	else if (count != node->ranks)
		emit_remark(e, FINDING_LAUNCHER_CANNOT, "use torchrun, or a rank for each GPU",
			    "deepspeed starts a rank for each GPU: %s has %zu ranks and %zu GPUs",
			    node->host->name, node->ranks, count);
	return !e->refused;
}

static bool is_ascending(const char *numbers)
{
	struct span rest = span_of(numbers), one;
	int64_t last = -1;

	while (span_split(&rest, ',', &one)) {
		int64_t n = span_number(one, INT32_MAX);

		if (n <= last)
			return false;
		last = n;
	}
	return true;
}

/* The highest number of a host, plus one. */
static long long slots(const char *numbers)
{
	struct span rest = span_of(numbers), one;
	int64_t max = -1;

	while (span_split(&rest, ',', &one))
		if (span_number(one, INT32_MAX) > max)
			max = span_number(one, INT32_MAX);
	return (long long)max + 1;
}

static char *host_lines(struct emitter *e)
{
	struct strbuf lines = {0};

	for (size_t i = 0; i < e->node_count; i++)
		strbuf_printf(&lines, "%s slots=%lld\n", e->nodes[i].host->name,
			      slots(emit_numbers(e, &e->nodes[i])));
	return strbuf_take(&lines);
}

static void put_include(struct emitter *e)
{
	CLEANUP(strbuf_free) struct strbuf include = {0};

	for (size_t i = 0; i < e->node_count; i++)
		strbuf_printf(&include, "%s%s:%s", i ? "@" : "",
			      e->node_count > 1 ? e->nodes[i].host->name : "localhost",
			      emit_numbers(e, &e->nodes[i]));
	emit_wordf(e, "--include=%s", include.text ? include.text : "");
	e->out.failed = e->out.failed || include.failed;
}

static void put_command(struct emitter *e)
{
	emit_start(e, 0, EMIT_NUMBERS);
	emit_word(e, "deepspeed");
	if (e->node_count > 1)
		emit_word(e, "--hostfile=" EMIT_HOST_FILE);
	put_include(e);
	if (e->node_count > 1)
		emit_wordf(e, "--master_addr=%s", e->plan->master_addr);
	emit_wordf(e, "--master_port=%d", emit_port(e));
	emit_word(e, "--no_local_rank");
	emit_python(e);
	emit_end(e);
}

static void warn_ranks(struct emitter *e)
{
	const struct emit_node *other = emit_unlike(e);

	for (size_t i = 0; i < e->node_count; i++) {
		const char *numbers = emit_numbers(e, &e->nodes[i]);

		if (!e->inside && !is_ascending(numbers)) {
			emit_remark(e, FINDING_LAUNCHER_DEVICES,
				    SETTING("order = pci") " plans them that way, or use torchrun",
				    "deepspeed sorts the GPUs of %s: %s", e->nodes[i].host->name,
				    numbers);
			return;
		}
	}
	if (other)
		emit_remark(e, FINDING_LAUNCHER_RANKS, "use torchrun",
			    "deepspeed gives wrong local ranks where hosts differ: %s has "
			    "%zu ranks, %s %zu",
			    e->nodes[0].host->name, e->nodes[0].ranks, other->host->name,
			    other->ranks);
}

static void put_remarks(struct emitter *e)
{
	/* On each host it ends the others when a rank fails. */
	bool kills = e->node_count == 1 && emit_on_fail(e) == PLAN_ON_FAIL_KILL;
	const enum profile_key_id kept[] = {kills ? PKEY_PROFILE_on_fail : PKEY_COUNT};

	emit_loses(e, emit_needs_exec(e), kept, ARRAY_SIZE(kept));
	warn_ranks(e);
	emit_remark(e, FINDING_LAUNCHER_ENVIRONMENT, NULL,
		    "deepspeed drops an inherited CUDA_VISIBLE_DEVICES, sets numbers, and does not "
		    "set LOCAL_WORLD_SIZE");
	if (!e->nodes[0].host->layout->device_order || e->node_count > 1)
		emit_remark(e, FINDING_LAUNCHER_DEVICES,
			    "set CUDA_DEVICE_ORDER=PCI_BUS_ID on every host",
			    "GPUs go by number instead of by UUID, and a number is a GPU only with "
			    "the order of nvidia-smi");
	emit_remark(e, FINDING_LAUNCHER_STATUS, "gpumap run returns the failing rank's",
		    "deepspeed returns 0 when its own process on a host was ended by a signal");
	emit_remark(e, FINDING_LAUNCHER_ORPHANS, "gpumap run ends its own ranks, and all of them",
		    "a deepspeed that is killed with SIGKILL leaves its ranks behind, and an "
		    "interrupted one on several hosts ends all deepspeed jobs of this user there");
}

/* Variables and quotes do not reach other hosts unchanged by ssh. */
static bool needs_plan(struct emitter *e)
{
	return e->inside || (e->node_count > 1 &&
			     (e->plan->variable_count || emit_needs_exec(e) || !emit_is_plain(e)));
}

void emit_deepspeed(struct emitter *e)
{
	for (size_t i = 0; i < e->node_count; i++)
		if (!can_host(e, &e->nodes[i]))
			return;
	if (!emit_has_names(e))
		return;
	e->inside = needs_plan(e);
	emit_plan_file(e);
	if (e->node_count > 1)
		emit_file(e, EMIT_HOST_FILE, host_lines(e));
	put_command(e);
	put_remarks(e);
}
