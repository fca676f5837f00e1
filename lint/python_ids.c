/* SPDX-License-Identifier: MIT */
/* Lists of device ordinals: [0, 1], 0, 1 and list(range(2)), also by a name. */
#include "lint/python_file.h"

static struct python_value ids(const char *text, int64_t count)
{
	return count ? (struct python_value){.meaning = MEANS_IDS,
					     .number = count,
					     .text = span_of(text)}
		     : python_unknown;
}

/* Numbers with commas between them. */
static struct python_value listed(struct python_file *f, unsigned first, unsigned past)
{
	const char *text = "";
	int64_t count = 0;

	for (unsigned i = first, end; i < past; i = end + 1, count++) {
		struct python_value v;

		end = python_find_beside(f, i, past, ",");
		v = python_value(f, i, end);
		if ((v.meaning != MEANS_NUMBER && v.meaning != MEANS_DEVICE) || v.number < 0 ||
		    v.unsure || count == MAX_VALUE)
			return python_unknown;
		text = arena_printf(&f->arena, "%s%s%lld", text, count ? "," : "",
				    (long long)v.number);
	}
	return ids(text, count);
}

/* The number of range(N), from `at` on; -1: it is another expression. */
static int64_t range_of(const struct python_file *f, unsigned at, unsigned past)
{
	struct python_value v = python_unknown;

	if (is_at(f, at, past, "range") && is_bracket(f, at + 1, past, "("))
		v = python_value(f, at + 2, past - 1);
	return v.meaning == MEANS_NUMBER && !v.unsure && v.number <= MAX_VALUE ? v.number : -1;
}

static struct python_value ranged(struct python_file *f, int64_t count)
{
	const char *text = "";

	for (int64_t i = 0; i < count; i++)
		text = arena_printf(&f->arena, "%s%s%lld", text, i ? "," : "", (long long)i);
	return ids(text, count);
}

static bool is_tuple(const struct python_file *f, unsigned first, unsigned past)
{
	return python_find_beside(f, first, past, ",") < past;
}

struct python_value python_ids(struct python_file *f, unsigned first, unsigned past)
{
	bool bracket = is_bracket(f, first, past, "( [");
	struct python_value v;

	if (first >= past || past - first > 2 * MAX_VALUE)
		return python_unknown;
	if (bracket && past > first + 2 &&
	    (is_at(f, first, past, "[") || is_tuple(f, first + 1, past - 1)))
		return listed(f, first + 1, past - 1);
	if (bracket)
		return python_unknown;
	if (is_tuple(f, first, past))
		return listed(f, first, past);
	if (is_at(f, first, past, "list") && is_bracket(f, first + 1, past, "(") &&
	    range_of(f, first + 2, past - 1) > 0)
		return ranged(f, range_of(f, first + 2, past - 1));
	if (range_of(f, first, past) > 0)
		return ranged(f, range_of(f, first, past));
	v = python_value(f, first, past);
	return v.meaning == MEANS_IDS ? v : python_unknown;
}
