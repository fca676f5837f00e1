/* SPDX-License-Identifier: MIT */
/* Hosts whose programs get the same answers, although their GPUs have UUIDs of their own. */
#include "plan/build.h"

#include "hash.h"

/* --- classes of hosts ------------------------------------------------------------------ */

static void put_number(struct strbuf *buf, int64_t number)
{
	strbuf_add(buf, (const char *)&number, sizeof(number));
}

static void put_text(struct strbuf *buf, const char *text)
{
	put_number(buf, text ? (int64_t)strlen(text) : -1);
	if (text)
		strbuf_puts(buf, text);
}

static void put_device(struct strbuf *buf, const gpumap_device *d)
{
	put_number(buf, d->physical);
	put_number(buf, d->uuid != NULL);
	put_number(buf, d->memory);
	put_number(buf, d->minor);
	put_number(buf, d->mig_enabled);
	put_text(buf, d->pci);
	put_text(buf, d->name);
	put_text(buf, d->profile);
	put_number(buf, d->gi);
	put_number(buf, d->ci);
	put_number(buf, (int64_t)d->mig_count);
	for (size_t i = 0; i < d->mig_count; i++)
		put_device(buf, &d->mig[i]);
}

/* All that gpumap_resolve reads of an inventory, apart from the digits of UUIDs. */
static void put_inventory(struct strbuf *buf, const gpumap_inventory *inventory)
{
	put_number(buf, inventory->assumed);
	put_number(buf, inventory->partial);
	put_number(buf, inventory->one_model);
	put_number(buf, (int64_t)inventory->left_out);
	put_text(buf, inventory->driver);
	put_text(buf, inventory->no_gpu);
	for (size_t k = 0; k < ARRAY_SIZE(inventory->order); k++)
		for (size_t i = 0; inventory->order[k] && i < inventory->count; i++)
			put_number(buf, inventory->order[k][i]);
	put_number(buf, inventory->order[0] != NULL);
	put_number(buf, inventory->order[1] != NULL);
	put_number(buf, (int64_t)inventory->count);
	for (size_t i = 0; i < inventory->count; i++)
		put_device(buf, &inventory->gpus[i]);
}

static void put_class(struct strbuf *buf, const struct host_class *class)
{
	put_number(buf, (intptr_t) class->settings);
	put_inventory(buf, class->host->inventory);
}

static bool describe(struct strbuf *buf, const struct host_class *class)
{
	buf->length = 0;
	put_class(buf, class);
	return !buf->failed;
}

int class_find_like(struct builder *b, struct host_class *class)
{
	struct strbuf *text = &b->descriptions[0], *other = &b->descriptions[1];
	struct table_key key = {{0}};
	void **place;

	if (!class->host->inventory)
		return GPUMAP_OK;
	if (!describe(text, class))
		return plan_nomem(b);
	key.words[0] = (uintptr_t)hash_bytes(HASH_START, text->text, text->length);
	place = table_place(&b->kinds, &b->scratch, key);
	if (!place)
		return plan_nomem(b);
	if (!*place) {
		*place = class;
		return GPUMAP_OK;
	}
	if (!describe(other, *place))
		return plan_nomem(b);
	if (other->length == text->length && memcmp(other->text, text->text, text->length) == 0)
		class->like = *place;
	return GPUMAP_OK;
}

/* --- layouts ----------------------------------------------------------------------------- */

/* A list of UUIDs is the other host's list only if no entry can mean several devices. */
static bool same_list(const struct host_class *class, const struct host_class *like)
{
	if (class->bad || like->bad || class->count != like->count ||
	    class->by_number != like->by_number)
		return false;
	for (size_t i = 0; i < class->count; i++) {
		struct span name = span_of(class->names[i]);

		if (device_place(class->host->inventory, class->devices[i]) !=
		    device_place(like->host->inventory, like->devices[i]))
			return false;
		if (!class->by_number && !is_full_uuid(name, "GPU-") && !is_full_uuid(name, "MIG-"))
			return false;
	}
	return true;
}

const struct layout *layout_like(const struct builder *b, const struct layout *layout)
{
	const struct host_class *like = layout->class->like;
	const struct layout *other = like ? like->layout : NULL;

	return other && other->plain && other->plan->count == layout->plan->count &&
			       other->phase == layout->phase &&
			       plan_one_each(b, layout->class->settings) &&
			       !plan_has_statements(layout->class->settings) &&
			       same_list(layout->class, like)
		       ? other
		       : NULL;
}
