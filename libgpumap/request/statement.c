/* SPDX-License-Identifier: MIT */
/* Statements: their grammar, [VAR=]value. */
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
