/* SPDX-License-Identifier: MIT */
#include "machines.h"

#include <check.h>
#include <stdio.h>

static int number(struct span s)
{
	int64_t n = span_number(s, INT32_MAX);

	ck_assert_msg(n >= 0, "'%.*s' is not a number", (int)s.length, s.text);
	return (int)n;
}

/* Takes what stands before `mark` into *part and skips the mark; false: there is none. */
static bool cut(struct span *rest, char mark, struct span *part)
{
	const char *at = rest->length ? memchr(rest->text, mark, rest->length) : NULL;

	if (!at)
		return false;
	*part = (struct span){rest->text, (size_t)(at - rest->text)};
	rest->length -= part->length + 1;
	rest->text = at + 1;
	return true;
}

static void add_mig(gpumap_device *gpu, struct span text)
{
	gpumap_device *mig = device_add_mig(gpu);
	struct span head, gi;

	ck_assert_ptr_nonnull(mig);
	if (cut(&text, '=', &head)) {
		ck_assert(member_set(&mig->profile, text));
		text = head;
	}
	if (cut(&text, '@', &head)) {
		ck_assert(cut(&text, '.', &gi));
		mig->gi = number(gi);
		mig->ci = number(text);
		text = head;
	}
	if (!span_is(text, "-"))
		ck_assert(member_set(&mig->uuid, text));
}

static void add_gpu(gpumap_inventory *inventory, struct span text)
{
	gpumap_device *gpu = inventory_add(inventory);
	struct span head, migs = {NULL, 0}, mig;

	ck_assert_ptr_nonnull(gpu);
	if (cut(&text, '[', &head)) {
		migs = (struct span){text.text, text.length - 1};
		text = head;
	}
	gpu->index = (int)inventory->count - 1;
	if (cut(&text, ':', &head))
		gpu->index = span_is(head, "?") ? -1 : number(head);
	if (cut(&text, '=', &head)) {
		ck_assert(member_set(&gpu->name, text));
		text = head;
	}
	if (!span_is(text, "-"))
		ck_assert(member_set(&gpu->uuid, text));
	while (span_split(&migs, ';', &mig))
		add_mig(gpu, mig);
}

static void set_order(gpumap_inventory *inventory, struct span text)
{
	struct span part;
	size_t n = 0;

	inventory->order[GPUMAP_ORDER_FASTEST] = malloc(64 * sizeof(int));
	while (span_split(&text, ',', &part))
		inventory->order[GPUMAP_ORDER_FASTEST][n++] = number(part);
}

gpumap_inventory *machine(const char *text)
{
	gpumap_inventory *inventory = NULL;
	struct span rest = span_of(text), word, gpu;

	if (streq(text, "-"))
		return NULL;
	if (is_digit(*text) && !strchr(text, ':')) {
		ck_assert_int_eq(synthetic_parse(&inventory, rest, NULL), GPUMAP_OK);
		return inventory;
	}
	inventory = inventory_new("test", "test machine");
	while (span_split(&rest, ' ', &word)) {
		if (span_starts(word, "driver="))
			ck_assert(member_set(&inventory->driver,
					     (struct span){word.text + 7, word.length - 7}));
		else if (span_is(word, "partial"))
			inventory->partial = true;
		else if (span_starts(word, "doubt="))
			inventory->doubt = number((struct span){word.text + 6, word.length - 6});
		else if (span_starts(word, "fastest="))
			set_order(inventory, (struct span){word.text + 8, word.length - 8});
		else
			while (span_split(&word, ',', &gpu))
				add_gpu(inventory, gpu);
	}
	ck_assert_int_eq(inventory_finish(inventory, NULL), GPUMAP_OK);
	return inventory;
}

/* The next piece up to a bar, as a string of its own; false at the end. */
static bool piece(const char **text, char **ret)
{
	size_t length = strcspn(*text, "|");

	if (!**text)
		return false;
	*ret = strndup(*text, length);
	*text += length + ((*text)[length] == '|');
	return true;
}

int set_statements(gpumap_request *request, const char *text, gpumap_report *report)
{
	char *one;
	int r = GPUMAP_OK;

	while (r == GPUMAP_OK && piece(&text, &one)) {
		char *value = strchr(one, '='), origin[64] = "--";

		ck_assert_msg(value != NULL, "'%s' is not a statement", one);
		*value++ = '\0';
		for (size_t i = 0; one[i] && i < 60; i++)
			origin[i + 2] = one[i] == '_' ? '-' : one[i];
		r = gpumap_request_set(request, one, value, origin, report);
		free(one);
	}
	return r;
}

int surround(gpumap_request *request, const char *text, gpumap_report *report)
{
	char *envp[32] = {0};
	size_t n = 0;
	int r;

	while (n < 31 && piece(&text, &envp[n]))
		n++;
	r = gpumap_request_set_environ(request, (const char *const *)envp, report);
	while (n)
		free(envp[--n]);
	return r;
}

int resolve_statements(gpumap_mapping **ret, const char *statements, const char *environment,
		       const char *machine_text, gpumap_report *report)
{
	gpumap_inventory *inventory = machine(machine_text);
	gpumap_request *request;
	int r = gpumap_request_new(&request);

	if (r == GPUMAP_OK)
		r = set_statements(request, statements, report);
	if (r == GPUMAP_OK)
		r = surround(request, environment, report);
	if (r == GPUMAP_OK)
		r = gpumap_resolve(ret, request, inventory, report);
	/* The answer must not depend on what it was made of. */
	gpumap_request_free(request);
	gpumap_inventory_free(inventory);
	return r;
}
