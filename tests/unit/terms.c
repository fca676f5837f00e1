/* SPDX-License-Identifier: MIT */
/* What a table row may ask of an answer; see the list in t-resolve.c. */
#include <stdio.h>

#include "machines.h"
#include "strbuf.h"

static void put_entry(struct strbuf *buf, const gpumap_entry *e)
{
	int64_t physical = gpumap_entry_int(e, GPUMAP_ENTRY_PHYSICAL);
	int64_t mig = gpumap_entry_int(e, GPUMAP_ENTRY_MIG);

	if (!e)
		strbuf_puts(buf, "none");
	else if (gpumap_entry_int(e, GPUMAP_ENTRY_CERTAINTY) == GPUMAP_CERTAINTY_UNDECIDABLE)
		for (size_t i = 0; i < gpumap_entry_candidate_count(e); i++) {
			const gpumap_device *d = gpumap_entry_candidate(e, i);

			strbuf_printf(buf, "%s%d", i ? "|" : "", d->physical);
			if (d->mig_position >= 0)
				strbuf_printf(buf, ":%d", d->mig_position);
		}
	else if (physical < 0)
		strbuf_puts(buf, gpumap_entry_str(e, GPUMAP_ENTRY_UUID));
	else
		strbuf_printf(buf, mig < 0 ? "%lld" : "%lld:%lld", (long long)physical,
			      (long long)mig);
}

static void put_visible(struct strbuf *buf, const gpumap_mapping *m)
{
	for (size_t i = 0; i < gpumap_mapping_visible_count(m); i++) {
		strbuf_puts(buf, i ? "," : "");
		put_entry(buf, gpumap_mapping_visible(m, i));
	}
}

static void put_replicas(struct strbuf *buf, const gpumap_mapping *m)
{
	for (size_t i = 0; i < gpumap_mapping_replica_count(m); i++) {
		strbuf_puts(buf, i ? "," : "");
		put_entry(buf, gpumap_mapping_replica(m, i));
	}
}

static void put_batch(struct strbuf *buf, const gpumap_mapping *m)
{
	for (size_t i = 0; gpumap_mapping_replica_samples(m, i) >= 0; i++)
		strbuf_printf(buf, "%s%lld", i ? "," : "",
			      (long long)gpumap_mapping_replica_samples(m, i));
}

static void put_ended(struct strbuf *buf, const gpumap_mapping *m)
{
	if (gpumap_mapping_str(m, GPUMAP_MAPPING_ENDED_TEXT))
		strbuf_printf(buf, "%lld:%s:%s",
			      (long long)gpumap_mapping_int(m, GPUMAP_MAPPING_ENDED_ENTRY),
			      gpumap_mapping_str(m, GPUMAP_MAPPING_ENDED_TEXT),
			      gpumap_mapping_str(m, GPUMAP_MAPPING_ENDED_RULE));
	else
		strbuf_puts(buf, "not");
}

static void put_certainty(struct strbuf *buf, const gpumap_mapping *m)
{
	const gpumap_entry *e = gpumap_mapping_chosen(m);

	if (!e)
		e = gpumap_mapping_visible(m, 0);
	strbuf_puts(buf, e ? gpumap_certainty_name((enum gpumap_certainty)gpumap_entry_int(
				     e, GPUMAP_ENTRY_CERTAINTY))
			   : "none");
}

/* Members that are compared as a whole: "chosen=3". */
static bool put_member(struct strbuf *buf, struct span name, const gpumap_mapping *m)
{
	if (span_is(name, "chosen"))
		put_entry(buf, gpumap_mapping_chosen(m));
	else if (span_is(name, "master"))
		put_entry(buf, gpumap_mapping_master(m));
	else if (span_is(name, "visible"))
		put_visible(buf, m);
	else if (span_is(name, "replicas"))
		put_replicas(buf, m);
	else if (span_is(name, "batch"))
		put_batch(buf, m);
	else if (span_is(name, "ended"))
		put_ended(buf, m);
	else if (span_is(name, "certainty"))
		put_certainty(buf, m);
	else if (span_is(name, "answered"))
		strbuf_printf(buf, "%lld",
			      (long long)gpumap_mapping_int(m, GPUMAP_MAPPING_ANSWERED));
	else if (span_is(name, "mode"))
		strbuf_puts(buf, gpumap_mapping_str(m, GPUMAP_MAPPING_MODE));
	else
		return false;
	return true;
}

/* Lists of which one is asked for: each between spaces. */
static bool put_list(struct strbuf *buf, struct span name, const gpumap_mapping *m,
		     const gpumap_report *report)
{
	bool rules = span_is(name, "finding-rule");

	strbuf_puts(buf, " ");
	if (span_is(name, "finding") || rules) {
		for (size_t i = 0; i < gpumap_report_count(report); i++) {
			const char *s =
				gpumap_finding_str(gpumap_report_get(report, i),
						   rules ? GPUMAP_FINDING_RULE : GPUMAP_FINDING_ID);

			strbuf_printf(buf, "%s ", s ? s : "none");
		}
		return true;
	}
	for (size_t i = 0; i < gpumap_mapping_step_count(m); i++) {
		const gpumap_step *step = gpumap_mapping_step(m, i);

		if (span_is(name, "rule"))
			strbuf_printf(buf, "%s ", gpumap_step_str(step, GPUMAP_STEP_RULE));
		else if (span_is(name, "loser"))
			for (size_t k = 0; k < gpumap_step_loser_count(step); k++)
				strbuf_printf(buf, "%s:%s ", gpumap_step_loser_source(step, k),
					      gpumap_step_loser_value(step, k));
		else
			return false;
	}
	return true;
}

/* Terms are split at blanks, so that _ stands for one; names have it as well. */
static void blanks(struct strbuf *buf)
{
	for (size_t i = 0; i < buf->length; i++)
		buf->text[i] = buf->text[i] == '_' ? ' ' : buf->text[i];
}

bool term_holds(const char *term, int code, const gpumap_mapping *mapping,
		const gpumap_report *report, char **got)
{
	const bool no = *term == '!';
	const char *equals = strchr(term, '='), *want = equals + 1;
	struct span name = {term + no, (size_t)(equals - term) - no};
	struct strbuf buf = {0}, word = {0};
	bool holds;

	if (span_is(name, "code")) {
		strbuf_printf(&buf, "%d", code);
		holds = streq(buf.text, want);
	} else if (put_member(&buf, name, mapping)) {
		holds = streq(buf.text ? buf.text : "", want);
	} else if (span_is(name, "text")) {
		for (size_t i = 0; i < gpumap_report_count(report); i++)
			strbuf_printf(&buf, "%s; ",
				      gpumap_finding_str(gpumap_report_get(report, i),
							 GPUMAP_FINDING_TEXT));
		for (size_t i = 0; i < gpumap_mapping_step_count(mapping); i++)
			strbuf_printf(
				&buf, "%s; ",
				gpumap_step_str(gpumap_mapping_step(mapping, i), GPUMAP_STEP_TEXT));
		strbuf_puts(&word, want);
		blanks(&word);
		blanks(&buf);
		holds = strstr(buf.text, word.text) != NULL;
	} else {
		holds = put_list(&buf, name, mapping, report);
		strbuf_printf(&word, " %s ", want);
		blanks(&word);
		blanks(&buf);
		holds = holds && strstr(buf.text, word.text);
	}
	strbuf_free(&word);
	*got = strbuf_take(&buf);
	return holds != no;
}
