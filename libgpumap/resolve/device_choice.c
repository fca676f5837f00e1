/* SPDX-License-Identifier: MIT */
/* Rules D and E1: the logical device of an object. */
#include "resolve/resolve.h"

#include "strbuf.h"

/* The remedy for a host without a usable GPU: that of its cause, and another machine. */
static const char *other_machine(struct resolver *resolver)
{
	const char *fix = resolver->inventory->no_gpu_fix;

	return arena_printf(resolver->arena, "%s%s--inventory 8 asks about a machine of 8 GPUs",
			    fix ? fix : "", fix ? "; " : "");
}

/* Why the list gives no device. *told: a warning about its entry says so. */
static const char *why_hidden(struct resolver *resolver, const char **fix, bool *told)
{
	const struct effective *list = resolver->list;
	const char *rule = resolver->mapping->ended_rule;
	bool negative = rule && streq(rule, "V4"), empty = list && !*list->value;

	*told = rule && !negative && !empty;
	if (empty)
		*fix = "unset the variable, or name devices in it";
	else
		*fix = negative                    ? "unset the variable to see every device"
		       : rule && streq(rule, "V5") ? resolver->repeat_fix
						   : "name a device that exists first in the list";
	/* Launchers write such a list for a process that asked for no GPU. */
	if (list && list->source == SOURCE_LAUNCHER && (empty || negative))
		*fix = "ask the launcher for GPUs";
	return empty ? "the visible list is set but empty" : "the visible list hides every device";
}

/* E1: why there is no device. */
static void no_device(struct resolver *resolver, const char *what, const char *origin)
{
	const gpumap_inventory *inventory = resolver->inventory;
	const char *why, *fix, *code = " (CUDA error 100)";
	bool told = false;

	if (inventory && inventory->no_gpu) {
		why = inventory->no_gpu;
		fix = other_machine(resolver);
		code = ""; /* 34, 35, 100, 803: by what is missing */
	} else if (inventory && !resolver->host_count) {
		why = "the machine has no GPU";
		fix = "gpumap inventory shows what was examined";
	} else if (resolver->hidden_by) {
		why = resolver->hidden_by;
		fix = "ask for GPUs there (docker run --gpus, srun --gpus), or look at that list";
	} else {
		why = why_hidden(resolver, &fix, &told);
	}
	if (!origin && resolver->list)
		origin = resolver->list->origin;
	answer_no(resolver, FINDING_NO_DEVICE, ABOUT(.rule = "E1", .origin = origin, .fix = fix),
		  "no device is visible, so %s has none%s%s%s", what ? what : "the program",
		  told ? "" : ": ", told ? "" : why, code);
	step_add(resolver, "E1", NULL, arena_printf(resolver->arena, "no device: %s", why));
}

/* "physical 5 is cuda:3 here", if the index looks like a physical number. */
static const char *physical_hint(struct resolver *resolver, int64_t index)
{
	const gpumap_mapping *mapping = resolver->mapping;

	for (size_t i = 0; i < mapping->visible_count; i++) {
		const gpumap_entry *e = &mapping->visible[i];

		if (entry_decided(e) && e->candidates[0]->physical == index)
			return arena_printf(resolver->arena, "physical %lld is cuda:%zu here",
					    (long long)index, i);
	}
	return arena_printf(
		resolver->arena, "use cuda:0%s",
		mapping->visible_count > 1
			? arena_printf(resolver->arena, " to cuda:%zu", mapping->visible_count - 1)
			: "");
}

/* "2,3,4,5", of at most eight devices. */
static const char *visible_text(struct resolver *resolver)
{
	const gpumap_mapping *mapping = resolver->mapping;
	struct strbuf buf = {0};
	const char *text;

	for (size_t i = 0; i < mapping->visible_count && i < 8; i++) {
		const gpumap_entry *e = &mapping->visible[i];

		strbuf_puts(&buf, i ? "," : "");
		if (entry_decided(e) && e->candidates[0]->physical >= 0)
			strbuf_printf(&buf, "%d", e->candidates[0]->physical);
		else
			strbuf_puts(&buf, "?");
	}
	if (mapping->visible_count > 8)
		strbuf_puts(&buf, ",...");
	text = strbuf_keep(&buf, resolver->arena);
	return text ? text : "";
}

const gpumap_entry *logical_device(struct resolver *resolver, int64_t index, const char *what,
				   const char *origin)
{
	const gpumap_mapping *mapping = resolver->mapping;

	if (!mapping->visible_count) {
		no_device(resolver, what, origin);
		return NULL;
	}
	if (index < (int64_t)mapping->visible_count)
		return &mapping->visible[index];
	answer_no(resolver, FINDING_INVALID_ORDINAL,
		  ABOUT(.rule = "D7", .origin = origin, .fix = physical_hint(resolver, index)),
		  "cuda:%lld%s%s does not exist (invalid device ordinal), because %zu device%s "
		  "visible (GPU%s %s)",
		  (long long)index, what ? " of " : "", what ? what : "", mapping->visible_count,
		  mapping->visible_count == 1 ? " is" : "s are",
		  mapping->visible_count == 1 ? "" : "s", visible_text(resolver));
	return NULL;
}

/* Rule D6, for a device or for set_device. */
static int several_devices(struct resolver *resolver, enum key_id key, int64_t first)
{
	const char *value = resolver->request->values[key];
	const char *origin = resolver->request->origins[key];

	if (request_switch(resolver->request, KEY_strict))
		return report_fail(resolver->report, GPUMAP_ESTRICT, FINDING_STRICT,
				   ABOUT(.rule = "D6", .origin = origin,
					 .fix = "name one device, or leave out --strict"),
				   "current PyTorch rejects '%s': Invalid device string",
				   QUOTE(span_of(value)));
	report_add(resolver->report, FINDING_SEVERAL_DEVICES,
		   ABOUT(.rule = "D6", .origin = origin, .fix = "name one device"),
		   "'%s' names several devices, but one is used: old PyTorch takes cuda:%lld, "
		   "current PyTorch rejects the string (--strict)",
		   QUOTE(span_of(value)), (long long)first);
	step_add(resolver, "D6", origin,
		 arena_printf(resolver->arena,
			      "of several devices in one string the first is meant: %lld",
			      (long long)first));
	return GPUMAP_OK;
}

/* The device that a key states, with rule D6 applied. */
static int stated_choice(struct resolver *resolver, enum key_id key, struct device_choice *ret)
{
	const char *value = resolver->keys[key].value;

	*ret = (struct device_choice){.kind = CHOICE_BAD};
	if (!value)
		return GPUMAP_OK;
	*ret = device_parse(span_of(value));
	return ret->several ? several_devices(resolver, key, ret->index) : GPUMAP_OK;
}

/* Rule G7: the device of this local rank in DDP; -1: none is known. */
static int64_t own_device(const struct resolver *resolver)
{
	const char *rank = resolver->keys[KEY_local_rank].value;

	if (!rank || !streq(resolver->mapping->mode, "ddp"))
		return -1;
	return resolver->own_first ? 0 : span_number(span_of(rank), INT64_MAX);
}

/* Reports that the program uses the device of another local rank. A rank whose own device is not in
 * its list has to use another one. */
static void check_own_device(struct resolver *resolver, enum key_id key, int64_t index)
{
	bool current = key == KEY_set_device;
	int64_t own = own_device(resolver), count = (int64_t)resolver->mapping->visible_count;
	const char *rank = resolver->keys[KEY_local_rank].value, *fix;

	if (own < 0 || index == own || own >= count || index >= count)
		return;
	if (resolver->own_first)
		fix = "use cuda:0: the launcher put this rank's device first";
	else
		fix = current ? "call set_device(local_rank)"
			      : arena_printf(resolver->arena,
					     "use the device of the local rank, cuda:%s", rank);
	report_add(resolver->report, FINDING_RANK_MISMATCH,
		   ABOUT(.rule = "G7", .origin = resolver->request->origins[key], .fix = fix),
		   current ? "set_device(%lld) in local rank %s is not this rank's own device"
			   : "cuda:%lld in local rank %s is not this rank's own device",
		   (long long)index, rank);
}

static void choose_explicit(struct resolver *resolver, const struct device_choice *device,
			    const struct device_choice *current)
{
	const gpumap_request *request = resolver->request;
	const char *origin = request->origins[KEY_device];

	check_own_device(resolver, KEY_device, device->index);
	step_add(resolver, "D1", origin,
		 arena_printf(resolver->arena, "the explicit device %lld indexes that list",
			      (long long)device->index));
	if (current->kind == CHOICE_INDEX) {
		gpumap_step *step =
			step_add(resolver, "D4", NULL,
				 "the explicit device makes set_device irrelevant here");

		step_lose(resolver, step, "set_device",
			  arena_strdup(resolver->arena, resolver->keys[KEY_set_device].value));
	}
	resolver->mapping->chosen = logical_device(resolver, device->index, NULL, origin);
}

static void choose_current(struct resolver *resolver, const struct device_choice *current)
{
	const gpumap_request *request = resolver->request;
	const char *origin = request->origins[KEY_set_device];

	step_add(resolver, "D2", origin,
		 arena_printf(resolver->arena, "the current device is %lld, from set_device",
			      (long long)current->index));
	resolver->mapping->chosen = logical_device(resolver, current->index, "set_device", origin);
}

int current_resolve(struct resolver *resolver, struct device_choice *current, bool *works)
{
	int r = stated_choice(resolver, KEY_set_device, current);

	*works = false;
	if (r != GPUMAP_OK)
		return r;
	if (current->negative) {
		report_add(
			resolver->report, FINDING_IGNORED_KEY,
			ABOUT(.rule = "D2", .origin = resolver->request->origins[KEY_set_device]),
			"set_device with a negative number does nothing");
		current->kind = CHOICE_BAD;
	}
	*works = current->kind != CHOICE_INDEX ||
		 current->index < (int64_t)resolver->mapping->visible_count;
	if (!*works)
		choose_current(resolver, current);
	return GPUMAP_OK;
}

/* One process per device: the local rank is the device (rule G7). */
static bool choose_local_rank(struct resolver *resolver, const struct device_choice *current)
{
	const struct resolved_key *entry = &resolver->keys[KEY_local_rank];
	int64_t index = own_device(resolver);
	const char *origin = entry->origin;

	if (entry->value && !streq(resolver->mapping->mode, "ddp") && !resolver->own_first)
		report_add(resolver->report, FINDING_IGNORED_KEY,
			   ABOUT(.rule = "G7", .origin = origin, .fix = "give --mode ddp"),
			   "a local rank has no effect in mode %s", resolver->mapping->mode);
	if (index < 0)
		return false;
	if (current->kind == CHOICE_INDEX && current->index != index) {
		check_own_device(resolver, KEY_set_device, current->index);
		return false;
	}
	step_add(resolver, "G7", origin,
		 arena_printf(resolver->arena,
			      "one process per device: local rank %s uses cuda:%lld", entry->value,
			      (long long)index));
	resolver->mapping->chosen = logical_device(
		resolver, index, arena_printf(resolver->arena, "local rank %s", entry->value),
		origin);
	return true;
}

static void choose_default(struct resolver *resolver)
{
	const gpumap_request *request = resolver->request;
	bool alone = request_variable(request, VARIABLE_LOCAL_RANK) &&
		     !(request_variable(request, VARIABLE_RANK) &&
		       request_variable(request, VARIABLE_WORLD_SIZE));

	if (streq(resolver->mapping->mode, "ddp") && !resolver->keys[KEY_local_rank].value)
		report_add(resolver->report, FINDING_NO_LOCAL_RANK,
			   ABOUT(.rule = alone ? "R1" : "G7", .fix = "give --local-rank N"),
			   "%s: this is the answer for a process that uses cuda:0",
			   alone ? "no local rank given (LOCAL_RANK counts only with RANK and "
				   "WORLD_SIZE)"
				 : "no local rank given");
	if (resolver->mapping->visible_count)
		step_add(resolver, "D3", NULL, "nothing names a device, so it is logical 0");
	resolver->mapping->chosen = logical_device(resolver, 0, NULL, NULL);
}

void answer_undecidable(struct resolver *resolver, const gpumap_entry *entry)
{
	const gpumap_device *gpu = entry->candidates[0]->gpu;

	if (inventory_doubts(resolver->inventory, gpu))
		answer_no(resolver, FINDING_UNDECIDABLE,
			  ABOUT(.rule = "N4",
				.fix = gpu->physical < 0
					       ? RECORD_NUMBERS
					       : "use UUIDs, or reset the GPU or reboot that "
						 "machine and record it with nvidia-smi -L"),
			  "cuda:%d cannot be decided: %s", entry->logical, doubt_reason(gpu));
	else if (entry_shares_instance(entry))
		answer_no(
			resolver, FINDING_UNDECIDABLE,
			ABOUT(.rule = "V9", .fix = "name one compute instance of the GPU instance"),
			"cuda:%d is one of %zu compute instances of one GPU instance: CUDA picks",
			entry->logical, entry->count);
	else
		answer_no(resolver, FINDING_UNDECIDABLE,
			  ABOUT(.rule = "N4", .fix = "set CUDA_DEVICE_ORDER=PCI_BUS_ID, use UUIDs, "
						     "or measure with gpumap "
						     "inventory --ask-driver"),
			  "cuda:%d can be any of %zu GPUs of different models, because CUDA's "
			  "order is not known",
			  entry->logical, entry->count);
}

int choice_resolve(struct resolver *resolver)
{
	struct device_choice device, current;
	bool works = false;
	int r = stated_choice(resolver, KEY_device, &device);

	if (r == GPUMAP_OK)
		r = current_resolve(resolver, &current, &works);
	if (r != GPUMAP_OK || !works)
		return r;
	if (device.kind == CHOICE_CPU) {
		report_add(resolver->report, FINDING_CPU,
			   ABOUT(.rule = "D1", .origin = resolver->request->origins[KEY_device]),
			   "the device is the CPU: no GPU is used");
		step_add(resolver, "D1", resolver->request->origins[KEY_device],
			 "the explicit device is the CPU");
	} else if (device.kind == CHOICE_INDEX) {
		choose_explicit(resolver, &device, &current);
	} else if (choose_local_rank(resolver, &current)) {
		/* nothing left to choose */
	} else if (current.kind == CHOICE_INDEX) {
		choose_current(resolver, &current);
	} else {
		choose_default(resolver);
	}
	if (resolver->mapping->chosen && !entry_decided(resolver->mapping->chosen))
		answer_undecidable(resolver, resolver->mapping->chosen);
	return GPUMAP_OK;
}
