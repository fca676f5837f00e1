/* SPDX-License-Identifier: MIT */
/* The log files of the ranks, and their last lines for the summary. */
#include "console.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "closing.h"
#include "launch.h"
#include "trust.h"
#include "write_all.h"

int log_check_links(const char *path, const char *origin, gpumap_report *report)
{
	size_t link = planted_link(path);

	if (!link)
		return GPUMAP_OK;
	return report_fail(
		report, GPUMAP_EFILE, FINDING_LOG_OPEN,
		ABOUT(.origin = origin, .fix = "name a folder that only you may write to"),
		"logs would follow '%s', a link of another user",
		QUOTE(((struct span){path, link})));
}

/* A pipe could stop the launcher. */
static bool is_log(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISCHR(st.st_mode)) &&
	       fcntl(fd, F_SETFL, O_APPEND) == 0;
}

int log_open(struct console *console, struct log *log)
{
	const char *path = log->path;
	bool no_file;

	if (!path)
		return GPUMAP_OK;
	if (log_check_links(path, path, console->report) != GPUMAP_OK)
		return GPUMAP_EFILE;
	log->fd =
		open_unplanted(path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_NONBLOCK, false);
	if (log->fd >= 0 && is_log(log->fd))
		return GPUMAP_OK;
	no_file = log->fd >= 0 || errno == ENXIO;
	close_variable(&log->fd);
	return report_fail(console->report, GPUMAP_EFILE, FINDING_LOG_OPEN,
			   ABOUT(.origin = path,
				 .fix = no_file           ? "remove it, or name another folder"
					: errno == ENOENT ? "make its folder, or name another one"
							  : "name a folder that you may write to"),
			   "cannot write the log '%s': %s", QUOTE(span_of(path)),
			   no_file ? "it is not a regular file" : strerror(errno));
}

/* Marks a gap in its place, as soon as there is room again. */
static bool mark_gap(struct log *log)
{
	char mark[80];
	int n = snprintf(mark, sizeof(mark), "\n[%llu bytes could not be written here]\n",
			 (unsigned long long)log->lost);

	if (write(log->fd, mark, (size_t)n) != n)
		return false;
	log->lost = 0;
	return true;
}

void log_write(struct console *console, struct log *log, const char *text, size_t length)
{
	if (log->fd < 0)
		return;
	if (log->lost == 0 || mark_gap(log))
		length -= write_all(log->fd, text, length);
	if (length == 0)
		return;
	log->lost += length;
	if (console->log_reported)
		return;
	console->log_reported = true;
	report_add(
		console->report, FINDING_LOG_LOST,
		ABOUT(.origin = log->path, .fix = "make room; the ranks keep running without it"),
		"a log is not complete: %s", strerror(errno));
}

void tail_keep(struct stream *stream, const char *text, size_t length)
{
	struct strbuf *tail = &stream->tail;
	size_t kept = length < TAIL_SIZE ? TAIL_SIZE - length : 0;

	if (tail->length > kept) {
		memmove(tail->text, tail->text + tail->length - kept, kept);
		tail->length = kept;
		stream->tail_cut = true;
	}
	if (length > TAIL_SIZE) {
		text += length - TAIL_SIZE;
		length = TAIL_SIZE;
		stream->tail_cut = true;
	}
	strbuf_add(tail, text, length);
	tail->failed = false;
}

/* Copies a line; of one with updates, only the last update. */
static size_t copy_line(char *ret, const char *text, size_t length)
{
	size_t start = 0, n = 0;

	while (length > 0 && text[length - 1] == '\r')
		length--;
	for (size_t i = 0; i < length; i++)
		if (text[i] == '\r')
			start = i + 1;
	for (size_t i = start; i < length; i++)
		ret[n++] = (unsigned char)text[i] < ' ' && text[i] != '\t' ? ' ' : text[i];
	ret[n++] = '\n';
	return n;
}

/* The start of the last TAIL_LINES lines. */
static size_t last_start(const char *tail, size_t length, bool cut)
{
	size_t i = length, lines = 0;

	if (i > 0 && tail[i - 1] == '\n')
		i--;
	for (; i > 0; i--)
		if (tail[i - 1] == '\n' && ++lines == TAIL_LINES)
			return i;
	if (cut) {
		const char *end = memchr(tail, '\n', length);

		if (end && end + 1 < tail + length)
			return (size_t)(end + 1 - tail);
	}
	return 0;
}

/* The last lines of a text whose start may be cut off. NULL: none, or no memory. */
static char *last_lines(const char *tail, size_t length, bool cut)
{
	char *ret = length ? malloc(length + 2) : NULL;
	size_t n = 0;

	if (!ret)
		return NULL;
	for (size_t i = last_start(tail, length, cut); i < length;) {
		const char *end = memchr(tail + i, '\n', length - i);
		size_t line = end ? (size_t)(end - tail) - i : length - i;

		n += copy_line(ret + n, tail + i, line);
		i += line + 1;
	}
	ret[n] = '\0';
	return ret;
}

char *console_last_lines(const struct console *console, size_t index)
{
	const struct stream *out, *err, *stream;

	if (!console->streams)
		return NULL;
	out = &console->streams[2 * index];
	err = &console->streams[2 * index + 1];
	stream = err->tail.length ? err : out;
	return last_lines(stream->tail.text, stream->tail.length, stream->tail_cut);
}

static bool is_after(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

char *log_last_lines(const char *path, const struct timespec *from, const struct timespec *until)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char tail[TAIL_SIZE];
	struct stat st;
	ssize_t n = -1;
	off_t start = 0;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !is_after(from, &st.st_mtim) &&
	    !is_after(&st.st_mtim, until)) {
		start = st.st_size > TAIL_SIZE ? st.st_size - TAIL_SIZE : 0;
		n = pread(fd, tail, sizeof(tail), start);
	}
	return n > 0 ? last_lines(tail, (size_t)n, start > 0) : NULL;
}
