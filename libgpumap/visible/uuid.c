/* SPDX-License-Identifier: MIT */
/* Finds GPUs by UUID, or a beginning of it: rule V6. */
#include "visible/uuid.h"

#include "gpumap.h"
#include "memory.h"

struct sortable {
	const char *uuid;
	int position;
};

static unsigned char fold(char c)
{
	return (unsigned char)(c >= 'a' && c <= 'z' ? c - 32 : c);
}

/* Compares `uuid` with the text, up to the text's length. */
static int compare_prefix(const char *uuid, struct span text, bool ignore_case)
{
	if (!ignore_case)
		return strncmp(uuid, text.text, text.length);
	for (size_t i = 0; i < text.length; i++) {
		unsigned char a = fold(uuid[i]), b = fold(text.text[i]);

		if (a != b)
			return a < b ? -1 : 1;
		if (!a) /* of a list with a NUL in it, the rest is no UUID */
			return i + 1 < text.length ? -1 : 0;
	}
	return 0;
}

static int by_uuid(const void *a, const void *b)
{
	return strcmp(((const struct sortable *)a)->uuid, ((const struct sortable *)b)->uuid);
}

static int by_folded_uuid(const void *a, const void *b)
{
	const char *x = ((const struct sortable *)a)->uuid, *y = ((const struct sortable *)b)->uuid;

	return compare_prefix(x, (struct span){y, strlen(y) + 1}, true);
}

/* Fills in the positions of the `count` names, sorted; *known of them are not NULL. */
static int sort_names(struct sortable *all, size_t count, bool ignore_case, int **ret,
		      size_t *known)
{
	size_t n = 0;

	*ret = xmalloc((count + 1) * sizeof(**ret));
	if (!*ret)
		return GPUMAP_ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (all[i].uuid)
			all[n++] = all[i];
	qsort(all, n, sizeof(*all), ignore_case ? by_folded_uuid : by_uuid);
	for (size_t i = 0; i < n; i++)
		(*ret)[i] = all[i].position;
	*known = n;
	return GPUMAP_OK;
}

int uuids_sort(struct uuid_names *names, const struct visible_view *view, bool ignore_case)
{
	size_t room = view->uuid_count > view->mig_count ? view->uuid_count : view->mig_count;
	struct sortable *all = xmalloc((room + 1) * sizeof(*all));
	int r;

	*names = (struct uuid_names){.view = view, .ignore_case = ignore_case, .plain = true};
	if (!all)
		return GPUMAP_ENOMEM;
	for (size_t i = 0; i < view->uuid_count; i++) {
		const char *uuid = view->uuids[i];

		all[i] = (struct sortable){uuid, (int)i};
		names->plain = names->plain &&
			       (!uuid || (starts_with(uuid, "GPU-") && !strstr(uuid + 1, "GPU-")));
	}
	r = sort_names(all, view->uuid_count, ignore_case, &names->by_uuid, &names->known);
	for (size_t i = 0; i < view->mig_count; i++)
		all[i] = (struct sortable){view->migs[i].uuid, (int)i};
	if (r == GPUMAP_OK)
		r = sort_names(all, view->mig_count, false, &names->by_mig, &names->known_migs);
	free(all);
	return r;
}

void uuids_free(struct uuid_names *names)
{
	free(names->by_uuid);
	free(names->by_mig);
}

/* Where the sorted UUIDs begin that have the text as their prefix; *hits, at most `max`, is how
 * many. */
static size_t find_prefix(const struct uuid_names *names, struct span text, size_t max,
			  size_t *hits)
{
	const char **uuids = names->view->uuids;
	size_t low =
		FIRST_PLACE(i, names->known,
			    compare_prefix(uuids[names->by_uuid[i]], text, names->ignore_case) < 0);

	*hits = 0;
	while (*hits < max && low + *hits < names->known &&
	       compare_prefix(uuids[names->by_uuid[low + *hits]], text, names->ignore_case) == 0)
		++*hits;
	return low;
}

enum visible_end uuids_find_gpu(const struct uuid_names *names, struct span text, int *gpu)
{
	size_t hits, at = find_prefix(names, text, 2, &hits);

	if (hits != 1)
		return hits ? END_AMBIGUOUS : END_NO_UUID;
	*gpu = names->by_uuid[at];
	return END_NOT;
}

/* If GPU- occurs only at the beginning of UUIDs, a text with it is a prefix. If there are many
 * hits, a linear search is as fast. */
enum visible_end uuids_find_substring(const struct uuid_names *names, struct span text, int *gpu)
{
	enum { MANY = 64 };
	size_t hits = MANY, at = 0;

	if (names->plain && span_starts(text, "GPU-"))
		at = find_prefix(names, text, MANY, &hits);
	for (size_t i = 0; hits < MANY && i < hits; i++)
		if (!i || names->by_uuid[at + i] < *gpu)
			*gpu = names->by_uuid[at + i];
	if (hits < MANY)
		return hits ? END_NOT : END_NO_UUID;
	for (size_t i = 0; i < names->view->uuid_count; i++) {
		const char *uuid = names->view->uuids[i];

		if (uuid && memmem(uuid, strlen(uuid), text.text, text.length)) {
			*gpu = (int)i;
			return END_NOT;
		}
	}
	return END_NO_UUID;
}
