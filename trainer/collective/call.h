/* SPDX-License-Identifier: MIT */
/* What a rank is doing, for the comparison between ranks and for messages. */
#ifndef TRAIN_COLLECTIVE_CALL_H
#define TRAIN_COLLECTIVE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CALL_TEXT = 96 };

enum call_kind {
	CALL_NONE,
	CALL_OPEN,
	CALL_SUM,
	CALL_BROADCAST,
	CALL_GATHER,
	CALL_SEND,
	CALL_RECEIVE,
	CALL_DEVICE /* waits for its device; messages have only `what` */
};

struct call {
	int32_t kind, root;
	uint64_t bytes;
	char what[CALL_TEXT]; /* of what is sent, cut */
};

struct call_words {
	char text[CALL_TEXT + 32];
};

/* One sentence. */
struct call_sentence {
	char text[512];
};

struct call call_of(enum call_kind kind, int root, size_t bytes, const char *what);
/* "all-reduce of gradients, bucket 0" */
struct call_words call_words(int kind, const char *what);

bool call_same(const struct call *a, const struct call *b);
/* How the call of RANK differs from rank 0's. */
struct call_sentence call_difference(int rank, const struct call *call, const struct call *first);
/* The same for a message, and for a rank that waits for another one. */
struct call_sentence call_difference_message(int to, const struct call *wanted, int from,
					     const struct call *sent);

/* Ranks that are late, as messages name them. Begin with {.count = 0}. */
struct call_late {
	char names[200]; /* of the first four */
	int count;
};

/* `who` is "rank 3"; the last argument is what it is doing instead, or CALL_NONE if that is not
 * known. */
void call_late_add(struct call_late *late, const char *who, int doing);
/* The ranks that did not come in time for the call of `rank`; if none is late, all wait for their
 * devices. */
struct call_sentence call_late_text(const struct call_late *late, int timeout_ms,
				    const struct call *doing, int rank);

#endif
