/* SPDX-License-Identifier: MIT */
/* See python_number.h. */
#include "visible/python_number.h"

/* int() accepts no more digits, to bound its time (CPython since 3.10.7). */
enum { MAX_DIGITS = 4300 };

struct range {
	uint32_t first, last;
};

/* Unicode 14, as in Python 3.11, sorted: the zeros of each script's ten digits. */
static const uint32_t zeros[] = {
	0x0660,  0x06f0,  0x07c0,  0x0966,  0x09e6,  0x0a66,  0x0ae6,  0x0b66,  0x0be6,  0x0c66,
	0x0ce6,  0x0d66,  0x0de6,  0x0e50,  0x0ed0,  0x0f20,  0x1040,  0x1090,  0x17e0,  0x1810,
	0x1946,  0x19d0,  0x1a80,  0x1a90,  0x1b50,  0x1bb0,  0x1c40,  0x1c50,  0xa620,  0xa8d0,
	0xa900,  0xa9d0,  0xa9f0,  0xaa50,  0xabf0,  0xff10,  0x104a0, 0x10d30, 0x11066, 0x110f0,
	0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950,
	0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec,
	0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
};

/* Characters for which str.isdigit() is true, and which int() refuses. */
static const struct range other_digits[] = {
	{0x00b2, 0x00b3},   {0x00b9, 0x00b9},   {0x1369, 0x1371},   {0x19da, 0x19da},
	{0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
	{0x2474, 0x247c},   {0x2488, 0x2490},   {0x24ea, 0x24ea},   {0x24f5, 0x24fd},
	{0x24ff, 0x24ff},   {0x2776, 0x277e},   {0x2780, 0x2788},   {0x278a, 0x2792},
	{0x10a40, 0x10a43}, {0x10e60, 0x10e68}, {0x11052, 0x1105a}, {0x1f100, 0x1f10a},
};

static const struct range blanks[] = {
	{0x001c, 0x0020}, {0x0085, 0x0085}, {0x00a0, 0x00a0}, {0x1680, 0x1680}, {0x2000, 0x200a},
	{0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000},
};

static bool in_ranges(uint32_t c, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count && ranges[i].first <= c; i++)
		if (c <= ranges[i].last)
			return true;
	return false;
}

static char plain(uint32_t c)
{
	if (in_ranges(c, blanks, ARRAY_SIZE(blanks)))
		return ' ';
	if (c < 0x80)
		return c == PYTHON_NO_NUMBER ? '?' : (char)c;
	if (in_ranges(c, other_digits, ARRAY_SIZE(other_digits)))
		return PYTHON_NO_NUMBER;
	for (size_t i = 0; i < ARRAY_SIZE(zeros) && zeros[i] <= c; i++)
		if (c - zeros[i] < 10)
			return (char)('0' + (c - zeros[i]));
	return '?';
}

/* The character that a valid sequence of n bytes is. */
static uint32_t code_point(const char *text, size_t n)
{
	uint32_t c = (unsigned char)*text & (n == 1 ? 0x7f : 0x7f >> n);

	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)text[i] & 0x3f);
	return c;
}

size_t python_plain(char *ret, struct span text)
{
	size_t length = 0;

	for (size_t i = 0, n; i < text.length; i += n ? n : 1) {
		n = utf8_length(&text.text[i], text.length - i);
		ret[length++] = n ? plain(code_point(&text.text[i], n)) : '?';
	}
	return length;
}

bool python_raises(struct span entry)
{
	size_t digits = 0;
	bool sign;

	entry = span_trim(entry);
	sign = entry.length && (*entry.text == '+' || *entry.text == '-');
	for (size_t i = sign; i < entry.length; i++) {
		if (entry.text[i] == PYTHON_NO_NUMBER)
			return true;
		if (!is_digit(entry.text[i]))
			break;
		digits++;
	}
	return digits > MAX_DIGITS || (sign && !digits);
}

size_t python_int(char *ret, struct span entry)
{
	struct span s = span_trim((struct span){ret, python_plain(ret, entry)});
	bool sign = s.length && (*s.text == '+' || *s.text == '-');
	size_t length = sign && *s.text == '-', start = length, digits = 0;

	if (start)
		*ret = '-';
	for (size_t i = sign; i < s.length; i++) {
		if (s.text[i] == '_' && digits && is_digit(s.text[i - 1]) && i + 1 < s.length)
			continue;
		if (!is_digit(s.text[i]))
			return 0;
		digits++;
		if (length == start + 1 && ret[start] == '0')
			length = start;
		ret[length++] = s.text[i];
	}
	if (!digits || digits > MAX_DIGITS)
		return 0;
	if (length == 2 && ret[1] == '0' && start) {
		*ret = '0';
		length = 1;
	}
	return length;
}
