/* SPDX-License-Identifier: MIT */
/* Rules L1 and L4, V and H1: from the host through every view to logical devices. */
#include "resolve.h"

static int remember_view(struct resolver *resolver, const char *label)
{
	gpumap_mapping *mapping = resolver->mapping;

	if (mapping->view_count < MAX_VIEWS)
		mapping->views[mapping->view_count++] =
			(struct seen_view){label, resolver->view.devices, resolver->view.count};
	return GPUMAP_OK;
}

/* --- grants --------------------------------------------------------------- */

/* Which device of the view a granted name means: an index of nvidia-smi, a UUID, or a
 * CDI name; -1: none. MIG pairs ("0:1") grant their GPU. */
static int granted_device(const struct view *view, struct span name)
{
	struct span s = span_trim(name), number;
	int64_t index;

	if (span_starts(s, "nvidia.com/gpu="))
		s = (struct span){s.text + 15, s.length - 15};
	for (size_t i = 0; i < view->count; i++) {
		const char *uuid = view->devices[i]->uuid;

		if (uuid && s.length > 4 && strncmp(uuid, s.text, s.length) == 0)
			return (int)i;
	}
	number = s;
	for (size_t i = 0; i < s.length; i++)
		if (s.text[i] == ':')
			number.length = i < number.length ? i : number.length;
	index = span_number(number, INT32_MAX);
	if (!view->unlisted)
		return index >= 0 && index < (int64_t)view->count ? (int)index : -1;
	for (size_t i = 0; i < view->count; i++)
		if (view->devices[i]->physical == index && index >= 0)
			return (int)i;
	return -1;
}

/* Marks the devices that the list grants; false: it names one that does not exist. */
static bool mark_grants(struct resolver *resolver, const char *value, const char *what,
			const char *origin, bool *kept)
{
	struct view *view = &resolver->view;
	struct span rest = span_of(value), token;
	bool all = span_is(span_trim(rest), "all"), none = !span_trim(rest).length;

	none = none || span_is(span_trim(rest), "none") || span_is(span_trim(rest), "void");
	for (size_t i = 0; all && i < view->count; i++)
		kept[i] = true;
	while (!all && !none && span_split(&rest, ',', &token)) {
		int i = granted_device(view, token);

		if (i < 0) {
			answer_no(resolver, FINDING_NO_SUCH_GRANT,
				  ABOUT(.rule = "L1", .origin = origin,
					.fix = "write numbers of nvidia-smi on the host, or UUIDs"),
				  "%s grants '%s', which is none of the %zu GPUs outside", what,
				  QUOTE(token), view->count);
			return false;
		}
		kept[i] = true;
	}
	return true;
}

/* A grant keeps devices in the order of nvidia-smi, whatever its own order is. */
static int apply_grant(struct resolver *resolver, enum key_id key, const char *label)
{
	const char *value = resolver->request->values[key];
	const char *origin = resolver->request->origins[key];
	struct view *view = &resolver->view;
	const gpumap_device **devices;
	size_t count = 0;
	bool *kept;

	if (!value)
		return GPUMAP_OK;
	devices = arena_alloc(resolver->arena, view->count, sizeof(*devices));
	kept = arena_alloc(resolver->arena, view->count, sizeof(*kept));
	if (!devices || !kept)
		return report_nomem(resolver->report);
	if (!mark_grants(resolver, value, label, origin, kept))
		return GPUMAP_OK;
	for (size_t i = 0; i < view->count; i++)
		if (kept[i])
			devices[count++] = view->devices[i];
	view->devices = devices;
	view->count = count;
	view->unlisted = false;
	if (!step_add(resolver, "L1", origin,
		      arena_printf(resolver->arena, "the %s keeps %zu GPU%s, renumbered from 0: %s",
				   label, count, count == 1 ? "" : "s", QUOTE(span_of(value)))))
		return report_nomem(resolver->report);
	return remember_view(resolver, label);
}

/* --- lists ---------------------------------------------------------------- */

/* What the parser looks entries up in. */
static int parser_view(struct resolver *resolver, struct visible_view *ret,
		       const gpumap_device ***migs)
{
	struct view *view = &resolver->view;
	struct visible_mig *mig;
	size_t mig_count = 0;

	for (size_t i = 0; i < view->count; i++)
		mig_count += view->devices[i]->mig_count + view->unlisted;
	ret->count = view->unlisted ? (int64_t)INT32_MAX + 1 : (int64_t)view->slot_count;
	ret->uuids = arena_alloc(resolver->arena, view->count, sizeof(*ret->uuids));
	mig = arena_alloc(resolver->arena, mig_count, sizeof(*mig));
	*migs = arena_alloc(resolver->arena, mig_count, sizeof(**migs));
	if (!ret->uuids || !mig || !*migs)
		return report_nomem(resolver->report);
	ret->uuid_count = view->count;
	ret->migs = mig;
	for (size_t i = 0; i < view->count; i++) {
		const gpumap_device *d = view->devices[i];

		ret->uuids[i] = d->uuid;
		if (view->unlisted && d->uuid && starts_with(d->uuid, "MIG-")) {
			mig[ret->mig_count] = (struct visible_mig){d->uuid, (int)i, -1, -1};
			(*migs)[ret->mig_count++] = d;
		}
		for (size_t m = 0; m < d->mig_count; m++) {
			mig[ret->mig_count] = (struct visible_mig){d->mig[m].uuid, (int)i,
								   d->mig[m].gi, d->mig[m].ci};
			(*migs)[ret->mig_count++] = &d->mig[m];
		}
	}
	return GPUMAP_OK;
}

/* The slot of an ordinal; in an unlisted view devices are sorted by number. */
static const struct slot *find_slot(const struct view *view, int ordinal)
{
	size_t low = 0, high = view->count;

	if (!view->unlisted)
		return &view->slots[ordinal];
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int physical = view->devices[middle]->physical;

		/* Devices known by UUID alone come last. */
		if (physical >= 0 && physical < ordinal)
			low = middle + 1;
		else
			high = middle;
	}
	return &view->slots[low];
}

static int select_slots(struct resolver *resolver, const struct visible_list *list,
			const gpumap_device **migs, struct slot **ret)
{
	const struct view *view = &resolver->view;
	struct slot *slots = arena_alloc(resolver->arena, list->count, sizeof(*slots));
	enum gpumap_certainty named = resolver->assumed ? GPUMAP_ASSUMED : GPUMAP_CERTAIN;

	if (!slots)
		return report_nomem(resolver->report);
	for (size_t i = 0; i < list->count; i++) {
		const struct visible_entry *e = &list->entries[i];

		if (e->ordinal >= 0)
			slots[i] = *find_slot(view, e->ordinal);
		else if (e->gpu >= 0)
			slots[i] = (struct slot){&view->devices[e->gpu], 1, named};
		else
			slots[i] = (struct slot){&migs[e->mig], 1, named};
	}
	*ret = slots;
	return GPUMAP_OK;
}

/* The view becomes what the list picked (an outer list: MPS, ROCR). */
static int enter(struct resolver *resolver, struct slot *slots, size_t count, const char *label)
{
	struct view *view = &resolver->view;
	const gpumap_device **devices = arena_alloc(resolver->arena, count, sizeof(*devices));

	if (!devices)
		return report_nomem(resolver->report);
	for (size_t i = 0; i < count; i++)
		devices[i] = slots[i].candidates[0];
	*view = (struct view){devices, count, slots, count, false};
	return remember_view(resolver, label);
}

/* Parses a list in the current view; *slots are the devices that it picks. */
static int apply_list(struct resolver *resolver, enum dialect dialect,
		      const struct holding *holding, bool outer, struct slot **slots, size_t *count)
{
	struct visible_view parent = {0};
	struct visible_list list;
	const gpumap_device **migs;
	int r = parser_view(resolver, &parent, &migs);

	if (r == GPUMAP_OK)
		r = visible_parse(&list, dialect, span_of(holding->value), &parent);
	if (r == GPUMAP_ENOMEM)
		return report_nomem(resolver->report);
	if (r == GPUMAP_ELIMIT)
		return report_fail(resolver->report, r, FINDING_LIMIT,
				   ABOUT(.origin = holding->origin),
				   "a visible list of more than %d entries", GPUMAP_MAX_DEVICES);
	if (r != GPUMAP_OK)
		return r;
	r = select_slots(resolver, &list, migs, slots);
	*count = list.count;
	if (r == GPUMAP_OK)
		r = list_explain(resolver, &list, holding, outer);
	visible_list_free(&list);
	return r;
}

/* --- the views in their order ---------------------------------------------- */

/* Numbers that a client repeats from its server: an error by NVIDIA's document unless
 * they are 0, 1, ... in both. */
static bool repeats_server(const struct resolver *resolver, const char *server)
{
	const struct holding *list = &resolver->holding[VARIABLE_CUDA_VISIBLE];
	struct span rest = span_of(server), token;
	int64_t i = 0;
	bool identity = true;

	if (!list->set || !streq(list->value, server) || strstr(server, "GPU-") ||
	    strstr(server, "MIG-"))
		return false;
	while (span_split(&rest, ',', &token))
		identity = identity && visible_number(token).value == i++;
	return !identity;
}

static int enter_mps(struct resolver *resolver)
{
	const char *server = resolver->request->values[KEY_mps_server];
	struct holding holding = {
		.set = true,
		.value = server,
		.origin = resolver->request->origins[KEY_mps_server],
	};
	struct slot *slots;
	size_t count;
	int r;

	if (!server)
		return GPUMAP_OK;
	r = apply_list(resolver, DIALECT_DRIVER, &holding, true, &slots, &count);
	if (r == GPUMAP_OK)
		r = enter(resolver, slots, count, "MPS server");
	if (r != GPUMAP_OK)
		return r;
	if (!step_add(resolver, "L4", holding.origin,
		      arena_printf(resolver->arena,
				   "the MPS server sees %s; the client's numbers count in that",
				   QUOTE(span_of(server)))))
		return report_nomem(resolver->report);
	if (repeats_server(resolver, server))
		answer_no(resolver, FINDING_MPS_REPEATED,
			  ABOUT(.rule = "L4",
				.origin = resolver->holding[VARIABLE_CUDA_VISIBLE].origin,
				.fix = "unset the client's list, or use UUIDs in both"),
			  "the client repeats the MPS server's list %s, but its numbers count "
			  "inside it",
			  QUOTE(span_of(server)));
	return GPUMAP_OK;
}

static int enter_rocr(struct resolver *resolver, struct holding *rocr)
{
	struct slot *slots;
	size_t count;
	int r;

	if (!rocr->set)
		return GPUMAP_OK;
	r = apply_list(resolver, DIALECT_ROCR, rocr, true, &slots, &count);
	return r == GPUMAP_OK ? enter(resolver, slots, count, "ROCR") : r;
}

/* The list that the process itself reads last; NULL: none, every device is visible. */
static const struct holding *process_list(struct resolver *resolver)
{
	struct holding *holding = resolver->holding;
	const struct holding *list = &holding[dialect_variable(resolver->dialect)];

	if (resolver->dialect == DIALECT_HIP) {
		/* Empty is not set here (rule H1). */
		if (!list->set || !*list->value)
			list = &holding[VARIABLE_CUDA_VISIBLE];
		if (list->set && !*list->value)
			return NULL;
		if (list->set && holding[VARIABLE_ROCR_VISIBLE].set)
			step_add(resolver, "H1", list->origin,
				 "HIP's numbers count in the view of ROCR_VISIBLE_DEVICES");
	}
	return list->set ? list : NULL;
}

/* The view's slots, beginning with this worker's own (Dask without a list). */
static struct slot *rotated(struct resolver *resolver)
{
	const struct view *view = &resolver->view;
	size_t count = view->slot_count, by = count ? (size_t)resolver->rotate % count : 0;
	struct slot *slots = arena_alloc(resolver->arena, count, sizeof(*slots));

	for (size_t i = 0; slots && i < count; i++)
		slots[i] = view->slots[(i + by) % count];
	return slots;
}

int views_resolve(struct resolver *resolver)
{
	const struct holding *list;
	struct slot *slots;
	size_t count;
	int r = remember_view(resolver, "host");

	if (r == GPUMAP_OK)
		r = apply_grant(resolver, KEY_container, "container");
	if (r == GPUMAP_OK)
		r = apply_grant(resolver, KEY_cgroup, "cgroup");
	if (r == GPUMAP_OK)
		r = order_slots(resolver);
	if (r == GPUMAP_OK)
		r = enter_mps(resolver);
	if (r == GPUMAP_OK && resolver->dialect == DIALECT_HIP)
		r = enter_rocr(resolver, &resolver->holding[VARIABLE_ROCR_VISIBLE]);
	if (r != GPUMAP_OK || resolver->failed)
		return r;
	list = process_list(resolver);
	if (!list) {
		slots = resolver->rotate ? rotated(resolver) : resolver->view.slots;
		return slots ? mig_expand(resolver, slots, resolver->view.slot_count, true)
			     : report_nomem(resolver->report);
	}
	r = apply_list(resolver, resolver->dialect, list, false, &slots, &count);
	return r == GPUMAP_OK ? mig_expand(resolver, slots, count, false) : r;
}
