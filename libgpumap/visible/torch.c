/* SPDX-License-Identifier: MIT */
/* See dialects.h. */
#include "visible/dialects.h"

#include "visible/python_number.h"
#include "visible/repeats.h"

static bool is_uuid(const struct matcher *matcher, struct span token)
{
	return span_starts(token, matcher->torch_migs ? "MIG-" : "GPU-");
}

enum visible_end torch_match(const struct matcher *matcher, struct span token,
			     const struct visible_entry *first, struct visible_entry *entry)
{
	if (matcher->torch_uuids)
		return is_uuid(matcher, token) ? match_uuid(matcher, token, first, entry)
					       : END_OTHER_KIND;
	return python_raises(token) ? END_RAISES : match_index(matcher, token, first, entry);
}

void torch_find_late_end(struct visible_list *late, struct matcher *matcher, struct span value)
{
	struct span rest = value, plain = matcher->ascii, written, token;
	const bool uuids = matcher->torch_uuids;

	matcher_forget(matcher);
	for (size_t number = 0; span_split(&rest, ',', &written) && span_split(&plain, ',', &token);
	     number++) {
		struct visible_number n = visible_number(token);
		bool raises = matcher->dialect == DIALECT_TORCH && !uuids && python_raises(token);
		size_t earlier = 0;

		if (raises || matcher_repeats_text(matcher, number, token, uuids, &earlier)) {
			late->end = raises ? END_RAISES : END_DUPLICATE;
			late->end_entry = number;
			late->end_text = written;
			late->end_earlier = earlier;
			return;
		}
		if (uuids ? !is_uuid(matcher, token) : !n.digits || n.negative)
			return;
	}
}
