/* SPDX-License-Identifier: MIT */
/* See dialects.h. */
#include "visible/dialects.h"

#include "visible/python_number.h"

/* nvitop asks NVML for the number, and ctypes passes its last 32 bits. */
int64_t nvitop_index(struct span token)
{
	uint32_t value = 0;

	if (!token.length || !is_digit(*token.text) || python_raises(token))
		return -1;
	for (size_t i = 0; i < token.length && is_digit(token.text[i]); i++)
		value = value * 10 + (uint32_t)(token.text[i] - '0');
	return value;
}

/* NVML finds a device by its whole UUID, or by the legacy name with its GPU's whole UUID. */
static bool is_whole(const struct visible_view *view, struct span token,
		     const struct visible_entry *entry)
{
	const struct visible_mig *mig = entry->mig >= 0 ? &view->migs[entry->mig] : NULL;
	const char *gpu = view->uuids[mig ? mig->gpu : entry->gpu], *name = mig ? mig->uuid : gpu;
	struct span rest = {token.text + 4, token.length - 4};

	if (name && span_is(token, name))
		return true;
	if (!mig || !gpu || !span_starts(rest, gpu))
		return false;
	rest = span_behind(rest, strlen(gpu));
	return span_is(rest, FORMAT("/%d/%d", mig->gi, mig->ci));
}

/* Keeps a leading sign and the digits of a token that begins with them. */
enum visible_end nvitop_match(const struct matcher *matcher, struct span token,
			      const struct visible_entry *first, struct visible_entry *entry)
{
	struct span s = span_trim(token);
	int64_t index = nvitop_index(s);
	enum visible_end end;

	if (index >= 0)
		return take_index(matcher, index, first, entry);
	if (s.length > 1 && (*s.text == '+' || *s.text == '-') && is_digit(s.text[1]))
		return *s.text == '-' ? END_NEGATIVE : END_NO_NUMBER;
	if (!span_starts(s, "GPU-") && !span_starts(s, "MIG-"))
		return s.length ? END_NO_NUMBER : END_EMPTY;
	end = match_uuid(matcher, s, first, entry);
	return end == END_NOT && !is_whole(matcher->view, s, entry) ? END_NO_UUID : end;
}
