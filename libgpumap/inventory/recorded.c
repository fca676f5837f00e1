/* SPDX-License-Identifier: MIT */
/* See recorded.h. */
#include "inventory/recorded.h"

#include "strbuf.h"

static const struct format *const all_formats[] = {
	&nccl_xml_format, &smi_list_format,  &nvlink_format,    &smi_table_format,
	&topo_format,     &proc_info_format, &query_csv_format, &complaint_format,
};

/* --- the whole text ----------------------------------------------------------------- */

static void offer(struct recorded *r, const struct line *line, uint32_t *used)
{
	size_t i = 0;
	int n = 0;

	while (i < r->format_count && !(n = r->formats[i]->line(r, line)))
		i++;
	r->last = n ? r->formats[i] : NULL;
	*used |= n == 1 ? 1u << i : 0;
}

static void read_lines(struct recorded *r, uint32_t *used)
{
	struct line line;

	while (r->code == GPUMAP_OK && lines_next(&r->lines, &line)) {
		r->line = line.number;
		offer(r, &line, used);
	}
	if (r->lines.failed)
		recorded_nomem(r);
	for (size_t i = 0; r->code == GPUMAP_OK && i < r->format_count; i++)
		if (r->formats[i]->end)
			r->formats[i]->end(r);
}

static int refuse(struct recorded *r, struct span text)
{
	const struct reason *why = r->partial_count ? &r->partial[0] : &r->foreign;
	const char *fix = why->fix ? why->fix : "use the output of nvidia-smi -L";

	if (span_trim(text).length == 0)
		return report_fail(r->report, GPUMAP_EINPUT, FINDING_NOT_AN_INVENTORY,
				   ABOUT(.origin = r->origin, .fix = fix), "the text is empty");
	return report_fail(r->report, GPUMAP_EINPUT, FINDING_NOT_AN_INVENTORY,
			   ABOUT(.origin = r->origin, .line = why->line, .fix = fix), "%s%s",
			   why->text ? "no GPU can be read: " : "",
			   why->text ? why->text : "the format is not known");
}

/* A gap in the numbers is a GPU that did not answer, or a listing of only some GPUs. If one did not
 * answer and there is no gap, it can be any after those that were listed before. */
static void check_holes(struct recorded *r)
{
	gpumap_inventory *inventory = r->inventory;
	size_t i = 0;

	if (inventory->gpus[inventory->count - 1].index < 0)
		return;
	while (i < inventory->count && inventory->gpus[i].index == (int)i)
		i++;
	if (i < inventory->count)
		recorded_partial(r, NULL, "GPU %zu is missing before GPU %d", i,
				 inventory->gpus[i].index);
	inventory->doubt = r->lost < 0 ? -1 : i < inventory->count ? (int)i : r->lost;
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

static void name_source(struct recorded *r, uint32_t used)
{
	struct strbuf names = {0};
	char *text;

	for (size_t i = 0; i < r->format_count; i++)
		if (used & 1u << i && r->formats[i]->name)
			strbuf_printf(&names, "%s%s", names.length ? ", " : "",
				      r->formats[i]->name);
	text = strbuf_take(&names);
	if (!text) {
		recorded_nomem(r);
		return;
	}
	free(r->inventory->source);
	r->inventory->source = text;
}

static void parse(struct recorded *r, struct span text)
{
	const char *nul = text.length ? memchr(text.text, '\0', text.length) : NULL;
	uint32_t used = 0;

	if (nul && !r->lines.decoded) {
		recorded_fail(r, GPUMAP_EINPUT, FINDING_NOT_AN_INVENTORY,
			      "use the output of nvidia-smi -L",
			      "no GPU can be read: a NUL byte at offset %zu, this is not text",
			      (size_t)(nul - text.text));
		return;
	}
	read_lines(r, &used);
	if (r->code == GPUMAP_OK)
		recorded_link(r);
	if (r->arena.failed)
		recorded_nomem(r);
	if (r->code == GPUMAP_OK && !r->inventory->count)
		r->code = refuse(r, text);
	if (r->unclear || r->lost >= 0)
		r->inventory->doubt = 0;
	if (r->code == GPUMAP_OK)
		r->code = inventory_finish(r->inventory, r->report);
	if (r->code == GPUMAP_OK)
		name_source(r, used);
	if (r->code != GPUMAP_OK)
		return;
	check_holes(r);
	if (r->arena.failed)
		recorded_nomem(r);
	else
		report_reasons(r);
}

int recorded_parse_with(gpumap_inventory **ret, const struct format *const formats[], size_t count,
			struct span text, const char *origin, gpumap_report *report)
{
	struct recorded r = {
		.formats = formats, .format_count = count, .report = report, .origin = origin};

	r.list.gpu = r.table.gpu = -1;
	r.csv.total = r.proc.minor = r.lost = -1;
	r.inventory = inventory_new("recorded", origin);
	if (!r.inventory || !lines_start(&r.lines, text))
		recorded_nomem(&r);
	else
		parse(&r, text);
	arena_free(&r.arena);
	lines_free(&r.lines);
	hash_index_free(&r.lookup);
	free(r.topo.columns);
	free(r.topo.neighbours);
	free(r.xml.links);
	free(r.proc.name);
	return give_inventory(ret, r.inventory, r.code);
}

int recorded_parse(gpumap_inventory **ret, struct span text, const char *origin,
		   gpumap_report *report)
{
	return recorded_parse_with(ret, all_formats, ARRAY_SIZE(all_formats), text, origin, report);
}
