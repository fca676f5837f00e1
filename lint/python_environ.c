/* SPDX-License-Identifier: MIT */
/* How a program changes its own environment. */
#include "lint/python_file.h"

#include "request/rank_identity.h"

/* Variables whose value a launcher or the user decides. */
static bool is_watched(struct span name)
{
	return span_is_any(name, "CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER WORLD_SIZE RANK "
				 "LOCAL_RANK MASTER_ADDR MASTER_PORT");
}

void python_environ_name(struct python_file *f, unsigned at)
{
	const struct python_token *t = &f->text.tokens[at];

	if (t->kind == PYTHON_STRING && misspelt_variable(t->text))
		observation_add(f, OBSERVED_MISSPELT, t)->name = t->text;
}

/* Whether some launcher sets the variable. */
static bool is_launchers(struct span name)
{
	return is_watched(name) || rank_variable_meaning(name) != RANK_VARIABLE_NOTHING ||
	       span_starts_any(name, "SLURM_ OMPI_ PMI");
}

void python_environ_look(struct python_looked *looked, struct span name)
{
	if (name.length <= 3)
		return;
	looked->list |= span_is(name, "CUDA_VISIBLE_DEVICES");
	looked->launcher |= is_launchers(name);
}

/* mock.patch.dict, by whatever name of the module it is called. */
static bool is_patch(const char *path)
{
	static const char patch[] = "patch.dict";
	const char *dot = path + strlen(path) - (sizeof(patch) - 1);

	return text_ends(path, patch) && (dot == path || dot[-1] == '.');
}

bool python_environ_patched(const struct python_file *f, unsigned past)
{
	char path[MAX_PATH];
	struct span chain;

	for (unsigned i = 0, end; i < past; i = end ? end : i + 1) {
		struct python_argument a;

		end = python_chain(f, i, &chain);
		if (!end || !is_at(f, end, past, "(") || !is_patch(python_path(f, chain, path)) ||
		    !python_argument_find(f, end, "in_dict", 0, &a))
			continue;
		if (span_is(token_at(f, a.first)->text, "os.environ"))
			return true;
		if (python_chain(f, a.first, &chain) == a.past &&
		    streq(python_path(f, chain, path), "os.environ"))
			return true;
	}
	return false;
}

bool python_environ_derived(const struct python_file *f, struct span name, unsigned first,
			    unsigned past)
{
	bool list = span_is(name, "CUDA_VISIBLE_DEVICES");

	for (unsigned i = first; i < past && i < first + MAX_VALUE; i++) {
		const struct python_token *t = &f->text.tokens[i];
		struct python_value v = {.meaning = MEANS_UNKNOWN};

		if (t->kind == PYTHON_STRING && is_launchers(t->text))
			v = python_variable(t->text);
		else if (t->kind == PYTHON_NAME)
			v = python_value(f, i, i + 1);
		if (list ? v.meaning == MEANS_DERIVED && v.text.text &&
				    span_is(v.text, "CUDA_VISIBLE_DEVICES")
			 : v.meaning == MEANS_DERIVED || v.meaning == MEANS_RANK ||
				    v.meaning == MEANS_LOCAL_RANK)
			return true;
	}
	return false;
}

/* Whether the expression depends on the arguments of the function or on its object, so that the
 * caller decides. */
static bool is_given(const struct python_file *f, unsigned first, unsigned past)
{
	int function = f->blocks[f->depth].function;

	for (unsigned i = first; i < past && i < first + MAX_VALUE; i++)
		if (token_at(f, i)->kind == PYTHON_NAME &&
		    (token_is(token_at(f, i), "self") ||
		     (function && names_get(&f->names, token_at(f, i)->text, function))))
			return true;
	return false;
}

/* Whether Ray names the GPUs in it: ray.get_gpu_ids() */
static bool is_of_ray(const struct python_file *f, unsigned first, unsigned past)
{
	unsigned last = past < first + MAX_VALUE ? past : first + MAX_VALUE;

	return f->facts.ray &&
	       python_find(f, first, last, "get_gpu_ids get_accelerator_ids") < last;
}

/* Whether the expression is an argument of the command line: args.gpu. */
static bool is_argument(const struct python_file *f, unsigned first, unsigned past)
{
	for (unsigned i = first; i < past && i < first + MAX_VALUE; i++)
		if (token_is_any(token_at(f, i), "args arg opt opts options hparams flags FLAGS "
						 "cfg config conf params argv") &&
		    (is_at(f, i + 1, past, ".") || is_at(f, i + 1, past, "[")))
			return true;
	return false;
}

/* From here on the list is known, or known to be unknown, also after the surrounding blocks, unless
 * they put it back. A list that is set too late has no effect (rule S4). */
static void remember_list(struct python_file *f, const struct observation *s)
{
	bool known =
		s->value.meaning == MEANS_TEXT && s->verb == OBSERVED_SETS && !s->initialised.text;
	struct python_block *b = block_now(f);

	b->listed = true;
	b->lister = f->count;
	b->list = known ? arena_strndup(&f->arena, s->value.text.text, s->value.text.length) : NULL;
	for (int i = f->depth - 1; i >= 0 && f->blocks[i].function == b->function; i--) {
		if (f->blocks[i + 1].patched)
			return;
		f->blocks[i].listed = true;
		f->blocks[i].list = NULL;
		f->blocks[i].lister = 0;
	}
}

/* Whether a condition has tested the variable, or the function has kept its value. For a variable
 * of ranks a test of any variable that shows a launcher is enough. */
static bool tested(const struct python_file *f, struct span name)
{
	bool list = span_is(name, "CUDA_VISIBLE_DEVICES");

	for (int i = f->depth; i >= 0; i--)
		if (list ? f->blocks[i].tested.list : f->blocks[i].tested.launcher)
			return true;
	return list && f->lister == f->blocks[f->depth].function + 1;
}

bool python_hides_all(const struct observation *s)
{
	return s->value.meaning == MEANS_TEXT &&
	       (!s->value.text.length || span_is(s->value.text, "-1"));
}

bool python_gives_list(const struct observation *s)
{
	return s->kind == OBSERVED_VARIABLE && span_is(s->name, "CUDA_VISIBLE_DEVICES") &&
	       !s->patched && s->value.meaning != MEANS_TEXT && s->verb != OBSERVED_REMOVES &&
	       (!s->initialised.text || (!s->imported && python_may_count(s->initialised)));
}

void python_environ_set(struct python_file *f, unsigned at, unsigned first, unsigned past,
			enum observation_verb verb)
{
	const struct python_token *t = &f->text.tokens[at];
	struct observation *s;

	if (t->kind != PYTHON_STRING && t->kind != PYTHON_NAME)
		return;
	if (span_is(t->text, "CUDA_LAUNCH_BLOCKING") && verb != OBSERVED_REMOVES) {
		struct python_value v = python_value(f, first, past);

		if (!v.text.length || !span_is(v.text, "0")) {
			s = observation_add(f, OBSERVED_BLOCKING, t);
			if (span_is(block_now(f)->method, "main"))
				s->function = 0;
		}
	}
	if (!is_watched(t->text))
		return;
	s = observation_add(f, OBSERVED_VARIABLE, t);
	s->name = t->text;
	s->verb = verb == OBSERVED_SETS && tested(f, s->name) ? OBSERVED_DEFAULTS : verb;
	if (verb != OBSERVED_REMOVES)
		s->value = python_value(f, first, past);
	if (s->value.meaning == MEANS_CPU || s->value.meaning == MEANS_CUDA)
		s->value.meaning = MEANS_TEXT;
	if (s->value.meaning != MEANS_TEXT && s->value.meaning != MEANS_LOCAL_RANK &&
	    verb != OBSERVED_REMOVES && python_environ_derived(f, s->name, first, past))
		s->value.meaning = MEANS_DERIVED;
	s->argument = is_argument(f, first, past);
	s->may |= s->value.meaning == MEANS_UNKNOWN && verb != OBSERVED_REMOVES && !s->argument &&
		  is_given(f, first, past);
	/* It is put back to what it was: not set. */
	if (is_of_ray(f, first, past) ||
	    (verb == OBSERVED_REMOVES && f->keeper == block_now(f)->function + 1))
		s->value.meaning = MEANS_DERIVED;
	if (span_is(s->name, "WORLD_SIZE") && verb == OBSERVED_SETS)
		s->size = python_count(f, first, past);
	if (span_is(s->name, "WORLD_SIZE") && s->value.meaning == MEANS_TEXT)
		f->facts.one_process = span_is(s->value.text, "1");
	if (span_is(s->name, "MASTER_PORT") && verb != OBSERVED_REMOVES && !s->argument &&
	    s->value.meaning == MEANS_UNKNOWN)
		f->facts.finds_port = true;
	if (!span_is(s->name, "CUDA_VISIBLE_DEVICES"))
		return;
	f->facts.own_list |= python_gives_list(s);
	f->facts.sets_list |= s->verb != OBSERVED_DEFAULTS;
	remember_list(f, s);
}

/* --- what other programs are given ------------------------------------------------------ */

void python_environ_list(struct python_file *f, unsigned at, struct python_value v)
{
	const struct python_token *t = token_at(f, at);
	struct observation *s;

	if (!span_is(t->text, "CUDA_VISIBLE_DEVICES") || v.meaning != MEANS_TEXT)
		return;
	/* os.environ.update() has been seen. */
	for (size_t i = f->count; i > 0 && f->observations[i - 1].line == t->line; i--)
		if (f->observations[i - 1].column == t->column)
			return;
	s = observation_add(f, OBSERVED_LIST, t);
	s->name = t->text;
	s->value = (struct python_value){.meaning = MEANS_TEXT, .text = v.text};
}

/* {"A": "1"}, whose bracket is `open` */
void python_environ_merge(struct python_file *f, unsigned open)
{
	struct python_argument member;
	unsigned at = open + 1;

	while (is_at(f, open, f->text.count, "{") && python_argument(f, open, &at, &member))
		if (is_at(f, member.first + 1, member.past, ":") && member.past > member.first + 2)
			python_environ_set(f, member.first, member.first + 2, member.past,
					   OBSERVED_SETS);
}

/* os.environ.update({"A": "1"}, B="2") */
static void update(struct python_file *f, unsigned open)
{
	struct python_argument a;
	unsigned at = open + 1;

	while (python_argument(f, open, &at, &a)) {
		if (a.name.text)
			python_environ_set(f, a.first - 2, a.first, a.past, OBSERVED_SETS);
		else if (token_at(f, a.first)->past == a.past)
			python_environ_merge(f, a.first);
	}
}

void python_environ_replace(struct python_file *f)
{
	for (int i = f->depth; i >= 0 && f->blocks[i].function == block_now(f)->function; i--) {
		f->blocks[i].listed = true;
		f->blocks[i].list = NULL;
		f->blocks[i].lister = 0;
	}
}

/* Whether the token `at` is an argument of the call whose bracket is `open`, and it shows it. */
static bool shows(const struct python_file *f, unsigned open, unsigned at)
{
	return open > 0 && is_at(f, open, at, "(") && token_at(f, open)->past > at &&
	       token_is_any(token_at(f, open - 1), "print pprint debug info warn warning error "
						   "critical fatal log write echo secho");
}

/* Whether the token is an argument of a call that shows it, such as print() or logger.info(): that
 * keeps nothing. The call begins the statement, or is searched shortly before the token. */
static bool is_shown(const struct python_file *f, unsigned at)
{
	struct span chain;

	/* A statement of Python 2. */
	if (is_at(f, 0, at, "print") && !is_at(f, 1, at, "("))
		return true;
	if (shows(f, python_chain(f, 0, &chain), at))
		return true;
	for (unsigned i = at; i > 1 && at - i < MAX_VALUE; i--)
		if (shows(f, i - 1, at))
			return true;
	return false;
}

void python_environ_read(struct python_file *f, unsigned at, unsigned name)
{
	python_environ_name(f, name);
	/* The list is kept for later, or looked at: a = os.environ[...], if os.environ.get(...) */
	if (at && !is_at(f, at - 1, f->text.count, ":") && !is_shown(f, at) &&
	    span_is(token_at(f, name)->text, "CUDA_VISIBLE_DEVICES")) {
		f->lister = f->blocks[f->depth].function + 1;
		if (!is_at(f, 0, at, "if") && !is_at(f, 0, at, "elif"))
			f->keeper = f->lister;
	}
}

void python_environ_call(struct python_file *f, const char *path, unsigned at, unsigned open)
{
	static const struct {
		const char *path;
		enum observation_verb verb;
	} calls[] = {
		{"os.environ.setdefault", OBSERVED_DEFAULTS},
		{"os.putenv", OBSERVED_SETS},
		{"os.environ.pop", OBSERVED_REMOVES},
		{"os.unsetenv", OBSERVED_REMOVES},
	};
	struct python_argument name, value = {0};
	unsigned next = open + 1;
	/* A call whose value is used keeps the variable's value for later. */
	bool takes = at && !is_at(f, at - 1, open, ":");

	if (streq(path, "os.environ.update")) {
		update(f, open);
		return;
	}
	if (!python_argument(f, open, &next, &name) || name.past != name.first + 1)
		return;
	if (span_is_any(span_of(path), "os.getenv os.environ.get")) {
		python_environ_read(f, at, name.first);
		launched_get(f, at, open, name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (!streq(path, calls[i].path))
			continue;
		python_environ_name(f, name.first);
		if (calls[i].verb == OBSERVED_REMOVES ? !takes
						      : python_argument(f, open, &next, &value))
			python_environ_set(f, name.first, value.first, value.past, calls[i].verb);
	}
}
