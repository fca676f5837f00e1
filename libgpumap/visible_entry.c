/* SPDX-License-Identifier: MIT */
#include "visible_entry.h"

#include <strings.h>

#include "gpumap.h"

#include "hash.h"
#include "visible_python.h"
#include "visible_repeats.h"

struct visible_number visible_number(struct span s)
{
	struct visible_number n = {0};

	while (s.length && is_blank(*s.text))
		s = (struct span){s.text + 1, s.length - 1};
	if (s.length && (*s.text == '+' || *s.text == '-')) {
		n.negative = *s.text == '-';
		s = (struct span){s.text + 1, s.length - 1};
	}
	n.number = (struct span){s.text, 0};
	for (; s.length && is_digit(*s.text); s.text++, s.length--) {
		n.digits = true;
		if (n.number.length == 0 && *s.text == '0')
			n.number.text = s.text + 1; /* a leading zero */
		else
			n.number.length++;
		if (n.value > (INT64_MAX - 9) / 10)
			n.value = INT64_MAX;
		else
			n.value = n.value * 10 + (*s.text - '0');
	}
	n.negative = n.negative && n.number.length;
	n.rest = s;
	return n;
}

static int read_as_python(struct matcher *matcher, struct span value)
{
	matcher->copy = malloc(value.length + 1);
	if (!matcher->copy)
		return GPUMAP_ENOMEM;
	matcher->ascii = (struct span){matcher->copy, python_plain(matcher->copy, value)};
	return GPUMAP_OK;
}

int matcher_init(struct matcher *matcher, enum dialect dialect, const struct visible_view *view,
		 struct span value)
{
	size_t entries = 1;
	bool uuids = false;
	int r = GPUMAP_OK;

	*matcher = (struct matcher){.dialect = dialect, .view = view, .slots = 16};
	matcher->torch_migs = span_starts(value, "MIG-");
	matcher->torch_uuids = matcher->torch_migs || span_starts(value, "GPU-");
	for (size_t i = 0; i < value.length; i++) {
		entries += value.text[i] == ',';
		uuids = uuids || value.text[i] == '-';
	}
	if (entries > GPUMAP_MAX_DEVICES)
		return GPUMAP_ELIMIT;
	while (matcher->slots < entries * 2)
		matcher->slots *= 2;
	matcher->seen = calloc(matcher->slots, sizeof(*matcher->seen));
	if (!matcher->seen)
		return GPUMAP_ENOMEM;
	matcher->ascii = value;
	if (dialect == DIALECT_TORCH && !matcher->torch_uuids)
		r = read_as_python(matcher, value);
	if (r == GPUMAP_OK && uuids)
		r = names_sort(matcher);
	if (r != GPUMAP_OK)
		matcher_free(matcher);
	return r;
}

void matcher_free(struct matcher *matcher)
{
	free(matcher->by_uuid);
	free(matcher->by_mig);
	free(matcher->copy);
	free(matcher->seen);
}

void matcher_forget(struct matcher *matcher)
{
	memset(matcher->seen, 0, matcher->slots * sizeof(*matcher->seen));
}

static enum visible_end match_uuid(const struct matcher *matcher, struct span token,
				   const struct visible_entry *first, struct visible_entry *entry)
{
	bool mixes = matcher->dialect == DIALECT_ROCR || matcher->dialect == DIALECT_HIP;

	if (first && first->ordinal >= 0 && !mixes)
		return END_OTHER_KIND;
	if (matcher->dialect == DIALECT_HIP)
		return names_find_substring(matcher, token, &entry->gpu);
	if (span_starts(token, "MIG-"))
		return names_find_mig(matcher, token, &entry->mig);
	return names_find_uuid(matcher, token, &entry->gpu);
}

static enum visible_end match_index(const struct matcher *matcher, struct span token,
				    const struct visible_entry *first, struct visible_entry *entry)
{
	struct visible_number n = visible_number(token);

	if (!span_trim(token).length)
		return END_EMPTY;
	if (!n.digits)
		return END_NO_NUMBER;
	if (n.negative)
		return END_NEGATIVE;
	if (first && first->ordinal < 0)
		return END_OTHER_KIND;
	if (n.value > INT32_MAX || n.value >= matcher->view->count)
		return END_NO_DEVICE;
	entry->ordinal = (int)n.value;
	return END_NOT;
}

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

int64_t visible_index(enum dialect dialect, struct span token)
{
	struct visible_number n = visible_number(token);
	long long value;

	if (dialect == DIALECT_ROCR)
		return rocr_number(span_trim(token), &value) == END_NOT ? value : -1;
	return n.digits && !n.negative ? n.value : -1;
}

static enum visible_end match_rocr_index(const struct matcher *matcher, struct span token,
					 struct visible_entry *entry)
{
	long long value;
	enum visible_end end = rocr_number(token, &value);

	if (end != END_NOT)
		return end;
	if (value >= matcher->view->count || value > INT32_MAX)
		return END_NO_DEVICE;
	entry->ordinal = (int)value;
	return END_NOT;
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
	if (n.value >= matcher->view->count || n.value > INT32_MAX)
		return END_NO_DEVICE;
	entry->ordinal = (int)n.value;
	return END_NOT;
}

static enum visible_end match_torch(const struct matcher *matcher, struct span token,
				    const struct visible_entry *first, struct visible_entry *entry)
{
	if (!matcher->torch_uuids && python_raises(token))
		return END_RAISES;
	if (!matcher->torch_uuids)
		return match_index(matcher, token, first, entry);
	if (!span_starts(token, matcher->torch_migs ? "MIG-" : "GPU-"))
		return END_OTHER_KIND;
	return match_uuid(matcher, token, first, entry);
}

/* Keeps a leading sign and the digits of a token that begins with them. */
static enum visible_end match_nvitop(const struct matcher *matcher, struct span token,
				     const struct visible_entry *first, struct visible_entry *entry)
{
	struct span s = span_trim(token);

	if (s.length && is_digit(*s.text))
		return match_index(matcher, s, first, entry);
	if (s.length > 1 && (*s.text == '+' || *s.text == '-') && is_digit(s.text[1]))
		return *s.text == '-' ? END_NEGATIVE : END_NO_NUMBER;
	if (span_starts(s, "GPU-") || span_starts(s, "MIG-"))
		return match_uuid(matcher, s, first, entry);
	return s.length ? END_NO_NUMBER : END_EMPTY;
}

enum visible_end matcher_match(const struct matcher *matcher, struct span token,
			       const struct visible_entry *first, struct visible_entry *entry)
{
	struct span s;

	switch (matcher->dialect) {
	case DIALECT_TORCH:
		return match_torch(matcher, token, first, entry);
	case DIALECT_NVITOP:
		return match_nvitop(matcher, token, first, entry);
	case DIALECT_ROCR:
		s = span_trim(token);
		if (s.length >= 4 && strncasecmp(s.text, "GPU-", 4) == 0)
			return match_uuid(matcher, s, first, entry);
		return match_rocr_index(matcher, s, entry);
	case DIALECT_HIP:
		if (memmem(token.text, token.length, "GPU-", 4))
			return match_uuid(matcher, token, first, entry);
		return match_hip_index(matcher, token, entry);
	case DIALECT_DRIVER:
		break;
	}
	if (span_starts(token, "GPU-") || span_starts(token, "MIG-"))
		return match_uuid(matcher, token, first, entry);
	return match_index(matcher, token, first, entry);
}

bool matcher_repeats(const struct matcher *matcher, size_t number,
		     const struct visible_entry *entry, size_t *earlier)
{
	/* AMD's lists may mix kinds, and a number refers to the view: 1 may repeat a UUID. */
	bool mixed = (matcher->dialect == DIALECT_ROCR || matcher->dialect == DIALECT_HIP) &&
		     matcher->view->count == (int64_t)matcher->view->uuid_count;
	uint64_t kind = entry->ordinal >= 0 ? 0 : entry->gpu >= 0 ? 1 : 2;
	int value = kind == 0 ? entry->ordinal : kind == 1 ? entry->gpu : entry->mig;

	if (matcher->dialect == DIALECT_NVITOP) {
		/* nvitop compares the text that it keeps: 0 and 00 are two entries. */
		struct span s = span_trim(entry->text);

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
