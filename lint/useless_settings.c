/* SPDX-License-Identifier: MIT */
/* Settings of a launch profile that cannot work together, or do nothing. */
#include "lint/files.h"

#include "profile/profile.h"

/* The key's effective value, or its default. */
static const char *value_of(const gpumap_profile *p, enum profile_key_id key)
{
	return gpumap_profile_setting(p, profile_key(key)->key.name, GPUMAP_SETTING_VALUE);
}

static bool is(const gpumap_profile *p, enum profile_key_id key, int word)
{
	return key_value(key, value_of(p, key)).word == word;
}

static int64_t number(const gpumap_profile *p, enum profile_key_id key)
{
	return key_value(key, value_of(p, key)).number;
}

/* The device of device or set_device by its index; without a kind if it has none. */
static struct device_use index_of(const gpumap_profile *p, enum profile_key_id key)
{
	struct device_use use = device_use(key, value_of(p, key));

	if (use.kind == USE_CURRENT || use.kind == USE_CPU)
		use.kind = USE_NOTHING;
	return use;
}

static bool same_index(struct device_use a, struct device_use b)
{
	return a.kind == b.kind && a.number == b.number;
}

/* An empty value is the default. */
static bool has_value(const gpumap_profile *p, const struct setting *s)
{
	return s && *profile_value(p, s);
}

static bool given(const gpumap_profile *p, enum profile_key_id key)
{
	return has_value(p, profile_decides(p, key, NO_PLACE));
}

static bool several_ranks(const gpumap_profile *p)
{
	return is(p, PKEY_PROFILE_mode, PLAN_DDP) && number(p, PKEY_PROFILE_ranks) != 1;
}

/* --- the checks: whether a profile has the fault ---------------------------------------- */

#define FAULT(name, condition) \
	static bool name(const gpumap_profile *p) \
	{ \
		return condition; \
	}

/* With one visible GPU only cuda:0 exists; a local rank of 0 is the same device. */
static bool beyond(const gpumap_profile *p, enum profile_key_id key)
{
	struct device_use index = index_of(p, key);

	if (!is(p, PKEY_PROFILE_share, PLAN_SHARE_ISOLATE) || index.kind == USE_NOTHING ||
	    index.kind == USE_MODULO || index.kind == USE_LOCAL_MODULO)
		return false;
	return index.kind == USE_NUMBER ? index.number != 0 : several_ranks(p);
}

FAULT(isolated_device, beyond(p, PKEY_PROGRAM_device))
FAULT(isolated_set_device, beyond(p, PKEY_PROGRAM_set_device))

static bool devices_differ(const gpumap_profile *p)
{
	struct device_use device = index_of(p, PKEY_PROGRAM_device);
	struct device_use current = index_of(p, PKEY_PROGRAM_set_device);

	return device.kind != USE_NOTHING && current.kind != USE_NOTHING &&
	       !same_index(device, current);
}

static bool ids_differ(const gpumap_profile *p)
{
	struct device_use device = index_of(p, PKEY_PROGRAM_device);
	const char *ids = value_of(p, PKEY_PROGRAM_device_ids);

	return is(p, PKEY_PROFILE_mode, PLAN_DDP) && device.kind != USE_NOTHING && *ids &&
	       !strchr(ids, ',') && !same_index(device, device_index(span_of(ids)));
}

FAULT(several_ids,
      is(p, PKEY_PROFILE_mode, PLAN_DDP) && strchr(value_of(p, PKEY_PROGRAM_device_ids), ','))
FAULT(cuda_without_gpus, is(p, PKEY_PROFILE_gpus, PLAN_GPUS_NONE) &&
				 (starts_with(value_of(p, PKEY_PROGRAM_device), "cuda") ||
				  *value_of(p, PKEY_PROGRAM_set_device)))

static bool port_of_sweep(const gpumap_profile *p)
{
	const char *chosen = gpumap_profile_str(p, GPUMAP_PROFILE_NAME);
	const gpumap_section *s;

	if (!is(p, PKEY_PROFILE_master_port, PLAN_PORT_PORT) || !chosen)
		return false;
	for (size_t i = 0; (s = gpumap_profile_section(p, "sweep", i)); i++) {
		const struct setting *of = section_setting(s, PKEY_SWEEP_profile);

		if (of && streq(of->text, chosen) && gpumap_sweep_jobs(s) > 1)
			return true;
	}
	return false;
}

FAULT(no_grace, number(p, PKEY_PROFILE_kill_grace) == 0)

static bool short_timeout(const gpumap_profile *p)
{
	int64_t timeout = number(p, PKEY_PROFILE_timeout);

	return timeout > 0 && timeout < number(p, PKEY_PROFILE_kill_grace);
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
	const char *folder = value_of(p, PKEY_PROFILE_log_dir),
		   *file = value_of(p, PKEY_PROFILE_log_file);

	return *folder && several_ranks(p) && !has_macro(file, 'r') && !has_macro(file, 'l') &&
	       !has_macro(folder, 'r') && !has_macro(folder, 'l');
}

FAULT(no_log, given(p, PKEY_PROFILE_log_file) && !*value_of(p, PKEY_PROFILE_log_dir) &&
		      !given(p, PKEY_PROFILE_redirects) && !given(p, PKEY_PROFILE_tee))
FAULT(index_of_mig,
      is(p, PKEY_PROFILE_ids, PLAN_IDS_INDEX) && strstr(value_of(p, PKEY_PROFILE_gpus), "MIG-"))

/* The program sets the list itself, so gpumap's list, from gpus, is never read. */
static bool replaced(const gpumap_profile *p, enum profile_key_id key)
{
	const char *text = value_of(p, key);

	return *text && !starts_with(text, "CUDA_DEVICE_ORDER") && !strstr(text, "?=") &&
	       !is(p, PKEY_PROFILE_gpus, PLAN_GPUS_INHERIT);
}

FAULT(code_replaces, replaced(p, PKEY_PROGRAM_in_code))
FAULT(export_replaces, replaced(p, PKEY_PROGRAM_script_export))
FAULT(inline_replaces, replaced(p, PKEY_PROGRAM_script_inline))
FAULT(no_conflict,
      given(p, PKEY_PROFILE_on_conflict) && is(p, PKEY_PROFILE_gpus, PLAN_GPUS_INHERIT))
FAULT(free_conflict, given(p, PKEY_PROFILE_on_conflict) && is(p, PKEY_PROFILE_gpus, PLAN_GPUS_FREE))
FAULT(no_wait, given(p, PKEY_PROFILE_wait) && !is(p, PKEY_PROFILE_wait, PLAN_WAIT_NO) &&
		       !is(p, PKEY_PROFILE_gpus, PLAN_GPUS_FREE))
FAULT(no_slots, given(p, PKEY_PROFILE_slots) && !is(p, PKEY_PROFILE_gpus, PLAN_GPUS_FREE))
FAULT(no_mig, given(p, PKEY_PROFILE_mig) && !is(p, PKEY_PROFILE_mig, PLAN_MIG_NO) &&
		      !is(p, PKEY_PROFILE_gpus, PLAN_GPUS_FREE))
FAULT(slots_of_mig, given(p, PKEY_PROFILE_slots) && number(p, PKEY_PROFILE_slots) > 1 &&
			    !is(p, PKEY_PROFILE_mig, PLAN_MIG_NO))
FAULT(free_elsewhere, is(p, PKEY_PROFILE_gpus, PLAN_GPUS_FREE) &&
			      !is(p, PKEY_PROFILE_launcher, PLAN_LAUNCHER_LOCAL))
FAULT(free_of_hosts, is(p, PKEY_PROFILE_gpus, PLAN_GPUS_FREE) && *value_of(p, PKEY_PROFILE_hosts))
FAULT(free_of_machine, is(p, PKEY_PROFILE_gpus, PLAN_GPUS_FREE) &&
			       !is(p, PKEY_PROFILE_inventory, PLAN_INVENTORY_HOST))
FAULT(no_sharing, given(p, PKEY_PROFILE_ranks_per_gpu) &&
			  number(p, PKEY_PROFILE_ranks_per_gpu) != 1 &&
			  is(p, PKEY_PROFILE_gpus, PLAN_GPUS_NONE))

/* --- the messages ---------------------------------------------------------------------- */

static const struct fault {
	bool (*has)(const gpumap_profile *p);
	/* named with their values, at the place of the first that has one */
	enum profile_key_id key, other;
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
	 "log_file is set, but without a folder no log is written",
	 "write " SETTING("log_dir = logs")},
	{no_conflict, PKEY_PROFILE_on_conflict, PKEY_PROFILE_gpus, FINDING_IDLE_SETTING, "S6a",
	 "an inherited list cannot conflict with itself", "name the GPUs, or leave it out"},
	{free_conflict, PKEY_PROFILE_on_conflict, PKEY_PROFILE_gpus, FINDING_IDLE_SETTING, "S6a",
	 "free GPUs are chosen from the inherited list", "leave it out"},
	{no_wait, PKEY_PROFILE_wait, PKEY_PROFILE_gpus, FINDING_IDLE_SETTING, NULL,
	 "only free GPUs are waited for", "write " SETTING("gpus = free:2") ", or leave it out"},
	{no_slots, PKEY_PROFILE_slots, PKEY_PROFILE_gpus, FINDING_IDLE_SETTING, NULL,
	 "only free GPUs have slots", "write " SETTING("gpus = free:2") ", or leave it out"},
	{no_mig, PKEY_PROFILE_mig, PKEY_PROFILE_gpus, FINDING_IDLE_SETTING, NULL,
	 "only free MIG instances are chosen",
	 "write " SETTING("gpus = free:2") ", or leave it out"},
	{slots_of_mig, PKEY_PROFILE_slots, PKEY_PROFILE_mig, FINDING_SETTINGS_CLASH, NULL,
	 "MIG instances have no slots", "leave out one of them"},
	{free_elsewhere, PKEY_PROFILE_gpus, PKEY_PROFILE_launcher, FINDING_SETTINGS_CLASH, NULL,
	 "only gpumap run leases free GPUs",
	 "write " SETTING("launcher = local") ", or start the launcher by gpumap pick"},
	{free_of_hosts, PKEY_PROFILE_gpus, PKEY_PROFILE_hosts, FINDING_SETTINGS_CLASH, NULL,
	 "a lease of free GPUs is for one host", "name the GPUs, or start a run for each host"},
	{free_of_machine, PKEY_PROFILE_gpus, PKEY_PROFILE_inventory, FINDING_SETTINGS_CLASH, NULL,
	 "only GPUs of the host itself can be leased", "leave the inventory out"},
	{no_sharing, PKEY_PROFILE_ranks_per_gpu, PKEY_PROFILE_gpus, FINDING_IDLE_SETTING, NULL,
	 "there is no GPU to share", "leave it out"},
};

static void report_fault(const gpumap_profile *p, const struct fault *fault, gpumap_report *report)
{
	const struct setting *at = profile_decides(p, fault->key, NO_PLACE);
	const struct setting *also = profile_decides(p, fault->other, NO_PLACE);
	const struct speech speech = profile_speech(p);
	struct about about = {.line = 0};

	/* A default has no place: use that of the opposite setting. */
	if (at || also)
		about = *ABOUT_SETTING(has_value(p, at) ? at : also ? also : at, NULL);
	about.rule = fault->rule;
	about.fix = fault->fix;
	about.speech = &speech;
	report_add(report, fault->id, &about, SETTING("%s = %s") " with " SETTING("%s = %s") ": %s",
		   profile_key(fault->key)->key.name, QUOTE(span_of(value_of(p, fault->key))),
		   profile_key(fault->other)->key.name, QUOTE(span_of(value_of(p, fault->other))),
		   fault->text);
}

void lint_settings(const gpumap_profile *profile, gpumap_report *report)
{
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		if (faults[i].has(profile))
			report_fault(profile, &faults[i], report);
}
