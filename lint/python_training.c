/* SPDX-License-Identifier: MIT */
/* Gives what the scan sees to the files that know modules, loaders, checkpoints and guards. */
#include "lint/python_file.h"

void training_begin(struct python_file *f, struct span text)
{
	struct python_training *t = &f->training;

	/* Each search is a pass over the text. */
	t->lists = span_has(text, "CUDA_VISIBLE_DEVICES");
	if (!span_has(text, "torch"))
		return;
	if (span_has(text, "Data")) {
		t->distributed = span_has(text, "DistributedDataParallel");
		t->watched = t->distributed || span_has(text, "DataParallel") ||
			     span_has(text, "DataLoader(");
	}
	t->groups = span_has(text, "init_process_group");
	t->watched |= t->groups;
	if (t->groups)
		t->unset = !span_has(text, "MASTER_ADDR")   ? "MASTER_ADDR"
			   : !span_has(text, "MASTER_PORT") ? "MASTER_PORT"
							    : NULL;
	if (!t->watched)
		return;
	t->saves = (t->distributed || t->groups) && span_has(text, "torch.save");
	t->unused_ok = span_has(text, "find_unused_parameters") || span_has(text, "static_graph") ||
		       span_has(text, "requires_grad");
	t->sets_epoch = span_has(text, "set_epoch");
	t->moves = t->distributed && module_may_move(text);
}

void training_import(struct python_file *f, struct span path, struct span name)
{
	static const char handling[] =
		"dist slurm setup launch ddp rank env mpi hostlist submitit init cluster lightning "
		"accelerate deepspeed transformers ignite *";
	struct span head = {path.text, span_before(path, ".")};

	average_import(f, path);
	if (span_is(head, "horovod") && !block_now(f)->may)
		f->training.horovod = true;
	if (span_is_any(head,
			"torch torchvision torchaudio numpy os sys argparse time math json random "
			"datetime pathlib typing functools itertools logging collections copy glob "
			"re shutil PIL tqdm warnings contextlib dataclasses tempfile __future__ "
			"socket string abc enum pickle csv io pandas scipy sklearn matplotlib yaml "
			"operator signal gc inspect traceback subprocess platform cv2 queue "
			"threading textwrap statistics pprint builtins types multiprocessing"))
		return;
	f->training.foreign = true;
	f->training.handles |= span_has_any(path, handling) || span_has_any(name, handling);
}

void training_token(struct python_file *f, unsigned at)
{
	struct python_training *t = &f->training;
	const struct python_token *token = token_at(f, at);
	bool name = token->kind == PYTHON_NAME;

	if (!t->watched)
		return;
	if (name && t->groups)
		average_token(f, at);
	if ((name || token->kind == PYTHON_STRING) && (block_now(f)->owner || t->distributed))
		module_token(f, at);
	if (name && t->groups && at && token_is(token, "backward") &&
	    token_is(token_at(f, at - 1), ".") && is_at(f, at + 1, f->text.count, "("))
		observation_add(f, OBSERVED_BACKWARD, token);
}

void training_name(struct python_file *f, unsigned at, unsigned end)
{
	struct python_training *t = &f->training;
	int function = block_now(f)->function;
	struct span chain;

	if (!t->object_count)
		return;
	python_chain(f, at, &chain);
	for (size_t i = 0; i < t->object_count; i++) {
		struct python_object *o = &t->objects[i];

		if (o->function != function || o->name.length > chain.length ||
		    memcmp(chain.text, o->name.text, o->name.length) != 0 ||
		    (chain.length > o->name.length && chain.text[o->name.length] != '.'))
			continue;
		if (o->kind == OBJECT_MODULE)
			module_use(f, o, at, end);
		else if (o->kind == OBJECT_LOADED || o->kind == OBJECT_STATE)
			checkpoint_use(f, o, at, end);
	}
}

/* A function that is started in other processes is called in all of them. */
static void see_spawn(struct python_file *f, const char *path, unsigned open)
{
	bool spawn = text_ends(path, "multiprocessing.spawn") || text_ends(path, "start_processes");
	struct python_argument a;

	if (!f->training.saves || (!spawn && !text_ends(path, ".Process")))
		return;
	if (python_argument_find(f, open, spawn ? "fn" : "target", spawn ? 0 : 1, &a) &&
	    a.past == a.first + 1)
		functions_call(f, a.first, true);
}

void training_call(struct python_file *f, const char *path, unsigned at, unsigned open)
{
	struct python_training *t = &f->training;

	/* A function that the file itself calls: main(), or sys.exit(main()). */
	t->program |=
		path && !f->depth && !strchr(path, '.') && (!at || token_is(token_at(f, 0), "sys"));
	t->splits |= !path && token_is_any(token_at(f, at), "Split Split_type");
	if (!t->watched)
		return;
	checkpoint_call(f, path, at, open);
	if (!path)
		return;
	t->moved_folder |= streq(path, "os.chdir");
	t->places |= span_is_any(span_of(path),
				 "torch.set_default_device torch.set_default_tensor_type") ||
		     (token_is(token_at(f, 0), "with") &&
		      (strstr(path, "init") || strstr(path, "Init") || text_ends(path, "device")) &&
		      !streq(path, "torch.cuda.device"));
	loading_call(f, path, at, open);
	module_call(f, path, at, open);
	see_spawn(f, path, open);
}

void training_assign(struct python_file *f, unsigned first, unsigned past, unsigned from,
		     unsigned to)
{
	struct python_object o;
	struct span name;

	if (!f->training.watched)
		return;
	module_layer(f, first, past, from, to);
	name = python_whole_chain(f, first, past);
	for (unsigned i = first, end; !name.text && i < past; i = end ? end : i + 1) {
		struct span chain;

		end = python_chain(f, i, &chain);
		if (end && !is_at(f, end, past, "[") && !is_at(f, end, past, "("))
			objects_put(f, chain, object_nothing);
	}
	if (!name.text || checkpoint_assign(f, name, from, to))
		return;
	o = loading_value(f, from, to);
	if (o.kind == OBJECT_NOTHING)
		o = checkpoint_value(f, from, to);
	if (o.kind == OBJECT_NOTHING)
		o = module_value(f, from, to);
	f->training.makes |= o.kind == OBJECT_MODULE && !o.maker.text && !block_now(f)->owner;
	objects_put(f, name, o);
}

void training_enter(struct python_file *f, unsigned colon)
{
	struct python_training *t = &f->training;
	unsigned first = token_is(token_at(f, 0), "async");
	struct python_block *b = block_now(f), *around = f->depth ? b - 1 : b;
	bool definition = token_is(token_at(f, first), "def");
	struct span name;

	if (first + 1 >= colon)
		return;
	name = token_at(f, first + 1)->text;
	if (definition)
		b->method = name;
	if (!t->watched)
		return;
	if (definition) {
		if (around->member && around->owner && span_is(name, "forward"))
			t->classes[around->owner - 1].forward = true;
	} else if (token_is(token_at(f, first), "class")) {
		b->owner = 0;
		module_class(f, first + 1, colon);
	} else if (token_is(token_at(f, first), "for")) {
		loading_loop(f, first + 1, colon);
		objects_put(f, name, object_nothing);
	}
}

/* --- the judges ------------------------------------------------------------------------- */

void judge_blocking(const struct python_judge *judge, const struct observation *s)
{
	/* Behind a condition or in a function it is a switch for the search of faults. */
	if (s->may || s->otherwise || s->function || s->patched || judge->file->facts.tests)
		return;
	judge_report(judge, s, FINDING_BLOCKING, NULL,
		     "remove it when the fault is found, and set it before the command: "
		     "CUDA_LAUNCH_BLOCKING=1 python3 FILE",
		     "CUDA_LAUNCH_BLOCKING is set in code: every kernel is waited for, which makes "
		     "training slower");
}
