/* SPDX-License-Identifier: MIT */
/* The difference of two plans, as lines and as JSON. */
#include "plan/diff.h"

#include "explain/explain.h"
#include "explain/json.h"

/* How many lines of a kind, and ranges in one line, are shown. The JSON has all. */
enum { MAX_LINES = 64, MAX_RANGES = 8 };

static const char *const words[] = {
	[DIFFERENCE_PLAN] = "plan",
	[DIFFERENCE_SETTING] = "setting",
	[DIFFERENCE_ENVIRONMENT] = "environment",
	[DIFFERENCE_UNSET] = "unset",
	[DIFFERENCE_ARGUMENTS] = "program",
	[DIFFERENCE_NODE] = "node",
	[DIFFERENCE_RANK] = "rank",
};

/* --- text ------------------------------------------------------------------------------ */

static void put_value(struct strbuf *buf, const char *value)
{
	if (!value)
		strbuf_puts(buf, "(none)");
	else if (!*value)
		strbuf_puts(buf, "(empty)");
	else
		escape_all(buf, value);
}

/* The name for people. */
static const char *label(const struct difference *d)
{
	static const char *const labels[][2] = {
		{"physical", "GPU"},
		{"visible", "CUDA_VISIBLE_DEVICES"},
		{"device_order", "CUDA_DEVICE_ORDER"},
		{"logical", "cuda:N"},
		{"local_size", "ranks"},
		{"cpus", "cores"},
		{"answered", "can be started"},
	};

	for (size_t i = 0; d->of != DIFFERENCE_SETTING && i < ARRAY_SIZE(labels); i++)
		if (streq(labels[i][0], d->key))
			return labels[i][1];
	return d->key;
}

/* "ranks 0-3,8 " */
static void put_ranges(struct strbuf *buf, const struct difference *d)
{
	bool one = d->range_count == 1 && d->ranges[0].first == d->ranges[0].last;

	strbuf_printf(buf, "%s%s ", words[d->of], one ? "" : "s");
	for (size_t i = 0; i < d->range_count && i < MAX_RANGES; i++) {
		strbuf_printf(buf, "%s%zu", i ? "," : "", d->ranges[i].first);
		if (d->ranges[i].last > d->ranges[i].first)
			strbuf_printf(buf, "-%zu", d->ranges[i].last);
	}
	strbuf_puts(buf, d->range_count > MAX_RANGES ? ",..." : "");
}

static void put_line(struct strbuf *buf, const struct difference *d)
{
	if (d->range_count)
		put_ranges(buf, d);
	else
		strbuf_puts(buf, words[d->of]);
	if (d->of == DIFFERENCE_RANK && streq(d->key, "exists")) {
		strbuf_printf(buf, ": only in the %s plan\n", d->from ? "first" : "second");
		return;
	}
	if (d->of != DIFFERENCE_ARGUMENTS) {
		strbuf_puts(buf, " ");
		escape_all(buf, label(d));
	}
	strbuf_puts(buf, ": ");
	put_value(buf, d->from);
	strbuf_puts(buf, " -> ");
	put_value(buf, d->to);
	strbuf_puts(buf, "\n");
}

static void diff_text(struct strbuf *buf, const struct plan_diff *diff)
{
	size_t counts[DIFFERENCE_RANK + 1] = {0};

	if (!diff->count)
		strbuf_puts(buf, "The plans are the same.\n");
	for (size_t i = 0; i < diff->count; i++) {
		const struct difference *d = diff->list[i];

		if (counts[d->of]++ < MAX_LINES)
			put_line(buf, d);
	}
	for (size_t of = 0; of < ARRAY_SIZE(counts); of++)
		if (counts[of] > MAX_LINES)
			strbuf_printf(buf, "... %zu more lines of %ss\n", counts[of] - MAX_LINES,
				      words[of]);
}

/* --- JSON ------------------------------------------------------------------------------- */

static json_t *range_json(size_t first, size_t last)
{
	return JSON_LIST(i, 2, json_integer((json_int_t)(i ? last : first)));
}

static json_t *difference_json(const struct difference *d)
{
	return JSON_OBJECT({"of", json_text(words[d->of])}, {"key", json_text(d->key)},
			   {"from", json_text(d->from)}, {"to", json_text(d->to)},
			   {"ranges", d->range_count ? JSON_LIST(i, d->range_count,
								 range_json(d->ranges[i].first,
									    d->ranges[i].last))
						     : json_null()});
}

/* `diff` NULL: the report alone. */
static json_t *diff_json(const struct plan_diff *diff, const gpumap_report *report)
{
	return JSON_DOCUMENT("plan-diff", {"kind", json_text("plan-diff")},
			     {"version", json_text(gpumap_version())},
			     {"same", diff ? json_boolean(!diff->count) : json_null()},
			     {"differences",
			      JSON_LIST(i, diff ? diff->count : 0, difference_json(diff->list[i]))},
			     {"findings", json_findings(report)});
}

EXPORT int gpumap_plan_diff(char **ret, int *differs, const gpumap_plan *a, const gpumap_plan *b,
			    enum gpumap_format format, unsigned flags, const gpumap_report *report)
{
	struct plan_diff diff = {.a = NULL};
	bool there = a && b;
	struct strbuf buf = {0};
	bool failed;
	int r;

	if ((format != GPUMAP_FORMAT_TEXT && format != GPUMAP_FORMAT_JSON) ||
	    !format_flags_known(flags))
		return GPUMAP_EINPUT;
	failed = there && !plan_diff_make(&diff, a, b);
	if (format == GPUMAP_FORMAT_JSON) {
		json_dump(&buf, diff_json(there ? &diff : NULL, report));
	} else if (there) {
		diff_text(&buf, &diff);
	}
	buf.failed = buf.failed || failed;
	r = format_finish(ret, &buf);
	if (r == GPUMAP_OK)
		*differs = diff.count > 0;
	plan_diff_free(&diff);
	return r;
}
