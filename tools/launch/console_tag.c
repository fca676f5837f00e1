/* SPDX-License-Identifier: MIT */
/* The tag of a rank, "[RANK] ", and lines on the console after it. */
#include "console.h"

#include "strbuf.h"

void leave_open_line(struct console *console, struct sink *sink, const struct stream *stream)
{
	if (!sink->open || sink->open == stream)
		return;
	sink->open->shown = 0;
	sink->open = NULL;
	sink_add(console, sink, "\r\033[K", 4);
}

void tag_make(struct stream *stream, const struct launch_rank *rank)
{
	snprintf(stream->number, sizeof(stream->number), "[%d] ", rank->rank);
	stream->tag = rank->tag ? rank->tag : stream->number;
	stream->tag_length = strlen(stream->tag);
}

void tag_add(struct console *console, const struct stream *stream)
{
	sink_add(console, stream->sink, stream->tag, stream->tag_length);
}

void line_show(struct console *console, struct stream *stream, const char *text, size_t length)
{
	leave_open_line(console, stream->sink, stream);
	if (stream->shown > 0 && stream->shown <= length) {
		text += stream->shown;
		length -= stream->shown;
	} else if (!(length == 1 && *text == '\r')) {
		tag_add(console, stream);
	}
	stream->shown = 0;
	stream->sink->open = NULL;
	sink_add(console, stream->sink, text, length);
}

bool held_has(const struct held *h, size_t index)
{
	return h->set[index / 64] >> (index % 64) & 1;
}

void tag_add_ranks(struct console *console, const struct held *h)
{
	const struct launch_rank *ranks = console->launch->ranks;
	CLEANUP(strbuf_free) struct strbuf buf = {0};

	for (size_t i = 0; i < console->launch->count; i++) {
		size_t last = i;

		if (!held_has(h, i))
			continue;
		while (last + 1 < console->launch->count && held_has(h, last + 1) &&
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
}
