/* SPDX-License-Identifier: MIT */
/* A profile as JSON: its members are always present, null when there is none. */
#include "explain/explain.h"
#include "explain/json.h"

struct settings {
	const gpumap_profile *profile;
	const char *const *wanted;
	json_t *object;
};

static bool wanted(const char *const *names, const char *name)
{
	for (; names && *names; names++)
		if (streq(*names, name))
			return true;
	return false;
}

static int add_setting(const gpumap_key *key, void *data)
{
	struct settings *s = data;
	const char *name = gpumap_key_str(key, GPUMAP_KEY_NAME);
	const char *section = gpumap_key_str(key, GPUMAP_KEY_SECTION);
	const char *value, *origin;

	if ((!streq(section, "profile") && !streq(section, "program")) || streq(name, "inherit") ||
	    (s->wanted && !wanted(s->wanted, name)))
		return 0;
	value = gpumap_profile_setting(s->profile, name, GPUMAP_SETTING_VALUE);
	origin = gpumap_profile_setting(s->profile, name, GPUMAP_SETTING_ORIGIN);
	json_put(&s->object, name,
		 JSON_OBJECT({"value", json_text(value)}, {"origin", json_text(origin)},
			     {"section", json_text(section)}));
	return 0;
}

static json_t *variable_json(const gpumap_profile *profile, size_t i)
{
	return JSON_OBJECT(
		{"name", json_text(gpumap_profile_variable(profile, i, GPUMAP_SETTING_NAME))},
		{"value", json_text(gpumap_profile_variable(profile, i, GPUMAP_SETTING_VALUE))},
		{"origin", json_text(gpumap_profile_variable(profile, i, GPUMAP_SETTING_ORIGIN))});
}

void profile_json(struct strbuf *buf, const gpumap_profile *profile, const char *const *keys,
		  const gpumap_report *report)
{
	struct settings s = {.profile = profile, .wanted = keys, .object = json_object()};
	json_t *o;

	if (profile)
		gpumap_profile_key_each(add_setting, &s);
	o = JSON_DOCUMENT("profile",
			  {"profile", json_text(gpumap_profile_str(profile, GPUMAP_PROFILE_NAME))},
			  {"file", json_text(gpumap_profile_str(profile, GPUMAP_PROFILE_FILE))},
			  {"settings", s.object},
			  {"arguments", JSON_LIST(i, gpumap_profile_argument_count(profile),
						  json_text(gpumap_profile_argument(profile, i)))},
			  {"environment", JSON_LIST(i, gpumap_profile_variable_count(profile),
						    variable_json(profile, i))},
			  {"findings", json_findings(report)});
	json_dump(buf, o);
}
