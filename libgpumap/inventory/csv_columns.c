/* SPDX-License-Identifier: MIT */
/* Which column of nvidia-smi's CSV is what. */
#include "inventory/csv.h"

static const struct {
	const char *name;
	enum column column;
} known[] = {
	{"index", COLUMN_INDEX},	   {"name", COLUMN_NAME},
	{"gpu_name", COLUMN_NAME},	   {"uuid", COLUMN_UUID},
	{"gpu_uuid", COLUMN_UUID},	   {"pci.bus_id", COLUMN_PCI},
	{"gpu_bus_id", COLUMN_PCI},	   {"memory.total", COLUMN_MEMORY},
	{"driver_version", COLUMN_DRIVER}, {"mig.mode.current", COLUMN_MIG},
	{"count", COLUMN_COUNT},	   {"timestamp", COLUMN_TIME},
	{"pid", COLUMN_PROCESS},	   {"process_name", COLUMN_PROCESS},
	{"used_memory", COLUMN_PROCESS},   {"used_gpu_memory", COLUMN_PROCESS},
};

/* "memory.total [MiB]"; not every column is known, but all have this shape. */
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

struct span csv_field(struct span *rest)
{
	struct span field;

	if (!span_split(rest, ',', &field))
		return NO_SPAN;
	field = span_trim(field);
	if (field.length >= 2 && field.text[0] == '"' && field.text[field.length - 1] == '"')
		field = (struct span){field.text + 1, field.length - 2};
	return field;
}

bool csv_has(const struct csv_state *csv, enum column column)
{
	return memchr(csv->columns, column, csv->count);
}

bool csv_names_gpus(const struct csv_state *csv)
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
	/* One word alone is a header only if it can be nothing else. */
	if (!surely && (!recognised || (csv.count == 1 && !csv_names_gpus(&csv))))
		return false;
	r->csv = csv;
	if (!csv_names_gpus(&csv))
		recorded_foreign(r, "add index,uuid,name to --query-gpu",
				 "the columns '%s' name no GPU", QUOTE(list));
	return true;
}

bool csv_header(struct recorded *r, struct span list)
{
	return set_columns(r, list, false);
}

bool csv_command(struct recorded *r, struct span s)
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

bool csv_is_uuid(struct span field)
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

int64_t csv_mib(struct span field, bool *unit)
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

bool csv_guess(struct recorded *r, struct span row)
{
	struct csv_state csv = {.total = -1, .guessed = true};
	struct span rest = row, field;
	size_t uuids = 0, addresses = 0, sizes = 0, largest = 0;
	int64_t most = -1;

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
		if (unit && size > most) {
			most = size;
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
