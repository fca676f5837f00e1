/* SPDX-License-Identifier: MIT */
/* Writes to standard output and standard error without ever waiting for them. */
#include "console.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process_path.h"

/* O_NONBLOCK would apply to the open file, which the shell shares; therefore open it again. */
void sink_open(struct sink *sink, int fd, const char *name)
{
	struct stat st;
	int again = -1;

	*sink = (struct sink){.fd = fd, .name = name};
	if (fstat(fd, &st) < 0) {
		sink->closed = true;
		return;
	}
	sink->tty = isatty(fd);
	sink->socket = S_ISSOCK(st.st_mode);
	if (!S_ISFIFO(st.st_mode) && !sink->tty)
		return;
	again = open(PROCESS_PATH(PROCESS_SELF, "fd/%d", fd),
		     O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	sink->guarded = again < 0;
	if (again >= 0) {
		sink->fd = again;
		sink->own = true;
	}
}

void sink_close(struct sink *sink)
{
	if (sink->own)
		close(sink->fd);
	strbuf_free(&sink->pending);
	*sink = (struct sink){.fd = -1, .closed = true};
}

size_t sink_pending(const struct sink *sink)
{
	return sink->pending.length - sink->start;
}

void sink_drop(struct sink *sink)
{
	sink->closed = true;
	sink->start = sink->pending.length = 0;
}

static ssize_t push(const struct sink *sink, const char *text, size_t length)
{
	if (sink->socket)
		return send(sink->fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sink->guarded) {
		struct pollfd ready = {sink->fd, POLLOUT, 0};

		/* A pipe that is ready accepts this much at once. */
		if (poll(&ready, 1, 0) <= 0) {
			errno = EAGAIN;
			return -1;
		}
		length = length < 4096 ? length : 4096;
	}
	return write(sink->fd, text, length);
}

static void lose(struct console *console, struct sink *sink)
{
	sink_drop(sink);
	report_add(console->report, FINDING_CONSOLE_LOST, ABOUT(.origin = sink->name),
		   "the output of the ranks can no longer be shown: %s", strerror(errno));
}

/* Waits for EPOLLOUT while something is pending. */
static void watch(struct console *console, struct sink *sink, bool wait)
{
	struct epoll_event event = {.events = EPOLLOUT, .data.ptr = sink};

	if (wait == sink->waits)
		return;
	sink->waits = wait;
	epoll_ctl(console->epoll, wait ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, sink->fd, &event);
}

void sink_write(struct console *console, struct sink *sink)
{
	while (sink_pending(sink) > 0) {
		ssize_t n = push(sink, sink->pending.text + sink->start, sink_pending(sink));

		if (n >= 0)
			sink->start += (size_t)n;
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			lose(console, sink);
	}
	if (!sink_pending(sink))
		sink->start = sink->pending.length = 0;
	watch(console, sink, sink_pending(sink) > 0);
}

void sink_add(struct console *console, struct sink *sink, const char *text, size_t length)
{
	struct strbuf *pending = &sink->pending;
	struct pollfd ready = {sink->fd, POLLOUT, 0};

	if (sink->closed)
		return;
	if (sink->start && pending->length + length >= pending->room) {
		pending->length = sink_pending(sink);
		memmove(pending->text, pending->text + sink->start, pending->length);
		sink->start = 0;
	}
	strbuf_add(pending, text, length);
	if (!pending->failed)
		return;
	/* Without memory, writes as fast as the console takes it. */
	pending->failed = false;
	while (sink_pending(sink) > 0 && !sink->closed && poll(&ready, 1, -1) > 0)
		sink_write(console, sink);
	while (length > 0 && !sink->closed && poll(&ready, 1, -1) > 0) {
		ssize_t n = push(sink, text, length);

		if (n < 0 && errno != EAGAIN)
			lose(console, sink);
		text += n > 0 ? n : 0;
		length -= n > 0 ? (size_t)n : 0;
	}
}

/* On an empty line all blanks but one fit; on any other line they wrap to the next. */
const char *launch_fresh_line(char text[FRESH_LINE], const struct launch *launch, int fd)
{
	struct winsize size = {.ws_col = 0};

	*text = '\0';
	if (launch->console != LAUNCH_RAW || !isatty(fd))
		return text;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 && size.ws_col < FRESH_LINE)
		snprintf(text, FRESH_LINE, "%*s\r", size.ws_col - 1, "");
	else
		memcpy(text, "\n", 2);
	return text;
}
