/* SPDX-License-Identifier: MIT */
/* See python.h. */
#include "lint/python.h"

#include "lint/python_file.h"

#include "memory.h"
#include "rootfile.h"

/* Reports that --local_rank is parsed. */
void judge_argument(const struct python_judge *judge, const struct observation *s)
{
	const struct python_start *start = judge->start;
	int passes = start ? start->passes : -1;
	const char *launcher = start && start->launcher ? start->launcher : "the launcher";
	const char *variable = fix_variable(judge, NO_SPAN);
	const char *read_it = FORMAT(
		"read os.environ[\"%s\"], or start it by gpumap run --pass-local-rank", variable);

	if (passes == 1) {
		if (!s->both && span_is(s->name, "--local_rank") && streq(launcher, "launch"))
			judge_report(judge, s, FINDING_LOCAL_RANK_ARGUMENT, NULL,
				     "add_argument(\"--local-rank\", \"--local_rank\", type=int), "
				     "or start it by torchrun and read LOCAL_RANK",
				     "python -m torch.distributed.launch of PyTorch 2 passes "
				     "--local-rank, which this may not take");
		return;
	}
	/* The variable is read too, here or elsewhere in the file. */
	if (s->value.meaning == MEANS_LOCAL_RANK || judge->file->facts.reads_local_rank)
		return;
	/* DeepSpeed's own launcher passes it, even if other launchers start the file too. */
	if (passes < 0 && judge->file->facts.deepspeed)
		return;
	if (!judge->file->facts.reads_argument) {
		if (!python_arguments_elsewhere(judge->file))
			judge_report(judge, s, FINDING_UNREAD_ARGUMENT, NULL,
				     FORMAT("remove it, or read os.environ[\"%s\"]", variable),
				     "%s is declared, and nothing in this file reads it",
				     QUOTE(s->name));
		return;
	}
	if (passes == 0)
		judge_report(
			judge, s, FINDING_LOCAL_RANK_ARGUMENT, NULL, read_it,
			"%s is parsed, but %s does not pass it: it keeps its default in every rank",
			QUOTE(s->name), launcher);
	else
		judge_report(judge, s, FINDING_LOCAL_RANK_ARGUMENT, NULL, read_it,
			     "%s may keep its default in every rank: torchrun, srun and mpirun do "
			     "not pass it",
			     QUOTE(s->name));
}

/* Reports that --local_rank is passed, but may not be parsed. */
void judge_parse(const struct python_judge *judge, const struct observation *s)
{
	const struct python_file *f = judge->file;

	if (!judge->start || judge->start->passes != 1 || f->facts.known_alone ||
	    f->facts.reads_arguments || observation_first(f, OBSERVED_ARGUMENT) ||
	    observation_first(f, OBSERVED_PARSE) != s)
		return;
	judge_report(judge, s, FINDING_LOCAL_RANK_ARGUMENT, NULL,
		     "add_argument(\"--local-rank\", \"--local_rank\", type=int), or start it by "
		     "torchrun",
		     "%s passes the local rank as an argument, which this parser may not take",
		     judge->start->launcher ? judge->start->launcher : "the launcher");
}

/* Whether it starts processes that are ranks: those of spawn, or those that make a group. */
static bool starts_ranks(const struct python_file *f, const struct observation *s)
{
	if (s->kind != OBSERVED_PROCESS || !s->target.text)
		return s->kind == OBSERVED_SPAWN;
	for (size_t i = 0; i < f->count; i++)
		if (f->observations[i].kind == OBSERVED_GROUP &&
		    functions_reach(f, s->target, f->observations[i].function))
			return true;
	return false;
}

/* Whether it runs in every process. A method of a class is a library's, called for other reasons.
 */
static bool spawns_always(const struct python_file *f, const struct observation *s)
{
	return !s->may && !s->otherwise && !s->member && starts_ranks(f, s);
}

/* torch.multiprocessing.spawn() in a program of which a launcher starts every rank. srun and mpirun
 * may start one on each host, and other launchers do so only if an option asks for it. */
void judge_spawn(const struct python_judge *judge, const struct observation *s)
{
	const char *launcher = judge->start ? judge->start->launcher : NULL;

	if (judge->start && judge->start->planned && !functions_run(judge->file, s, false))
		return;
	if (!launcher || judge->start->alone || judge->start->ranks == 1 ||
	    span_is_any(span_of(launcher), "srun mpirun") || !spawns_always(judge->file, s))
		return;
	for (const struct observation *o = judge->file->observations; o < s; o++)
		if (spawns_always(judge->file, o))
			return;
	judge_report(judge, s, judge->start->planned ? FINDING_AGAINST_PLAN : FINDING_NESTED_SPAWN,
		     NULL,
		     judge->start->planned
			     ? "start it once: --ranks 1"
			     : "start it by python3 FILE; or let each rank of the launcher run "
			       "what is spawned, with LOCAL_RANK as its number",
		     "%s starts the ranks of this program, and so does %s: each rank of the "
		     "launcher starts all ranks again",
		     s->kind == OBSERVED_SPAWN ? "spawn" : "Process()", launcher);
}

/* Who judges what; NULL: nobody. */
static judge_observation *const judges[OBSERVED_KINDS] = {
#define OBSERVED(kind, judge) [OBSERVED_##kind] = judge,
#define NOTED(kind)
#include "lint/observations.def"
#undef OBSERVED
#undef NOTED
};

static void judge_file(const struct python_judge *judge)
{
	const struct python_file *f = judge->file;

	for (size_t i = 0; i < f->count; i++) {
		const struct observation *s = &f->observations[i];

		if (judges[s->kind])
			judges[s->kind](judge, s);
	}
	judge_layers(judge);
	if (f->full)
		report_add(judge->report, FINDING_LIMIT, ABOUT(.origin = judge->origin),
			   "more than %d places that could matter: the others are not looked at",
			   MAX_OBSERVATIONS);
	if (f->text.broken)
		report_add(judge->report, FINDING_NOT_PYTHON,
			   ABOUT(.origin = judge->origin, .line = f->text.broken,
				 .fix = "python3 -m py_compile FILE shows what is wrong"),
			   "a string or bracket is not closed: what follows may be misread");
}

/* Scans a file, which close_file() frees. */
static struct python_file *scan_file(struct span text, struct python_choice *choice)
{
	struct python_file *f = xcalloc(1, sizeof(*f));

	python_open(&f->text, text);
	f->choice = choice;
	python_arguments_open(f, text);
	training_begin(f, text);
	python_scan(f);
	return f;
}

static void close_file(struct python_file *f)
{
	python_close(&f->text);
	names_free(&f->names);
	arena_free(&f->arena);
	free(f);
}

enum { MAX_MODULE = 1 << 20, MAX_DEEP = 2 };

/* The file of a module that is beside the file `from`. */
static const char *module_path(struct arena *arena, const char *from, struct span name)
{
	const char *slash = strrchr(from, '/');
	char *path = arena_printf(arena, "%.*s%.*s.py", slash ? (int)(slash + 1 - from) : 0, from,
				  (int)name.length, name.text);

	for (char *c = path + strlen(path) - name.length - 3; c[3]; c++)
		*c = *c == '.' ? '/' : *c;
	return path;
}

/* "helper.py:2", where the import of one of the file's own modules initialises CUDA, in the arena;
 * *import is that one. NULL: none is known to. */
static const char *import_initialises(const struct python_import **import, struct arena *arena,
				      const struct python_file *f, const char *origin, int deep)
{
	const char *where = NULL;

	for (size_t i = 0; i < f->import_count && !where; i++) {
		const char *path = module_path(arena, origin, f->imports[i].name);
		const struct python_import *inner;
		struct python_file *module;
		size_t size = 0;
		CLEANUP_FREE char *text = NULL;

		*import = &f->imports[i];
		if (root_read("", path, MAX_MODULE, &text, &size))
			continue;
		module = scan_file((struct span){text, size}, NULL);
		if (module->blocks[0].initialised.text &&
		    !python_may_count(module->blocks[0].initialised))
			where = arena_printf(arena, "%s:%d", path,
					     module->blocks[0].initialised_line);
		else if (deep < MAX_DEEP)
			where = import_initialises(&inner, arena, module, path, deep + 1);
		close_file(module);
	}
	return where;
}

/* What sets the list or the order, and is not too late by the file itself. */
static bool may_be_late(const struct observation *s)
{
	return s->kind == OBSERVED_VARIABLE && !s->initialised.text &&
	       span_is_any(s->name, "CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER");
}

static void find_late(struct python_file *f, const char *origin)
{
	const struct python_import *import = NULL;
	const char *where = NULL;
	bool any = false;

	for (size_t i = 0; i < f->count; i++)
		any |= may_be_late(&f->observations[i]);
	if (any)
		where = import_initialises(&import, &f->arena, f, origin, 1);
	for (size_t i = 0; where && i < f->count; i++) {
		struct observation *s = &f->observations[i];

		if (!may_be_late(s) || s->line <= import->line)
			continue;
		s->initialised = import->name;
		s->initialised_line = import->line;
		s->imported = where;
	}
	if (where)
		f->facts.own_list = false;
	for (size_t i = 0; where && i < f->count; i++)
		f->facts.own_list |= python_gives_list(&f->observations[i]);
}

void lint_python(struct span text, const char *origin, const struct python_start *start,
		 gpumap_report *report)
{
	struct python_file *f = scan_file(text, NULL);

	find_late(f, origin);
	judge_file(&(struct python_judge){f, start, origin, report});
	close_file(f);
}

struct python_device lint_python_device(struct span text)
{
	CLEANUP_FREE struct python_choice *choice = xcalloc(1, sizeof(*choice));
	struct python_file *f = scan_file(text, choice);
	struct python_device device = choice_answer(f);

	close_file(f);
	return device;
}
