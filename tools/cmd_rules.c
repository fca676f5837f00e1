/* SPDX-License-Identifier: MIT */
/* gpumap rules: explains a rule, or a message by its id. */
#include "command.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/color.h"
#include "explain/json.h"
#include "memory.h"
#include "report/report.h"
#include "strbuf.h"
#include "style.h"
#include "suggest.h"

const struct option_row rules_rows[] = {
	{"--json", NULL, "print JSON", 0},
	{NULL, NULL, NULL, 0},
};

static const char help[] =
	"usage: gpumap rules [ID...]\n"
	"\n"
	"Lists the rules that decide which physical GPU a program uses, one line each.\n"
	"With the ID of a rule it prints that rule in full. With the ID at the end of a\n"
	"message, such as [GM019], it explains the cause of the message and the remedy.\n"
	"With V or GM it lists everything whose id begins with these letters.\n"
	"\n"
	"  gpumap rules V5\n"
	"  gpumap rules GM019\n"
	"  gpumap rules GM\n"
	"\n" OPTIONS_HERE "\n"
	"Exit status: 0 success, 2 no such id, or malformed options.\n";

static void put_label(struct strbuf *buf, const char *label)
{
	style_set(buf, STYLE_FAINT);
	strbuf_printf(buf, "  %-9s", label);
	style_set(buf, STYLE_PLAIN);
}

/* Breaks text into lines of at most 72 columns after a margin. */
static void wrap(struct strbuf *buf, const char *label, const char *text)
{
	size_t column = 0;

	put_label(buf, label);
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

	style_set(buf, STYLE_RULE);
	strbuf_printf(buf, "%-5s", gpumap_rule_str(rule, GPUMAP_RULE_ID));
	style_puts(buf, full ? STYLE_ANSWER : STYLE_PLAIN, gpumap_rule_str(rule, GPUMAP_RULE_LINE));
	strbuf_puts(buf, "\n");
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
	return JSON_OBJECT({"id", json_text(gpumap_rule_str(rule, GPUMAP_RULE_ID))},
			   {"line", json_text(gpumap_rule_str(rule, GPUMAP_RULE_LINE))},
			   {"text", json_text(gpumap_rule_str(rule, GPUMAP_RULE_TEXT))},
			   {"example", json_text(gpumap_rule_str(rule, GPUMAP_RULE_EXAMPLE))},
			   {"source", json_text(gpumap_rule_str(rule, GPUMAP_RULE_SOURCE))},
			   {"evidence", json_text(gpumap_rule_str(rule, GPUMAP_RULE_EVIDENCE))});
}

static const char *const severities[] = {"remark", "warning", "error"};

static void print_finding(struct strbuf *buf, const gpumap_finding *finding, bool full)
{
	int64_t severity = gpumap_finding_int(finding, GPUMAP_FINDING_SEVERITY);
	const char *rule = gpumap_finding_str(finding, GPUMAP_FINDING_RULE);
	const char *example = gpumap_finding_str(finding, GPUMAP_FINDING_EXAMPLE);
	struct strbuf named = {0};

	style_puts(buf, STYLE_RULE, gpumap_finding_str(finding, GPUMAP_FINDING_ID));
	strbuf_puts(buf, "  ");
	style_set(buf, severity_style(severity));
	strbuf_printf(buf, "%s:", severities[severity]);
	style_set(buf, STYLE_PLAIN);
	strbuf_printf(buf, " %s\n", gpumap_finding_str(finding, GPUMAP_FINDING_MEANING));
	if (!full)
		return;
	wrap(buf, "cause", gpumap_finding_str(finding, GPUMAP_FINDING_CAUSE));
	if (rule) {
		strbuf_printf(&named, "%s  %s", rule,
			      gpumap_rule_str(gpumap_rule_find(rule), GPUMAP_RULE_LINE));
		wrap(buf, "rule", named.text);
		strbuf_free(&named);
	}
	/* An example is not broken, so that it can be copied. */
	if (example) {
		put_label(buf, "example");
		strbuf_printf(buf, "%s\n", example);
	}
	wrap(buf, "remedy", gpumap_finding_str(finding, GPUMAP_FINDING_REMEDY));
}

static json_t *finding_json(const gpumap_finding *finding)
{
	static const struct {
		const char *key;
		enum gpumap_finding_str_attr attribute;
	} texts[] = {
		{"meaning", GPUMAP_FINDING_MEANING}, {"cause", GPUMAP_FINDING_CAUSE},
		{"rule", GPUMAP_FINDING_RULE},       {"example", GPUMAP_FINDING_EXAMPLE},
		{"remedy", GPUMAP_FINDING_REMEDY},
	};
	json_t *o = JSON_OBJECT(
		{"id", json_text(gpumap_finding_str(finding, GPUMAP_FINDING_ID))},
		{"severity",
		 json_text(severities[gpumap_finding_int(finding, GPUMAP_FINDING_SEVERITY)])});

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		json_put(&o, texts[i].key,
			 json_text(gpumap_finding_str(finding, texts[i].attribute)));
	return o;
}

/* "GM019" of "[GM019]", as messages have it, of "GM19", "GM 19" and "19"; other words are
 * unchanged.
 */
static const char *full_id(const char *word, char copy[8])
{
	bool bracket = *word == '[' && text_ends(word, "]");
	struct span id = {word + bracket, strlen(word) - (bracket ? 2 : 0)};
	int64_t number;

	if (id.length > 2 && strncasecmp(id.text, "GM", 2) == 0)
		id = span_trim((struct span){id.text + 2, id.length - 2});
	number = span_number(id, 999);
	if (number < 0 && (!bracket || id.length >= 8))
		return word;
	if (number < 0)
		snprintf(copy, 8, "%.*s", (int)id.length, id.text);
	else
		snprintf(copy, 8, "GM%03d", (int)number);
	return copy;
}

const char *id_fix(struct quoted *ret, const char *word, const char *otherwise)
{
	char copy[8];
	const char *id = gpumap_finding_str(
		gpumap_finding_find(is_digit(*word) ? word : full_id(word, copy)),
		GPUMAP_FINDING_ID);

	if (!id)
		id = gpumap_rule_str(gpumap_rule_find(word), GPUMAP_RULE_ID);
	return id ? format_text(ret, "gpumap rules %s explains it", id) : otherwise;
}

static int no_such_rule(const char *id, gpumap_report *report)
{
	const char *ids[128] = {0};
	const char *near = NULL, *all = "gpumap rules lists all";
	bool message = strncasecmp(id, "GM", 2) == 0;
	CLEANUP(strbuf_free) struct strbuf fix = {0};

	if (message) {
		all = "gpumap rules GM lists all";
	} else {
		for (size_t i = 0; i + 1 < ARRAY_SIZE(ids) && gpumap_rule_get(i); i++)
			ids[i] = gpumap_rule_str(gpumap_rule_get(i), GPUMAP_RULE_ID);
		if (strlen(id) < 8)
			near = suggest(span_of(id), ids);
	}
	if (near)
		strbuf_printf(&fix, "did you mean %s? ", near);
	strbuf_puts(&fix, all);
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			   ABOUT(.fix = fix.text ? fix.text : all), "no such %s: '%s'",
			   message ? "message" : "rule", QUOTE(span_of(id)));
}

struct rules_output {
	struct strbuf text;
	json_t *rules, *explanations;
};

static void add_rule(struct rules_output *to, const gpumap_rule *rule, bool full)
{
	print_rule(&to->text, rule, full);
	json_push(&to->rules, rule_json(rule));
}

static void add_finding(struct rules_output *to, const gpumap_finding *finding, bool full)
{
	print_finding(&to->text, finding, full);
	json_push(&to->explanations, finding_json(finding));
}

/* Adds what begins with these letters, one line each. False: nothing does. */
static bool add_group(struct rules_output *to, const char *letters)
{
	size_t length = strspn(letters, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
	const gpumap_rule *rule;
	bool any = false;

	if (!length || letters[length])
		return false;
	if (strcasecmp(letters, "GM") == 0)
		for (size_t i = 0; gpumap_finding_get(i); i++, any = true)
			add_finding(to, gpumap_finding_get(i), false);
	for (size_t i = 0; (rule = gpumap_rule_get(i)); i++) {
		if (strncasecmp(gpumap_rule_str(rule, GPUMAP_RULE_ID), letters, length) != 0)
			continue;
		add_rule(to, rule, false);
		any = true;
	}
	return any;
}

static int add_named(struct rules_output *to, const char *word, gpumap_report *report)
{
	char id[8];
	const char *name = full_id(word, id);
	const gpumap_finding *finding = gpumap_finding_find(name);
	const gpumap_rule *rule = gpumap_rule_find(name);

	if (finding)
		add_finding(to, finding, true);
	else if (rule)
		add_rule(to, rule, true);
	else if (!add_group(to, word))
		return no_such_rule(word, report);
	return GPUMAP_OK;
}

/* Text has one line for each; JSON has everything. */
static void add_all(struct rules_output *to, enum gpumap_format format)
{
	for (size_t i = 0; gpumap_rule_get(i); i++)
		add_rule(to, gpumap_rule_get(i), false);
	for (size_t i = 0; format == GPUMAP_FORMAT_JSON && gpumap_finding_get(i); i++)
		add_finding(to, gpumap_finding_get(i), false);
	strbuf_puts(&to->text, "\nThe id at the end of a message is explained the same way: "
			       "gpumap rules GM019.\ngpumap rules GM lists all messages.\n");
}

static void rules_output_free(struct rules_output *to)
{
	strbuf_free(&to->text);
	json_decref(to->rules);
	json_decref(to->explanations);
}

static int print_all(struct rules_output *to, const struct output *output)
{
	if (output->format == GPUMAP_FORMAT_JSON) {
		strbuf_free(&to->text);
		json_dump(&to->text,
			  JSON_DOCUMENT("rules", {"rules", json_incref(to->rules)},
					{"explanations", json_incref(to->explanations)}));
	}
	return print_buffer(&to->text, output->report);
}

int cmd_rules(int argc, char **argv)
{
	struct output output = {.format = wanted_format(argc, argv)};
	struct rules_output to = {.rules = json_array(), .explanations = json_array()};
	struct options options;
	CLEANUP_FREE const char **named = xcalloc((size_t)argc + 1, sizeof(*named));
	int r, count = 0;

	output.report = report_begin();
	options_init(&options, "rules", rules_rows, NULL, NO_KEYS, argc, argv);
	while (options_next_own(&options, &output, help))
		/* GM 19 */
		if (count && strcasecmp(named[count - 1], "GM") == 0 && is_digit(*options.operand))
			named[count - 1] = options.operand;
		else
			named[count++] = options.operand;
	r = options.code;
	to.text.styled = color_on(STDOUT_FILENO);
	for (int i = 0; r == GPUMAP_OK && i < count; i++)
		r = add_named(&to, named[i], output.report);
	if (r == GPUMAP_OK && !count)
		add_all(&to, output.format);
	if (r == GPUMAP_OK)
		r = print_all(&to, &output);
	rules_output_free(&to);
	return finish(&output, r, r == GPUMAP_OK);
}
