/* SPDX-License-Identifier: MIT */
/* Rule L1: the devices that a container or a device cgroup grants. */
#include "resolve/resolve.h"
#include "visible/entry.h"

struct span granted_name(struct span token)
{
	struct span s = span_trim(token);

	span_skip(&s, "nvidia.com/gpu=");
	return s;
}

bool grants_all(const char *value)
{
	return span_is(granted_name(span_of(value)), "all");
}

static bool grants_none(const char *value)
{
	struct span s = granted_name(span_of(value));

	return !s.length || span_is(s, "none") || span_is(s, "void");
}

/* The device of the view that a granted name means: an index of nvidia-smi, a UUID, or a CDI name;
 * -1: none. MIG instances ("0:1", "MIG-...") grant their GPU. */
static int granted_device(const struct resolver *resolver, const struct matcher *matcher,
			  struct span name)
{
	struct span s = granted_name(name), number = s;
	struct visible_entry entry = {-1, -1, -1, s};
	const char *colon = s.length ? memchr(s.text, ':', s.length) : NULL;
	int64_t index;

	if (span_starts(s, "GPU-") || span_starts(s, "MIG-")) {
		if (match_uuid(matcher, s, NULL, &entry) != END_NOT)
			return -1;
		return entry.mig >= 0 ? matcher->view->migs[entry.mig].gpu : entry.gpu;
	}
	if (colon)
		number.length = (size_t)(colon - s.text);
	index = span_number(number, INT32_MAX);
	if (index < 0 || inventory_unnumbered(resolver->inventory))
		return -1;
	return view_position(&resolver->view, index);
}

/* Whether the name is past this host's GPUs. A container or a job may show only its own. */
static bool past_this_host(const struct resolver *resolver, struct span name)
{
	const gpumap_inventory *inventory = resolver->inventory;

	return inventory &&
	       (streq(inventory->source, "nvml") || streq(inventory->source, "proc")) &&
	       span_number(name, INT32_MAX) >= (int64_t)resolver->view.count;
}

static const char *grant_fix(const struct resolver *resolver, struct span name)
{
	if (past_this_host(resolver, name))
		return "this host shows no more; a machine that has it is asked about with "
		       "--inventory 8";
	/* The name may have quotes, as on the command line of docker run --gpus. */
	if (name.length && (strchr("\"'", *name.text) || span_starts(name, "device=")))
		return "write the numbers or UUIDs alone, without device= and quotes";
	return "write numbers of nvidia-smi on the host, or UUIDs";
}

static void refuse_grant(struct resolver *resolver, enum key_id key, struct span token)
{
	const char *origin = resolver->request->origins[key];
	struct span name = granted_name(token);

	if (inventory_unnumbered(resolver->inventory) && name.length && is_digit(*name.text))
		answer_no(resolver, FINDING_UNDECIDABLE,
			  ABOUT(.rule = "N1", .origin = origin, .fix = RECORD_NUMBERS),
			  "%s grants '%s', and nvidia-smi's numbers of the GPUs are not known",
			  key_get(key)->name, QUOTE(token));
	else
		answer_no(resolver, FINDING_NO_SUCH_GRANT,
			  ABOUT(.rule = "L1", .origin = origin, .fix = grant_fix(resolver, name)),
			  "%s grants '%s', which is not one of the %zu GPUs outside, or several",
			  key_get(key)->name, QUOTE(token), resolver->view.count);
}

/* Marks the devices that the list grants. False: it names one that does not exist. */
static bool mark_grants(struct resolver *resolver, const struct matcher *matcher, enum key_id key,
			bool *kept)
{
	const char *value = resolver->request->values[key];
	struct span rest = span_of(value), token;

	while (!grants_none(value) && span_split(&rest, ',', &token)) {
		int i = granted_device(resolver, matcher, token);

		if (i < 0) {
			refuse_grant(resolver, key, token);
			return false;
		}
		kept[i] = true;
	}
	return true;
}

static int find_grants(struct resolver *resolver, enum key_id key, bool *kept)
{
	struct span value = span_of(resolver->request->values[key]);
	struct visible_view names = {0};
	const gpumap_device **migs;
	struct matcher matcher;
	int r = view_names(resolver, &names, &migs);

	if (r == GPUMAP_OK)
		r = matcher_init(&matcher, DIALECT_DRIVER, &names, value);
	if (r == GPUMAP_ELIMIT)
		report_add(resolver->report, FINDING_LIMIT,
			   ABOUT(.origin = resolver->request->origins[key]),
			   "a grant of more than %d entries", GPUMAP_MAX_DEVICES);
	if (r != GPUMAP_OK)
		return r;
	mark_grants(resolver, &matcher, key, kept);
	matcher_free(&matcher);
	return GPUMAP_OK;
}

static void add_grant_step(struct resolver *resolver, enum key_id key, size_t count)
{
	const char *value = resolver->request->values[key], *label = key_get(key)->name;
	const char *text =
		grants_all(value)
			? arena_printf(resolver->arena, "the %s keeps every GPU", label)
			: arena_printf(resolver->arena,
				       "the %s keeps %zu GPU%s, renumbered from 0: %s", label,
				       count, count == 1 ? "" : "s", QUOTE(span_of(value)));

	step_add(resolver, "L1", resolver->request->origins[key], text);
	view_remember(resolver, label);
}

/* A grant keeps devices in the order of nvidia-smi, whatever the order of its own list. */
int grant_apply(struct resolver *resolver, enum key_id key)
{
	const char *value = resolver->request->values[key];
	struct view *view = &resolver->view;
	const gpumap_device **devices;
	size_t count = 0;
	bool *kept;
	int r;

	if (!value || resolver->failed)
		return GPUMAP_OK;
	if (grants_all(value)) {
		add_grant_step(resolver, key, view->count);
		return GPUMAP_OK;
	}
	devices = arena_alloc(resolver->arena, view->count, sizeof(*devices));
	kept = arena_alloc(resolver->arena, view->count, sizeof(*kept));
	if (!devices || !kept)
		return GPUMAP_ENOMEM;
	r = find_grants(resolver, key, kept);
	if (r != GPUMAP_OK || resolver->failed)
		return r;
	for (size_t i = 0; i < view->count; i++)
		if (kept[i])
			devices[count++] = view->devices[i];
	*view = (struct view){.devices = devices, .count = count};
	if (!count)
		resolver->hidden_by = "the container or cgroup grants no GPU";
	add_grant_step(resolver, key, count);
	return GPUMAP_OK;
}
