/* SPDX-License-Identifier: MIT */
/* The outermost view: a copy of the inventory, or the devices that the request names. */
#include "resolve/resolve.h"

#include "visible/python_number.h"

static gpumap_device *copy_device(struct arena *arena, gpumap_device *to, const gpumap_device *from)
{
	*to = *from;
	to->uuid = arena_strdup(arena, from->uuid);
	to->pci = arena_strdup(arena, from->pci);
	to->name = arena_strdup(arena, from->name);
	to->numa = arena_strdup(arena, from->numa);
	to->cpus = arena_strdup(arena, from->cpus);
	to->profile = arena_strdup(arena, from->profile);
	to->nvlink = NULL; /* not needed in an answer */
	to->nvlink_count = -1;
	usage_forget(to);
	to->gpu = to;
	to->mig = from->mig_count ? arena_alloc(arena, from->mig_count, sizeof(*to->mig)) : NULL;
	for (size_t i = 0; to->mig && i < from->mig_count; i++)
		copy_device(arena, &to->mig[i], &from->mig[i])->gpu = to;
	return to;
}

static gpumap_device assumed_device(int index, char *uuid)
{
	gpumap_device device = device_unknown();

	device.index = device.physical = index;
	device.uuid = uuid;
	return device;
}

/* The places of the inventory's GPUs in the host's array, which is in nvidia-smi's order. Numbers
 * that the inventory lacks (a recording was cut, a GPU is lost) have a place there too, so that
 * later numbers keep their meaning. */
struct layout {
	size_t count;
	bool by_number; /* a GPU's place is its number */
};

enum { MAX_GAP = 64 };

static struct layout find_layout(const gpumap_inventory *inventory)
{
	size_t room = 0;

	if (inventory_unnumbered(inventory))
		return (struct layout){inventory->count, false};
	for (size_t i = 0; i < inventory->count; i++)
		if ((size_t)inventory->gpus[i].physical >= room)
			room = (size_t)inventory->gpus[i].physical + 1;
	/* A measured order names all devices. */
	if (room == inventory->count ||
	    (room <= inventory->count + MAX_GAP && !inventory->order[GPUMAP_ORDER_FASTEST]))
		return (struct layout){room, true};
	return (struct layout){inventory->count, false};
}

static size_t place(const gpumap_inventory *inventory, struct layout layout, size_t i)
{
	return layout.by_number ? (size_t)inventory->gpus[i].physical : i;
}

/* The measured order as places; NULL: there is none. */
static const int *copy_order(struct resolver *resolver, struct layout layout)
{
	const gpumap_inventory *inventory = resolver->inventory;
	const int *measured = inventory->order[GPUMAP_ORDER_FASTEST];
	int *order;

	if (!measured)
		return NULL;
	order = arena_alloc(resolver->arena, layout.count, sizeof(*order));
	for (size_t i = 0; order && i < layout.count; i++) {
		if (measured[i] < 0 || (size_t)measured[i] >= inventory->count)
			return NULL;
		order[i] = (int)place(inventory, layout, (size_t)measured[i]);
	}
	return order;
}

static void note_gaps(struct resolver *resolver)
{
	const gpumap_device *host = resolver->host;
	size_t missing = resolver->host_count - resolver->inventory->count, first = 0;

	while (host[first].index == (int)first &&
	       (host[first].uuid || host[first].pci || host[first].name || host[first].memory >= 0))
		first++;
	resolver->gaps = true;
	resolver->mapping->assumption = arena_printf(
		resolver->arena, "the inventory leaves out %zu GPU%s, from GPU %zu on; %s.",
		missing, missing == 1 ? "" : "s", first,
		resolver->inventory->doubt >= 0 ? "whether CUDA counts such GPUs is not known"
		: missing == 1                  ? "it is taken as existing"
						: "they are taken as existing");
}

/* "; the model H1000 is not known": it can be new, or misspelt. */
static const char *unknown_model(struct arena *arena, const gpumap_inventory *assumed)
{
	for (size_t i = 0; i < assumed->count; i++)
		if (assumed->gpus[i].name && assumed->gpus[i].memory < 0)
			return arena_printf(arena, "; the model %s is not known",
					    assumed->gpus[i].name);
	return "";
}

static void copy_host(struct resolver *resolver)
{
	const gpumap_inventory *inventory = resolver->inventory;
	struct arena *arena = resolver->arena;
	struct layout layout = find_layout(inventory);
	gpumap_device *host = arena_alloc(arena, layout.count, sizeof(*host));

	if (!host)
		return;
	for (size_t i = 0; i < layout.count; i++) {
		host[i] = assumed_device((int)i, NULL);
		host[i].gpu = &host[i];
	}
	for (size_t i = 0; i < inventory->count; i++)
		copy_device(arena, &host[place(inventory, layout, i)], &inventory->gpus[i]);
	resolver->host = host;
	resolver->host_count = layout.count;
	resolver->fastest = copy_order(resolver, layout);
	resolver->assumed = inventory->assumed;
	if (!resolver->driver)
		resolver->driver = inventory->driver;
	if (layout.count > inventory->count)
		note_gaps(resolver);
	if (inventory->assumed && inventory->count && inventory->gpus[0].name)
		resolver->mapping->assumption = arena_printf(
			arena,
			"the machine %s was not examined; its GPUs are assumed to exist, in "
			"PCI bus order%s.",
			inventory->origin, unknown_model(arena, inventory));
	else if (inventory->assumed)
		resolver->mapping->assumption =
			inventory->count == 1
				? "1 unnamed GPU."
				: arena_printf(arena,
					       "%zu unnamed GPUs of one model, in PCI bus order.",
					       inventory->count);
}

/* The numbers and UUIDs that statements name, when nothing is known of the machine. */
struct mentions {
	int *ids;
	struct span *uuids;
	size_t id_count, uuid_count;
};

static int compare_span(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	size_t n = x->length < y->length ? x->length : y->length;
	int d = memcmp(x->text, y->text, n);

	return d ? d : (x->length > y->length) - (x->length < y->length);
}

/* ROCR ignores letter case, so compare in upper case. */
static struct span upper_case(struct resolver *resolver, struct span s)
{
	char *copy = arena_strndup(resolver->arena, s.text, s.length);

	for (size_t i = 0; copy && i < s.length; i++)
		copy[i] = copy[i] >= 'a' && copy[i] <= 'z' ? (char)(copy[i] - 32) : copy[i];
	return copy ? (struct span){copy, s.length} : s;
}

static struct span as_python(struct resolver *resolver, struct span value)
{
	char *copy = arena_alloc(resolver->arena, value.length + 1, 1);

	return (struct span){copy, copy ? python_plain(copy, value) : 0};
}

static int mention_list(struct resolver *resolver, struct mentions *m, const char *value, bool rocr)
{
	struct span rest = span_of(value), plain = rest, token, number;
	bool nvitop = resolver->dialect == DIALECT_NVITOP;
	size_t room = 1;

	for (const char *c = value; *c; c++)
		room += *c == ',';
	if (room > GPUMAP_MAX_DEVICES)
		return report_fail(resolver->report, GPUMAP_ELIMIT, FINDING_LIMIT, NULL,
				   "a visible list of more than %d entries", GPUMAP_MAX_DEVICES);
	m->ids = arena_alloc(resolver->arena, room, sizeof(*m->ids));
	m->uuids = arena_alloc(resolver->arena, room, sizeof(*m->uuids));
	if (resolver->dialect == DIALECT_TORCH || nvitop)
		plain = as_python(resolver, plain);
	if (!m->ids || !m->uuids || !plain.text)
		return GPUMAP_ENOMEM;
	while (span_split(&rest, ',', &token) && span_split(&plain, ',', &number)) {
		struct span s = granted_name(nvitop ? span_trim(token) : token);
		int64_t n;

		if (rocr)
			s = upper_case(resolver, s);
		if ((span_starts(s, "GPU-") || span_starts(s, "MIG-")) && s.length > 4)
			m->uuids[m->uuid_count++] = s;
		else if ((n = visible_index(rocr     ? DIALECT_ROCR
					    : nvitop ? DIALECT_NVITOP
						     : DIALECT_DRIVER,
					    rocr ? s : granted_name(number))) >= 0 &&
			 n <= INT32_MAX)
			m->ids[m->id_count++] = (int)n;
	}
	return GPUMAP_OK;
}

/* Without any list every device is visible, so assume as many as the choices need. */
static int mention_choices(struct resolver *resolver, struct mentions *m)
{
	static const enum key_id keys[] = {KEY_device, KEY_set_device, KEY_device_ids,
					   KEY_local_rank};
	int64_t count = 1;

	for (size_t k = 0; k < ARRAY_SIZE(keys); k++) {
		const struct resolved_key *entry = &resolver->keys[keys[k]];
		struct span rest, part;

		if (!entry->value)
			continue;
		rest = span_of(entry->value);
		while (span_split(&rest, ',', &part)) {
			struct device_choice c = device_parse(span_trim(part));

			if (c.kind == CHOICE_INDEX && c.index >= GPUMAP_MAX_DEVICES)
				return report_fail(resolver->report, GPUMAP_ELIMIT, FINDING_LIMIT,
						   ABOUT(.origin = entry->origin),
						   "cuda:%lld is past the %d devices that a "
						   "machine can have here",
						   (long long)c.index, GPUMAP_MAX_DEVICES);
			if (c.kind == CHOICE_INDEX && !c.negative && c.index >= count)
				count = c.index + 1;
		}
	}
	m->ids = arena_alloc(resolver->arena, (size_t)count, sizeof(*m->ids));
	for (int64_t i = 0; m->ids && i < count; i++)
		m->ids[m->id_count++] = (int)i;
	return GPUMAP_OK;
}

/* Makes devices for the mentions, each once. If one UUID is the beginning of another, the longer
 * one is used for both. */
static void host_of(struct resolver *resolver, struct mentions *m)
{
	gpumap_device *host =
		arena_alloc(resolver->arena, m->id_count + m->uuid_count, sizeof(*host));
	size_t count = 0;

	if (!host)
		return;
	if (m->id_count)
		qsort(m->ids, m->id_count, sizeof(*m->ids), compare_int);
	for (size_t i = 0; i < m->id_count; i++)
		if (!i || m->ids[i] != m->ids[i - 1])
			host[count++] = assumed_device(m->ids[i], NULL);
	if (m->uuid_count)
		qsort(m->uuids, m->uuid_count, sizeof(*m->uuids), compare_span);
	for (size_t i = 0; i < m->uuid_count; i++) {
		const struct span *s = &m->uuids[i], *next = s + 1;

		if (i + 1 < m->uuid_count && next->length >= s->length &&
		    memcmp(s->text, next->text, s->length) == 0)
			continue;
		host[count++] =
			assumed_device(-1, arena_strndup(resolver->arena, s->text, s->length));
	}
	for (size_t i = 0; i < count; i++)
		host[i].gpu = &host[i];
	resolver->host = host;
	resolver->host_count = count;
	resolver->assumed = true;
	resolver->view.unlisted = true;
}

/* The outermost list, whose numbers are the host's. A grant of everything is skipped. */
static const char *outermost_list(const struct resolver *resolver, bool *rocr)
{
	static const enum key_id views[] = {KEY_container, KEY_cgroup, KEY_mps_server};
	static const enum variable lists[] = {VARIABLE_ROCR_VISIBLE, VARIABLE_HIP_VISIBLE,
					      VARIABLE_CUDA_VISIBLE};

	for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
		const char *value = resolver->request->values[views[i]];

		if (value && (views[i] == KEY_mps_server || !grants_all(value)))
			return value;
	}
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		*rocr = lists[i] == VARIABLE_ROCR_VISIBLE;
		if (resolver->effective[lists[i]].set && *resolver->effective[lists[i]].value)
			return resolver->effective[lists[i]].value;
	}
	return NULL;
}

static int assume_host(struct resolver *resolver)
{
	const struct effective *list = &resolver->effective[dialect_variable(resolver->dialect)];
	bool rocr = false;
	const char *value = outermost_list(resolver, &rocr);
	struct mentions m = {0};
	int r = value ? mention_list(resolver, &m, value, rocr) : mention_choices(resolver, &m);

	if (r != GPUMAP_OK)
		return r;
	host_of(resolver, &m);
	if (value)
		resolver->mapping->assumption = "the listed ids exist and follow PCI bus order "
						"(no inventory given).";
	else if (!list->set)
		resolver->mapping->assumption = arena_printf(
			resolver->arena, "%zu GPU%s, in PCI bus order (no inventory given).",
			resolver->host_count, resolver->host_count == 1 ? " exists" : "s exist");
	return GPUMAP_OK;
}

int host_prepare(struct resolver *resolver)
{
	struct view *view = &resolver->view;
	int r = GPUMAP_OK;

	resolver->driver = resolver->request->values[KEY_driver];
	if (!resolver->inventory)
		r = assume_host(resolver);
	else if (!resolver->inventory->no_gpu) /* GPUs found on the bus can be listed, not used */
		copy_host(resolver);
	if (r != GPUMAP_OK)
		return r;
	if (resolver->inventory && resolver->inventory->partial)
		report_add(resolver->report, FINDING_PARTIAL_INVENTORY,
			   ABOUT(.rule = "N1", .origin = resolver->inventory->origin,
				 .fix = "record the whole machine again"),
			   "the inventory is incomplete: there may be more GPUs");
	view->devices = arena_alloc(resolver->arena, resolver->host_count, sizeof(*view->devices));
	for (size_t i = 0; view->devices && i < resolver->host_count; i++)
		view->devices[view->count++] = &resolver->host[i];
	return GPUMAP_OK;
}
