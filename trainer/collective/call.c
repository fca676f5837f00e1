/* SPDX-License-Identifier: MIT */
/* See call.h. */
#include "collective/call.h"

#include <stdio.h>
#include <string.h>

struct call call_of(enum call_kind kind, int root, size_t bytes, const char *what)
{
	struct call call = {.kind = (int32_t)kind, .root = root, .bytes = bytes};

	snprintf(call.what, sizeof(call.what), "%s", what);
	return call;
}

struct call_words call_words(int kind, const char *what)
{
	static const char *const names[] = {
		"nothing",    "start", "all-reduce", "broadcast",
		"all-gather", "send",  "receive",    "wait for its device"};
	const char *name = kind >= 0 && kind <= CALL_DEVICE ? names[kind] : "?";
	struct call_words words;

	if (kind == CALL_DEVICE && *what)
		name = "";
	snprintf(words.text, sizeof(words.text), "%s%s%.*s", name, *name && *what ? " of " : "",
		 CALL_TEXT - 1, what);
	return words;
}

bool call_same(const struct call *a, const struct call *b)
{
	return a->kind == b->kind && a->root == b->root && a->bytes == b->bytes &&
	       strcmp(a->what, b->what) == 0;
}

struct call_sentence call_difference(int rank, const struct call *call, const struct call *first)
{
	struct call_sentence s;
	struct call_words here = call_words(first->kind, first->what);
	struct call_words there = call_words(call->kind, call->what);

	if (strcmp(here.text, there.text) != 0)
		snprintf(s.text, sizeof(s.text), "rank %d is in %s while rank 0 is in %s", rank,
			 there.text, here.text);
	else if (call->bytes != first->bytes)
		snprintf(s.text, sizeof(s.text), "rank %d has %llu bytes in %s and rank 0 has %llu",
			 rank, (unsigned long long)call->bytes, there.text,
			 (unsigned long long)first->bytes);
	else
		snprintf(s.text, sizeof(s.text),
			 "rank %d takes rank %d for the root of %s, rank 0 rank %d", rank,
			 call->root, there.text, first->root);
	return s;
}

struct call_sentence call_difference_message(int to, const struct call *wanted, int from,
					     const struct call *sent)
{
	struct call_sentence s;

	snprintf(s.text, sizeof(s.text),
		 "rank %d waits for %llu bytes of %s, and rank %d sent %llu bytes of %.*s", to,
		 (unsigned long long)wanted->bytes, wanted->what, from,
		 (unsigned long long)sent->bytes, CALL_TEXT - 1, sent->what);
	return s;
}

void call_late_add(struct call_late *late, const char *who, int doing)
{
	size_t used = strlen(late->names);
	char where[sizeof(struct call_words) + 8] = "";

	if (doing != CALL_NONE)
		snprintf(where, sizeof(where), ", in %s", call_words(doing, "").text);
	if (late->count++ < 4)
		snprintf(late->names + used, sizeof(late->names) - used, "%s%s%s", used ? "; " : "",
			 who, where);
}

struct call_sentence call_late_text(const struct call_late *late, int timeout_ms,
				    const struct call *doing, int rank)
{
	struct call_words words = call_words(doing->kind, doing->what);
	struct call_sentence s;
	char more[32] = "";

	if (late->count > 4)
		snprintf(more, sizeof(more), " and %d more", late->count - 4);
	if (late->count > 0)
		snprintf(s.text, sizeof(s.text),
			 "%s%s did not come within %d ms to %s, where rank %d waits: find what "
			 "delays it, or give a longer --timeout",
			 late->names, more, timeout_ms, words.text, rank);
	else
		snprintf(s.text, sizeof(s.text),
			 "%s was not done within %d ms, and all ranks wait for their devices: look "
			 "at the devices and what connects them, or give a longer --timeout",
			 words.text, timeout_ms);
	return s;
}
