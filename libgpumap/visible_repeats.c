/* SPDX-License-Identifier: MIT */
#include "visible_repeats.h"

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
		if (s->key == key && span_same(s->text, text)) {
			*earlier = s->number - 1;
			return true;
		}
	}
}
