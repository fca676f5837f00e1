/* SPDX-License-Identifier: MIT */
/* What the names of a program stand for, if that is certain where they are used. */
#include "lint/python_file.h"

unsigned objects_head(const struct python_file *f, unsigned at)
{
	while (at > 1 && token_is(token_at(f, at - 1), ".") &&
	       token_at(f, at - 2)->kind == PYTHON_NAME)
		at -= 2;
	return at;
}

/* The innermost branch that may not be executed, in the current function. */
static int branch_now(const struct python_file *f)
{
	const struct python_block *now = &f->blocks[f->depth];

	for (int i = f->depth; i > 0 && f->blocks[i].function == now->function; i--)
		if (f->blocks[i].branch && f->blocks[i].may)
			return f->blocks[i].number;
	return 0;
}

/* Whether the branch is one of those around the current statement. */
static bool is_inside(const struct python_file *f, int branch)
{
	for (int i = f->depth; branch && i > 0; i--)
		if (f->blocks[i].number == branch)
			return true;
	return !branch;
}

static struct python_object *find(const struct python_file *f, struct span name)
{
	const struct python_training *t = &f->training;
	int function = f->blocks[f->depth].function;

	for (size_t i = t->object_count; name.text && i > 0; i--)
		if (t->objects[i - 1].function == function &&
		    span_same(t->objects[i - 1].name, name))
			return &t->objects[i - 1];
	return NULL;
}

struct python_object *objects_find(const struct python_file *f, struct span name)
{
	struct python_object *o = find(f, name);

	return o && o->kind != OBJECT_NOTHING && is_inside(f, o->branch) ? o : NULL;
}

void objects_put(struct python_file *f, struct span name, struct python_object o)
{
	struct python_training *t = &f->training;
	struct python_object *known = find(f, name);

	if (!known && (o.kind == OBJECT_NOTHING || t->object_count == MAX_OBJECTS))
		return;
	o.name = name;
	o.function = block_now(f)->function;
	o.branch = branch_now(f);
	if (known) {
		*known = o;
		return;
	}
	*ARENA_NEXT(&f->arena, t->objects, t->object_count, t->object_room) = o;
}

bool objects_around(const struct python_file *f, unsigned at, unsigned *open, char *called)
{
	struct span chain;

	*called = '\0';
	for (unsigned i = at; i > 0 && at - i < MAX_VALUE; i--) {
		if (token_at(f, i - 1)->kind != PYTHON_SIGN || token_at(f, i - 1)->past <= at)
			continue;
		*open = i - 1;
		if (*open && token_at(f, *open - 1)->kind == PYTHON_NAME) {
			python_chain(f, objects_head(f, *open - 1), &chain);
			python_path(f, chain, called);
		}
		return true;
	}
	return false;
}
