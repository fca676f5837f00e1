/* SPDX-License-Identifier: MIT */
/* The GPUs of a machine of which nothing is known: those that the statements name are assumed.
 * Which machine is meant depends on who stated the list. */
#include "resolve/resolve.h"

#include "visible/python_number.h"

gpumap_device assumed_device(int index, char *uuid)
{
	gpumap_device device = device_unknown();

	device.index = device.physical = index;
	device.uuid = uuid;
	return device;
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

int assume_host(struct resolver *resolver)
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

enum list_from list_stated(const struct resolver *resolver)
{
	static const enum key_id views[] = {KEY_container, KEY_cgroup, KEY_mps_server};
	static const enum variable lists[] = {VARIABLE_ROCR_VISIBLE, VARIABLE_HIP_VISIBLE,
					      VARIABLE_CUDA_VISIBLE};
	enum list_from from = LIST_FROM_NONE;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (!amd_list_counts(resolver, lists[i]))
			continue;
		if (resolver->effective[lists[i]].stated != SOURCE_ENVIRONMENT)
			return LIST_FROM_KEYS;
		from = LIST_FROM_ENVIRONMENT;
	}
	for (size_t i = 0; i < ARRAY_SIZE(views) && from == LIST_FROM_NONE; i++) {
		const char *view = resolver->request->values[views[i]];

		if (view && !grants_all(view))
			from = LIST_FROM_KEYS;
	}
	return from;
}

/* A resolver with an empty mapping. False: memory ran out. */
