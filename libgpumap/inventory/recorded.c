/* SPDX-License-Identifier: MIT */
#include "inventory/recorded.h"

#include "strbuf.h"

static const struct format *const all_formats[] = {
	&nccl_xml_format, &smi_list_format,  &nvlink_format,    &smi_table_format,
	&topo_format,     &proc_info_format, &query_csv_format, &complaint_format,
};

/* --- pieces of text ------------------------------------------------------------ */

const char *span_find(struct span s, const char *word)
{
	return s.length ? memmem(s.text, s.length, word, strlen(word)) : NULL;
}

struct span span_from(struct span s, const char *from)
{
	return (struct span){from, (size_t)(s.text + s.length - from)};
}

bool take(struct span *s, const char *word)
{
	size_t length = strlen(word);

	if (!span_starts(*s, word))
		return false;
	*s = span_from(*s, s->text + length);
	return true;
}

struct span take_word(struct span *s)
{
	struct span word;

	while (s->length && is_blank(*s->text))
		*s = span_from(*s, s->text + 1);
	word = (struct span){s->text, 0};
	while (word.length < s->length && !is_blank(word.text[word.length]))
		word.length++;
	*s = span_from(*s, s->text + word.length);
	return word;
}

int64_t take_number(struct span *s)
{
	struct span digits = {s->text, 0};
	int64_t number;

	while (digits.length < s->length && is_digit(digits.text[digits.length]))
		digits.length++;
	if (!digits.length)
		return -1;
	*s = span_from(*s, s->text + digits.length);
	number = span_number(digits, INT64_MAX);
	return number < 0 ? INT64_MAX : number;
}

bool is_id_list(struct span s)
{
	if (!s.length || !is_digit(s.text[0]) || !is_digit(s.text[s.length - 1]))
		return false;
	for (size_t i = 0; i < s.length; i++)
		if (!is_digit(s.text[i]) && s.text[i] != ',' && s.text[i] != '-')
			return false;
	return true;
}

bool is_no_value(struct span s)
{
	return !s.length || (s.text[0] == '[' && s.text[s.length - 1] == ']') ||
	       span_is(s, "N/A") || span_is(s, "ERR!");
}

struct span or_nothing(struct span s)
{
	s = span_trim(s);
	return s.length ? s : NO_SPAN;
}

/* --- what readers report --------------------------------------------------------- */

static PRINTF(4, 0) void set_reason(struct recorded *r, struct reason *reason, const char *fix,
				    const char *format, va_list args)
{
	reason->line = r->line;
	reason->fix = fix;
	reason->text = arena_vprintf(&r->arena, format, args);
}

void recorded_partial(struct recorded *r, const char *fix, const char *format, ...)
{
	va_list args;

	r->inventory->partial = true;
	if (r->partial_count == ARRAY_SIZE(r->partial))
		return;
	va_start(args, format);
	set_reason(r, &r->partial[r->partial_count++], fix, format, args);
	va_end(args);
}

void recorded_foreign(struct recorded *r, const char *fix, const char *format, ...)
{
	va_list args;

	if (r->foreign.text)
		return;
	va_start(args, format);
	set_reason(r, &r->foreign, fix, format, args);
	va_end(args);
}

static PRINTF(5, 0) int fail(struct recorded *r, int code, enum finding_id id, const char *fix,
			     const char *format, va_list args)
{
	const char *text = arena_vprintf(&r->arena, format, args);

	if (!text)
		return recorded_nomem(r);
	return report_fail(r->report, code, id,
			   ABOUT(.origin = r->origin, .line = r->line, .fix = fix), "%s", text);
}

int recorded_contradiction(struct recorded *r, const char *format, ...)
{
	va_list args;
	int code;

	va_start(args, format);
	code = fail(r, GPUMAP_EINPUT, FINDING_NOT_AN_INVENTORY, "record one machine at a time",
		    format, args);
	va_end(args);
	return code;
}

int recorded_limit(struct recorded *r, const char *format, ...)
{
	va_list args;
	int code;

	va_start(args, format);
	code = fail(r, GPUMAP_ELIMIT, FINDING_LIMIT, NULL, format, args);
	va_end(args);
	return code;
}

int recorded_nomem(struct recorded *r)
{
	return report_nomem(r->report);
}

void recorded_driver(struct recorded *r, struct span version)
{
	bool dot = false;

	for (size_t i = 0; i < version.length; i++) {
		if (!is_digit(version.text[i]) && version.text[i] != '.')
			return;
		dot = dot || version.text[i] == '.';
	}
	if (dot && !r->inventory->driver && !member_set(&r->inventory->driver, version))
		r->arena.failed = true; /* checked once, after the last line */
}

/* --- the whole text ----------------------------------------------------------------- */

static int offer(struct recorded *r, const struct line *line, uint32_t *used)
{
	for (size_t i = 0; i < r->format_count; i++) {
		int n = r->formats[i]->line(r, line);

		if (n < 0)
			return n;
		if (!n)
			continue;
		r->last = r->formats[i];
		*used |= n == 1 ? 1u << i : 0;
		return GPUMAP_OK;
	}
	r->last = NULL;
	return GPUMAP_OK;
}

static int read_lines(struct recorded *r, uint32_t *used)
{
	struct line line;
	int code = GPUMAP_OK;

	while (code == GPUMAP_OK && lines_next(&r->lines, &line)) {
		r->line = line.number;
		code = offer(r, &line, used);
	}
	if (code == GPUMAP_OK && r->lines.failed)
		return recorded_nomem(r);
	for (size_t i = 0; code == GPUMAP_OK && i < r->format_count; i++)
		if (r->formats[i]->end)
			code = r->formats[i]->end(r);
	return code;
}

static int refuse(struct recorded *r, struct span text)
{
	const struct reason *why = r->partial_count ? &r->partial[0] : &r->foreign;
	const char *fix = why->fix ? why->fix : "record the output of nvidia-smi -L";

	if (span_trim(text).length == 0)
		return report_fail(r->report, GPUMAP_EINPUT, FINDING_NOT_AN_INVENTORY,
				   ABOUT(.origin = r->origin, .fix = fix), "the text is empty");
	return report_fail(r->report, GPUMAP_EINPUT, FINDING_NOT_AN_INVENTORY,
			   ABOUT(.origin = r->origin, .line = why->line, .fix = fix),
			   "no GPU can be read: %s",
			   why->text ? why->text : "no line is in a format that is known");
}

/* A hole in the numbers is a GPU that did not answer, or a part of a listing. */
static void check_holes(struct recorded *r)
{
	const gpumap_inventory *inventory = r->inventory;

	for (size_t i = 0; i < inventory->count && inventory->gpus[i].index >= 0; i++) {
		if (inventory->gpus[i].index == (int)i)
			continue;
		recorded_partial(r, NULL, "GPU %zu is missing before GPU %d", i,
				 inventory->gpus[i].index);
		return;
	}
}

static void report_reasons(struct recorded *r)
{
	for (size_t i = 0; i < r->partial_count; i++)
		report_add(r->report, FINDING_PARTIAL_INVENTORY,
			   ABOUT(.origin = r->origin, .line = r->partial[i].line,
				 .fix = r->partial[i].fix),
			   "the inventory may be incomplete: %s", r->partial[i].text);
	if (r->masked.text)
		report_add(r->report, FINDING_MASKED_VALUE,
			   ABOUT(.origin = r->origin, .line = r->masked.line),
			   "a UUID is hidden or not complete: '%s'; it is taken as not known",
			   r->masked.text);
}

static int name_source(struct recorded *r, uint32_t used)
{
	struct strbuf names = {0};
	char *text;

	for (size_t i = 0; i < r->format_count; i++)
		if (used & 1u << i && r->formats[i]->name)
			strbuf_printf(&names, "%s%s", names.length ? ", " : "",
				      r->formats[i]->name);
	text = strbuf_take(&names);
	if (!text)
		return recorded_nomem(r);
	free(r->inventory->source);
	r->inventory->source = text;
	return GPUMAP_OK;
}

static int parse(struct recorded *r, struct span text)
{
	const char *nul = text.length ? memchr(text.text, '\0', text.length) : NULL;
	uint32_t used = 0;
	int code;

	if (nul && !r->lines.decoded)
		return report_fail(
			r->report, GPUMAP_EINPUT, FINDING_NOT_AN_INVENTORY,
			ABOUT(.origin = r->origin, .fix = "record the output of nvidia-smi -L"),
			"no GPU can be read: a NUL byte at offset %zu, this is no text",
			(size_t)(nul - text.text));
	code = read_lines(r, &used);
	if (code == GPUMAP_OK)
		code = recorded_link(r);
	if (code == GPUMAP_OK && r->arena.failed)
		code = recorded_nomem(r);
	if (code == GPUMAP_OK && !r->inventory->count)
		code = refuse(r, text);
	if (code == GPUMAP_OK)
		code = inventory_finish(r->inventory, r->report);
	if (code == GPUMAP_OK)
		code = name_source(r, used);
	if (code != GPUMAP_OK)
		return code;
	check_holes(r);
	if (r->arena.failed)
		return recorded_nomem(r);
	report_reasons(r);
	return GPUMAP_OK;
}

static void release(struct recorded *r)
{
	gpumap_inventory_free(r->inventory);
	arena_free(&r->arena);
	lines_free(&r->lines);
	free(r->lookup.slots);
	free(r->topo.columns);
	free(r->topo.neighbours);
	free(r->xml.links);
	free(r->proc.name);
}

int recorded_parse_with(gpumap_inventory **ret, const struct format *const formats[], size_t count,
			struct span text, const char *origin, gpumap_report *report)
{
	struct recorded r = {
		.formats = formats, .format_count = count, .report = report, .origin = origin};
	int code;

	r.list.gpu = r.table.gpu = -1;
	r.csv.total = r.proc.minor = -1;
	r.inventory = inventory_new("recorded", origin);
	if (!r.inventory || !lines_start(&r.lines, text))
		code = recorded_nomem(&r);
	else
		code = parse(&r, text);
	if (code == GPUMAP_OK) {
		*ret = r.inventory;
		r.inventory = NULL;
	}
	release(&r);
	return code;
}

int recorded_parse(gpumap_inventory **ret, struct span text, const char *origin,
		   gpumap_report *report)
{
	return recorded_parse_with(ret, all_formats, ARRAY_SIZE(all_formats), text, origin, report);
}
