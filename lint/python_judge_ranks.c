/* SPDX-License-Identifier: MIT */
/* How many ranks start and how many a program waits for, and where they meet. */
#include "lint/python_file.h"

#include <stdio.h>

/* --- how many start ------------------------------------------------------------------------ */

/* Who starts the ranks of a group, and how many. */
struct starter {
	const struct observation *spawn; /* in the program itself; NULL: a launcher */
	int64_t count;                   /* -1: not known */
	struct counted counted;
	char text[160]; /* for a message: "run.sh:2 starts 2" */
};

/* Whether a launcher starts several processes of the program. */
static bool is_launched(const struct python_judge *judge)
{
	return python_launched(judge) && !judge->start->alone && judge->start->ranks > 0 &&
	       judge->start->hosts > 0;
}

static const struct observation *spawn_of(const struct python_judge *judge,
					  const struct observation *group, bool *only)
{
	const struct python_file *f = judge->file;
	const struct observation *found = NULL;

	*only = true;
	for (size_t i = 0; i < f->count; i++) {
		const struct observation *s = &f->observations[i];

		if (!observation_starts(s) || !functions_reach(f, s->target, group->function))
			continue;
		*only = !found && !s->nested && !functions_called(f, s->target) &&
			!functions_called_beside(f, s->target, group->function);
		if (found)
			break;
		found = s;
	}
	return found;
}

static struct starter starter_of(const struct python_judge *judge, const struct observation *group)
{
	const struct python_start *start = judge->start;
	bool only;
	struct starter ret = {.spawn = spawn_of(judge, group, &only), .count = -1};

	if (ret.spawn) {
		if (only && !is_launched(judge) && !ret.spawn->may && !ret.spawn->otherwise &&
		    judge_compute(judge, ret.spawn->size, false, &ret.counted))
			ret.count = ret.counted.number;
		snprintf(ret.text, sizeof(ret.text), "line %d starts %lld", ret.spawn->line,
			 (long long)ret.count);
	} else if (is_launched(judge) && !judge->file->facts.spawns_ranks) {
		ret.count = start->ranks * start->hosts;
		snprintf(ret.text, sizeof(ret.text), "%.100s starts %lld", judge_starter(judge),
			 (long long)ret.count);
		if (start->hosts > 1)
			snprintf(ret.text + strlen(ret.text), sizeof(ret.text) - strlen(ret.text),
				 ", %lld on each of %lld hosts", (long long)start->ranks,
				 (long long)start->hosts);
	}
	return ret;
}

bool judge_alone(const struct python_judge *judge, const struct observation *s)
{
	const struct python_start *start = judge->start;
	struct counted counted;
	bool only;
	const struct observation *spawn = spawn_of(judge, s, &only);

	if (spawn)
		return only && judge_compute(judge, spawn->size, false, &counted) && !counted.may &&
		       counted.number == 1;
	return start && (start->alone || start->ranks == 1);
}

/* --- how many are waited for ----------------------------------------------------------------- */

static const char *of_option(struct quoted *ret, const struct counted *awaited)
{
	if (!awaited->option.text)
		return "";
	return format_text(ret, " (%.60s%s)", QUOTE(awaited->option),
			   awaited->may ? " by its default" : "");
}

static void report_count(const struct python_judge *judge, const struct observation *s,
			 const struct counted *awaited, const struct starter *starter,
			 const char *what)
{
	bool may = awaited->may || starter->counted.may;
	struct quoted option;

	judge_report(judge, s, may ? FINDING_MAY_WAIT : FINDING_WAITS, "R1",
		     starter->spawn ? "make world_size the number of processes that are started"
				    : "leave out world_size, rank and WORLD_SIZE: the launcher "
				      "sets them; or start as many ranks",
		     "%s is %lld%s, and %s: %s%s", what, (long long)awaited->number,
		     of_option(&option, awaited), starter->text, may ? "then " : "",
		     awaited->number > starter->count ? "they wait for the others for ever"
						      : "the group has no place for the others");
}

/* The variable of another launcher than this one may be set by hand. */
static bool is_sure_local_rank(const struct python_judge *judge, const struct python_value *v)
{
	bool slurm = v->text.text && span_is(v->text, "SLURM_LOCALID") &&
		     streq(judge->start->launcher, "srun");

	return v->meaning == MEANS_LOCAL_RANK && (!v->unsure || slurm);
}

/* The local rank as rank: on each host the same numbers. */
static bool is_local_rank(const struct python_judge *judge, const struct observation *s)
{
	const struct python_value *v =
		s->ranked.text ? names_get(&judge->file->names, s->ranked, s->function) : NULL;

	v = !v && s->ranked.text ? names_get(&judge->file->names, s->ranked, 0) : v;
	return is_sure_local_rank(judge, &s->value) ||
	       (v && !v->varies && is_sure_local_rank(judge, v));
}

static void report_local_rank(const struct python_judge *judge, const struct observation *s)
{
	judge_report(judge, s, FINDING_LOCAL_AS_RANK, "R4",
		     "leave out rank and world_size: init_process_group reads RANK and WORLD_SIZE",
		     "rank is the local rank, and %s starts ranks on %lld hosts: on each host they "
		     "have the same numbers",
		     judge_starter(judge), (long long)judge->start->hosts);
}

/* --- where they meet ---------------------------------------------------------------------- */

/* Ranks that the program starts itself have no launcher to set these variables. */
static void judge_meeting(const struct python_judge *judge, const struct observation *s,
			  const struct starter *starter)
{
	const char *name = judge->file->training.unset;

	if (!starter->spawn || starter->spawn->may || starter->spawn->otherwise ||
	    python_launched(judge) || s->elsewhere || !name ||
	    (judge->start && judge->start->meeting))
		return;
	judge_report(judge, s, FINDING_NO_MEETING, "R1",
		     "os.environ.setdefault(\"MASTER_ADDR\", \"127.0.0.1\") and "
		     "os.environ.setdefault(\"MASTER_PORT\", \"29500\") before it",
		     "nothing in this file sets %s, where the ranks of line %d meet: without it in "
		     "the environment they fail",
		     name, starter->spawn->line);
}

bool judge_gives_rank(const struct python_value *v, const struct observation *spawn)
{
	if (v->meaning != MEANS_UNKNOWN || v->number <= 0 || v->varies)
		return false;
	if (spawn->kind == OBSERVED_SPAWN)
		return v->number == 1;
	return (size_t)v->number <= spawn->given_count && spawn->given[v->number - 1] &&
	       spawn->given[v->number - 1]->kind == COUNT_NAME && spawn->ranked.text &&
	       span_same(spawn->given[v->number - 1]->name, spawn->ranked);
}

/* Whether the rank is a parameter, such as the number that spawn gives: a computed rank may be one
 * of several hosts. */
static bool is_parameter(const struct python_judge *judge, const struct observation *s,
			 const struct observation *spawn)
{
	const struct python_value *v =
		s->ranked.text ? names_get(&judge->file->names, s->ranked, s->function) : NULL;

	return v && judge_gives_rank(v, spawn);
}

/* Whether each host may have a group of its own, which meets there. */
static bool is_of_host(const struct python_judge *judge, const struct observation *s)
{
	struct counted size;

	return s->elsewhere &&
	       !(judge_compute(judge, s->size, false, &size) && size.number > judge->start->ranks);
}

/* Whether as many ranks start as the group waits for, and where they meet. */
void judge_ranks(const struct python_judge *judge, const struct observation *s)
{
	struct starter starter;
	struct counted awaited;

	if (judge->file->facts.tests || judge->file->facts.ray || s->may || s->otherwise ||
	    s->guarded || !functions_run(judge->file, s, true))
		return;
	starter = starter_of(judge, s);
	judge_meeting(judge, s, &starter);
	if (!starter.spawn && is_launched(judge) && judge->start->hosts > 1 &&
	    is_local_rank(judge, s) && !is_of_host(judge, s)) {
		report_local_rank(judge, s);
		return;
	}
	if (s->own || (starter.spawn && !is_parameter(judge, s, starter.spawn)))
		return;
	if (starter.count > 0 && judge_compute(judge, s->size, false, &awaited) &&
	    awaited.number != starter.count)
		report_count(judge, s, &awaited, &starter, "world_size");
}

/* --- variables in code ------------------------------------------------------------------- */

static bool judge_size(const struct python_judge *judge, const struct observation *s)
{
	struct starter starter = starter_of(judge, s);
	struct counted awaited;

	if (!is_launched(judge) || starter.spawn || starter.count < 0 ||
	    !judge_compute(judge, s->size, false, &awaited) || awaited.number == starter.count)
		return false;
	report_count(judge, s, &awaited, &starter, "WORLD_SIZE in code");
	return true;
}

/* torchrun listens at a port, and its ranks do not: at another one nobody does. */
static bool judge_port(const struct python_judge *judge, const struct observation *s)
{
	const struct python_start *start = judge->start;
	int64_t port = span_number(s->value.text, 65535);
	bool torch = streq(start->launcher, "torchrun") || streq(start->launcher, "launch");
	bool older = start->port_by_default && port == start->port;
	const char *listens;

	if (!torch || start->port < 0 || port <= 0 || (port == start->port && !older))
		return false;
	listens = older ? "there in PyTorch before 2.15 alone, later at a free port"
		  : start->port && !start->port_by_default
			  ? FORMAT("at %lld", (long long)start->port)
			  : "at a port of its own";
	judge_report(judge, s, older ? FINDING_MAY_NOT_MEET : FINDING_OTHER_PORT, "R1",
		     "remove the line, because the launcher sets MASTER_PORT; or use "
		     "os.environ.setdefault",
		     "MASTER_PORT is %lld in code, and %s listens %s: %s", (long long)port,
		     judge_starter(judge), listens,
		     older ? "then the ranks wait for ever" : "the ranks wait for ever");
	return true;
}

void judge_copies(const struct python_judge *judge, const struct observation *s)
{
	const struct python_facts *facts = &judge->file->facts;

	if (!is_launched(judge) || judge->start->ranks * judge->start->hosts < 2 ||
	    facts->distributed || facts->tests || facts->frameworks || s->otherwise ||
	    (s->ids && s->id_count == 1))
		return;
	judge_report(judge, s, FINDING_COPIES, "G1",
		     "start it once: python3 FILE, or gpumap run --mode dp; or use "
		     "DistributedDataParallel",
		     "DataParallel is one process that uses all of its GPUs, and %s starts %lld of "
		     "it: each trains the whole model by itself",
		     judge_starter(judge), (long long)(judge->start->ranks * judge->start->hosts));
}

/* Whether a group that reads the variable is made later, and it has this value then. */
static bool is_used(const struct python_file *f, const struct observation *s)
{
	bool used = false;

	for (size_t i = 0; i < f->count; i++) {
		const struct observation *o = &f->observations[i];
		bool group = o->kind == OBSERVED_GROUP && !o->elsewhere;

		if (o->kind == OBSERVED_VARIABLE && o->line > s->line &&
		    o->function == s->function && span_same(o->name, s->name))
			return false;
		if (group && o->function == s->function)
			used |= o->line > s->line;
		else if (group && !s->function)
			used |= functions_first_call(f, o->function) > s->line;
	}
	return used;
}

bool judge_launch(const struct python_judge *judge, const struct observation *s)
{
	bool literal = s->value.meaning == MEANS_TEXT || s->value.meaning == MEANS_NUMBER;

	if (!python_launched(judge) || s->may || s->guarded ||
	    !functions_run(judge->file, s, false) || !is_used(judge->file, s))
		return false;
	if (span_is(s->name, "WORLD_SIZE"))
		return judge_size(judge, s);
	return literal && span_is(s->name, "MASTER_PORT") && judge_port(judge, s);
}
