/* SPDX-License-Identifier: MIT */
/* What becomes of the arguments that a program parses: whether code elsewhere may read them. */
#include "lint/python_file.h"

/* The scope in which the functions of this file are names. */
enum { DEFINED = -1 };

void python_arguments_open(struct python_file *f, struct span text)
{
	f->arguments.watched = span_has(text, "add_argument");
}

void python_defined(struct python_file *f, struct span name)
{
	if (f->arguments.watched)
		names_set(&f->names, name, DEFINED, python_unknown);
}

static bool is_parse(const struct python_file *f, unsigned i, unsigned past)
{
	return (is_at(f, i, past, "parse_args") || is_at(f, i, past, "parse_known_args")) &&
	       is_at(f, i + 1, past, "(");
}

bool python_has_arguments(struct span name)
{
	return span_is_any(name,
			   "args arguments opt opts options cfg config hparams params flags FLAGS");
}

bool python_holds_arguments(const struct python_file *f, struct span name)
{
	const struct span holder = f->arguments.holder;

	return holder.text ? span_same(name, holder) : python_has_arguments(name);
}

/* Whether the token is a name that has the arguments, and no attribute of another one. Programs use
 * them above the line that parses them, so their names are those that are usual. */
static bool has_them(const struct python_file *f, unsigned i)
{
	const struct python_arguments *a = &f->arguments;

	if (token_at(f, i)->kind != PYTHON_NAME || (i && token_is_any(token_at(f, i - 1), ". *")))
		return false;
	return python_has_arguments(token_at(f, i)->text) ||
	       (a->holder.text && span_same(token_at(f, i)->text, a->holder));
}

/* The arguments are given to the function `to`; .text NULL: to something else. */
static void give(struct python_file *f, struct span to)
{
	struct python_arguments *a = &f->arguments;

	if (to.text && span_is(to, "print"))
		return;
	if (!to.text || a->given_count == MAX_GIVEN)
		a->elsewhere = true;
	else
		a->given[a->given_count++] = to;
}

/* Looks at [first, past), the arguments of the function `to`. */
static void look(struct python_file *f, unsigned first, unsigned past, struct span to)
{
	for (unsigned i = first; i < past; i++) {
		const struct python_token *t = token_at(f, i);
		bool call = token_is(t, "(") && i && token_at(f, i - 1)->kind == PYTHON_NAME;

		if (has_them(f, i)) {
			if (is_at(f, i + 1, past, "."))
				f->arguments.used = true;
			else if (!is_at(f, i + 1, past, "="))
				give(f, to);
		} else if (is_parse(f, i, past) && !is_at(f, token_at(f, i + 1)->past, past, ".")) {
			give(f, to);
		}
		if (t->past <= i + 1)
			continue;
		look(f, i + 1, t->past - 1, call ? token_at(f, i - 1)->text : to);
		i = t->past - 1;
	}
}

/* args = p.parse_args(), args, rest = p.parse_known_args(): the first name has them. */
static bool holds(struct python_file *f, unsigned first, unsigned past)
{
	unsigned equals = python_find_beside(f, first, past, "=");
	bool parses = false;

	for (unsigned i = equals; i < past; i = token_at(f, i)->past)
		parses |= is_parse(f, i, past);
	if (!parses || token_at(f, first)->kind != PYTHON_NAME || is_at(f, first + 1, past, "."))
		return false;
	f->arguments.holder = token_at(f, first)->text;
	return true;
}

/* p.parse_args() as a statement drops the arguments. */
static bool drops(const struct python_file *f, unsigned first, unsigned past)
{
	struct span chain;
	unsigned end = python_chain(f, first, &chain);

	return end && is_bracket(f, end, past, "(") && is_parse(f, end - 1, past);
}

void python_arguments(struct python_file *f, unsigned first, unsigned past)
{
	struct python_arguments *a = &f->arguments;

	if (!a->watched)
		return;
	for (unsigned i = first; i < past && !a->parsed; i++)
		a->parsed = is_parse(f, i, past);
	if (!drops(f, first, past) && !holds(f, first, past))
		look(f, first, past, NO_SPAN);
}

bool python_arguments_leave(const struct python_file *f)
{
	const struct python_arguments *a = &f->arguments;

	/* What starts processes gives them to a function of this file. */
	for (size_t i = 0; i < a->given_count; i++)
		if (!names_get(&f->names, a->given[i], DEFINED) &&
		    !span_is_any(a->given[i], "Process spawn"))
			return true;
	return a->elsewhere;
}

bool python_arguments_elsewhere(const struct python_file *f)
{
	const struct python_arguments *a = &f->arguments;

	if (a->elsewhere || !a->parsed || (a->holder.text && !a->used && !a->given_count))
		return true;
	for (size_t i = 0; i < a->given_count; i++)
		if (!names_get(&f->names, a->given[i], DEFINED))
			return true;
	return false;
}
