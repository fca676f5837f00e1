/* SPDX-License-Identifier: MIT */
/* What a program does to its own environment. */
#include "lint/python_file.h"

#include "rankenv.h"

/* Those whose value a launcher or the user decides. */
static bool is_watched(struct span name)
{
	static const char *const names[] = {
		"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "WORLD_SIZE", "RANK",
		"LOCAL_RANK",           "MASTER_ADDR",       "MASTER_PORT"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (span_is(name, names[i]))
			return true;
	return false;
}

void python_environ_name(struct python_file *f, unsigned at)
{
	const struct python_token *t = &f->text.tokens[at];

	if (t->kind == PYTHON_STRING && misspelt_variable(t->text)) {
		struct observation *s = observation_add(f, OBSERVED_MISSPELT, t);

		if (s)
			s->name = t->text;
	}
}

/* A variable that some launcher sets. */
static bool is_launchers(struct span name)
{
	return is_watched(name) || rankenv_meaning(name) != RANKENV_NOTHING ||
	       span_starts(name, "SLURM_") || span_starts(name, "OMPI_") ||
	       span_starts(name, "PMI");
}

/* Whether an expression is made from another launcher's variable, or from the old value of `name`:
 * a rewrite, which drops nothing (rule S2). */
static bool is_derived(const struct python_file *f, struct span name, unsigned first, unsigned past)
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

/* From here on the list is known, or that it is not, also behind the blocks around. One that
 * comes too late is nobody's (rule S4). */
static void remember_list(struct python_file *f, const struct observation *s)
{
	bool known =
		s->value.meaning == MEANS_TEXT && s->verb == OBSERVED_SETS && !s->initialised.text;
	struct python_block *b = block_now(f);

	b->listed = true;
	b->list = known ? arena_strndup(&f->arena, s->value.text.text, s->value.text.length) : NULL;
	for (int i = f->depth - 1; i >= 0 && f->blocks[i].function == b->function; i--) {
		f->blocks[i].listed = true;
		f->blocks[i].list = NULL;
	}
}

static bool tested(const struct python_file *f, struct span name)
{
	for (int i = f->depth; i > 0; i--) {
		const struct span *t = &f->blocks[i].tested;

		if (t->text && span_same(*t, name))
			return true;
	}
	return false;
}

void python_environ_set(struct python_file *f, unsigned at, unsigned first, unsigned past,
			enum observation_verb verb)
{
	const struct python_token *t = &f->text.tokens[at];
	struct observation *s;

	if (t->kind != PYTHON_STRING && t->kind != PYTHON_NAME)
		return;
	if (!is_watched(t->text))
		return;
	s = observation_add(f, OBSERVED_VARIABLE, t);
	if (!s)
		return;
	s->name = t->text;
	s->verb = verb == OBSERVED_SETS && tested(f, s->name) ? OBSERVED_DEFAULTS : verb;
	if (verb != OBSERVED_REMOVES)
		s->value = python_value(f, first, past);
	if (s->value.meaning == MEANS_CPU || s->value.meaning == MEANS_CUDA)
		s->value.meaning = MEANS_TEXT;
	if (s->value.meaning != MEANS_TEXT && s->value.meaning != MEANS_LOCAL_RANK &&
	    verb != OBSERVED_REMOVES && is_derived(f, s->name, first, past))
		s->value.meaning = MEANS_DERIVED;
	if (!span_is(s->name, "CUDA_VISIBLE_DEVICES"))
		return;
	if (s->value.meaning != MEANS_TEXT && verb != OBSERVED_REMOVES)
		f->facts.own_list = true;
	remember_list(f, s);
}

/* os.environ.update({"A": "1"}, B="2") */
static void update(struct python_file *f, unsigned open)
{
	struct python_argument a;
	unsigned at = open + 1;

	while (python_argument(f, open, &at, &a)) {
		const struct python_token *t = &f->text.tokens[a.first];
		struct python_argument member;
		unsigned inner = a.first + 1;

		if (a.name.text)
			python_environ_set(f, a.first - 2, a.first, a.past, OBSERVED_SETS);
		if (a.name.text || !token_is(t, "{") || t->past != a.past)
			continue;
		while (python_argument(f, a.first, &inner, &member))
			if (member.past > member.first + 2 &&
			    token_is(&f->text.tokens[member.first + 1], ":"))
				python_environ_set(f, member.first, member.first + 2, member.past,
						   OBSERVED_SETS);
	}
}

void python_environ_call(struct python_file *f, const char *path, unsigned open)
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
	static const char *const readers[] = {"os.getenv", "os.environ.get"};
	struct python_argument name, value = {0};
	unsigned at = open + 1;

	if (streq(path, "os.environ.update")) {
		update(f, open);
		return;
	}
	if (!python_argument(f, open, &at, &name) || name.past != name.first + 1)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		if (streq(path, readers[i]))
			python_environ_name(f, name.first);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (!streq(path, calls[i].path))
			continue;
		python_environ_name(f, name.first);
		if (calls[i].verb == OBSERVED_REMOVES || python_argument(f, open, &at, &value))
			python_environ_set(f, name.first, value.first, value.past, calls[i].verb);
	}
}
