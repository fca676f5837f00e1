/* SPDX-License-Identifier: MIT */
/* The text on the card of a device. */
#include "explain/svg.h"

#include "xml.h"

enum { PAD = 12 };

static const struct look looks[] = {
	[LEVEL_HIDDEN] = {COLOUR_PALE, COLOUR_PALE, COLOUR_PALE_LINE, COLOUR_PALE_CARD,
			  COLOUR_PALE_LINE, 1},
	[LEVEL_VISIBLE] = {COLOUR_INK, COLOUR_MUTED, COLOUR_PALE, COLOUR_CARD, COLOUR_PALE, 1},
	[LEVEL_UNSURE] = {COLOUR_INK, COLOUR_MUTED, COLOUR_UNSURE, COLOUR_UNSURE_CARD,
			  COLOUR_UNSURE, 1},
	[LEVEL_GROUP] = {COLOUR_INK, COLOUR_MUTED, COLOUR_GROUP, COLOUR_GROUP_CARD, COLOUR_GROUP,
			 2},
	[LEVEL_CHOSEN] = {COLOUR_INK, COLOUR_MUTED, COLOUR_CHOSEN, COLOUR_CHOSEN_CARD,
			  COLOUR_CHOSEN, 2},
};

const struct look *svg_look(enum level level)
{
	return &looks[level];
}

/* --- words --------------------------------------------------------------------- */

/* Whole: the first digits do not distinguish the devices of each machine. */
static void add_uuid(struct strbuf *buf, const char *uuid)
{
	strbuf_add(buf, uuid, strnlen(uuid, 64));
}

static void device_name(struct strbuf *buf, const gpumap_device *d)
{
	if (d->gpu->physical >= 0 && is_instance(d))
		strbuf_printf(buf, "GPU %d:%d", d->gpu->physical, d->mig_position);
	else if (d->gpu->physical >= 0)
		strbuf_printf(buf, "GPU %d", d->gpu->physical);
	else if (d->uuid)
		add_uuid(buf, d->uuid);
	else
		strbuf_puts(buf, "GPU ?");
}

/* "GPU 0, GPU 1 or GPU 2" */
static void candidate_names(struct strbuf *buf, const gpumap_entry *entry)
{
	enum { FEW = 4 };
	bool few = entry->count <= FEW &&
		   (entry_decided(entry) || entry->candidates[0]->gpu->physical >= 0);

	if (!few)
		strbuf_printf(buf, "one of %zu GPUs", entry->count);
	for (size_t i = 0; few && i < entry->count; i++) {
		strbuf_puts(buf, !i ? "" : i + 1 == entry->count ? " or " : ", ");
		device_name(buf, entry->candidates[i]);
	}
}

/* --- cards ------------------------------------------------------------------------ */

/* A tooltip with the text that had to be cut. */
void card_tooltip(struct strbuf *buf, const gpumap_device *d)
{
	const char *parts[] = {d->gpu->name, d->profile, d->uuid, d->gpu->pci};
	bool first = true;

	strbuf_puts(buf, "<title>");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!parts[i])
			continue;
		strbuf_puts(buf, first ? "" : ", ");
		xml_escape(buf, (struct span){parts[i], strnlen(parts[i], 256)});
		first = false;
	}
	strbuf_puts(buf, "</title>");
}

/* The second line of a physical device: its UUID and PCI address. */
static void address(struct strbuf *buf, const gpumap_device *d)
{
	if (d->uuid && (d->name || is_instance(d) || d->physical >= 0))
		add_uuid(buf, d->uuid); /* else it is the first line */
	if (d->pci && !is_instance(d)) {
		strbuf_puts(buf, buf->length ? "  " : "");
		strbuf_add(buf, d->pci, strnlen(d->pci, 24));
	}
	if (is_instance(d) && d->gi >= 0)
		strbuf_printf(buf, "  GI %d CI %d", d->gi, d->ci);
}

int card_view(struct strbuf *buf, const struct column *column, const struct row *row, int width)
{
	const struct item *item = &column->items[row->first];
	const gpumap_device *d = item->device;
	struct strbuf name = {0}, second = {0}, number = {0};
	const struct ink *ink = INK(.size = 13, .fill = svg_look(row->level)->ink);
	int left = PAD + 34, need = 0, taken = 0;

	strbuf_puts(&number, item->number >= 0 ? FORMAT("%d", item->number) : "?");
	if (is_instance(d) && column->kind != COLUMN_LIST)
		strbuf_printf(&number, ":%d", d->mig_position);
	if (column->kind == COLUMN_HOST && is_instance(d))
		strbuf_printf(&name, "MIG %.32s", d->profile ? d->profile : "instance");
	else if (column->kind == COLUMN_HOST && d->name)
		strbuf_puts(&name, d->name);
	else if (view_is_unsure(column, row))
		strbuf_puts(&name, "undecidable");
	else
		device_name(&name, d);
	if (column->kind == COLUMN_HOST)
		address(&second, d);
	if (number.text && name.text) {
		const struct ink *big =
			INK(.size = 14, .fill = ink->fill, .bold = true, .mono = true);
		int digits = svg_width(big, number.text, number.length);

		left = digits + 10 > 34 ? PAD + digits + 10 : left;
		svg_text(buf, PAD, 24, big, width - PAD, number.text);
		need = svg_text(buf, left, second.length ? 17 : 24, ink, width - left - PAD,
				name.text);
	}
	if (second.length)
		taken = svg_text(buf, left, 31,
				 INK(.size = 11, .fill = svg_look(row->level)->muted, .mono = true),
				 width - left - PAD, second.text);
	scratch_free(buf, &name);
	scratch_free(buf, &second);
	scratch_free(buf, &number);
	return left + (taken > need ? taken : need) + PAD;
}

static int use_pill(struct strbuf *buf, int right, const char *fill, const char *colour,
		    const char *text)
{
	int x = right - svg_pill_width(text);

	svg_pill(buf, x, 3, fill, colour, text);
	return x - 5;
}

/* Labels for how a logical device is used, from the right. Returns where they begin. */
static int use_pills(struct strbuf *buf, const gpumap_mapping *mapping, const gpumap_entry *entry,
		     int right)
{
	const char *word = streq(mapping->mode, "mp") ? "stage" : "replica";
	size_t first = 0, more = 0;

	for (size_t i = 0; is_group(mapping) && i < mapping->replica_count; i++)
		if (mapping->replicas[i] == entry && !more++)
			first = i;
	if (more)
		right = use_pill(buf, right, "#dbe6ff", COLOUR_GROUP,
				 FORMAT("%s %zu%s", word, first, more > 1 ? ", ..." : ""));
	if (entry == mapping->master)
		right = use_pill(buf, right, COLOUR_MASTER_CARD, COLOUR_MASTER, "master");
	if (entry == mapping->chosen)
		right = entry_decided(entry)
				? use_pill(buf, right, COLOUR_CHOSEN, COLOUR_CARD, "chosen")
				: use_pill(buf, right, COLOUR_UNSURE, COLOUR_CARD, "chosen");
	return right;
}

static int64_t samples_of(const gpumap_mapping *mapping, const gpumap_entry *entry)
{
	for (size_t i = 0; i < mapping->batch_count && i < mapping->replica_count; i++)
		if (mapping->replicas[i] == entry)
			return mapping->batch[i];
	return -1;
}

int card_logical(struct strbuf *buf, const struct columns *columns, const struct row *row,
		 int width)
{
	const gpumap_mapping *mapping = columns->mapping;
	const gpumap_entry *e = columns->list[columns->count - 1].items[row->first].entry;
	int64_t samples = samples_of(mapping, e);
	int right = use_pills(buf, mapping, e, width - 8), need, taken = 0;
	struct strbuf second = {0};

	need = width - right + 8 +
	       svg_text(buf, PAD, 17,
			INK(.size = 13, .fill = svg_look(row->level)->ink, .bold = true,
			    .mono = true),
			right - PAD, FORMAT("cuda:%d", e->logical));
	candidate_names(&second, e);
	strbuf_printf(&second, " \xc2\xb7 %s", gpumap_certainty_name(e->certainty));
	if (samples >= 0)
		strbuf_printf(&second, " \xc2\xb7 %lld samples", (long long)samples);
	if (second.text)
		taken = svg_text(buf, PAD, 32, INK(.size = 11, .fill = svg_look(row->level)->muted),
				 width - 2 * PAD, second.text);
	scratch_free(buf, &second);
	return PAD + (taken + PAD > need ? taken + PAD : need);
}
