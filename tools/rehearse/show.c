/* SPDX-License-Identifier: MIT */
/* The report of a rehearsal, for people and as JSON. */
#include "rehearse/rehearse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain/json.h"
#include "style.h"
#include "text.h"
#include "text/words.h"

/* What no rehearsal has. */
static const char *const never[] = {
	"kernels of CUDA, and the numbers that they give: those are the CPU's",
	"speed",
	"memory besides tensors: context, workspaces, fragmentation",
};

/* --- text ------------------------------------------------------------------------------- */

/* "  0     cuda:0  GPU 0       9.0 MiB  train.py:14" */
static void put_device(struct strbuf *buf, const struct rehearsed *process, const json_t *device)
{
	const json_t *most = json_array_get(rehearsed_list(device, "peak_places"), 0);
	CLEANUP(strbuf_free) struct strbuf gpu = {0}, size = {0};

	rehearsed_gpu(&gpu, device);
	strbuf_printf(buf, "  %-4s  %-8s  %-8s",
		      FORMAT(process->rank >= 0 ? "%lld" : "-", (long long)process->rank),
		      FORMAT("cuda:%lld", (long long)rehearsed_number(device, "logical")),
		      gpu.text ? gpu.text : "");
	rehearsed_size(&size, rehearsed_number(device, "peak_bytes"));
	strbuf_printf(buf, "%12s", size.text ? size.text : "");
	if (*rehearsed_text(most, "place")) {
		strbuf_puts(buf, "  ");
		escape_all(buf, rehearsed_text(most, "place"));
	}
	strbuf_puts(buf, "\n");
	buf->failed = buf->failed || gpu.failed || size.failed;
}

static void put_devices(struct strbuf *buf, const struct rehearsal *r)
{
	bool head = false;

	for (size_t p = 0; p < r->count; p++) {
		const json_t *devices = rehearsed_list(r->processes[p].record, "devices");

		for (size_t i = 0; i < json_array_size(devices); i++) {
			const json_t *device = json_array_get(devices, i);

			if (rehearsed_number(device, "tensors") <= 0)
				continue;
			if (!head)
				strbuf_puts(buf, "  rank  device    physical      tensors  most of "
						 "it made at\n");
			head = true;
			put_device(buf, &r->processes[p], device);
		}
	}
}

/* Whether an earlier process has said it. */
static bool was_said(const struct rehearsal *r, size_t before, const char *text)
{
	for (size_t p = 0; p < before; p++) {
		const json_t *said = rehearsed_list(r->processes[p].record, "not_rehearsed");

		for (size_t i = 0; i < json_array_size(said); i++) {
			const char *other = json_string_value(json_array_get(said, i));

			if (other && streq(other, text))
				return true;
		}
	}
	return false;
}

static void each_line(const char *text, void (*put)(void *, const char *), void *data)
{
	struct span rest = span_of(text), line;

	while (rest.text && span_split(&rest, '\n', &line)) {
		CLEANUP_FREE char *copy = line.length ? strndup(line.text, line.length) : NULL;

		if (copy)
			put(data, copy);
	}
}

void rehearsal_each_not(const struct rehearsal *r, void (*put)(void *, const char *), void *data)
{
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		put(data, never[i]);
	if (r->not_rehearsed)
		each_line(r->not_rehearsed, put, data);
	for (size_t p = 0; p < r->count; p++) {
		const json_t *said = rehearsed_list(r->processes[p].record, "not_rehearsed");

		for (size_t i = 0; i < json_array_size(said); i++) {
			const char *text = json_string_value(json_array_get(said, i));

			if (text && !was_said(r, p, text))
				put(data, text);
		}
	}
}

static void put_line(void *data, const char *text)
{
	struct strbuf *buf = data;

	strbuf_puts(buf, "  ");
	escape_all(buf, text);
	strbuf_puts(buf, "\n");
}

void rehearsal_title(struct strbuf *buf, const struct rehearsal *r)
{
	strbuf_puts(buf, "Rehearsed");
	for (char *const *word = r->argv; *word; word++) {
		strbuf_puts(buf, " ");
		words_quote(buf, *word);
	}
	strbuf_puts(buf, " on ");
	escape_all(buf, r->machine);
	strbuf_printf(buf, ": status %d", r->status);
}

void rehearsal_text(struct strbuf *buf, const struct rehearsal *r)
{
	rehearsal_title(buf, r);
	strbuf_puts(buf, "\n");
	put_devices(buf, r);
	strbuf_puts(buf, "Not rehearsed:\n");
	rehearsal_each_not(r, put_line, buf);
	strbuf_puts(buf, "A rehearsal that passes does not promise that the job runs.\n");
}

/* --- JSON ------------------------------------------------------------------------------- */

/* What is taken over as the process has said it, and what stands where it has not. */
static const struct {
	const char *name;
	char otherwise; /* 'a': an empty array, '0': the number 0, 'n': null */
} members[] = {
	{"torch", 'n'},  {"list", 'n'},        {"current", 'n'}, {"cuda_started", 'n'},
	{"steps", '0'},  {"collectives", '0'}, {"waiting", 'n'}, {"devices", 'a'},
	{"events", 'a'}, {"raised", 'a'},      {"saves", 'a'},   {"same_order", 'a'},
	{"unused", 'a'}, {"not_known", 'a'},
};

static json_t *member_of(const json_t *record, size_t i)
{
	json_t *value = json_object_get(record, members[i].name);

	if (value)
		return json_incref(value);
	return members[i].otherwise == 'a'   ? json_array()
	       : members[i].otherwise == '0' ? json_integer(0)
					     : json_null();
}

static json_t *rehearsed_json(const struct rehearsed *process)
{
	json_t *o = JSON_OBJECT(
		{"pid", json_number(process->pid)}, {"rank", json_number(process->rank)},
		{"world_size", json_number(rehearsed_number(process->record, "world_size"))},
		{"device", json_number(rehearsed_number(process->home, "logical"))});

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		json_put(&o, members[i].name, member_of(process->record, i));
	return o;
}

static void push_text(void *data, const char *text)
{
	json_push(data, json_text(text));
}

void rehearsal_json(struct strbuf *buf, const struct rehearsal *r, const gpumap_report *report)
{
	json_t *not_rehearsed = json_array();

	rehearsal_each_not(r, push_text, &not_rehearsed);
	/* Records may hold any text. */
	json_dump_ascii(
		buf,
		JSON_DOCUMENT(
			"rehearse", {"program", json_texts(r->argv)},
			{"machine", json_text(r->machine)}, {"status", json_number(r->status)},
			{"processes", JSON_LIST(p, r->count, rehearsed_json(&r->processes[p]))},
			{"not_rehearsed", not_rehearsed}, {"findings", json_findings(report)}));
}
