/* SPDX-License-Identifier: MIT */
/* The entries of gpus. */
#include "plan/build.h"

#include <stdio.h>

#include "strbuf.h"
#include "text/inifile.h"

/* Names are compared without their quotes. */
static bool decode_name(struct builder *b, struct gpu_entry *gpu)
{
	CLEANUP(strbuf_free) struct strbuf buf = {0};
	char *name;

	inifile_decode(&buf, gpu->text);
	name = buf.failed ? NULL : arena_strdup(&b->scratch, buf.text ? buf.text : "");
	gpu->text = span_of(name ? name : "");
	return name;
}

static int read_entries(struct builder *b, struct selection *selection, struct span text)
{
	struct span rest = text, item;
	size_t room = 0;

	while (inifile_item(&rest, &item))
		room++;
	selection->entries = arena_alloc(&b->scratch, room, sizeof(*selection->entries));
	if (!selection->entries)
		return plan_nomem(b);
	for (rest = text; inifile_item(&rest, &item); selection->count++) {
		struct entry *entry = &selection->entries[selection->count];

		gpu_entry_parse(&entry->gpu, item);
		entry->column = (size_t)(item.text - text.text);
		if (entry->gpu.kind == GPU_NAME && !decode_name(b, &entry->gpu))
			return plan_nomem(b);
	}
	return GPUMAP_OK;
}

int selection_parse(struct builder *b, const struct plan_settings *settings,
		    const struct selection **ret)
{
	struct table_key key = {{(uintptr_t)settings}};
	struct selection *selection =
		table_object(&b->selections, &b->scratch, key, sizeof(*selection));

	if (!selection)
		return plan_nomem(b);
	*ret = selection;
	selection->kind = (enum plan_gpus)settings->gpus.word;
	/* Another class may have the same settings. */
	return selection->kind == PLAN_GPUS_GPU && !selection->entries
		       ? read_entries(b, selection, settings->gpus.part)
		       : GPUMAP_OK;
}

/* --- a number that may be meant as a number of GPUs ------------------------------------ */

size_t selection_count_meant(const struct builder *b, const struct host_class *class)
{
	const struct selection *selection = class->selection;
	const char *origin = class->settings->gpus.place.origin;
	size_t max = class->host->inventory->count;

	if (selection->kind != PLAN_GPUS_GPU || selection->count != 1 ||
	    selection->entries->gpu.kind != GPU_NUMBER || !origin || !streq(origin, "--gpus") ||
	    class->settings->ranks.number != PLAN_AUTO ||
	    b->input->settings->world_size.number != PLAN_AUTO)
		return 0;
	if (class->host->inherited_count)
		max = class->host->inherited[class->host->inherited_count - 1]
			      .mapping->visible_count;
	/* Without a GPU any number of ranks can start. */
	if (!class->host->inventory->count)
		max = PLAN_MAX_RANKS;
	return (size_t)selection->entries->gpu.number <= max
		       ? (size_t)selection->entries->gpu.number
		       : 0;
}

const char *selection_count_fix(struct quoted *ret, const struct builder *b, size_t count)
{
	enum { MAX_LISTED = 16 };
	char list[64] = "0";
	int length = 1;

	if (b->input->settings->mode.word == PLAN_DDP || count > MAX_LISTED) {
		return format_text(
			ret, "for %zu rank%s write " SETTING("ranks = %zu") " and leave --gpus out",
			count, count == 1 ? "" : "s", count);
	}
	for (size_t i = 1; i < count; i++)
		length += snprintf(list + length, sizeof(list) - (size_t)length, ",%zu", i);
	return format_text(ret, "for %zu GPU%s write " SETTING("gpus = %s"), count,
			   count == 1 ? "" : "s", list);
}
