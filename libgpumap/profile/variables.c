/* SPDX-License-Identifier: MIT */
/* What ${name} stands for in a profile, and values in which it is replaced. */
#include "profile/profile.h"

#include "text/inifile.h"

static const char *in_environment(const gpumap_profile *p, struct span name)
{
	for (const char *const *e = p->environment; e && *e; e++)
		if (strncmp(*e, name.text, name.length) == 0 && (*e)[name.length] == '=')
			return *e + name.length + 1;
	return NULL;
}

const char *profile_variable(const void *data, struct span name)
{
	const gpumap_profile *p = data;
	const gpumap_section *sweep = p->sweep == NONE ? NULL : &p->sections[p->sweep];

	for (size_t i = 0; sweep && i < sweep->variable_count; i++)
		if (span_is(name, sweep->variables[i].setting->name))
			return sweep_value(sweep, p->combination, i);
	return in_environment(p, name);
}

const char *profile_expanded(const gpumap_profile *p, struct arena *arena, const char *text,
			     bool macros, bool list)
{
	CLEANUP(strbuf_free) struct strbuf buf = {0};
	struct strbuf folded = {0};
	struct expand_error error;

	if (!expand_has_variable(span_of(text)))
		return text;
	if (!expand_variables(&buf, span_of(text), macros, profile_variable, p, &error)) {
		arena->failed = arena->failed || buf.failed;
		return text;
	}
	if (!list)
		return strbuf_keep(&buf, arena);
	inifile_fold(&folded, (struct span){buf.text ? buf.text : "", buf.length});
	arena->failed = arena->failed || buf.failed;
	return strbuf_keep(&folded, arena);
}
