/* SPDX-License-Identifier: MIT */
/* Reads the output of the ranks, and does with it what `console` says. */
#include "console.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "closing.h"
#include "strbuf.h"
#include "style.h"

enum { BATCH = 64, MAX_READS = 64 };

static size_t whole_lines(const char *text, size_t length)
{
	const char *end = memrchr(text, '\n', length);

	if (!end)
		end = memrchr(text, '\r', length);
	return end ? (size_t)(end - text) + 1 : length >= MAX_LINE ? length : 0;
}

static enum launch_console mode_of(const struct console *console, const struct stream *stream)
{
	return stream->hidden ? LAUNCH_NONE : console->launch->console;
}

/* `text` begins with the stream's unfinished line. */
static void take(struct console *console, struct stream *stream, const char *text, size_t length)
{
	enum launch_console mode = mode_of(console, stream);
	size_t old = stream->partial.length, used = length;
	const char *fresh = text + old;
	bool shared = stream->log.shared && stream->log.fd >= 0;

	tail_keep(stream, fresh, length - old);
	if (!shared)
		log_write(console, &stream->log, fresh, length - old);
	if (mode == LAUNCH_PREFIX || mode == LAUNCH_COLLAPSE)
		used = lines_take(console, stream, text, length);
	else if (shared)
		used = whole_lines(text, length);
	if (shared)
		log_write(console, &stream->log, text, used);
	if (mode == LAUNCH_RAW ||
	    (mode == LAUNCH_RANK0 && console->launch->ranks[stream->index].rank == 0))
		sink_add(console, stream->sink, fresh, length - old);
	stream->partial.length = 0;
	strbuf_add(&stream->partial, text + used, length - used);
	if (stream->partial.failed)
		report_nomem(console->report);
	stream->partial.failed = false;
}

static void end_stream(struct console *console, struct stream *stream)
{
	enum launch_console mode = mode_of(console, stream);

	if (stream->fd < 0)
		return;
	epoll_ctl(console->streams_epoll, EPOLL_CTL_DEL, stream->fd, NULL);
	close_variable(&stream->fd);
	if (stream->partial.length && stream->log.shared) {
		log_write(console, &stream->log, stream->partial.text, stream->partial.length);
		log_write(console, &stream->log, "\n", 1);
	}
	if (mode == LAUNCH_PREFIX || mode == LAUNCH_COLLAPSE)
		lines_finish(console, stream);
	stream->partial.length = 0;
	console->open[stream->err]--;
	collapse_flush(console, 0);
}

/* Reads one piece. False: there is nothing more now. */
static bool read_stream(struct console *console, struct stream *stream)
{
	size_t size = console->launch->console == LAUNCH_COLLAPSE ? READ_SMALL : READ_SIZE;
	size_t old = stream->partial.length;
	ssize_t n;

	if (stream->fd < 0)
		return false;
	memcpy(console->buffer, stream->partial.text ? stream->partial.text : "", old);
	n = read(stream->fd, console->buffer + old, size);
	if (n > 0) {
		take(console, stream, console->buffer, old + (size_t)n);
		return true;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		end_stream(console, stream);
	return false;
}

static bool is_full(const struct console *console)
{
	for (size_t i = 0; i < console->sink_count; i++)
		if (sink_pending(&console->sinks[i]) > SINK_HIGH)
			return true;
	return false;
}

/* Stops reading, which slows down ranks that write more than the console takes. */
static void pause_reading(struct console *console, bool pause)
{
	struct epoll_event event = {.events = pause ? 0 : EPOLLIN,
				    .data.ptr = &console->streams_epoll};

	if (pause == console->paused)
		return;
	console->paused = pause;
	epoll_ctl(console->epoll, EPOLL_CTL_MOD, console->streams_epoll, &event);
}

bool console_flush(struct console *console)
{
	bool done = true;

	for (size_t i = 0; i < console->sink_count; i++) {
		sink_write(console, &console->sinks[i]);
		done = done && !sink_pending(&console->sinks[i]);
	}
	pause_reading(console, is_full(console));
	return done;
}

static void read_batch(struct console *console)
{
	struct epoll_event events[BATCH];
	int n = epoll_wait(console->streams_epoll, events, BATCH, 0);

	for (int i = 0; i < n; i++) {
		struct stream *stream = events[i].data.ptr;

		read_stream(console, stream);
		if (sink_pending(stream->sink) > SINK_HIGH / 2 && !stream->sink->waits)
			sink_write(console, stream->sink);
		if (is_full(console))
			break; /* level-triggered: the rest is reported again */
	}
}

static void timer_rang(struct console *console)
{
	uint64_t times;

	if (read(console->timer, &times, sizeof(times)) < 0)
		return;
	console->armed = false;
	collapse_flush(console, now_ns());
	lines_show_updates(console);
}

void console_read(struct console *console)
{
	struct epoll_event events[8];
	int n = epoll_wait(console->epoll, events, 8, 0);

	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == &console->streams_epoll)
			read_batch(console);
		else if (events[i].data.ptr == &console->timer)
			timer_rang(console);
	}
	console_flush(console);
}

/* Reads at most the size of a pipe, because a grandchild may write forever. */
void console_rank_ended(struct console *console, size_t index)
{
	for (size_t i = 2 * index; i < 2 * index + 2; i++)
		for (int n = 0; n < MAX_READS && !is_full(console); n++)
			if (!read_stream(console, &console->streams[i]))
				break;
}

/* No process can write any more, unless it got a descriptor from a rank; so this does not wait for
 * the end of a pipe. */
bool console_disconnect(struct console *console)
{
	for (size_t i = 0; i < console->count; i++) {
		struct stream *stream = &console->streams[i];

		while (stream->fd >= 0 && read_stream(console, stream)) {
			console_flush(console);
			if (console->paused)
				return false;
		}
		end_stream(console, stream);
	}
	collapse_flush(console, INT64_MAX);
	console_flush(console);
	return true;
}

void console_note(struct console *console, const char *format, ...)
{
	struct sink *sink = &console->sinks[console->sink_count - 1];
	CLEANUP(strbuf_free) struct strbuf buf = {0};
	char fresh[FRESH_LINE];
	va_list args;

	strbuf_puts(&buf, launch_fresh_line(fresh, console->launch, sink->fd));
	strbuf_printf(&buf, "%sgpumap: %s", style_code(console->launch->styled, STYLE_WARNING),
		      style_code(console->launch->styled, STYLE_PLAIN));
	va_start(args, format);
	strbuf_vprintf(&buf, format, args);
	va_end(args);
	strbuf_puts(&buf, "\n");
	if (sink->open) {
		sink->open->shown = 0;
		sink->open = NULL;
		sink_add(console, sink, "\n", 1);
	}
	if (!buf.failed)
		sink_add(console, sink, buf.text, buf.length);
	sink_write(console, sink);
}
