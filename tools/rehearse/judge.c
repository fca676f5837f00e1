/* SPDX-License-Identifier: MIT */
/* What a rehearsal shows to be wrong. */
#include "rehearse/rehearse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/report.h"

enum { MAX_NAMED = 8 };

/* --- parts of messages ------------------------------------------------------------------ */

/* FILE:LINE, or a line inside of libraries. */
struct place {
	char file[1024];
	int line;
};

static struct place place_of(const json_t *said)
{
	const char *text = rehearsed_text(said, "place"), *colon = strrchr(text, ':');
	struct place place = {.file = ""};
	int64_t line = colon ? span_number(span_of(colon + 1), INT32_MAX) : -1;

	if (line > 0) {
		snprintf(place.file, sizeof(place.file), "%.*s", (int)(colon - text), text);
		place.line = (int)line;
	}
	return place;
}

#define AT(place, remedy) \
	ABOUT(.origin = *(place).file ? (place).file : NULL, .line = (place).line, .fix = (remedy))

/* --- GPUs of other ranks ---------------------------------------------------------------- */

/* What put most bytes on the device, of the process's own lines if there is one. */
static const json_t *first_cause(const struct rehearsed *process, int64_t logical)
{
	const json_t *events = rehearsed_list(process->record, "events"), *found = NULL;

	for (size_t i = 0; i < json_array_size(events); i++) {
		const json_t *event = json_array_get(events, i);

		if (rehearsed_number(event, "device") == logical &&
		    !streq(rehearsed_text(event, "what"), "set_device") &&
		    (!found || rehearsed_number(event, "bytes") > rehearsed_number(found, "bytes")))
			found = event;
	}
	return found;
}

/* What this process put on the GPU on which another rank works; false: nothing. */
struct stray {
	const json_t *device, *cause; /* cause: NULL if it is not known */
	const struct rehearsed *owner;
};

static bool find_stray(struct stray *ret, const struct rehearsal *r, const struct rehearsed *self,
		       size_t device)
{
	*ret = (struct stray){
		.device = json_array_get(rehearsed_list(self->record, "devices"), device)};
	if (self->rank < 0 || ret->device == self->home ||
	    rehearsed_number(ret->device, "peak_bytes") <= 0)
		return false;
	ret->owner = rehearsal_owner(r, self, ret->device);
	ret->cause = first_cause(self, rehearsed_number(ret->device, "logical"));
	return ret->owner;
}

/* Whether the process has the same: from the same line to the GPU of the same rank. */
static bool strays_as(const struct rehearsal *r, const struct rehearsed *process,
		      const struct stray *stray)
{
	size_t count = json_array_size(rehearsed_list(process->record, "devices"));
	struct stray other;

	for (size_t i = 0; i < count; i++)
		if (find_stray(&other, r, process, i) && other.owner == stray->owner &&
		    streq(rehearsed_text(other.cause, "place"),
			  rehearsed_text(stray->cause, "place")))
			return true;
	return false;
}

static void judge_stray(const struct rehearsal *r, size_t p, const struct stray *stray,
			gpumap_report *report)
{
	struct place place = place_of(stray->cause);
	CLEANUP(strbuf_free) struct strbuf text = {0};
	size_t others = 0;

	for (size_t q = 0; q < p; q++)
		if (strays_as(r, &r->processes[q], stray))
			return; /* said already */
	for (size_t q = p + 1; q < r->count; q++)
		others += strays_as(r, &r->processes[q], stray);
	rehearsed_who(&text, &r->processes[p]);
	if (others)
		strbuf_printf(&text, " and %zu other%s", others, others == 1 ? "" : "s");
	strbuf_puts(&text, " put ");
	rehearsed_size(&text, rehearsed_number(stray->cause ? stray->cause : stray->device,
					       stray->cause ? "bytes" : "peak_bytes"));
	strbuf_printf(&text, "%s on cuda:%lld, ", others ? " each" : "",
		      (long long)rehearsed_number(stray->device, "logical"));
	rehearsed_gpu(&text, stray->device);
	strbuf_puts(&text, ", on which ");
	rehearsed_who(&text, stray->owner);
	strbuf_puts(&text, " works");
	report_text(report, FINDING_REHEARSED_STRAY,
		    AT(place, streq(rehearsed_text(stray->cause, "what"), "load")
				      ? "write torch.load(..., map_location=device)"
				      : "write torch.cuda.set_device(local_rank) before it"),
		    &text);
}

static void judge_devices(const struct rehearsal *r, size_t p, gpumap_report *report)
{
	const struct rehearsed *process = &r->processes[p];
	size_t count = json_array_size(rehearsed_list(process->record, "devices"));
	struct stray stray;

	for (size_t i = 0; i < count; i++)
		if (find_stray(&stray, r, process, i))
			judge_stray(r, p, &stray, report);
}

static void judge_unused_gpus(const struct rehearsed *process, gpumap_report *report)
{
	CLEANUP(strbuf_free) struct strbuf text = {0};

	if (process->home || rehearsed_number(process->record, "steps") <= 0)
		return;
	rehearsed_who(&text, process);
	strbuf_puts(&text, " trained on the CPU: it put nothing on a GPU");
	report_text(report, FINDING_REHEARSED_NO_GPU,
		    ABOUT(.fix = "write model.to(\"cuda\"), and the same for its inputs"), &text);
}

/* --- errors that PyTorch raised --------------------------------------------------------- */

static const char *fix_of(const json_t *said)
{
	static const struct {
		const char *cause, *fix;
	} fixes[] = {
		{"mixed", "move all of them to one device with .to(device)"},
		{"ordinal", "use an ordinal of the list: cuda:0 is its first GPU"},
		{"no-gpu", "CUDA_VISIBLE_DEVICES leaves no GPU"},
		{"fork", "write torch.multiprocessing.set_start_method(\"spawn\")"},
		{"numpy", "write .cpu().numpy()"},
		{"memory", "lower the batch size, or take a GPU with more memory"},
		{"collective-on-cpu", "move the tensor to the GPU first: NCCL has no CPU"},
		{"duplicate", "write torch.cuda.set_device(local_rank)"},
	};
	const char *own = rehearsed_text(said, "fix");

	for (size_t i = 0; !*own && i < ARRAY_SIZE(fixes); i++)
		if (streq(rehearsed_text(said, "cause"), fixes[i].cause))
			return fixes[i].fix;
	return *own ? own : NULL;
}

/* Whether it may have ended its process: others have ended by another error, and caught this. */
static bool may_have_ended(const struct rehearsed *process, const json_t *said)
{
	const json_t *ended_by = json_object_get(process->record, "ended_by");
	bool found = !json_is_array(ended_by);

	for (size_t i = 0; !found && i < json_array_size(ended_by); i++)
		found = json_equal(json_array_get(ended_by, i), said);
	return found;
}

/* Whether an earlier process had this error on this line. */
static bool is_known(const struct rehearsal *r, size_t before, const json_t *said)
{
	for (size_t p = 0; p < before; p++) {
		const json_t *raised = rehearsed_list(r->processes[p].record, "raised");

		for (size_t i = 0; i < json_array_size(raised); i++) {
			const json_t *other = json_array_get(raised, i);

			if (streq(rehearsed_text(other, "cause"), rehearsed_text(said, "cause")) &&
			    streq(rehearsed_text(other, "place"), rehearsed_text(said, "place")) &&
			    may_have_ended(&r->processes[p], other))
				return true;
		}
	}
	return false;
}

/* Only of a program that failed: others have caught the error. */
static void judge_raised(const struct rehearsal *r, size_t p, gpumap_report *report)
{
	const json_t *raised = rehearsed_list(r->processes[p].record, "raised");

	for (size_t i = 0; r->status && i < json_array_size(raised); i++) {
		const json_t *said = json_array_get(raised, i);
		struct place place = place_of(said);
		CLEANUP(strbuf_free) struct strbuf text = {0};

		if (is_known(r, p, said) || !may_have_ended(&r->processes[p], said))
			continue;
		rehearsed_who(&text, &r->processes[p]);
		strbuf_printf(&text, ": %s: %s", rehearsed_text(said, "type"),
			      rehearsed_text(said, "text"));
		report_text(report, FINDING_REHEARSED_RAISED, AT(place, fix_of(said)), &text);
	}
}

/* --- training --------------------------------------------------------------------------- */

static void judge_unused(const struct rehearsed *process, gpumap_report *report)
{
	const json_t *unused = rehearsed_list(process->record, "unused");
	size_t count = json_array_size(unused);
	CLEANUP(strbuf_free) struct strbuf text = {0};

	strbuf_printf(&text, "%zu parameter%s of the model got no gradient: ", count,
		      count == 1 ? "" : "s");
	for (size_t i = 0; i < count && i < MAX_NAMED; i++) {
		const char *name = json_string_value(json_array_get(unused, i));

		strbuf_printf(&text, "%s%s", i ? ", " : "", name ? name : "?");
	}
	if (count > MAX_NAMED)
		strbuf_puts(&text, ", ...");
	if (count)
		report_text(report, FINDING_REHEARSED_UNUSED,
			    ABOUT(.fix = "leave them out of the model, or give "
					 "DistributedDataParallel find_unused_parameters=True"),
			    &text);
}

static void judge_order(const struct rehearsed *process, gpumap_report *report)
{
	const json_t *said = json_array_get(rehearsed_list(process->record, "same_order"), 0);
	struct place place = place_of(said);

	if (said)
		report_add(report, FINDING_REHEARSED_ORDER,
			   AT(place, "call sampler.set_epoch(epoch) before each epoch"),
			   "the sampler has the same order in every epoch");
}

static bool saves_to(const struct rehearsed *process, const char *file)
{
	const json_t *saves = rehearsed_list(process->record, "saves");

	for (size_t i = 0; i < json_array_size(saves); i++)
		if (streq(rehearsed_text(json_array_get(saves, i), "file"), file))
			return true;
	return false;
}

/* How many ranks save to the file; 0 if one before `p` does. */
static size_t count_savers(const struct rehearsal *r, size_t p, const char *file)
{
	size_t ranks = 0;

	for (size_t q = 0; q < r->count; q++) {
		bool saves = saves_to(&r->processes[q], file);

		if (saves && q < p)
			return 0;
		ranks += saves;
	}
	return ranks;
}

/* Once for each line, which may save a file in each epoch. */
static void judge_saves(const struct rehearsal *r, size_t p, gpumap_report *report)
{
	const json_t *saves = rehearsed_list(r->processes[p].record, "saves");
	const char *last = "";

	for (size_t i = 0; i < json_array_size(saves); i++) {
		const json_t *said = json_array_get(saves, i);
		const char *file = rehearsed_text(said, "file");
		struct place place = place_of(said);
		size_t ranks = count_savers(r, p, file);

		if (ranks < 2 || streq(rehearsed_text(said, "place"), last))
			continue;
		last = rehearsed_text(said, "place");
		report_add(report, FINDING_REHEARSED_SAVES,
			   AT(place, "write if dist.get_rank() == 0: before it"),
			   "%zu ranks save to '%s'", ranks, QUOTE(span_of(file)));
	}
}

/* --- collectives ------------------------------------------------------------------------ */

/* "rank 1, rank 2": those that have entered fewer. False: there is none. */
static bool put_missing(struct strbuf *buf, const struct rehearsal *r,
			const struct rehearsed *process)
{
	int64_t entered = rehearsed_number(process->record, "collectives");
	bool any = false;

	for (size_t i = 0; i < r->count; i++) {
		const struct rehearsed *other = &r->processes[i];

		if (other == process || other->rank < 0 ||
		    rehearsed_number(other->record, "collectives") >= entered)
			continue;
		strbuf_puts(buf, any ? ", " : "");
		rehearsed_who(buf, other);
		any = true;
	}
	return any;
}

/* What it waits for in init_process_group. Returns the remedy. */
static const char *put_meeting(struct strbuf *buf, const struct rehearsal *r,
			       const struct rehearsed *process)
{
	const json_t *places = rehearsed_list(process->record, "meets_at");
	const char *given = json_string_value(json_array_get(places, 0));
	const char *used = json_string_value(json_array_get(places, 1));
	int64_t wanted = rehearsed_number(process->record, "wanted_world_size"), there = 0,
		same = 0;

	for (size_t i = 0; i < r->count; i++) {
		bool again = i && r->processes[i].rank == r->processes[i - 1].rank;

		there += json_object_get(r->processes[i].record, "wanted_world_size") && !again;
		same += r->processes[i].rank == process->rank;
	}
	if (same > 1 && process->rank >= 0) {
		strbuf_printf(buf, "others, and %lld processes are rank %lld", (long long)same,
			      (long long)process->rank);
		return "leave RANK to the launcher";
	}
	if (wanted > there) {
		strbuf_printf(buf, "%lld ranks, of which %lld are there", (long long)wanted,
			      (long long)there);
		return "let WORLD_SIZE, or world_size, be the number of ranks that are started";
	}
	strbuf_printf(buf, "ranks that do not meet it at %.256s", used ? used : "init_method");
	if (!given || !used || streq(given, used))
		return "let all ranks have one MASTER_ADDR and one MASTER_PORT";
	strbuf_printf(buf, "; its launcher gave %.256s", given);
	return "leave MASTER_ADDR and MASTER_PORT to the launcher";
}

static void judge_meeting(const struct rehearsal *r, const struct rehearsed *process,
			  gpumap_report *report)
{
	struct place place = place_of(json_object_get(process->record, "waiting"));
	CLEANUP(strbuf_free) struct strbuf text = {0};
	const char *fix;

	rehearsed_who(&text, process);
	strbuf_puts(&text, " waits in init_process_group for ");
	fix = put_meeting(&text, r, process);
	report_text(report, FINDING_REHEARSED_WAITS, AT(place, fix), &text);
}

static void judge_waiting(const struct rehearsal *r, const struct rehearsed *process,
			  gpumap_report *report)
{
	const json_t *waiting = json_object_get(process->record, "waiting");
	struct place place = place_of(waiting);
	CLEANUP(strbuf_free) struct strbuf text = {0};

	rehearsed_who(&text, process);
	strbuf_printf(&text, " waits in %s for ", rehearsed_text(waiting, "in"));
	if (!put_missing(&text, r, process))
		return;
	strbuf_puts(&text, ", which did not enter it");
	report_text(report, FINDING_REHEARSED_WAITS,
		    AT(place, "let every rank of the group call it, in the same order"), &text);
}

/* Since when it waits for what should be there. A rank that is started later may need as long to
 * begin as this one did. */
static double waits_since(const struct rehearsed *process, const json_t *waiting)
{
	double since = json_number_value(json_object_get(waiting, "since"));
	double started = (double)process->started / 1e3;

	if (streq(rehearsed_text(waiting, "in"), "init_process_group") && since > started)
		since += since - started;
	return since;
}

void rehearsal_judge_waits(const struct rehearsal *r, double from, double to, gpumap_report *report)
{
	for (size_t p = 0; p < r->count; p++) {
		const json_t *waiting = json_object_get(r->processes[p].record, "waiting");
		double since = waits_since(&r->processes[p], waiting);

		if (!json_is_object(waiting) || since <= from || since > to)
			continue;
		if (streq(rehearsed_text(waiting, "in"), "init_process_group"))
			judge_meeting(r, &r->processes[p], report);
		else
			judge_waiting(r, &r->processes[p], report);
	}
}

/* --- its list --------------------------------------------------------------------------- */

/* What gpumap said of the list, once for all ranks that have it. */
static void relay_mapping(const struct rehearsal *r, size_t p, gpumap_report *report)
{
	const json_t *said = rehearsed_list(r->processes[p].record, "mapping");

	for (size_t q = 0; q < p; q++)
		if (json_equal(said, rehearsed_list(r->processes[q].record, "mapping")))
			return;
	for (size_t i = 0; i < json_array_size(said); i++) {
		const json_t *finding = json_array_get(said, i);
		enum finding_id id = finding_by_id(rehearsed_text(finding, "id"));
		const char *fix = rehearsed_text(finding, "fix");

		if (id != FINDING_COUNT)
			report_add(
				report, id,
				ABOUT(.origin = "CUDA_VISIBLE_DEVICES", .fix = *fix ? fix : NULL),
				"%s", rehearsed_text(finding, "text"));
	}
}

/* --- all -------------------------------------------------------------------------------- */

void rehearsal_judge(const struct rehearsal *r, gpumap_report *report)
{
	if (!r->imported)
		report_add(report, FINDING_REHEARSED_NOTHING,
			   ABOUT(.fix = "rehearse a program that imports torch"),
			   "no process imported PyTorch, so nothing was rehearsed");
	for (size_t p = 0; p < r->count; p++) {
		const struct rehearsed *process = &r->processes[p];

		relay_mapping(r, p, report);
		judge_raised(r, p, report);
		judge_devices(r, p, report);
		judge_unused_gpus(process, report);
		if (process->rank <= 0) {
			judge_unused(process, report);
			judge_order(process, report);
		}
		judge_saves(r, p, report);
	}
	rehearsal_judge_waits(r, 0, INFINITY, report);
}
