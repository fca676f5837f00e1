/* SPDX-License-Identifier: MIT */
/*
 * The output of the ranks: read from pipes, appended to their log files, and shown in the way that
 * the launch asks for. If the console is slow, reading pauses, so memory is bounded. If the console
 * is gone or a log cannot be written, that is reported once and then ignored.
 */
#ifndef GM_CONSOLE_H
#define GM_CONSOLE_H

#include "guard.h"
#include "strbuf.h"

enum {
	READ_SIZE = 128 << 10,
	READ_SMALL =
		4 << 10,     /* when lines are collapsed, ranks are read in turn, in small pieces */
	MAX_LINE = 64 << 10, /* a longer line is shown as several lines */
	TAIL_SIZE = 4 << 10, /* bytes of last lines that are kept for the summary */
	TAIL_LINES = 10,
	SINK_HIGH = 1 << 20, /* if more is pending, nothing is read */
	/* the wait for the same line of other ranks, and for the end of an update */
	WAIT_MS = 100
};

struct stream;

/* Where the console goes: standard output or standard error. */
struct sink {
	int fd;
	bool own;     /* fd is a separate open file, which cannot block */
	bool guarded; /* writing can block, so poll before each small write */
	bool socket, tty, closed, waits;
	const char *name;
	struct strbuf pending;
	size_t start;        /* of what is not yet written of it */
	struct stream *open; /* the stream whose unfinished update was written last */
};

struct log {
	int fd; /* -1: none */
	const char *path;
	bool shared; /* several streams write here, so only whole lines are written */
	uint64_t lost;
};

struct stream {
	int fd, writer; /* -1: closed, or the rank writes to where the caller does */
	size_t index;   /* of its rank */
	bool err, updates, hidden;
	struct sink *sink;
	struct log log;
	const char *tag;
	size_t tag_length;
	char number[20];
	struct strbuf partial; /* the text after the last whole line */
	size_t shown;          /* of it, on a terminal */
	struct strbuf tail;
	bool tail_cut;
	uint64_t last; /* held line */
};

/* A line that other ranks may be about to write too. */
struct held {
	struct held *next, *chain, **chain_link; /* chain: the same bucket, the newest first */
	struct sink *sink;
	uint64_t sequence;
	int64_t deadline;
	uint64_t hash;
	size_t ranks, length, by; /* by: index of the first rank */
	char *text;
	uint64_t set[]; /* of ranks' indices */
};

enum { HELD_BUCKETS = 4096, HELD_LINES = 65536, HELD_BYTES = 4 << 20, HELD_LOOKS = 128 };

struct collapse {
	struct held *head, **end;
	struct held **buckets; /* NULL unless lines are collapsed */
	uint64_t sequence;
	size_t lines, bytes;
};

struct console {
	const struct launch *launch;
	gpumap_report *report;
	int epoll, streams_epoll, timer;
	bool paused, armed, log_reported;
	struct sink sinks[2];
	size_t sink_count;
	struct stream *streams; /* output and errors of each rank */
	size_t count, open[2];  /* open[err]: streams that may still write */
	struct collapse collapse;
	char *buffer;
};

/* Adds a descriptor for input. False with errno, also for -1. */
bool epoll_add(int epoll, int fd, void *what);

/* GPUMAP_OK, GPUMAP_EFILE (a log), GPUMAP_ENOMEM. */
int console_open(struct console *console, const struct launch *launch, gpumap_report *report);
void console_close(struct console *console);
/* The number of file descriptors that it needs. */
size_t console_files(const struct launch *launch);

/* New pipes, their write ends in the streams. False: errno has the reason. */
bool console_connect(struct console *console);
void console_close_writers(struct console *console);
/* Reads and writes as much as possible without waiting; call it when console->epoll is readable. */
void console_read(struct console *console);
/* Reads the rest of the output of rank `index`, which has ended. */
void console_rank_ended(struct console *console, size_t index);
/* Call it when all ranks and their children are gone: reads the rest and closes the pipes. False:
 * the console is too slow; call it again when console->epoll is readable. */
bool console_disconnect(struct console *console);
/* Writes as much as possible without waiting. True: nothing is pending. */
bool console_flush(struct console *console);
/* Writes a line of the launcher to standard error. */
void console_note(struct console *console, const char *format, ...) PRINTF(2, 3);
/* The last lines of a rank; the caller frees them. NULL: none, or no memory. */
char *console_last_lines(const struct console *console, size_t index);

/* --- the parts ------------------------------------------------------------------ */

void sink_open(struct sink *sink, int fd, const char *name);
void sink_add(struct console *console, struct sink *sink, const char *text, size_t length);
void sink_write(struct console *console, struct sink *sink);
/* How many bytes are to be written. */
size_t sink_pending(const struct sink *sink);
/* Drops them, and takes no more. */
void sink_drop(struct sink *sink);
void sink_close(struct sink *sink);

/* Opens the log file, if its path is not NULL. */
int log_open(struct console *console, struct log *log);
void log_write(struct console *console, struct log *log, const char *text, size_t length);
void tail_keep(struct stream *stream, const char *text, size_t length);

/* On a terminal the line of a sink may have nothing but another stream's update, which is removed.
 */
void leave_open_line(struct console *console, struct sink *sink, const struct stream *stream);
/* The tag of a rank's lines: the rank's own, or "[RANK] ". */
void tag_make(struct stream *stream, const struct launch_rank *rank);
void tag_add(struct console *console, const struct stream *stream);
/* "[0-3,5] ": consecutive ranks are joined, in the order of the launch. */
void tag_add_ranks(struct console *console, const struct held *h);
bool held_has(const struct held *h, size_t index);
/* Shows a piece with its line end, for the modes that show lines. */
void line_show(struct console *console, struct stream *stream, const char *text, size_t length);

/* Takes `length` bytes, of which the last `fresh` are new. Returns how many were used. */
size_t lines_take(struct console *console, struct stream *stream, const char *text, size_t length);
/* Shows text without a line end: the last text of a stream, or an update on a terminal. */
void lines_finish(struct console *console, struct stream *stream);
void lines_show_updates(struct console *console);
void console_arm(struct console *console, int64_t ns);

void collapse_line(struct console *console, struct stream *stream, const char *text, size_t length);
/* Shows the lines that have waited long enough at `now`. */
void collapse_flush(struct console *console, int64_t now);

#endif
