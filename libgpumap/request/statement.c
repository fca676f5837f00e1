/* SPDX-License-Identifier: MIT */
/* Statements: their grammar, [VAR=]value, and PyTorch's device strings. */
#include "request/request.h"

const char *source_name(enum source source)
{
	static const char *const names[] = {
		[SOURCE_ENVIRONMENT] = "environment",
		[SOURCE_PREFIX] = "prefix",
		[SOURCE_SCRIPT_EXPORT] = "script_export",
		[SOURCE_SCRIPT_INLINE] = "script_inline",
		[SOURCE_LAUNCHER] = "launcher",
		[SOURCE_IN_CODE] = "in_code",
		[SOURCE_VISIBLE] = "visible",
		[SOURCE_AFTER_INIT] = "after_init",
	};

	return names[source];
}

const struct statement *request_variable(const gpumap_request *request, enum variable variable)
{
	const struct statement *now = NULL;

	for (int source = 0; source < SOURCE_AFTER_INIT; source++)
		for (size_t i = 0; i < request->count; i++) {
			const struct statement *s = &request->statements[i];

			if (s->variable != variable || s->source != (enum source)source)
				continue;
			if (s->verb != VERB_DEFAULT || !now)
				now = s->verb == VERB_UNSET ? NULL : s;
		}
	return now;
}

static size_t identifier(const char *text)
{
	size_t n = 0;

	while (text[n] == '_' || is_letter(text[n]) || (n && is_digit(text[n])))
		n++;
	return n;
}

bool statement_parse(const char *text, enum variable fallback, enum variable *variable,
		     enum verb *verb, const char **value, struct span *other)
{
	bool unset = *text == '-';
	const char *start = text + unset;
	struct span name = {start, identifier(start)};
	const char *after = start + name.length;

	if (unset) {
		if (name.length && *after == '\0' && variable_find(name, variable)) {
			*verb = VERB_UNSET;
			*value = NULL;
			return true;
		}
		*other = name;
		if (name.length && *after == '\0' && misspelt_variable(name))
			return false;
	} else if (name.length && (*after == '=' || starts_with(after, "?="))) {
		*verb = *after == '=' ? VERB_SET : VERB_DEFAULT;
		*value = after + (*verb == VERB_SET ? 1 : 2);
		*other = name;
		return variable_find(name, variable);
	}
	*variable = fallback;
	*verb = VERB_SET;
	*value = text;
	return true;
}

/* An index as PyTorch takes it: digits without a leading zero. */
static bool index_parse(struct span *s, int64_t *index)
{
	struct span digits = {s->text, 0};

	while (digits.length < s->length && is_digit(s->text[digits.length]))
		digits.length++;
	if (!digits.length || (digits.length > 1 && *digits.text == '0'))
		return false;
	*index = span_number(digits, INT64_MAX);
	if (*index < 0)
		return false; /* too large for any machine */
	*s = span_behind(*s, digits.length);
	return true;
}

/* What may follow the first index in old PyTorch: ",1", ", cuda:1", " cuda:1" (rule D6). */
static bool more_devices(struct span s)
{
	int64_t index;

	while (s.length) {
		size_t separators = 0;

		while (separators < s.length &&
		       (s.text[separators] == ',' || is_space(s.text[separators])))
			separators++;
		if (!separators)
			return false;
		s = span_behind(s, separators);
		span_skip(&s, "cuda:");
		if (!index_parse(&s, &index))
			return false;
	}
	return true;
}

struct device_choice device_parse(struct span text)
{
	struct device_choice choice = {.kind = CHOICE_BAD};
	struct span s = text;

	if (span_is(s, "cuda"))
		return (struct device_choice){.kind = CHOICE_CURRENT};
	if (span_is(s, "cpu") || span_is(s, "cpu:0"))
		return (struct device_choice){.kind = CHOICE_CPU};
	if (!span_skip(&s, "cuda:") && s.length > 1)
		choice.negative = span_skip(&s, "-");
	if (!index_parse(&s, &choice.index))
		return choice;
	choice.several = s.length > 0;
	if (choice.several && (choice.negative || !more_devices(s)))
		return choice;
	choice.negative = choice.negative && choice.index > 0;
	choice.kind = CHOICE_INDEX;
	return choice;
}
