/* SPDX-License-Identifier: MIT */
/* Which functions of a file use CUDA, by themselves or through functions that they call. */
#include "lint/python_file.h"

/* The scope in which the functions of this file are names. Functions of one name are one. */
enum { CALLED = -2 };

enum { MAX_DEPTH = 6 /* calls inside of each other */ };

static void add_use(struct python_file *f, struct span called)
{
	struct python_functions *all = &f->own;
	int function = block_now(f)->function;
	struct python_use *grown;

	/* What the file does itself is judged without them. */
	if (!function)
		return;
	grown = arena_room(&f->arena, all->uses, all->use_count, &all->use_room, sizeof(*grown));
	if (!grown)
		return;
	all->uses = grown;
	grown[all->use_count++] = (struct python_use){.function = function, .called = called};
}

void functions_use_cuda(struct python_file *f)
{
	add_use(f, (struct span){NULL, 0});
}

void functions_call(struct python_file *f, unsigned at)
{
	bool attribute = at && token_is(token_at(f, at - 1), ".");
	bool own = at > 1 && token_is(token_at(f, at - 2), "self");
	bool head = at && (token_is(token_at(f, at - 1), "def") ||
			   token_is(token_at(f, at - 1), "class"));

	if (!head && (!attribute || own) && is_at(f, at + 1, f->text.count, "("))
		add_use(f, token_at(f, at)->text);
}

/* The number of the function that has its name first; 0: the file has no such function. */
static int number_of(const struct python_file *f, struct span name)
{
	const struct python_value *v = names_get(&f->names, name, CALLED);

	return v ? (int)v->number : 0;
}

void functions_define(struct python_file *f, struct span name, int number)
{
	struct python_functions *all = &f->own;
	struct python_function *grown =
		arena_room(&f->arena, all->list, (size_t)number - 1, &all->room, sizeof(*grown));
	int first = number_of(f, name);

	if (!grown)
		return;
	all->list = grown;
	grown[number - 1] =
		(struct python_function){.name = name, .number = first ? first : number};
	if (!first)
		names_set(&f->names, name, CALLED,
			  (struct python_value){.meaning = MEANS_NUMBER, .number = number});
}

void functions_find_uses(struct python_file *f)
{
	struct python_functions *all = &f->own;

	for (size_t i = 0; i < all->use_count; i++) {
		struct python_use *use = &all->uses[i];

		use->number = use->called.text ? number_of(f, use->called) : 0;
		if (!use->called.text)
			all->list[use->function - 1].itself = i + 1;
	}
	for (int depth = 0; depth < MAX_DEPTH; depth++)
		for (size_t i = 0; i < all->use_count; i++) {
			const struct python_use *use = &all->uses[i];
			struct python_function *by = &all->list[use->function - 1];

			if (use->number && all->list[use->number - 1].cuda)
				by->through = i + 1;
			if (by->itself || by->through)
				all->list[by->number - 1].cuda = true;
		}
}

bool functions_named(const struct python_file *f, const struct observation *s)
{
	struct span text = f->text.text, name;
	size_t times = 0;

	if (!s->function || s->member)
		return true;
	name = f->own.list[s->function - 1].name;
	for (const char *at;
	     times < 2 && (at = memmem(text.text, text.length, name.text, name.length));) {
		const char *past = at + name.length, *end = text.text + text.length;

		times += !(at > f->text.text.text && python_in_name(at[-1])) &&
			 !(past < end && python_in_name(*past));
		text = (struct span){past, (size_t)(end - past)};
	}
	return times > 1;
}

static bool calls(const struct python_file *f, int from, int to, int depth)
{
	const struct python_functions *all = &f->own;

	if (from == to || !from)
		return from == to;
	for (size_t i = 0; depth < MAX_DEPTH && i < all->use_count; i++)
		if (all->uses[i].called.text &&
		    all->list[all->uses[i].function - 1].number == from &&
		    all->uses[i].number != from && calls(f, all->uses[i].number, to, depth + 1))
			return true;
	return false;
}

bool functions_is(const struct python_file *f, struct span name, int number)
{
	return number && number_of(f, name) == f->own.list[number - 1].number;
}

bool functions_reach(const struct python_file *f, struct span name, int number)
{
	return number && number_of(f, name) &&
	       calls(f, number_of(f, name), f->own.list[number - 1].number, 0);
}

enum python_uses functions_uses_after(const struct python_file *f, const struct observation *s)
{
	const struct python_function *by = &f->own.list[s->function - 1];

	if (by->itself > s->uses)
		return USES_ITSELF;
	return by->through > s->uses ? USES_THROUGH : USES_NOTHING;
}
