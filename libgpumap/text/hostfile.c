/* SPDX-License-Identifier: MIT */
/* Hostfiles of Open MPI, DeepSpeed, MPICH and PBS, and Slurm's counts per node. */
#include "text/hostlist_add.h"

#include "hash.h"
#include "memory.h"
#include "report/report.h"

struct line {
	struct hostlist *list;
	int number;
	const char *origin;
	gpumap_report *report;
	struct span idle; /* the first host with slots=0 */
	int idle_line;
	size_t idle_count;
	/* The hosts without a number of slots. Until the end `slots` is the number of their lines,
	 * negative. */
	struct hash_index bare;
	bool repeated;
};

static int malformed(const struct line *line, struct span bad, const char *what, const char *fix)
{
	return report_fail(line->report, GPUMAP_EINPUT, FINDING_BAD_HOSTS,
			   ABOUT(.origin = line->origin, .line = line->number, .fix = fix),
			   "%s: '%s'", what, QUOTE(bad));
}

static struct span next_word(struct span *rest)
{
	struct span word;

	*rest = span_trim(*rest);
	word = (struct span){rest->text, 0};
	while (word.length < rest->length && !is_space(word.text[word.length]))
		word.length++;
	*rest = span_behind(*rest, word.length);
	return word;
}

/* "slots=4". Open MPI's "max_slots" is accepted too and ignored. */
static int read_word(const struct line *line, struct span word, int64_t *slots)
{
	static const char *const words[] = {"slots=", "max_slots=", "max-slots="};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t length = strlen(words[i]);
		int64_t n;

		if (!span_starts(word, words[i]))
			continue;
		n = span_number(span_behind(word, length), INT32_MAX);
		if (n < 0)
			return malformed(line, word, "no number of slots", "write slots=8");
		if (i == 0 && *slots >= 0)
			return malformed(line, word, "slots are given twice", "leave one out");
		if (i == 0)
			*slots = n;
		return GPUMAP_OK;
	}
	return malformed(line, word, "a word without meaning in a hostfile",
			 "write lines such as: node1 slots=8");
}

static int keep_bare(struct line *line, struct span name)
{
	uint64_t hash = hash_bytes(HASH_START, name.text, name.length);
	int r;

	for (size_t walk = 0, i; hash_index_next(&line->bare, hash, &walk, &i);) {
		struct host *host = &line->list->hosts[i];

		if (!span_is(name, host->name))
			continue;
		host->slots--;
		line->repeated = true;
		return GPUMAP_OK;
	}
	r = host_add(line->list, name, -1, line->origin, line->report);
	if (r == GPUMAP_OK && !hash_index_add(&line->bare, hash, line->list->count - 1))
		r = report_nomem(line->report);
	return r;
}

/* In the host file of PBS, as for mpirun, each line of a host is a slot. */
static void count_lines(const struct line *line)
{
	for (size_t i = 0; line->repeated && i < line->list->count; i++)
		if (line->list->hosts[i].slots < 0)
			line->list->hosts[i].slots = -line->list->hosts[i].slots;
}

/* As for mpirun, slots=0 means that nothing runs on the host. */
static int keep(struct line *line, struct span name, int64_t slots)
{
	if (slots < 0)
		return keep_bare(line, name);
	if (slots)
		return host_add(line->list, name, slots, line->origin, line->report);
	if (!line->idle_count++) {
		line->idle = name;
		line->idle_line = line->number;
	}
	return GPUMAP_OK;
}

static int read_line(struct line *line, struct span text)
{
	const char *comment = text.length ? memchr(text.text, '#', text.length) : NULL;
	struct span word, name;
	int64_t slots = -1;
	int r = GPUMAP_OK;

	if (comment)
		text.length = (size_t)(comment - text.text);
	word = name = next_word(&text);
	if (!word.length)
		return GPUMAP_OK;
	name.length = 0;
	while (name.length < word.length && host_byte(name.text[name.length]))
		name.length++;
	if (!name.length || name.length > HOSTLIST_NAME_MAX || *name.text == '-' ||
	    (name.length < word.length && name.text[name.length] != ':'))
		return malformed(line, word, "no name of a host",
				 "write lines such as: node1 slots=8");
	if (name.length < word.length) {
		slots = span_number(
			(struct span){name.text + name.length + 1, word.length - name.length - 1},
			INT32_MAX);
		if (slots < 0)
			return malformed(line, word, "no number of slots", "write name:8");
	}
	while (r == GPUMAP_OK && (word = next_word(&text)).length)
		r = read_word(line, word, &slots);
	return r == GPUMAP_OK ? keep(line, name, slots) : r;
}

static int conclude(const struct line *line)
{
	if (!line->list->count)
		return report_fail(line->report, GPUMAP_EINPUT, FINDING_BAD_HOSTS,
				   ABOUT(.origin = line->origin, .line = line->idle_line,
					 .fix = "write lines such as: node1 slots=8"),
				   line->idle_count ? "no host of the hostfile has slots"
						    : "the hostfile names no host");
	if (line->idle_count)
		report_add(line->report, FINDING_NO_SLOTS,
			   ABOUT(.origin = line->origin, .line = line->idle_line,
				 .fix = "give it slots=N for ranks there"),
			   "%zu host%s no slots and %s left out: '%s'%s", line->idle_count,
			   line->idle_count == 1 ? " has" : "s have",
			   line->idle_count == 1 ? "is" : "are", QUOTE(line->idle),
			   line->idle_count == 1 ? "" : ", ...");
	return GPUMAP_OK;
}

int hostfile_parse(struct hostlist *ret, struct span text, const char *origin,
		   gpumap_report *report)
{
	struct hostlist list = {0};
	struct line line = {.list = &list, .origin = origin, .report = report};
	struct span piece;
	int r = GPUMAP_OK;

	while (r == GPUMAP_OK && span_split(&text, '\n', &piece)) {
		line.number++;
		r = read_line(&line, piece);
	}
	count_lines(&line);
	hash_index_free(&line.bare);
	if (r == GPUMAP_OK)
		r = conclude(&line);
	if (r == GPUMAP_OK)
		*ret = list;
	else
		hostlist_free(&list);
	return r;
}

/* "2" or "2(x3)": a count, and the number of nodes that have it. */
static bool read_count(struct span piece, int64_t *count, int64_t *times)
{
	const char *open = piece.length ? memchr(piece.text, '(', piece.length) : NULL;
	size_t length = open ? (size_t)(open - piece.text) : piece.length;
	struct span rest = {piece.text + length, piece.length - length};

	*count = span_number((struct span){piece.text, length}, INT32_MAX);
	*times = 1;
	if (open) {
		if (rest.length < 4 || rest.text[1] != 'x' || rest.text[rest.length - 1] != ')')
			return false;
		*times = span_number((struct span){rest.text + 2, rest.length - 3}, INT32_MAX);
	}
	return *count >= 0 && *times > 0;
}

int64_t counts_at(struct span text, int64_t i)
{
	int64_t count, times, found = -1;
	struct span piece;

	while (span_split(&text, ',', &piece)) {
		if (!read_count(piece, &count, &times))
			return -1;
		if (found < 0 && i >= 0 && i < times)
			found = count;
		i -= times;
	}
	return found;
}

static int bad_counts(struct span piece, const char *origin, gpumap_report *report)
{
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_HOSTS,
			   ABOUT(.origin = origin, .fix = "write them as in 2(x3),1"),
			   "no count per node: '%s'", QUOTE(piece));
}

int counts_parse(int64_t **ret, size_t *count, struct span text, const char *origin,
		 gpumap_report *report)
{
	struct span rest = text, piece;
	int64_t value, times, total = 0;
	int64_t *values;
	size_t n = 0;

	while (span_split(&rest, ',', &piece)) {
		if (!read_count(piece, &value, &times))
			return bad_counts(piece, origin, report);
		total += times;
		if (total > HOSTLIST_MAX)
			return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT,
					   ABOUT(.origin = origin), "counts for more than %d nodes",
					   HOSTLIST_MAX);
	}
	values = xcalloc((size_t)total + 1, sizeof(*values));
	if (!values)
		return report_nomem(report);
	rest = text;
	while (span_split(&rest, ',', &piece) && read_count(piece, &value, &times))
		for (int64_t i = 0; i < times; i++)
			values[n++] = value;
	*ret = values;
	*count = n;
	return GPUMAP_OK;
}
