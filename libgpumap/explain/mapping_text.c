/* SPDX-License-Identifier: MIT */
/* A mapping for people: the answer, a table of the devices, and the reasons. */
#include "explain/explain.h"
#include "memory.h"
#include "style.h"

const gpumap_finding *first_error(const gpumap_report *report)
{
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);

		if (gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY) == GPUMAP_SEVERITY_ERROR)
			return f;
	}
	return NULL;
}

void put_heading(struct strbuf *buf, const char *text)
{
	strbuf_puts(buf, "\n");
	style_puts(buf, STYLE_HEADING, text);
	strbuf_puts(buf, "\n");
}

void put_cell(struct strbuf *buf, const char *text, int width)
{
	size_t from = buf->length;

	escape_all(buf, text);
	if (!buf->failed && buf->length - from < (size_t)width)
		strbuf_printf(buf, "%*s", width - (int)(buf->length - from), "");
}

void put_origin(struct strbuf *buf, const char *origin)
{
	if (*origin) {
		style_set(buf, STYLE_FAINT);
		escape_all(buf, origin);
		style_set(buf, STYLE_PLAIN);
	}
	strbuf_puts(buf, "\n");
}

/* Between a step's text and its origin; texts without an origin may be longer. */
enum { TEXT_WIDTH = 48, RULE_WIDTH = 4 };

static void put_number(struct strbuf *buf, const gpumap_device *d)
{
	if (d->physical >= 0)
		strbuf_printf(buf, "%d", d->physical);
	else
		strbuf_puts(buf, "?");
	if (d != d->gpu)
		strbuf_printf(buf, ":%d", d->mig_position);
}

static void physical_of(struct strbuf *buf, const gpumap_entry *entry)
{
	/* Without numbers the candidates look alike. */
	size_t count =
		entry_decided(entry) || entry->candidates[0]->physical < 0 ? 1 : entry->count;

	for (size_t i = 0; i < count && i < 8; i++) {
		strbuf_puts(buf, i ? " or " : "");
		put_number(buf, entry->candidates[i]);
	}
	strbuf_puts(buf, count > 8 ? " or ..." : "");
}

static const char *certainty_note(const gpumap_entry *entry)
{
	switch (entry->certainty) {
	case GPUMAP_CERTAINTY_LIKELY:
		return ", likely";
	case GPUMAP_CERTAINTY_UNDECIDABLE:
		return ": undecidable";
	default:
		return "";
	}
}

static void answer(struct strbuf *buf, const gpumap_mapping *mapping)
{
	const gpumap_entry *chosen = mapping->chosen;
	const gpumap_device *d = chosen->candidates[0];

	style_set(buf,
		  chosen->certainty == GPUMAP_CERTAINTY_UNDECIDABLE ? STYLE_WARNING : STYLE_ANSWER);
	strbuf_printf(buf, "cuda:%d is ", chosen->logical);
	if (entry_decided(chosen) && d->physical < 0 && d->uuid) {
		escape_all(buf, d->uuid);
	} else {
		strbuf_puts(buf, "physical GPU ");
		physical_of(buf, chosen);
	}
	if (entry_decided(chosen) && (d->gpu->name || (d->uuid && d->physical >= 0))) {
		strbuf_puts(buf, " (");
		if (d->gpu->name)
			escape_all(buf, d->gpu->name);
		if (d->uuid && d->physical >= 0) {
			strbuf_puts(buf, d->gpu->name ? ", " : "");
			escape_all(buf, d->uuid);
		}
		strbuf_puts(buf, ")");
	}
	strbuf_puts(buf, certainty_note(chosen));
	style_set(buf, STYLE_PLAIN);
}

static void no_answer(struct strbuf *buf, const gpumap_mapping *mapping,
		      const gpumap_report *report)
{
	const gpumap_finding *error = first_error(report);

	if (mapping && mapping->answered) {
		style_puts(buf, STYLE_ANSWER, "No GPU is used: the device is the CPU");
	} else {
		style_puts(buf, STYLE_ERROR, "No answer:");
		strbuf_printf(buf, " %s",
			      error ? gpumap_finding_str(error, GPUMAP_FINDING_TEXT)
				    : "the statements end in an error");
	}
}

void mapping_headline(struct strbuf *buf, const gpumap_mapping *mapping,
		      const gpumap_report *report)
{
	/* If the module is on the wrong device there is a device, but no answer. */
	if (mapping && mapping->chosen && (mapping->answered || !entry_decided(mapping->chosen)))
		answer(buf, mapping);
	else
		no_answer(buf, mapping, report);
}

/* The replicas of each logical device as chains: searching all replicas for every row
 * would take the square of their number. */
struct chains {
	size_t *first; /* by logical number: replica + 1; 0: none. NULL: no groups */
	size_t *next;  /* by replica */
};

static struct chains find_chains(struct strbuf *buf, const gpumap_mapping *mapping)
{
	struct chains chains = {NULL, NULL};

	if (streq(mapping->mode, "single") || streq(mapping->mode, "ddp"))
		return chains;
	chains.first = xcalloc(mapping->visible_count + 1, sizeof(*chains.first));
	chains.next = xcalloc(mapping->replica_count + 1, sizeof(*chains.next));
	buf->failed = buf->failed || !chains.first || !chains.next;
	for (size_t i = mapping->replica_count; !buf->failed && i--;) {
		size_t *first = &chains.first[mapping->replicas[i]->logical];

		chains.next[i] = *first;
		*first = i + 1;
	}
	return chains;
}

/* "<- chosen, master, replica 0": how a visible device is used, in an empty buffer. */
static void uses(struct strbuf *buf, const gpumap_mapping *mapping, const gpumap_entry *entry,
		 const struct chains *chains)
{
	const char *word = streq(mapping->mode, "mp") ? "stage" : "replica";

	if (entry == mapping->chosen)
		strbuf_puts(buf, "<- chosen");
	if (entry == mapping->master)
		strbuf_printf(buf, "%smaster", buf->length ? ", " : "<- ");
	for (size_t i = chains->first ? chains->first[entry->logical] : 0; i;
	     i = chains->next[i - 1])
		strbuf_printf(buf, "%s%s %zu", buf->length ? ", " : "<- ", word, i - 1);
}

/* Which columns have values, and how wide names are. */
struct columns {
	bool uuid, pci;
	int physical, name;
};

enum { PHYSICAL_WIDTH = 9, PCI_WIDTH = 12, UUID_WIDTH = 40, SEPARATOR = 3 };

static struct columns known_columns(struct strbuf *buf, const gpumap_mapping *mapping)
{
	struct columns c = {.physical = PHYSICAL_WIDTH};

	for (size_t i = 0; i < mapping->visible_count; i++) {
		const gpumap_entry *e = &mapping->visible[i];
		const char *name = gpumap_entry_str(e, GPUMAP_ENTRY_NAME);

		CLEANUP(strbuf_free) struct strbuf physical = {0};

		physical_of(&physical, e);
		if ((int)physical.length >= c.physical)
			c.physical = (int)physical.length + 2;
		buf->failed = buf->failed || physical.failed;
		c.uuid = c.uuid || gpumap_entry_str(e, GPUMAP_ENTRY_UUID);
		c.pci = c.pci || gpumap_entry_str(e, GPUMAP_ENTRY_PCI);
		if (name && (int)strlen(name) > c.name && strlen(name) < 64)
			c.name = (int)strlen(name);
	}
	return c;
}

static void cell(struct strbuf *buf, const char *text, int width)
{
	strbuf_printf(buf, "%*s", SEPARATOR, "");
	put_cell(buf, text ? text : "-", width);
}

void trim_end(struct strbuf *buf)
{
	while (buf->length && buf->text[buf->length - 1] == ' ')
		buf->text[--buf->length] = '\0';
}

static void row(struct strbuf *buf, const gpumap_mapping *mapping, const gpumap_entry *e,
		const struct columns *columns, const struct chains *chains)
{
	CLEANUP(strbuf_free) struct strbuf physical = {0}, used = {0};

	physical_of(&physical, e);
	uses(&used, mapping, e, chains);
	strbuf_printf(buf, "  cuda:%-5d%-*s", e->logical, columns->physical,
		      physical.text ? physical.text : "");
	if (columns->pci)
		cell(buf, gpumap_entry_str(e, GPUMAP_ENTRY_PCI), PCI_WIDTH);
	if (columns->uuid)
		cell(buf, gpumap_entry_str(e, GPUMAP_ENTRY_UUID), UUID_WIDTH);
	if (columns->name)
		cell(buf, gpumap_entry_str(e, GPUMAP_ENTRY_NAME), columns->name);
	if (used.text && (columns->pci || columns->uuid || columns->name))
		strbuf_printf(buf, "%*s", SEPARATOR, "");
	if (used.text)
		style_puts(buf, STYLE_MARK, used.text);
	trim_end(buf);
	strbuf_puts(buf, "\n");
	buf->failed = buf->failed || physical.failed || used.failed;
}

static void table(struct strbuf *buf, const gpumap_mapping *mapping)
{
	struct columns columns = known_columns(buf, mapping);
	struct chains chains = find_chains(buf, mapping);

	strbuf_puts(buf, "\n");
	style_set(buf, STYLE_FAINT);
	strbuf_printf(buf, "  logical   %-*s", columns.physical, "physical");
	if (columns.pci)
		cell(buf, "PCI address", PCI_WIDTH);
	if (columns.uuid)
		cell(buf, "UUID", UUID_WIDTH);
	if (columns.name)
		cell(buf, "name", columns.name);
	trim_end(buf);
	style_set(buf, STYLE_PLAIN);
	strbuf_puts(buf, "\n");
	for (size_t i = 0; !buf->failed && i < mapping->visible_count; i++)
		row(buf, mapping, &mapping->visible[i], &columns, &chains);
	free(chains.first);
	free(chains.next);
}

void put_loser(struct strbuf *buf, const struct loser *loser)
{
	bool option = !streq(loser->source, "environment") && !streq(loser->source, "launcher");

	strbuf_puts(buf, option ? "--" : "the ");
	for (const char *p = loser->source; *p; p++)
		strbuf_printf(buf, "%c", *p == '_' ? '-' : *p);
	strbuf_printf(buf, "%s %s", option ? "" : "'s", *loser->value ? loser->value : "(empty)");
}

static void overridden(struct strbuf *buf, const struct loser *loser)
{
	strbuf_puts(buf, "       ");
	style_set(buf, STYLE_FAINT);
	strbuf_puts(buf, "overrides ");
	put_loser(buf, loser);
	style_set(buf, STYLE_PLAIN);
	strbuf_puts(buf, "\n");
}

static void steps(struct strbuf *buf, const gpumap_mapping *mapping)
{
	put_heading(buf, "Why");
	for (size_t i = 0; i < mapping->step_count; i++) {
		const gpumap_step *s = &mapping->steps[i];

		strbuf_puts(buf, "  ");
		style_puts(buf, STYLE_RULE, s->rule);
		for (size_t k = strlen(s->rule); k < RULE_WIDTH; k++)
			strbuf_puts(buf, " ");
		strbuf_printf(buf, s->origin ? " %-*s  " : " %-*s", s->origin ? TEXT_WIDTH - 2 : 0,
			      s->text);
		put_origin(buf, s->origin ? s->origin : "");
		for (size_t k = 0; k < s->loser_count; k++)
			overridden(buf, &s->losers[k]);
	}
}

static void batch(struct strbuf *buf, const gpumap_mapping *mapping)
{
	if (!mapping->batch_count)
		return;
	strbuf_puts(buf, "\n");
	style_puts(buf, STYLE_HEADING, "Batch");
	strbuf_puts(buf, "  ");
	for (size_t i = 0; i < mapping->batch_count; i++)
		strbuf_printf(buf, "%s%lld", i ? "," : "", (long long)mapping->batch[i]);
	strbuf_puts(buf, "\n");
}

void mapping_text(struct strbuf *buf, const gpumap_mapping *mapping, const gpumap_report *report)
{
	mapping_headline(buf, mapping, report);
	strbuf_puts(buf, "\n");
	if (!mapping)
		return;
	if (mapping->visible_count)
		table(buf, mapping);
	batch(buf, mapping);
	if (mapping->step_count)
		steps(buf, mapping);
	if (mapping->assumption) {
		style_puts(buf, STYLE_WARNING, "Assumed:");
		strbuf_puts(buf, " ");
		escape_all(buf, mapping->assumption);
		strbuf_puts(buf, "\n");
	}
}
