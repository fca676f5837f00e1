/* SPDX-License-Identifier: MIT */
/*
 * Splits output into lines. A line ends with a newline; an update of a progress bar ends with a
 * carriage return, which goes back to its start. A return before a newline belongs to the newline,
 * so a return as the last byte decides nothing yet.
 */
#include "console.h"

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
	CLEANUP_FREE char *line = malloc(length + 1);

	if (!line) {
		line_show(console, stream, text, length);
		sink_add(console, stream->sink, "\n", 1);
		return;
	}
	memcpy(line, text, length);
	line[length] = '\n';
	show(console, stream, line, length + 1);
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
	const struct strbuf *rest = &stream->partial;

	if (!rest->length)
		return;
	if (rest->text[rest->length - 1] == '\r')
		show(console, stream, rest->text, rest->length);
	else
		show_piece(console, stream, rest->text, rest->length);
}

/* Updates without an end are shown if they can be overwritten. */
void lines_show_updates(struct console *console)
{
	for (size_t i = 0; i < console->count; i++) {
		struct stream *s = &console->streams[i];

		if (!s->updates || !s->sink->tty || s->partial.length <= s->shown)
			continue;
		leave_open_line(console, s->sink, s);
		if (s->shown == 0)
			tag_add(console, s);
		sink_add(console, s->sink, s->partial.text + s->shown,
			 s->partial.length - s->shown);
		s->shown = s->partial.length;
		s->sink->open = s;
	}
}
