/* SPDX-License-Identifier: MIT */
/* Devices that a program names (rules D, G and R). */
#include "lint/python_file.h"

#include "strbuf.h"

/* An empty list or -1 hides all devices on purpose, for a run on the CPU. */
static bool hides_all(const char *list)
{
	return list && (!*list || streq(list, "-1"));
}

/* The place that shows how many GPUs there are, where that is all that is known. */
static void report_past(const struct python_judge *judge, const struct observation *s,
			int64_t number, const char *what)
{
	const struct python_start *start = judge->start;
	const char *fix = start->visible == 1 ? "use cuda:0"
					      : "use a device that is there, or ask for more GPUs";
	struct quoted room;

	judge_report(judge, s, FINDING_INVALID_ORDINAL, "D7", fix_ordinal(judge, s, fix, &room),
		     "cuda:%lld%s does not exist (invalid device ordinal): %s gives it %lld GPU%s",
		     (long long)number, what, start->from ? start->from : "the job",
		     (long long)start->visible, start->visible == 1 ? "" : "s");
}

/* Whether only the number of the program's GPUs is known: of a plan whose ranks have lists of their
 * own, too. */
static bool is_counted(const struct python_judge *judge, const struct observation *s,
		       const struct python_list *list)
{
	return judge->start && judge->start->visible > 0 &&
	       (!judge->start->inventory || judge->start->planned) && !list->script && !s->listed &&
	       !judge->file->facts.sets_list;
}

/* Whether the conditions around it hold, which ask for a number of devices. */
static bool is_reached(const struct python_judge *judge, const struct observation *s,
		       const struct python_list *list)
{
	int64_t visible;

	if (!s->least)
		return true;
	visible = is_counted(judge, s, list) ? judge->start->visible : judge_count(judge, list);
	return visible < 0 || (s->least > 0 && visible >= s->least);
}

/* Reports if the device, or a device of a group, does not exist. `by`: what names it, else "". */
static void ask_device(const struct python_judge *judge, const struct observation *s,
		       const char *by)
{
	bool machine = judge->start && judge->start->inventory;
	struct python_list list = LIST_AT(judge, s);

	if (hides_all(list.code) || hides_all(list.script) || !is_reached(judge, s, &list) ||
	    (!list.code && !functions_run(judge->file, s, true)))
		return;
	if (is_counted(judge, s, &list) && s->value.number >= judge->start->visible) {
		report_past(judge, s, s->value.number, by);
		return;
	}
	if (!list.code && !list.script && !machine)
		return;
	judge_ask(judge, s,
		  STATEMENTS({"script_export", list.script, false}, {"in_code", list.code, false},
			     {"device", FORMAT("%lld", (long long)s->value.number), false}),
		  GPUMAP_SEVERITY_ERROR,
		  FORMAT("%s%s%s", list.more, *by ? ", and the device is named" : "", by));
}

/* Using one number in every rank is right only if each rank sees only its own GPU, or if a rank
 * uses several. */
static bool shared(const struct python_judge *judge, const struct observation *s)
{
	const struct python_facts *facts = &judge->file->facts;

	return facts->distributed && !facts->own_list && !facts->frameworks && !facts->several &&
	       !facts->tests && !s->guarded && !s->otherwise &&
	       !(judge->start && (judge->start->visible == 1 || judge->start->list_varies ||
				  (judge->start->planned && judge->start->ranks == 1)));
}

static void judge_same(const struct python_judge *judge, const struct observation *s)
{
	bool may = s->may || judge->file->facts.chooses;

	judge_report(
		judge, s, FINDING_ONE_DEVICE, "R3",
		FORMAT("use local_rank = int(os.environ[\"%s\"]), or start it by gpumap run "
		       "--share isolate and use cuda:0",
		       fix_variable(judge, NO_SPAN)),
		"every rank %s cuda:%lld, so all ranks with the same visible list %s on one GPU",
		may ? "may use" : "uses", (long long)s->value.number, may ? "may run" : "run");
}

/* A single device is better chosen from outside of the program. */
static void judge_single(const struct python_judge *judge, const struct observation *s)
{
	const struct python_file *f = judge->file;

	if (f->facts.distributed || f->facts.frameworks || f->facts.tests || s->list ||
	    s->value.number == 0 || s->may || observation_first(f, OBSERVED_PARALLEL) ||
	    observation_first(f, s->kind) != s)
		return;
	judge_report(judge, s, FINDING_RECOMMENDED, "D5",
		     FORMAT("use cuda:0, and choose the GPU before the command: "
			    "CUDA_VISIBLE_DEVICES=%lld python3 FILE",
			    (long long)s->value.number),
		     "cuda:%lld is chosen in code: on another machine, or with a visible list, "
		     "that is another GPU or none",
		     (long long)s->value.number);
}

/* Accelerator() has chosen the device of each rank. */
static void judge_beside_accelerator(const struct python_judge *judge, const struct observation *s)
{
	if (s->otherwise || s->guarded || observation_first(judge->file, s->kind) != s)
		return;
	judge_report(judge, s, FINDING_RECOMMENDED, "R3", "use accelerator.device",
		     "cuda:%lld beside Accelerator(), which gives each rank its own device: here "
		     "all ranks use one",
		     (long long)s->value.number);
}

/* Whether an earlier device has the same fault: the way the rank is chosen is one cause. */
static bool is_reported(const struct python_file *f, const struct observation *s)
{
	for (const struct observation *o = f->observations; o < s; o++)
		if ((o->kind == OBSERVED_DEVICE || o->kind == OBSERVED_SET_DEVICE ||
		     o->kind == OBSERVED_DISTRIBUTED) &&
		    o->value.meaning == s->value.meaning)
			return true;
	return false;
}

/* --- devices by the rank ---------------------------------------------------------------- */

/* Whether a value is another number in each process, for certain: a rank, or the parameter that
 * the processes of `function` get it by. */
static bool is_by_rank(const struct python_file *f, const struct python_value *v, int function)
{
	if (v->unsure || v->varies)
		return false;
	if (v->meaning == MEANS_LOCAL_RANK || v->meaning == MEANS_RANK)
		return true;
	for (size_t i = 0; v->number && i < f->count; i++) {
		const struct observation *s = &f->observations[i];

		if (observation_starts(s) && functions_is(f, s->target, function) &&
		    judge_gives_rank(v, s))
			return true;
	}
	return false;
}

/* Whether all processes come to a place. */
static bool is_for_all(const struct python_judge *judge, const struct observation *s)
{
	return !s->may && !s->otherwise && !s->guarded && !judge->file->facts.tests &&
	       functions_run(judge->file, s, true);
}

/* Whether an earlier place uses the same device after the same list, as certainly. */
static bool is_same_device(const struct observation *o, const struct observation *s)
{
	return (o->kind == OBSERVED_SET_DEVICE || o->kind == OBSERVED_DEVICE ||
		o->kind == OBSERVED_NUMBERED || o->kind == OBSERVED_DISTRIBUTED) &&
	       o->lister == s->lister && o->function == s->function &&
	       o->value.meaning == s->value.meaning && o->value.number == s->value.number &&
	       !o->value.unsure && !o->value.varies && !o->may && !o->otherwise && !o->guarded &&
	       !o->doubtful && !o->loose;
}

/* Whether a list of one GPU that was set before leaves only cuda:0, so that the rank is no number
 * of a device: it is reported, once. */
static bool judge_one_listed(const struct python_judge *judge, const struct observation *s)
{
	const struct python_file *f = judge->file;
	const struct observation *list = s->lister ? &f->observations[s->lister - 1] : NULL;

	if (!list || list->verb != OBSERVED_SETS || list->initialised.text || list->patched ||
	    s->loose || !is_for_all(judge, s) ||
	    (list->function != s->function && !functions_run(f, s, false)) ||
	    !is_by_rank(f, &list->value, list->function) || !is_by_rank(f, &s->value, s->function))
		return false;
	for (const struct observation *o = list + 1; o < s; o++)
		if (is_same_device(o, s))
			return true;
	if (judge_alone(judge, s))
		return false;
	judge_report(
		judge, s, FINDING_INVALID_ORDINAL, "D7", "leave that list out, or use cuda:0",
		"the rank is no number of a device here: CUDA_VISIBLE_DEVICES of line %d shows "
		"each process one GPU, its cuda:0, so all but rank 0 fail (invalid device ordinal)",
		list->line);
	return true;
}

void judge_rank_device(const struct python_judge *judge, const struct observation *s)
{
	bool rank = s->value.meaning == MEANS_RANK;
	struct quoted fix;

	judge_report(judge, s, rank ? FINDING_GLOBAL_RANK : FINDING_RANK_MODULO, "R4",
		     fix_device(judge, s, &fix),
		     rank ? "the global rank chooses the GPU, which fails on the second host"
			  : "the rank modulo the number of GPUs is right only if every host has as "
			    "many ranks as GPUs");
}

static void judge_rank(const struct python_judge *judge, const struct observation *s)
{
	/* Ranks that the program starts itself are on one host, or it has numbered them. */
	if (!judge->file->facts.spawns_ranks && !is_reported(judge->file, s))
		judge_rank_device(judge, s);
}

/* A device by an option of the command line. */
void judge_numbered(const struct python_judge *judge, const struct observation *s)
{
	struct observation device = *s;
	struct counted counted;

	if (judge_one_listed(judge, s))
		return;
	if (s->may || s->otherwise || s->guarded || !judge->start || !judge->start->arguments ||
	    !judge_compute(judge, s->size, true, &counted) || counted.may || !counted.option.text)
		return;
	device.value = (struct python_value){.meaning = MEANS_DEVICE, .number = counted.number};
	ask_device(judge, &device,
		   FORMAT(" by %.60s of %.80s", QUOTE(counted.option),
			  judge->start->from ? judge->start->from : "the command line"));
}

/* A device by a name. */
void judge_used(const struct python_judge *judge, const struct observation *s)
{
	const struct python_names *names = &judge->file->names;
	const struct python_value *v = names_get(names, s->ranked, s->function);

	v = v ? v : names_get(names, s->ranked, 0);
	if (!s->may && !s->otherwise && v && !v->varies && !v->unsure &&
	    v->meaning == MEANS_DEVICE && v->number == s->value.number)
		ask_device(judge, s, "");
}

void judge_device(const struct python_judge *judge, const struct observation *s)
{
	enum python_meaning meaning = s->value.meaning;

	if (judge_one_listed(judge, s))
		return;
	if (meaning == MEANS_RANK || meaning == MEANS_MODULO)
		judge_rank(judge, s);
	else if (meaning == MEANS_UNKNOWN && s->size)
		judge_numbered(judge, s);
	if (meaning != MEANS_DEVICE)
		return;
	if (shared(judge, s))
		judge_same(judge, s);
	else if (judge->file->facts.accelerator)
		judge_beside_accelerator(judge, s);
	else
		judge_single(judge, s);
	if (!s->may && !s->loose)
		ask_device(judge, s, "");
}

/* --- groups ------------------------------------------------------------------------- */

/* Whether it is 0,1,2: all visible devices in their order. */
static bool is_identity(const char *ids)
{
	struct span rest = span_of(ids), id;
	int64_t i = 0;
	bool same = true;

	while (span_split(&rest, ',', &id))
		same = same && span_number(id, INT32_MAX) == i++;
	return same;
}

static int64_t greatest(const char *ids)
{
	struct span rest = span_of(ids), id;
	int64_t most = -1;

	while (span_split(&rest, ',', &id))
		most = span_number(id, INT32_MAX) > most ? span_number(id, INT32_MAX) : most;
	return most;
}

static void judge_chosen(const struct python_judge *judge, const struct observation *s)
{
	CLEANUP(strbuf_free) struct strbuf fix = {0};

	strbuf_printf(&fix,
		      "leave device_ids out, move the module to cuda:0, and choose the GPUs before "
		      "the command: CUDA_VISIBLE_DEVICES=%s python3 FILE",
		      s->ids);
	judge_report(judge, s, FINDING_RECOMMENDED, "G4", fix.text,
		     "device_ids=[%s] chooses GPUs in code", s->ids);
}

static void judge_parallel(const struct python_judge *judge, const struct observation *s)
{
	const struct python_value *module = &s->module;
	struct python_list list = LIST_AT(judge, s);
	bool moved = module->meaning == MEANS_MODULE;
	int64_t on = moved ? module->number : -1, first;

	/* If all visible devices are used, the first is cuda:0. */
	if (!s->ids && (!s->all_ids || on <= 0))
		return;
	if (on < 0 && moved && !judge->file->facts.sets_device)
		on = 0;
	if (!is_reached(judge, s, &list))
		return;
	if (s->ids && is_counted(judge, s, &list) && greatest(s->ids) >= judge->start->visible) {
		report_past(judge, s, greatest(s->ids), " of device_ids");
		return;
	}
	/* If the module's device is not known, it is assumed to be the master's. */
	first = s->ids ? span_number((struct span){s->ids, strcspn(s->ids, ",")}, INT32_MAX) : 0;
	list.code = hides_all(list.code) ? NULL : list.code;
	list.script = hides_all(list.script) ? NULL : list.script;
	if (!list.code && !s->may && s->ids && !is_identity(s->ids))
		judge_chosen(judge, s);
	judge_ask(judge, s,
		  STATEMENTS({"mode", "dp", false}, {"device_ids", s->ids, false},
			     {"script_export", list.script, false}, {"in_code", list.code, false},
			     {"device", FORMAT("%lld", (long long)(on < 0 ? first : on)), on < 0}),
		  GPUMAP_SEVERITY_ERROR, list.more);
}

/* Whether the processes see the same GPUs, and no call sets the current device. */
static bool is_first(const struct python_judge *judge)
{
	const struct python_start *start = judge->start;

	return judge->file->facts.groups && !judge->file->training.places &&
	       !(start && (start->visible == 1 || start->list_varies));
}

/* Whether device_ids may differ between ranks. */
static bool may_differ(const struct observation *s)
{
	return s->value.meaning == MEANS_LOCAL_RANK || s->value.meaning == MEANS_RANK ||
	       s->value.meaning == MEANS_MODULO ||
	       (s->value.meaning == MEANS_UNKNOWN && s->ranked.text);
}

/* The module is on the current device, and device_ids may have another. */
static void judge_other(const struct python_judge *judge, const struct observation *s)
{
	const char *id = s->ranked.text ? QUOTE(s->ranked) : "local_rank";
	const char *fix = FORMAT("torch.cuda.set_device(%.80s) before the first CUDA call",
				 s->value.meaning == MEANS_RANK ? "local_rank" : id);

	if (s->module.unsure || judge->file->training.foreign || !is_for_all(judge, s) ||
	    !is_by_rank(judge->file, &s->value, s->function))
		judge_report(judge, s, FINDING_NO_CHOICE, "G7", fix,
			     "no line of this file sets the current device, so every rank may have "
			     "the module on cuda:0, and not on that of device_ids=[%.80s]",
			     id);
	else
		judge_report(judge, s, FINDING_MASTER_MISMATCH, "G7", fix,
			     "no line sets the current device, so the module is on cuda:0 in every "
			     "rank, but device_ids=[%.80s] is another GPU in all but rank 0: "
			     "DistributedDataParallel fails",
			     id);
}

static void judge_choice(const struct python_judge *judge, const struct observation *s)
{
	const struct python_file *f = judge->file;
	const struct python_facts *facts = &f->facts;

	/* Reported once. */
	if (observation_first(f, OBSERVED_DISTRIBUTED) != s || facts->sets_device ||
	    facts->own_list || facts->frameworks)
		return;
	if (s->module.meaning == MEANS_MODULE && s->module.number < 0 && is_first(judge) &&
	    may_differ(s)) {
		if (!judge_alone(judge, s))
			judge_other(judge, s);
	} else if (observation_first(f, OBSERVED_CURRENT) && !facts->chooses && facts->groups) {
		/* Who makes the group in another file may choose the devices there. */
		judge_report(judge, s, FINDING_NO_CHOICE, "G7",
			     "torch.cuda.set_device(local_rank) before the first CUDA call, and "
			     "device_ids=[local_rank]",
			     "no device is chosen in this file: every rank may use cuda:0");
	} else if (s->value.meaning == MEANS_LOCAL_RANK) {
		judge_report(judge, s, FINDING_RECOMMENDED, "G5",
			     "call torch.cuda.set_device(local_rank) before the first CUDA call",
			     "device_ids=[local_rank] without set_device(local_rank): contexts of "
			     "all ranks may appear on cuda:0");
	}
}

void judge_group(const struct python_judge *judge, const struct observation *s)
{
	if (s->kind == OBSERVED_PARALLEL) {
		judge_copies(judge, s);
		judge_parallel(judge, s);
		return;
	}
	if (s->ids && s->id_count == 1 && shared(judge, s)) {
		struct observation one = *s;

		one.value.number = span_number(span_of(s->ids), INT32_MAX);
		judge_same(judge, &one);
	} else if (s->ids && s->id_count > 1) {
		judge_ask(judge, s,
			  STATEMENTS({"mode", "ddp", false}, {"local_rank", "0", false},
				     {"device_ids", s->ids, false}),
			  GPUMAP_SEVERITY_ERROR, "");
		return;
	}
	if (judge_one_listed(judge, s))
		return;
	if (s->value.meaning == MEANS_RANK)
		judge_device(judge, s);
	judge_choice(judge, s);
}
