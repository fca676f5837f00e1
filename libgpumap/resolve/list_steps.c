/* SPDX-License-Identifier: MIT */
/* The steps, remarks and warnings about a parsed list. */
#include "resolve/resolve.h"

#include <strings.h>

#include "strbuf.h"

struct list_context {
	struct resolver *resolver;
	const struct visible_list *list;
	const struct effective *effective;
};

/* The text of entry `number` (1-based, as notes count). */
static struct span entry_text(const struct list_context *t, size_t number)
{
	struct span rest = span_of(t->effective->value), token = {"", 0};

	for (size_t i = 0; i < number; i++)
		span_split(&rest, ',', &token);
	return token;
}

static void step(const struct list_context *t, const char *rule, const char *text)
{
	step_add(t->resolver, rule, NULL, text);
}

static void add_steps(const struct list_context *t)
{
	const struct visible_list *list = t->list;
	struct arena *arena = t->resolver->arena;
	const char *last = list->count == 1 ? "" : "s";

	if (list->notes.uuid)
		step(t, "V6", "a UUID entry is the device whose UUID begins with it");
	if (list->notes.mig)
		step(t, "V9", "a MIG- entry is one compute instance");
	if (list->notes.garbage)
		step(t, "V3",
		     arena_printf(arena, "of '%s' only the leading number counts",
				  QUOTE(entry_text(t, list->notes.garbage))));
	if (list->count)
		step(t, "V1",
		     arena_printf(arena,
				  "the list's order is the logical order: %zu device%s visible",
				  list->count, last));
	if (list->end == END_RAISES)
		step(t, visible_end_rule(list->end),
		     arena_printf(arena, "entry %zu ('%s') is not a number for Python: %s",
				  list->end_entry, QUOTE(list->end_text),
				  visible_end_reason(list->end)));
	else if (list->end == END_DUPLICATE && !list->count)
		step(t, "V5",
		     arena_printf(arena,
				  "entry %zu names the device of entry %zu again: the whole list "
				  "is empty",
				  list->end_entry, list->end_earlier));
	else if (list->end != END_NOT)
		step(t, visible_end_rule(list->end),
		     arena_printf(arena, "entry %zu ('%s') ends the list: %s", list->end_entry,
				  QUOTE(list->end_text), visible_end_reason(list->end)));
}

/* "GPU-" and "MIG-" in another letter case. */
static bool other_case(struct span token)
{
	return token.length > 4 &&
	       (strncasecmp(token.text, "GPU-", 4) == 0 || strncasecmp(token.text, "MIG-", 4) == 0);
}

/* The numbers of "0-3" written out, if there are few; NULL: it is not such a range. */
static const char *written_out(struct arena *arena, struct span token)
{
	struct visible_number from = visible_number(token), to;
	struct strbuf buf = {0};

	if (!from.rest.length || *from.rest.text != '-')
		return NULL;
	to = visible_number(span_behind(from.rest, 1));
	if (!to.digits || to.rest.length || to.value <= from.value || to.value - from.value > 15)
		return NULL;
	for (int64_t i = from.value; i <= to.value; i++)
		strbuf_printf(&buf, "%s%lld", i > from.value ? "," : "write ", (long long)i);
	return strbuf_keep(&buf, arena);
}

static void warn_garbage(const struct list_context *t, size_t entry)
{
	struct span token = entry_text(t, entry);
	struct visible_number n = visible_number(token);
	const char *why = "", *fix = "separate numbers by commas alone";
	bool other_base = n.rest.length && (*n.rest.text | 32) == 'x';

	if (t->list->end == END_GARBAGE && t->list->end_entry + 1 == entry)
		return; /* the list is not read at all */
	if (n.rest.length && *n.rest.text == ':') {
		why = ": GPU:MIG is a notation of nvidia-smi and of containers";
		fix = "name a MIG instance by its UUID, from nvidia-smi -L";
	} else if (t->list->notes.range) {
		const char *all = written_out(t->resolver->arena, token);

		why = ": ranges are not supported here";
		fix = all ? all : "write every number, as in 0,1,2";
	}
	report_add(t->resolver->report, FINDING_NOT_A_RANGE,
		   ABOUT(.rule = "V3", .origin = t->effective->origin, .fix = fix),
		   "'%s' is read as %s alone%s", QUOTE(token),
		   n.value > INT32_MAX || other_base || !n.digits
			   ? "its leading number"
			   : arena_printf(t->resolver->arena, "%s%lld", n.negative ? "-" : "",
					  (long long)n.value),
		   why);
}

static void warn_bare_uuid(const struct list_context *t, size_t entry)
{
	struct span token = entry_text(t, entry);
	struct visible_number n = visible_number(token);
	const char *as = n.digits && n.value <= INT32_MAX
				 ? FORMAT("the number %lld", (long long)n.value)
				 : "no number";

	report_add(t->resolver->report, FINDING_BARE_UUID,
		   ABOUT(.rule = "V8", .origin = t->effective->origin,
			 .fix = "put GPU- before the UUID"),
		   "without GPU- '%s' is read as %s", QUOTE(token), as);
}

static void warn_word(const struct list_context *t, size_t entry)
{
	struct span token = entry_text(t, entry), word = span_trim(token);
	const char *fix = "unset the variable to see every device, or write plain numbers";

	if (other_case(word))
		fix = "letter case counts: write the UUID as nvidia-smi -L prints it";
	else if (span_starts(word, "cuda:"))
		fix = "write the number alone";
	else if (span_is(word, "none") || span_is(word, "void") || span_is(word, "NoDevFiles"))
		fix = "to hide every device on purpose, set the variable to nothing";
	report_add(t->resolver->report, FINDING_FOREIGN_WORD,
		   ABOUT(.rule = "V10", .origin = t->effective->origin, .fix = fix),
		   "'%s' is not a device: it ends the list%s", QUOTE(token),
		   t->list->count ? "" : ", so no device is visible");
}

static void warn_spelling(const struct list_context *t)
{
	const struct visible_notes *notes = &t->list->notes;
	gpumap_report *report = t->resolver->report;
	const char *origin = t->effective->origin;

	if (notes->garbage)
		warn_garbage(t, notes->garbage);
	if (notes->bare_uuid)
		warn_bare_uuid(t, notes->bare_uuid);
	if (notes->word)
		warn_word(t, notes->word);
	if (notes->blank)
		report_add(report, FINDING_BLANK_BEFORE_UUID,
			   ABOUT(.rule = "V6", .origin = origin, .fix = "remove the blank"),
			   "'%s' begins with a blank", QUOTE(entry_text(t, notes->blank)));
	if (notes->kinds)
		report_add(report, FINDING_MIXED_KINDS,
			   ABOUT(.rule = "V7", .origin = origin,
				 .fix = "use numbers alone, or UUIDs alone"),
			   "'%s' is of another kind than the first entry",
			   QUOTE(entry_text(t, notes->kinds)));
}

/* "4 devices are numbered 0 to 3": which numbers exist where this list counts. */
static const char *existing_numbers(const struct list_context *t)
{
	const struct view *view = &t->resolver->view;
	struct arena *arena = t->resolver->arena;
	struct visible_number n = visible_number(t->list->end_text);
	const char *count = "";

	if (view->unlisted || !view->ordinal_count)
		return "remove the entry";
	/* A list that is the number of GPUs probably means all of them. */
	if (t->list->end_entry == 0 && n.value == (int64_t)view->ordinal_count &&
	    !memchr(t->effective->value, ',', strlen(t->effective->value)))
		count = "; a list names devices, it does not count them";
	if (view->ordinal_count == 1)
		return arena_printf(arena, "the one device there is number 0%s", count);
	return arena_printf(arena, "the %zu devices there are numbered 0 to %zu%s",
			    view->ordinal_count, view->ordinal_count - 1, count);
}

static const char *end_fix(const struct list_context *t)
{
	switch (t->list->end) {
	case END_EMPTY:
		return "put a number before and after every comma";
	case END_NO_NUMBER:
		return other_case(t->list->end_text)
			       ? "letter case counts: write the UUID as nvidia-smi -L prints it"
			       : "write a number, or a UUID as nvidia-smi -L prints it";
	case END_NO_DEVICE:
		return existing_numbers(t);
	case END_NO_UUID:
		return "write the UUID as nvidia-smi -L prints it; letter case counts";
	case END_AMBIGUOUS:
		return "it fits several devices: write more of the UUID";
	case END_GARBAGE:
		return "write a plain number";
	default:
		return "remove the entry";
	}
}

static bool begins(struct span part, struct span whole)
{
	return part.length < whole.length && memcmp(part.text, whole.text, part.length) == 0;
}

/* Where the devices are only assumed, a UUID is taken as a part of a longer one, which it may not
 * be. */
static const char *repeat_fix(const struct list_context *t)
{
	struct span one = span_trim(entry_text(t, t->list->end_earlier + 1));
	struct span other = span_trim(t->list->end_text);

	if (!t->resolver->assumed || (!begins(one, other) && !begins(other, one)) ||
	    !begins((struct span){"GPU-", 4}, one))
		return "name each device once";
	return arena_printf(t->resolver->arena,
			    "name each device once; if they are two, write both UUIDs whole: '%s' "
			    "is the beginning of '%s'",
			    QUOTE(begins(one, other) ? one : other),
			    QUOTE(begins(one, other) ? other : one));
}

/* "the list names '0' twice", or by two names. */
static const char *repeated(const struct list_context *t)
{
	struct span one = span_trim(entry_text(t, t->list->end_earlier + 1));
	struct span other = span_trim(t->list->end_text);
	struct arena *arena = t->resolver->arena;

	return span_same(one, other)
		       ? arena_printf(arena, "the list names '%s' twice", QUOTE(other))
		       : arena_printf(arena, "the list names one device twice, as '%s' and '%s'",
				      QUOTE(one), QUOTE(other));
}

static void warn_end(const struct list_context *t)
{
	const struct visible_list *list = t->list;
	const struct visible_notes *notes = &list->notes;
	struct resolver *resolver = t->resolver;
	const char *rule = visible_end_rule(list->end);

	if (list->end == END_RAISES) {
		answer_no(
			resolver, FINDING_TORCH_RAISES,
			ABOUT(.rule = rule, .origin = t->effective->origin,
			      .fix = "write plain numbers, with commas alone between them"),
			"PyTorch raises ValueError at entry %zu ('%s'), so it counts no device at "
			"all",
			list->end_entry, QUOTE(list->end_text));
	} else if (list->end == END_DUPLICATE) {
		resolver->repeat_fix = repeat_fix(t);
		report_add(resolver->report, FINDING_DUPLICATE_DEVICE,
			   ABOUT(.rule = "V5", .origin = t->effective->origin,
				 .fix = resolver->repeat_fix),
			   "%s, so %s", repeated(t),
			   list->count ? "it ends there" : "no device is visible");
	} else if (list->end != END_NOT && !notes->word && !notes->blank && !notes->kinds &&
		   !(list->end == END_NEGATIVE && list->end_entry == 0)) {
		/* A list that begins with a negative number is meant to hide everything. */
		report_add(resolver->report, FINDING_LIST_ENDED,
			   ABOUT(.rule = rule, .origin = t->effective->origin, .fix = end_fix(t)),
			   "entry %zu ('%s') is not a device here (%s): it ends the list%s",
			   list->end_entry, QUOTE(list->end_text), visible_end_reason(list->end),
			   list->count ? "" : ", so no device is visible");
	}
	if (notes->unsure && resolver->dialect == DIALECT_DRIVER)
		report_add(resolver->report, FINDING_UNSURE_LIST,
			   ABOUT(.rule = notes->blank                         ? "V6"
					 : rule && list->end == END_DUPLICATE ? "V5"
									      : "V3",
				 .origin = t->effective->origin, .fix = "write it plainly"),
			   "how the driver reads '%s' is assumed",
			   QUOTE(entry_text(t, notes->unsure)));
}

void list_explain(struct resolver *resolver, const struct visible_list *list,
		  const struct effective *effective, bool outer)
{
	const struct list_context t = {resolver, list, effective};
	gpumap_mapping *mapping = resolver->mapping;

	add_steps(&t);
	warn_spelling(&t);
	warn_end(&t);
	if (!outer && list->end != END_NOT) {
		mapping->ended_entry = (int)list->end_entry;
		mapping->ended_text =
			arena_strndup(resolver->arena, list->end_text.text, list->end_text.length);
		mapping->ended_reason = visible_end_reason(list->end);
		mapping->ended_rule = visible_end_rule(list->end);
	}
}
