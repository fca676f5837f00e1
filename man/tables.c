/* SPDX-License-Identifier: MIT */
/*
 * Writes the parts of the manual that are made from tables of the library:
 *	tables rules	the whole of gpumap-rules(7)
 *	tables findings	the whole of gpumap-findings(7)
 *	tables codes	the list of codes in libgpumap(3)
 *	tables options	the options of gpumap config in gpumap(1)
 *	tables settings	the options of gpumap-train(1)
 *	tables SECTION	the keys of a section in gpumap.ini(5)
 *	tables macros	the keys there of [profile] that take %r and so on
 * "make update-manual" puts them into place; tests/sync/manual.test compares.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "gpumap.h"
#include "model/models.def"
#include "optim/optimizer.h"
#include "roff.h"

struct rule {
	const char *id, *line, *text, *example, *source, *evidence;
};

static const struct rule rules[] = {
#define RULE(id, line, text, example, source, evidence) {id, line, text, example, source, evidence},
#include "report/rules.def"
#undef RULE
};

struct finding {
	const char *id, *severity, *meaning, *cause, *rule, *example, *remedy;
};

static const struct finding findings[] = {
#define FINDING(number, name, weight, text, ...) \
	{.id = number, .severity = #weight, .meaning = text, __VA_ARGS__},
#include "report/findings.def"
#undef FINDING
};

struct code {
	int value;
	const char *name, *meaning;
};

static const struct code codes[] = {
#define CODE(value, name, meaning) {value, #name, meaning},
	GPUMAP_CODES(CODE)
#undef CODE
};

struct key {
	const char *section, *name, *option, *kind, *value, *initial, *help;
};

static const struct key keys[] = {
#define PROFILE_KEY(section, name, option, environment, kind, scope, value, initial, use, help) \
	{#section, #name, option, #kind, value, initial, help},
#include "request/profile_keys.def"
#undef PROFILE_KEY
};

/* A group's title, or an option of gpumap-train. */
struct setting {
	const char *title, *option, *kind, *value, *initial, *only, *help;
};

static const struct setting settings[] = {
#define GROUP(group, text) {.title = text},
#define SETTING(group, name, option, kind, member, value, least, max, initial, only, help) \
	{NULL, option, #kind, value, initial, only, help},
#define ALIAS(option, name, text, help) {NULL, option, "ALIAS", NULL, NULL, NULL, help},
#include "settings/settings.def"
};

struct group {
	char letter;
	const char *title;
};

/* In the order of the manual; a rule's group is its first letter. */
static const struct group groups[] = {
	{'S', "STATEMENTS (S): which one wins"},
	{'N', "NUMBERS (N): what a number means"},
	{'L', "LAYERS (L): views inside views"},
	{'E', "ERRORS (E): no device"},
	{'V', "VISIBLE (V): how the list is read"},
	{'H', "HIP (H): AMD's variables"},
	{'D', "DEVICE (D): the choice inside a process"},
	{'G', "GROUPS (G): data parallel, distributed, model parallel"},
	{'R', "RANKS (R): which of several processes this is"},
};

enum { COUNT_RULES = sizeof(rules) / sizeof(*rules) };

static void put_labelled(const char *label, const char *text)
{
	printf(".TP 11\n%s:\n", label);
	put_lines(text);
}

static void put_rule(const struct rule *rule)
{
	printf(".SS \"%s  ", rule->id);
	put(rule->line);
	puts("\"");
	if (*rule->text)
		put_lines(rule->text);
	puts(".PD 0");
	if (rule->example)
		put_labelled("Example", rule->example);
	put_labelled("Source", rule->source);
	put_labelled("Evidence", rule->evidence);
	puts(".PD");
}

/* Words here are identifiers that people copy: no hyphens, no stretched lines. */
static const char rules_head[] =
	".\\\" SPDX-License-Identifier: MIT\n"
	".\\\" Made from libgpumap/report/rules.def by man/tables.c: change it there.\n"
	".TH GPUMAP\\-RULES 7 2026-11-21 gpumap\n"
	".nh\n"
	".ad l\n"
	".SH NAME\n"
	"gpumap\\-rules \\- how a statement about GPUs becomes a physical GPU\n"
	".SH DESCRIPTION\n"
	"Every answer of\n"
	".BR gpumap (1)\n"
	"is a chain of the rules below, and every step that it prints names its rule.\n"
	"Ids are permanent: a rule never changes its meaning and a retired id is never\n"
	"used again.\n"
	".PP\n"
	"The rules use three verbs.\n"
	".TP 10\n"
	".B Replace\n"
	"Statements about one variable in one environment replace each other in time.\n"
	"The last one before the driver starts wins (rules S).\n"
	".TP\n"
	".B Compose\n"
	"Views nest: a view is an ordered list of devices, made from its parent view by\n"
	"a grant or by a list (rules N, L, V).\n"
	".TP\n"
	".B Index\n"
	"Choices inside a process (current device, explicit device, device_ids, local\n"
	"rank) are indexes into its view (rules D, G).\n"
	".PP\n"
	"Two words are kept apart.\n"
	".I Evidence\n"
	"is how a rule is known:\n"
	".B documented\n"
	"by a vendor or project,\n"
	".B observed\n"
	"by others on a running system,\n"
	".B implemented\n"
	"in a named project (it binds that project's dialect only),\n"
	".B verified\n"
	"by this project on hardware, or\n"
	".BR assumed .\n"
	".I Certainty\n"
	"is how sure an answer is: certain, likely, assumed or undecidable (rule N4).\n"
	".PP\n"
	"\\(lqLogical 1\\(rq is the device that PyTorch calls cuda:1; \\(lqphysical 3\\(rq is\n"
	"the GPU that nvidia\\-smi numbers 3.\n";

static const char rules_tail[] = ".SH SEE ALSO\n"
				 ".BR gpumap (1),\n"
				 ".BR libgpumap (3),\n"
				 ".BR gpumap\\-findings (7)\n";

static void put_rules(void)
{
	fputs(rules_head, stdout);
	for (size_t g = 0; g < sizeof(groups) / sizeof(*groups); g++) {
		printf(".SH \"%s\"\n", groups[g].title);
		for (size_t i = 0; i < COUNT_RULES; i++)
			if (*rules[i].id == groups[g].letter)
				put_rule(&rules[i]);
	}
	fputs(rules_tail, stdout);
}

/* A rule whose group is missing here would silently be missing from the manual. */
static bool grouped(void)
{
	for (size_t i = 0; i < COUNT_RULES; i++) {
		size_t g = 0;

		while (g < sizeof(groups) / sizeof(*groups) && groups[g].letter != *rules[i].id)
			g++;
		if (g == sizeof(groups) / sizeof(*groups)) {
			fprintf(stderr, "tables: no group for rule %s\n", rules[i].id);
			return false;
		}
	}
	return true;
}

static const char findings_head[] =
	".\\\" SPDX-License-Identifier: MIT\n"
	".\\\" Made from libgpumap/report/findings.def by man/tables.c: change it there.\n"
	".TH GPUMAP\\-FINDINGS 7 2026-11-23 gpumap\n"
	".nh\n"
	".ad l\n"
	".SH NAME\n"
	"gpumap\\-findings \\- the messages of gpumap by their ids\n"
	".SH DESCRIPTION\n"
	"Errors, warnings and remarks of\n"
	".BR gpumap (1)\n"
	"and\n"
	".BR libgpumap (3)\n"
	"end with an id, such as [GM019].\n"
	"So do those messages of\n"
	".BR gpumap\\-train (1)\n"
	"that are about devices and ranks.\n"
	"This page lists them;\n"
	".B gpumap rules GM019\n"
	"explains one: its cause, its rule, an example that gives the message, and the\n"
	"remedy.\n"
	"The message itself names the option, variable or line of a file that it is\n"
	"about, and often has a more precise remedy.\n"
	"Ids are permanent: an id never changes its meaning, and a retired id is never\n"
	"used again.\n"
	".PP\n"
	"An\n"
	".B error\n"
	"means that there is no answer, or that the answer is \\(lqno\\(rq.\n"
	"After a\n"
	".B warning\n"
	"the answer is valid, but probably not what you meant.\n"
	"A\n"
	".B remark\n"
	"is information.\n"
	"Rules are in\n"
	".BR gpumap\\-rules (7).\n"
	".SH FINDINGS\n"
	".PD 0\n";

static const char findings_tail[] = ".PD\n"
				    ".SH SEE ALSO\n"
				    ".BR gpumap (1),\n"
				    ".BR gpumap\\-run (1),\n"
				    ".BR gpumap\\-train (1),\n"
				    ".BR libgpumap (3),\n"
				    ".BR gpumap\\-rules (7)\n";

static void put_finding(const struct finding *finding)
{
	printf(".TP 16\n%s ", finding->id);
	for (const char *c = finding->severity; *c; c++)
		putchar(*c - 'A' + 'a');
	putchar('\n');
	put_lines(finding->meaning);
}

static void put_findings(void)
{
	fputs(findings_head, stdout);
	for (size_t i = 0; i < sizeof(findings) / sizeof(*findings); i++)
		put_finding(&findings[i]);
	fputs(findings_tail, stdout);
}

static void put_codes(void)
{
	puts(".Bl -tag -width GPUMAP_ENODRIVER -compact");
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		printf(".It Dv %s Pq %d\n", codes[i].name, codes[i].value);
		put_line(codes[i].meaning);
	}
	puts(".El");
}

static bool is_optional(const struct key *key)
{
	return strncmp(key->value, "yes|no", 6) == 0;
}

static void put_options(void)
{
	puts(".Bl -tag -width Ds");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (!keys[i].option)
			continue;
		printf(".It Fl -%s %s ", keys[i].option + 2,
		       is_optional(&keys[i]) ? "Ns Op Ns = Ns Ar" : "Ar");
		put_line(keys[i].value);
		put_lines(keys[i].help);
	}
	puts(".El");
}

static void put_default(const char *initial)
{
	if (!*initial)
		return;
	fputs(".br\nDefault: ", stdout);
	put_line(initial);
}

/* "mode=mp" as a line "Only with --mode mp". */
static void put_only(const char *only)
{
	fputs(".br\nOnly with\n.Fl -", stdout);
	for (; *only; only++)
		*only == '=' ? put(" Ar ") : put_escaped(*only == '_' ? "-" : only, 1);
	putchar('\n');
}

static void put_setting(const struct setting *setting)
{
	bool flag = strcmp(setting->kind, "FLAG") == 0;

	printf(".It Fl -%s", setting->option + 2);
	if (setting->value) {
		fputs(flag ? " Ns Op Ns = Ns Ar " : " Ar ", stdout);
		put(setting->value);
	}
	putchar('\n');
	put_lines(setting->help);
	if (setting->only)
		put_only(setting->only);
	if (!flag && setting->initial)
		put_default(setting->initial);
}

static void put_settings(void)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		if (!settings[i].title) {
			put_setting(&settings[i]);
		} else {
			if (i)
				puts(".El");
			printf(".Ss %c%s\n.Bl -tag -width Ds\n", settings[i].title[0] - 'a' + 'A',
			       settings[i].title + 1);
		}
	}
	puts(".El");
}

/* "profile" is the section PROFILE. */
static bool is_section(const char *section, const char *what)
{
	for (; *section && *what; section++, what++)
		if (*section - 'A' + 'a' != *what)
			return false;
	return *section == *what;
}

static bool put_keys(const char *what)
{
	bool any = false;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (!is_section(keys[i].section, what))
			continue;
		if (!any)
			puts(".Bl -tag -width Ds");
		any = true;
		printf(".It Ic %s No = Ar ", keys[i].name);
		put_line(keys[i].value);
		put_lines(keys[i].help);
		/* The default of the program's device is to read the program, as its help says. */
		if (!is_section(keys[i].section, "program"))
			put_default(keys[i].initial);
	}
	if (any)
		puts(".El");
	return any;
}

static bool has_macros(const struct key *key)
{
	return strncmp(key->kind, "MACRO", 5) == 0 || strcmp(key->kind, "STREAM") == 0;
}

static void put_keys_with_macros(void)
{
	fputs(".Ic", stdout);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strcmp(keys[i].section, "PROFILE") == 0 && has_macros(&keys[i]))
			printf(" %s ,", keys[i].name);
	putchar('\n');
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (strcmp(what, "rules") == 0 && grouped())
		put_rules();
	else if (strcmp(what, "findings") == 0)
		put_findings();
	else if (strcmp(what, "codes") == 0)
		put_codes();
	else if (strcmp(what, "options") == 0)
		put_options();
	else if (strcmp(what, "settings") == 0)
		put_settings();
	else if (strcmp(what, "macros") == 0)
		put_keys_with_macros();
	else if (!put_keys(what))
		return 2;
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
