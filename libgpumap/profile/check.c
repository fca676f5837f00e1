/* SPDX-License-Identifier: MIT */
/* Checks whether everything that has an effect is well-formed, with its variables and macros. */
#include "profile/profile.h"

#include "text/words.h"

struct check {
	const gpumap_profile *profile;
	gpumap_report *report;
	int code;
};

static void failed(struct check *c, int code)
{
	if (c->code == GPUMAP_OK || code == GPUMAP_ENOMEM)
		c->code = code;
}

/* The sweep that sets this variable, for the remedy. */
static const char *sweep_of(const gpumap_profile *p, struct span name)
{
	for (size_t i = 0; i < p->section_count; i++)
		for (size_t k = 0; k < p->sections[i].variable_count; k++)
			if (span_is(name, p->sections[i].variables[k].setting->name))
				return p->sections[i].name;
	return NULL;
}

static void unexpanded(struct check *c, const struct setting *setting,
		       const struct expand_error *error)
{
	struct span name = {error->at + 2, strcspn(error->at + 2, "}:")};
	const char *sweep = error->is_long ? NULL : sweep_of(c->profile, name);

	failed(c, report_fail(c->report, GPUMAP_EINPUT,
			      error->is_long ? FINDING_BAD_VALUE : FINDING_UNSET_VARIABLE,
			      ABOUT_SETTING(setting,
					    sweep ? FORMAT("gpumap run --sweep %.100s sets it; or "
							   "export it",
							   sweep)
						  : error->fix),
			      SETTING("%s") ": %s", setting->name, error->text));
}

/* Checks the words of a command. Quotes protect text that looks like a variable. */
static bool words_expand(struct check *c, const struct setting *setting, struct expand_error *error)
{
	struct span rest = span_of(setting->text);
	struct words_error wrong;
	struct strbuf word = {0}, nothing = {0};
	bool good = true, nomem = false;

	while (good && words_next(&rest, &word, &wrong)) {
		good = expand_variables(&nothing, (struct span){word.text, word.length}, true,
					profile_variable, c->profile, error);
		if (!good)
			unexpanded(c, setting, error);
		nomem = nomem || nothing.failed;
		strbuf_free(&nothing);
		strbuf_free(&word);
	}
	nomem = nomem || word.failed;
	strbuf_free(&word);
	if (nomem)
		failed(c, report_nomem(c->report));
	return good;
}

const char *setting_speaks(const void *data, struct span key)
{
	const struct setting *setting = data;

	return setting->key && span_is(key, setting->key->key.name) ? setting->origin : NULL;
}

static void check_setting(struct check *c, const struct setting *setting)
{
	const struct speech speech = {setting_speaks, setting, false};
	struct about about = *ABOUT_SETTING(setting, NULL);
	struct expand_error error;
	CLEANUP(strbuf_free) struct strbuf buf = {0};

	if (!setting->text || !expand_has_variable(span_of(setting->text)))
		return;
	if (setting->key && setting->key->kind == VALUE_COMMAND) {
		words_expand(c, setting, &error);
		return;
	}
	/* Variables as they are settled: names that are not keys are variables of [env]. */
	if (!expand_variables(&buf, span_of(setting->text),
			      !setting->key || value_has_macros(setting->key->kind),
			      profile_variable, c->profile, &error)) {
		unexpanded(c, setting, &error);
	} else if (buf.failed) {
		failed(c, report_nomem(c->report));
	} else if (setting->key) {
		about.column = 0; /* the column is that of the text before expansion */
		about.speech = &speech;
		failed(c, profile_value_check(setting->key,
					      span_of(profile_value(c->profile, setting)), &about,
					      c->report));
	}
}

/* Checks all settings that can decide the key, on any rank. */
static void check_key(struct check *c, enum profile_key_id key)
{
	const gpumap_profile *p = c->profile;
	const struct setting *decides = profile_decides(p, key, NO_PLACE);

	if (decides)
		check_setting(c, decides);
	if (decides && decides < p->settings + IN_FILES)
		return;
	for (size_t i = 0; i < p->section_count; i++) {
		const struct setting *setting = override_applies(p, &p->sections[i])
							? section_setting(&p->sections[i], key)
							: NULL;

		if (setting && setting != decides)
			check_setting(c, setting);
	}
}

static void check_program(struct check *c)
{
	const struct setting *program = profile_decides(c->profile, PKEY_PROFILE_program, NO_PLACE);
	const char *name = program ? profile_value(c->profile, program) : "";

	/* If it has a variable, it is shown as written, because the value is not known. */
	if (!*name || (name == program->text && expand_has_variable(span_of(name))) ||
	    profile_find(c->profile, SECTION_PROGRAM, span_of(name)) != NONE)
		return;
	failed(c, report_fail(c->report, GPUMAP_EINPUT, FINDING_NO_SUCH_SECTION,
			      ABOUT_SETTING(program, PROFILE_SUGGEST(c->profile, SECTION_PROGRAM,
								     span_of(name))),
			      "no such program: '%s'", QUOTE(span_of(name))));
}

static void check_conditions(struct check *c, const gpumap_section *section)
{
	for (size_t i = 0; i < section->count; i++) {
		const struct setting *setting = &c->profile->settings[section->first + i];

		if (setting->key && setting->key->in == SECTION_OVERRIDE)
			check_setting(c, setting);
	}
}

EXPORT int gpumap_profile_check(const gpumap_profile *profile, gpumap_report *report)
{
	struct check c = {.profile = profile, .report = report};

	for (int i = SETTING_FIRST; i < SETTING_END; i++)
		if (i != PKEY_PROFILE_inherit)
			check_key(&c, (enum profile_key_id)i);
	check_program(&c);
	for (size_t i = 0; i < profile->section_count; i++)
		if (override_applies(profile, &profile->sections[i]))
			check_conditions(&c, &profile->sections[i]);
	for (size_t i = 0; i < profile->settled.entry_count; i++)
		check_setting(&c, &profile->settings[profile->settled.entries[i]]);
	return c.code;
}

int profile_expand(char **ret, const char *text, const struct macros *macros,
		   const struct about *about, gpumap_report *report)
{
	struct about here = *about;
	struct expand_error error;
	struct strbuf buf = {0};
	char *expanded;

	if (!expand_macros(&buf, span_of(text), macros, &error)) {
		strbuf_free(&buf);
		here.fix = error.fix;
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE, &here, "%s: '%s'",
				   error.text, QUOTE(span_of(text)));
	}
	expanded = strbuf_take(&buf);
	if (!expanded)
		return report_nomem(report);
	*ret = expanded;
	return GPUMAP_OK;
}
