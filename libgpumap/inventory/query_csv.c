/* SPDX-License-Identifier: MIT */
/*
 * nvidia-smi --query-gpu=... --format=csv[,noheader][,nounits]. The columns are named by
 * the header, by a command line before the rows, or else recognised by their shape.
 */
#include "inventory/csv.h"

struct row {
	struct seen seen;
	struct span driver, failure; /* failure: "[Unknown Error]" where a value should be */
	int64_t total;
	size_t fields;
	bool unit, open; /* open: the last field may be cut */
};

/* What a prefix that was not recognised leaves before the first value: "0: 7". */
static struct span last_word(struct span s)
{
	size_t start = s.length;

	while (start && !is_blank(s.text[start - 1]))
		start--;
	return span_from(s, s.text + start);
}

static bool is_failure(struct span s)
{
	return s.length > 2 && *s.text == '[' &&
	       (span_find(s, "Error") || span_find(s, "lost") || span_find(s, "reset"));
}

static bool read_uuid(struct row *row, struct span field)
{
	const char *at = span_find(field, "GPU-");

	if (at && row->fields == 0)
		field = span_from(field, at);
	if (!csv_is_uuid(field) && !is_full_uuid(field, "") && !span_is(field, "..."))
		return false;
	if (row->open && !is_full_uuid(field, "GPU-"))
		return true; /* cut, not hidden */
	row->seen.uuid = field;
	return true;
}

static bool read_memory(struct row *row, struct span field)
{
	bool unit;

	row->seen.memory = csv_mib(field, &unit);
	row->unit = row->unit || unit;
	return row->seen.memory >= 0 || row->open;
}

static bool read_field(struct row *row, enum column column, struct span field)
{
	char address[20];

	if (column == COLUMN_OTHER)
		return true;
	if (is_failure(field) && !row->failure.text)
		row->failure = field;
	if (is_no_value(field))
		return field.length || row->open;
	switch (column) {
	case COLUMN_INDEX:
		if (row->fields == 0)
			field = last_word(field);
		row->seen.index = take_number(&field);
		return row->seen.index >= 0 && !field.length;
	case COLUMN_NAME:
		row->seen.name = field;
		return true;
	case COLUMN_UUID:
		return read_uuid(row, field);
	case COLUMN_PCI:
		row->seen.pci = row->fields == 0 ? last_word(field) : field;
		return pci_normalise(row->seen.pci, address) || row->open;
	case COLUMN_MEMORY:
		return read_memory(row, field);
	case COLUMN_DRIVER:
		row->driver = field;
		return true;
	case COLUMN_MIG:
		row->seen.mig_enabled = span_is(field, "Enabled");
		return true;
	case COLUMN_COUNT:
		row->total = span_number(field, GPUMAP_MAX_DEVICES);
		return row->total >= 0;
	default:
		return true;
	}
}

static bool parse_row(const struct csv_state *csv, const struct line *line, struct row *row)
{
	struct span rest = line->body, field;

	*row = (struct row){.seen = seen_gpu(-1), .total = -1};
	while ((field = csv_field(&rest)).text) {
		if (row->fields == csv->count)
			return false;
		row->open = line->cut && !rest.text;
		if (!read_field(row, (enum column)csv->columns[row->fields], field))
			return false;
		row->fields++;
	}
	return row->fields == csv->count || (line->cut && row->fields > 1);
}

/* Text that is no number, UUID or address must at least look like the name of a GPU. */
static bool is_model(struct span s)
{
	static const char *const models[] = {
		"NVIDIA ", "Tesla ", "GeForce ", "Quadro ", "GRID ", "TITAN ", "Graphics Device",
		"RTX ",	   "A1",     "A2",	 "A3",	    "A40",   "A6",     "H100",
		"H200",	   "B200",   "B300",	 "L4",	    "T4",    "Orin",   "Xavier",
		"Thor",
	};

	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		if (span_starts(s, models[i]))
			return true;
	return false;
}

static void check_row(struct recorded *r, const struct line *line, const struct row *row)
{
	struct csv_state *csv = &r->csv;
	bool cut = row->fields < csv->count;

	/* "... 9830" where all other rows say "98304 MiB" */
	if (line->cut && csv->units && row->seen.memory >= 0 && !row->unit)
		cut = true;
	if (cut)
		recorded_partial(r, "record it again, to the end", "the last row is cut: '%s'",
				 QUOTE(line->body));
	if (row->failure.text)
		recorded_partial(r, NULL, "a row says '%s'", QUOTE(row->failure));
	if (row->total > csv->total)
		csv->total = row->total;
	csv->units = csv->units || row->unit;
	if (row->driver.text)
		recorded_driver(r, row->driver);
}

static int read_row(struct recorded *r, const struct line *line)
{
	struct row row;
	int at;

	if (!parse_row(&r->csv, line, &row))
		return 0;
	if (!csv_names_gpus(&r->csv))
		return 2;
	if (row.seen.index < 0 && !row.seen.uuid.text && !row.seen.pci.text &&
	    !(row.seen.name.text && is_model(row.seen.name))) {
		if (row.failure.text)
			recorded_partial(r, NULL, "a row says '%s'", QUOTE(row.failure));
		else
			recorded_foreign(r, "add index,uuid to --query-gpu",
					 "the row '%s' names no GPU", QUOTE(line->body));
		return 0;
	}
	check_row(r, line, &row);
	if (line->cut && r->csv.units && !row.unit)
		row.seen.memory = -1;
	at = recorded_gpu(r, &row.seen);
	return at < 0 ? at : 1;
}

static int read_line(struct recorded *r, const struct line *line)
{
	int n;

	if (!line->body.length) {
		if (r->csv.count && r->last == &query_csv_format)
			r->csv.count = 0;
		return 0;
	}
	if (csv_command(r, line->body))
		return 0;
	if (r->csv.count) {
		n = read_row(r, line);
		if (n)
			return n;
	}
	if (line->body.length < strlen("uuid"))
		return 0;
	if (csv_header(r, line->body))
		return 2;
	if (!(r->csv.count && !r->csv.guessed) && csv_guess(r, line->body))
		return read_row(r, line);
	return 0;
}

static int end(struct recorded *r)
{
	if (r->csv.total > (int64_t)r->inventory->count && r->inventory->count)
		recorded_partial(r, NULL, "a row counts %d GPUs, but only %zu are listed",
				 (int)r->csv.total, r->inventory->count);
	return GPUMAP_OK;
}

const struct format query_csv_format = {
	.name = "nvidia-smi --query-gpu", .line = read_line, .end = end};
