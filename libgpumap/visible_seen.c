/* SPDX-License-Identifier: MIT */
#include "visible_seen.h"

uint64_t span_hash(struct span text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < text.length; i++)
		h = (h ^ (unsigned char)text.text[i]) * UINT64_C(0x100000001b3);
	return h;
}

bool seen_before(struct seen *seen, size_t slots, uint64_t key, struct span text, size_t number,
		 size_t *earlier)
{
	size_t slot = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (slots - 1);

	for (;; slot = (slot + 1) & (slots - 1)) {
		struct seen *s = &seen[slot];

		if (!s->number) {
			*s = (struct seen){key, number + 1, text};
			return false;
		}
		if (s->key == key && s->text.length == text.length &&
		    (!text.length || memcmp(s->text.text, text.text, text.length) == 0)) {
			*earlier = s->number - 1;
			return true;
		}
	}
}
