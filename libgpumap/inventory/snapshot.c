/* SPDX-License-Identifier: MIT */
/* Reads a snapshot. */
#include "inventory/snapshot.h"

#include <limits.h>

#include "strbuf.h"
#include "suggest.h"

enum { ORDERS = 2 };

/* A section [gpu N]. */
struct label {
	int64_t number;
	int line;
};

struct snapshot {
	gpumap_inventory *inventory;
	const char *origin;
	gpumap_report *report;
	const struct snapshot_table *table; /* of the section; NULL: left to sites */
	void *object;                       /* the object that the section fills */
	int lines[SNAPSHOT_MAX_MEMBERS];    /* of the section's keys so far */
	struct label *labels;               /* of the GPUs, in order of arrival */
	size_t room;
	struct inifile_entry orders[ORDERS]; /* read when all GPUs are known */
	/* the GPU's section has mig_enabled, so [mig] does not set it */
	bool enabled_given;
	bool has_head, has_schema;
	bool newer; /* the rest of the file may mean something that only a newer gpumap knows */
};

#define FAIL(s, id, at_line, at_column, remedy, ...) \
	report_fail((s)->report, GPUMAP_EINPUT, id, \
		    ABOUT(.origin = (s)->origin, .line = (at_line), .column = (at_column), \
			  .fix = (remedy)), \
		    __VA_ARGS__)

static int too_many(struct snapshot *s, int line, int max, const char *what)
{
	return report_fail(s->report, GPUMAP_ELIMIT, FINDING_LIMIT,
			   ABOUT(.origin = s->origin, .line = line), "more than %d %s", max, what);
}

static int begin_head(struct snapshot *s, int line)
{
	if (s->has_head)
		return FAIL(s, FINDING_SYNTAX, line, 1, "record one machine at a time",
			    "a second [snapshot]");
	s->has_head = true;
	s->table = &snapshot_head;
	s->object = s->inventory;
	return GPUMAP_OK;
}

static int begin_gpu(struct snapshot *s, struct span number, int line)
{
	int64_t n = span_number(number, INT_MAX);
	size_t i = s->inventory->count;
	gpumap_device *gpu;

	if (n < 0)
		return FAIL(s, FINDING_SYNTAX, line, 1, "write [gpu N], N from 0 to 2147483647",
			    "no number of a GPU: '%s'", QUOTE(number));
	if (i >= GPUMAP_MAX_DEVICES)
		return too_many(s, line, GPUMAP_MAX_DEVICES, "GPUs");
	if (!ARRAY_ROOM(s->labels, i, s->room))
		return report_nomem(s->report);
	gpu = inventory_add(s->inventory);
	if (!gpu)
		return report_nomem(s->report);
	gpu->index = (int)n;
	s->labels[i] = (struct label){n, line};
	s->enabled_given = false;
	s->table = &snapshot_gpu;
	s->object = gpu;
	return GPUMAP_OK;
}

/* A section of the GPU before it. */
struct part {
	const char *kind;  /* "mig" */
	const char *write; /* what to write instead of a malformed name */
	const char *name;  /* "MIG instance" */
	const char *order; /* the remedy for a wrong number */
	const char *limit;
	size_t max;
};

static const struct part mig_part = {
	"mig",
	"write [mig N:i], the i-th instance of GPU N",
	"a MIG instance",
	"number a GPU's instances from 0 on",
	"MIG instances of one GPU",
	MAX_MIG,
};
static const struct part process_part = {
	"process",
	"write [process N:k], the k-th process of GPU N",
	"a process",
	"number a GPU's processes from 0 on",
	"processes of one GPU",
	MAX_PROCESSES,
};

/* Checks the numbers of the next part of the last GPU, of which it has `count`. */
static int begin_part(struct snapshot *s, const struct part *part, struct span name, size_t count,
		      int line)
{
	struct span rest = name, number;
	int64_t n = -1, i = -1;

	if (span_split(&rest, ':', &number) && rest.text) {
		n = span_number(number, INT_MAX);
		i = span_number(rest, INT_MAX);
	}
	if (n < 0 || i < 0)
		return FAIL(s, FINDING_SYNTAX, line, 1, part->write, "no number of %s: '%s'",
			    part->name, QUOTE(name));
	if (!s->inventory->count || s->labels[s->inventory->count - 1].number != n)
		return FAIL(s, FINDING_SYNTAX, line, 1, "put it after its [gpu N]",
			    "[%s %d:%d] does not follow [gpu %d]", part->kind, (int)n, (int)i,
			    (int)n);
	if (i != (int64_t)count)
		return FAIL(s, FINDING_SYNTAX, line, 1, part->order,
			    "[%s %d:%d] where [%s %d:%zu] is due", part->kind, (int)n, (int)i,
			    part->kind, (int)n, count);
	if (count >= part->max)
		return too_many(s, line, (int)part->max, part->limit);
	return GPUMAP_OK;
}

static gpumap_device *last_gpu(const struct snapshot *s)
{
	size_t count = s->inventory->count;

	return count ? &s->inventory->gpus[count - 1] : NULL;
}

static int begin_mig(struct snapshot *s, struct span name, int line)
{
	gpumap_device *gpu = last_gpu(s);
	int r = begin_part(s, &mig_part, name, gpu ? gpu->mig_count : 0, line), enabled;

	if (r != GPUMAP_OK)
		return r;
	enabled = gpu->mig_enabled;
	s->object = device_add_mig(gpu);
	if (!s->object)
		return report_nomem(s->report);
	if (s->enabled_given)
		gpu->mig_enabled = enabled;
	s->table = &snapshot_mig;
	return GPUMAP_OK;
}

static int begin_process(struct snapshot *s, struct span name, int line)
{
	gpumap_device *gpu = last_gpu(s);
	int r = begin_part(s, &process_part, name, gpu ? gpu->process_count : 0, line);

	if (r != GPUMAP_OK)
		return r;
	s->object = device_add_process(gpu);
	if (!s->object)
		return report_nomem(s->report);
	s->inventory->usage = true;
	s->table = &snapshot_process;
	return GPUMAP_OK;
}

static int unknown_section(struct snapshot *s, struct span name, int line)
{
	static const char *const known[] = {"snapshot", "gpu", "mig", "process", NULL};
	struct span word = {name.text, 0};
	const char *nearest;

	while (word.length < name.length && !is_space(name.text[word.length]))
		word.length++;
	nearest = suggest(word, known);
	return FAIL(s, FINDING_SYNTAX, line, 1,
		    !nearest                    ? "sections of your own begin with x_"
		    : streq(nearest, "mig")     ? "did you mean [mig N:i]?"
		    : streq(nearest, "process") ? "did you mean [process N:k]?"
		    : streq(nearest, "gpu")     ? "did you mean [gpu N]?"
						: "did you mean [snapshot]?",
		    "unknown section [%s]", QUOTE(name));
}

/* The text after the section's first word, if that is `word`. */
static bool after_word(struct span name, const char *word, struct span *rest)
{
	if (!span_skip(&name, word) || !name.length || !is_space(*name.text))
		return false;
	*rest = span_trim(name);
	return true;
}

static int begin_section(void *data, struct span name, int line)
{
	struct snapshot *s = data;
	struct span rest;

	memset(s->lines, 0, sizeof(s->lines));
	s->table = NULL;
	if (s->newer)
		return GPUMAP_OK;
	if (span_is(name, "snapshot"))
		return begin_head(s, line);
	if (after_word(name, "gpu", &rest))
		return begin_gpu(s, rest, line);
	if (after_word(name, "mig", &rest))
		return begin_mig(s, rest, line);
	if (after_word(name, "process", &rest))
		return begin_process(s, rest, line);
	if (span_starts(name, "x_"))
		return GPUMAP_OK;
	return unknown_section(s, name, line);
}

static int read_schema(struct snapshot *s, const struct inifile_entry *entry)
{
	int64_t schema = span_number(entry->value, INT_MAX);

	s->has_schema = true;
	if (schema == SNAPSHOT_SCHEMA || schema == SNAPSHOT_USAGE_SCHEMA)
		return GPUMAP_OK;
	s->newer = schema > SNAPSHOT_USAGE_SCHEMA;
	if (s->newer)
		return FAIL(s, FINDING_BAD_VALUE, entry->line, entry->column,
			    "use a newer gpumap, or record the machine again",
			    "schema %d is newer than this gpumap, which knows %d", (int)schema,
			    SNAPSHOT_USAGE_SCHEMA);
	return FAIL(s, FINDING_BAD_VALUE, entry->line, entry->column, "write schema = 1",
		    "no such schema: '%s'", QUOTE(entry->value));
}

static int read_entry(void *data, const struct inifile_entry *entry)
{
	struct snapshot *s = data;
	const struct snapshot_member *member;
	const char *wanted;
	bool nomem;
	int i;

	if (!s->table || s->newer)
		return GPUMAP_OK;
	i = inifile_key(entry, s->table->names, s->lines, s->origin, s->report);
	if (i < 0)
		return i == INIFILE_SITE_KEY ? GPUMAP_OK : GPUMAP_EINPUT;
	member = &s->table->members[i];
	if (member->kind == SNAPSHOT_VERSION)
		return read_schema(s, entry);
	if (!entry->value.length)
		return GPUMAP_OK;
	if (member->kind == SNAPSHOT_ORDER) {
		bool pci = member->offset == offsetof(gpumap_inventory, order[GPUMAP_ORDER_PCI]);

		s->orders[pci ? GPUMAP_ORDER_PCI : GPUMAP_ORDER_FASTEST] = *entry;
		return GPUMAP_OK;
	}
	s->enabled_given =
		s->enabled_given || (s->table == &snapshot_gpu && member->kind == SNAPSHOT_ENABLED);
	s->inventory->usage = s->inventory->usage || (member->usage && s->table != &snapshot_head);
	wanted = snapshot_set(member, s->object, entry->value, &nomem);
	if (nomem)
		return report_nomem(s->report);
	if (!wanted)
		return GPUMAP_OK;
	return FAIL(s, FINDING_BAD_VALUE, entry->line, entry->column, NULL, "'%s' is not %s: '%s'",
		    member->name, wanted, QUOTE(entry->value));
}

static int by_number(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static int check_labels(struct snapshot *s)
{
	size_t count = s->inventory->count;
	int r = GPUMAP_OK;

	if (count)
		qsort(s->labels, count, sizeof(*s->labels), by_number);
	for (size_t i = 1; i < count && r == GPUMAP_OK; i++)
		if (s->labels[i].number == s->labels[i - 1].number)
			r = FAIL(s, FINDING_SYNTAX, s->labels[i].line, 1,
				 "give each GPU one section", "[gpu %d] stands on line %d already",
				 (int)s->labels[i].number, s->labels[i - 1].line);
	return r;
}

static int read_orders(struct snapshot *s)
{
	for (int i = 0; i < ORDERS; i++) {
		const struct inifile_entry *entry = &s->orders[i];
		const char *wanted;
		bool nomem;

		if (!entry->line)
			continue;
		wanted = snapshot_order(&s->inventory->order[i], s->inventory->count, entry->value,
					&nomem);
		if (nomem)
			return report_nomem(s->report);
		if (wanted)
			return FAIL(s, FINDING_BAD_VALUE, entry->line, entry->column, NULL,
				    "'%s' is not %s: '%s'",
				    i == GPUMAP_ORDER_PCI ? "cuda_pci" : "cuda_fastest", wanted,
				    QUOTE(entry->value));
	}
	return GPUMAP_OK;
}

static int compare_index(const void *key, const void *device)
{
	unsigned a = (unsigned)*(const int *)key,
		 b = (unsigned)((const gpumap_device *)device)->index;

	return (a > b) - (a < b);
}

/* The processes of one GPU: each has a pid, and an instance that exists. A list that is there
 * without a member `processes` may lack some. */
static int check_processes(struct snapshot *s, gpumap_device *gpu, int number)
{
	if (gpu->process_count && gpu->listed <= LISTED_NONE)
		gpu->listed = LISTED_SOME;
	for (size_t i = 0; i < gpu->process_count; i++) {
		const gpumap_process *p = &gpu->processes[i];

		if (p->pid < 0)
			return FAIL(s, FINDING_BAD_VALUE, 0, 0, "write pid = NUMBER",
				    "[process %d:%zu] has no pid", number, i);
		if (p->mig >= (int)gpu->mig_count)
			return FAIL(s, FINDING_BAD_VALUE, 0, 0, "write the i of a [mig N:i]",
				    "[process %d:%zu] is on MIG %d, which is not in the snapshot",
				    number, i, p->mig);
	}
	for (size_t i = 0; i < gpu->mig_count; i++)
		for (size_t k = 0; k < gpu->process_count; k++)
			if (gpu->processes[k].mig == (int)i && gpu->mig[i].listed <= LISTED_NONE)
				gpu->mig[i].listed = LISTED_SOME;
	return GPUMAP_OK;
}

/* A neighbour that is missing is worth a warning. A partial recording is marked as one. */
static void check_neighbours(const struct snapshot *s)
{
	const gpumap_inventory *inventory = s->inventory;

	for (size_t i = 0; i < inventory->count && !inventory->partial; i++) {
		const gpumap_device *d = &inventory->gpus[i];

		for (int k = 0; k < d->nvlink_count; k++) {
			if (bsearch(&d->nvlink[k], inventory->gpus, inventory->count,
				    sizeof(*inventory->gpus), compare_index))
				continue;
			report_add(s->report, FINDING_CONTRADICTION, ABOUT(.origin = s->origin),
				   "GPU %d has an NVLink to GPU %d, which is not in the snapshot",
				   d->physical, d->nvlink[k]);
			return;
		}
	}
}

/* The reason was written for "this host"; here it names the snapshot's host. */
static int name_host(struct snapshot *s)
{
	static const char here[] = "this host";
	gpumap_inventory *inventory = s->inventory;
	CLEANUP(strbuf_free) struct strbuf text = {0};
	const char *rest;
	bool named;

	if (!inventory->host || !starts_with(inventory->no_gpu, here))
		return GPUMAP_OK;
	rest = inventory->no_gpu + strlen(here);
	if (*rest && !is_space(*rest))
		return GPUMAP_OK;
	strbuf_printf(&text, "%s%s", inventory->host, rest);
	named = !text.failed && member_set(&inventory->no_gpu, span_of(text.text));
	return named ? GPUMAP_OK : report_nomem(s->report);
}

/* Reports it as gpumap_inventory_probe() does for this host. */
static int explain_no_gpu(struct snapshot *s)
{
	gpumap_inventory *inventory = s->inventory;
	int r;

	/* An empty reason does not count. */
	if (inventory->no_gpu && !span_trim(span_of(inventory->no_gpu)).length) {
		free(inventory->no_gpu);
		inventory->no_gpu = NULL;
	}
	if (!inventory->no_gpu)
		return GPUMAP_OK;
	r = name_host(s);
	if (r == GPUMAP_OK)
		report_add(s->report, FINDING_NO_GPU, ABOUT(.rule = "E1", .origin = s->origin),
			   "%s", QUOTE(span_of(s->inventory->no_gpu)));
	return r;
}

static int finish(struct snapshot *s)
{
	int r = GPUMAP_OK;

	if (!s->has_schema)
		return FAIL(s, FINDING_SYNTAX, 1, 0, "write schema = 1 into [snapshot]",
			    "the snapshot has no schema");
	for (size_t i = 0; r == GPUMAP_OK && i < s->inventory->count; i++)
		r = check_processes(s, &s->inventory->gpus[i], (int)s->labels[i].number);
	if (r == GPUMAP_OK)
		r = check_labels(s);
	if (r == GPUMAP_OK)
		r = explain_no_gpu(s);
	if (r == GPUMAP_OK)
		r = inventory_finish(s->inventory, s->report);
	if (r == GPUMAP_OK)
		r = read_orders(s);
	if (r == GPUMAP_OK)
		check_neighbours(s);
	return r;
}

bool snapshot_recognise(struct span text)
{
	struct span rest = text, line;

	span_skip(&rest, "\xef\xbb\xbf");
	while (span_split(&rest, '\n', &line)) {
		line = span_trim(line);
		if (!line.length || *line.text == '#' || *line.text == ';')
			continue;
		if (!span_skip(&line, "["))
			return false;
		line = span_trim(line);
		if (!span_skip(&line, "snapshot"))
			return false;
		return span_starts(span_trim(line), "]");
	}
	return false;
}

int snapshot_parse(gpumap_inventory **ret, struct span text, const char *origin,
		   gpumap_report *report)
{
	static const struct inifile_handler handler = {begin_section, read_entry};
	struct snapshot s = {
		.inventory = inventory_new("snapshot", origin),
		.origin = origin,
		.report = report,
	};
	int r;

	if (!s.inventory)
		return report_nomem(report);
	r = inifile_read(text, origin, &handler, &s, report);
	if (r == GPUMAP_OK)
		r = finish(&s);
	free(s.labels);
	return give_inventory(ret, s.inventory, r);
}
