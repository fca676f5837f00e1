/* SPDX-License-Identifier: MIT */
/* Hosts whose programs get the same answers, although their GPUs have other UUIDs and addresses. */
#include "plan/build.h"

#include "hash.h"
#include "resolve/resolve.h"

/* --- kinds of hosts ------------------------------------------------------------------ */

/* Whether a UUID is whole or not known, and none of those before, of which `seen` has hashes; NULL:
 * that was compared. */
static bool name_is_plain(struct builder *b, struct table *seen, const char *uuid)
{
	struct span text = span_of(uuid ? uuid : "");
	void **place;

	if (uuid && !is_full_uuid(text, "GPU-") && !is_full_uuid(text, "MIG-"))
		return false;
	if (!uuid || !seen)
		return true;
	place = table_place(seen, &b->temp,
			    (struct table_key){{(uintptr_t)hash_text(HASH_START, uuid)}});
	if (!place || *place)
		return false;
	*place = b;
	return true;
}

/* Whether each UUID names one device. inventory_finish() has compared those of GPUs, but not those
 * of MIG instances. */
static bool names_are_plain(struct builder *b, const gpumap_inventory *inventory)
{
	struct table uuids = {0}, *seen = NULL;
	bool plain = true;

	if (device_total(inventory) > inventory->count)
		seen = &uuids;
	for (size_t i = 0; i < inventory->count; i++) {
		const gpumap_device *gpu = &inventory->gpus[i];

		plain = plain && name_is_plain(b, seen, gpu->uuid);
		for (size_t m = 0; m < gpu->mig_count; m++)
			plain = plain && name_is_plain(b, seen, gpu->mig[m].uuid);
	}
	return plain;
}

static bool describe(struct strbuf *buf, const struct host_class *class)
{
	const uint64_t settings = (uintptr_t) class->settings;

	buf->length = 0;
	strbuf_add(buf, (const char *)&settings, sizeof(settings));
	host_shape(buf, class->host->inventory);
	return !buf->failed;
}

static uint64_t hash_of(const struct strbuf *buf)
{
	uint64_t hash = HASH_START, word;

	for (size_t i = 0; i < buf->length; i += sizeof(word)) {
		memcpy(&word, buf->text + i, sizeof(word));
		hash = hash_word(hash, word);
	}
	return hash;
}

/* Compares with the kind's first class, which is described anew, because the descriptions of all
 * kinds would take megabytes. The last one is kept. */
static bool same_kind(struct builder *b, const struct strbuf *text, const struct host_kind *kind)
{
	struct strbuf *other = &b->descriptions[1];

	if (b->described != kind) {
		b->described = NULL;
		if (!describe(other, kind->first))
			return false;
		b->described = kind;
	}
	return other->length == text->length && memcmp(other->text, text->text, text->length) == 0;
}

int class_find_kind(struct builder *b, struct host_class *class)
{
	struct strbuf *text = &b->descriptions[0];
	struct table_key key = {{0}};
	struct host_kind *kind;

	if (!class->host->inventory)
		return GPUMAP_OK;
	if (!describe(text, class))
		return plan_nomem(b);
	key.words[0] = (uintptr_t)hash_of(text);
	kind = table_object(&b->kinds, &b->scratch, key, sizeof(*kind));
	if (!kind)
		return plan_nomem(b);
	if (!kind->first)
		kind->first = class;
	if (same_kind(b, text, kind))
		class->kind = kind;
	class->plain_names = names_are_plain(b, class->host->inventory);
	return b->descriptions[1].failed || b->temp.failed ? plan_nomem(b) : GPUMAP_OK;
}

/* --- layouts ----------------------------------------------------------------------------- */

/* The answers to numbers do not depend on UUIDs, and those to UUIDs only on the devices that have
 * them. */
static bool may_share(const struct builder *b, const struct layout *layout)
{
	const struct host_class *class = layout->class;

	return class->kind && !class->bad && class->count &&
	       (class->by_number || class->plain_names) && plan_one_each(b, class->settings) &&
	       !plan_has_statements(class->settings);
}

static struct table_key key_of(const struct layout *layout)
{
	const struct host_class *class = layout->class;
	uint64_t places = hash_word(HASH_START, class->by_number);

	for (size_t i = 0; i < class->count; i++)
		places = hash_word(places, device_place(class->host->inventory, class->devices[i]));
	return (struct table_key){{(uintptr_t) class->kind, layout->plan->count, layout->phase,
				   class->count, (uintptr_t)places}};
}

static bool same_list(const struct host_class *class, const struct host_class *like)
{
	if (class->by_number != like->by_number)
		return false;
	for (size_t i = 0; i < class->count; i++)
		if (device_place(class->host->inventory, class->devices[i]) !=
		    device_place(like->host->inventory, like->devices[i]))
			return false;
	return true;
}

const struct layout *layout_like(const struct builder *b, const struct layout *layout)
{
	const struct layout *other =
		may_share(b, layout) ? table_find(&b->answered, key_of(layout)) : NULL;

	return other && same_list(layout->class, other->class) ? other : NULL;
}

int layout_remember(struct builder *b, const struct layout *layout)
{
	void **place;

	if (!layout->plain || !may_share(b, layout))
		return GPUMAP_OK;
	place = table_place(&b->answered, &b->scratch, key_of(layout));
	if (!place)
		return plan_nomem(b);
	if (!*place)
		*place = (void *)(uintptr_t)layout;
	return GPUMAP_OK;
}
