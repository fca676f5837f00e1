/* SPDX-License-Identifier: MIT */
/*
 * nvidia-smi --query-gpu=... --format=csv[,noheader][,nounits]. The columns are named by
 * the header, by a command line before the rows, or else recognised by their shape.
 */
#include "inventory/recorded.h"

#include "pci.h"

/* --- the meaning of columns ------------------------------------------------------------------ */

static const struct {
	const char *name;
	enum column column;
} known[] = {
	{"index", COLUMN_INDEX},           {"name", COLUMN_NAME},
	{"gpu_name", COLUMN_NAME},         {"uuid", COLUMN_UUID},
	{"gpu_uuid", COLUMN_UUID},         {"pci.bus_id", COLUMN_PCI},
	{"gpu_bus_id", COLUMN_PCI},        {"memory.total", COLUMN_MEMORY},
	{"driver_version", COLUMN_DRIVER}, {"mig.mode.current", COLUMN_MIG},
	{"count", COLUMN_COUNT},           {"timestamp", COLUMN_TIME},
	{"pid", COLUMN_PROCESS},           {"process_name", COLUMN_PROCESS},
	{"used_memory", COLUMN_PROCESS},   {"used_gpu_memory", COLUMN_PROCESS},
};

/* "memory.total [MiB]". Not every column is known, but all have this form. */
static bool is_column(struct span field, enum column *column)
{
	const char *unit = span_find(field, " [");

	if (unit && field.text[field.length - 1] == ']')
		field.length = (size_t)(unit - field.text);
	if (!field.length)
		return false;
	for (size_t i = 0; i < field.length; i++) {
		char c = field.text[i];

		if (c != '_' && c != '.' && !is_digit(c) && !((c | 32) >= 'a' && (c | 32) <= 'z'))
			return false;
	}
	*column = COLUMN_OTHER;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (span_is(field, known[i].name))
			*column = known[i].column;
	return true;
}

/* Takes the next field off *rest, without blanks and quotes; NO_SPAN at the end. */
static struct span csv_field(struct span *rest)
{
	struct span field;

	if (!span_split(rest, ',', &field))
		return NO_SPAN;
	field = span_trim(field);
	if (field.length >= 2 && field.text[0] == '"' && field.text[field.length - 1] == '"')
		field = (struct span){field.text + 1, field.length - 2};
	return field;
}

static bool csv_has(const struct csv_state *csv, enum column column)
{
	return memchr(csv->columns, column, csv->count);
}

static bool csv_names_gpus(const struct csv_state *csv)
{
	return (csv_has(csv, COLUMN_INDEX) || csv_has(csv, COLUMN_UUID) ||
		csv_has(csv, COLUMN_PCI) || csv_has(csv, COLUMN_NAME)) &&
	       !csv_has(csv, COLUMN_PROCESS);
}

static bool set_columns(struct recorded *r, struct span list, bool surely)
{
	struct csv_state csv = {.total = -1};
	struct span rest = list, field;
	size_t recognised = 0;

	while ((field = csv_field(&rest)).text) {
		enum column column;

		if (csv.count == MAX_COLUMNS || !is_column(field, &column))
			return false;
		csv.columns[csv.count++] = (unsigned char)column;
		recognised += column != COLUMN_OTHER;
	}
	/* A single word is a header only if it can be nothing else. */
	if (!surely && (!recognised || (csv.count == 1 && !csv_names_gpus(&csv))))
		return false;
	r->csv = csv;
	if (!csv_names_gpus(&csv))
		recorded_foreign(r, "add index,uuid,name to --query-gpu",
				 "the columns '%s' name no GPU", QUOTE(list));
	return true;
}

/* Sets the columns from a line of names. */
static bool csv_header(struct recorded *r, struct span list)
{
	return set_columns(r, list, false);
}

/* Sets the columns from a command line such as "$ nvidia-smi --query-gpu=index,uuid
 * --format=csv,noheader". */
static bool csv_command(struct recorded *r, struct span s)
{
	const char *at = span_find(s, "--query-gpu=");
	struct span rest, list;

	if (!at)
		return false;
	rest = span_from(s, at + strlen("--query-gpu="));
	list = take_word(&rest);
	if (list.length >= 2 && (*list.text == '"' || *list.text == '\''))
		list = (struct span){list.text + 1, list.length - 2};
	if (!set_columns(r, list, true))
		r->csv.count = 0;
	return true;
}

static bool csv_is_uuid(struct span field)
{
	return span_starts(field, "GPU-") && field.length >= 8 &&
	       !memchr(field.text, ' ', field.length);
}

static bool is_full_address(struct span field)
{
	char address[20];

	return field.length >= 12 && pci_normalise(field, address);
}

static bool is_number(struct span s)
{
	return take_number(&s) >= 0 && !s.length;
}

/* "49140 MiB", and without units "49140"; -1 if it is not a size. */
static int64_t csv_mib(struct span field, bool *unit)
{
	int64_t n = take_number(&field);

	*unit = take(&field, " MiB");
	return n < 0 || field.length || n > INT64_MAX / MIB ? -1 : n * MIB;
}

static bool is_name_like(struct span s)
{
	static const char *const units[] = {" W", " %", " MiB", " MHz", " us", " C"};
	static const char *const words[] = {"On", "Off", "Enabled", "Disabled", "Default", "None"};
	bool letter = false;

	for (size_t i = 0; i < s.length; i++)
		letter = letter || ((s.text[i] | 32) >= 'a' && (s.text[i] | 32) <= 'z');
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (s.length > strlen(units[i]) && is_digit(*s.text) &&
		    span_is(span_from(s, s.text + s.length - strlen(units[i])), units[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (span_is(s, words[i]))
			return false;
	return letter && s.length > 3 && !is_no_value(s) && !span_starts(s, "0x");
}

/* Sets the columns from the form of a row, if it has a UUID or an address. Of several sizes the
 * largest is the memory; a single one may be the memory in use. */
static bool csv_guess(struct recorded *r, struct span row)
{
	struct csv_state csv = {.total = -1, .guessed = true};
	struct span rest = row, field;
	size_t uuids = 0, addresses = 0, sizes = 0, largest = 0;
	int64_t max = -1;

	for (bool named = false; (field = csv_field(&rest)).text; csv.count++) {
		enum column column = COLUMN_OTHER;
		bool unit = false;
		int64_t size = csv_mib(field, &unit);

		if (csv.count == MAX_COLUMNS)
			return false;
		if (csv_is_uuid(field) && ++uuids)
			column = COLUMN_UUID;
		else if (is_full_address(field) && ++addresses)
			column = COLUMN_PCI;
		else if (csv.count == 0 && is_number(field))
			column = COLUMN_INDEX;
		else if (!named && is_name_like(field))
			column = COLUMN_NAME, named = true;
		sizes += unit;
		if (unit && size > max) {
			max = size;
			largest = csv.count;
		}
		csv.columns[csv.count] = (unsigned char)column;
	}
	if (uuids > 1 || addresses > 1 || !(uuids + addresses))
		return false;
	if (sizes > 1)
		csv.columns[largest] = COLUMN_MEMORY;
	r->csv = csv;
	return true;
}

/* --- rows ------------------------------------------------------------------------------------ */

struct row {
	struct seen seen;
	struct span driver, failure; /* failure: "[Unknown Error]" instead of a value */
	int64_t total;
	size_t fields;
	bool unit, open; /* open: the last field may be cut */
};

/* The part after a prefix that was not recognised: "0: 7". */
static struct span last_word(struct span s)
{
	size_t start = s.length;

	while (start && !is_space(s.text[start - 1]))
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

/* Text that is not a number, UUID or address must at least look like the name of a GPU. */
static bool is_model(struct span s)
{
	static const char *const models[] = {
		"NVIDIA ", "Tesla ", "GeForce ", "Quadro ", "GRID ", "TITAN ", "Graphics Device",
		"RTX ",    "A1",     "A2",       "A3",      "A40",   "A6",     "H100",
		"H200",    "B200",   "B300",     "L4",      "T4",    "Orin",   "Xavier",
		"Thor",
	};

	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		if (span_starts(s, models[i]))
			return true;
	return false;
}

static void report_failure(struct recorded *r, const struct row *row)
{
	if (!row->failure.text)
		return;
	recorded_partial(r, NULL, "a row has '%s'", QUOTE(row->failure));
	if (span_find(row->failure, "lost"))
		recorded_lost(r);
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
	report_failure(r, row);
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
		report_failure(r, &row);
		if (!row.failure.text)
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
