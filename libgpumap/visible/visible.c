/* SPDX-License-Identifier: MIT */
/* See visible.h. */
#include "visible/visible.h"

#include "gpumap.h"
#include "visible/dialects.h"
#include "visible/repeats.h"

static const struct {
	const char *reason, *rule;
} ends[] = {
	[END_NOT] = {NULL, NULL},
	[END_EMPTY] = {"empty entry", "V2"},
	[END_NO_NUMBER] = {"not a number", "V2"},
	[END_NEGATIVE] = {"negative", "V4"},
	[END_NO_DEVICE] = {"no such device", "V2"},
	[END_NO_UUID] = {"no such UUID", "V6"},
	[END_AMBIGUOUS] = {"ambiguous UUID", "V6"},
	[END_OTHER_KIND] = {"index and UUID mixed", "V7"},
	[END_DUPLICATE] = {"named twice", "V5"},
	[END_GARBAGE] = {"not a plain number", "H1"},
	[END_RAISES] = {"PyTorch raises ValueError", "V3"},
};

const char *visible_end_reason(enum visible_end end)
{
	return ends[end].reason;
}

const char *visible_end_rule(enum visible_end end)
{
	return ends[end].rule;
}

void visible_list_free(struct visible_list *list)
{
	free(list->entries);
	memset(list, 0, sizeof(*list));
}

/* Words that have a meaning in another variable or language (rule V10). */
static bool foreign_word(struct span token)
{
	struct span s = span_trim(token);

	return s.length && (span_is_any(s, "all none void NoDevFiles") ||
			    strchr("[](){}\"'", *s.text) || span_starts_any(s, "cuda: gpu"));
}

/* "9e8d35e3-a134...": eight hexadecimal digits and a dash. */
static bool bare_uuid(struct span token)
{
	struct span s = span_trim(token);

	if (s.length < 13 || s.text[8] != '-')
		return false;
	for (size_t i = 0; i < 13; i++)
		if (i != 8 && !is_hex(s.text[i]))
			return false;
	return true;
}

int64_t visible_index(enum dialect dialect, struct span token)
{
	struct visible_number n = visible_number(token);

	if (dialect == DIALECT_ROCR)
		return amd_rocr_index(token);
	if (dialect == DIALECT_NVITOP)
		return nvitop_index(span_trim(token));
	return n.digits && !n.negative ? n.value : -1;
}

/* Looks the token up; END_NOT: *entry is filled in. `first` is the list's first entry, NULL for
 * none. */
static enum visible_end match(const struct matcher *matcher, struct span token,
			      const struct visible_entry *first, struct visible_entry *entry)
{
	switch (matcher->dialect) {
	case DIALECT_TORCH:
		return torch_match(matcher, token, first, entry);
	case DIALECT_NVITOP:
		return nvitop_match(matcher, token, first, entry);
	case DIALECT_ROCR:
		return amd_match_rocr(matcher, token, entry);
	case DIALECT_HIP:
		return amd_match_hip(matcher, token, entry);
	case DIALECT_DRIVER:
		break;
	}
	if (span_starts(token, "GPU-") || span_starts(token, "MIG-"))
		return match_uuid(matcher, token, first, entry);
	return match_index(matcher, token, first, entry);
}

static void note(size_t *place, size_t number)
{
	if (!*place)
		*place = number + 1;
}

static void note_token(struct visible_notes *notes, struct span token, size_t number)
{
	struct span trimmed = span_trim(token);
	struct visible_number n = visible_number(token);
	struct span rest = span_trim(n.rest);

	if (trimmed.text != token.text &&
	    (span_starts(trimmed, "GPU-") || span_starts(trimmed, "MIG-"))) {
		note(&notes->blank, number);
		note(&notes->unsure, number);
	} else if (bare_uuid(token)) {
		note(&notes->bare_uuid, number);
	} else if (n.digits && rest.length) {
		note(&notes->garbage, number);
		if (*rest.text == '-' || *rest.text == ':' || span_starts(rest, ".."))
			note(&notes->range, number);
		if (*rest.text == 'x' || *rest.text == 'X')
			note(&notes->unsure, number);
	} else if (!n.digits && foreign_word(token)) {
		note(&notes->word, number);
	}
	if (n.digits && n.value > INT32_MAX)
		note(&notes->unsure, number);
}

static int add_entry(struct visible_list *list, size_t *room, struct visible_entry entry)
{
	if (list->count >= GPUMAP_MAX_DEVICES)
		return GPUMAP_ELIMIT;
	if (!ARRAY_ROOM(list->entries, list->count, *room))
		return GPUMAP_ENOMEM;
	list->entries[list->count++] = entry;
	return GPUMAP_OK;
}

/* Reads one token after the other, until one is not a device or repeats an earlier one. */
static int walk(struct visible_list *list, const struct matcher *matcher, struct span value)
{
	struct span rest = value, plain = matcher->ascii, written, token;
	size_t room = 0;
	int r = GPUMAP_OK;

	for (size_t number = 0;
	     r == GPUMAP_OK && span_split(&rest, ',', &written) && span_split(&plain, ',', &token);
	     number++) {
		struct visible_entry entry = {-1, -1, -1, written};
		size_t earlier = 0;
		enum visible_end end;

		if (number >= GPUMAP_MAX_DEVICES)
			return GPUMAP_ELIMIT;
		note_token(&list->notes, token, number);
		end = match(matcher, token, list->count ? list->entries : NULL, &entry);
		if (end == END_OTHER_KIND)
			note(&list->notes.kinds, number);
		if (end == END_NOT && matcher_repeats(matcher, number, token, &entry, &earlier))
			end = END_DUPLICATE;
		if (end == END_DUPLICATE && repeat_effect(matcher->dialect) == REPEAT_SKIPPED)
			continue;
		if (end != END_NOT) {
			list->end = end;
			list->end_entry = number;
			list->end_text = written;
			list->end_earlier = earlier;
			return GPUMAP_OK;
		}
		if (entry.gpu >= 0)
			note(&list->notes.uuid, number);
		if (entry.mig >= 0)
			note(&list->notes.mig, number);
		r = add_entry(list, &room, entry);
	}
	return r;
}

/* Notes repeats whose effect in the driver is not known (rule V5): after the list ended, or of one
 * number in two spellings. */
static void note_unsure_repeat(struct visible_list *list, struct matcher *matcher,
			       struct span value)
{
	struct visible_list late = {0};

	if (list->end == END_DUPLICATE) {
		struct visible_entry *earlier = &list->entries[list->end_earlier];

		if (earlier->ordinal >= 0 &&
		    (span_trim(earlier->text).length != span_trim(list->end_text).length))
			note(&list->notes.unsure, list->end_entry);
	} else if (list->end != END_NOT) {
		torch_find_late_end(&late, matcher, value);
		if (late.end == END_DUPLICATE)
			note(&list->notes.unsure, late.end_entry);
	}
}

int visible_parse(struct visible_list *ret, enum dialect dialect, struct span value,
		  const struct visible_view *view)
{
	struct visible_list list = {0};
	struct matcher matcher;
	int r = matcher_init(&matcher, dialect, view, value);

	if (r != GPUMAP_OK)
		return r;
	/* Set but empty is not a device (rule S5), without any entry that could end it. */
	if (value.length)
		r = walk(&list, &matcher, value);
	if (r == GPUMAP_OK && dialect == DIALECT_DRIVER)
		note_unsure_repeat(&list, &matcher, value);
	if (r == GPUMAP_OK && dialect == DIALECT_TORCH && list.end != END_DUPLICATE &&
	    list.end != END_RAISES)
		torch_find_late_end(&list, &matcher, value);
	if ((list.end == END_DUPLICATE && repeat_effect(dialect) == REPEAT_EMPTIES) ||
	    list.end == END_RAISES)
		list.count = 0;
	matcher_free(&matcher);
	if (r != GPUMAP_OK) {
		visible_list_free(&list);
		return r;
	}
	*ret = list;
	return GPUMAP_OK;
}
