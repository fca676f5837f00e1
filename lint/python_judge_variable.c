/* SPDX-License-Identifier: MIT */
/* Variables that code sets although its launcher or its user sets them (rules S2 to S4, S7). */
#include "lint/python_file.h"

#include "request/request.h"
#include "suggest.h"

static bool is_literal(const struct python_value *v)
{
	return v->meaning == MEANS_TEXT || v->meaning == MEANS_NUMBER;
}

/* NAME=value as a shell would show it; only NAME if the value is not known. */
static const char *shown(struct quoted *ret, const struct observation *s)
{
	if (!is_literal(&s->value))
		return format_text(ret, "%.60s", QUOTE(s->name));
	return format_text(ret, "%.60s=%.200s", QUOTE(s->name), QUOTE(s->value.text));
}
#define SHOWN(s) shown(&(struct quoted){{0}}, s)

static void too_late(const struct python_judge *judge, const struct observation *s)
{
	bool may = python_may_count(s->initialised);

	if (s->imported) {
		judge_report(judge, s, FINDING_TOO_LATE, "S4",
			     "set it before the import, best before the start",
			     "%s has no effect: the import of %s on line %d initialises CUDA "
			     "before (%s)",
			     SHOWN(s), QUOTE(s->initialised), s->initialised_line,
			     QUOTE(span_of(s->imported)));
		return;
	}
	judge_report(judge, s, FINDING_TOO_LATE, "S4",
		     "set it before the first CUDA call, best before the start",
		     "%s %s no effect: %s() on line %d initialises CUDA before", SHOWN(s),
		     may ? "may have" : "has", QUOTE(s->initialised), s->initialised_line);
}

/* What uses the GPUs that an observation hides. */
static enum python_uses uses_hidden(const struct python_judge *judge, const struct observation *s)
{
	if (!judge->file->facts.cuda)
		return USES_NOTHING;
	return s->function ? functions_uses_after(judge->file, s) : USES_ITSELF;
}

/* A list of the plan that the code replaces. */
static void report_replaced(const struct python_judge *judge, const struct observation *s,
			    const char *plan, const char *code)
{
	judge_report(judge, s, FINDING_AGAINST_PLAN, "S3",
		     "remove the line; --gpus, or CUDA_VISIBLE_DEVICES before the command, chooses "
		     "the GPUs",
		     "%s in code replaces the list of the plan: the ranks would see %s%s, not %s",
		     SHOWN(s), judge_devices_word(code), code, *plan ? plan : "none");
}

/* "NAME=VALUE", which the caller frees. */
static char *statement_of(const struct observation *s)
{
	struct strbuf buf = {0};

	strbuf_printf(&buf, "%.*s=%.*s", (int)s->name.length, s->name.text,
		      (int)s->value.text.length, s->value.text.text);
	return strbuf_take(&buf);
}

/* Whether it was judged, because a plan of gpumap starts the program: a list that means other GPUs
 * than the plan's. */
static bool judge_planned(const struct python_judge *judge, const struct observation *s)
{
	const struct python_start *start = judge->start;
	CLEANUP_FREE char *code = NULL;
	char plan[512], seen[512];

	if (!start || !start->planned || !start->list || s->may || s->guarded || s->otherwise ||
	    s->verb != OBSERVED_SETS || s->value.meaning != MEANS_TEXT || python_hides_all(s) ||
	    !functions_run(judge->file, s, false))
		return false;
	code = statement_of(s);
	judge_devices(judge, &(const struct python_list){.script = start->list}, plan);
	judge_devices(judge, &(const struct python_list){.script = start->list, .code = code},
		      seen);
	if (!streq(plan, seen))
		report_replaced(judge, s, plan, seen);
	return true;
}

static void judge_list(const struct python_judge *judge, const struct observation *s)
{
	bool local = s->value.meaning == MEANS_LOCAL_RANK, rank = s->value.meaning == MEANS_RANK;
	bool hides = python_hides_all(s);
	enum python_uses uses = hides ? uses_hidden(judge, s) : USES_ITSELF;
	bool may = s->may || uses == USES_THROUGH;
	enum finding_id id = may ? FINDING_CODE_MAY_REPLACE : FINDING_CODE_REPLACES;
	const char *verb = may ? "may replace" : "replaces";

	if (judge_planned(judge, s))
		return;
	if (s->verb == OBSERVED_DEFAULTS || s->value.meaning == MEANS_DERIVED ||
	    (s->may && judge->file->facts.ray))
		return;
	/* A program that uses no GPU hides them on purpose, and so does a function that uses none
	 * after. */
	if (hides && (s->may || uses == USES_NOTHING))
		return;
	if (local || rank)
		judge_report(judge, s, id, "S9",
			     "leave the list alone and call torch.cuda.set_device(local_rank), or "
			     "start it by gpumap run --share isolate",
			     "the %s rank as CUDA_VISIBLE_DEVICES %s the list that launcher and "
			     "user set: it counts from the machine's first GPU%s",
			     local ? "local" : "global", verb,
			     rank ? ", and on the second host past its last" : "");
	else if (s->verb == OBSERVED_REMOVES)
		judge_report(judge, s, id, "S2",
			     "leave the list unchanged: it selects the GPUs of the job",
			     "code %s the list that launcher and user set by nothing: every GPU is "
			     "visible",
			     verb);
	else
		judge_report(judge, s, id, "S3",
			     "set it before the command, not in code; or use os.environ.setdefault",
			     "%s in code %s the list that launcher and user set", SHOWN(s), verb);
}

/* The library's findings about a list. */
void judge_value(const struct python_judge *judge, const struct observation *s)
{
	CLEANUP_FREE char *text = statement_of(s);

	judge_ask(judge, s, STATEMENTS({"in_code", text, false}), GPUMAP_SEVERITY_WARNING, "");
}

static void fixed_port(const struct python_judge *judge, const struct observation *s,
		       const char *fix)
{
	judge_report(judge, s, FINDING_FIXED_PORT, NULL, fix,
		     "port %s is fixed in code: a second job on this host cannot listen there",
		     QUOTE(s->value.text));
}

/* Whether the program is its ranks' launcher, so that these variables are its own. */
static bool is_launcher(const struct python_judge *judge)
{
	const struct python_facts *facts = &judge->file->facts;

	return facts->spawns_ranks || (!python_launched(judge) &&
				       (facts->numbers_ranks || facts->finds_port || facts->ray));
}

/* Whether a plan starts the program, and the place is executed in each of its ranks. */
static bool is_certain(const struct python_judge *judge, const struct observation *s)
{
	return judge->start && judge->start->planned && functions_run(judge->file, s, false);
}

static bool is_rank(struct span name)
{
	return span_is_any(name, "RANK LOCAL_RANK");
}

/* Whether the code sets what the plan would: the only rank, or this host as the place to meet. */
static bool agrees_with_plan(const struct python_judge *judge, const struct observation *s)
{
	const struct python_start *start = judge->start;
	struct span value = s->value.text;

	if (!start || !start->planned || !is_literal(&s->value))
		return false;
	if (span_is(s->name, "MASTER_ADDR"))
		return start->hosts == 1 &&
		       (span_is(value, "localhost") || span_starts(value, "127."));
	if (span_is(s->name, "WORLD_SIZE"))
		return span_number(value, INT32_MAX) == start->ranks * start->hosts;
	return is_rank(s->name) && start->ranks * start->hosts == 1 && span_is(value, "0");
}

static void judge_rank(const struct python_judge *judge, const struct observation *s)
{
	bool port = span_is(s->name, "MASTER_PORT");
	bool constant = is_literal(&s->value);

	if (s->verb != OBSERVED_SETS || s->value.meaning == MEANS_DERIVED ||
	    s->value.meaning == MEANS_RANK || s->value.meaning == MEANS_LOCAL_RANK)
		return;
	if (port && constant && !s->may && judge->start && judge->start->together) {
		judge_report(judge, s, FINDING_FIXED_PORT, NULL,
			     "take it from the environment or an argument, one for each start",
			     "port %s is fixed in code, and this program is started twice at the "
			     "same time",
			     QUOTE(s->value.text));
		return;
	}
	if (is_launcher(judge) || judge_launch(judge, s) || agrees_with_plan(judge, s))
		return;
	/* A computed value may well be right. */
	if (!constant && !s->argument)
		return;
	/* Under a condition about ranks it is for those without a launcher; and one process needs
	 * none. */
	if (!port &&
	    ((s->may && s->guarded) || (judge->file->facts.one_process && !python_launched(judge))))
		return;
	if (port && constant && !s->may)
		fixed_port(judge, s,
			   "remove the line, because torchrun and gpumap run set it; or use "
			   "os.environ.setdefault");
	else if (!judge->file->facts.spawns)
		judge_report(judge, s,
			     !constant || s->may                        ? FINDING_CODE_MAY_REPLACE
			     : is_certain(judge, s) && is_rank(s->name) ? FINDING_AGAINST_PLAN
									: FINDING_CODE_SETS_RANK,
			     "R1", "leave it to the launcher; or use os.environ.setdefault",
			     "%s in code %s what a launcher sets", SHOWN(s),
			     constant && !s->may ? "replaces" : "may replace");
}

/* A variable of which it is known where it is set. */
static void judge_place(const struct python_judge *judge, const struct observation *s)
{
	bool list = span_is(s->name, "CUDA_VISIBLE_DEVICES");
	bool order = span_is(s->name, "CUDA_DEVICE_ORDER");

	if (s->patched)
		return;
	if ((list || order) && s->initialised.text) {
		too_late(judge, s);
		return;
	}
	if (list)
		judge_list(judge, s);
	else if (!order)
		judge_rank(judge, s);
	if ((list || order) && s->value.meaning == MEANS_TEXT)
		judge_value(judge, s);
}

void judge_variable(const struct python_judge *judge, const struct observation *s)
{
	struct observation place = *s;

	place.may = s->may || functions_conditional(judge->file, s);
	judge_place(judge, &place);
}

void judge_misspelt(const struct python_judge *judge, const struct observation *s)
{
	judge_report(judge, s, FINDING_MISSPELT_VARIABLE, "S7",
		     DID_YOU_MEAN(misspelt_variable(s->name), NULL), "no program reads '%s'",
		     QUOTE(s->name));
}

void judge_rendezvous(const struct python_judge *judge, const struct observation *s)
{
	struct span text = s->value.text, port;
	const char *colon = memrchr(text.text, ':', text.length);
	struct observation at = *s;

	if (judge->file->facts.tests)
		return;

	port = span_from(text, colon + 1);
	if (span_number(port, 65535) <= 0)
		return;
	at.value.text = port;
	fixed_port(judge, &at, "write init_method=\"env://\" and let the launcher choose it");
}
