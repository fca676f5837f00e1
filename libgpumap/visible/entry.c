/* SPDX-License-Identifier: MIT */
/* See entry.h. */
#include "visible/entry.h"

#include "gpumap.h"

#include "memory.h"
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

enum visible_end match_uuid(const struct matcher *matcher, struct span token,
			    const struct visible_entry *first, struct visible_entry *entry)
{
	if (first && first->ordinal >= 0)
		return END_OTHER_KIND;
	if (span_starts(token, "MIG-"))
		return uuids_find_mig(&matcher->names, token, &entry->mig);
	return uuids_find_gpu(&matcher->names, token, &entry->gpu);
}

enum visible_end take_index(const struct matcher *matcher, int64_t index,
			    const struct visible_entry *first, struct visible_entry *entry)
{
	if (first && first->ordinal < 0)
		return END_OTHER_KIND;
	if (index > INT32_MAX || index >= matcher->view->count)
		return END_NO_DEVICE;
	entry->ordinal = (int)index;
	return END_NOT;
}

enum visible_end match_index(const struct matcher *matcher, struct span token,
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
