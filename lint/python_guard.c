/* SPDX-License-Identifier: MIT */
/* Which places of a program every rank executes. What is not understood may be for some ranks. */
#include "lint/python_file.h"

enum { MAX_DEPTH = 6 /* calls inside of each other */ };

bool guard_names_rank(struct span name)
{
	return span_has_any(name,
			    "rank main_proc is_main master world local gpu dev node host proc pid "
			    "uuid chief dist ddp shard part worker writer log id leader");
}

/* Whether a name of a condition is the same in every rank: of counters, results and settings. */
static bool is_common(const struct python_file *f, unsigned at)
{
	struct span name = token_at(f, at)->text, chain;

	if (span_is_any(name, "and or not is in None True False len range int float i n args opt "
			      "self cfg config min max"))
		return true;
	if (guard_names_rank(name) || span_starts(name, "is_") || span_is(name, "save_best"))
		return false;
	python_chain(f, objects_head(f, at), &chain);
	return span_starts_any(chain, "args. opt. opts. cfg. config.") ||
	       span_has_any(name, "epoch step iter batch best acc loss score metric freq interval "
				  "every total num improv __name__") ||
	       span_is(chain, "torch") || span_starts(chain, "torch.cuda.is_available");
}

bool guard_selects(const struct python_file *f, unsigned past)
{
	bool handler = token_is(token_at(f, 0), "except");

	for (unsigned i = 1; f->training.saves && i < past; i++)
		if (token_at(f, i)->kind == PYTHON_NAME && !is_common(f, i))
			return true;
	return handler;
}

bool guard_condition(const struct python_file *f)
{
	unsigned first = 0;

	/* The head of a block is known by its block: if __name__ == "__main__": main() */
	if (token_is(token_at(f, 0), "if") || token_is(token_at(f, 0), "elif") ||
	    token_is(token_at(f, 0), "while"))
		while (first < f->text.count && !token_is(token_at(f, first), ":"))
			first = token_at(f, first)->past;
	return python_find(f, first, f->text.count, "and or if") < f->text.count;
}

bool guard_selected(const struct python_file *f)
{
	return f->blocks[f->depth].selected || f->deferred || f->chosen;
}

/* --- who calls a function ----------------------------------------------------------------- */

/* The scope in which the functions of this file are names. */
enum { DEFINED = -4 };

void guard_mention(struct python_file *f, unsigned at, bool spawned)
{
	struct python_training *t = &f->training;

	if (at && (token_is(token_at(f, at - 1), "def") || token_is(token_at(f, at - 1), "class")))
		return;
	t->crowded = t->mention_count == MAX_MENTIONS;
	if (t->crowded)
		return;
	*ARENA_NEXT(&f->arena, t->mentions, t->mention_count, t->mention_room) =
		(struct python_mention){
			.name = token_at(f, at)->text,
			.function = block_now(f)->function,
			.selected = guard_selected(f),
			.method = at && token_is(token_at(f, at - 1), "."),
			.own = at > 1 && token_is(token_at(f, at - 2), "self"),
			.spawned = spawned,
		};
}

/* A decorator may choose who executes the function. */
bool guard_is_harmless(const struct python_file *f)
{
	return python_find(f, 1, f->text.count,
			   "record no_grad inference_mode main command option argument group "
			   "pass_context staticmethod compile cache lru_cache wraps contextmanager "
			   "profile") < f->text.count;
}

void guard_define(struct python_file *f, struct span name, bool member)
{
	struct python_training *t = &f->training;
	size_t number = (size_t)f->functions;

	/* Functions without a name may be before it. */
	while (t->reach_count < number) {
		*ARENA_NEXT(&f->arena, t->reached, t->reach_count, t->reach_room) =
			(struct python_reach){.blocked = true};
	}
	if (!number)
		return;
	t->reached[number - 1] =
		(struct python_reach){.member = member, .blocked = f->own.list[number - 1].wrapped};
	/* Of functions by one name, any may be called. */
	names_set(&f->names, name, DEFINED,
		  (struct python_value){
			  .meaning = MEANS_NUMBER,
			  .number = names_get(&f->names, name, DEFINED) ? -1 : (int64_t)number});
}

/* The function that is called; NULL: it is elsewhere, or not certain. */
static struct python_reach *called(struct python_file *f, const struct python_mention *m)
{
	const struct python_value *v = names_get(&f->names, m->name, DEFINED);
	struct python_reach *r = v && v->number > 0 ? &f->training.reached[v->number - 1] : NULL;

	return r && r->member == m->method ? r : NULL;
}

/* Whether all ranks execute the function. Ranks that the program starts itself do not execute the
 * file. */
static bool is_reached(const struct python_file *f, int function)
{
	const struct python_training *t = &f->training;

	if (!function)
		return !f->facts.spawns_ranks;
	return (size_t)function <= t->reach_count && t->reached[function - 1].reached;
}

void guard_find_reached(struct python_file *f)
{
	struct python_training *t = &f->training;

	for (size_t i = 0; i < t->mention_count; i++) {
		const struct python_mention *m = &t->mentions[i];
		struct python_reach *r = called(f, m);

		if (!r)
			continue;
		r->blocked |= m->selected || t->crowded;
		r->loose |= m->method && !m->own;
	}
	for (int depth = 0; depth < MAX_DEPTH; depth++)
		for (size_t i = 0; i < t->mention_count; i++) {
			const struct python_mention *m = &t->mentions[i];
			struct python_reach *r = called(f, m);

			if (r && !r->blocked)
				r->reached |= m->spawned || is_reached(f, m->function);
		}
}

bool guard_reached(const struct python_file *f, int function)
{
	/* An object's method by that name may be another one. */
	return is_reached(f, function) && (!function || !f->training.reached[function - 1].loose);
}
