/* SPDX-License-Identifier: MIT */
/* Finds the MIG instance that a name of a list means (rules V6 and V9). Which instances a driver
 * shows is in view_mig.c. */
#include "visible/uuid.h"

/* Parses MIG-GPU-<uuid>/<GPU instance>/<compute instance>. False: it has another form. */
static bool legacy_mig(struct span text, struct span *gpu, int *gi, int *ci)
{
	struct span rest = text, part;

	if (!span_starts(text, "MIG-GPU-") || !memchr(text.text, '/', text.length))
		return false;
	span_split(&rest, '/', gpu);
	*gpu = span_behind(*gpu, 4);
	if (!span_split(&rest, '/', &part))
		return false;
	*gi = (int)span_number(part, INT32_MAX);
	if (!span_split(&rest, '/', &part))
		return false;
	*ci = (int)span_number(part, INT32_MAX);
	return *gi >= 0 && *ci >= 0 && !rest.text;
}

/* The first instance of this GPU; instances are grouped by their GPU. */
static size_t first_mig(const struct visible_view *view, int gpu)
{
	return FIRST_PLACE(i, view->mig_count, view->migs[i].gpu < gpu);
}

/* The first of the sorted instances whose UUID begins with the text. */
static size_t first_mig_name(const struct uuid_names *names, struct span text)
{
	const struct visible_mig *migs = names->view->migs;

	return FIRST_PLACE(i, names->known_migs,
			   strncmp(migs[names->by_mig[i]].uuid, text.text, text.length) < 0);
}

enum visible_end uuids_find_mig(const struct uuid_names *names, struct span text, int *mig)
{
	const struct visible_view *view = names->view;
	int found = -1, gpu = -1, gi = -1, ci = -1;
	struct span gpu_text;
	bool legacy = legacy_mig(text, &gpu_text, &gi, &ci);
	enum visible_end end = legacy ? uuids_find_gpu(names, gpu_text, &gpu) : END_NOT;

	for (size_t i = gpu >= 0 ? first_mig(view, gpu) : view->mig_count;
	     i < view->mig_count && view->migs[i].gpu == gpu; i++)
		if (view->migs[i].gi == gi && view->migs[i].ci == ci)
			found = (int)i;
	for (size_t i = first_mig_name(names, text); i < names->known_migs; i++) {
		if (strncmp(view->migs[names->by_mig[i]].uuid, text.text, text.length) != 0)
			break;
		if (found >= 0 && found != names->by_mig[i])
			return END_AMBIGUOUS;
		found = names->by_mig[i];
	}
	if (found < 0)
		return end == END_AMBIGUOUS ? end : END_NO_UUID;
	*mig = found;
	return END_NOT;
}
