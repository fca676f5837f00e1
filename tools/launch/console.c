/* SPDX-License-Identifier: MIT */
/* See console.h. */
#include "console.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "closing.h"

enum { PIPE_BUDGET = 16 << 20, PIPE_MIN = 64 << 10, PIPE_MAX = 1 << 20, BATCH = 64 };

static bool is_logged(const struct launch *launch, size_t index)
{
	return launch->ranks[index].out_path || launch->ranks[index].err_path;
}

static bool is_piped(const struct launch *launch, size_t index)
{
	return launch->console != LAUNCH_RAW || is_logged(launch, index);
}

size_t console_files(const struct launch *launch)
{
	size_t files = 64;

	for (size_t i = 0; i < launch->count; i++)
		files += (is_piped(launch, i) ? 4 : 0) + (launch->ranks[i].out_path != NULL) +
			 (launch->ranks[i].err_path != NULL);
	for (const int *fd = launch->held; fd && *fd >= 0; fd++)
		files++;
	return files;
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* With 2>&1 both streams share one sink: two would mix up their lines. */
static void open_sinks(struct console *console)
{
	bool one = same_file(STDOUT_FILENO, STDERR_FILENO);

	sink_open(&console->sinks[0], STDOUT_FILENO, "standard output");
	console->sink_count = 1;
	if (!one) {
		sink_open(&console->sinks[1], STDERR_FILENO, "standard error");
		console->sink_count = 2;
	}
}

static int by_path(const void *a, const void *b)
{
	const struct log *const *x = a, *const *y = b;

	return strcmp((*x)->path ? (*x)->path : "", (*y)->path ? (*y)->path : "");
}

/* Only whole lines go into a file that several streams write to. */
static int open_logs(struct console *console)
{
	CLEANUP_FREE struct log **sorted = calloc(console->count, sizeof(struct log *));
	int r = sorted ? GPUMAP_OK : report_nomem(console->report);

	for (size_t i = 0; r == GPUMAP_OK && i < console->count; i++) {
		sorted[i] = &console->streams[i].log;
		r = log_open(console, sorted[i]);
	}
	if (r != GPUMAP_OK)
		return r;
	qsort(sorted, console->count, sizeof(*sorted), by_path);
	for (size_t i = 1; i < console->count; i++)
		if (sorted[i]->path && text_same(sorted[i]->path, sorted[i - 1]->path))
			sorted[i]->shared = sorted[i - 1]->shared = true;
	return GPUMAP_OK;
}

static void init_streams(struct console *console)
{
	for (size_t i = 0; console->streams && i < console->count; i++) {
		const struct launch_rank *rank = &console->launch->ranks[i / 2];
		struct stream *s = &console->streams[i];

		*s = (struct stream){
			.fd = -1,
			.writer = -1,
			.index = i / 2,
			.err = i % 2,
			.hidden = i % 2 ? rank->err_hidden : rank->out_hidden,
			.sink = &console->sinks[(i % 2) % console->sink_count],
			.log = {.fd = -1, .path = i % 2 ? rank->err_path : rank->out_path}};
		tag_make(s, rank);
	}
}

bool epoll_add(int epoll, int fd, void *what)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};

	return fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool open_polls(struct console *console)
{
	console->epoll = epoll_create1(EPOLL_CLOEXEC);
	console->streams_epoll = epoll_create1(EPOLL_CLOEXEC);
	console->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return console->epoll >= 0 &&
	       epoll_add(console->epoll, console->streams_epoll, &console->streams_epoll) &&
	       epoll_add(console->epoll, console->timer, &console->timer);
}

int console_open(struct console *console, const struct launch *launch, gpumap_report *report)
{
	int r;

	*console = (struct console){.launch = launch,
				    .report = report,
				    .epoll = -1,
				    .streams_epoll = -1,
				    .timer = -1,
				    .count = 2 * launch->count};
	console->collapse.end = &console->collapse.head;
	open_sinks(console);
	console->streams = calloc(console->count, sizeof(*console->streams));
	init_streams(console);
	console->buffer = malloc(MAX_LINE + READ_SIZE);
	if (launch->console == LAUNCH_COLLAPSE) {
		console->collapse.buckets = calloc(HELD_BUCKETS, sizeof(struct held *));
		if (!console->collapse.buckets)
			return report_nomem(report);
	}
	if (!console->streams || !console->buffer)
		return report_nomem(report);
	r = open_logs(console);
	if (r == GPUMAP_OK && !open_polls(console))
		return report_fail(report, GPUMAP_EFILE, FINDING_LAUNCH, NULL,
				   "cannot watch the ranks' output: %s", strerror(errno));
	return r;
}

void console_close(struct console *console)
{
	for (size_t i = 0; console->streams && i < console->count; i++) {
		close_variable(&console->streams[i].fd);
		close_variable(&console->streams[i].writer);
		close_variable(&console->streams[i].log.fd);
		strbuf_free(&console->streams[i].partial);
		strbuf_free(&console->streams[i].tail);
	}
	while (console->collapse.head) {
		struct held *h = console->collapse.head;

		console->collapse.head = h->next;
		free(h);
	}
	for (size_t i = 0; i < console->sink_count; i++)
		sink_close(&console->sinks[i]);
	close_variable(&console->epoll);
	close_variable(&console->streams_epoll);
	close_variable(&console->timer);
	free(console->collapse.buckets);
	free(console->streams);
	free(console->buffer);
	*console = (struct console){.epoll = -1, .streams_epoll = -1, .timer = -1};
}

static int pipe_size(size_t streams)
{
	size_t size = PIPE_MAX;

	while (size > PIPE_MIN && size * streams > PIPE_BUDGET)
		size /= 2;
	return (int)size;
}

/* Only the read ends are non-blocking; the ranks' own writes must block. */
static bool connect_stream(struct console *console, struct stream *stream)
{
	int ends[2], size = pipe_size(console->count);

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	stream->fd = ends[0];
	stream->writer = ends[1];
	stream->tail.length = 0;
	stream->tail_cut = false;
	stream->last = 0;
	console->open[stream->err]++;
	if (size > PIPE_MIN)
		fcntl(ends[0], F_SETPIPE_SZ, size);
	return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 &&
	       epoll_add(console->streams_epoll, stream->fd, stream);
}

bool console_connect(struct console *console)
{
	for (size_t i = 0; i < console->count; i++)
		if (is_piped(console->launch, i / 2) &&
		    !connect_stream(console, &console->streams[i]))
			return false;
	return true;
}

void console_close_writers(struct console *console)
{
	for (size_t i = 0; i < console->count; i++)
		close_variable(&console->streams[i].writer);
}

void console_arm(struct console *console, int64_t ns)
{
	struct itimerspec at = {.it_value = {ns / 1000000000, ns % 1000000000}};

	if (console->armed || ns <= 0)
		return;
	console->armed = timerfd_settime(console->timer, TFD_TIMER_ABSTIME, &at, NULL) == 0;
}
