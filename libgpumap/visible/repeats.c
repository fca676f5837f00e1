/* SPDX-License-Identifier: MIT */
/* See repeats.h. */
#include "visible/repeats.h"

#include "hash.h"
#include "memory.h"

/* An entry of the hash table. */
struct seen {
	uint64_t key;
	size_t number; /* of the entry, + 1; 0: free */
	struct span text;
};

bool matcher_make_table(struct matcher *matcher, size_t entries)
{
	matcher->slots = 16;
	while (matcher->slots < entries * 2)
		matcher->slots *= 2;
	matcher->seen = xcalloc(matcher->slots, sizeof(*matcher->seen));
	return matcher->seen;
}

void matcher_forget(struct matcher *matcher)
{
	memset(matcher->seen, 0, matcher->slots * sizeof(*matcher->seen));
}

/* Remembers entry `number` in the table of `slots` (a power of two, twice the entries); true:
 * *earlier had the same key and text. If a text is given it is compared, so that equal hashes are
 * no fault. */
static bool seen_before(struct seen *seen, size_t slots, uint64_t key, struct span text,
			size_t number, size_t *earlier)
{
	size_t slot = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (slots - 1);

	for (;; slot = (slot + 1) & (slots - 1)) {
		struct seen *s = &seen[slot];

		if (!s->number) {
			*s = (struct seen){key, number + 1, text};
			return false;
		}
		if (s->key == key && span_same(s->text, text)) {
			*earlier = s->number - 1;
			return true;
		}
	}
}

/* AMD's lists may mix kinds, and a number refers to the view: 1 may repeat a UUID. */
static bool amd_mixes(const struct matcher *matcher)
{
	return (matcher->dialect == DIALECT_ROCR || matcher->dialect == DIALECT_HIP) &&
	       matcher->view->count == (int64_t)matcher->view->uuid_count;
}

bool matcher_repeats(const struct matcher *matcher, size_t number, struct span token,
		     const struct visible_entry *entry, size_t *earlier)
{
	bool mixed = amd_mixes(matcher);
	uint64_t kind = entry->ordinal >= 0 ? 0 : entry->gpu >= 0 ? 1 : 2;
	int value = kind == 0 ? entry->ordinal : kind == 1 ? entry->gpu : entry->mig;

	if (matcher->dialect == DIALECT_NVITOP) {
		/* nvitop compares the text that it keeps: 0 and 00 are two entries. */
		struct span s = span_trim(token);

		if (kind == 0)
			s.length -= visible_number(s).rest.length;
		return seen_before(matcher->seen, matcher->slots,
				   hash_bytes(HASH_START, s.text, s.length), s, number, earlier);
	}
	return seen_before(matcher->seen, matcher->slots,
			   (mixed && kind == 1 ? 0 : kind) << 32 | (uint32_t)value,
			   (struct span){"", 0}, number, earlier);
}

bool matcher_repeats_text(const struct matcher *matcher, size_t number, struct span token,
			  bool uuids, size_t *earlier)
{
	struct visible_number n = visible_number(token);
	struct span s = token;

	if (!uuids) {
		/* A negative number, or none at all, ends the list before it can be a repeat. */
		if (!n.digits || n.negative)
			return false;
		s = n.number.length ? n.number : (struct span){"0", 1};
	}
	return seen_before(matcher->seen, matcher->slots, hash_bytes(HASH_START, s.text, s.length),
			   s, number, earlier);
}

enum repeat_effect repeat_effect(enum dialect dialect)
{
	return dialect == DIALECT_HIP    ? REPEAT_SKIPPED
	       : dialect == DIALECT_ROCR ? REPEAT_ENDS
					 : REPEAT_EMPTIES;
}
