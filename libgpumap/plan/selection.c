/* SPDX-License-Identifier: MIT */
/* The strict language of gpus=: unlike a visible list, an entry that means nothing is an
 * error, and numbers are nvidia-smi's. */
#include "plan/build.h"

#include <stdio.h>

#include "pci.h"

struct parser {
	struct builder *b;
	const struct plan_place *place;
	struct span text;
	bool failed;
};

static void bad(struct parser *p, struct span entry, size_t column, const char *why,
		const char *fix)
{
	p->failed = true;
	report_add(p->b->report, FINDING_BAD_VALUE,
		   ABOUT(.origin = p->place->origin, .line = p->place->line,
			 .column = (p->place->column ? p->place->column : 1) + (int)column,
			 .fix = fix, .speech = p->b->input->speech),
		   SETTING("gpus") ": '%s' %s", QUOTE(entry), why);
}

/* The next entry: up to a comma outside of quotes. */
static bool next_entry(struct span *rest, struct span *entry)
{
	bool quoted = false;
	size_t n = 0;

	if (!rest->text)
		return false;
	while (n < rest->length && (quoted || rest->text[n] != ',')) {
		quoted = quoted != (rest->text[n] == '"');
		n++;
	}
	*entry = (struct span){rest->text, n};
	if (n == rest->length)
		*rest = (struct span){NULL, 0};
	else
		*rest = (struct span){rest->text + n + 1, rest->length - n - 1};
	return true;
}

static struct span behind(struct span s, size_t n)
{
	return span_trim((struct span){s.text + n, s.length - n});
}

static bool unquote(struct span *s)
{
	size_t quotes = 0;

	for (size_t i = 0; i < s->length; i++)
		quotes += s->text[i] == '"';
	if (!quotes)
		return s->length > 0;
	if (quotes != 2 || s->length < 3 || s->text[0] != '"' || s->text[s->length - 1] != '"')
		return false;
	*s = (struct span){s->text + 1, s->length - 2};
	return true;
}

static bool is_uuid_prefix(struct span s)
{
	if (s.length < 5)
		return false;
	/* Legacy MIG names are MIG-GPU-<uuid>/<gi>/<ci>. */
	for (size_t i = 4; i < s.length; i++)
		if (!is_hex(s.text[i]) && !strchr("-/GPU", s.text[i]))
			return false;
	return true;
}

static bool looks_like_range(struct span s)
{
	struct span part;

	span_split(&s, '-', &part);
	return s.text && span_number(part, INT32_MAX) >= 0 && span_number(s, INT32_MAX) >= 0;
}

static void parse_entry(struct parser *p, struct span text, struct entry *entry)
{
	const char *fix =
		"write a number, GPU-.., MIG-.., pci:0000:1b:00.0 or name:\"NVIDIA H100*\"";

	*entry = (struct entry){.text = text, .column = (size_t)(text.text - p->text.text)};
	if (!text.length) {
		bad(p, text, entry->column, "is an empty entry", "remove the comma");
	} else if (span_is(text, "inherit") || span_is(text, "all") || span_is(text, "none")) {
		bad(p, text, entry->column, "must stand alone", "leave out the other entries");
	} else if (looks_like_range(text)) {
		bad(p, text, entry->column, "is not a device: ranges are not supported here",
		    "write every number, as in 0,1,2");
	} else if (is_digit(*text.text)) {
		entry->number = span_number(text, INT32_MAX);
		if (entry->number < 0)
			bad(p, text, entry->column, "is no device", fix);
	} else if (span_starts(text, "GPU-") || span_starts(text, "MIG-")) {
		entry->kind = ENTRY_UUID;
		if (!is_uuid_prefix(text))
			bad(p, text, entry->column, "is no UUID",
			    "copy it from nvidia-smi -L; its first digits are enough");
	} else if (span_starts(text, "pci:")) {
		entry->kind = ENTRY_PCI;
		if (!pci_normalise(behind(text, 4), entry->pci))
			bad(p, text, entry->column, "is no PCI address",
			    "write pci:0000:1b:00.0, as nvidia-smi and lspci do");
	} else if (span_starts(text, "name:")) {
		entry->kind = ENTRY_NAME;
		entry->text = behind(text, 5);
		if (!unquote(&entry->text))
			bad(p, text, entry->column, "is no name", "write name:\"NVIDIA H100*\"");
	} else {
		bad(p, text, entry->column, "is no device", fix);
	}
}

static int parse_entries(struct parser *p, struct selection *selection)
{
	struct span rest = p->text, text;
	size_t room = 1;

	for (size_t i = 0; i < p->text.length; i++)
		room += p->text.text[i] == ',';
	if (room > GPUMAP_MAX_DEVICES)
		return report_fail(p->b->report, GPUMAP_ELIMIT, FINDING_LIMIT,
				   ABOUT(.origin = p->place->origin, .line = p->place->line),
				   SETTING("gpus") ": more than %d entries", GPUMAP_MAX_DEVICES);
	selection->kind = SELECT_ENTRIES;
	selection->entries = arena_alloc(&p->b->scratch, room, sizeof(*selection->entries));
	if (!selection->entries)
		return plan_nomem(p->b);
	while (next_entry(&rest, &text))
		parse_entry(p, span_trim(text), &selection->entries[selection->count++]);
	return p->failed ? GPUMAP_EINPUT : GPUMAP_OK;
}

int selection_parse(struct builder *b, const struct plan_settings *settings,
		    const struct selection **ret)
{
	static const char *const words[] = {"inherit", "all", "none"};
	struct span text = span_trim(span_of(settings->gpus ? settings->gpus : ""));
	struct parser p = {b, &settings->places[PLAN_KEY_GPUS], text, false};
	struct table_key key = {{(uintptr_t)settings}};
	void **place = table_place(&b->selections, &b->scratch, key);
	struct selection *selection;
	int r = GPUMAP_OK;

	if (place && *place) {
		*ret = *place;
		return GPUMAP_OK;
	}
	selection = arena_alloc(&b->scratch, 1, sizeof(*selection));
	if (!place || !selection)
		return plan_nomem(b);
	*place = selection;
	*ret = selection;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (span_is(text, words[i])) {
			selection->kind = (enum selection_kind)i;
			return GPUMAP_OK;
		}
	}
	if (text.length)
		r = parse_entries(&p, selection);
	return r;
}

/* --- what may be meant as a number of GPUs ------------------------------------------- */

size_t selection_count_meant(const struct builder *b, const struct host_class *class)
{
	const struct selection *selection = class->selection;
	const char *origin = class->settings->places[PLAN_KEY_GPUS].origin;
	size_t max = class->host->inventory->count;

	if (selection->kind != SELECT_ENTRIES || selection->count != 1 ||
	    selection->entries->kind != ENTRY_NUMBER || !origin || !streq(origin, "--gpus") ||
	    class->settings->ranks != PLAN_AUTO || b->input->settings->world_size != PLAN_AUTO)
		return 0;
	if (class->host->inherited_count)
		max = class->host->inherited[class->host->inherited_count - 1]
			      .mapping->visible_count;
	/* Without a GPU any number of ranks can start. */
	if (!class->host->inventory->count)
		max = PLAN_MAX_RANKS;
	return (size_t)selection->entries->number <= max ? (size_t)selection->entries->number : 0;
}

const char *selection_count_remedy(struct count_remedy *ret, const struct builder *b, size_t count)
{
	enum { MAX_LISTED = 16 };
	char list[64] = "0";
	int length = 1;

	if (b->input->settings->mode == PLAN_DDP || count > MAX_LISTED) {
		snprintf(ret->text, sizeof(ret->text),
			 "for %zu rank%s write " SETTING("ranks = %zu") " instead of --gpus %zu",
			 count, count == 1 ? "" : "s", count, count);
		return ret->text;
	}
	for (size_t i = 1; i < count; i++)
		length += snprintf(list + length, sizeof(list) - (size_t)length, ",%zu", i);
	snprintf(ret->text, sizeof(ret->text), "for %zu GPU%s write " SETTING("gpus = %s"), count,
		 count == 1 ? "" : "s", list);
	return ret->text;
}
