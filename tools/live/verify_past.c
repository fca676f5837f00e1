/* SPDX-License-Identifier: MIT */
/* What is said of a run that has ended, from its record: how it ended, and what --verify found. */
#include "live/verify.h"

#include <jansson.h>
#include <stdlib.h>

#include "memory.h"
#include "text.h"

static const char *string_of(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text ? text : "";
}

/* The state with this word. */
static enum verify_state state_of(const char *word)
{
	for (int state = VERIFY_RIGHT; state < VERIFY_WRONG; state++)
		if (streq(word, verify_state_word((enum verify_state)state)))
			return (enum verify_state)state;
	return VERIFY_WRONG;
}

static void put_escaped(struct strbuf *buf, const char *before, const char *text)
{
	strbuf_puts(buf, before);
	escape_all(buf, text);
}

/* The message of each, with the remedy, on a line of its own. */
static void put_findings(struct strbuf *buf, const json_t *findings)
{
	size_t count = json_array_size(findings);

	for (size_t i = 0; i < count; i++) {
		const json_t *f = json_array_get(findings, i);

		put_escaped(buf, "  ", string_of(f, "text"));
		if (*string_of(f, "fix"))
			put_escaped(buf, "; ", string_of(f, "fix"));
		put_escaped(buf, " [", string_of(f, "id"));
		strbuf_puts(buf, "]\n");
	}
}

bool verify_past_text(struct strbuf *buf, bool *right, const json_t *verified)
{
	const json_t *ranks = json_object_get(verified, "ranks");
	const json_t *was_right = json_object_get(verified, "right");
	struct verify v = {.count = json_array_size(ranks)};

	if (!json_is_array(ranks) || !json_is_boolean(was_right) || !*string_of(verified, "run"))
		return false;
	v.run = xstrdup(string_of(verified, "run"));
	v.ranks = xcalloc(v.count + 1, sizeof(*v.ranks));
	for (size_t i = 0; i < v.count; i++)
		v.ranks[i].state = state_of(string_of(json_array_get(ranks, i), "state"));
	put_escaped(buf, "Run ", string_of(verified, "run"));
	if (*string_of(verified, "host"))
		put_escaped(buf, " on ", string_of(verified, "host"));
	strbuf_puts(buf, " has ended; --verify found");
	if (*string_of(verified, "date"))
		put_escaped(buf, " at ", string_of(verified, "date"));
	strbuf_puts(buf, ": ");
	verify_verdict(buf, &v);
	strbuf_puts(buf, "\n");
	put_findings(buf, json_object_get(verified, "findings"));
	*right = json_is_true(was_right);
	free(v.run);
	free(v.ranks);
	return true;
}

void verify_past_end(struct strbuf *buf, const char *end, const char *log, const char *lines)
{
	if (log && lines)
		strbuf_printf(buf, "Run %s.\n%s ends:\n%s", end, log, lines);
	else
		strbuf_printf(buf, "Run %s%s%s.\n", end, log ? "; see " : "", log ? log : "");
}
