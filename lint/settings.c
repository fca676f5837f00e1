/* SPDX-License-Identifier: MIT */
#include "lint/settings.h"

#include "profile/profile.h"

static const struct place nowhere = {NULL, -1, -1, -1};

/* The value that holds for the key, its default included. */
static const char *says(const gpumap_profile *p, enum profile_key_id key)
{
	return gpumap_profile_setting(p, profile_key(key)->key.name, GPUMAP_SETTING_VALUE);
}

static bool is(const gpumap_profile *p, enum profile_key_id key, const char *word)
{
	return streq(says(p, key), word);
}

/* An empty value is the default. */
static bool says_something(const gpumap_profile *p, const struct setting *s)
{
	return s && *profile_value(p, s);
}

static bool given(const gpumap_profile *p, enum profile_key_id key)
{
	return says_something(p, profile_decides(p, key, &nowhere));
}

/* The device that a value of device or set_device means; "" where it means none. */
static const char *index_of(const char *value)
{
	if (starts_with(value, "cuda:"))
		return value + 5;
	return streq(value, "cuda") || streq(value, "cpu") || streq(value, "unknown") ? "" : value;
}

static bool several_ranks(const gpumap_profile *p)
{
	return is(p, PKEY_PROFILE_mode, "ddp") && !is(p, PKEY_PROFILE_ranks, "1");
}

/* --- the checks: whether a profile has the fault ---------------------------------------- */

/* With one GPU in sight only cuda:0 is there; a local rank of 0 is that too. */
static bool beyond(const gpumap_profile *p, enum profile_key_id key)
{
	const char *index = index_of(says(p, key));

	if (!is(p, PKEY_PROFILE_share, "isolate") || !*index || streq(index, "modulo"))
		return false;
	return *index == '%' ? several_ranks(p) : !streq(index, "0");
}

static bool isolated_device(const gpumap_profile *p)
{
	return beyond(p, PKEY_PROGRAM_device);
}

static bool isolated_set_device(const gpumap_profile *p)
{
	return beyond(p, PKEY_PROGRAM_set_device);
}

static bool devices_differ(const gpumap_profile *p)
{
	const char *device = index_of(says(p, PKEY_PROGRAM_device));
	const char *current = index_of(says(p, PKEY_PROGRAM_set_device));

	return *device && *current && !streq(device, current);
}

static bool ids_differ(const gpumap_profile *p)
{
	const char *device = index_of(says(p, PKEY_PROGRAM_device));
	const char *ids = says(p, PKEY_PROGRAM_device_ids);

	return is(p, PKEY_PROFILE_mode, "ddp") && *device && *ids && !strchr(ids, ',') &&
	       !streq(device, ids);
}

static bool several_ids(const gpumap_profile *p)
{
	return is(p, PKEY_PROFILE_mode, "ddp") && strchr(says(p, PKEY_PROGRAM_device_ids), ',');
}

static bool cuda_without_gpus(const gpumap_profile *p)
{
	return is(p, PKEY_PROFILE_gpus, "none") &&
	       (starts_with(says(p, PKEY_PROGRAM_device), "cuda") ||
		*says(p, PKEY_PROGRAM_set_device));
}

static bool port_of_sweep(const gpumap_profile *p)
{
	const char *chosen = gpumap_profile_str(p, GPUMAP_PROFILE_NAME);
	const gpumap_section *s;

	if (!is_digit(*says(p, PKEY_PROFILE_master_port)) || !chosen)
		return false;
	for (size_t i = 0; (s = gpumap_profile_section(p, "sweep", i)); i++) {
		const struct setting *of = section_setting(s, PKEY_SWEEP_profile);

		if (of && streq(of->text, chosen) && gpumap_sweep_jobs(s) > 1)
			return true;
	}
	return false;
}

static bool no_grace(const gpumap_profile *p)
{
	return duration_parse(span_of(says(p, PKEY_PROFILE_kill_grace))) == 0;
}

static bool short_timeout(const gpumap_profile *p)
{
	int64_t timeout = duration_parse(span_of(says(p, PKEY_PROFILE_timeout)));

	return timeout > 0 && timeout < duration_parse(span_of(says(p, PKEY_PROFILE_kill_grace)));
}

/* A macro, with or without a width: %r and %05r. */
static bool has_macro(const char *text, char macro)
{
	while ((text = strchr(text, '%'))) {
		text += 1 + strspn(text + 1, "0123456789");
		if (*text == macro)
			return true;
		text += *text != '\0';
	}
	return false;
}

static bool one_log(const gpumap_profile *p)
{
	const char *folder = says(p, PKEY_PROFILE_log_dir), *file = says(p, PKEY_PROFILE_log_file);

	return *folder && several_ranks(p) && !has_macro(file, 'r') && !has_macro(file, 'l') &&
	       !has_macro(folder, 'r') && !has_macro(folder, 'l');
}

static bool no_log(const gpumap_profile *p)
{
	return given(p, PKEY_PROFILE_log_file) && !*says(p, PKEY_PROFILE_log_dir) &&
	       !given(p, PKEY_PROFILE_redirects) && !given(p, PKEY_PROFILE_tee);
}

static bool index_of_mig(const gpumap_profile *p)
{
	return is(p, PKEY_PROFILE_ids, "index") && strstr(says(p, PKEY_PROFILE_gpus), "MIG-");
}

/* The program sets the list itself: those of gpus, gpumap's, are never read. */
static bool replaced(const gpumap_profile *p, enum profile_key_id key)
{
	const char *text = says(p, key);

	return *text && !starts_with(text, "CUDA_DEVICE_ORDER") && !strstr(text, "?=") &&
	       !is(p, PKEY_PROFILE_gpus, "inherit");
}

static bool code_replaces(const gpumap_profile *p)
{
	return replaced(p, PKEY_PROGRAM_in_code);
}

static bool export_replaces(const gpumap_profile *p)
{
	return replaced(p, PKEY_PROGRAM_script_export);
}

static bool inline_replaces(const gpumap_profile *p)
{
	return replaced(p, PKEY_PROGRAM_script_inline);
}

static bool no_conflict(const gpumap_profile *p)
{
	return given(p, PKEY_PROFILE_on_conflict) && is(p, PKEY_PROFILE_gpus, "inherit");
}

static bool no_sharing(const gpumap_profile *p)
{
	return given(p, PKEY_PROFILE_ranks_per_gpu) && !is(p, PKEY_PROFILE_ranks_per_gpu, "1") &&
	       is(p, PKEY_PROFILE_gpus, "none");
}

/* --- what is said of them -------------------------------------------------------------- */

static const struct fault {
	bool (*has)(const gpumap_profile *p);
	enum profile_key_id key, other; /* shown with their values, found at the first */
	enum finding_id id;
	const char *rule, *text, *fix;
} faults[] = {
	{isolated_device, PKEY_PROGRAM_device, PKEY_PROFILE_share, FINDING_SETTINGS_CLASH, "R3",
	 "a rank that sees its own GPU alone has cuda:0 and no other",
	 "write " SETTING("share = list") ", or let the program use cuda:0"},
	{isolated_set_device, PKEY_PROGRAM_set_device, PKEY_PROFILE_share, FINDING_SETTINGS_CLASH,
	 "R3", "a rank that sees its own GPU alone has cuda:0 and no other",
	 "write " SETTING("share = list") ", or let the program use cuda:0"},
	{devices_differ, PKEY_PROGRAM_set_device, PKEY_PROGRAM_device, FINDING_SETTINGS_CLASH, "D4",
	 "the device named explicitly is used, whatever set_device was given",
	 "make both the same"},
	{ids_differ, PKEY_PROGRAM_device_ids, PKEY_PROGRAM_device, FINDING_SETTINGS_CLASH, "G7",
	 "DistributedDataParallel needs its module on the one device of device_ids",
	 "make both the same"},
	{several_ids, PKEY_PROGRAM_device_ids, PKEY_PROFILE_mode, FINDING_SETTINGS_CLASH, "G7",
	 "DistributedDataParallel takes one device or none", "write %l, or " SETTING("mode = dp")},
	{cuda_without_gpus, PKEY_PROGRAM_device, PKEY_PROFILE_gpus, FINDING_SETTINGS_CLASH, "E1",
	 "the program uses a GPU, and sees none",
	 "write " SETTING("device = cpu") ", or name GPUs"},
	{port_of_sweep, PKEY_PROFILE_master_port, PKEY_PROFILE_mode, FINDING_SETTINGS_CLASH, NULL,
	 "the runs of a sweep that run at a time need ports of their own",
	 "write " SETTING("master_port = auto") ", or jobs = 1"},
	{index_of_mig, PKEY_PROFILE_ids, PKEY_PROFILE_gpus, FINDING_SETTINGS_CLASH, "V9",
	 "a MIG instance has a UUID and no index", "write " SETTING("ids = uuid")},
	{code_replaces, PKEY_PROGRAM_in_code, PKEY_PROFILE_gpus, FINDING_SETTINGS_CLASH, "S2",
	 "the program replaces the list of these GPUs by its own",
	 "take it out of the program, or write " SETTING("gpus = inherit")},
	{export_replaces, PKEY_PROGRAM_script_export, PKEY_PROFILE_gpus, FINDING_SETTINGS_CLASH,
	 "S2", "the script replaces the list of these GPUs by its own",
	 "take it out of the script, or write " SETTING("gpus = inherit")},
	{inline_replaces, PKEY_PROGRAM_script_inline, PKEY_PROFILE_gpus, FINDING_SETTINGS_CLASH,
	 "S2", "the script replaces the list of these GPUs by its own",
	 "take it out of the script, or write " SETTING("gpus = inherit")},
	{one_log, PKEY_PROFILE_log_file, PKEY_PROFILE_ranks, FINDING_SETTINGS_CLASH, NULL,
	 "all ranks write to one file", "put %r into the name"},
	{short_timeout, PKEY_PROFILE_timeout, PKEY_PROFILE_kill_grace, FINDING_SETTINGS_CLASH, NULL,
	 "ending takes longer than the ranks may run", "make the timeout longer"},
	{no_grace, PKEY_PROFILE_kill_grace, PKEY_PROFILE_kill_signal, FINDING_IDLE_SETTING, NULL,
	 "ranks are killed at once, before the signal can do anything",
	 "write " SETTING("kill_grace = 30s")},
	{no_log, PKEY_PROFILE_log_file, PKEY_PROFILE_log_dir, FINDING_IDLE_SETTING, NULL,
	 "without a folder no log is written", "write " SETTING("log_dir = logs")},
	{no_conflict, PKEY_PROFILE_on_conflict, PKEY_PROFILE_gpus, FINDING_IDLE_SETTING, "S6a",
	 "an inherited list cannot conflict with itself", "name the GPUs, or leave it out"},
	{no_sharing, PKEY_PROFILE_ranks_per_gpu, PKEY_PROFILE_gpus, FINDING_IDLE_SETTING, NULL,
	 "there is no GPU to share", "leave it out"},
};

static void tell(const gpumap_profile *p, const struct fault *fault, gpumap_report *report)
{
	const struct setting *at = profile_decides(p, fault->key, &nowhere);
	const struct setting *also = profile_decides(p, fault->other, &nowhere);
	const struct speech speech = profile_speech(p);
	struct about about = {.line = 0};

	/* A default has no place: its opposite has. */
	if (at || also)
		about = setting_about(says_something(p, at) ? at : also ? also : at);
	about.rule = fault->rule;
	about.fix = fault->fix;
	about.speech = &speech;
	report_add(report, fault->id, &about, SETTING("%s = %s") " with " SETTING("%s = %s") ": %s",
		   profile_key(fault->key)->key.name, QUOTE(span_of(says(p, fault->key))),
		   profile_key(fault->other)->key.name, QUOTE(span_of(says(p, fault->other))),
		   fault->text);
}

void lint_settings(const gpumap_profile *profile, gpumap_report *report)
{
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		if (faults[i].has(profile))
			tell(profile, &faults[i], report);
}
