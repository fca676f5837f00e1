/* SPDX-License-Identifier: MIT */
/* Shared by the readers of recorded text: functions on text, and reports. */
#include "inventory/recorded.h"

/* --- pieces of text ------------------------------------------------------------ */

struct span take_word(struct span *s)
{
	struct span word;

	while (s->length && is_space(*s->text))
		*s = span_behind(*s, 1);
	word = (struct span){s->text, 0};
	while (word.length < s->length && !is_space(word.text[word.length]))
		word.length++;
	*s = span_behind(*s, word.length);
	return word;
}

int64_t take_number(struct span *s)
{
	struct span digits = {s->text, 0};
	int64_t number;

	while (digits.length < s->length && is_digit(digits.text[digits.length]))
		digits.length++;
	if (!digits.length)
		return -1;
	*s = span_behind(*s, digits.length);
	number = span_number(digits, INT64_MAX);
	return number < 0 ? INT64_MAX : number;
}

bool is_id_list(struct span s)
{
	if (!s.length || !is_digit(s.text[0]) || !is_digit(s.text[s.length - 1]))
		return false;
	for (size_t i = 0; i < s.length; i++)
		if (!is_digit(s.text[i]) && s.text[i] != ',' && s.text[i] != '-')
			return false;
	return true;
}

bool is_no_value(struct span s)
{
	return !s.length || (s.text[0] == '[' && s.text[s.length - 1] == ']') ||
	       span_is(s, "N/A") || span_is(s, "ERR!");
}

struct span or_nothing(struct span s)
{
	s = span_trim(s);
	return s.length ? s : NO_SPAN;
}

/* --- what readers report --------------------------------------------------------- */

void recorded_nomem(struct recorded *r)
{
	if (r->code == GPUMAP_OK)
		r->code = report_nomem(r->report);
}

void recorded_lost(struct recorded *r)
{
	if (r->lost < 0)
		r->lost = (int)r->inventory->count;
}

void recorded_driver(struct recorded *r, struct span version)
{
	bool dot = false;

	for (size_t i = 0; i < version.length; i++) {
		if (!is_digit(version.text[i]) && version.text[i] != '.')
			return;
		dot = dot || version.text[i] == '.';
	}
	if (dot && !r->inventory->driver && !member_set(&r->inventory->driver, version))
		recorded_nomem(r);
}
