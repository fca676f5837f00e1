/* SPDX-License-Identifier: MIT */
#include "visible_match.h"

#include "gpumap.h"

struct seen {
	uint64_t key;
	size_t number; /* of the entry, + 1; 0: free */
	struct span text;
};

struct sortable {
	const char *uuid;
	int position;
};

static char fold(char c, bool ignore_case)
{
	return ignore_case && c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
}

/* Compares `uuid` with the text, up to the text's length. */
static int compare_prefix(const char *uuid, struct span text, bool ignore_case)
{
	for (size_t i = 0; i < text.length; i++) {
		unsigned char a = (unsigned char)fold(uuid[i], ignore_case);
		unsigned char b = (unsigned char)fold(text.text[i], ignore_case);

		if (a != b)
			return a < b ? -1 : 1;
	}
	return 0;
}

static int whole(const struct sortable *x, const struct sortable *y, bool ignore_case)
{
	return compare_prefix(x->uuid, (struct span){y->uuid, strlen(y->uuid) + 1}, ignore_case);
}

static int by_uuid(const void *a, const void *b)
{
	return whole(a, b, false);
}

static int by_folded_uuid(const void *a, const void *b)
{
	return whole(a, b, true);
}

static int sort_uuids(struct matcher *matcher)
{
	const struct visible_view *view = matcher->view;
	struct sortable *all = malloc((view->uuid_count + 1) * sizeof(*all));

	matcher->by_uuid = malloc((view->uuid_count + 1) * sizeof(*matcher->by_uuid));
	if (!all || !matcher->by_uuid) {
		free(all);
		return GPUMAP_ENOMEM;
	}
	for (size_t i = 0; i < view->uuid_count; i++)
		if (view->uuids[i])
			all[matcher->known++] = (struct sortable){view->uuids[i], (int)i};
	qsort(all, matcher->known, sizeof(*all),
	      matcher->dialect == DIALECT_ROCR ? by_folded_uuid : by_uuid);
	for (size_t i = 0; i < matcher->known; i++)
		matcher->by_uuid[i] = all[i].position;
	free(all);
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
	if (uuids)
		r = sort_uuids(matcher);
	if (r != GPUMAP_OK)
		matcher_free(matcher);
	return r;
}

void matcher_free(struct matcher *matcher)
{
	free(matcher->by_uuid);
	free(matcher->seen);
}

void matcher_forget(struct matcher *matcher)
{
	memset(matcher->seen, 0, matcher->slots * sizeof(*matcher->seen));
}

/* The GPU whose UUID begins with the text: END_NOT and its position in *gpu. */
static enum visible_end find_uuid(const struct matcher *matcher, struct span text, int *gpu)
{
	bool ignore_case = matcher->dialect == DIALECT_ROCR;
	const char **uuids = matcher->view->uuids;
	size_t low = 0, high = matcher->known;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_prefix(uuids[matcher->by_uuid[middle]], text, ignore_case) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == matcher->known ||
	    compare_prefix(uuids[matcher->by_uuid[low]], text, ignore_case) != 0)
		return END_NO_UUID;
	if (low + 1 < matcher->known &&
	    compare_prefix(uuids[matcher->by_uuid[low + 1]], text, ignore_case) == 0)
		return END_AMBIGUOUS;
	*gpu = matcher->by_uuid[low];
	return END_NOT;
}

/* HIP looks for the text anywhere in the UUID and takes the first device. */
static enum visible_end find_substring(const struct matcher *matcher, struct span text, int *gpu)
{
	for (size_t i = 0; i < matcher->view->uuid_count; i++) {
		const char *uuid = matcher->view->uuids[i];

		if (uuid && memmem(uuid, strlen(uuid), text.text, text.length)) {
			*gpu = (int)i;
			return END_NOT;
		}
	}
	return END_NO_UUID;
}

/* MIG-GPU-<uuid>/<GPU instance>/<compute instance>; false: of another form. */
static bool legacy_mig(struct span text, struct span *gpu, int *gi, int *ci)
{
	struct span rest = text, part;

	if (!span_starts(text, "MIG-GPU-") || !memchr(text.text, '/', text.length))
		return false;
	span_split(&rest, '/', gpu);
	*gpu = (struct span){gpu->text + 4, gpu->length - 4};
	if (!span_split(&rest, '/', &part))
		return false;
	*gi = (int)span_number(part, INT32_MAX);
	if (!span_split(&rest, '/', &part))
		return false;
	*ci = (int)span_number(part, INT32_MAX);
	return *gi >= 0 && *ci >= 0 && !rest.text;
}

static enum visible_end find_mig(const struct matcher *matcher, struct span text, int *mig)
{
	const struct visible_view *view = matcher->view;
	int found = -1, gpu = -1, gi = -1, ci = -1;
	struct span gpu_text;
	bool legacy = legacy_mig(text, &gpu_text, &gi, &ci);
	enum visible_end end = legacy ? find_uuid(matcher, gpu_text, &gpu) : END_NOT;

	for (size_t i = 0; i < view->mig_count; i++) {
		const struct visible_mig *m = &view->migs[i];
		bool hit = legacy && gpu >= 0 && m->gpu == gpu && m->gi == gi && m->ci == ci;

		if (!hit && m->uuid)
			hit = compare_prefix(m->uuid, text, false) == 0;
		if (hit && found >= 0)
			return END_AMBIGUOUS;
		if (hit)
			found = (int)i;
	}
	if (found < 0)
		return end == END_AMBIGUOUS ? end : END_NO_UUID;
	*mig = found;
	return END_NOT;
}

static enum visible_end match_uuid(const struct matcher *matcher, struct span token,
				   const struct visible_entry *first, struct visible_entry *entry)
{
	bool mixes = matcher->dialect == DIALECT_ROCR || matcher->dialect == DIALECT_HIP;

	if (first && first->ordinal >= 0 && !mixes)
		return END_OTHER_KIND;
	if (matcher->dialect == DIALECT_HIP)
		return find_substring(matcher, token, &entry->gpu);
	if (span_starts(token, "MIG-"))
		return find_mig(matcher, token, &entry->mig);
	return find_uuid(matcher, token, &entry->gpu);
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
		if (s.length >= 4 && compare_prefix("GPU-", (struct span){s.text, 4}, true) == 0)
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

/* The text is compared as well where it is given, so a hash never decides alone. */
static bool remember(const struct matcher *matcher, uint64_t key, struct span text, size_t number,
		     size_t *earlier)
{
	size_t slot = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (matcher->slots - 1);

	for (;; slot = (slot + 1) & (matcher->slots - 1)) {
		struct seen *s = &matcher->seen[slot];

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

static uint64_t hash(struct span text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < text.length; i++)
		h = (h ^ (unsigned char)text.text[i]) * UINT64_C(0x100000001b3);
	return h;
}

bool matcher_repeats(const struct matcher *matcher, size_t number,
		     const struct visible_entry *entry, size_t *earlier)
{
	/* AMD's lists mix kinds, and AMD numbers as the view does: 1 may repeat a UUID. */
	bool mixed = (matcher->dialect == DIALECT_ROCR || matcher->dialect == DIALECT_HIP) &&
		     matcher->view->count == (int64_t)matcher->view->uuid_count;
	uint64_t kind = entry->ordinal >= 0 ? 0 : entry->gpu >= 0 ? 1 : 2;
	int value = kind == 0 ? entry->ordinal : kind == 1 ? entry->gpu : entry->mig;

	if (matcher->dialect == DIALECT_NVITOP) {
		/* nvitop compares what it keeps of the text: 0 and 00 are two entries. */
		struct span s = span_trim(entry->text);

		if (kind == 0)
			s.length -= visible_number(s).rest.length;
		return remember(matcher, hash(s), s, number, earlier);
	}
	return remember(matcher, (mixed && kind == 1 ? 0 : kind) << 32 | (uint32_t)value,
			(struct span){"", 0}, number, earlier);
}

bool matcher_repeats_text(const struct matcher *matcher, size_t number, struct span token,
			  bool uuids, size_t *earlier)
{
	struct visible_number n = visible_number(token);
	struct span s = token;

	if (!uuids) {
		/* A negative number or none at all ends the list before it can repeat. */
		if (!n.digits || n.negative)
			return false;
		s = n.number.length ? n.number : (struct span){"0", 1};
	}
	return remember(matcher, hash(s), s, number, earlier);
}
