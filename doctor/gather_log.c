/* SPDX-License-Identifier: MIT */
/*
 * What the driver wrote into the kernel's log: Xid events and failures. The log of a recorded
 * machine is the output of dmesg in /var/log/dmesg.
 */
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "closing.h"
#include "container.h"
#include "gather.h"
#include "strbuf.h"
#include "text/pci.h"

enum { MAX_XID = 256, RECORD = 8192, MAX_LOG = 1 << 26, DAY = 24 * 60 * 60 };

struct log {
	struct facts *facts;
	int64_t now; /* seconds since the start of the machine; -1: not known */
	unsigned int xids[MAX_XID];
	const char *failure;
	bool probing; /* the failure is of a load whose end was not seen yet */
};

/* Xids that mostly come from a program, by NVIDIA's catalogue of Xid errors: an illegal access, an
 * illegal instruction, and channels that were ended after it. */
static bool of_program(unsigned int xid)
{
	return xid == 13 || xid == 31 || xid == 43 || xid == 45 || xid == 68 || xid == 69;
}

/* The text after `part` in a line; NULL: the line does not have it. */
static const char *after(struct span line, const char *part)
{
	const char *found = span_find(line, part);

	return found ? found + strlen(part) : NULL;
}

/* When a line was written, in seconds since the start of the machine: "6,339,5140900,-;TEXT" of
 * /dev/kmsg has microseconds, "[ 5140.900000] TEXT" of dmesg seconds. -1: it does not show it. */
static int64_t line_time(struct span line)
{
	struct span field = {NULL, 0};
	int64_t number;

	if (line.length && *line.text == '[') {
		line = span_trim(span_from(line, line.text + 1));
		return span_split(&line, '.', &field) && line.text ? span_number(field, INT64_MAX)
								   : -1;
	}
	for (int i = 0; i < 3; i++)
		if (!line.text || !span_split(&line, ',', &field) ||
		    span_number(field, INT64_MAX) < 0)
			return -1;
	number = line.text ? span_number(field, INT64_MAX) : -1;
	return number < 0 ? -1 : number / 1000000;
}

static bool is_recent(const struct log *log, struct span line)
{
	int64_t time = line_time(line);

	return time < 0 || log->now < 0 || log->now - time <= DAY;
}

/* Whether an address, "PCI:0000:05:00" or "PCI:0000:05:00 GPU-I:05", is of a GPU that this process
 * uses, or of one that is no longer on the bus. */
static bool is_ours(const struct log *log, struct span address)
{
	struct span name;
	char pci[20];

	span_skip(&address, "PCI:");
	span_split(&address, ' ', &name);
	if (!pci_normalise(
		    span_of(FORMAT("%.*s.0", name.length < 30 ? (int)name.length : 30, name.text)),
		    pci))
		return true;
	for (size_t i = 0; i < log->facts->pci_count; i++)
		if (streq(log->facts->pci[i].address, pci))
			return log->facts->pci[i].used;
	return true;
}

/* "PCI:0000:05:00): 79, pid=..." Xid 154 to 0x0 states that a GPU has recovered. */
static void take_xid(struct log *log, struct span line, struct span rest)
{
	const char *end = span_find(rest, "): ");
	struct span number;
	int64_t xid;

	if (!end)
		return;
	number = span_from(rest, end + 3);
	xid = span_number((struct span){number.text, span_digits(number)}, MAX_XID - 1);
	if (xid >= 0 && !after(number, "to 0x0 (None)") && is_recent(log, line) &&
	    is_ours(log, span_to(rest, end)))
		log->xids[xid]++;
}

/* The driver tries all GPUs first. After it, it prints that it is loaded, or that no GPU works.
 * What was before it was loaded again is over. */
static void end_load(struct log *log, bool loaded)
{
	if (loaded)
		memset(log->xids, 0, sizeof(log->xids));
	if (loaded && !log->probing)
		log->failure = NULL;
	log->probing = false;
}

static void take_failure(struct log *log, struct span message, const char *text)
{
	static const struct {
		const char *phrase;
		bool probe;
	} failures[] = {
		{"fallen off the bus and is", true},   {"is not supported by", true},
		{"not supported by the NVIDIA", true}, {"probe routine failed", true},
		{"RmInitAdapter failed", false},       {"rm_init_adapter failed", false},
		{"fallen off the bus", false},
	};
	size_t length = message.length - (size_t)(text - message.text), i = 0;

	while (i < ARRAY_SIZE(failures) && !after(message, failures[i].phrase))
		i++;
	/* The first one is kept, except one from before this load. */
	if (i == ARRAY_SIZE(failures) || (log->failure && (log->probing || !failures[i].probe)))
		return;
	log->failure = arena_strndup(&log->facts->arena, text, length > 160 ? 160 : length);
	log->probing = failures[i].probe;
}

/* "NVRM: Xid (PCI:0000:05:00): 79, pid=..."; `line` is the one that shows its time. */
static void take_message(struct log *log, struct span line, struct span message)
{
	const char *xid = after(message, "NVRM: Xid ("), *text = after(message, "NVRM: ");

	if (xid)
		take_xid(log, line, span_from(message, xid));
	else if (!text)
		return;
	else if (after(message, "NVRM: loading NVIDIA"))
		end_load(log, true);
	else if (after(message, "None of the NVIDIA") ||
		 after(message, "No NVIDIA graphics adapter probed"))
		end_load(log, false);
	else
		take_failure(log, message, text);
}

/* /dev/kmsg writes the end of a line as \x0a. */
static void take_line(struct log *log, struct span line)
{
	struct span rest = line;
	const char *next;

	while ((next = after(rest, "\\x0a"))) {
		take_message(log, line, span_to(rest, next - strlen("\\x0a")));
		rest = span_from(rest, next);
	}
	take_message(log, line, rest);
}

static void take_text(struct log *log, const char *text)
{
	struct span rest = span_of(text), line;

	while (span_split(&rest, '\n', &line))
		take_line(log, span_trim(line));
}

/* Each read of /dev/kmsg gives one record: "6,339,5140900,-;NVRM: ...". 0 or an errno. */
static int read_kernel(struct log *log)
{
	char record[RECORD + 1];
	int fd = root_open("", "/dev/kmsg", O_RDONLY), error = 0;
	ssize_t n;

	if (fd < 0)
		return errno;
	for (size_t total = 0; !error && total < MAX_LOG;) {
		n = read(fd, record, RECORD);
		if (n > 0) {
			record[n] = '\0';
			total += (size_t)n;
			take_text(log, record);
		} else if (n == 0 || (errno != EPIPE && errno != EINTR)) {
			/* EPIPE: records were overwritten while they were read. */
			error = n == 0 || errno == EAGAIN ? -1 : errno;
		}
	}
	close(fd);
	return error < 0 ? 0 : error;
}

static struct fact list_xids(struct log *log, bool of_programs)
{
	struct strbuf text = {0};

	for (unsigned int i = 0; i < MAX_XID; i++)
		if (log->xids[i] && of_program(i) == of_programs)
			strbuf_printf(&text, "%s%u (%u time%s)", text.length ? ", " : "", i,
				      log->xids[i], log->xids[i] == 1 ? "" : "s");
	return text.length ? fact_text(strbuf_keep(&text, &log->facts->arena)) : fact_absent();
}

/* How long the machine runs. The kernel stamps its log with a clock that stops in suspend. */
static int64_t seconds_up(struct facts *facts)
{
	struct timespec t;
	struct fact file;
	struct span rest, word;

	if (!*facts->root)
		return clock_gettime(CLOCK_MONOTONIC, &t) == 0 ? (int64_t)t.tv_sec : -1;
	file = fact_file(facts, 64, "/proc/uptime");
	if (file.sight != SEEN)
		return -1;
	rest = span_of(file.text);
	span_split(&rest, '.', &word);
	return span_number(word, INT64_MAX);
}

/* The process of the fabric manager. The kernel cuts names of processes after 15 characters. */
static void find_fabric_manager(struct facts *facts)
{
	CLEANUP_FOLDER
	DIR *folder = facts->switches ? root_folder(facts->root, "/proc") : NULL;
	struct fact first = fact_file(facts, 64, "/proc/1/comm");
	struct dirent *entry;

	facts->fabric_manager = fact_absent();
	/* As with the mount option hidepid, or in a recorded machine. */
	if (first.sight != SEEN)
		facts->fabric_manager = fact_unseen("the processes of others are not visible");
	if (facts->container.sight == SEEN || (!*facts->root && container_hides_processes()))
		facts->fabric_manager = fact_unseen("the host's processes are not visible in a "
						    "container or PID namespace");
	while (folder && (entry = readdir(folder))) {
		struct fact name;

		if (!is_digit(*entry->d_name))
			continue;
		name = fact_file(facts, 64, "/proc/%s/comm", entry->d_name);
		if (name.sight == SEEN && starts_with(name.text, "nv-fabricmanage")) {
			facts->fabric_manager = fact_number(strtol(entry->d_name, NULL, 10));
			break;
		}
	}
}

void gather_log(struct facts *facts)
{
	struct log log = {.facts = facts};
	struct fact file = {0};
	int error = 0;

	find_fabric_manager(facts);
	log.now = seconds_up(facts);
	/* Without a GPU the log has nothing of the driver, and reading it takes longest. */
	if (!facts->pci_count && !facts->gpu_count && !facts->listed_gpus)
		return;
	if (*facts->root) {
		file = fact_file(facts, MAX_LOG, "/var/log/dmesg");
		if (file.sight == SEEN)
			take_text(&log, file.text);
		else if (file.sight == ABSENT)
			file = fact_unseen("--root has no /var/log/dmesg");
	} else {
		error = read_kernel(&log);
		file = error ? fact_error(facts, error) : fact_number(0);
		if (file.sight == ABSENT)
			file = fact_unseen("there is no /dev/kmsg");
	}
	if (file.sight != SEEN) {
		facts->xid = facts->xid_program = facts->init_failed = file;
		return;
	}
	facts->xid = list_xids(&log, false);
	facts->xid_program = list_xids(&log, true);
	facts->init_failed = log.failure ? fact_text(log.failure) : fact_absent();
}
