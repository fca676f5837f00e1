/* SPDX-License-Identifier: MIT */
/* What a sweep prints at its end: a line for each run, or JSON. */
#include "job/sweep.h"

#include <stdio.h>

#include "explain/json.h"
#include "job/plan_show.h"
#include "report/report.h"

/* "seq_length=60 future_length=4" */
static void put_values(struct strbuf *buf, const struct sweep *s, size_t i)
{
	const char *variable;

	for (size_t v = 0; (variable = gpumap_sweep_variable(s->section, v)); v++)
		strbuf_printf(buf, "%s%s=%s", v ? " " : "", variable,
			      gpumap_sweep_value(s->section, i, v));
}

void sweep_log(const struct sweep *s, size_t i, const char *format, ...)
{
	CLEANUP(strbuf_free) struct strbuf line = {0};
	va_list args;

	va_start(args, format);
	strbuf_printf(&line, "gpumap: %s (", s->runs[i].name);
	put_values(&line, s, i);
	strbuf_puts(&line, ") ");
	strbuf_vprintf(&line, format, args);
	va_end(args);
	if (line.text)
		fprintf(stderr, "%s\n", line.text);
}

int sweep_conclude(const struct sweep *s)
{
	size_t failed = 0;
	int status = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (s->runs[i].status <= 0)
			continue;
		status = status ? status : s->runs[i].status;
		failed++;
	}
	fprintf(stderr, "gpumap: %zu run%s, %zu failed%s\n", s->next, s->next == 1 ? "" : "s",
		failed, failed ? ":" : "");
	for (size_t i = 0; i < s->count && failed; i++)
		if (s->runs[i].status > 0)
			sweep_log(s, i, "failed with status %d", s->runs[i].status);
	return s->stopped ? 128 + s->stopped : status;
}

static json_t *values_json(const struct sweep *s, size_t i)
{
	json_t *o = json_object();
	const char *variable;

	for (size_t v = 0; (variable = gpumap_sweep_variable(s->section, v)); v++)
		json_put(&o, variable, json_text(gpumap_sweep_value(s->section, i, v)));
	return o;
}

static json_t *seconds_json(const struct combination *c)
{
	if (!c->ended.tv_sec)
		return json_null();
	return json_real((double)(c->ended.tv_sec - c->started.tv_sec) +
			 (double)(c->ended.tv_nsec - c->started.tv_nsec) / 1e9);
}

static json_t *run_json(const struct sweep *s, size_t i)
{
	const struct combination *c = &s->runs[i];
	const char *gpus = c->started.tv_sec ? s->shares[c->job].gpus : NULL;

	return JSON_OBJECT({"run", json_text(c->name)}, {"values", values_json(s, i)},
			   {"gpus", json_text(gpus)},
			   {"status", c->status < 0 ? json_null() : json_integer(c->status)},
			   {"seconds", seconds_json(c)});
}

bool sweep_print(const struct sweep *s, int status)
{
	struct strbuf buf = {0};

	json_dump(&buf, JSON_DOCUMENT("sweep", {"kind", json_string("sweep")},
				      {"sweep", json_text(gpumap_section_str(s->section,
									     GPUMAP_SECTION_NAME))},
				      {"jobs", json_integer((json_int_t)s->jobs)},
				      {"status", json_integer(status)},
				      {"runs", JSON_LIST(i, s->count, run_json(s, i))},
				      {"findings", json_findings(s->report)}));
	return print_buffer(&buf, s->report) == GPUMAP_OK;
}
