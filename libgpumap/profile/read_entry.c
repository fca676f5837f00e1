/* SPDX-License-Identifier: MIT */
/* Reads the entries of a section in a profile file, and checks each in its place. */
#include "profile/read_sections.h"

#include <limits.h>

enum { PROFILE_SCHEMA = 1 };

static int add_setting(struct file *f, const struct profile_key *key,
		       const struct inifile_entry *entry)
{
	gpumap_profile *p = f->load->profile;
	CLEANUP(strbuf_free) struct strbuf decoded = {0};
	struct setting *setting;
	size_t bytes;

	if (p->sections[f->section].count == MAX_ENTRIES)
		return report_fail(f->load->report, GPUMAP_ELIMIT, FINDING_LIMIT,
				   ABOUT(.origin = f->path, .line = entry->line),
				   "more than %d entries of a section", MAX_ENTRIES);
	if (!ARRAY_ROOM(p->settings, p->setting_count, p->setting_room))
		return report_nomem(f->load->report);
	if ((key && value_is_raw(key->kind)) || p->sections[f->section].kind == SECTION_SWEEP)
		strbuf_add(&decoded, entry->value.text, entry->value.length);
	else
		inifile_decode(&decoded, entry->value);
	bytes = profile_value_length((struct span){decoded.text, decoded.length});
	if (bytes > profile_value_most(key, true))
		return FAIL(f, FINDING_BAD_VALUE, "shorten it",
			    "a value of %zu bytes, more than %u", bytes,
			    profile_value_most(key, true));
	setting = &p->settings[p->setting_count];
	*setting = (struct setting){
		.key = key,
		.name = arena_strndup(&p->arena, entry->key.text, entry->key.length),
		.text = arena_strndup(&p->arena, decoded.text ? decoded.text : "", decoded.length),
		.file = f->path,
		.origin = arena_printf(&p->arena, "%s:%d", f->path, entry->line),
		.line = entry->line,
		.column = entry->column,
	};
	if (p->arena.failed || decoded.failed)
		return report_nomem(f->load->report);
	p->setting_count++;
	p->sections[f->section].count++;
	return GPUMAP_OK;
}

/* The remedy for a condition of an override that has another name here; NULL: not known. */
static const char *other_condition(struct span key)
{
	static const struct {
		const char *names, *fix;
	} known[] = {
		{"nnodes nodes node node_rank num_nodes num_machines machine_rank",
		 "write when_node = 0,2-3"},
		{"host hostname nodelist", "write when_host = HOST-PATTERN,..."},
		{"rank", "write when_rank = 0,2-3"},
		{"local_rank", "write when_local_rank = 0,2-3"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (span_among(key, known[i].names))
			return known[i].fix;
	return NULL;
}

/* The remedy for a key of a launch that has another name here; NULL: not known. */
static const char *other_name(struct quoted *ret, enum profile_section section, struct span key)
{
	static const struct {
		const char *names, *fix;
		bool of_profile; /* the fix is a key of [profile] */
	} known[] = {
		{"nproc_per_node nproc n np num_processes nprocs num_gpus ngpus n_gpus gpu_count "
		 "gpus_per_node ntasks_per_node",
		 "write ranks = N", true},
		{"devices visible visible_devices cuda_visible_devices CUDA_VISIBLE_DEVICES "
		 "gpu_ids",
		 "write gpus = 2,3", true},
		{"nnodes nodes num_nodes num_machines", "write hosts = HOST,...", true},
		{"time time_limit walltime limit", "write timeout = 2h", true},
		{"cwd chdir wdir dir folder working_dir", "write workdir = DIR", true},
		{"logs output output_dir", "write log_dir = DIR", true},
		{"max_restarts restarts retries", "write on_fail = restart:N", true},
		{"cpus cores cpus_per_task", "write cpu_bind = cores:N", true},
		{"script cmd main args arguments entrypoint",
		 "write command = PROGRAM ARGUMENT... into [program NAME], and program = NAME "
		 "into [profile NAME]",
		 false},
		{"env environment", "write a section [env NAME] with the variables", false},
	};
	const char *condition = section == SECTION_OVERRIDE ? other_condition(key) : NULL;

	for (size_t i = 0; !condition && i < ARRAY_SIZE(known); i++)
		if (span_among(key, known[i].names))
			return format_text(ret, "%s%s", known[i].fix,
					   section == SECTION_PROGRAM && known[i].of_profile
						   ? " into [profile NAME]"
						   : "");
	return condition;
}

/* A key that is known, but not in this section; or a name of other programs. */
static int misplaced(struct file *f, enum profile_section kind, const struct inifile_entry *entry)
{
	const char *fix = NULL;
	struct quoted room;

	for (int i = 0; i < PKEY_COUNT; i++) {
		const struct profile_key *key = profile_key((enum profile_key_id)i);

		if (!span_is(entry->key, key->key.name))
			continue;
		fix = FORMAT("write it into [%s%s]%s", section_name(key->in),
			     section_has_name(key->in) ? " NAME" : "",
			     kind == SECTION_PROFILE && key->in == SECTION_PROGRAM
				     ? ", and program = NAME here"
				     : "");
		return FAIL_KEY(f, FINDING_UNKNOWN_KEY, fix, "%s does not belong in [%s]",
				key->key.name, section_name(kind));
	}
	if (kind == SECTION_PROFILE || kind == SECTION_PROGRAM || kind == SECTION_OVERRIDE)
		fix = other_name(&room, kind, entry->key);
	if (fix)
		return FAIL_KEY(f, FINDING_UNKNOWN_KEY, fix, "unknown key '%s' in [%s]",
				QUOTE(entry->key), QUOTE(entry->section));
	return GPUMAP_OK;
}

/* The key of the entry in a section of this kind. *found NULL with GPUMAP_OK: the key is for sites.
 */
static int find_key(struct file *f, enum profile_section kind, const struct inifile_entry *entry,
		    const struct profile_key **found)
{
	const char *names[MAX_KEYS] = {0};
	enum profile_key_id ids[MAX_KEYS];
	bool known = false;
	int n = 0;

	*found = NULL;
	for (int i = 0; i < PKEY_COUNT; i++) {
		const struct profile_key *key = profile_key((enum profile_key_id)i);

		if (key->in != kind && !(kind == SECTION_OVERRIDE && key->in == SECTION_PROFILE &&
					 i != PKEY_PROFILE_inherit))
			continue;
		known = known || span_is(entry->key, key->key.name);
		names[n] = key->key.name;
		ids[n++] = (enum profile_key_id)i;
	}
	if (!known) {
		int r = misplaced(f, kind, entry);

		if (r != GPUMAP_OK)
			return r;
	}
	n = inifile_key(entry, names, f->lines, f->path, f->load->report);
	if (n >= 0)
		*found = profile_key(ids[n]);
	return n == INIFILE_BAD_KEY ? GPUMAP_EINPUT : GPUMAP_OK;
}

/* Keys that link files are read before any variable is known. */
static bool is_read_at_once(const struct profile_key *key)
{
	static const enum profile_key_id ids[] = {PKEY_PROFILE_inherit, PKEY_OVERRIDE_profile,
						  PKEY_SWEEP_profile, PKEY_SWEEP_jobs};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		if (key == profile_key(ids[i]))
			return true;
	return false;
}

/* Checks a value here unless it has a variable; then it is checked when that is known. */
static int check_value(struct file *f, const struct profile_key *key,
		       const struct inifile_entry *entry, const char *text)
{
	struct about about = f->at;
	struct span value = span_of(text);
	struct expand_error error;
	CLEANUP(strbuf_free) struct strbuf nothing = {0};
	/* Each word of a command is checked, because quotes protect. */
	bool good = (key && key->kind == VALUE_COMMAND) ||
		    expand_variables(&nothing, value, false, NULL, NULL, &error);

	if (!good)
		return FAIL(f, FINDING_BAD_VALUE, error.fix, "%s: %s: '%s'",
			    key ? key->key.name : QUOTE(entry->key), error.text,
			    QUOTE(span_of(error.at)));
	if (!key) {
		bool env = f->load->profile->sections[f->section].kind == SECTION_ENV;

		if (!env || expand_check_macros(value, false, &error))
			return GPUMAP_OK;
		return FAIL(f, FINDING_BAD_VALUE, error.fix, "%s: %s: '%s'", QUOTE(entry->key),
			    error.text, QUOTE(span_of(error.at)));
	}
	if (expand_has_variable(value) && is_read_at_once(key))
		return FAIL(f, FINDING_BAD_VALUE, "write the value itself",
			    "${ is not replaced in %s: '%s'", key->key.name, QUOTE(value));
	if (expand_has_variable(value) && key->kind != VALUE_COMMAND)
		return GPUMAP_OK;
	if (!value_is_raw(key->kind) && entry->value.length != value.length)
		about.column = 0; /* quotes were removed, so a place inside would be wrong */
	return profile_value_check(key, value, &about, f->load->report);
}

static int read_schema(struct file *f, const struct inifile_entry *entry)
{
	int64_t schema = span_number(entry->value, INT_MAX);

	if (schema == PROFILE_SCHEMA || !entry->value.length)
		return GPUMAP_OK;
	f->newer = schema > PROFILE_SCHEMA;
	if (f->newer)
		return FAIL(f, FINDING_BAD_VALUE, "use a newer gpumap",
			    "schema %d is newer than this gpumap, which knows %d", (int)schema,
			    PROFILE_SCHEMA);
	return FAIL(f, FINDING_BAD_VALUE, "write schema = 1", "no such schema: '%s'",
		    QUOTE(entry->value));
}

static int read_default(struct file *f, const struct inifile_entry *entry)
{
	gpumap_profile *p = f->load->profile;
	CLEANUP(strbuf_free) struct strbuf name = {0};
	int r;

	inifile_decode(&name, entry->value);
	if (name.failed)
		return report_nomem(f->load->report);
	r = profile_value_check(profile_key(PKEY_GPUMAP_default),
				(struct span){name.text ? name.text : "", name.length}, &f->at,
				f->load->report);
	if (r == GPUMAP_OK && name.length) {
		p->wanted = arena_strndup(&p->arena, name.text, name.length);
		p->wanted_at = f->at;
	}
	return p->arena.failed ? report_nomem(f->load->report) : r;
}

int profile_read_head(struct file *f, const struct inifile_entry *entry)
{
	const struct profile_key *key;
	int r = find_key(f, SECTION_GPUMAP, entry, &key);

	if (r != GPUMAP_OK || !key)
		return r;
	if (key == profile_key(PKEY_GPUMAP_schema))
		return read_schema(f, entry);
	if (key == profile_key(PKEY_GPUMAP_default))
		return read_default(f, entry);
	if (key == profile_key(PKEY_GPUMAP_include)) {
		r = profile_value_check(key, entry->value, &f->at, f->load->report);
		return r == GPUMAP_OK ? profile_include(f, entry) : r;
	}
	return r;
}

/* --- sections whose keys are the user's ------------------------------------------ */

static bool is_variable(struct span name)
{
	for (size_t i = 0; i < name.length; i++)
		if (name.text[i] == '-' || name.text[i] == '.')
			return false;
	return name.length && !is_digit(*name.text);
}

/* The same key earlier in this section. */
static const struct setting *given_before(const struct file *f, struct span name)
{
	const gpumap_profile *p = f->load->profile;
	const gpumap_section *section = &p->sections[f->section];

	for (size_t i = 0; i < section->count; i++)
		if (span_is(name, p->settings[section->first + i].name))
			return &p->settings[section->first + i];
	return NULL;
}

static int check_own_name(struct file *f, const struct inifile_entry *entry)
{
	enum profile_section kind = f->load->profile->sections[f->section].kind;
	const struct setting *before = given_before(f, entry->key);
	const char *refused = kind == SECTION_TRAINER || kind == SECTION_SWEEP
				      ? NULL
				      : env_section_refuses(entry->key);

	if (before)
		return FAIL_KEY(f, FINDING_SYNTAX, "keep one of the two",
				"'%s' was given on line %d already", before->name, before->line);
	if (refused)
		return FAIL_KEY(f, FINDING_REFUSED_VARIABLE, refused, "%s cannot stand in [%s]",
				QUOTE(entry->key), QUOTE(entry->section));
	if (kind != SECTION_TRAINER && !is_variable(entry->key))
		return FAIL_KEY(f, FINDING_SYNTAX,
				"it has letters, digits and _ alone, and begins with no digit",
				"no name of a variable: '%s'", QUOTE(entry->key));
	if (kind == SECTION_UNSET && entry->value.length)
		return FAIL(f, FINDING_SYNTAX, "leave the value out, or write it into [env NAME]",
			    "[unset] takes no value: '%s'", QUOTE(entry->value));
	return GPUMAP_OK;
}

/* Checks a list of values, one for each run. */
static int check_sweep(struct file *f, const struct inifile_entry *entry)
{
	struct span rest = entry->value, item;

	if (expand_has_variable(entry->value))
		return FAIL(f, FINDING_BAD_VALUE, "write the values themselves",
			    "${ is not replaced in [sweep]: '%s'", QUOTE(entry->value));
	while (inifile_item(&rest, &item))
		if (!item.length)
			return FAIL(f, FINDING_BAD_VALUE,
				    "write values between commas, \"\" for an empty one",
				    "%s has an empty entry: '%s'", QUOTE(entry->key),
				    QUOTE(entry->value));
	return GPUMAP_OK;
}

static bool is_sites(enum profile_section kind, const struct inifile_entry *entry)
{
	return kind != SECTION_ENV && kind != SECTION_UNSET && span_starts(entry->key, "x_");
}

static int read_own(struct file *f, enum profile_section kind, const struct inifile_entry *entry)
{
	gpumap_profile *p = f->load->profile;
	int r;

	if (is_sites(kind, entry))
		return GPUMAP_OK;
	r = check_own_name(f, entry);
	if (r == GPUMAP_OK && kind == SECTION_SWEEP)
		r = check_sweep(f, entry);
	if (r == GPUMAP_OK)
		r = add_setting(f, NULL, entry);
	if (r == GPUMAP_OK && kind != SECTION_SWEEP)
		r = check_value(f, NULL, entry, p->settings[p->setting_count - 1].text);
	return r;
}

int profile_read_entry(struct file *f, const struct inifile_entry *entry)
{
	gpumap_profile *p = f->load->profile;
	enum profile_section kind = p->sections[f->section].kind;
	const struct profile_key *key = NULL;
	int r;

	if (kind == SECTION_ENV || kind == SECTION_UNSET || kind == SECTION_TRAINER)
		return read_own(f, kind, entry);
	if (kind == SECTION_SWEEP && !span_is(entry->key, "profile") &&
	    !span_is(entry->key, "jobs"))
		return read_own(f, kind, entry);
	r = find_key(f, kind, entry, &key);
	if (r == GPUMAP_OK && key)
		r = add_setting(f, key, entry);
	if (r == GPUMAP_OK && key)
		r = check_value(f, key, entry, p->settings[p->setting_count - 1].text);
	return r;
}
