/* SPDX-License-Identifier: MIT */
/*
 * nvidia-smi topo -m: NVLink neighbours, NUMA nodes and CPUs of each GPU.
 *
 *		GPU0	GPU1	NIC0	CPU Affinity	NUMA Affinity	GPU NUMA ID
 *	GPU0	 X 	NV12	PXB	0-63	0		N/A
 *
 * With tabs, empty cells can be recognised; with blanks only if they line up with the header.
 * (There are two tabs before the last column and one above it.)
 */
#include "inventory/recorded.h"

#include "memory.h"

static const char *const headings[] = {"CPU Affinity", "NUMA Affinity", "GPU NUMA ID"};

/* Takes one relation ("NV12", "SYS") off *s. Returns 1 for NVLink, 0 for another, -1 for none. If
 * tabs were lost, relations are joined: "PXBNODE". */
static int take_relation(struct span *s)
{
	static const char *const words[] = {"X", "SYS", "NODE", "PHB", "PXB", "PIX", "PSB", "SOC"};
	struct span rest = *s;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (span_skip(s, words[i]))
			return 0;
	if (span_skip(&rest, "NV") && take_number(&rest) >= 0) {
		*s = rest;
		return 1;
	}
	return -1;
}

static bool is_relations(struct span cell)
{
	struct span word;

	while ((word = take_word(&cell)).length)
		while (word.length)
			if (take_relation(&word) < 0)
				return false;
	return true;
}

static bool is_inner(char c)
{
	return is_digit(c) || c == '_' || c == '-' || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* The first "GPU12" at the start of a word in s; *rest is what follows it. */
static bool find_label(struct span s, int64_t *index, struct span *rest)
{
	const char *at;

	*rest = s;
	while ((at = span_find(*rest, "GPU"))) {
		*rest = span_from(*rest, at + 3);
		*index = take_number(rest);
		if (*index >= 0 && (at == s.text || !is_inner(at[-1])) &&
		    (!rest->length || is_space(*rest->text) || span_starts(*rest, "GPU")))
			return true;
	}
	return false;
}

static void add_column(struct recorded *r, int64_t index)
{
	struct topo_state *t = &r->topo;

	if (index >= GPUMAP_MAX_DEVICES || t->count >= GPUMAP_MAX_DEVICES)
		recorded_limit(r, "more than %d GPUs", GPUMAP_MAX_DEVICES);
	else if (!ARRAY_ROOM(t->columns, t->count, t->column_room))
		recorded_nomem(r);
	else
		t->columns[t->count++] = (int)index;
}

static void finish_matrix(struct recorded *r)
{
	struct topo_state *t = &r->topo;

	if (t->known && t->rows < t->count)
		recorded_partial(r, "record it again, to the end",
				 "the topology's heading names %zu GPUs, but only %zu rows follow",
				 t->count, t->rows);
	t->count = t->rows = 0;
	t->known = false;
	memset(t->has, 0, sizeof(t->has));
}

/* "GPU0 GPU1 ... CPU Affinity", with or without blanks between. */
static void read_header(struct recorded *r, const struct line *line)
{
	struct topo_state *t = &r->topo;
	struct span rest = line->text;

	finish_matrix(r);
	t->known = true;
	while (r->code == GPUMAP_OK && span_skip_to(&rest, "GPU")) {
		int64_t index = take_number(&rest);

		if (index >= 0)
			add_column(r, index);
	}
	for (size_t i = 0; i < ARRAY_SIZE(headings); i++) {
		const char *at = span_find(line->text, headings[i]);

		t->has[i] = at;
		t->start[i] = at ? (size_t)(at - line->text.text) : 0;
	}
}

static bool is_header(struct span line, struct span after)
{
	struct span word;

	if (span_has(line, headings[0]))
		return true;
	if (span_starts(after, "GPU"))
		return true;
	word = take_word(&after);
	return span_skip(&word, "GPU") && take_number(&word) >= 0 && !word.length;
}

struct cells {
	struct span relations; /* the part of the line with relations */
	struct span tail[3];   /* the affinity cells */
	size_t count;
};

static void assign(struct cells *c, size_t column, struct span value)
{
	if (column < ARRAY_SIZE(c->tail))
		c->tail[column] = value;
}

/* Cells between tabs. */
static struct cells split_tabs(struct span row, size_t columns)
{
	struct cells c = {.relations = {row.text, 0}};
	struct span rest = row, cell;
	size_t seen = 0;
	bool tail = false;

	while (span_split(&rest, '\t', &cell)) {
		struct span value = span_trim(cell);

		if (!tail && is_relations(value) && (value.length || seen < columns)) {
			c.relations.length = (size_t)(cell.text + cell.length - row.text);
			seen += value.length > 0;
			continue;
		}
		tail = true;
		assign(&c, c.count++, value);
	}
	return c;
}

/* The heading that is nearest to a place in the line. */
static size_t nearest(const struct topo_state *t, size_t at)
{
	size_t best = 0, best_distance = SIZE_MAX;

	for (size_t i = 0; i < ARRAY_SIZE(t->start); i++) {
		size_t distance = t->start[i] > at ? t->start[i] - at : at - t->start[i];

		if (!t->has[i] || distance >= best_distance)
			continue;
		best = i;
		best_distance = distance;
	}
	return best;
}

/* Splits at blanks. If there are as many words as headings, each has its own heading, else the
 * nearest one. */
static struct cells split_words(const struct topo_state *t, struct span row, const char *line)
{
	struct cells c = {.relations = {row.text, 0}};
	struct span rest = row, word, words[3];
	size_t expected = t->known ? (size_t)t->has[0] + t->has[1] + t->has[2] : ARRAY_SIZE(words);

	while ((word = take_word(&rest)).length) {
		if (!c.count && is_relations(word)) {
			c.relations.length = (size_t)(word.text + word.length - row.text);
			continue;
		}
		if (c.count < ARRAY_SIZE(words))
			words[c.count] = word;
		c.count++;
	}
	for (size_t i = 0; i < c.count && i < ARRAY_SIZE(words); i++) {
		bool aligned = t->known && c.count < expected;

		assign(&c, aligned ? nearest(t, (size_t)(words[i].text - line)) : i, words[i]);
	}
	return c;
}

static void set_neighbours(struct recorded *r, int gpu, struct span relations)
{
	struct topo_state *t = &r->topo;
	size_t column = 0, count = 0;
	struct span word;

	while ((word = take_word(&relations)).length) {
		while (word.length) {
			int nvlink = take_relation(&word);

			if (nvlink < 0)
				break;
			if (nvlink > 0 && (!t->known || column < t->count) && count < t->room)
				t->neighbours[count++] =
					t->known ? t->columns[column] : (int)column;
			column++;
		}
	}
	if (column < t->count)
		recorded_partial(r, "record it again, to the end",
				 "a row of the topology has %zu cells for %zu GPUs", column,
				 t->count);
	else if (!device_set_nvlink(&r->inventory->gpus[gpu], t->neighbours, count))
		recorded_nomem(r);
}

/* Makes room for as many neighbours as the row can name: each takes three bytes or more. */
static bool make_room(struct recorded *r, size_t length)
{
	struct topo_state *t = &r->topo;
	size_t need = length / 3 + 1;
	int *grown;

	if (need > GPUMAP_MAX_DEVICES)
		need = GPUMAP_MAX_DEVICES;
	if (need <= t->room)
		return true;
	grown = xrealloc(t->neighbours, need * sizeof(*grown));
	if (!grown) {
		recorded_nomem(r);
		return false;
	}
	t->neighbours = grown;
	t->room = need;
	return true;
}

/* Where the text ends, a list may be the beginning of a longer one. */
static void drop_cut(struct recorded *r, const struct line *line, struct cells *c)
{
	const char *end = line->text.text + line->text.length;

	for (size_t i = 0; i < ARRAY_SIZE(c->tail); i++) {
		struct span *cell = &c->tail[i];

		if (!cell->length || cell->text + cell->length != end || is_no_value(*cell))
			continue;
		*cell = NO_SPAN;
		recorded_partial(r, "record it again, to the end", "the last row is cut: '%s'",
				 QUOTE(line->body));
	}
}

static void read_row(struct recorded *r, const struct line *line, int64_t index, struct span row)
{
	struct topo_state *t = &r->topo;
	bool tabs = row.length && memchr(row.text, '\t', row.length);
	struct seen seen = seen_gpu(index);
	struct cells c;
	int at;

	if (!make_room(r, row.length))
		return;
	if (tabs && *row.text == '\t')
		row = span_behind(row, 1);
	c = tabs ? split_tabs(row, t->known ? t->count : 1) : (struct cells){.count = 0};
	if (!c.relations.length)
		c = split_words(t, row, line->text.text);
	if (t->known && !t->has[0])
		c.tail[0] = NO_SPAN;
	if (t->known && !t->has[1])
		c.tail[1] = NO_SPAN;
	if (line->cut)
		drop_cut(r, line, &c);
	seen.cpus = or_nothing(c.tail[0]);
	seen.numa = or_nothing(c.tail[1]);
	at = recorded_gpu(r, &seen);
	t->rows++;
	if (at >= 0)
		set_neighbours(r, at, c.relations);
}

/* Without a heading the whole row must fit: relations, "X" among them, then lists. */
static bool is_row(struct span rest)
{
	struct span word;
	bool self = false, tail = false;

	while ((word = take_word(&rest)).length) {
		self = self || (!tail && span_is(word, "X"));
		tail = tail || !is_relations(word);
		if (tail && !is_id_list(word) && !is_no_value(word))
			return false;
	}
	return self;
}

static int read_line(struct recorded *r, const struct line *line)
{
	struct span rest, after, word;
	int64_t index;

	if (!find_label(line->text, &index, &rest))
		return 0;
	after = rest;
	word = take_word(&after);
	if (word.length && is_relations(word)) {
		if (!r->topo.known && !is_row(rest))
			return 0;
		read_row(r, line, index, rest);
		return 1;
	}
	if (!is_header(line->text, rest))
		return 0;
	read_header(r, line);
	return 1;
}

const struct format topo_format = {
	.name = "nvidia-smi topo -m", .line = read_line, .end = finish_matrix};
