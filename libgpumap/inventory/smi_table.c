/* SPDX-License-Identifier: MIT */
/*
 * The plain nvidia-smi table of all drivers, also with blanks collapsed or newlines lost:
 *
 *	|   0  NVIDIA H100 80GB HBM3          On  |   00000000:53:00.0 Off |           0 |
 *	| N/A   25C    P0             92W /  700W |       1MiB /  81559MiB |  0%   Default |
 *	|                                         |                        |      Disabled |
 *
 * and its box of MIG devices, whose rows start with GPU, GI, CI and the device's number:
 *
 *	|  0    2   0   0  |              26MiB / 40448MiB    | 60      0 |  3   0    3 |
 */
#include "inventory/recorded.h"

#include "text/pci.h"

enum { MAX_CELLS = 4 };

struct row {
	struct span cell[MAX_CELLS];
	size_t count;
};

/* Takes the text up to a joint of two lines ("||", "|+") off *rest. */
static bool take_segment(struct span *rest, struct span *segment)
{
	const char *start = rest->length ? memchr(rest->text, '|', rest->length) : NULL;
	size_t i = 1;

	if (!start)
		return false;
	*rest = span_from(*rest, start);
	while (i + 1 < rest->length &&
	       !(rest->text[i] == '|' && (rest->text[i + 1] == '|' || rest->text[i + 1] == '+')))
		i++;
	i = i + 1 < rest->length ? i + 1 : rest->length;
	*segment = (struct span){rest->text, i};
	*rest = span_behind(*rest, i);
	return true;
}

static struct row split_row(struct span segment)
{
	struct row row = {.count = 0};
	struct span rest = span_behind(segment, 1), piece;

	while (row.count < MAX_CELLS && rest.length && span_split(&rest, '|', &piece))
		row.cell[row.count++] = span_trim(piece);
	return row;
}

/* "1MiB / 81559MiB": the number after the slash, in bytes; -1: there is no number. */
static int64_t total_memory(struct span cell)
{
	int64_t total;

	if (!span_skip_to(&cell, "/"))
		return -1;
	cell = span_trim(cell);
	total = take_number(&cell);
	cell = span_trim(cell);
	if (total < 0 || total > INT64_MAX / MIB || !span_starts(cell, "MiB"))
		return -1;
	return total * MIB;
}

/* Removes the last word of a row's first cell, which is the persistence mode or the driver model.
 */
static struct span without_mode(struct span name)
{
	static const char *const modes[] = {"On",  "Off",  "N/A", "WDDM",
					    "TCC", "MCDM", "WDM", "ERR!"};
	size_t end = name.length;
	struct span mode;

	while (end && !is_space(name.text[end - 1]))
		end--;
	mode = span_behind(name, end);
	for (size_t i = 0; end && i < ARRAY_SIZE(modes); i++)
		if (span_is(mode, modes[i]))
			return span_trim((struct span){name.text, end});
	return name;
}

static bool parse_gpu(const struct row *row, struct seen *seen)
{
	struct span first = row->cell[0], second = row->cell[1];
	char address[20];

	if (row->count < 3 || !first.length || !is_digit(*first.text))
		return false;
	seen->index = take_number(&first);
	span_skip(&first, "."); /* driver 2xx */
	if (!first.length || !is_space(*first.text))
		return false;
	seen->pci = take_word(&second);
	seen->name = without_mode(span_trim(first));
	return pci_normalise(seen->pci, address);
}

static int read_gpu(struct recorded *r, const struct seen *seen)
{
	r->table.gpu = recorded_gpu(r, seen);
	r->table.last = seen->index;
	r->table.open = true;
	return 1;
}

static int read_mig(struct recorded *r, const struct row *row)
{
	struct span first = row->cell[0];
	struct seen gpu = seen_gpu(-1);
	struct seen_mig mig = {.memory = total_memory(row->cell[1])};
	int64_t number[4];
	int at;

	gpu.mig_enabled = 1;
	for (size_t i = 0; i < ARRAY_SIZE(number); i++) {
		struct span word = take_word(&first);

		number[i] = take_number(&word);
		if (number[i] < 0 || number[i] >= GPUMAP_MAX_DEVICES || word.length)
			return 0;
	}
	if (first.length || row->count < 3)
		return 0;
	gpu.index = number[0];
	mig.gi = number[1];
	mig.ci = number[2];
	mig.number = number[3];
	at = recorded_gpu(r, &gpu);
	if (at >= 0)
		recorded_mig(r, at, &mig);
	return 1;
}

/* The second and third line of a GPU's row. */
static int read_details(struct recorded *r, const struct row *row)
{
	struct seen more = seen_gpu(-1);
	gpumap_device *d;

	more.memory = total_memory(row->cell[1]);
	if (row->count < 3 || r->table.mig)
		return 0;
	if (r->table.gpu < 0) {
		r->table.headless = r->table.headless || more.memory >= 0;
		return more.memory >= 0;
	}
	d = &r->inventory->gpus[r->table.gpu];
	if (more.memory >= 0) {
		more.index = d->index;
		recorded_gpu(r, &more);
		return 1;
	}
	if (row->cell[0].length || row->cell[1].length || d->mig_enabled >= 0)
		return 0;
	if (span_is(row->cell[2], "Enabled") || span_is(row->cell[2], "Disabled"))
		d->mig_enabled = *row->cell[2].text == 'E';
	return 1;
}

static void finish_table(struct recorded *r)
{
	struct table_state *t = &r->table;

	if (t->open)
		recorded_partial(r, "record it again, to the end",
				 "the table ends after GPU %d, without the box of processes",
				 (int)t->last);
	if (t->headless)
		recorded_partial(r, "record it again, from the start",
				 "the table starts in the middle of a GPU");
	*t = (struct table_state){.gpu = -1};
}

static void read_heading(struct recorded *r, struct span segment)
{
	static const char *const words[] = {"Driver Version:", "KMD Version:"};

	finish_table(r);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		struct span rest = segment, version;

		if (!span_skip_to(&rest, words[i]))
			continue;
		version = take_word(&rest);
		if (rest.length) /* else it may be cut */
			recorded_driver(r, version);
	}
}

static bool read_frame(struct recorded *r, struct span first, struct span segment)
{
	if (span_starts(first, "NVIDIA-SMI ")) {
		read_heading(r, segment);
	} else if (span_starts(first, "MIG devices:")) {
		r->table.mig = true;
		r->table.gpu = -1;
	} else if (span_starts(first, "Processes:") || span_starts(first, "Compute processes:")) {
		r->table.open = r->table.mig = false;
		r->table.gpu = -1;
	} else {
		return false;
	}
	return true;
}

static int read_segment(struct recorded *r, struct span segment)
{
	struct row row = split_row(segment);
	struct seen seen = seen_gpu(-1);

	if (!row.count)
		return 0;
	if (read_frame(r, row.cell[0], segment))
		return 1;
	if (row.count < 3)
		return 0;
	if (parse_gpu(&row, &seen))
		return read_gpu(r, &seen);
	return r->table.mig ? read_mig(r, &row) : read_details(r, &row);
}

static int read_line(struct recorded *r, const struct line *line)
{
	struct span rest = line->text, segment;
	int taken = 0;

	while (take_segment(&rest, &segment))
		taken |= read_segment(r, segment);
	return taken;
}

const struct format smi_table_format = {
	.name = "nvidia-smi", .line = read_line, .end = finish_table};
