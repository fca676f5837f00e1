/* SPDX-License-Identifier: MIT */
/*
 * Splits output into lines. A line ends with a newline; an update of a progress bar ends with a
 * carriage return, which goes back to its start. A return before a newline belongs to the newline,
 * so a return as the last byte decides nothing yet.
 */
#include "console.h"

#include <stdio.h>

#include "hash.h"
#include "strbuf.h"

/* On a terminal the line may have nothing but another stream's update. */
static void leave_open_line(struct console *console, struct sink *sink, const struct stream *stream)
{
	if (!sink->open || sink->open == stream)
		return;
	sink->open->shown = 0;
	sink->open = NULL;
	sink_add(console, sink, "\r\033[K", 4);
}

static void add_tag(struct console *console, const struct stream *stream)
{
	sink_add(console, stream->sink, stream->tag, stream->tag_length);
}

/* Shows a piece with its line end, for the modes that show lines. */
static void line_show(struct console *console, struct stream *stream, const char *text,
		      size_t length)
{
	leave_open_line(console, stream->sink, stream);
	if (stream->shown > 0 && stream->shown <= length) {
		text += stream->shown;
		length -= stream->shown;
	} else if (!(length == 1 && *text == '\r')) {
		add_tag(console, stream);
	}
	stream->shown = 0;
	stream->sink->open = NULL;
	sink_add(console, stream->sink, text, length);
}

/* --- lines that repeat ----------------------------------------------------------------------- */

/*
 * Lines that several ranks write alike are shown once. A line waits a moment for the other ranks.
 * The lines of one rank keep their order, so a rank joins only lines after its last one.
 */

static bool is_in(const struct held *h, size_t index)
{
	return h->set[index / 64] >> (index % 64) & 1;
}

/* "[0-3,5] ": consecutive ranks are joined, in the order of the launch. */
static void add_ranks(struct console *console, const struct held *h)
{
	const struct launch_rank *ranks = console->launch->ranks;
	struct strbuf buf = {0};

	for (size_t i = 0; i < console->launch->count; i++) {
		size_t last = i;

		if (!is_in(h, i))
			continue;
		while (last + 1 < console->launch->count && is_in(h, last + 1) &&
		       ranks[last + 1].rank == ranks[last].rank + 1)
			last++;
		strbuf_printf(&buf, "%s%d", buf.length ? "," : "[", ranks[i].rank);
		if (last > i)
			strbuf_printf(&buf, "%s%d", last > i + 1 ? "-" : ",", ranks[last].rank);
		i = last;
	}
	strbuf_puts(&buf, "] ");
	if (!buf.failed)
		sink_add(console, h->sink, buf.text, buf.length);
	strbuf_free(&buf);
}

static void enter_bucket(struct collapse *c, struct held *h)
{
	h->chain_link = &c->buckets[h->hash % HELD_BUCKETS];
	h->chain = *h->chain_link;
	if (h->chain)
		h->chain->chain_link = &h->chain;
	*h->chain_link = h;
}

static void leave_bucket(struct held *h)
{
	*h->chain_link = h->chain;
	if (h->chain)
		h->chain->chain_link = h->chain_link;
}

static void show_first(struct console *console)
{
	struct collapse *c = &console->collapse;
	struct held *h = c->head;

	c->head = h->next;
	if (!c->head)
		c->end = &c->head;
	leave_bucket(h);
	c->lines--;
	c->bytes -= h->length;
	if (h->ranks == 1) {
		struct stream *stream = &console->streams[h->by];

		stream->shown = 0;
		line_show(console, stream, h->text, h->length);
	} else {
		if (h->sink->open) {
			h->sink->open->shown = 0;
			h->sink->open = NULL;
			sink_add(console, h->sink, "\r\033[K", 4);
		}
		if (!(h->length == 1 && *h->text == '\r'))
			add_ranks(console, h);
		sink_add(console, h->sink, h->text, h->length);
	}
	free(h);
}

/* No rank is missing that could still write it. */
static bool is_complete(const struct console *console, const struct held *h)
{
	bool err = console->streams[h->by].err;

	if (h->ranks < console->open[err])
		return false;
	for (size_t i = err; i < console->count; i += 2)
		if (console->streams[i].fd >= 0 && !is_in(h, i / 2))
			return false;
	return true;
}

void collapse_flush(struct console *console, int64_t now)
{
	struct collapse *c = &console->collapse;

	while (c->head && (c->head->deadline <= now || is_complete(console, c->head) ||
			   c->lines > HELD_LINES || c->bytes > HELD_BYTES))
		show_first(console);
	if (c->head)
		console_arm(console, c->head->deadline);
}

static bool is_alike(const struct console *console, const struct held *h,
		     const struct stream *stream, const struct held *line)
{
	return h->hash == line->hash && h->length == line->length && h->sink == stream->sink &&
	       memcmp(h->text, line->text, line->length) == 0 && !is_in(h, stream->index) &&
	       console->streams[h->by].err == stream->err;
}

/* No rank wrote anything after it. */
static bool is_last_of_all(const struct console *console, const struct held *h)
{
	for (size_t i = console->streams[h->by].err; i < console->count; i += 2)
		if (is_in(h, i / 2) && console->streams[i].last != h->sequence)
			return false;
	return true;
}

/* Moves a line to the end. That changes the order of no rank if it is the last line of all its
 * ranks. */
static void move_back(struct console *console, struct held *h)
{
	struct collapse *c = &console->collapse;
	struct held **link = &c->head;

	while (*link != h)
		link = &(*link)->next;
	*link = h->next;
	if (!*link)
		c->end = link;
	h->next = NULL;
	*c->end = h;
	c->end = &h->next;
	leave_bucket(h);
	enter_bucket(c, h);
	h->sequence = ++c->sequence;
	for (size_t i = console->streams[h->by].err; i < console->count; i += 2)
		if (is_in(h, i / 2))
			console->streams[i].last = h->sequence;
}

/* The first equal line after the rank's last, or one that can be moved there. */
static struct held *find(struct console *console, const struct stream *stream,
			 const struct held *line)
{
	struct held *h = console->collapse.buckets[line->hash % HELD_BUCKETS], *found = NULL;
	int looks = 0;

	for (; h && ++looks < HELD_LOOKS; h = h->chain) { /* the newest first */
		if (!is_alike(console, h, stream, line))
			continue;
		if (h->sequence > stream->last) {
			found = h;
		} else {
			if (!found && is_last_of_all(console, h)) {
				move_back(console, h);
				found = h;
			}
			break;
		}
	}
	return found;
}

static struct held *hold(struct console *console, const struct stream *stream, uint64_t hash,
			 const char *text, size_t length)
{
	struct collapse *c = &console->collapse;
	size_t words = (console->launch->count + 63) / 64;
	struct held *h = calloc(1, sizeof(*h) + words * sizeof(h->set[0]) + length);

	if (!h)
		return NULL;
	*h = (struct held){.sink = stream->sink,
			   .sequence = ++c->sequence,
			   .deadline = now_ns() + WAIT_MS * (int64_t)NS_PER_MS,
			   .hash = hash,
			   .length = length,
			   .by = (size_t)(stream - console->streams),
			   .text = (char *)&h->set[words]};
	memcpy(h->text, text, length);
	enter_bucket(c, h);
	*c->end = h;
	c->end = &h->next;
	c->lines++;
	c->bytes += length;
	return h;
}

static void collapse_line(struct console *console, struct stream *stream, const char *text,
			  size_t length)
{
	uint64_t hash = hash_bytes(HASH_START, text, length);
	const struct held line = {.hash = hash, .length = length, .text = (char *)(uintptr_t)text};
	struct held *h = find(console, stream, &line);

	if (!h)
		h = hold(console, stream, hash, text, length);
	if (!h) {
		collapse_flush(console, INT64_MAX);
		line_show(console, stream, text, length);
		return;
	}
	stream->shown = 0;
	stream->last = h->sequence;
	h->set[stream->index / 64] |= UINT64_C(1) << (stream->index % 64);
	h->ranks++;
	collapse_flush(console, 0);
}

/* --- new output ------------------------------------------------------------------------------ */

/* The length of the first line of `text` with its end; 0: it has none yet. */
static size_t line_length(const char *text, size_t length, bool *updates)
{
	const char *end = memchr(text, '\n', length);
	const char *back;

	if (!*updates)
		return end ? (size_t)(end - text) + 1 : 0;
	back = memchr(text, '\r', end ? (size_t)(end - text) : length);
	if (!back)
		return end ? (size_t)(end - text) + 1 : 0;
	if (back + 1 == text + length)
		return 0;
	return (size_t)(back - text) + (back[1] == '\n' ? 2 : 1);
}

static void show(struct console *console, struct stream *stream, const char *text, size_t length)
{
	if (console->launch->console == LAUNCH_COLLAPSE)
		collapse_line(console, stream, text, length);
	else
		line_show(console, stream, text, length);
}

/* Shows a piece of a line that is too long, or the end of one. */
static void show_piece(struct console *console, struct stream *stream, const char *text,
		       size_t length)
{
	char *line = malloc(length + 1);

	if (!line) {
		line_show(console, stream, text, length);
		sink_add(console, stream->sink, "\n", 1);
		return;
	}
	memcpy(line, text, length);
	line[length] = '\n';
	show(console, stream, line, length + 1);
	free(line);
}

size_t lines_take(struct console *console, struct stream *stream, const char *text, size_t length)
{
	size_t used = 0, n;

	stream->updates = memchr(text, '\r', length) != NULL;
	while (used < length) {
		n = line_length(text + used, length - used, &stream->updates);
		if (n == 0 && length - used < MAX_LINE)
			break;
		if (n == 0) {
			n = MAX_LINE;
			show_piece(console, stream, text + used, n);
		} else {
			show(console, stream, text + used, n);
		}
		used += n;
	}
	if (used < length && stream->updates && stream->sink->tty)
		console_arm(console, now_ns() + WAIT_MS * NS_PER_MS);
	return used;
}

void lines_finish(struct console *console, struct stream *stream)
{
	size_t length = stream->length;

	if (length == 0)
		return;
	stream->length = 0;
	if (stream->partial[length - 1] == '\r')
		show(console, stream, stream->partial, length);
	else
		show_piece(console, stream, stream->partial, length);
}

/* Updates without an end are shown if they can be overwritten. */
void lines_show_updates(struct console *console)
{
	for (size_t i = 0; i < console->count; i++) {
		struct stream *s = &console->streams[i];

		if (!s->updates || !s->sink->tty || s->length <= s->shown)
			continue;
		leave_open_line(console, s->sink, s);
		if (s->shown == 0)
			add_tag(console, s);
		sink_add(console, s->sink, s->partial + s->shown, s->length - s->shown);
		s->shown = s->length;
		s->sink->open = s;
	}
}
