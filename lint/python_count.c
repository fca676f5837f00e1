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

	*c = (struct python_count){.kind = kind, .function = block_now(f)->function};
	for (int i = 0; i < f->depth; i++)
		c->nested |= f->blocks[i].function && f->blocks[i].function != c->function;
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
	struct python_count *c;

	if (!right)
		return NULL;
	c = new_count(f, COUNT_OPERATION);
	c->sign = *token_at(f, at)->text.text;
	c->left = left;
	c->right = right;
	return c;
}

/* f"cuda:{name}", "cuda:" + x, "cuda:%d" % x, "cuda:{}".format(x): x, as a device. */
static const struct python_count *device_text(struct python_file *f, unsigned first, unsigned past,
					      int depth)
{
	const struct python_token *t = token_at(f, first);
	struct span text = t->text;
	struct python_count *c;

	if (t->kind == PYTHON_FORMAT && past == first + 1 && span_starts(text, "cuda:{") &&
	    text.text[text.length - 1] == '}' && !memchr(text.text + 6, '{', text.length - 6) &&
	    !memchr(text.text + 6, '(', text.length - 6)) {
		c = new_count(f, COUNT_NAME);
		c->name = span_trim((struct span){text.text + 6, text.length - 7});
		return c;
	}
	if (t->kind != PYTHON_STRING || !span_starts(text, "cuda:"))
		return NULL;
	if (is_at(f, first + 1, past, "+") && text.length == 5)
		return parse(f, first + 2, past, depth);
	if (is_at(f, first + 1, past, "%") && text.length == 7 && text.text[5] == '%')
		return parse(f, first + 2, past, depth);
	if (is_at(f, first + 1, past, ".") && is_at(f, first + 2, past, "format") &&
	    is_bracket(f, first + 3, past, "("))
		return parse(f, first + 4, past - 1, depth);
	return NULL;
}

/* X if torch.cuda.is_available() else Y: X. Where the first is no such expression, `past`. */
static unsigned before_condition(const struct python_file *f, unsigned first, unsigned past)
{
	unsigned at = python_find_beside(f, first, past, "if");

	return at == past || python_find(f, at, past, "is_available") < past ? at : first;
}

static const struct python_count *called(struct python_file *f, const char *path, unsigned open,
					 unsigned past, int depth)
{
	struct python_argument a;

	if (span_is_any(span_of(path), "int str"))
		return parse(f, open + 1, past - 1, depth);
	if (streq(path, "torch.device") && (python_argument_find(f, open, "index", 1, &a) ||
					    python_argument_find(f, open, "device", 0, &a)))
		return parse(f, a.first, a.past, depth);
	if (past == open + 2 && python_counts_devices(path))
		return new_count(f, COUNT_DEVICES);
	return NULL;
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
	if (is_bracket(f, first, past, "("))
		return parse(f, first + 1, past - 1, depth + 1);
	past = before_condition(f, first, past);
	if (past == first)
		return NULL;
	if (span_starts(token_at(f, first)->text, "cuda:") &&
	    (past > first + 1 || token_at(f, first)->kind == PYTHON_FORMAT))
		return device_text(f, first, past, depth + 1);
	at = last_operator(f, first, past);
	if (at == first)
		return NULL;
	if (at < past)
		return operation(f, first, at, past, depth + 1);
	end = python_chain(f, first, &chain);
	if (end && is_bracket(f, end, past, "( ["))
		return called(f, python_path(f, chain, path), end, past, depth + 1);
	if (end == past) {
		c = new_count(f, COUNT_NAME);
		c->name = chain;
		return c;
	}
	if (past != first + 1 || (token_at(f, first)->kind != PYTHON_NUMBER &&
				  token_at(f, first)->kind != PYTHON_STRING))
		return NULL;
	v = python_value(f, first, past);
	if (v.meaning == MEANS_TEXT)
		v.number = span_number(v.text, INT32_MAX);
	else if (v.meaning != MEANS_NUMBER && v.meaning != MEANS_DEVICE)
		return NULL;
	if (v.number < 0)
		return NULL;
	c = new_count(f, v.meaning == MEANS_DEVICE ? COUNT_DEVICE : COUNT_NUMBER);
	c->number = v.number;
	return c;
}

const struct python_count *python_count(struct python_file *f, unsigned first, unsigned past)
{
	return parse(f, first, past, 0);
}

const struct python_count *python_argument_count(struct python_file *f, unsigned open,
						 const char *name, int place)
{
	struct python_argument a;

	return python_argument_find(f, open, name, place, &a) ? python_count(f, a.first, a.past)
							      : NULL;
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
	struct python_option option = {.value = NULL};
	struct python_argument a;
	unsigned next = open + 1;

	while (python_argument(f, open, &next, &a) && !a.name.text) {
		const struct python_token *t = token_at(f, a.first);
		struct span name = t->text;

		if (t->kind != PYTHON_STRING || !span_starts(name, "-") || name.length < 2)
			continue;
		if (!option.name.text || (span_starts(name, "--") && option.is_letter)) {
			option.alias = option.name;
			option.name = name;
			option.is_letter = !span_starts(name, "--");
		} else {
			option.odd |= option.alias.text != NULL;
			option.alias = name;
		}
	}
	/* The words behind it are not looked at. */
	if (python_argument_find(f, open, "nargs", -1, &a))
		f->facts.odd_options |= token_is_any(token_at(f, a.past - 1), "REMAINDER PARSER");
	if (python_has_argument(f, open, "dest", -1) || !option.name.text)
		return;
	option.odd |= python_has_argument(f, open, "nargs", -1) ||
		      python_has_argument(f, open, "action", -1) ||
		      python_has_argument(f, open, "env_var", -1) ||
		      (python_argument_find(f, open, "type", -1, &a) &&
		       (a.past > a.first + 1 || !token_is_any(token_at(f, a.first), "int str")));
	option.value = python_argument_count(f, open, "default", -1);
	*ARENA_NEXT(&f->arena, f->options, f->option_count, f->option_room) = option;
}

/* The name that a program has for it: --num-gpus is num_gpus. */
static struct span destination(const struct python_option *option)
{
	size_t dashes = option->is_letter ? 1 : 2;

	return (struct span){option->name.text + dashes, option->name.length - dashes};
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

/* The word behind the last time that the option is given; .text NULL: it is not. */
static struct span given(const char *const *arguments, const struct python_option *option)
{
	struct span value = {NULL, 0};

	for (; *arguments && !streq(*arguments, "--"); arguments++) {
		struct span word = span_of(*arguments);
		const char *equals = memchr(word.text, '=', word.length);

		if (equals)
			word = span_to(word, equals);
		if (same_option(word, option->name) ||
		    (option->alias.text && same_option(word, option->alias)))
			value = span_of(equals ? equals + 1 : arguments[1] ? arguments[1] : "");
	}
	return value;
}

/* Whether a word may be the option in another form: -w2, or --world for --world-size. */
static bool may_be_given(const char *const *arguments, const struct python_option *option)
{
	const struct span names[] = {option->name, option->alias};

	for (; *arguments; arguments++) {
		struct span word = {*arguments, strcspn(*arguments, "=")};

		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			bool letter = names[i].text && !span_starts(names[i], "--");

			if (!names[i].text || word.length < 2 || *word.text != '-' ||
			    same_option(word, names[i]))
				continue;
			if (letter ? word.length > names[i].length &&
					     memcmp(word.text, names[i].text, names[i].length) == 0
				   : word.length > 2 && word.length < names[i].length &&
					     same_option(word,
							 (struct span){names[i].text, word.length}))
				return true;
		}
	}
	return false;
}

/* A number, or cuda:N where a device is wanted; false: another word. */
static bool read_number(struct span word, struct counted *ret)
{
	if (ret->device)
		span_skip(&word, "cuda:");
	ret->number = span_number(word, INT32_MAX);
	return ret->number >= 0;
}

static bool compute_option(const struct python_judge *judge, struct span name, int depth,
			   struct counted *ret)
{
	const struct python_file *f = judge->file;
	const struct python_option *option = NULL;
	const char *const *arguments = judge->start ? judge->start->arguments : NULL;
	struct span word = {NULL, 0};

	for (size_t i = 0; i < f->option_count; i++) {
		if (!same_option(destination(&f->options[i]), name))
			continue;
		if (option || f->options[i].odd)
			return false;
		option = &f->options[i];
	}
	if (!option || f->facts.odd_options || python_arguments_leave(f) ||
	    names_get(&f->names, name, ATTRIBUTES))
		return false;
	ret->option = option->name;
	if (arguments && may_be_given(arguments, option))
		return false;
	if (arguments)
		word = given(arguments, option);
	if (word.text)
		return read_number(word, ret);
	ret->may |= !arguments;
	return option->value && compute(judge, option->value, depth, ret);
}

/* The value of a name in its function, else in the file. */
static const struct python_value *value_of(const struct python_file *f,
					   const struct python_count *c, bool dotted)
{
	const struct python_value *v = dotted ? NULL : names_get(&f->names, c->name, c->function);

	if (v || (c->nested && !dotted))
		return v ? v : &python_unknown;
	return names_get(&f->names, c->name, 0);
}

/* The argument that a parameter of a function gets in the processes that execute it; NULL: not one,
 * or not only one. */
static const struct python_count *given_to(const struct python_file *f, int function, int64_t place)
{
	const struct observation *found = NULL;

	for (size_t i = 0; i < f->count; i++) {
		const struct observation *s = &f->observations[i];

		if (!observation_starts(s) || !functions_is(f, s->target, function))
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
		return !v->varies && !v->unsure && compute(judge, v->count, depth, ret);
	if (!dot || !python_holds_arguments(judge->file, span_to(c->name, dot)))
		return false;
	part = span_from(c->name, dot + 1);
	return !memchr(part.text, '.', part.length) && compute_option(judge, part, depth, ret);
}

static bool compute_operation(const struct python_judge *judge, const struct python_count *c,
			      int depth, struct counted *ret)
{
	struct counted right = {.may = ret->may};

	if (!compute(judge, c->left, depth, ret) || !compute(judge, c->right, depth, &right))
		return false;
	ret->may |= right.may;
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
	case COUNT_DEVICE:
	case COUNT_NUMBER:
		ret->number = c->number;
		return c->kind == COUNT_NUMBER || ret->device;
	case COUNT_NAME:
		return compute_name(judge, c, depth + 1, ret);
	case COUNT_OPERATION:
		return compute_operation(judge, c, depth + 1, ret);
	case COUNT_DEVICES:
		ret->number = start ? start->visible : -1;
		return ret->number > 0;
	}
	return false;
}

bool judge_compute(const struct python_judge *judge, const struct python_count *c, bool device,
		   struct counted *ret)
{
	*ret = (struct counted){.number = -1, .device = device};
	return c && compute(judge, c, 0, ret);
}
