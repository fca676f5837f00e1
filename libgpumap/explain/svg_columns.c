/* SPDX-License-Identifier: MIT */
/* Which devices the picture shows, and their y. If there are more than MAX_ROWS, it shows the
 * chosen one, its neighbours, and examples of the visible ones. */
#include "explain/svg.h"

#include "memory.h"

/* Rows of a column that is not shown whole, and candidates of one undecided device. */
enum { FEW_ROWS = 24, FEW_CANDIDATES = 10, FEW_REPLICAS = 8 };

/* --- items ------------------------------------------------------------------ */

static enum column_kind view_kind(size_t i, const struct seen_view *view)
{
	if (!i)
		return COLUMN_HOST;
	return streq(view->label, "container") || streq(view->label, "cgroup") ? COLUMN_GRANT
									       : COLUMN_LIST;
}

/* GPUs, each followed by its MIG instances. A list has already picked among them. */
static bool view_items(struct column *column, const struct seen_view *view)
{
	bool expand = column->kind != COLUMN_LIST;
	size_t room = view->count;

	for (size_t i = 0; expand && i < view->count; i++)
		room += view->devices[i]->mig_count;
	column->items = xcalloc(room ? room : 1, sizeof(*column->items));
	if (!column->items)
		return false;
	for (size_t i = 0; i < view->count; i++) {
		const gpumap_device *d = view->devices[i];
		int number = column->kind == COLUMN_HOST ? d->physical : (int)i;

		column->items[column->count++] = (struct item){d, NULL, number};
		for (size_t m = 0; expand && m < d->mig_count; m++)
			column->items[column->count++] = (struct item){&d->mig[m], NULL, number};
	}
	return true;
}

static bool logical_items(struct column *column, const gpumap_mapping *mapping)
{
	size_t count = mapping->visible_count;

	column->items = xcalloc(count ? count : 1, sizeof(*column->items));
	if (!column->items)
		return false;
	for (size_t i = 0; i < count; i++) {
		const gpumap_entry *e = &mapping->visible[i];

		column->items[i] =
			(struct item){entry_decided(e) ? e->candidates[0] : NULL, e, e->logical};
	}
	column->count = count;
	return true;
}

/* The position of the device, or of the GPU of a MIG instance; count: it has none. */
static size_t find_item(const struct column *column, const gpumap_device *device)
{
	size_t gpu = column->count;

	for (size_t i = 0; i < column->count; i++) {
		if (column->items[i].device == device)
			return i;
		if (column->items[i].device == device->gpu)
			gpu = i;
	}
	return gpu;
}

const struct row *column_find(const struct column *column, const gpumap_device *device)
{
	size_t item = find_item(column, device);

	for (size_t i = 0; i < column->row_count; i++) {
		const struct row *row = &column->rows[i];

		if (item >= row->first && item < row->first + row->count)
			return row;
	}
	return NULL;
}

/* --- which are shown ---------------------------------------------------------- */

/* A gap of one device is not worth a "more" row: the device is shown. */
static size_t rows_of(const struct column *column)
{
	size_t rows = column->pick_count, next = 0;

	for (size_t i = 0; i < column->pick_count; i++) {
		rows += column->picks[i] > next;
		next = column->picks[i] + 1;
	}
	return rows + (next < column->count);
}

static void pick_one(struct column *column, size_t item)
{
	size_t at = 0;

	while (at < column->pick_count && column->picks[at] < item)
		at++;
	if (item >= column->count || column->pick_count == MAX_ROWS ||
	    (at < column->pick_count && column->picks[at] == item))
		return;
	memmove(&column->picks[at + 1], &column->picks[at],
		(column->pick_count - at) * sizeof(*column->picks));
	column->picks[at] = item;
	column->pick_count++;
	if (rows_of(column) <= (column->count <= MAX_ROWS ? MAX_ROWS : FEW_ROWS))
		return;
	column->pick_count--;
	memmove(&column->picks[at], &column->picks[at + 1],
		(column->pick_count - at) * sizeof(*column->picks));
}

/* A MIG instance is shown below its GPU. */
static void pick(struct column *column, size_t item)
{
	if (item < column->count && column->items[item].device && !column->items[item].entry &&
	    is_instance(column->items[item].device) && column->kind != COLUMN_LIST)
		for (size_t gpu = item; gpu-- > 0;)
			if (!is_instance(column->items[gpu].device)) {
				pick_one(column, gpu);
				break;
			}
	pick_one(column, item);
}

/* `item` wraps below 0, and is then no item. */
static void pick_around(struct column *column, size_t item)
{
	pick(column, item);
	pick(column, item + 1);
	pick(column, item - 1);
}

static void pick_ends(struct column *column)
{
	for (size_t i = 0; i < 3; i++)
		pick(column, i);
	if (column->count)
		pick(column, column->count - 1);
}

static void pick_entry(struct column *column, const gpumap_entry *entry)
{
	for (size_t i = 0; entry && i < entry->count && i < FEW_CANDIDATES; i++)
		pick(column, find_item(column, entry->candidates[i]));
}

static bool pick_whole(struct column *column)
{
	if (column->count > MAX_ROWS)
		return false;
	for (size_t i = 0; i < column->count; i++)
		pick_one(column, i);
	return true;
}

static void pick_logical(struct column *column, const gpumap_mapping *mapping)
{
	if (pick_whole(column))
		return;
	if (mapping->chosen)
		pick_around(column, (size_t)mapping->chosen->logical);
	if (mapping->master)
		pick(column, (size_t)mapping->master->logical);
	pick_ends(column);
	for (size_t i = 0; is_group(mapping) && i < mapping->replica_count && i < FEW_REPLICAS; i++)
		pick(column, (size_t)mapping->replicas[i]->logical);
}

static void pick_view(struct column *column, const gpumap_mapping *mapping,
		      const struct column *logical)
{
	if (pick_whole(column))
		return;
	pick_entry(column, mapping->chosen);
	pick_entry(column, mapping->master);
	for (size_t i = 0; i < logical->pick_count; i++)
		pick_entry(column, logical->items[logical->picks[i]].entry);
	if (mapping->chosen && entry_decided(mapping->chosen))
		pick_around(column, find_item(column, mapping->chosen->candidates[0]));
	pick_ends(column);
}

/* --- rows ---------------------------------------------------------------------- */

static void add_row(struct column *column, size_t first, size_t count, bool gap)
{
	if (count && column->row_count < MAX_ROWS)
		column->rows[column->row_count++] =
			(struct row){.first = first, .count = count, .gap = gap && count > 1};
}

static int row_height(const struct row *row)
{
	return row->gap ? GAP_HEIGHT : ROW_HEIGHT;
}

static int rows_height(const struct column *column)
{
	const struct row *last = column->rows + column->row_count - 1;

	return column->row_count ? last->y + row_height(last) : 0;
}

static void make_rows(struct column *column)
{
	size_t next = 0;
	int y = 0;

	for (size_t i = 0; i < column->pick_count; i++) {
		add_row(column, next, column->picks[i] - next, true);
		add_row(column, column->picks[i], 1, false);
		next = column->picks[i] + 1;
	}
	add_row(column, next, column->count - next, true);
	for (size_t i = 0; i < column->row_count; i++) {
		column->rows[i].y = y;
		y += row_height(&column->rows[i]);
	}
}

/* A grant keeps the host's order, so each row stands beside the same device's row there. */
static void make_grant_rows(struct column *column, const struct column *host)
{
	size_t next = 0;

	for (size_t i = 0; i < host->row_count; i++) {
		const struct row *beside = &host->rows[i];
		size_t first = next, end = beside->first + beside->count;

		for (size_t h = beside->first; h < end && next < column->count; h++)
			next += column->items[next].device == host->items[h].device;
		if (next == first)
			continue;
		add_row(column, first, next - first, beside->gap);
		column->rows[column->row_count - 1].gap = beside->gap;
		column->rows[column->row_count - 1].y = beside->y;
	}
}

/* The devices that a list picked stand as a block, beside the devices that it picked from. */
static void place_block(struct column *column, const struct column *from, int room, int extra)
{
	int64_t sum = 0, n = 0;
	int offset, height = rows_height(column) + extra;

	for (size_t i = 0; i < column->row_count; i++) {
		const struct row *row = &column->rows[i], *source;
		const gpumap_device *device = column->items[row->first].device;

		source = device && !row->gap ? column_find(from, device) : NULL;
		if (source) {
			sum += source->y - row->y;
			n++;
		}
	}
	offset = n ? (int)(sum / n) : (room - height) / 2;
	offset = (offset + ROW_HEIGHT / 2) / ROW_HEIGHT * ROW_HEIGHT;
	if (offset > room - height)
		offset = room - height;
	for (size_t i = 0; offset > 0 && i < column->row_count; i++)
		column->rows[i].y += offset;
}

/* --- levels --------------------------------------------------------------------- */

static enum level entry_level(const gpumap_mapping *mapping, const gpumap_entry *entry)
{
	if (!entry_decided(entry))
		return LEVEL_UNSURE;
	if (entry == mapping->chosen)
		return LEVEL_CHOSEN;
	if (entry == mapping->master)
		return LEVEL_GROUP;
	for (size_t i = 0; is_group(mapping) && i < mapping->replica_count; i++)
		if (mapping->replicas[i] == entry)
			return LEVEL_GROUP;
	return LEVEL_VISIBLE;
}

/* A GPU is visible where one of its instances is. */
static bool entry_means(const gpumap_entry *entry, const gpumap_device *device, bool *instance)
{
	for (size_t i = 0; i < entry->count; i++) {
		*instance = entry->candidates[i] != device;
		if (entry->candidates[i] == device || entry->candidates[i]->gpu == device)
			return true;
	}
	return false;
}

static enum level device_level(const gpumap_mapping *mapping, const gpumap_device *device)
{
	const gpumap_device **seen = NULL;
	enum level level = LEVEL_HIDDEN;

	for (size_t i = 0; i < mapping->visible_count; i++) {
		const gpumap_entry *e = &mapping->visible[i];
		enum level found = LEVEL_VISIBLE;
		bool instance;

		/* Undecided devices share one array of candidates. */
		if (e->candidates == seen)
			continue;
		seen = e->candidates;
		if (!entry_means(e, device, &instance))
			continue;
		if (!instance)
			found = entry_level(mapping, e);
		level = found > level ? found : level;
	}
	return level;
}

static void set_levels(struct column *column, const gpumap_mapping *mapping)
{
	for (size_t i = 0; i < column->row_count; i++) {
		struct row *row = &column->rows[i];
		const struct item *item = &column->items[row->first];

		row->level = item->entry ? entry_level(mapping, item->entry)
					 : device_level(mapping, item->device);
		if (row->gap && row->level > LEVEL_VISIBLE)
			row->level = LEVEL_VISIBLE;
	}
}

/* --- all of it ------------------------------------------------------------------- */

static bool make_items(struct columns *columns)
{
	const gpumap_mapping *mapping = columns->mapping;
	struct column *logical = &columns->list[mapping->view_count];

	for (size_t i = 0; i < mapping->view_count; i++) {
		struct column *column = &columns->list[i];

		column->kind = view_kind(i, &mapping->views[i]);
		column->label = mapping->views[i].label;
		columns->count++;
		if (!view_items(column, &mapping->views[i]))
			return false;
	}
	logical->kind = COLUMN_LOGICAL;
	columns->count++;
	return logical_items(logical, mapping);
}

/* Rows below the logical devices: the entry that ended the list, or "none". */
static int notes_height(const gpumap_mapping *mapping)
{
	return (!mapping->visible_count + !!mapping->ended_text) * ROW_HEIGHT;
}

void columns_make(struct columns *columns, const gpumap_mapping *mapping)
{
	struct column *host = &columns->list[0], *logical = &columns->list[mapping->view_count];

	*columns = (struct columns){.mapping = mapping};
	if (!mapping->view_count)
		return; /* the statements ended before there was any view */
	columns->failed = !make_items(columns);
	if (columns->failed)
		return;
	pick_logical(logical, mapping);
	for (size_t i = 0; i < columns->count; i++) {
		struct column *column = &columns->list[i];
		int extra = column == logical ? notes_height(mapping) : 0;

		if (column->kind != COLUMN_LOGICAL && column->kind != COLUMN_GRANT)
			pick_view(column, mapping, logical);
		if (column->kind == COLUMN_GRANT)
			make_grant_rows(column, host);
		else
			make_rows(column);
		if (column->kind == COLUMN_LIST || column->kind == COLUMN_LOGICAL)
			place_block(column, column - 1, rows_height(host), extra);
		set_levels(column, mapping);
		if (rows_height(column) + extra > columns->height)
			columns->height = rows_height(column) + extra;
	}
}

void columns_free(struct columns *columns)
{
	for (size_t i = 0; i < columns->count; i++)
		free(columns->list[i].items);
}
