/* SPDX-License-Identifier: MIT */
/* See text.h. */
#include "text.h"

#include <stdio.h>

#include "strbuf.h"

struct span span_of(const char *text)
{
	return (struct span){text, strlen(text)};
}

struct span span_trim(struct span s)
{
	while (s.length && is_space(*s.text)) {
		s.text++;
		s.length--;
	}
	while (s.length && is_space(s.text[s.length - 1]))
		s.length--;
	return s;
}

bool span_same(struct span a, struct span b)
{
	return a.length == b.length && (!a.length || memcmp(a.text, b.text, a.length) == 0);
}

bool span_is_all(struct span s, const char *text)
{
	size_t n = strlen(text);

	return n == s.length && memcmp(s.text, text, n) == 0;
}

bool span_starts(struct span s, const char *prefix)
{
	size_t length = strlen(prefix);

	return s.length >= length && memcmp(s.text, prefix, length) == 0;
}

bool span_skip(struct span *s, const char *prefix)
{
	bool skipped = span_starts(*s, prefix);

	if (skipped)
		*s = span_behind(*s, strlen(prefix));
	return skipped;
}

bool span_is_utf16(struct span s)
{
	return span_starts(s, "\xff\xfe") || span_starts(s, "\xfe\xff");
}

const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

struct span base_name(struct span path)
{
	const char *slash = path.length ? memrchr(path.text, '/', path.length) : NULL;

	return slash ? span_from(path, slash + 1) : path;
}

bool text_ends(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && memcmp(text + n - m, end, m) == 0;
}

bool is_python_file(struct span path)
{
	return path.length > 3 && memcmp(path.text + path.length - 3, ".py", 3) == 0;
}

bool span_glob(struct span pattern, const char *text)
{
	size_t p = 0, star = SIZE_MAX;
	const char *back = text;

	while (*text) {
		if (p < pattern.length && pattern.text[p] == '*') {
			star = p++;
			back = text;
		} else if (p < pattern.length &&
			   (pattern.text[p] == '?' || pattern.text[p] == *text)) {
			p++;
			text++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			text = ++back;
		} else {
			return false;
		}
	}
	while (p < pattern.length && pattern.text[p] == '*')
		p++;
	return p == pattern.length;
}

const char *span_find(struct span s, const char *text)
{
	return s.length ? memmem(s.text, s.length, text, strlen(text)) : NULL;
}

bool span_has(struct span s, const char *text)
{
	return span_find(s, text);
}

size_t span_before(struct span s, const char *signs)
{
	for (const char *at; *signs && s.length; signs++)
		if ((at = memchr(s.text, *signs, s.length)))
			s.length = (size_t)(at - s.text);
	return s.length;
}

size_t span_digits(struct span s)
{
	size_t n = 0;

	while (n < s.length && is_digit(s.text[n]))
		n++;
	return n;
}

bool span_skip_to(struct span *s, const char *text)
{
	const char *at = span_find(*s, text);

	if (at)
		*s = span_behind(*s, (size_t)(at - s->text) + strlen(text));
	return at;
}

/* The next of several words; "" behind the last. */
static const char *word_after(const char *word)
{
	while (*word && *word != ' ')
		word++;
	return *word ? word + 1 : word;
}

/* lint asks this of each word of a program. */
bool span_is_any(struct span s, const char *words)
{
	const char *at = s.length ? strchr(words, *s.text) : NULL;
	const char *end = at ? at + strlen(at) : NULL;

	for (; at && s.length <= (size_t)(end - at); at = strchr(at + 1, *s.text))
		if ((at == words || at[-1] == ' ') &&
		    (at + s.length == end || at[s.length] == ' ') &&
		    memcmp(at, s.text, s.length) == 0)
			return !memchr(s.text, ' ', s.length);
	return false;
}

bool span_starts_any(struct span s, const char *words)
{
	for (; *words; words = word_after(words)) {
		size_t n = 0;

		while (n < s.length && words[n] && words[n] == s.text[n] && words[n] != ' ')
			n++;
		if (!words[n] || words[n] == ' ')
			return true;
	}
	return false;
}

bool span_has_any(struct span s, const char *words)
{
	for (; *words; words = word_after(words))
		for (size_t i = 0; i < s.length; i++) {
			size_t n = 0;

			while (i + n < s.length && words[n] && words[n] != ' ' &&
			       lower(s.text[i + n]) == words[n])
				n++;
			if (!words[n] || words[n] == ' ')
				return true;
		}
	return false;
}

static bool same_word(struct span s, struct span word)
{
	if (s.length != word.length)
		return false;
	for (size_t i = 0; i < s.length; i++) {
		char c = lower(s.text[i]);

		if (c != word.text[i] && !(c == '_' && word.text[i] == '-'))
			return false;
	}
	return true;
}

bool span_among(struct span s, const char *words)
{
	struct span rest = span_of(words), word;

	while (span_split(&rest, ' ', &word))
		if (s.length && same_word(s, word))
			return true;
	return false;
}

bool span_split(struct span *rest, char separator, struct span *piece)
{
	const char *end;

	if (!rest->text)
		return false;
	end = rest->length ? memchr(rest->text, separator, rest->length) : NULL;
	if (!end) {
		*piece = *rest;
		*rest = (struct span){NULL, 0};
		return true;
	}
	*piece = (struct span){rest->text, (size_t)(end - rest->text)};
	rest->length -= piece->length + 1;
	rest->text = end + 1;
	return true;
}

int64_t span_number(struct span s, int64_t max)
{
	int64_t n = 0;

	if (!s.length)
		return -1;
	for (size_t i = 0; i < s.length; i++) {
		if (!is_digit(s.text[i]) || n > (INT64_MAX - 9) / 10)
			return -1;
		n = n * 10 + (s.text[i] - '0');
	}
	return n <= max ? n : -1;
}

/* How many entries of the list follow one another upwards from its first, `number`. */
static int64_t run_length(struct span list, int64_t number)
{
	struct span entry;
	int64_t n = 0;

	while (span_split(&list, ',', &entry) && span_number(entry, INT32_MAX) == number + n)
		n++;
	return n;
}

void fold_numbers(struct strbuf *buf, struct span list)
{
	const char *comma = "";
	struct span entry, rest = list;

	while (rest.length && span_split(&rest, ',', &entry)) {
		int64_t number = span_number(entry, INT32_MAX);
		int64_t run = number < 0 ? 0 : run_length(list, number);

		strbuf_puts(buf, comma);
		strbuf_add(buf, entry.text, entry.length);
		if (run > 2)
			strbuf_printf(buf, "-%lld", (long long)(number + run - 1));
		for (int64_t more = run > 2 ? run - 1 : 0; more; more--)
			span_split(&rest, ',', &entry);
		list = rest;
		comma = ",";
	}
}

size_t utf8_length(const char *text, size_t length)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;

	if (n == 1)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4 || n > length)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* Control characters of C1, and characters that reorder or break a line: a reordered message could
 * mean the opposite. */
static bool is_hidden(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;

	if (n == 1)
		return s[0] < 0x20 || s[0] == 0x7f;
	if (n == 2)
		return (s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xd8 && s[1] == 0x9c);
	if (n == 3 && s[0] == 0xef) /* a byte order mark, and values that are not characters */
		return (s[1] == 0xbb && s[2] == 0xbf) || (s[1] == 0xbf && s[2] >= 0xbe);
	if (n != 3 || s[0] != 0xe2)
		return false;
	return (s[1] == 0x80 &&
		((s[2] >= 0x8b && s[2] <= 0x8f) || (s[2] >= 0xa8 && s[2] <= 0xae))) ||
	       (s[1] == 0x81 && s[2] >= 0xa0 && s[2] <= 0xaf);
}

size_t utf8_encode(char ret[4], uint32_t character)
{
	static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t n = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

	ret[0] = (char)(heads[n] | character >> 6 * (n - 1));
	for (size_t i = 1; i < n; i++)
		ret[i] = (char)(0x80 | (character >> 6 * (n - 1 - i) & 0x3f));
	return n;
}

size_t utf8_next(const char *text, size_t length, bool *shown)
{
	size_t n = utf8_length(text, length);

	*shown = n && !is_hidden(text, n);
	return n ? n : 1;
}

/* Writes the next character of text, escaped if it must be. Returns the bytes written, at most 4;
 * *taken: the bytes read. */
static size_t escape_one(char *ret, const char *text, size_t length, size_t *taken)
{
	static const char digits[] = "0123456789abcdef";
	bool shown;
	size_t n = utf8_next(text, length, &shown);
	unsigned char c = (unsigned char)*text;

	if (shown) {
		memcpy(ret, text, n);
		*taken = n;
		return n;
	}
	memcpy(ret, (const char[]){'\\', 'x', digits[c >> 4], digits[c & 15]}, 4);
	*taken = 1;
	return 4;
}

/* The number of bytes at the beginning that need no escape, as characters of ASCII. */
static size_t plain_length(const char *text, size_t length)
{
	size_t n = 0;

	while (n < length && text[n] >= 0x20 && text[n] < 0x7f)
		n++;
	return n;
}

void escape_to(struct strbuf *buf, const char *text, size_t length)
{
	for (size_t i = 0, n; i < length; i += n) {
		char character[4];

		n = plain_length(text + i, length - i);
		if (n)
			strbuf_add(buf, text + i, n);
		else
			strbuf_add(buf, character, escape_one(character, text + i, length - i, &n));
	}
}

const char *quote(struct quoted *ret, struct span s)
{
	enum { LONGEST = 200 };
	size_t first = plain_length(s.text, s.length < LONGEST ? s.length : LONGEST);
	char *end = ret->text + first;

	_Static_assert(sizeof(ret->text) >= 4 * LONGEST + sizeof("..."), "room for all");
	if (first)
		memcpy(ret->text, s.text, first);
	for (size_t i = first, n; i < s.length && i < LONGEST; i += n)
		end += escape_one(end, s.text + i, s.length - i, &n);
	if (s.length > LONGEST)
		end = (char *)memcpy(end, "...", 3) + 3;
	*end = '\0';
	return ret->text;
}

const char *format_text(struct quoted *ret, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(ret->text, sizeof(ret->text), format, args);
	va_end(args);
	return ret->text;
}

void escape_all(struct strbuf *buf, const char *text)
{
	escape_to(buf, text, strlen(text));
}

char *escaped_copy(const char *text)
{
	struct strbuf buf = {0};

	if (!text)
		return NULL;
	escape_all(&buf, text);
	return strbuf_take(&buf);
}

bool entry_is_named(const char *entry, const char *name)
{
	while (*name && *entry == *name) {
		entry++;
		name++;
	}
	return !*name && (*entry == '=' || !*entry);
}

const char *environ_find(const char *const *envp, const char *name)
{
	size_t length = strlen(name);

	for (; envp && *envp; envp++)
		if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=')
			return *envp + length + 1;
	return NULL;
}

const char *environ_nonempty(const char *const *envp, const char *name)
{
	const char *value = environ_find(envp, name);

	return value && *value ? value : NULL;
}
