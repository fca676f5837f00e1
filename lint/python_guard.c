/* SPDX-License-Identifier: MIT */
/* Which places of a program every rank executes. What is not understood may be for some ranks. */
#include "lint/python_file.h"

enum { MAX_DEPTH = 6 /* calls inside of each other */, MAX_CALLS = 4096 };

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
	for (unsigned i = 1; f->training.saves && i < past; i++)
		if (token_at(f, i)->kind == PYTHON_NAME && !is_common(f, i))
			return true;
	return token_is(token_at(f, 0), "except");
}

bool guard_condition(const struct python_file *f)
{
	unsigned first = 0;

	/* The head of a block is known by its block: if __name__ == "__main__": main() */
	if (token_is_any(token_at(f, 0), "if elif while"))
		first = python_find_beside(f, 0, f->text.count, ":");
	return python_find(f, first, f->text.count, "and or if") < f->text.count;
}

/* A decorator may choose who executes the function. */
bool guard_is_harmless(const struct python_file *f)
{
	return python_find(f, 1, f->text.count,
			   "record no_grad inference_mode main command option argument group "
			   "pass_context staticmethod compile cache lru_cache wraps contextmanager "
			   "profile") < f->text.count;
}

/* --- who calls a function ----------------------------------------------------------------- */

/* The function that is called; NULL: it is elsewhere, or not certain. */
static struct python_function *called(const struct python_file *f, const struct python_called *c)
{
	int number = c->name.text ? functions_number(f, c->name) : 0;
	struct python_function *to = number ? &f->own.list[number - 1] : NULL;

	return to && !to->again && to->member == c->method ? to : NULL;
}

/* Whether all ranks execute the function. Ranks that the program starts itself do not execute the
 * file. */
static bool is_reached(const struct python_file *f, int function)
{
	return function ? f->own.list[function - 1].reached : !f->facts.spawns_ranks;
}

void guard_find_reached(struct python_file *f)
{
	const struct python_functions *all = &f->own;
	size_t count = 0;

	if (!f->training.saves)
		return;
	for (size_t i = 0; i < all->call_count; i++)
		count += all->calls[i].name.text != NULL;
	for (size_t i = 0; i < all->call_count; i++) {
		const struct python_called *c = &all->calls[i];
		struct python_function *to = called(f, c);

		if (!to)
			continue;
		to->blocked |= c->selected || to->wrapped || count > MAX_CALLS;
		to->loose |= c->method && !c->own;
	}
	for (int depth = 0; depth < MAX_DEPTH; depth++)
		for (size_t i = 0; i < all->call_count; i++) {
			const struct python_called *c = &all->calls[i];
			struct python_function *to = called(f, c);

			if (to && !to->blocked)
				to->reached |= c->spawned || is_reached(f, c->function);
		}
}

bool guard_reached(const struct python_file *f, int function)
{
	/* An object's method by that name may be another one. */
	return is_reached(f, function) && (!function || !f->own.list[function - 1].loose);
}
