/* SPDX-License-Identifier: MIT */
/* Numbers of processes, as a program computes them. What they depend on may stand below the place
 * where they are used, or on the command line, so they are kept as expressions and computed when
 * the file and its start are known. */
#include "lint/python_file.h"

enum { MAX_DEPTH = 8 };

/* --- expressions ------------------------------------------------------------------------- */

static const struct python_count *parse(struct python_file *f, unsigned first, unsigned past,
					int depth);

static struct python_count *new_count(struct python_file *f, enum count_kind kind)
{
	struct python_count *c = arena_alloc(&f->arena, 1, sizeof(*c));

	if (c)
		*c = (struct python_count){.kind = kind, .function = block_now(f)->function};
	return c;
}

/* The operator that is computed last; `past`: there is none. */
static unsigned last_operator(const struct python_file *f, unsigned first, unsigned past)
{
	unsigned sum = past, product = past;

	for (unsigned i = first; i < past; i = token_at(f, i)->past) {
		if (i == first)
			continue;
		if (is_at(f, i, past, "+") || is_at(f, i, past, "-"))
			sum = i;
		else if (is_at(f, i, past, "*") || is_at(f, i, past, "//"))
			product = i;
		else if (token_at(f, i)->kind == PYTHON_SIGN && !is_at(f, i, past, ".") &&
			 !is_at(f, i, past, "(") && !is_at(f, i, past, "["))
			return first; /* another operator */
	}
	return sum < past ? sum : product;
}

static const struct python_count *operation(struct python_file *f, unsigned first, unsigned at,
					    unsigned past, int depth)
{
	const struct python_count *left = parse(f, first, at, depth);
	const struct python_count *right = left ? parse(f, at + 1, past, depth) : NULL;
	struct python_count *c = right ? new_count(f, COUNT_OPERATION) : NULL;

	if (!c)
		return NULL;
	c->sign = *token_at(f, at)->text.text;
	c->left = left;
	c->right = right;
	return c;
}

/* os.environ["WORLD_SIZE"], os.environ.get("WORLD_SIZE", 1), os.getenv("WORLD_SIZE") */
static const struct python_count *variable(struct python_file *f, const char *path, unsigned open,
					   unsigned past)
{
	static const char *const readers[] = {"os.environ", "os.environ.get", "os.getenv"};
	struct python_count *c;

	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		if (!streq(path, readers[i]) || open + 1 >= past ||
		    token_at(f, open + 1)->kind != PYTHON_STRING ||
		    !span_is(token_at(f, open + 1)->text, "WORLD_SIZE"))
			continue;
		c = new_count(f, COUNT_WORLD);
		return c;
	}
	return NULL;
}

static const struct python_count *called(struct python_file *f, const char *path, unsigned open,
					 unsigned past, int depth)
{
	const char *last = strrchr(path, '.');

	if (streq(path, "int"))
		return parse(f, open + 1, past - 1, depth);
	if (past == open + 2 && (streq(path, "torch.cuda.device_count") ||
				 streq(path, "torch.accelerator.device_count")))
		return new_count(f, COUNT_DEVICES);
	if (past == open + 2 && last && streq(last, ".get_world_size"))
		return new_count(f, COUNT_WORLD);
	return variable(f, path, open, past);
}

static const struct python_count *parse(struct python_file *f, unsigned first, unsigned past,
					int depth)
{
	struct python_value v;
	struct python_count *c;
	char path[MAX_PATH];
	struct span chain;
	unsigned at, end;

	if (first >= past || past - first > MAX_VALUE || depth > MAX_DEPTH)
		return NULL;
	if (is_at(f, first, past, "(") && token_at(f, first)->past == past)
		return parse(f, first + 1, past - 1, depth + 1);
	at = last_operator(f, first, past);
	if (at == first)
		return NULL;
	if (at < past)
		return operation(f, first, at, past, depth + 1);
	end = python_chain(f, first, &chain);
	if (end && end < past && token_at(f, end)->past == past &&
	    (is_at(f, end, past, "(") || is_at(f, end, past, "[")))
		return called(f, python_path(f, chain, path), end, past, depth + 1);
	if (end == past) {
		c = new_count(f, COUNT_NAME);
		if (c)
			c->name = chain;
		return c;
	}
	if (past != first + 1 || (token_at(f, first)->kind != PYTHON_NUMBER &&
				  token_at(f, first)->kind != PYTHON_STRING))
		return NULL;
	v = python_value(f, first, past);
	if (v.meaning == MEANS_TEXT)
		v.number = span_number(v.text, INT32_MAX);
	else if (v.meaning != MEANS_NUMBER)
		return NULL;
	c = v.number >= 0 ? new_count(f, COUNT_NUMBER) : NULL;
	if (c)
		c->number = v.number;
	return c;
}

const struct python_count *python_count(struct python_file *f, unsigned first, unsigned past)
{
	return parse(f, first, past, 0);
}

const struct python_count *python_rounds(struct python_file *f, unsigned in, unsigned past)
{
	if (!is_at(f, in + 1, past, "range") || !is_at(f, in + 2, past, "(") ||
	    token_at(f, in + 2)->past > past)
		return NULL;
	return parse(f, in + 3, token_at(f, in + 2)->past - 1, 0);
}

/* --- options of the command line ------------------------------------------------------------ */

void python_option(struct python_file *f, unsigned open)
{
	struct python_option *grown =
		arena_room(&f->arena, f->options, f->option_count, &f->option_room, sizeof(*grown));
	struct python_argument a;
	struct span name = {NULL, 0};
	unsigned next = open + 1;

	while (python_argument(f, open, &next, &a) && !a.name.text) {
		const struct python_token *t = token_at(f, a.first);

		if (t->kind == PYTHON_STRING && span_starts(t->text, "--") && !name.text)
			name = (struct span){t->text.text + 2, t->text.length - 2};
	}
	if (python_argument_find(f, open, "dest", -1, &a) || !name.text || !grown)
		return;
	f->options = grown;
	grown += f->option_count++;
	*grown = (struct python_option){.name = name};
	if (python_argument_find(f, open, "default", -1, &a))
		grown->value = python_count(f, a.first, a.past);
}

/* Whether both are one option; argparse gives a program --a-b as a_b. */
static bool same_option(struct span a, struct span b)
{
	for (size_t i = 0; i < a.length && a.length == b.length; i++)
		if (a.text[i] != b.text[i] && !(strchr("-_", a.text[i]) && strchr("-_", b.text[i])))
			return false;
	return a.length == b.length;
}

/* --- their values ---------------------------------------------------------------------------- */

static bool compute(const struct python_judge *judge, const struct python_count *c, int depth,
		    struct counted *ret);

/* The option's value on the command line; -1: it is not a number; -2: the option is not given. */
static int64_t given(const char *const *arguments, struct span name)
{
	int64_t value = -2;

	for (; *arguments; arguments++) {
		struct span word = span_of(*arguments), rest;
		const char *equals = memchr(word.text, '=', word.length);

		if (!span_starts(word, "--"))
			continue;
		rest = equals ? span_of(equals + 1) : span_of(arguments[1] ? arguments[1] : "");
		word = (struct span){word.text + 2,
				     (equals ? (size_t)(equals - word.text) : word.length) - 2};
		if (same_option(word, name))
			value = span_number(rest, INT32_MAX);
	}
	return value;
}

static bool compute_option(const struct python_judge *judge, struct span name, int depth,
			   struct counted *ret)
{
	const struct python_file *f = judge->file;
	const struct python_option *option = NULL;
	const char *const *arguments = judge->start ? judge->start->arguments : NULL;
	int64_t value;

	for (size_t i = 0; i < f->option_count; i++)
		if (same_option(f->options[i].name, name))
			option = &f->options[i];
	if (!option)
		return false;
	ret->option = option->name;
	value = arguments ? given(arguments, name) : -2;
	if (value == -1)
		return false;
	if (value >= 0) {
		ret->number = value;
		return true;
	}
	ret->may = ret->may || !arguments;
	return option->value && compute(judge, option->value, depth, ret);
}

/* The value of a name in its function, else in the file. */
static const struct python_value *value_of(const struct python_file *f,
					   const struct python_count *c, bool dotted)
{
	const struct python_value *v = dotted ? NULL : names_get(&f->names, c->name, c->function);

	return v ? v : names_get(&f->names, c->name, 0);
}

/* The argument that a parameter of a function gets in the processes that execute it; NULL: not one,
 * or not only one. */
static const struct python_count *given_to(const struct python_file *f, int function, int64_t place)
{
	const struct observation *found = NULL;

	for (size_t i = 0; i < f->count; i++) {
		const struct observation *s = &f->observations[i];

		if ((s->kind != OBSERVED_SPAWN && s->kind != OBSERVED_PROCESS) || !s->target.text ||
		    !functions_is(f, s->target, function))
			continue;
		if (found)
			return NULL;
		found = s;
	}
	return found && found->given && (size_t)place <= found->given_count
		       ? found->given[place - 1]
		       : NULL;
}

static bool compute_parameter(const struct python_judge *judge, const struct python_count *c,
			      const struct python_value *v, int depth, struct counted *ret)
{
	const struct python_count *given = c->function && v->number > 0 && !v->varies
						   ? given_to(judge->file, c->function, v->number)
						   : NULL;

	return given && compute(judge, given, depth, ret);
}

static bool compute_name(const struct python_judge *judge, const struct python_count *c, int depth,
			 struct counted *ret)
{
	const char *dot = memchr(c->name.text, '.', c->name.length);
	const struct python_value *v = value_of(judge->file, c, dot);
	struct span part;

	if (v && !v->count)
		return compute_parameter(judge, c, v, depth, ret);
	if (v)
		return !v->varies && compute(judge, v->count, depth, ret);
	if (!dot ||
	    !python_has_arguments((struct span){c->name.text, (size_t)(dot - c->name.text)}))
		return false;
	part = (struct span){dot + 1, c->name.length - (size_t)(dot + 1 - c->name.text)};
	return !memchr(part.text, '.', part.length) && compute_option(judge, part, depth, ret);
}

static bool compute_operation(const struct python_judge *judge, const struct python_count *c,
			      int depth, struct counted *ret)
{
	struct counted right = {.may = ret->may};

	if (!compute(judge, c->left, depth, ret) || !compute(judge, c->right, depth, &right))
		return false;
	ret->may = ret->may || right.may;
	ret->option = ret->option.text ? ret->option : right.option;
	switch (c->sign) {
	case '+':
		ret->number += right.number;
		break;
	case '-':
		ret->number -= right.number;
		break;
	case '*':
		ret->number *= right.number;
		break;
	default:
		if (!right.number)
			return false;
		ret->number /= right.number;
	}
	return ret->number >= 0 && ret->number <= INT32_MAX;
}

static bool compute(const struct python_judge *judge, const struct python_count *c, int depth,
		    struct counted *ret)
{
	const struct python_start *start = judge->start;

	if (depth > MAX_DEPTH)
		return false;
	switch (c->kind) {
	case COUNT_NUMBER:
		ret->number = c->number;
		return true;
	case COUNT_NAME:
		return compute_name(judge, c, depth + 1, ret);
	case COUNT_OPERATION:
		return compute_operation(judge, c, depth + 1, ret);
	case COUNT_DEVICES:
		ret->number = start ? start->visible : -1;
		return ret->number > 0;
	case COUNT_WORLD:
		break;
	}
	return false;
}

bool judge_compute(const struct python_judge *judge, const struct python_count *c,
		   struct counted *ret)
{
	*ret = (struct counted){.number = -1};
	return c && compute(judge, c, 0, ret);
}
