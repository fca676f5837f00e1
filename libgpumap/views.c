/* SPDX-License-Identifier: MIT */
/* Rules L4, V and H1: from the host through every view to logical devices. */
#include "resolve.h"

/* --- lists ---------------------------------------------------------------- */

static int select_slots(struct resolver *resolver, const struct visible_list *list,
			const gpumap_device **migs, struct slot **ret)
{
	const struct view *view = &resolver->view;
	struct slot *slots = arena_alloc(resolver->arena, list->count, sizeof(*slots));
	enum gpumap_certainty named = resolver->assumed || view->unsure ? GPUMAP_CERTAINTY_ASSUMED
									: GPUMAP_CERTAINTY_CERTAIN;

	if (!slots)
		return report_nomem(resolver->report);
	for (size_t i = 0; i < list->count; i++) {
		const struct visible_entry *e = &list->entries[i];

		if (e->ordinal >= 0)
			slots[i] = view->slots[view->unlisted ? view_position(view, e->ordinal)
							      : e->ordinal];
		else if (e->gpu >= 0)
			slots[i] = (struct slot){&view->devices[e->gpu], 1, named};
		else
			slots[i] = (struct slot){&migs[e->mig], 1, named};
	}
	*ret = slots;
	return GPUMAP_OK;
}

/* Replaces the view by the devices that the list picked (an outer list: MPS, ROCR). If it is not
 * known which devices those are, they may be any of the view's. */
static int enter(struct resolver *resolver, struct slot *slots, size_t count, const char *label)
{
	struct view *view = &resolver->view;
	const gpumap_device **devices = arena_alloc(resolver->arena, count, sizeof(*devices));
	bool unsure = false;

	if (!devices)
		return report_nomem(resolver->report);
	for (size_t i = 0; i < count; i++) {
		devices[i] = slots[i].candidates[0];
		unsure = unsure || slots[i].count > 1;
	}
	if (!count)
		resolver->hidden_by = "the outer list hides every device";
	*view = (struct view){
		.devices = unsure ? view->devices : devices,
		.count = unsure ? view->count : count,
		.slots = slots,
		.slot_count = count,
		.unsure = unsure,
	};
	return view_remember(resolver, label);
}

/* Parses a list in the current view; *slots are the devices that it picks. */
static int apply_list(struct resolver *resolver, enum dialect dialect,
		      const struct effective *effective, bool outer, struct slot **slots,
		      size_t *count)
{
	struct visible_view parent = {0};
	struct visible_list list;
	const gpumap_device **migs;
	int r = view_names(resolver, &parent, &migs);

	if (r == GPUMAP_OK)
		r = visible_parse(&list, dialect, span_of(effective->value), &parent);
	if (r == GPUMAP_ENOMEM)
		return report_nomem(resolver->report);
	if (r == GPUMAP_ELIMIT)
		return report_fail(resolver->report, r, FINDING_LIMIT,
				   ABOUT(.origin = effective->origin),
				   "a visible list of more than %d entries", GPUMAP_MAX_DEVICES);
	if (r != GPUMAP_OK)
		return r;
	r = select_slots(resolver, &list, migs, slots);
	*count = list.count;
	if (r == GPUMAP_OK)
		r = list_explain(resolver, &list, effective, outer);
	visible_list_free(&list);
	return r;
}

/* --- the views in their order ---------------------------------------------- */

/* Whether a list repeats the numbers of the list outside it, which are other than 0, 1, ...: for an
 * MPS client that is an error by NVIDIA's document, with AMD's variables a mistake. */
static bool repeats(const struct effective *list, const char *outer)
{
	struct span rest = span_of(outer), token;
	int64_t i = 0;
	bool identity = true;

	if (!list->set || !*outer || !streq(list->value, outer) || strstr(outer, "GPU-") ||
	    strstr(outer, "MIG-"))
		return false;
	while (span_split(&rest, ',', &token))
		identity = identity && visible_number(token).value == i++;
	return !identity;
}

static int enter_mps(struct resolver *resolver)
{
	const char *server = resolver->request->values[KEY_mps_server];
	struct effective effective = {
		.set = true,
		.value = server,
		.origin = resolver->request->origins[KEY_mps_server],
	};
	struct slot *slots;
	size_t count;
	int r;

	if (!server)
		return GPUMAP_OK;
	r = apply_list(resolver, DIALECT_DRIVER, &effective, true, &slots, &count);
	if (r == GPUMAP_OK)
		r = enter(resolver, slots, count, "MPS server");
	if (r != GPUMAP_OK)
		return r;
	if (!step_add(resolver, "L4", effective.origin,
		      arena_printf(resolver->arena,
				   "the MPS server sees %s; the client's numbers count in that",
				   QUOTE(span_of(server)))))
		return report_nomem(resolver->report);
	if (repeats(&resolver->effective[VARIABLE_CUDA_VISIBLE], server))
		answer_no(resolver, FINDING_MPS_REPEATED,
			  ABOUT(.rule = "L4",
				.origin = resolver->effective[VARIABLE_CUDA_VISIBLE].origin,
				.fix = "unset the client's list, or use UUIDs in both"),
			  "the client repeats the MPS server's list %s, but its numbers count "
			  "inside it",
			  QUOTE(span_of(server)));
	return GPUMAP_OK;
}

static int enter_rocr(struct resolver *resolver, struct effective *rocr)
{
	struct slot *slots;
	size_t count;
	int r;

	if (!rocr->set)
		return GPUMAP_OK;
	r = apply_list(resolver, DIALECT_ROCR, rocr, true, &slots, &count);
	return r == GPUMAP_OK ? enter(resolver, slots, count, "ROCR") : r;
}

static void explain_hip(struct resolver *resolver, const struct effective *list)
{
	const struct effective *rocr = &resolver->effective[VARIABLE_ROCR_VISIBLE];

	if (list == &resolver->effective[VARIABLE_CUDA_VISIBLE])
		step_add(resolver, "H1", list->origin,
			 "CUDA_VISIBLE_DEVICES takes the place of HIP_VISIBLE_DEVICES");
	if (!rocr->set)
		return;
	step_add(resolver, "H1", list->origin,
		 "HIP's numbers count in the view of ROCR_VISIBLE_DEVICES");
	if (repeats(list, rocr->value))
		report_add(resolver->report, FINDING_DOUBLE_FILTER,
			   ABOUT(.rule = "H1", .origin = list->origin,
				 .fix = "set one of the two, or count from 0 in the inner one"),
			   "%s filters twice: its numbers count inside ROCR_VISIBLE_DEVICES=%s",
			   QUOTE(span_of(list->value)), QUOTE(span_of(rocr->value)));
}

/* The list that the process itself reads last; NULL: none, and every device is visible. */
static const struct effective *process_list(struct resolver *resolver)
{
	struct effective *effective = resolver->effective;
	const struct effective *list = &effective[dialect_variable(resolver->dialect)];

	if (resolver->dialect == DIALECT_HIP) {
		/* Here an empty list is not set (rule H1). */
		if (!list->set || !*list->value)
			list = &effective[VARIABLE_CUDA_VISIBLE];
		if (!list->set || !*list->value) {
			step_add(resolver, "S5", NULL,
				 "neither HIP_VISIBLE_DEVICES nor CUDA_VISIBLE_DEVICES is set: "
				 "every device");
			return NULL;
		}
		explain_hip(resolver, list);
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
	const struct effective *list;
	struct slot *slots;
	size_t count;
	int r = view_remember(resolver, "host");

	if (r == GPUMAP_OK)
		r = grant_apply(resolver, KEY_container);
	if (r == GPUMAP_OK)
		r = grant_apply(resolver, KEY_cgroup);
	if (r != GPUMAP_OK || resolver->failed)
		return r;
	r = order_slots(resolver);
	if (r == GPUMAP_OK)
		r = enter_mps(resolver);
	if (r == GPUMAP_OK && resolver->dialect == DIALECT_HIP)
		r = enter_rocr(resolver, &resolver->effective[VARIABLE_ROCR_VISIBLE]);
	if (r != GPUMAP_OK || resolver->failed)
		return r;
	list = process_list(resolver);
	resolver->list = list;
	if (!list) {
		slots = resolver->rotate ? rotated(resolver) : resolver->view.slots;
		return slots ? mig_expand(resolver, slots, resolver->view.slot_count, true)
			     : report_nomem(resolver->report);
	}
	r = apply_list(resolver, resolver->dialect, list, false, &slots, &count);
	return r == GPUMAP_OK ? mig_expand(resolver, slots, count, false) : r;
}
