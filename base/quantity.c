/* SPDX-License-Identifier: MIT */
/* See quantity.h. */
#include "quantity.h"

/* Takes the digits from the beginning of *s. */
static struct span take_digits(struct span *s)
{
	struct span digits = {s->text, 0};

	while (digits.length < s->length && is_digit(s->text[digits.length]))
		digits.length++;
	s->text += digits.length;
	s->length -= digits.length;
	return digits;
}

int64_t span_bytes(struct span value)
{
	static const struct {
		const char *names;
		int shift;
	} units[] = {{"K KB KiB", 10}, {"M MB MiB", 20}, {"G GB GiB", 30}};
	struct span digits = take_digits(&value);
	int shift = 0;
	int64_t number;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (span_is_any(value, units[i].names))
			shift = units[i].shift;
	number = span_number(digits, shift ? INT32_MAX : INT64_MAX);
	return number <= 0 || (value.length && !shift) ? -1 : number << shift;
}

int64_t span_milliseconds(struct span value)
{
	static const struct {
		const char *name;
		int64_t ms;
	} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"", 1000}};
	int64_t number = span_number(take_digits(&value), INT32_MAX);

	for (size_t i = 0; number >= 0 && i < ARRAY_SIZE(units); i++)
		if (span_is(value, units[i].name))
			return number * units[i].ms;
	return -1;
}
