/* SPDX-License-Identifier: MIT */
/*
 * Modules of PyTorch: whether one is still on the CPU, whether DataParallel or
 * DistributedDataParallel has it, and the layers of the file's own classes.
 */
#include "lint/python_file.h"

/* The scope in which the attributes that are read are names. */
enum { READ = -3 };

enum { LONGEST = 512 /* tokens of an expression */ };

bool module_is_parallel(const char *path)
{
	return starts_with(path, "torch.nn.") &&
	       span_is_any(span_of(objects_last(path)), "DataParallel DistributedDataParallel");
}

/* Whether a class of PyTorch makes parameters whatever its arguments are. */
static bool has_parameters(const char *path)
{
	if (!starts_with(path, "torch.nn.") || strchr(path + 9, '.'))
		return false;
	return span_starts_any(span_of(path + 9),
			       "Linear Bilinear Conv LayerNorm GroupNorm BatchNorm Embedding LSTM "
			       "GRU Parameter RNN MultiheadAttention TransformerEncoderLayer");
}

/* Whether the tokens of a call may choose a device. */
static bool may_place(const struct python_file *f, unsigned first, unsigned past)
{
	return python_find(f, first, past, "* ** device cuda to lambda") < past;
}

/* Whether the call at `open` of a class of PyTorch makes a layer with parameters. */
static bool makes_layer(const struct python_file *f, const char *path, unsigned open)
{
	unsigned past = token_at(f, open)->past;
	char inner[MAX_PATH];
	struct span chain;

	for (unsigned i = open; i < past; i++)
		if (span_starts(token_at(f, i)->text, "elementwise_affine") ||
		    token_is_any(token_at(f, i), "affine requires_grad"))
			return false;
	if (!span_is_any(span_of(path),
			 "torch.nn.Sequential torch.nn.ModuleList torch.nn.ModuleDict"))
		return has_parameters(path);
	for (unsigned i = open + 1, end; i < past; i = end ? end : i + 1) {
		end = python_chain(f, i, &chain);
		if (end && is_at(f, end, past, "(") && has_parameters(python_path(f, chain, inner)))
			return true;
	}
	return false;
}

/* --- classes ---------------------------------------------------------------------------- */

static struct python_class *class_named(const struct python_file *f, const char *path)
{
	for (size_t i = f->training.class_count; i > 0; i--)
		if (span_is(f->training.classes[i - 1].name, path))
			return &f->training.classes[i - 1];
	return NULL;
}

static struct python_class *class_now(struct python_file *f)
{
	int owner = block_now(f)->owner;

	return owner ? &f->training.classes[owner - 1] : NULL;
}

void module_class(struct python_file *f, unsigned name, unsigned past)
{
	struct python_training *t = &f->training;
	char path[MAX_PATH] = "";
	struct span base;
	unsigned end = is_at(f, name + 1, past, "(") ? python_chain(f, name + 2, &base) : 0;

	if (t->class_count == MAX_CLASSES)
		return;
	if (end && token_at(f, name + 1)->past == end + 1)
		python_path(f, base, path);
	*ARENA_NEXT(&f->arena, t->classes, t->class_count, t->class_room) = (struct python_class){
		.name = token_at(f, name)->text,
		.module = span_is_any(span_of(path), "torch.nn.Module torch.nn.modules.Module")};
	block_now(f)->owner = (int)t->class_count;
}

/* Whether the token is the X of the assignment self.X = ... */
static bool is_own_target(const struct python_file *f, unsigned at)
{
	return at == 2 && token_is(token_at(f, 0), "self") &&
	       (is_at(f, 3, f->text.count, "=") || is_at(f, 3, f->text.count, ":"));
}

void module_token(struct python_file *f, unsigned at)
{
	const struct python_token *t = token_at(f, at);
	struct python_class *c = class_now(f);
	bool name = t->kind == PYTHON_NAME, begins = span_is(block_now(f)->method, "__init__");

	c = c && c->module ? c : NULL;
	if (c && name) {
		c->moves |= token_is_any(t, "cuda to device xpu get_default_device");
		c->walks |= (token_is_any(
				     t, "children named_children modules named_modules _modules "
					"getattr __dict__ vars __getattr__ get_submodule "
					"register_module add_module parameters named_parameters") &&
			     !(begins && token_is(t, "modules")));
	}
	if (!f->training.distributed || is_own_target(f, at))
		return;
	if (name ? at && token_is(token_at(f, at - 1), ".")
		 : t->kind == PYTHON_STRING && t->text.length < MAX_VALUE)
		names_set(&f->names, t->text, READ,
			  (struct python_value){.meaning = MEANS_NUMBER, .number = 1});
}

void module_layer(struct python_file *f, unsigned first, unsigned past, unsigned from, unsigned to)
{
	struct python_training *t = &f->training;
	struct python_class *c = class_now(f);
	struct span chain = python_whole_chain(f, first, past);
	unsigned end;
	char path[MAX_PATH];

	if (!c || past != first + 3 || !span_starts(chain, "self.") ||
	    !span_is(block_now(f)->method, "__init__"))
		return;
	end = python_chain(f, from, &chain);
	if (!end || !is_at(f, end, to, "(") || token_at(f, end)->past != to ||
	    !makes_layer(f, python_path(f, chain, path), end))
		return;
	c->layers |= !block_now(f)->may && !may_place(f, end, to);
	if (!t->distributed || block_now(f)->may || block_now(f)->repeated ||
	    t->layer_count == MAX_LAYERS)
		return;
	*ARENA_NEXT(&f->arena, t->layers, t->layer_count, t->layer_room) =
		(struct python_layer){.name = token_at(f, first + 2)->text,
				      .class = block_now(f)->owner,
				      .line = token_at(f, first)->line,
				      .column = token_at(f, first)->column};
}

/* --- values ----------------------------------------------------------------------------- */

/* The module that the call of `path` makes. */
static struct python_object made(struct python_file *f, const char *path, struct span name,
				 unsigned open)
{
	bool placed = may_place(f, open, token_at(f, open)->past);
	struct python_object o = {.kind = OBJECT_MODULE, .whole = true};
	const struct python_class *c = class_named(f, path);
	struct python_argument a;

	if (module_is_parallel(path)) {
		if (!python_argument_find(f, open, "module", 0, &a))
			return object_nothing;
		o = module_value(f, a.first, a.past);
		if (o.kind == OBJECT_NOTHING)
			o = (struct python_object){.kind = OBJECT_MODULE};
		o.fresh = false;
		o.wrapped = true;
		return o;
	}
	if (c) {
		if (!c->module)
			return object_nothing;
		o.class = (int)(c - f->training.classes) + 1;
		o.fresh = c->layers && !c->moves && !placed;
		return o;
	}
	if (makes_layer(f, path, open) || (starts_with(path, "torchvision.models.") && !placed)) {
		o.fresh = !placed;
		return o;
	}
	/* A class of another file: what it does is not known. */
	if (!is_upper(*objects_last(path)))
		return object_nothing;
	return (struct python_object){.kind = OBJECT_MODULE, .maker = name};
}

/* The module that a method returns: net.cuda(), net.train() */
static struct python_object returned(struct python_file *f, unsigned first, unsigned method)
{
	struct python_object o = module_value(f, first, method - 1);
	bool moves = token_is_any(token_at(f, method), "cuda to");

	if (o.kind == OBJECT_NOTHING)
		return o;
	if (token_is_any(token_at(f, method),
			 "train eval float double half bfloat16 requires_grad_")) {
		o.whole = o.whole && !token_is(token_at(f, method), "requires_grad_");
		return o;
	}
	o.fresh = false;
	return moves ? o : object_nothing;
}

struct python_object module_value(struct python_file *f, unsigned first, unsigned past)
{
	struct span chain;
	unsigned end = first < past ? python_chain(f, first, &chain) : 0, open;
	const struct python_object *known;
	struct python_object o;
	char path[MAX_PATH];

	/* What is longer is also deeper. */
	if (!end || past - first > LONGEST)
		return object_nothing;
	if (end >= past) {
		chain = python_whole_chain(f, first, past);
		known = objects_find(f, chain);
		if (known)
			return known->kind == OBJECT_MODULE ? *known : object_nothing;
		if (past < first + 3 || !token_is(token_at(f, past - 1), "module"))
			return object_nothing;
		/* The module inside of DataParallel. */
		o = module_value(f, first, past - 2);
		if (!o.wrapped)
			return object_nothing;
		o.wrapped = false;
		return o;
	}
	open = python_last_bracket(f, end, past);
	if (!is_at(f, open, past, "("))
		return object_nothing;
	if (open == end) {
		python_path(f, chain, path);
		if (streq(objects_last(path), "convert_sync_batchnorm") &&
		    token_at(f, open)->past > open + 2)
			return module_value(f, open + 1, past - 1);
		o = made(f, path, chain, open);
		if (o.kind != OBJECT_NOTHING)
			return o;
	}
	if (open > first + 2 && is_at(f, open - 2, past, "."))
		return returned(f, first, open - 1);
	return object_nothing;
}

/* Whether a call changes nothing of the module that it is given. */
static bool leaves_alone(const char *path)
{
	return module_is_parallel(path) ||
	       span_is_any(span_of(path),
			   "print len str type isinstance id hasattr torch.nn.Sequential");
}

void module_use(struct python_file *f, struct python_object *o, unsigned at, unsigned end)
{
	struct span chain, rest;
	char path[MAX_PATH];
	unsigned open = 0;

	python_chain(f, at, &chain);
	rest = span_from(chain, chain.text + o->name.length);
	if (rest.length) {
		bool keeps;

		rest = span_from(rest, rest.text + 1);
		keeps = span_is_any(rest, "train eval float double half bfloat16 state_dict "
					  "load_state_dict zero_grad parameters named_parameters");
		o->fresh = o->fresh && keeps && !token_is(token_at(f, 0), "for");
		o->whole = o->whole && (keeps || span_is_any(rest, "cuda to")) &&
			   !token_is(token_at(f, 0), "for");
		return;
	}
	/* net(x), and net = ..., which is handled where it is assigned. */
	if (is_at(f, end, f->text.count, "(") || (!at && is_at(f, end, f->text.count, "=")))
		return;
	if (objects_around(f, at, &open, path) && token_is(token_at(f, open), "(") &&
	    leaves_alone(path))
		return;
	o->fresh = o->whole = false;
}

/* --- calls and judges --------------------------------------------------------------------- */

void module_call(struct python_file *f, const char *path, unsigned at, unsigned open)
{
	struct python_object o;
	struct python_argument a;

	if (!streq(objects_last(path), "DistributedDataParallel") || !module_is_parallel(path) ||
	    !python_argument_find(f, open, "module", 0, &a))
		return;
	o = module_value(f, a.first, a.past);
	if (o.kind != OBJECT_MODULE || o.wrapped)
		return;
	if (o.class && o.whole && !f->deferred)
		f->training.classes[o.class - 1].distributed = true;
	/* device_ids=[] and None are for modules on the CPU. */
	if (!o.fresh || !python_argument_find(f, open, "device_ids", 1, &a) ||
	    !is_bracket(f, a.first, a.past, "[") || a.past == a.first + 2)
		return;
	observation_add(f, OBSERVED_NOT_MOVED, token_at(f, at));
}

bool module_may_move(struct span text)
{
	static const char *const texts[] = {
		"enter_context", "__enter__",  "assign=",   "getattr(", "vars(",  "_to_parameters",
		"self.to(",      "self.cuda(", "class DDP", "().cuda(", "().to(", "with device"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (span_has(text, texts[i]))
			return true;
	return false;
}

void judge_not_moved(const struct python_judge *judge, const struct observation *s)
{
	const struct python_training *t = &judge->file->training;

	if (t->places || t->moves || judge->file->facts.tests || s->doubtful)
		return;
	judge_report(judge, s, FINDING_NOT_MOVED, "G7",
		     "move it first: model.cuda(local_rank), or model.to(device)",
		     "no line moves the module from the CPU, as far as this file shows, and "
		     "DistributedDataParallel with device_ids takes only one on its GPU: else it "
		     "raises ValueError");
}

void judge_layers(const struct python_judge *judge)
{
	const struct python_file *f = judge->file;
	const struct python_training *t = &f->training;

	for (size_t i = 0; i < t->layer_count && !t->unused_ok && !f->facts.tests; i++) {
		const struct python_layer *l = &t->layers[i];
		const struct python_class *c = &t->classes[l->class - 1];

		if (!c->module || !c->distributed || !c->forward || c->walks ||
		    names_get(&f->names, l->name, READ))
			continue;
		report_add(judge->report, FINDING_UNUSED_LAYER,
			   ABOUT(.origin = judge->origin, .line = l->line, .column = l->column,
				 .fix = "remove it, or give DistributedDataParallel "
					"find_unused_parameters=True"),
			   "layer %s is not used by forward(), so it gets no gradient: "
			   "DistributedDataParallel waits for it, and raises RuntimeError in the "
			   "second step",
			   QUOTE(l->name));
	}
}
