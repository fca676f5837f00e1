/* SPDX-License-Identifier: MIT */
/* What a rank is doing, as others compare it with theirs and as messages name it. */
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
	CALL_DEVICE /* waits for its device; `what` is all that is said of it */
};

struct call {
	int32_t kind, root;
	uint64_t bytes;
	char what[CALL_TEXT]; /* of what is sent, cut */
};

struct call_words {
	char text[CALL_TEXT + 32];
};

struct call call_of(enum call_kind kind, int root, size_t bytes, const char *what);
/* "all-reduce of gradients, bucket 0" */
struct call_words call_words(int kind, const char *what);

bool call_same(const struct call *a, const struct call *b);
/* How the call of RANK differs from rank 0's: one sentence to text. */
void call_difference(char *text, size_t size, int rank, const struct call *call,
		     const struct call *first);
/* The same of a message, and of who waits for another one. */
void call_difference_message(char *text, size_t size, int to, const struct call *wanted, int from,
			     const struct call *sent);

/* Ranks that are late, as messages name them. Begin with {.count = 0}. */
struct call_late {
	char names[200]; /* of the first four */
	int count;
};

/* `who` is "rank 3"; what it is doing instead, a call_kind, or CALL_NONE where that is not known.
 */
void call_late_add(struct call_late *late, const char *who, int doing);
/* One sentence to text: who did not come in time to what `rank` is doing. */
void call_late_text(char *text, size_t size, const struct call_late *late, int timeout_ms,
		    const struct call *doing, int rank);
/* The same where nobody is late: all wait for their devices. */
void call_stuck_text(char *text, size_t size, int timeout_ms, const struct call *doing);

#endif
