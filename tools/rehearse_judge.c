/* SPDX-License-Identifier: MIT */
/* What a rehearsal shows to be wrong. */
#include "rehearse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report.h"

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

static void put_who(struct strbuf *buf, const struct rehearsed *process)
{
	if (process->rank >= 0)
		strbuf_printf(buf, "rank %lld", (long long)process->rank);
	else
		strbuf_printf(buf, "process %lld", (long long)process->pid);
}

static void put_bytes(struct strbuf *buf, int64_t bytes)
{
	if (bytes < 1 << 20)
		strbuf_printf(buf, "%lld bytes", (long long)bytes);
	else
		strbuf_printf(buf, "%.2f MiB", (double)bytes / (1 << 20));
}

/* --- GPUs of other ranks ---------------------------------------------------------------- */

static bool same_gpu(const json_t *a, const json_t *b)
{
	const char *uuid = rehearsed_text(a, "uuid");

	return *uuid ? streq(uuid, rehearsed_text(b, "uuid"))
		     : rehearsed_number(a, "physical") == rehearsed_number(b, "physical");
}

/* The other rank that works on this GPU, of the same host. */
static const struct rehearsed *owner_of(const struct rehearsal *r, const struct rehearsed *self,
					const json_t *device)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct rehearsed *other = &r->processes[i];

		if (other != self && other->rank >= 0 && other->home &&
		    streq(rehearsed_text(other->record, "host"),
			  rehearsed_text(self->record, "host")) &&
		    same_gpu(other->home, device))
			return other;
	}
	return NULL;
}

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

static void judge_stray(const struct rehearsal *r, const struct rehearsed *self,
			const json_t *device, gpumap_report *report)
{
	const struct rehearsed *owner = owner_of(r, self, device);
	int64_t logical = rehearsed_number(device, "logical");
	const json_t *cause = first_cause(self, logical);
	struct place place = place_of(cause);
	struct strbuf text = {0};

	if (!owner)
		return;
	put_who(&text, self);
	strbuf_puts(&text, " put ");
	put_bytes(&text, cause ? rehearsed_number(cause, "bytes")
			       : rehearsed_number(device, "peak_bytes"));
	strbuf_printf(&text, " on cuda:%lld, ", (long long)logical);
	rehearsed_gpu(&text, device);
	strbuf_puts(&text, ", on which ");
	put_who(&text, owner);
	strbuf_puts(&text, " works");
	if (text.failed)
		report_nomem(report);
	else
		report_add(report, FINDING_REHEARSED_STRAY,
			   AT(place, cause && streq(rehearsed_text(cause, "what"), "load")
					     ? "write torch.load(..., map_location=device)"
					     : "write torch.cuda.set_device(local_rank) before it"),
			   "%s", text.text);
	strbuf_free(&text);
}

static void judge_devices(const struct rehearsal *r, const struct rehearsed *process,
			  gpumap_report *report)
{
	const json_t *devices = rehearsed_list(process->record, "devices");

	for (size_t i = 0; process->rank >= 0 && i < json_array_size(devices); i++) {
		const json_t *device = json_array_get(devices, i);

		if (device != process->home && rehearsed_number(device, "peak_bytes") > 0)
			judge_stray(r, process, device, report);
	}
}

static void judge_unused_gpus(const struct rehearsed *process, gpumap_report *report)
{
	struct strbuf text = {0};

	if (process->home || rehearsed_number(process->record, "steps") <= 0)
		return;
	put_who(&text, process);
	if (text.failed)
		report_nomem(report);
	else
		report_add(report, FINDING_REHEARSED_NO_GPU,
			   ABOUT(.fix = "write model.to(\"cuda\"), and the same for its inputs"),
			   "%s trained on the CPU: it put nothing on a GPU", text.text);
	strbuf_free(&text);
}

/* --- errors that PyTorch raised --------------------------------------------------------- */

static const char *remedy_of(const char *cause)
{
	static const struct {
		const char *cause, *remedy;
	} remedies[] = {
		{"mixed", "move all of them to one device with .to(device)"},
		{"ordinal", "use an ordinal of the list: cuda:0 is its first GPU"},
		{"no-gpu", "CUDA_VISIBLE_DEVICES leaves no GPU"},
		{"fork", "write torch.multiprocessing.set_start_method(\"spawn\")"},
		{"numpy", "write .cpu().numpy()"},
		{"memory", "lower the batch size, or take a GPU with more memory"},
		{"collective-on-cpu", "move the tensor to the GPU first: NCCL has no CPU"},
		{"duplicate", "write torch.cuda.set_device(local_rank)"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(remedies); i++)
		if (streq(cause, remedies[i].cause))
			return remedies[i].remedy;
	return NULL;
}

/* Whether an earlier process had this error on this line. */
static bool is_known(const struct rehearsal *r, size_t before, const json_t *said)
{
	for (size_t p = 0; p < before; p++) {
		const json_t *raised = rehearsed_list(r->processes[p].record, "raised");

		for (size_t i = 0; i < json_array_size(raised); i++) {
			const json_t *other = json_array_get(raised, i);

			if (streq(rehearsed_text(other, "cause"), rehearsed_text(said, "cause")) &&
			    streq(rehearsed_text(other, "place"), rehearsed_text(said, "place")))
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
		struct strbuf who = {0};

		if (is_known(r, p, said))
			continue;
		put_who(&who, &r->processes[p]);
		if (who.failed)
			report_nomem(report);
		else
			report_add(report, FINDING_REHEARSED_RAISED,
				   AT(place, remedy_of(rehearsed_text(said, "cause"))),
				   "%s: %s: %s", who.text, rehearsed_text(said, "type"),
				   rehearsed_text(said, "text"));
		strbuf_free(&who);
	}
}

/* --- training --------------------------------------------------------------------------- */

static void judge_unused(const struct rehearsed *process, gpumap_report *report)
{
	const json_t *unused = rehearsed_list(process->record, "unused");
	size_t count = json_array_size(unused);
	struct strbuf names = {0};

	for (size_t i = 0; i < count && i < MAX_NAMED; i++)
		strbuf_printf(&names, "%s%s", i ? ", " : "",
			      json_string_value(json_array_get(unused, i)));
	if (count > MAX_NAMED)
		strbuf_puts(&names, ", ...");
	if (names.failed)
		report_nomem(report);
	else if (count)
		report_add(report, FINDING_REHEARSED_UNUSED,
			   ABOUT(.fix = "leave them out of the model, or give "
					"DistributedDataParallel find_unused_parameters=True"),
			   "%zu parameter%s of the model got no gradient: %s", count,
			   count == 1 ? "" : "s", names.text);
	strbuf_free(&names);
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

/* The rank after `p` that saves to the file of rank `p`. */
static void judge_saves(const struct rehearsal *r, size_t p, const json_t *said,
			gpumap_report *report)
{
	const char *file = rehearsed_text(said, "file");
	struct place place = place_of(said);
	size_t ranks = 1;

	for (size_t q = 0; q < r->count; q++) {
		const json_t *saves = rehearsed_list(r->processes[q].record, "saves");
		bool same = false;

		for (size_t i = 0; q != p && i < json_array_size(saves); i++)
			same = same ||
			       streq(rehearsed_text(json_array_get(saves, i), "file"), file);
		if (same && q < p)
			return; /* said already */
		ranks += same;
	}
	if (ranks > 1)
		report_add(report, FINDING_REHEARSED_SAVES,
			   AT(place, "write if dist.get_rank() == 0: before it"),
			   "%zu ranks save to '%s'", ranks, QUOTE(span_of(file)));
}

/* ", rank 1" for each rank that has entered fewer. */
static void put_missing(struct strbuf *buf, const struct rehearsal *r,
			const struct rehearsed *process)
{
	int64_t entered = rehearsed_number(process->record, "collectives");

	for (size_t i = 0; i < r->count; i++) {
		const struct rehearsed *other = &r->processes[i];

		if (other == process || other->rank < 0 ||
		    rehearsed_number(other->record, "collectives") >= entered)
			continue;
		strbuf_puts(buf, buf->length ? ", " : "");
		put_who(buf, other);
	}
}

static void judge_waiting(const struct rehearsal *r, const struct rehearsed *process,
			  gpumap_report *report)
{
	const json_t *waiting = json_object_get(process->record, "waiting");
	struct place place = place_of(waiting);
	struct strbuf who = {0}, missing = {0};

	put_who(&who, process);
	put_missing(&missing, r, process);
	if (who.failed || missing.failed)
		report_nomem(report);
	else if (missing.length)
		report_add(report, FINDING_REHEARSED_WAITS,
			   AT(place, "let every rank of the group call it, in the same order"),
			   "%s waits in %s for %s, which did not enter it", who.text,
			   rehearsed_text(waiting, "in"), missing.text);
	strbuf_free(&who);
	strbuf_free(&missing);
}

void rehearsal_judge_waits(const struct rehearsal *r, double from, double to, gpumap_report *report)
{
	for (size_t p = 0; p < r->count; p++) {
		const json_t *waiting = json_object_get(r->processes[p].record, "waiting");
		double since = json_number_value(json_object_get(waiting, "since"));

		if (json_is_object(waiting) && since > from && since <= to)
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
		const json_t *saves = rehearsed_list(process->record, "saves");

		relay_mapping(r, p, report);
		judge_raised(r, p, report);
		judge_devices(r, process, report);
		judge_unused_gpus(process, report);
		if (process->rank <= 0) {
			judge_unused(process, report);
			judge_order(process, report);
		}
		for (size_t i = 0; i < json_array_size(saves); i++)
			judge_saves(r, p, json_array_get(saves, i), report);
	}
	rehearsal_judge_waits(r, 0, INFINITY, report);
}
