/* SPDX-License-Identifier: MIT */
/* Walks a file's statements: blocks, imports, assignments, and every call. */
#include "lint/python_file.h"

/* Tests start their ranks themselves, on one host. */
static void start_by_tests(struct python_file *f)
{
	f->facts.tests = f->facts.spawns = f->facts.spawns_ranks = true;
}

/* A program may use mock too; the functions of a test show that it is one. */
static void see_mock(struct python_file *f)
{
	if (f->facts.mocks && f->facts.names_tests)
		start_by_tests(f);
}

/* Notes packages of tests: `name` is what is imported from the package, if that is a part. */
static void see_tests(struct python_file *f, struct span path, struct span name)
{
	if (span_is(path, "mock") || span_starts(path, "unittest.mock") ||
	    (span_is(path, "unittest") && span_is(name, "mock")))
		f->facts.mocks = true;
	else if (span_is_any(path, "pytest unittest") ||
		 span_starts_any(path, "pytest. unittest. torch.testing._internal"))
		start_by_tests(f);
	see_mock(f);
}

/* Notes packages that choose devices themselves, or read arguments. */
static void see_package(struct python_file *f, struct span name)
{
	f->facts.frameworks |= span_is_any(name, "accelerate deepspeed pytorch_lightning lightning "
						 "ray horovod apex ignite transformers");
	f->facts.reads_arguments |=
		span_is_any(name, "click fire absl hydra typer tyro getopt docopt");
	f->facts.torch |= span_is(name, "torch");
	f->names.unknowns = f->facts.torch;
	f->facts.ray |= span_is(name, "ray");
	f->facts.deepspeed |= span_is(name, "deepspeed");
	choice_import(f, name);
}

static void name_path(struct python_file *f, struct span name, struct span path)
{
	names_set(&f->names, name, 0, (struct python_value){.meaning = MEANS_PATH, .text = path});
}

/* Notes a module that may be beside the file. */
static void note_import(struct python_file *f, unsigned at, struct span path)
{
	if (!f->depth && !f->blocks[0].ended && f->import_count < MAX_IMPORTS)
		f->imports[f->import_count++] = (struct python_import){path, token_at(f, at)->line};
}

/* import a.b, c as d */
static void import(struct python_file *f, unsigned at, unsigned past)
{
	struct span path;
	unsigned end;

	for (; at < past && (end = python_chain(f, at, &path)); at = end + 1) {
		struct span head = token_at(f, at)->text;

		see_package(f, head);
		see_tests(f, path, (struct span){"", 0});
		training_import(f, path, (struct span){"", 0});
		note_import(f, at, path);
		if (is_at(f, end, past, "as") && end + 1 < past) {
			name_path(f, token_at(f, end + 1)->text, path);
			end += 2;
		} else {
			name_path(f, head, head);
		}
	}
}

/* from a.b import c as d, e */
static void import_from(struct python_file *f, unsigned at, unsigned past)
{
	struct span path;
	unsigned end = python_chain(f, at, &path);

	if (!end || !is_at(f, end, past, "import")) {
		choice_import(f, (struct span){".", 1});
		training_import(f, (struct span){".", 1}, (struct span){"*", 1});
		return;
	}
	see_package(f, token_at(f, at)->text);
	note_import(f, at, path);
	at = end + 1 + is_at(f, end + 1, past, "(");
	if (is_at(f, at, past, "*")) {
		choice_import(f, (struct span){"*", 1});
		if (!span_starts(path, "torch"))
			names_doubt(&f->names);
		see_tests(f, path, (struct span){"*", 1});
		training_import(f, path, (struct span){"*", 1});
	}
	while (at < past && token_at(f, at)->kind == PYTHON_NAME) {
		struct span name = token_at(f, at)->text, as = name;

		if (is_at(f, at + 1, past, "as") && at + 2 < past) {
			as = token_at(f, at + 2)->text;
			at += 2;
		}
		see_tests(f, path, name);
		training_import(f, path, name);
		name_path(f, as,
			  span_of(arena_printf(&f->arena, "%.*s.%.*s", (int)path.length, path.text,
					       (int)name.length, name.text)));
		at += 2; /* the comma too */
	}
}

/* Whether a local rank is known by that name, and this is what it is in another branch. */
static bool is_fallback(struct python_file *f, struct span name, int function,
			struct python_value v)
{
	const struct python_value *known = names_get(&f->names, name, function);

	return known && known->meaning == MEANS_LOCAL_RANK && block_now(f)->otherwise &&
	       (v.meaning == MEANS_RANK || v.meaning == MEANS_MODULO);
}

/* From now on the chain [first, past) has this value. */
static void assign(struct python_file *f, unsigned first, unsigned past, struct python_value v)
{
	struct span chain;

	v.unsure |= block_now(f)->may || block_now(f)->repeated;
	v.function = block_now(f)->function;
	if (first >= past || python_chain(f, first, &chain) != past)
		return;
	if (past > first + 2 && !token_is(token_at(f, first), "self"))
		names_set(&f->names, token_at(f, past - 1)->text, ATTRIBUTES, python_unknown);
	if (is_fallback(f, chain, past > first + 1 ? 0 : v.function, v))
		f->names.changed = true;
	else
		names_set(&f->names, chain, past > first + 1 ? 0 : v.function, v);
}

static void assign_target(struct python_file *f, unsigned first, unsigned past, unsigned from,
			  unsigned to)
{
	struct python_value v = python_value(f, from, to);
	struct span chain, list = span_of("CUDA_VISIBLE_DEVICES");
	char path[MAX_PATH];
	unsigned end = python_chain(f, first, &chain);

	training_assign(f, first, past, from, to);
	if (end && is_at(f, end, past, "[") && end + 3 == past &&
	    streq(python_path(f, chain, path), "os.environ")) {
		python_environ_set(f, end + 1, from, to, OBSERVED_SETS);
		return;
	}
	if (end && is_at(f, end, past, "[") && end + 3 == past)
		python_environ_list(f, end + 1, v);
	if (v.meaning == MEANS_UNKNOWN && !v.number)
		v = python_ids(f, from, to);
	if (f->facts.names_variables && v.meaning == MEANS_UNKNOWN &&
	    python_environ_derived(f, list, from, to))
		v = (struct python_value){.meaning = MEANS_DERIVED, .text = list};
	if (f->facts.torch)
		v.count = python_count(f, from, to);
	/* a: int = 1 */
	if (end && is_at(f, end, past, ":"))
		past = end;
	if (past == end && (v.meaning == MEANS_DEVICE || v.meaning == MEANS_CUDA) &&
	    token_at(f, from)->kind == PYTHON_STRING)
		python_device(f, from, v, false);
	if (past == end) {
		assign(f, first, past, v);
		return;
	}
	for (unsigned i = first; i < past; i = end ? end + 1 : i + 1) {
		end = python_chain(f, i, &chain);
		if (end)
			assign(f, i, end, python_unknown);
	}
}

/* a += value */
static void augmented(struct python_file *f, unsigned first)
{
	struct span chain;
	unsigned end = python_chain(f, first, &chain);
	const struct python_token *t = end && end < f->text.count ? token_at(f, end) : NULL;
	char path[MAX_PATH];

	/* os.environ |= {"A": "1"} */
	if (t && token_is(t, "|=") && streq(python_path(f, chain, path), "os.environ"))
		python_environ_merge(f, end + 1);
	if (t && t->kind == PYTHON_SIGN && t->text.length > 1 && !strchr("=!<>:", *t->text.text) &&
	    t->text.text[t->text.length - 1] == '=')
		assign(f, first, end, python_unknown);
}

enum { MAX_TARGETS = 32 };

/* a = b = value; of many targets, the value of the last is not known. */
static void assignments(struct python_file *f, unsigned first, unsigned past)
{
	unsigned start = first, last = 0, count = 0;

	for (unsigned i = first; i < past; i = token_at(f, i)->past)
		if (token_is(token_at(f, i), "="))
			last = i;
	for (unsigned i = first; last && i <= last; i = token_at(f, i)->past) {
		if (!token_is(token_at(f, i), "="))
			continue;
		assign_target(f, start, i, count++ < MAX_TARGETS ? last + 1 : past, past);
		start = i + 1;
	}
}

/* The statement net.cuda(1) moves net. */
static void moves(struct python_file *f, unsigned first, unsigned past)
{
	struct python_value v = python_value(f, first, past);
	struct span name;
	unsigned end = python_chain(f, first, &name);

	if (v.meaning != MEANS_MODULE || end <= first + 2 || token_at(f, end)->past != past)
		return;
	name.length = (size_t)(token_at(f, end - 2)->text.text - name.text);
	names_set(&f->names, span_trim(name), end > first + 3 ? 0 : block_now(f)->function, v);
}

/* ids.pop(), del ids[2:]: the list of that name is another one then. */
static void changes_list(struct python_file *f, unsigned first, unsigned past)
{
	bool deletes = token_is(token_at(f, first), "del");
	struct span name;
	unsigned end = python_chain(f, first + deletes, &name);

	if (end == first + 3 && is_at(f, end, past, "(") &&
	    token_is_any(token_at(f, end - 1), "pop append extend insert remove clear"))
		name = token_at(f, first)->text;
	else if (!deletes || !end || !is_at(f, end, past, "["))
		return;
	names_set(&f->names, name, block_now(f)->function, python_unknown);
}

static void keyword(struct python_file *f, unsigned at, unsigned past)
{
	struct python_value v;
	unsigned end;

	if (!token_is_any(token_at(f, at), "device map_location CUDA_VISIBLE_DEVICES"))
		return;
	end = python_value_end(f, at + 2, past);
	v = python_value(f, at + 2, end);
	if (token_is(token_at(f, at), "CUDA_VISIBLE_DEVICES")) {
		python_environ_list(f, at, v);
		return;
	}
	if (token_is(token_at(f, at), "device"))
		choice_device(f, at + 2, end, v, python_device_used(f, at + 2));
	if (token_at(f, at + 2)->kind == PYTHON_STRING ||
	    token_at(f, at + 2)->kind == PYTHON_FORMAT)
		python_device(f, at + 2, v, false);
	else if (v.meaning == MEANS_UNKNOWN)
		f->facts.chooses = true;
}

/* Ways to change the words of the command line, or names of the file. */
static void see_sys(struct python_file *f, const char *path, unsigned end, unsigned past)
{
	if (streq(path, "sys.argv"))
		f->facts.reads_arguments = true;
	if ((streq(path, "sys.argv") && is_at(f, end, past, "+=")) ||
	    span_is_any(span_of(path), "sys.argv.append sys.argv.extend sys.argv.insert") ||
	    text_ends(path, ".__dict__"))
		f->facts.odd_options = true;
	if (streq(path, "sys.modules"))
		names_doubt(&f->names);
}

/* Handles the name at `i`, which follows no dot, and the path that it begins. */
static void walk_path(struct python_file *f, unsigned i, unsigned past)
{
	char path[MAX_PATH];
	struct span chain;
	unsigned end = python_chain(f, i, &chain);

	python_path(f, chain, path);
	choice_path(f, path, i, end);
	ordinal_compared(f, i, end, past);
	training_name(f, i, end);
	if (starts_with(path, "sys.") || text_ends(path, "__dict__"))
		see_sys(f, path, end, past);
	if (is_at(f, end, past, "(")) {
		f->ends |=
			span_is_any(span_of(path),
				    "sys.exit os._exit os.abort exit quit SystemExit pytest.skip");
		if (span_is_any(span_of(path), "exec globals"))
			names_doubt(&f->names);
	}
	if (streq(path, "os.environ") && is_at(f, end, past, "[") && end + 1 < past) {
		if (is_at(f, token_at(f, end)->past, past, "=") ||
		    (i && token_is(token_at(f, i - 1), "del")))
			python_environ_name(f, end + 1);
		else
			python_environ_read(f, i, end + 1), launched_read(f, i, end + 1, true);
	}
	if (is_at(f, end, past, "(") && token_at(f, end)->past > end + 1)
		python_call(f, path, i, end);
}

/* Whether the argument --local_rank is looked at here: as args.local_rank, as a text, or as the
 * parameter of a function that all arguments are given to. */
static bool reads_argument(const struct python_file *f, unsigned i, unsigned past)
{
	const struct python_token *t = token_at(f, i);

	if (!span_is(t->text, "local_rank"))
		return false;
	if (t->kind == PYTHON_STRING)
		return !i || !is_at(f, i - 1, past, "=") ||
		       !token_is(token_at(f, i - (i > 1) - 1), "dest");
	if (t->kind != PYTHON_NAME)
		return false;
	return f->definition || (i && is_at(f, i - 1, past, ".") && !is_at(f, i + 1, past, "="));
}

/* A string, and what it may be the name of. */
static void walk_string(struct python_file *f, unsigned i, unsigned past)
{
	const struct python_token *t = token_at(f, i);
	bool list = span_is(t->text, "CUDA_VISIBLE_DEVICES");
	enum python_meaning meaning = MEANS_UNKNOWN;

	launched_name(f, t->text);
	if (t->plain)
		meaning = python_variable(t->text).meaning;
	if (block_now(f)->attempt)
		python_environ_look(&f->blocks[block_now(f)->attempt].read, t->text);
	if (meaning == MEANS_LOCAL_RANK)
		f->facts.reads_local_rank = true;
	if (list || meaning == MEANS_LOCAL_RANK || meaning == MEANS_RANK)
		f->facts.names_variables = true;
	if (!list || !is_at(f, i + 1, past, ":"))
		return;
	python_environ_list(f, i, python_value(f, i + 2, python_value_end(f, i + 2, past)));
}

/* Handles every call and name in [first, past). */
static void walk(struct python_file *f, unsigned first, unsigned past)
{
	for (unsigned i = first; i < past; i++) {
		const struct python_token *t = token_at(f, i);

		if (t->kind == PYTHON_STRING)
			walk_string(f, i, past);
		if (reads_argument(f, i, past))
			f->facts.reads_argument = true;
		choice_token(f, i);
		if (t->kind == PYTHON_SIGN && i > first && span_is(t->text, ":="))
			names_set(&f->names, token_at(f, i - 1)->text, block_now(f)->function,
				  python_unknown);
		training_token(f, i);
		if (t->kind != PYTHON_NAME)
			continue;
		functions_call(f, i, false);
		if (i > first && is_at(f, i + 1, past, "=") && i + 2 < past)
			keyword(f, i, past);
		if (i == first || !token_is(token_at(f, i - 1), "."))
			walk_path(f, i, past);
		else if (is_at(f, i + 1, past, "(") && token_at(f, i + 1)->past > i + 2)
			python_call(f, NULL, i, i + 1);
	}
}

/* del os.environ["A"] */
static void removes(struct python_file *f, unsigned at, unsigned past)
{
	char path[MAX_PATH];
	struct span chain;
	unsigned end = python_chain(f, at, &chain);

	if (end && end + 1 < past && token_is(token_at(f, end), "[") &&
	    streq(python_path(f, chain, path), "os.environ"))
		python_environ_set(f, end + 1, 0, 0, OBSERVED_REMOVES);
}

/* global a, b; nonlocal a: a function assigns names of the file, or of functions around it. */
static void assigned_here(struct python_file *f, unsigned first, unsigned past, bool global)
{
	for (unsigned i = first; i < past; i++)
		for (int k = global ? 0 : f->depth; k >= 0; k--)
			if (global || f->blocks[k].function != block_now(f)->function)
				names_set(&f->names, token_at(f, i)->text,
					  global ? 0 : f->blocks[k].function, python_unknown);
}

static void simple(struct python_file *f, unsigned first, unsigned past)
{
	if (first >= past)
		return;
	if (token_is_any(token_at(f, first), "global nonlocal"))
		assigned_here(f, first + 1, past, token_is(token_at(f, first), "global"));
	if (token_is(token_at(f, first), "import")) {
		import(f, first + 1, past);
	} else if (token_is(token_at(f, first), "from")) {
		import_from(f, first + 1, past);
	} else {
		walk(f, first, past);
		python_leave(f, first, past);
		python_arguments(f, first, past);
		if (token_is(token_at(f, first), "del"))
			removes(f, first + 1, past);
		assignments(f, first, past);
		augmented(f, first);
		moves(f, first, past);
		changes_list(f, first, past);
	}
}

/* Whether a token begins a condition inside of a statement, except one for the lack of GPUs. */
static bool is_condition(const struct python_file *f, unsigned i)
{
	const struct python_token *t = token_at(f, i);

	if (t->kind != PYTHON_NAME || t->text.length > 3)
		return false;
	if (token_is_any(t, "and or"))
		return true;
	if (!i || !token_is(t, "if"))
		return false;
	for (unsigned k = i; k < f->text.count && k < i + MAX_VALUE; k++)
		if (token_is(token_at(f, k), "is_available"))
			return false;
	return true;
}

static void statement(struct python_file *f)
{
	unsigned colon, first;
	int indent = f->text.indent;

	while (indent >= 0 && f->depth && block_now(f)->indent >= indent)
		f->depth--;
	f->deferred = f->conditional = f->ends = false;
	for (unsigned i = 0; i < f->text.count; i++) {
		f->deferred |= token_is(token_at(f, i), "lambda");
		f->conditional |= is_condition(f, i);
	}
	f->chosen = f->training.saves && guard_condition(f);
	choice_statement(f);
	colon = python_head(f);
	if (!colon) {
		/* A decorator is about the definition behind it. */
		f->patched = is_at(f, 0, f->text.count, "@") &&
			     (f->patched || python_environ_patched(f, f->text.count));
		f->wrapped =
			is_at(f, 0, f->text.count, "@") && (f->wrapped || !guard_is_harmless(f));
		simple(f, 0, f->text.count);
		return;
	}
	first = token_is(token_at(f, 0), "async");
	f->definition = is_at(f, first, colon, "def");
	if (f->definition && span_starts(token_at(f, first + 1)->text, "test_")) {
		f->facts.names_tests = true;
		see_mock(f);
	}
	if (f->definition || is_at(f, first, colon, "class"))
		python_defined(f, token_at(f, first + 1)->text);
	else
		python_arguments(f, 1, colon);
	walk(f, 1, colon);
	f->definition = false;
	python_enter(f, colon, indent);
	simple(f, colon + 1, f->text.count);
}

void python_scan(struct python_file *f)
{
	while (python_next(&f->text))
		statement(f);
	functions_find_uses(f);
	functions_find_runs(f);
	guard_find_reached(f);
}
