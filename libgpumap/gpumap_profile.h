/* SPDX-License-Identifier: MIT */
/* A part of gpumap.h, which includes it and has the conventions. */
#ifndef GPUMAP_PROFILE_H
#define GPUMAP_PROFILE_H

#include "gpumap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- profile: what to launch ------------------------------------------------- */

/* INI files that say which GPUs, how many ranks and what to run; gpumap.ini(5) describes
 * them. A value comes from, strongest first (rule S6): gpumap_profile_set, GPUMAP_*
 * variables, [override] sections, the [profile], its parents, the built-in default. An
 * empty value resets a key to the built-in default; a list replaces a list. */
typedef struct gpumap_profile gpumap_profile;
typedef struct gpumap_section gpumap_section;

/* A file larger than this many bytes is GPUMAP_ELIMIT (4 MiB), a longer value an error. */
#define GPUMAP_MAX_PROFILE (4u << 20)
#define GPUMAP_MAX_VALUE 65536u

/* As gpumap_key_each, for the keys of profile files. Those of the sections "profile" and
 * "program" have a value in every profile; "override" and "sweep" have keys of their own,
 * and those of "profile" can stand in "override" too. */
int gpumap_profile_key_each(int (*fn)(const gpumap_key *key, void *data), void *data);

/* The built-in defaults. GPUMAP_ENOMEM. */
int gpumap_profile_new(gpumap_profile **ret);

/* Reads a file and what it includes, and chooses the profile `name`; NULL: the one that
 * [gpumap] names as default, or the only one. Without such a one nothing is chosen:
 * gpumap_profile_name is NULL, and all values are built-in defaults. All errors of all
 * files are reported together. GPUMAP_EINPUT, GPUMAP_EFILE, GPUMAP_ELIMIT, GPUMAP_ENOMEM. */
int gpumap_profile_read(gpumap_profile **ret, const char *path, const char *name,
			gpumap_report *report);

/* As gpumap_profile_read, from text. `origin` is its file's path, to which includes are
 * relative. */
int gpumap_profile_parse(gpumap_profile **ret, const char *text, size_t size, const char *origin,
			 const char *name, gpumap_report *report);
void gpumap_profile_free(gpumap_profile *profile);

/* Finds a profile file and reads it, as gpumap and gpumap-train do. The file is the first of
 * these:
 *
 *	`path`, unless it is NULL
 *	GPUMAP_CONFIG of `envp`, unless it is empty
 *	./gpumap.ini, if it exists and is trusted
 *	gpumap/gpumap.ini in XDG_CONFIG_HOME of `envp`, or where that is no absolute path
 *	in .config of its HOME, if it exists
 *	/etc/gpumap/gpumap.ini, if it exists
 *
 * A profile holds a command, and the working directory may belong to anybody. So
 * ./gpumap.ini is trusted only if it is a regular file that belongs to the effective user or to
 * root and that neither its group nor others may write to, and if it is a symbolic link, that
 * link belongs to one of these users too. Otherwise it is not read: a warning (GM165) gives the
 * reason, and the search goes on. A file that is named by `path` or GPUMAP_CONFIG is read
 * whoever owns it, and so are the files that a profile includes. The user's file and the one in
 * /etc stand in directories of their owners and are not judged.
 *
 * Without any file the profile has the built-in defaults and gpumap_profile_file is NULL; if a
 * `name` is given, that is GPUMAP_EINPUT. `envp`, which may be NULL, only tells where the file
 * is: gpumap_profile_environ applies it. `flags`: GPUMAP_OPEN_HERE ends the search with
 * ./gpumap.ini. All else is as of gpumap_profile_read. */
#define GPUMAP_OPEN_HERE 1u
int gpumap_profile_open(gpumap_profile **ret, const char *path, const char *name,
			const char *const *envp, unsigned flags, gpumap_report *report);

/* Gives a key a value, as an option does; `origin` is its name, "--gpus". GPUMAP_EKEY,
 * GPUMAP_EINPUT; GPUMAP_ELIMIT, it names too many GPUs or hosts; GPUMAP_ENOMEM. On failure the
 * profile is unchanged. Lists may be of several lines, as commands print them. */
int gpumap_profile_set(gpumap_profile *profile, const char *key, const char *value,
		       const char *origin, gpumap_report *report);

/* The launching environment: GPUMAP_KEY=value gives keys values, and the others are what
 * ${VAR} stands for. It replaces that of an earlier call. On failure the profile is
 * unchanged. GPUMAP_EINPUT; GPUMAP_ELIMIT, a variable makes the conditions of overrides name
 * too many hosts; GPUMAP_ENOMEM. */
int gpumap_profile_environ(gpumap_profile *profile, const char *const *envp, gpumap_report *report);

/* Whether it can be launched as it is: every ${VAR} in what holds is set, the values that
 * they make are good, the program exists. Reports all that is wrong. GPUMAP_EINPUT,
 * GPUMAP_ELIMIT, GPUMAP_ENOMEM: of what is wrong first. */
int gpumap_profile_check(const gpumap_profile *profile, gpumap_report *report);

/* The name of the chosen profile, and the file that was read; NULL: none. */
const char *gpumap_profile_name(const gpumap_profile *profile);
const char *gpumap_profile_file(const gpumap_profile *profile);

/* Strings live until the profile is changed or freed. */
enum gpumap_setting_attr {
	GPUMAP_SETTING_NAME,  /* the key */
	GPUMAP_SETTING_VALUE, /* with its variables; as written while one of them is not set */
	GPUMAP_SETTING_TEXT,  /* as written */
	GPUMAP_SETTING_ORIGIN /* "train.ini:7", "--gpus", "GPUMAP_GPUS" or "default" */
};

/* The effective value of a key of [profile] or [program] on the host, node, rank and local
 * rank: an override with a condition on what is not known (NULL, -1) does not hold. Lists
 * and the command keep their quotes, and %r and its like are there still. NULL: no such
 * key. */
const char *gpumap_profile_at(const gpumap_profile *profile, const char *key,
			      enum gpumap_setting_attr attr, const char *host, int64_t node,
			      int64_t rank, int64_t local_rank);
/* The same, knowing nothing of the place. */
const char *gpumap_profile_str(const gpumap_profile *profile, const char *key,
			       enum gpumap_setting_attr attr);

/* The arguments of the program's command; the i-th, NULL past the end. */
size_t gpumap_profile_argument_count(const gpumap_profile *profile);
const char *gpumap_profile_argument(const gpumap_profile *profile, size_t i);

/* What [env] and [unset] of the profile and its parents come to, a variable at a time; its
 * value is NULL when it is to be unset. NULL past the end. */
size_t gpumap_profile_env_count(const gpumap_profile *profile);
const char *gpumap_profile_env(const gpumap_profile *profile, size_t i,
			       enum gpumap_setting_attr attr);

enum gpumap_section_attr {
	GPUMAP_SECTION_KIND, /* "profile", "program", "env", "unset", "trainer", "override", "sweep"
			      */
	GPUMAP_SECTION_NAME, /* "base" of [profile base] */
	GPUMAP_SECTION_ORIGIN, /* "train.ini:7" */
	GPUMAP_SECTION_PARENT  /* the profile that a profile inherits from, or NULL */
};

/* The i-th section of a kind (NULL: of any) in the order of the files, an included one
 * standing where it is included; NULL past the end. Its entries, as it gives them. */
const gpumap_section *gpumap_profile_section(const gpumap_profile *profile, const char *kind,
					     size_t i);
const char *gpumap_section_str(const gpumap_section *section, enum gpumap_section_attr attr);
size_t gpumap_section_count(const gpumap_section *section);
const char *gpumap_section_entry(const gpumap_section *section, size_t i,
				 enum gpumap_setting_attr attr);

/* A [sweep]: its combinations (0: it is none), the last variable changing first; how many
 * run at a time (-1: it is none); the name and value of its i-th variable (NULL past the
 * end). */
size_t gpumap_sweep_count(const gpumap_section *sweep);
int64_t gpumap_sweep_jobs(const gpumap_section *sweep);
const char *gpumap_sweep_variable(const gpumap_section *sweep, size_t i);
const char *gpumap_sweep_value(const gpumap_section *sweep, size_t combination, size_t i);

/* From now on ${name} stands for the values of a sweep's combination, before the
 * environment's; `sweep` NULL: no sweep's. GPUMAP_EINPUT, GPUMAP_ELIMIT as of
 * gpumap_profile_environ, GPUMAP_ENOMEM. */
int gpumap_profile_sweep(gpumap_profile *profile, const char *sweep, size_t combination,
			 gpumap_report *report);

/* The chosen profile as a flat file: without includes, parents, overrides with a condition,
 * trainers and sweeps it reads back to the same. With `origins` each line tells where its
 * value is from. As gpumap_explain. */
int gpumap_profile_text(char **ret, const gpumap_profile *profile, int origins);

/* The chosen profile as JSON, as gpumap_explain. `keys` ends with NULL; NULL: all keys.
 * `profile` NULL: there is none; the report's findings alone. */
int gpumap_profile_json(char **ret, const gpumap_profile *profile, const char *const *keys,
			const gpumap_report *report);

#ifdef __cplusplus
}
#endif
#endif
