/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints: whether keys that begin with module. meet a module without them, who writes the
 * file, and where tensors are put that are read from it.
 */
#include "lint/python_file.h"

/* The source of an expression. */
static struct span source(const struct python_file *f, unsigned first, unsigned past)
{
	const struct python_token *a = token_at(f, first), *b;

	if (first >= past)
		return (struct span){"", 0};
	b = token_at(f, past - 1);
	return (struct span){a->text.text, (size_t)(b->text.text + b->text.length - a->text.text)};
}

/* The file that an expression names, if it is the same text wherever it stands. */
static struct span file_named(const struct python_file *f, unsigned first, unsigned past)
{
	struct python_value v = python_value(f, first, past);
	struct span chain = python_whole_chain(f, first, past);

	if (v.meaning == MEANS_TEXT)
		return v.text;
	/* The same name in another function may be another file. */
	if (chain.text && span_starts_any(chain, "args. opt."))
		return chain;
	return f->blocks[f->depth].function ? NO_SPAN : source(f, first, past);
}

static bool is_text(const struct python_file *f, unsigned first, unsigned past)
{
	return past == first + 1 && token_at(f, first)->kind == PYTHON_STRING;
}

/* --- states ----------------------------------------------------------------------------- */

/* The state that net.state_dict() returns. */
static struct python_object state_value(struct python_file *f, unsigned first, unsigned past)
{
	struct span chain;
	unsigned end = first < past ? python_chain(f, first, &chain) : 0;
	const struct python_object *known;
	struct python_object net;

	if (!end || end > past)
		return object_nothing;
	if (end == past) {
		known = objects_find(f, chain);
		return known && known->kind == OBJECT_STATE && !known->key.text ? *known
										: object_nothing;
	}
	if (end < first + 3 || past != end + 2 || !token_is(token_at(f, end - 1), "state_dict") ||
	    !token_is(token_at(f, end), "("))
		return object_nothing;
	net = module_value(f, first, end - 2);
	if (net.kind != OBJECT_MODULE)
		return object_nothing;
	return (struct python_object){.kind = OBJECT_STATE,
				      .wrapped = net.wrapped,
				      .maker = net.maker,
				      .line = token_at(f, first)->line};
}

/* The entries of {"a": net.state_dict()}, or of dict(a=...), each given to `put`. */
static bool each_state(struct python_file *f, unsigned first, unsigned past,
		       void (*put)(struct python_file *f, struct span name, struct python_object o),
		       struct span name)
{
	struct python_argument a;
	unsigned at = first + 1;
	bool any = false;

	if (!is_bracket(f, first, past, "{"))
		return false;
	while (python_argument(f, first, &at, &a)) {
		struct python_object o;

		if (a.past < a.first + 3 || !is_text(f, a.first, a.first + 1) ||
		    !token_is(token_at(f, a.first + 1), ":"))
			continue;
		o = state_value(f, a.first + 2, a.past);
		o.key = token_at(f, a.first)->text;
		if (o.kind != OBJECT_STATE)
			continue;
		put(f, name, o);
		any = true;
	}
	return any;
}

/* A dictionary with states is known by its one state: {"epoch": 3, "model": net.state_dict()} */
bool checkpoint_assign(struct python_file *f, struct span name, unsigned from, unsigned to)
{
	return each_state(f, from, to, objects_put, name);
}

/* --- loading ---------------------------------------------------------------------------- */

/* What torch.load(path) returns. */
static struct python_object loaded(const struct python_file *f, unsigned at, unsigned open)
{
	struct python_object o = {.kind = OBJECT_LOADED,
				  .line = token_at(f, at)->line,
				  .column = token_at(f, at)->column};
	struct python_argument a;

	if (python_argument_find(f, open, "f", 0, &a))
		o.path = file_named(f, a.first, a.past);
	o.mapped =
		python_has_argument(f, open, "map_location", 1) || python_hides_arguments(f, open);
	return o;
}

struct python_object checkpoint_value(struct python_file *f, unsigned first, unsigned past)
{
	struct span chain;
	unsigned end = first < past ? python_chain(f, first, &chain) : 0;
	const struct python_object *known;
	struct python_object o = object_nothing;
	char path[MAX_PATH];

	if (!end || end > past)
		return object_nothing;
	known = objects_find(f, chain);
	if (end == past && known && known->kind == OBJECT_STATE)
		return *known;
	if (known && known->kind == OBJECT_LOADED) {
		o = *known;
	} else if (is_at(f, end, past, "(") && streq(python_path(f, chain, path), "torch.load")) {
		o = loaded(f, first, end);
		end = token_at(f, end)->past;
	} else {
		return state_value(f, first, past);
	}
	if (end == past)
		return o;
	/* ckpt["key"] */
	if (o.key.text || !is_at(f, end, past, "[") || past != end + 3 ||
	    !is_text(f, end + 1, end + 2))
		return object_nothing;
	o.key = token_at(f, end + 1)->text;
	return o;
}

void checkpoint_use(struct python_file *f, struct python_object *o, unsigned at, unsigned end)
{
	unsigned past = f->text.count, open = 0;
	char path[MAX_PATH];
	struct span chain;
	bool reads = false;

	python_chain(f, at, &chain);
	if (chain.length > o->name.length) {
		chain = span_from(chain, chain.text + o->name.length);
		o->changed |= !span_is_any(chain, ".get .keys");
		return;
	}
	if (!at && is_at(f, end, past, "="))
		return;
	/* ckpt["a"] is read, unless it is assigned or deleted. */
	if (is_at(f, end, past, "[") && at && !token_is(token_at(f, 0), "del")) {
		unsigned after = token_at(f, end)->past;

		o->changed |= is_at(f, after, past, "=") || is_at(f, after, past, ".");
		return;
	}
	if (objects_around(f, at, &open, path) && token_is(token_at(f, open), "("))
		reads = span_is_any(span_of(objects_last(path)), "load_state_dict print len save");
	reads |= at && token_is(token_at(f, at - 1), "in") && token_is(token_at(f, 0), "if");
	o->changed |= !reads;
}

static bool same_span(struct span a, struct span b)
{
	return !a.text == !b.text && (!a.text || span_same(a, b));
}

/* The state that the file's own code saves there; NULL: none, or different ones. */
static const struct python_object *saved_as(const struct python_training *t, struct span path,
					    struct span key)
{
	const struct python_object *found = NULL;

	for (size_t i = 0; i < t->saved_count; i++) {
		const struct python_object *s = &t->saved[i];
		bool known = s->kind == OBJECT_STATE;

		if (!span_same(s->path, path) || (known && !same_span(s->key, key)))
			continue;
		if (!known || (found && found->wrapped != s->wrapped))
			return NULL;
		found = s;
	}
	return found;
}

/* net.load_state_dict(STATE): the keys of both. */
static void load_state(struct python_file *f, unsigned at, unsigned open)
{
	unsigned first = objects_head(f, at), next = open + 1;
	struct python_argument a, more;
	struct python_object net, state;
	struct observation *s;

	if (!python_argument(f, open, &next, &a) || a.name.text ||
	    python_argument(f, open, &next, &more) || first + 2 > at)
		return;
	net = module_value(f, first, at - 1);
	state = checkpoint_value(f, a.first, a.past);
	if (net.kind != OBJECT_MODULE || state.kind == OBJECT_NOTHING || state.changed)
		return;
	if (state.kind == OBJECT_STATE &&
	    (state.wrapped == net.wrapped || !same_span(state.maker, net.maker)))
		return;
	if (state.kind == OBJECT_LOADED && !state.path.text)
		return;
	s = observation_add(f, OBSERVED_KEYS, token_at(f, at));
	s->name = state.path;
	s->value.text = state.key;
	s->wrapped = net.wrapped;
	s->maker = net.maker;
	s->other_line = state.kind == OBJECT_STATE ? state.line : 0;
}

/* Whether a dictionary that is loaded in [first, past) is not mapped: the place of torch.load. */
static void see_unmapped(struct python_file *f, unsigned first, unsigned past)
{
	for (unsigned i = first, end; i < past; i = end ? end : i + 1) {
		struct python_object o = object_nothing;
		const struct python_object *known;
		struct observation *s;
		struct span chain;
		char path[MAX_PATH];

		end = python_chain(f, i, &chain);
		if (!end)
			continue;
		known = objects_find(f, chain);
		if (known && known->kind == OBJECT_LOADED)
			o = *known;
		else if (is_at(f, end, past, "(") &&
			 streq(python_path(f, chain, path), "torch.load"))
			o = loaded(f, i, end);
		if (o.kind != OBJECT_LOADED || o.mapped)
			continue;
		s = observation_add(f, OBSERVED_LOAD, token_at(f, i));
		s->line = o.line;
		s->column = o.column;
		s->guarded |= block_now(f)->guarded;
	}
}

/* --- saving ----------------------------------------------------------------------------- */

static void add_save(struct python_file *f, struct span path, struct python_object o)
{
	struct python_training *t = &f->training;

	if (t->saved_count == MAX_SAVES || !path.text)
		return;
	o.path = path;
	o.line = token_at(f, 0)->line;
	*ARENA_NEXT(&f->arena, t->saved, t->saved_count, t->saved_room) = o;
}

/* Whether the names in the text of f"..." are counters. */
static bool counts(struct span text)
{
	for (size_t i = 0; i < text.length; i++) {
		struct span name = span_from(text, text.text + i + 1);

		if (text.text[i] != '{')
			continue;
		name.length = span_before(name, "}:+- !");
		if (!span_is_any(name, "epoch ep step iter i it global_step iteration e n") &&
		    !(span_starts(name, "args.") && !guard_names_rank(name)))
			return false;
		i += name.length;
	}
	return true;
}

/* Whether an expression names one file in every rank. */
static bool is_one_file(const struct python_file *f, unsigned first, unsigned past)
{
	struct python_value v = python_value(f, first, past);
	bool any = v.meaning == MEANS_TEXT;

	for (unsigned i = first; i < past && v.meaning != MEANS_TEXT; i++) {
		const struct python_token *t = token_at(f, i);
		char path[MAX_PATH];
		struct span chain;
		unsigned end = python_chain(f, i, &chain);

		if (t->kind == PYTHON_FORMAT && !counts(t->text))
			return false;
		any |= t->kind == PYTHON_STRING || t->kind == PYTHON_FORMAT;
		if (!end)
			continue;
		if (end > past)
			return false;
		python_path(f, chain, path);
		v = python_value(f, i, end);
		if (v.meaning != MEANS_TEXT && !span_is_any(chain, "epoch step str") &&
		    !streq(path, "os.path.join") &&
		    (!span_starts(chain, "args.") || guard_names_rank(chain)))
			return false;
		any |= span_starts(chain, "args.");
		v.meaning = MEANS_UNKNOWN;
		i = end - 1;
	}
	return any;
}

static void see_save(struct python_file *f, unsigned at, unsigned open)
{
	struct python_argument a, path;
	struct observation *s;
	struct span name;

	if (!python_argument_find(f, open, "obj", 0, &a) ||
	    !python_argument_find(f, open, "f", 1, &path))
		return;
	name = file_named(f, path.first, path.past);
	if (!each_state(f, a.first, a.past, add_save, name))
		add_save(f, name, checkpoint_value(f, a.first, a.past));
	if (!f->training.saves || guard_selected(f) || !is_one_file(f, path.first, path.past))
		return;
	s = observation_add(f, OBSERVED_SAVE, token_at(f, at));
	s->name = source(f, path.first, path.past);
}

void checkpoint_call(struct python_file *f, const char *path, unsigned at, unsigned open)
{
	if (!path) {
		if (!token_is(token_at(f, at), "load_state_dict"))
			return;
		see_unmapped(f, open + 1, token_at(f, open)->past - 1);
		load_state(f, at, open);
	} else if (streq(path, "torch.save")) {
		see_save(f, at, open);
	}
}

/* --- the judges ------------------------------------------------------------------------- */

void judge_keys(const struct python_judge *judge, const struct observation *s)
{
	const struct python_object *saved =
		s->other_line ? NULL : saved_as(&judge->file->training, s->name, s->value.text);
	int line = saved ? saved->line : s->other_line;

	/* Of a class elsewhere it is known only that it is the same one. */
	if (!line ||
	    (saved && (saved->wrapped == s->wrapped || !same_span(saved->maker, s->maker))))
		return;
	if (s->wrapped)
		judge_report(judge, s, FINDING_MODULE_KEYS, NULL,
			     "load it into the module inside: .module.load_state_dict(...)",
			     "the state of line %d is of a bare module, and this one is wrapped by "
			     "DataParallel or DistributedDataParallel: its keys begin with "
			     "module., so all are missing",
			     line);
	else
		judge_report(judge, s, FINDING_MODULE_KEYS, NULL,
			     "save .module.state_dict() of the wrapped one, whose keys fit both",
			     "the state of line %d is of a module that DataParallel or "
			     "DistributedDataParallel wraps: its keys begin with module., and this "
			     "module has none of them",
			     line);
}

/* Whether several ranks run the program, each of which sees all GPUs. */
static bool has_ranks(const struct python_file *f)
{
	return f->facts.distributed && !f->facts.one_process && !f->facts.tests &&
	       !f->facts.frameworks;
}

void judge_load(const struct python_judge *judge, const struct observation *s)
{
	const struct python_file *f = judge->file;

	/* What a program does before it starts its ranks, one process does. */
	if (!has_ranks(f) || s->guarded || f->facts.own_list ||
	    (!s->function && f->facts.spawns_ranks))
		return;
	for (const struct observation *o = f->observations; o < s; o++)
		if (o->kind == s->kind && o->line == s->line)
			return;
	judge_report(
		judge, s, FINDING_LOAD_DEVICE, "G5",
		"torch.load(..., map_location=\"cpu\"), or map_location=f\"cuda:{local_rank}\"",
		"torch.load without map_location puts tensors on the GPU that they were saved "
		"from: all ranks may put them on cuda:0");
}

void judge_save(const struct python_judge *judge, const struct observation *s)
{
	const struct python_file *f = judge->file;

	if (!has_ranks(f) || f->training.moved_folder || s->guarded ||
	    !guard_reached(f, s->function))
		return;
	judge_report(judge, s, FINDING_SAVED_BY_ALL, NULL,
		     "save in one rank: if dist.get_rank() == 0: torch.save(...)",
		     "every rank saves to %s at the same time, which may break the file",
		     QUOTE(s->name));
}
