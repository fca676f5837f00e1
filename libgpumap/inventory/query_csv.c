/* SPDX-License-Identifier: MIT */
/*
 * nvidia-smi --query-gpu=... --format=csv[,noheader][,nounits]. The columns are named by
 * the header, by a command line before the rows, or else recognised by their shape.
 */
#include "inventory/recorded.h"

#include "text/pci.h"

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

/* Gives the GPUs the numbers of a column. Those of all GPUs of a machine are 0, 1, ... */
static void take_numbers(struct recorded *r, const struct number_column *n)
{
	int count = 0;
	bool all = true;

	for (int k = 0; k < INDEXES; k++) {
		if (!n->gpus[k])
			continue;
		all = all && count++ == k;
		recorded_number(r, n->gpus[k] - 1, k);
	}
	if (!all)
		recorded_partial(r, "record it with the names of the columns, --format=csv alone",
				 "a column without a name is taken for the index");
}

static bool column_fits(struct recorded *r, const struct number_column *n)
{
	const char *before = NULL; /* nvidia-smi numbers by PCI address */
	bool fits = !n->other;

	for (int k = 0; fits && k < INDEXES; k++) {
		const char *pci = n->gpus[k] ? r->inventory->gpus[n->gpus[k] - 1].pci : NULL;

		fits = !n->gpus[k] || (recorded_fits(r, n->gpus[k] - 1, k) &&
				       !(before && pci && pci_compare(before, pci) > 0));
		before = pci ? pci : before;
	}
	return fits;
}

/* Takes the one column that can be the index, if there is one. */
static void take_index(struct recorded *r)
{
	const struct number_column *found = NULL;
	bool falls = false, several = false;

	for (size_t i = 0; i < r->csv.number_count; i++) {
		const struct number_column *n = &r->csv.numbers[i];
		bool fits = column_fits(r, n);

		falls = falls || (fits && n->falls);
		if (!fits || n->falls)
			continue;
		several = several || (found && memcmp(n->gpus, found->gpus, sizeof(n->gpus)) != 0);
		found = n;
	}
	r->csv.number_count = 0;
	r->unclear = r->unclear || several || (falls && !found);
	if (found && !r->unclear)
		take_numbers(r, found);
}

/* False: the list does not have the names of columns. */
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
	take_index(r);
	r->csv = csv;
	if (!csv_names_gpus(&csv))
		recorded_foreign(r, "add index,uuid,name to --query-gpu",
				 "the columns '%s' name no GPU", QUOTE(list));
	return true;
}

/* Sets the columns from a command line such as "$ nvidia-smi --query-gpu=index,uuid
 * --format=csv,noheader". False: it is none. */
static bool csv_command(struct recorded *r, struct span s)
{
	struct span list;

	if (!span_skip_to(&s, "--query-gpu="))
		return false;
	list = take_word(&s);
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

/* A number that can be an index; -1. */
static int csv_index(struct span s)
{
	return s.length > 1 && *s.text == '0' ? -1 : (int)span_number(s, INDEXES - 1);
}

/* "49140 MiB", and without units "49140"; -1 if it is not a size. */
static int64_t csv_mib(struct span field, bool *unit)
{
	int64_t n = take_number(&field);

	*unit = span_skip(&field, " MiB");
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
		    span_is(span_behind(s, s.length - strlen(units[i])), units[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (span_is(s, words[i]))
			return false;
	return letter && s.length > 3 && !is_no_value(s) && !span_starts(s, "0x");
}

/* What is recognised by its form. */
struct guess {
	struct csv_state csv;
	size_t uuids, addresses, sizes, largest, numbers;
	int64_t max;
	bool named;
};

static enum column guess_column(struct guess *g, struct span field)
{
	bool unit = false;
	int64_t size = csv_mib(field, &unit);

	g->sizes += unit;
	if (unit && size > g->max) {
		g->max = size;
		g->largest = g->csv.count;
	}
	if (csv_is_uuid(field) && ++g->uuids)
		return COLUMN_UUID;
	if (is_full_address(field) && ++g->addresses)
		return COLUMN_PCI;
	if (csv_index(field) >= 0 && ++g->numbers) {
		g->csv.number_count = g->numbers < MAX_NUMBERS ? g->numbers : MAX_NUMBERS;
		return COLUMN_NUMBER;
	}
	if (g->named || !is_name_like(field))
		return COLUMN_OTHER;
	g->named = true;
	return COLUMN_NAME;
}

/* Sets the columns from the form of a row, if it has a UUID or an address. Of several sizes the
 * largest is the memory; a single one may be the memory in use. */
static bool csv_guess(struct recorded *r, struct span row)
{
	struct guess g = {.csv = {.total = -1, .open = true}, .max = -1};
	struct span rest = row, field;

	for (; (field = csv_field(&rest)).text; g.csv.count++) {
		if (g.csv.count == MAX_COLUMNS)
			return false;
		g.csv.columns[g.csv.count] = (unsigned char)guess_column(&g, field);
	}
	if (g.uuids > 1 || g.addresses > 1 || !(g.uuids + g.addresses))
		return false;
	if (g.sizes > 1)
		g.csv.columns[g.largest] = COLUMN_MEMORY;
	take_index(r);
	r->unclear = r->unclear || g.numbers > MAX_NUMBERS;
	r->csv = g.csv;
	return true;
}

/* --- rows ------------------------------------------------------------------------------------ */

struct row {
	struct seen seen;
	struct span driver, failure; /* failure: "[Unknown Error]" instead of a value */
	int64_t total;
	size_t fields, number_count;
	int numbers[MAX_NUMBERS]; /* of the state's columns; -1: it is no index */
	bool open, cut;           /* the last field may be cut, or is */
};

/* The part after a prefix that was not recognised: "0: 7". */
static struct span last_word(struct span s)
{
	size_t start = s.length;

	while (start && !is_space(s.text[start - 1]))
		start--;
	return span_behind(s, start);
}

static bool is_failure(struct span s)
{
	return s.length > 2 && *s.text == '[' &&
	       (span_has(s, "Error") || span_has(s, "lost") || span_has(s, "reset"));
}

static bool read_uuid(struct row *row, struct span field)
{
	const char *at = span_find(field, "GPU-");

	if (at && row->fields == 0)
		field = span_from(field, at);
	if (!csv_is_uuid(field) && !is_full_uuid(field, "") && !span_is(field, "..."))
		return false;
	row->seen.uuid = field;
	return true;
}

/* Whether the field shows its end. Where the text ends, another may be the beginning of a value. */
static bool is_whole(enum column column, struct span field)
{
	bool unit;

	if (field.length && is_no_value(field))
		return true;
	switch (column) {
	case COLUMN_UUID:
		return is_full_uuid(field, "GPU-");
	case COLUMN_PCI:
		return is_full_address(field);
	case COLUMN_MEMORY:
		return csv_mib(field, &unit) >= 0 && unit;
	case COLUMN_MIG:
		return span_is(field, "Enabled") || span_is(field, "Disabled");
	default:
		return column == COLUMN_OTHER || column >= COLUMN_TIME;
	}
}

static bool read_field(struct row *row, enum column column, struct span field)
{
	char address[20];
	bool unit;

	row->cut = row->open && !is_whole(column, field);
	if (column == COLUMN_OTHER || row->cut)
		return true;
	if (column == COLUMN_NUMBER) {
		if (row->number_count < MAX_NUMBERS)
			row->numbers[row->number_count++] = csv_index(field);
		return true;
	}
	if (is_failure(field) && !row->failure.text)
		row->failure = field;
	if (is_no_value(field))
		return field.length;
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
		return pci_normalise(row->seen.pci, address);
	case COLUMN_MEMORY:
		row->seen.memory = csv_mib(field, &unit);
		return row->seen.memory >= 0;
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
	if (span_has(row->failure, "lost"))
		recorded_lost(r);
}

static void check_row(struct recorded *r, const struct line *line, const struct row *row)
{
	if (row->cut || row->fields < r->csv.count)
		recorded_partial(r, "record it again, to the end", "the last row is cut: '%s'",
				 QUOTE(line->body));
	report_failure(r, row);
	if (row->total > r->csv.total)
		r->csv.total = row->total;
	if (row->driver.text)
		recorded_driver(r, row->driver);
}

/* A column is not the index if it has no number for a GPU, two numbers, or one number for two. */
static void check_numbers(struct csv_state *csv, const struct row *row, int gpu)
{
	for (size_t i = 0; i < row->number_count && i < csv->number_count; i++) {
		struct number_column *n = &csv->numbers[i];
		bool fits = row->numbers[i] >= 0;

		for (int k = 0; fits && k < INDEXES; k++)
			fits = !n->gpus[k] || (n->gpus[k] == gpu + 1) == (k == row->numbers[i]);
		n->other = n->other || !fits;
		if (!fits || n->gpus[row->numbers[i]])
			continue;
		n->gpus[row->numbers[i]] = gpu + 1;
		n->falls = n->falls || row->numbers[i] < n->last;
		n->last = row->numbers[i];
	}
}

static bool names_gpu(const struct row *row)
{
	return row->seen.index >= 0 || row->seen.uuid.text || row->seen.pci.text ||
	       (row->seen.name.text && is_model(row->seen.name));
}

/* Whether the row is cut where its index is, or can be. */
static bool lacks_index(const struct csv_state *csv, const struct row *row)
{
	bool lacks = csv_has(csv, COLUMN_INDEX) && row->seen.index < 0;

	for (size_t i = row->number_count; i < csv->number_count; i++)
		lacks = lacks || !csv->numbers[i].other;
	return lacks && (row->cut || row->fields < csv->count);
}

static int read_row(struct recorded *r, const struct line *line)
{
	struct row row;
	int at;

	if (!parse_row(&r->csv, line, &row))
		return 0;
	if (!csv_names_gpus(&r->csv))
		return 2;
	if (lacks_index(&r->csv, &row) || (row.cut && !names_gpu(&row))) {
		check_row(r, line, &row);
		return 1;
	}
	if (!names_gpu(&row)) {
		report_failure(r, &row);
		if (!row.failure.text)
			recorded_foreign(r, "add index,uuid to --query-gpu",
					 "the row '%s' names no GPU", QUOTE(line->body));
		return 0;
	}
	check_row(r, line, &row);
	at = recorded_gpu(r, &row.seen);
	if (at >= 0)
		check_numbers(&r->csv, &row, at);
	return 1;
}

static int read_line(struct recorded *r, const struct line *line)
{
	int n;

	if (!line->body.length) {
		r->csv.open = true;
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
	if (set_columns(r, line->body, false))
		return 2;
	if (r->csv.count && !r->csv.open && csv_names_gpus(&r->csv))
		return 0;
	return csv_guess(r, line->body) ? read_row(r, line) : 0;
}

static void end(struct recorded *r)
{
	if (r->csv.total > (int64_t)r->inventory->count && r->inventory->count)
		recorded_partial(r, NULL, "a row counts %d GPUs, but only %zu are listed",
				 (int)r->csv.total, r->inventory->count);
	take_index(r);
}

const struct format query_csv_format = {
	.name = "nvidia-smi --query-gpu", .line = read_line, .end = end};
