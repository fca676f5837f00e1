/* SPDX-License-Identifier: MIT */
/* Lists of numbers and of hosts: what when_rank = 0,2-5 and when_host = tux[00-03] hold for. */
#include "profile/keys.h"

enum { MOST_DIGITS = 9, MOST_HOST = 255 };

static int64_t number_of(struct span s)
{
	return s.length <= MOST_DIGITS ? span_number(s, INT32_MAX) : -1;
}

/* "7" or "2-5". */
static bool range(struct span s, struct span *low, struct span *high)
{
	struct span rest = s;

	span_split(&rest, '-', low);
	*high = rest.text ? rest : *low;
	return number_of(*low) >= 0 && number_of(*high) >= number_of(*low);
}

bool numbers_check(struct span list, struct span *wrong)
{
	struct span low, high;

	while (span_split(&list, ',', wrong)) {
		*wrong = span_trim(*wrong);
		if (!range(*wrong, &low, &high))
			return false;
	}
	return true;
}

bool numbers_have(struct span list, int64_t n)
{
	struct span item, low, high;

	while (n >= 0 && span_split(&list, ',', &item))
		if (range(span_trim(item), &low, &high) && number_of(low) <= n &&
		    n <= number_of(high))
			return true;
	return false;
}

bool hosts_item(struct span *rest, struct span *item)
{
	size_t i = 0;
	bool inside = false;

	if (!rest->text)
		return false;
	for (; i < rest->length && (inside || rest->text[i] != ','); i++) {
		if (rest->text[i] == '[')
			inside = true;
		if (rest->text[i] == ']')
			inside = false;
	}
	*item = span_trim((struct span){rest->text, i});
	*rest = i < rest->length ? (struct span){rest->text + i + 1, rest->length - i - 1}
				 : (struct span){NULL, 0};
	return true;
}

/* What stands in the brackets at the beginning of s. */
static bool brackets(struct span s, struct span *inside)
{
	const char *end = memchr(s.text, ']', s.length);

	if (!end)
		return false;
	*inside = (struct span){s.text + 1, (size_t)(end - s.text) - 1};
	return true;
}

static bool is_host_char(char c, bool patterns)
{
	return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z') || (c && strchr("-._:", c)) ||
	       (patterns && (c == '*' || c == '?'));
}

static bool check_host(struct span host, bool patterns)
{
	struct span inside, wrong;
	size_t i = 0;

	while (i < host.length) {
		struct span rest = {host.text + i, host.length - i};

		if (*rest.text == '[') {
			if (!brackets(rest, &inside) || !numbers_check(inside, &wrong))
				return false;
			i += inside.length + 2;
		} else if (is_host_char(*rest.text, patterns)) {
			i++;
		} else {
			return false;
		}
	}
	return host.length && *host.text != '-';
}

bool hosts_check(struct span list, bool patterns, struct span *wrong)
{
	while (hosts_item(&list, wrong))
		if (!check_host(*wrong, patterns))
			return false;
	return true;
}

/* Whether digits are a number of the list as it is written out: as wide as the lower
 * end, 08-11 being 08 09 10 11. */
static bool bracket_has(struct span list, struct span digits)
{
	struct span item, low, high;
	int64_t n = number_of(digits);

	while (n >= 0 && span_split(&list, ',', &item))
		if (range(span_trim(item), &low, &high) && number_of(low) <= n &&
		    n <= number_of(high) &&
		    (digits.length == low.length ||
		     (digits.length > low.length && *digits.text != '0')))
			return true;
	return false;
}

/* The positions of the host that the pattern so far can end at. One pass over the
 * pattern: no text makes it slow. */
struct reach {
	bool at[MOST_HOST + 1];
};

static void step_brackets(struct reach *now, struct span host, struct span inside)
{
	struct reach next = {{false}};

	for (size_t i = 0; i < host.length; i++)
		for (size_t n = 1; now->at[i] && n <= MOST_DIGITS && i + n <= host.length; n++)
			if (bracket_has(inside, (struct span){host.text + i, n}))
				next.at[i + n] = true;
	*now = next;
}

static void step_char(struct reach *now, struct span host, char c)
{
	for (size_t i = host.length; i > 0; i--)
		now->at[i] = now->at[i - 1] && (c == '?' || host.text[i - 1] == c);
	now->at[0] = false;
}

static void step_any(struct reach *now, struct span host)
{
	for (size_t i = 1; i <= host.length; i++)
		now->at[i] = now->at[i] || now->at[i - 1];
}

static bool match(struct span pattern, struct span host)
{
	struct reach now = {{true}};
	struct span inside;

	for (size_t i = 0; i < pattern.length; i++) {
		struct span rest = {pattern.text + i, pattern.length - i};

		if (*rest.text == '[' && brackets(rest, &inside)) {
			step_brackets(&now, host, inside);
			i += inside.length + 1;
		} else if (*rest.text == '*') {
			step_any(&now, host);
		} else {
			step_char(&now, host, *rest.text);
		}
	}
	return now.at[host.length];
}

bool hosts_match(struct span list, const char *host)
{
	struct span full = span_of(host ? host : ""), name = {full.text, strcspn(full.text, ".")};
	struct span item;

	while (full.length && full.length <= MOST_HOST && hosts_item(&list, &item))
		if (match(item, full) || match(item, name))
			return true;
	return false;
}
