/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "report.h"
#include "strbuf.h"
#include "suggest.h"

static const struct option_row rows[] = {
	{"--json", NULL, "the same as JSON"},
	{NULL, NULL, NULL},
};

static void help(const struct options *options)
{
	fputs("usage: gpumap rules [ID...]\n"
	      "\n"
	      "The rules by which statements about GPUs become a physical GPU: all of them, a\n"
	      "line each, or those named, in full.\n"
	      "\n"
	      "  gpumap rules V5\n"
	      "\n",
	      stdout);
	options_help(options, stdout);
}

/* Text in lines of at most 72 columns behind a margin. */
static void wrap(struct strbuf *buf, const char *label, const char *text)
{
	size_t column = 0;

	strbuf_printf(buf, "  %-9s", label);
	while (text && *text) {
		size_t word = strcspn(text, " ");

		if (column && column + word > 66) {
			strbuf_printf(buf, "\n%11s", "");
			column = 0;
		}
		strbuf_printf(buf, "%s%.*s", column ? " " : "", (int)word, text);
		column += word + 1;
		text += word + (text[word] == ' ');
	}
	strbuf_puts(buf, "\n");
}

static void print_rule(struct strbuf *buf, const gpumap_rule *rule, bool full)
{
	const char *example = gpumap_rule_str(rule, GPUMAP_RULE_EXAMPLE);
	const char *text = gpumap_rule_str(rule, GPUMAP_RULE_TEXT);

	strbuf_printf(buf, "%-5s%s\n", gpumap_rule_str(rule, GPUMAP_RULE_ID),
		      gpumap_rule_str(rule, GPUMAP_RULE_LINE));
	if (!full)
		return;
	if (*text)
		wrap(buf, "", text);
	if (example)
		wrap(buf, "example", example);
	wrap(buf, "source", gpumap_rule_str(rule, GPUMAP_RULE_SOURCE));
	wrap(buf, "evidence", gpumap_rule_str(rule, GPUMAP_RULE_EVIDENCE));
}

static json_t *rule_json(const gpumap_rule *rule)
{
	const char *example = gpumap_rule_str(rule, GPUMAP_RULE_EXAMPLE);

	return json_pack("{s:s, s:s, s:s, s:s?, s:s, s:s}", "id",
			 gpumap_rule_str(rule, GPUMAP_RULE_ID), "line",
			 gpumap_rule_str(rule, GPUMAP_RULE_LINE), "text",
			 gpumap_rule_str(rule, GPUMAP_RULE_TEXT), "example", example, "source",
			 gpumap_rule_str(rule, GPUMAP_RULE_SOURCE), "evidence",
			 gpumap_rule_str(rule, GPUMAP_RULE_EVIDENCE));
}

static int no_such_rule(const char *id, gpumap_report *report)
{
	const char *ids[128] = {0};
	const char *near;
	char fix[64];

	for (size_t i = 0; i + 1 < ARRAY_SIZE(ids) && gpumap_rule_get(i); i++)
		ids[i] = gpumap_rule_str(gpumap_rule_get(i), GPUMAP_RULE_ID);
	near = suggest(span_of(id), ids);
	if (strncasecmp(id, "GM", 2) == 0)
		snprintf(fix, sizeof(fix), "that is a message: gpumap(1) lists them");
	else if (near && strlen(id) < 8)
		snprintf(fix, sizeof(fix), "did you mean %s? gpumap rules lists all", near);
	else
		snprintf(fix, sizeof(fix), "gpumap rules lists all");
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION, ABOUT(.fix = fix),
			   "no such rule: '%s'", QUOTE(span_of(id)));
}

struct rules_output {
	struct strbuf text;
	json_t *json;
};

static void add_rule(struct rules_output *to, const gpumap_rule *rule, bool full)
{
	print_rule(&to->text, rule, full);
	if (json_array_append_new(to->json, rule_json(rule)) != 0)
		to->text.failed = true;
}

static int print_all(struct rules_output *to, const struct output *output)
{
	char *text = NULL;
	int r = GPUMAP_ENOMEM;

	if (to->text.failed)
		goto out;
	if (output->format == GPUMAP_JSON) {
		text = json_dumps(to->json, JSON_COMPACT);
		strbuf_free(&to->text);
		if (!text)
			goto out;
		strbuf_printf(&to->text, "{\"schema\":1,\"rules\":%s}\n", text);
		free(text);
	}
	text = strbuf_take(&to->text);
	if (text)
		r = print_text(text, output->report) ? GPUMAP_OK : GPUMAP_EFILE;
out:
	free(text);
	strbuf_free(&to->text);
	json_decref(to->json);
	return r;
}

int cmd_rules(int argc, char **argv)
{
	struct output output = {.format = wanted_format(argc, argv)};
	struct rules_output to = {.json = json_array()};
	struct options options;
	const char *name;
	bool failed = false, named = false;
	int r = GPUMAP_OK;

	if (gpumap_report_new(&output.report) != GPUMAP_OK)
		return STATUS_MALFORMED;
	options_init(&options, "rules", rows, NO_KEYS, argc, argv);
	while (r == GPUMAP_OK && (name = options_next(&options, output.report, &failed))) {
		const gpumap_rule *rule;

		if (streq(name, "--help")) {
			help(&options);
			json_decref(to.json);
			return finish(&output, GPUMAP_OK, true);
		}
		if (output_option(&output, name, options.value, &failed))
			continue;
		rule = gpumap_rule_find(options.operand);
		named = true;
		if (rule)
			add_rule(&to, rule, true);
		else
			r = no_such_rule(options.operand, output.report);
	}
	for (size_t i = 0; !named && gpumap_rule_get(i); i++)
		add_rule(&to, gpumap_rule_get(i), false);
	if (r != GPUMAP_OK || failed) {
		strbuf_free(&to.text);
		json_decref(to.json);
		return finish(&output, r == GPUMAP_OK ? GPUMAP_EINPUT : r, false);
	}
	return finish(&output, print_all(&to, &output), true);
}
