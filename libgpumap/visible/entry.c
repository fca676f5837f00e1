/* SPDX-License-Identifier: MIT */
/* See entry.h. */
#include "visible/entry.h"

#include <stdio.h>

#include "gpumap.h"

#include "memory.h"
#include "visible/amd.h"
#include "visible/mig.h"
#include "visible/python_number.h"
#include "visible/repeats.h"

static int read_as_python(struct matcher *matcher, struct span value)
{
	matcher->copy = xmalloc(value.length + 1);
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

	*matcher = (struct matcher){.dialect = dialect, .view = view};
	matcher->torch_migs = span_starts(value, "MIG-");
	matcher->torch_uuids = matcher->torch_migs || span_starts(value, "GPU-");
	for (size_t i = 0; i < value.length; i++) {
		entries += value.text[i] == ',';
		uuids = uuids || value.text[i] == '-';
	}
	if (entries > GPUMAP_MAX_DEVICES)
		return GPUMAP_ELIMIT;
	if (!matcher_make_table(matcher, entries))
		return GPUMAP_ENOMEM;
	matcher->ascii = value;
	if (dialect == DIALECT_NVITOP || (dialect == DIALECT_TORCH && !matcher->torch_uuids))
		r = read_as_python(matcher, value);
	if (r == GPUMAP_OK && uuids)
		r = uuids_sort(&matcher->names, view, dialect == DIALECT_ROCR);
	if (r != GPUMAP_OK)
		matcher_free(matcher);
	return r;
}

void matcher_free(struct matcher *matcher)
{
	uuids_free(&matcher->names);
	free(matcher->copy);
	free(matcher->seen);
}

static enum visible_end match_uuid(const struct matcher *matcher, struct span token,
				   const struct visible_entry *first, struct visible_entry *entry)
{
	if (first && first->ordinal >= 0)
		return END_OTHER_KIND;
	if (span_starts(token, "MIG-"))
		return uuids_find_mig(&matcher->names, token, &entry->mig);
	return uuids_find_gpu(&matcher->names, token, &entry->gpu);
}

static enum visible_end take_index(const struct matcher *matcher, int64_t index,
				   const struct visible_entry *first, struct visible_entry *entry)
{
	if (first && first->ordinal < 0)
		return END_OTHER_KIND;
	if (index > INT32_MAX || index >= matcher->view->count)
		return END_NO_DEVICE;
	entry->ordinal = (int)index;
	return END_NOT;
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
	return take_index(matcher, n.value, first, entry);
}

/* nvitop asks NVML for the number, and ctypes passes its last 32 bits. -1: it is none. */
static int64_t nvitop_index(struct span token)
{
	uint32_t value = 0;

	if (!token.length || !is_digit(*token.text) || python_raises(token))
		return -1;
	for (size_t i = 0; i < token.length && is_digit(token.text[i]); i++)
		value = value * 10 + (uint32_t)(token.text[i] - '0');
	return value;
}

int64_t visible_index(enum dialect dialect, struct span token)
{
	struct visible_number n = visible_number(token);

	if (dialect == DIALECT_ROCR)
		return amd_rocr_index(token);
	if (dialect == DIALECT_NVITOP)
		return nvitop_index(span_trim(token));
	return n.digits && !n.negative ? n.value : -1;
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

/* NVML finds a device by its whole UUID, or by the legacy name with its GPU's whole UUID. */
static bool is_whole(const struct visible_view *view, struct span token,
		     const struct visible_entry *entry)
{
	const struct visible_mig *mig = entry->mig >= 0 ? &view->migs[entry->mig] : NULL;
	const char *gpu = view->uuids[mig ? mig->gpu : entry->gpu], *name = mig ? mig->uuid : gpu;
	struct span rest = {token.text + 4, token.length - 4};
	char instance[32];

	if (name && span_is(token, name))
		return true;
	if (!mig || !gpu || !span_starts(rest, gpu))
		return false;
	rest = (struct span){rest.text + strlen(gpu), rest.length - strlen(gpu)};
	snprintf(instance, sizeof(instance), "/%d/%d", mig->gi, mig->ci);
	return span_is(rest, instance);
}

/* Keeps a leading sign and the digits of a token that begins with them. */
static enum visible_end match_nvitop(const struct matcher *matcher, struct span token,
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

enum visible_end matcher_match(const struct matcher *matcher, struct span token,
			       const struct visible_entry *first, struct visible_entry *entry)
{
	switch (matcher->dialect) {
	case DIALECT_TORCH:
		return match_torch(matcher, token, first, entry);
	case DIALECT_NVITOP:
		return match_nvitop(matcher, token, first, entry);
	case DIALECT_ROCR:
		return amd_match_rocr(matcher, token, entry);
	case DIALECT_HIP:
		return amd_match_hip(matcher, token, entry);
	case DIALECT_DRIVER:
		break;
	}
	if (span_starts(token, "GPU-") || span_starts(token, "MIG-"))
		return match_uuid(matcher, token, first, entry);
	return match_index(matcher, token, first, entry);
}
