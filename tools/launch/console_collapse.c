/* SPDX-License-Identifier: MIT */
/*
 * Lines that several ranks write alike are shown once. A line waits a moment for the other ranks.
 * The lines of one rank keep their order, so a rank joins only lines after its last one.
 */
#include "console.h"

#include "hash.h"

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
		leave_open_line(console, h->sink, NULL);
		if (!(h->length == 1 && *h->text == '\r'))
			tag_add_ranks(console, h);
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
		if (console->streams[i].fd >= 0 && !held_has(h, i / 2))
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
	       memcmp(h->text, line->text, line->length) == 0 && !held_has(h, stream->index) &&
	       console->streams[h->by].err == stream->err;
}

/* No rank wrote anything after it. */
static bool is_last_of_all(const struct console *console, const struct held *h)
{
	for (size_t i = console->streams[h->by].err; i < console->count; i += 2)
		if (held_has(h, i / 2) && console->streams[i].last != h->sequence)
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
		if (held_has(h, i / 2))
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

void collapse_line(struct console *console, struct stream *stream, const char *text, size_t length)
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
