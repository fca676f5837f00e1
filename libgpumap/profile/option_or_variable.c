/* SPDX-License-Identifier: MIT */
/* What is stronger than files: settings by options and by the environment (rule S6), and the chosen
 * combination of a sweep. */
#include "profile/profile.h"

#include "suggest.h"
#include "text/inifile.h"

static int unknown_key(struct span name, const char *origin, gpumap_report *report)
{
	const char *names[SETTING_COUNT + 1] = {0};

	for (int i = SETTING_FIRST, n = 0; i < SETTING_END; i++)
		if (i != PKEY_PROFILE_inherit)
			names[n++] = profile_key((enum profile_key_id)i)->key.name;
	return report_fail(
		report, GPUMAP_EKEY, FINDING_UNKNOWN_KEY,
		ABOUT(.origin = origin, .fix = DID_YOU_MEAN(suggest(name, names),
							    "gpumap config help lists the keys")),
		"no such key: '%s'", QUOTE(name));
}

/* Joins a value of several lines as a file would have it: commands print hosts line by line. NULL:
 * no memory. */
static const char *one_line(gpumap_profile *profile, const struct profile_key *key,
			    const char *value)
{
	struct strbuf buf = {0};

	if (!value_is_list(key->kind))
		return value;
	inifile_fold(&buf, span_of(value));
	value = strbuf_keep(&buf, &profile->arena);
	profile->arena.failed = false;
	return value;
}

/* Checks the value, unless it has variables; gpumap_profile_check() then does it later. */
static int check(const struct profile_key *key, const char *value, const char *origin,
		 gpumap_report *report)
{
	const struct setting setting = {.key = key, .origin = origin};
	const struct speech speech = {setting_speaks, &setting, false};
	struct about about = {.origin = origin, .speech = &speech};
	struct expand_error error;
	CLEANUP(strbuf_free) struct strbuf nothing = {0};
	unsigned most = profile_value_most(key, false);
	/* Each word of a command is checked, because quotes protect. */
	bool good = key->kind == VALUE_COMMAND ||
		    expand_variables(&nothing, span_of(value), false, NULL, NULL, &error);

	if (!good)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
				   ABOUT(.origin = origin, .fix = error.fix, .speech = &speech),
				   SETTING("%s") ": %s: '%s'", key->key.name, error.text,
				   QUOTE(span_of(error.at)));
	if (strlen(value) > most)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE, &about,
				   SETTING("%s") " has a value of %zu bytes, more than %u",
				   key->key.name, strlen(value), most);
	if (expand_has_variable(span_of(value)) && key->kind != VALUE_COMMAND)
		return GPUMAP_OK;
	return profile_value_check(key, span_of(value), &about, report);
}

static int fill(gpumap_profile *profile, struct setting *setting, const struct profile_key *key,
		const char *value, const char *origin, gpumap_report *report)
{
	const char *text = arena_strdup(&profile->arena, value);
	CLEANUP_FREE char *shown = escaped_copy(origin ? origin : "option");
	const char *from = arena_strdup(&profile->arena, shown);

	if (!text || !from) {
		profile->arena.failed = false;
		return report_nomem(report);
	}
	*setting = (struct setting){
		.key = key, .name = key->key.name, .text = text, .file = from, .origin = from};
	return GPUMAP_OK;
}

EXPORT int gpumap_profile_set(gpumap_profile *profile, const char *name, const char *value,
			      const char *origin, gpumap_report *report)
{
	enum profile_key_id id = setting_key(span_of(name));
	struct setting *setting = &profile->settings[OPTIONS + id - SETTING_FIRST], before;
	const struct profile_key *key;
	int r;

	if (id == PKEY_COUNT || id == PKEY_PROFILE_inherit)
		return unknown_key(span_of(name), origin, report);
	key = profile_key(id);
	before = *setting;
	value = one_line(profile, key, value);
	r = value ? check(key, value, origin, report) : report_nomem(report);
	if (r == GPUMAP_OK)
		r = fill(profile, setting, key, value, origin, report);
	if (r == GPUMAP_OK)
		r = profile_settle(profile, report);
	if (r != GPUMAP_OK)
		*setting = before;
	return r;
}

/* gpumap explain reads some of these variables too, and accepts values that profiles do not. */
static bool is_statement(const struct profile_key *key, const char *value)
{
	for (int i = 0; i < KEY_COUNT; i++) {
		const gpumap_key *other = key_get((enum key_id)i);

		if (streq(other->environment, key->key.environment))
			return key_check(other, value, NULL, NULL) == GPUMAP_OK;
	}
	return false;
}

static int set_variable(gpumap_profile *profile, const char *entry, size_t length,
			gpumap_report *report)
{
	const char *value = entry + length + 1;
	struct span name = {entry, length};

	for (int i = SETTING_FIRST; i < SETTING_END; i++) {
		const struct profile_key *key = profile_key((enum profile_key_id)i);
		struct setting *setting = &profile->settings[VARIABLES + i - SETTING_FIRST];

		if (!key->key.environment || !span_is(name, key->key.environment))
			continue;
		if (setting->text)
			return GPUMAP_OK; /* getenv(3) finds the first */
		value = one_line(profile, key, value);
		if (!value)
			return report_nomem(report);
		if (check(key, value, key->key.environment, NULL) != GPUMAP_OK &&
		    is_statement(key, value)) {
			report_add(report, FINDING_IGNORED_KEY,
				   ABOUT(.origin = key->key.environment),
				   "'%s' is only for gpumap explain", QUOTE(span_of(value)));
			return GPUMAP_OK;
		}
		if (check(key, value, key->key.environment, report) != GPUMAP_OK)
			return GPUMAP_EINPUT;
		return fill(profile, setting, key, value, key->key.environment, report);
	}
	key_variable_misspelt(name, report);
	return GPUMAP_OK;
}

static int copy_environment(gpumap_profile *profile, const char *const *envp, gpumap_report *report)
{
	size_t n = 0;

	while (envp[n])
		n++;
	profile->environment = arena_alloc(&profile->arena, n + 1, sizeof(*envp));
	for (size_t i = 0; profile->environment && i < n; i++)
		profile->environment[i] = arena_strdup(&profile->arena, envp[i]);
	if (!profile->arena.failed)
		return GPUMAP_OK;
	profile->arena.failed = false;
	return report_nomem(report);
}

EXPORT int gpumap_profile_set_environ(gpumap_profile *profile, const char *const *envp,
				      gpumap_report *report)
{
	const char **before = profile->environment;
	struct setting variables[SETTING_COUNT];
	int r, one;

	memcpy(variables, profile->settings + VARIABLES, sizeof(variables));
	memset(profile->settings + VARIABLES, 0, sizeof(variables));
	r = copy_environment(profile, envp, report);
	for (; r != GPUMAP_ENOMEM && *envp; envp++) {
		const char *equals = strchr(*envp, '=');

		if (!equals || !starts_with(*envp, "GPUMAP_"))
			continue;
		one = set_variable(profile, *envp, (size_t)(equals - *envp), report);
		if (one != GPUMAP_OK)
			r = one;
	}
	if (r == GPUMAP_OK)
		r = profile_settle(profile, report);
	if (r != GPUMAP_OK) {
		memcpy(profile->settings + VARIABLES, variables, sizeof(variables));
		profile->environment = before;
	}
	return r;
}

/* What to write instead of the values themselves, "lr=0.1,0.2". */
static const char *values_fix(struct quoted *ret, const gpumap_profile *profile, const char *text)
{
	struct span values = span_of(text), name;

	span_split(&values, '=', &name);
	name.length = name.length < 40 ? name.length : 40;
	values.length = values.length < 40 ? values.length : 40;
	if (memchr(values.text, '\'', values.length))
		values = span_of("1, 2");
	if (profile_find(profile, SECTION_SWEEP, name) != NONE)
		return format_text(
			ret, "write the values into [sweep %.*s] of %.100s, and --sweep %.*s",
			(int)name.length, name.text, profile->file, (int)name.length, name.text);
	return format_text(ret,
			   "printf '%%s\\n' '[program p]' 'command = train.py --%.*s ${%.*s}' "
			   "'[profile p]' 'program = p' 'gpus = free:1' '[sweep s]' 'profile = p' "
			   "'jobs = 4' '%.*s = %.*s' >sweep.ini; then gpumap run --config "
			   "sweep.ini --sweep s",
			   (int)name.length, name.text, (int)name.length, name.text,
			   (int)name.length, name.text, (int)values.length, values.text);
}

EXPORT int gpumap_profile_set_sweep(gpumap_profile *profile, const char *name, size_t combination,
				    gpumap_report *report)
{
	size_t before = profile->sweep, before_combination = profile->combination, i = NONE;
	int r;

	if (name) {
		struct quoted fix = {{0}};

		i = profile_find(profile, SECTION_SWEEP, span_of(name));
		if (i == NONE)
			return report_fail(
				report, GPUMAP_EINPUT, FINDING_NO_SUCH_SECTION,
				ABOUT(.origin = profile->file,
				      .fix = strchr(name, '=')
						     ? values_fix(&fix, profile, name)
						     : profile_suggest(&fix, profile, SECTION_SWEEP,
								       span_of(name))),
				"no such sweep: '%s'", QUOTE(span_of(name)));
		if (combination >= profile->sections[i].combinations)
			return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
					   ABOUT(.origin = profile->sections[i].origin),
					   "sweep %s has %zu combinations", name,
					   profile->sections[i].combinations);
	}
	profile->sweep = i;
	profile->combination = combination;
	r = profile_settle(profile, report);
	if (r != GPUMAP_OK) {
		profile->sweep = before;
		profile->combination = before_combination;
	}
	return r;
}
