/* SPDX-License-Identifier: MIT */
/*
 * A program that reads LOCAL_RANK, which torchrun and gpumap set, under a launcher that does not:
 * it fails, or every rank takes the default.
 */
#include "lint/python_file.h"

/* Variables that only one launcher sets: who reads them knows it. */
void launched_name(struct python_file *f, struct span name)
{
	struct python_training *t = &f->training;

	if (name.length < 4 || !strchr("SOPMH", *name.text))
		return;
	t->slurm |= span_starts(name, "SLURM_");
	t->mpi |= span_starts_any(name, "OMPI_ PMI MV2_ MPI_LOCAL HOROVOD_");
}

/* Whether code around it has looked whether a launcher set its variables, or expects that it did
 * not. */
static bool is_expected(const struct python_file *f)
{
	for (int i = f->depth; i >= 0; i--)
		if (f->blocks[i].tested.launcher || f->blocks[i].attempt)
			return true;
	return false;
}

void launched_read(struct python_file *f, unsigned at, unsigned name, bool required)
{
	struct span text = token_at(f, name)->text;
	struct observation *s;

	if (token_at(f, name)->kind != PYTHON_STRING || is_expected(f) ||
	    !(span_is(text, "LOCAL_RANK") || (required && span_is(text, "RANK"))))
		return;
	s = observation_add(f, OBSERVED_READ, token_at(f, at));
	s->name = text;
	s->verb = required ? OBSERVED_SETS : OBSERVED_DEFAULTS;
	s->may |= f->deferred;
}

void launched_get(struct python_file *f, unsigned at, unsigned open, struct python_argument name)
{
	struct python_argument fallback;
	unsigned next = name.past + 1;
	size_t count = f->count;
	bool number = at > 1 && token_is(token_at(f, at - 1), "(") &&
		      token_is(token_at(f, at - 2), "int");

	if (python_argument(f, open, &next, &fallback)) {
		launched_read(f, at, name.first, false);
		return;
	}
	/* Without a default it is None, which code may look for, but int() does not take. */
	if (!number)
		return;
	launched_read(f, at, name.first, true);
	if (f->count > count)
		f->observations[count].value.meaning = MEANS_NONE;
}

/* The launcher that does not set the variable; NULL: not known, or it does. */
static const char *launcher_without(const struct python_judge *judge)
{
	const char *launcher = judge->start ? judge->start->launcher : NULL;

	/* It starts its processes by mpirun, or as mpirun does. */
	if (judge->file->training.horovod && (!launcher || streq(launcher, "mpirun")))
		return "Horovod";
	return launcher && span_is_any(span_of(launcher), "srun mpirun") ? launcher : NULL;
}

/* Whether the program may set LOCAL_RANK itself, or does without it. */
static bool is_handled(const struct python_judge *judge, bool slurm)
{
	const struct python_file *f = judge->file;
	const struct python_training *t = &f->training;

	return (slurm ? t->slurm : t->mpi) || t->handles || f->facts.tests || f->facts.ray ||
	       (t->horovod ? f->facts.groups : f->facts.frameworks) ||
	       observation_sets(f, "LOCAL_RANK RANK", false);
}

/* The first read of this kind is reported. */
static bool is_first(const struct python_file *f, const struct observation *s)
{
	for (const struct observation *o = f->observations; o < s; o++)
		if (o->kind == s->kind && o->verb == s->verb && !o->may && !o->otherwise)
			return false;
	return true;
}

/* Whether the file is started, and not only imported. */
static bool is_program(const struct python_file *f)
{
	return f->training.program || span_has(f->text.text, "__main__");
}

/* Whether every rank certainly comes to the read in this program. */
static bool is_certain(const struct python_judge *judge, const struct observation *s)
{
	const struct python_start *start = judge->start;

	return !s->may && !s->otherwise && !s->patched && !(start && start->ranked) &&
	       (!s->function || is_program(judge->file)) && is_first(judge->file, s);
}

/* What to write instead. */
static const char *launched_fix(const struct python_judge *judge, const struct observation *s,
				const char *launcher, struct quoted *ret)
{
	bool global = span_is(s->name, "RANK"), slurm = streq(launcher, "srun");

	if (judge->file->training.horovod)
		return format_text(ret, "use hvd.%s(), after hvd.init()",
				   global ? "rank" : "local_rank");
	return format_text(ret, "use %.120s; or start it by %.20s gpumap exec -- python3 FILE",
			   global && slurm ? "int(os.environ[\"SLURM_PROCID\"])"
			   : global        ? "int(os.environ[\"OMPI_COMM_WORLD_RANK\"])"
					   : FIX_LOCAL_RANK(judge, s->name),
			   launcher);
}

void judge_read(const struct python_judge *judge, const struct observation *s)
{
	const char *launcher = launcher_without(judge);
	const struct python_start *start = judge->start;
	/* Who names a launcher for the file means several ranks. */
	bool several = !start || !start->launcher || start->ranks > 1 ||
		       (start->ranks < 0 && !start->from);
	const char *fix;
	struct quoted room;

	if (!launcher || !is_certain(judge, s) || is_handled(judge, streq(launcher, "srun")))
		return;
	fix = launched_fix(judge, s, launcher, &room);
	if (s->verb == OBSERVED_SETS)
		judge_report(
			judge, s, FINDING_OTHER_LAUNCHER, "R1", fix,
			"%s does not set %.*s: reading it %s %s", launcher, (int)s->name.length,
			s->name.text, s->function ? "may raise" : "raises",
			s->value.meaning == MEANS_NONE ? "TypeError, because int() takes no None"
						       : "KeyError");
	else if (several && judge->file->training.picks_local)
		judge_report(judge, s, FINDING_OTHER_LAUNCHER, "R1", fix,
			     "%s does not set LOCAL_RANK: every rank takes the default, so all may "
			     "use cuda:0",
			     launcher);
}

void judge_choice_by_rank(const struct python_judge *judge, const struct observation *s)
{
	if (!judge->file->facts.tests && !judge->file->facts.spawns_ranks &&
	    observation_first(judge->file, s->kind) == s)
		judge_rank_device(judge, s);
}
