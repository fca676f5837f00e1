/* SPDX-License-Identifier: MIT */
/* See dialects.h. */
#include "visible/dialects.h"

#include <strings.h>

/* strtol in base 0 over the whole token. */
static enum visible_end rocr_number(struct span token, long long *value)
{
	char copy[32], *end;

	if (!token.length)
		return END_EMPTY;
	if (token.length >= sizeof(copy))
		return END_NO_DEVICE;
	memcpy(copy, token.text, token.length);
	copy[token.length] = '\0';
	*value = strtoll(copy, &end, 0);
	if (end == copy)
		return END_NO_NUMBER;
	if (*end)
		return END_GARBAGE;
	return *value < 0 ? END_NEGATIVE : END_NOT;
}

int64_t amd_rocr_index(struct span token)
{
	long long value;

	return rocr_number(span_trim(token), &value) == END_NOT ? value : -1;
}

static enum visible_end match_rocr_index(const struct matcher *matcher, struct span token,
					 struct visible_entry *entry)
{
	long long value;
	enum visible_end end = rocr_number(token, &value);

	return end == END_NOT ? take_index(matcher, value, NULL, entry) : end;
}

static enum visible_end match_hip_index(const struct matcher *matcher, struct span token,
					struct visible_entry *entry)
{
	struct visible_number n = visible_number(token);

	if (n.negative)
		return END_NEGATIVE;
	/* The token must be the number's own decimal form. */
	if (span_number(token, INT64_MAX) < 0 || (token.length > 1 && *token.text == '0'))
		return token.length ? n.digits ? END_GARBAGE : END_NO_NUMBER : END_EMPTY;
	return take_index(matcher, n.value, NULL, entry);
}

enum visible_end amd_match_rocr(const struct matcher *matcher, struct span token,
				struct visible_entry *entry)
{
	struct span s = span_trim(token);

	if (s.length >= 4 && strncasecmp(s.text, "GPU-", 4) == 0)
		return uuids_find_gpu(&matcher->names, s, &entry->gpu);
	return match_rocr_index(matcher, s, entry);
}

enum visible_end amd_match_hip(const struct matcher *matcher, struct span token,
			       struct visible_entry *entry)
{
	if (memmem(token.text, token.length, "GPU-", 4))
		return uuids_find_substring(&matcher->names, token, &entry->gpu);
	return match_hip_index(matcher, token, entry);
}
