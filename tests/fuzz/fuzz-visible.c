/* SPDX-License-Identifier: MIT */
/* The visible list, in every dialect: what holds whatever the bytes are. */
#include "gpumap.h"
#include "visible/visible.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *uuids[] = {"GPU-a1b2c3d4-0000-4000-8000-000000000000",
			      "GPU-a1b2ffff-0000-4000-8000-000000000001",
			      "GPU-20e3d4c5-0000-4000-8000-000000000002",
			      NULL,
			      "GPU-BABABABABABABABA",
			      "GPU-ABBAABBAABBAABBA"};
static const struct visible_mig migs[] = {{"MIG-11111111-0000-5000-8000-000000000001", 0, 1, 0},
					  {"MIG-12222222-0000-5000-8000-000000000002", 0, 2, 0},
					  {NULL, 1, 1, 0}};
static const struct visible_view views[] = {
	{6, uuids, 6, migs, 3}, {0, NULL, 0, NULL, 0}, {(int64_t)INT32_MAX + 1, uuids, 6, migs, 3}};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool same(const struct visible_entry *a, const struct visible_entry *b)
{
	return a->ordinal == b->ordinal && a->gpu == b->gpu && a->mig == b->mig;
}

static void check_entry(const struct visible_entry *e, const struct visible_view *view,
			struct span value)
{
	require((e->ordinal >= 0) + (e->gpu >= 0) + (e->mig >= 0) == 1);
	require(e->ordinal < view->count && e->gpu < (int)view->uuid_count &&
		e->mig < (int)view->mig_count);
	require(e->text.text >= value.text &&
		e->text.text + e->text.length <= value.text + value.length);
}

static void check_list(const struct visible_list *list, enum dialect dialect,
		       const struct visible_view *view, struct span value)
{
	for (size_t i = 0; i < list->count; i++) {
		check_entry(&list->entries[i], view, value);
		/* In the order of the text. */
		require(!i || list->entries[i - 1].text.text < list->entries[i].text.text);
		for (size_t k = 0; k < i && k < 64 && dialect != DIALECT_NVITOP; k++)
			require(!same(&list->entries[k], &list->entries[i]));
	}
	require((list->end == END_NOT) == (visible_end_reason(list->end) == NULL));
	if (list->end == END_DUPLICATE)
		require(dialect == DIALECT_ROCR ? list->count > 0 : list->count == 0);
	if (list->end == END_RAISES)
		require(dialect == DIALECT_TORCH && list->count == 0);
	if (list->end != END_NOT)
		require(list->end_text.text >= value.text &&
			list->end_text.text <= value.text + value.length);
	if (list->end == END_NOT && !list->count)
		require(!value.length);
}

/* A list that ended early is the same without the text from where it ended. */
static void check_cut(const struct visible_list *list, enum dialect dialect,
		      const struct visible_view *view, struct span value)
{
	struct visible_list cut;

	if (list->end == END_NOT || list->end == END_DUPLICATE || !list->count)
		return;
	value.length = (size_t)(list->end_text.text - value.text - 1);
	if (visible_parse(&cut, dialect, value, view) != GPUMAP_OK)
		return;
	require(cut.count == list->count && cut.end == END_NOT);
	for (size_t i = 0; i < cut.count; i++)
		require(same(&cut.entries[i], &list->entries[i]));
	visible_list_free(&cut);
}

static void check_dialect(enum dialect dialect, const struct visible_view *view, struct span value)
{
	struct visible_list list;
	int r = visible_parse(&list, dialect, value, view);

	if (r == GPUMAP_ELIMIT || r == GPUMAP_ENOMEM)
		return;
	require(r == GPUMAP_OK);
	check_list(&list, dialect, view, value);
	check_cut(&list, dialect, view, value);
	visible_list_free(&list);
}

/* All dialects of NVIDIA's list read plain numbers without repeats alike. */
static void check_agreement(const struct visible_view *view, struct span value)
{
	struct visible_list driver, other;

	if (value.length > 4000)
		return; /* Python's int() does not take any number of digits */
	for (size_t i = 0; i < value.length; i++)
		if (!is_digit(value.text[i]) && value.text[i] != ',')
			return;
	if (visible_parse(&driver, DIALECT_DRIVER, value, view) != GPUMAP_OK)
		return;
	for (int d = DIALECT_TORCH; driver.end == END_NOT && d <= DIALECT_NVITOP; d++) {
		require(visible_parse(&other, (enum dialect)d, value, view) == GPUMAP_OK);
		require(other.count == driver.count);
		for (size_t i = 0; i < other.count; i++)
			require(same(&other.entries[i], &driver.entries[i]));
		visible_list_free(&other);
	}
	visible_list_free(&driver);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1); /* exactly: reading past the end is seen */
	struct span value = {text, size};

	if (!text)
		return 0;
	memcpy(text, data, size);
	text = realloc(text, size ? size : 1);
	value.text = text;
	for (size_t v = 0; v < ARRAY_SIZE(views); v++) {
		for (enum dialect d = DIALECT_DRIVER; d <= DIALECT_HIP; d++)
			check_dialect(d, &views[v], value);
		check_agreement(&views[v], value);
	}
	free(text);
	return 0;
}
