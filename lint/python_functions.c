/* SPDX-License-Identifier: MIT */
/* Which functions of a file use CUDA, by themselves or through functions that they call. */
#include "lint/python_file.h"

#include "memory.h"

/* The scope in which the functions of this file are names. Functions of one name are one. */
enum { CALLED = -2 };

enum { MAX_DEPTH = 6 /* calls inside of each other */ };

static void add_call(struct python_file *f, struct python_called call)
{
	struct python_functions *all = &f->own;

	call.function = block_now(f)->function;
	call.line = f->text.tokens->line;
	*ARENA_NEXT(&f->arena, all->calls, all->call_count, all->call_room) = call;
}

void functions_use_cuda(struct python_file *f)
{
	/* What the file does itself is judged without them. */
	if (block_now(f)->function)
		add_call(f, (struct python_called){.name = NO_SPAN});
}

int functions_number(const struct python_file *f, struct span name)
{
	const struct python_value *v = names_get(&f->names, name, CALLED);

	return v ? (int)v->number : 0;
}

/* Whether it is certain which function is called. */
static bool is_plain(const struct python_called *call)
{
	return call->name.text && !call->spawned && (!call->method || call->own);
}

void functions_call(struct python_file *f, unsigned at, bool spawned)
{
	struct python_called call = {
		.name = token_at(f, at)->text,
		.may = block_now(f)->may || f->conditional || f->deferred,
		.selected = guard_selected(f),
		.method = at && token_is(token_at(f, at - 1), "."),
		.own = at > 1 && token_is(token_at(f, at - 2), "self"),
		.spawned = spawned,
	};
	int number;

	if ((!spawned && !is_at(f, at + 1, f->text.count, "(")) ||
	    (at && token_is_any(token_at(f, at - 1), "def class")) ||
	    (!is_plain(&call) && !f->training.saves))
		return;
	number = functions_number(f, call.name);
	for (int i = f->depth; i >= 0; i--)
		call.may |= f->blocks[i].cut || f->blocks[i].caught || f->blocks[i].ended;
	add_call(f, call);
	f->ends |= is_plain(&call) && number && f->own.list[number - 1].ends;
}

void functions_define(struct python_file *f, struct span name, int number)
{
	struct python_functions *all = &f->own;
	const struct python_block *b = block_now(f);
	int first = functions_number(f, name);

	all->list = arena_room(&f->arena, all->list, (size_t)number - 1, &all->room,
			       sizeof(*all->list));
	all->list[number - 1] = (struct python_function){
		.number = first ? first : number,
		.several = first || b->function || b->may || b->repeated || b->member,
		.member = b->member,
		.wrapped = f->wrapped,
	};
	f->wrapped = false;
	if (first)
		all->list[first - 1].several = all->list[first - 1].again = true;
	else
		names_set(&f->names, name, CALLED,
			  (struct python_value){.meaning = MEANS_NUMBER, .number = number});
}

void functions_find_uses(struct python_file *f)
{
	struct python_functions *all = &f->own;

	for (size_t i = 0; i < all->call_count; i++) {
		struct python_called *c = &all->calls[i];

		c->number = is_plain(c) ? functions_number(f, c->name) : 0;
		if (!c->name.text)
			all->list[c->function - 1].itself = i + 1;
	}
	for (int depth = 0; depth < MAX_DEPTH; depth++)
		for (size_t i = 0; i < all->call_count; i++) {
			const struct python_called *c = &all->calls[i];
			struct python_function *by =
				c->function ? &all->list[c->function - 1] : NULL;

			if (!by)
				continue;
			if (c->number && all->list[c->number - 1].cuda)
				by->through = i + 1;
			if (by->itself || by->through)
				all->list[by->number - 1].cuda = true;
		}
}

/* The first function with the name of this one; NULL for 0, the file. */
static struct python_function *first_named(const struct python_file *f, int number)
{
	return number ? &f->own.list[f->own.list[number - 1].number - 1] : NULL;
}

/* What the processes execute that a place starts for certain. */
static void run_spawned(struct python_file *f)
{
	struct python_functions *all = &f->own;

	for (size_t i = 0; i < f->count; i++) {
		const struct observation *s = &f->observations[i];
		int number = observation_starts(s) ? functions_number(f, s->target) : 0;

		if (number && !s->may && !s->otherwise && !s->doubtful && !s->member &&
		    (!s->function || all->list[s->function - 1].spawned))
			all->list[number - 1].spawned = true;
	}
}

/* A line of the file itself, or the first of a function that calls this one. */
static void call_at(struct python_function *to, int line)
{
	if (line && (!to->first_call || line < to->first_call))
		to->first_call = line;
}

void functions_find_runs(struct python_file *f)
{
	struct python_functions *all = &f->own;

	for (int depth = 0; depth < MAX_DEPTH; depth++)
		for (size_t i = 0; i < all->call_count; i++) {
			const struct python_called *c = &all->calls[i];
			int by = c->function;

			if (c->number)
				call_at(&all->list[c->number - 1],
					by ? functions_first_call(f, by) : c->line);
		}
	for (size_t i = 0; i < all->call_count; i++) {
		int number = all->calls[i].number;

		if (number && all->calls[i].may)
			all->list[number - 1].may_be_called = true;
		else if (number)
			all->list[number - 1].called = true;
	}
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		for (size_t i = 0; i < all->call_count; i++) {
			const struct python_called *c = &all->calls[i];
			int number = c->may ? 0 : c->number;
			struct python_function *to = number ? &all->list[number - 1] : NULL;
			const struct python_function *by = first_named(f, c->function);

			if (!to || to->wrapped)
				continue;
			to->spawned |= !by || by->run || by->spawned;
			to->run |= !by || by->run;
		}
		run_spawned(f);
	}
}

bool functions_run(const struct python_file *f, const struct observation *s, bool spawned)
{
	const struct python_function *by = first_named(f, s->function);

	return !s->member && !s->doubtful && (!by || (spawned ? by->spawned : by->run));
}

bool functions_certain(const struct python_file *f, int number)
{
	return !number || (f->own.list[number - 1].run && !f->own.list[number - 1].several);
}

bool functions_conditional(const struct python_file *f, const struct observation *s)
{
	const struct python_function *by = first_named(f, s->function);

	return by && by->may_be_called && !by->called;
}

bool functions_called(const struct python_file *f, struct span name)
{
	int number = functions_number(f, name);

	return number && (f->own.list[number - 1].called || f->own.list[number - 1].may_be_called);
}

/* The functions that function `from` is or calls; `back`: those that are it or call it. The caller
 * frees them. NULL: `from` is 0. */
static bool *reached(const struct python_file *f, int from, bool back)
{
	const struct python_functions *all = &f->own;
	bool *seen = from ? xcalloc((size_t)f->functions + 1, sizeof(*seen)) : NULL, more = seen;

	if (seen)
		seen[all->list[from - 1].number] = true;
	for (int depth = 0; depth < MAX_DEPTH && more; depth++) {
		more = false;
		for (size_t i = 0; i < all->call_count; i++) {
			const struct python_called *c = &all->calls[i];
			int by = c->function ? all->list[c->function - 1].number : 0;
			int to = c->number;

			if (!to || !by || seen[back ? by : to] || !seen[back ? to : by])
				continue;
			seen[back ? by : to] = more = true;
		}
	}
	return seen;
}

bool functions_called_beside(const struct python_file *f, struct span from, int number)
{
	const struct python_functions *all = &f->own;
	CLEANUP_FREE bool *callers = reached(f, number, true);
	CLEANUP_FREE bool *inside = reached(f, functions_number(f, from), false);
	bool beside = false;

	for (size_t i = 0; callers && i < all->call_count && !beside; i++) {
		int to = all->calls[i].number, by = all->calls[i].function;

		beside = to && callers[to] && !(by && inside && inside[all->list[by - 1].number]);
	}
	return beside;
}

int functions_first_call(const struct python_file *f, int number)
{
	return first_named(f, number)->first_call;
}

bool functions_is(const struct python_file *f, struct span name, int number)
{
	return number && functions_number(f, name) == f->own.list[number - 1].number;
}

bool functions_reach(const struct python_file *f, struct span name, int number)
{
	CLEANUP_FREE bool *seen = number ? reached(f, functions_number(f, name), false) : NULL;

	return seen && seen[f->own.list[number - 1].number];
}

enum python_uses functions_uses_after(const struct python_file *f, const struct observation *s)
{
	const struct python_function *by = &f->own.list[s->function - 1];

	if (by->itself > s->uses)
		return USES_ITSELF;
	return by->through > s->uses ? USES_THROUGH : USES_NOTHING;
}
