/* SPDX-License-Identifier: MIT */
/* The settings of a plan, each read once: what it is, and who gave it. */
#ifndef GM_PLAN_SETTINGS_H
#define GM_PLAN_SETTINGS_H

#include "request/profile_keys.h"

/* Where the text of a value begins. */
struct plan_place {
	const char *origin; /* file, option or variable; NULL: a default, or not known */
	int line, column;   /* 1-based, 0: does not apply */
};
#define ABOUT_PLACE(place, ...) \
	ABOUT(.origin = (place)->origin, .line = (place)->line, .column = (place)->column, \
	      __VA_ARGS__)

struct plan_setting {
	const char *text;      /* "": there is no value; NULL: the plan has no settings */
	int word;              /* the alternative, an enumerator of KEY_WORDS; -1: it has none */
	int64_t number;        /* of the alternative; -1: it has none */
	struct span part;      /* of the text, for the form of the alternative: "4" of cores:4 */
	struct device_use use; /* of device and set_device */
	const char *origin;    /* "gpumap.ini:7", "--gpus"; NULL: it was not given, the default */
	bool found;            /* from a profile file that was found, not named */
	struct plan_place place;
};

/* A setting for each key of [profile] and [program], by its name or its place among them. Start
 * with plan_settings_default(). */
struct plan_settings {
	union {
		struct {
#define OF_GPUMAP(name)
#define OF_PROFILE(name) struct plan_setting name;
#define OF_PROGRAM(name) struct plan_setting name;
#define OF_OVERRIDE(name)
#define OF_SWEEP(name)
#define OF_LEASES(name)
#define PROFILE_KEY(section, name, option, environment, kind, scope, value, initial, use, help) \
	OF_##section(name)
#include "request/profile_keys.def"
#undef PROFILE_KEY
#undef OF_GPUMAP
#undef OF_PROFILE
#undef OF_PROGRAM
#undef OF_OVERRIDE
#undef OF_SWEEP
#undef OF_LEASES
		};
		struct plan_setting of[SETTING_COUNT];
	};
};
#define SETTING_OF(settings, key) (&(settings)->of[(key)-SETTING_FIRST])
/* All but the first: a profile's parent is no setting of its plans. */
#define EACH_PLAN_KEY(k) \
	for (enum profile_key_id k = PKEY_PROFILE_inherit + 1; (k) < SETTING_END; (k)++)

/* All keys; the texts are those of the program. */
struct plan_settings plan_settings_default(void);

/* The setting of a text, which is borrowed and was checked before; "" is the default. */
struct plan_setting plan_setting(enum profile_key_id key, const char *text, const char *origin);

/* Who gave it, as plans and profiles write that: "default" if nobody did; and back. */
const char *setting_origin(const struct plan_setting *setting);
const char *setting_giver(const char *origin);

/* Whether it is what it is if nobody gives it. */
bool setting_is_default(enum profile_key_id key, const struct plan_setting *setting);

/* Sets one value from its text, which is borrowed; "" is the default. GPUMAP_EINPUT, GPUMAP_ELIMIT;
 * the settings are then unchanged. */
int plan_set(struct plan_settings *settings, enum profile_key_id key, const char *text,
	     struct plan_place place, gpumap_report *report);

/* Whether plan_make() uses this key. Other keys matter only for the start. */
bool plan_uses(enum profile_key_id key);

#endif
