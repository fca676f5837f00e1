/* SPDX-License-Identifier: MIT */
/* Writes the chosen profile as one flat file. */
#include "profile/profile.h"

#include "text/inifile.h"
#include "text/words.h"

/* Writes the command unchanged if a file can hold it, else each word anew. */
static void add_command(struct strbuf *buf, struct span text)
{
	const char *wrong, *why;
	struct words_error error;
	struct strbuf word = {0};
	size_t begin = buf->length;

	if (inifile_text_length(text) == text.length && span_trim(text).length == text.length &&
	    inifile_value_length(text, ' ', &wrong, &why) == text.length) {
		strbuf_add(buf, text.text, text.length);
		return;
	}
	while (words_next(&text, &word, &error)) {
		if (buf->length > begin)
			strbuf_puts(buf, " ");
		words_encode(buf, (struct span){word.text, word.length});
		strbuf_free(&word);
	}
	buf->failed = buf->failed || word.failed;
	strbuf_free(&word);
}

/* Writes a value that reads back the same: variables that were expanded are not expanded again. */
static void add_value(struct strbuf *buf, const char *value, const char *text,
		      const struct profile_key *key)
{
	CLEANUP(strbuf_free) struct strbuf guarded = {0};

	if (key && key->kind == VALUE_COMMAND) {
		add_command(buf, span_of(value));
		return;
	}
	for (const char *c = value; *c; c++) {
		if (c[0] == '$' && c[1] == '{' && !streq(value, text))
			strbuf_puts(&guarded, "$");
		strbuf_add(&guarded, c, 1);
	}
	if (guarded.failed)
		buf->failed = true;
	else if (key && value_is_raw(key->kind))
		strbuf_add(buf, guarded.text ? guarded.text : "", guarded.length);
	else if (*value)
		inifile_encode(buf, (struct span){guarded.text, guarded.length});
}

static void add_line(struct strbuf *buf, const char *name, const char *value, const char *text,
		     const struct profile_key *key, const char *origin, bool comments)
{
	CLEANUP(strbuf_free) struct strbuf line = {0};

	strbuf_printf(&line, comments ? "# %-15s =%s" : "%-17s =%s", name,
		      value && *value ? " " : "");
	if (value)
		add_value(&line, value, text, key);
	if (line.failed)
		buf->failed = true;
	else
		strbuf_printf(buf, origin ? "%-48s ; " : "%s", line.text);
	if (origin)
		escape_all(buf, origin);
	strbuf_puts(buf, "\n");
}

/* A default is written as a comment: as a setting it would decide what gpumap otherwise finds out,
 * such as the program's device. */
static void add_settings(struct strbuf *buf, const gpumap_profile *profile,
			 enum profile_section section, const char *program, bool origins)
{
	for (int i = SETTING_FIRST; i < SETTING_END; i++) {
		const struct profile_key *key = profile_key((enum profile_key_id)i);
		const char *name = key->key.name;
		const char *text = gpumap_profile_setting(profile, name, GPUMAP_SETTING_TEXT);
		const char *value = gpumap_profile_setting(profile, name, GPUMAP_SETTING_VALUE);

		const char *origin = gpumap_profile_setting(profile, name, GPUMAP_SETTING_ORIGIN);
		bool stated = profile_states(profile, (enum profile_key_id)i);

		if (key->in != section || i == PKEY_PROFILE_inherit)
			continue;
		if (i == PKEY_PROFILE_program) {
			value = program;
			stated = *program;
		}
		add_line(buf, name, value, text, key, origins ? origin : NULL, !stated);
	}
}

/* Options about the program need a section, if the profile names none. */
static const char *program_name(const gpumap_profile *profile, const char *fallback)
{
	const char *name = gpumap_profile_setting(profile, "program", GPUMAP_SETTING_VALUE);

	for (int i = SETTING_FIRST; i < SETTING_END && !*name; i++)
		if (profile_key((enum profile_key_id)i)->in == SECTION_PROGRAM &&
		    profile_decides(profile, (enum profile_key_id)i, NO_PLACE))
			name = fallback;
	return name;
}

static void add_environment(struct strbuf *buf, const gpumap_profile *profile, const char *kind,
			    const char *name, bool unset, bool origins)
{
	bool any = false;

	for (size_t i = 0; i < gpumap_profile_variable_count(profile); i++) {
		const char *value = gpumap_profile_variable(profile, i, GPUMAP_SETTING_VALUE);

		if (!value != unset)
			continue;
		if (!any)
			strbuf_printf(buf, "\n[%s %s]\n", kind, name);
		any = true;
		add_line(buf, gpumap_profile_variable(profile, i, GPUMAP_SETTING_NAME), value,
			 gpumap_profile_variable(profile, i, GPUMAP_SETTING_TEXT), NULL,
			 origins ? gpumap_profile_variable(profile, i, GPUMAP_SETTING_ORIGIN)
				 : NULL,
			 false);
	}
}

void profile_write(struct strbuf *buf, const gpumap_profile *profile, bool origins)
{
	const char *name = gpumap_profile_str(profile, GPUMAP_PROFILE_NAME)
				   ? gpumap_profile_str(profile, GPUMAP_PROFILE_NAME)
				   : "default";
	const char *program = program_name(profile, name);

	strbuf_printf(buf, "[profile %s]\n", name);
	add_settings(buf, profile, SECTION_PROFILE, program, origins);
	if (*program) {
		strbuf_printf(buf, "\n[program %s]\n", program);
		add_settings(buf, profile, SECTION_PROGRAM, program, origins);
	}
	add_environment(buf, profile, "env", name, false, origins);
	add_environment(buf, profile, "unset", name, true, origins);
}
