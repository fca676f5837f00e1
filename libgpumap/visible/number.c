/* SPDX-License-Identifier: MIT */
/* Which texts of a list are a number, as strtol and Python read them. */
#include "visible/visible.h"

struct visible_number visible_number(struct span s)
{
	struct visible_number n = {0};

	while (s.length && is_space(*s.text))
		s = span_behind(s, 1);
	if (s.length && (*s.text == '+' || *s.text == '-')) {
		n.negative = *s.text == '-';
		s = span_behind(s, 1);
	}
	n.number = (struct span){s.text, 0};
	for (; s.length && is_digit(*s.text); s.text++, s.length--) {
		n.digits = true;
		if (n.number.length == 0 && *s.text == '0')
			n.number.text = s.text + 1; /* a leading zero */
		else
			n.number.length++;
		if (n.value > (INT64_MAX - 9) / 10)
			n.value = INT64_MAX;
		else
			n.value = n.value * 10 + (*s.text - '0');
	}
	n.negative = n.negative && n.number.length;
	n.rest = s;
	return n;
}
