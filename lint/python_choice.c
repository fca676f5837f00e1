/* SPDX-License-Identifier: MIT */
/*
 * How a program picks its device, if that is sure: each statement about devices is understood, all
 * of them agree, and one is certainly executed. It reports nothing rather than a guess.
 */
#include <stdio.h>

#include "lint/python_file.h"

void choice_import(struct python_file *f, struct span package)
{
	if (!f->choice)
		return;
	/* Calls that pick devices, or start processes that do. */
	f->choice->doubtful |=
		span_is_any(package, "deepspeed pytorch_lightning lightning ray horovod ignite jax "
				     "cupy tensorflow paddle fastai dask");
	/* Calls that do neither. */
	f->choice->foreign |= !span_is_any(
		package,
		"torch torchvision torchaudio numpy os sys argparse time math json random "
		"datetime pathlib typing functools itertools logging collections copy glob "
		"re shutil PIL tqdm warnings contextlib dataclasses tempfile __future__ "
		"socket string abc enum pickle csv io");
}

/* --- picks ------------------------------------------------------------------------------ */

/* Whether a branch before the current statement may have left the function. */
static bool may_be_left(const struct python_file *f)
{
	bool left = false;

	for (int i = f->depth; i >= 0 && f->blocks[i].function == f->blocks[f->depth].function; i--)
		left |= f->blocks[i].left;
	return left;
}

static void pick(struct python_file *f, enum python_pick what, unsigned at, struct python_value v,
		 bool used)
{
	struct python_choice *c = f->choice;
	const struct python_block *b = block_now(f);

	if (c->count == MAX_PICKS || v.unsure) {
		/* Code elsewhere may choose the current device, but it is the same device as this
		 * pick's. */
		c->doubtful |= c->count == MAX_PICKS || what != PICK_CURRENT;
		c->passed = true;
		return;
	}
	c->picks[c->count].pick = what;
	c->picks[c->count].value = v;
	c->picks[c->count].function = b->function;
	c->picks[c->count].used = used;
	c->picks[c->count].line = token_at(f, at)->line;
	c->picks[c->count++].may =
		python_may_have_ended(f) || b->may || b->repeated || f->deferred || may_be_left(f);
}

/* A name whose value is a device, a type or a tensor, not a number: the place of its assignment is
 * examined. */
static bool is_passed(const struct python_file *f, unsigned first, unsigned past)
{
	struct span chain;

	if (python_chain(f, first, &chain) != past)
		return past > first + 2 && is_at(f, past - 2, past, ".") &&
		       is_at(f, past - 1, past, "device");
	return !span_has_any(chain, "rank gpu local idx index id num");
}

/* Whether a condition in the statement, a default or a try decides about a device that is named. */
static bool is_uncertain(const struct python_file *f)
{
	bool caught = f->conditional || f->definition;

	for (int i = f->depth; i >= 0; i--)
		caught |= f->blocks[i].caught;
	return caught;
}

void choice_device(struct python_file *f, unsigned first, unsigned past, struct python_value v,
		   bool used)
{
	if (!f->choice)
		return;
	switch (v.meaning) {
	case MEANS_NUMBER:
	case MEANS_DEVICE:
		v.meaning = MEANS_DEVICE;
		if (is_uncertain(f))
			f->choice->doubtful = true;
		pick(f, PICK_NAMES, first, v, used);
		break;
	case MEANS_RANK:
	case MEANS_LOCAL_RANK:
	case MEANS_MODULO:
		pick(f, PICK_NAMES, first, v, true);
		break;
	case MEANS_CUDA:
		pick(f, PICK_CURRENT, first, v, true);
		break;
	case MEANS_CPU:
	case MEANS_NONE:
		break;
	case MEANS_TEXT: /* "mps" */
		f->choice->doubtful |= span_has_any(v.text, "cuda");
		break;
	default:
		f->choice->passed = true;
		f->choice->doubtful |= !is_passed(f, first, past);
	}
}

void choice_set(struct python_file *f, unsigned at, struct python_value v)
{
	if (!f->choice)
		return;
	if (v.meaning == MEANS_DEVICE || v.meaning == MEANS_RANK || v.meaning == MEANS_LOCAL_RANK ||
	    v.meaning == MEANS_MODULO || v.meaning == MEANS_LOCAL_MODULO)
		pick(f, PICK_SETS, at, v, true);
	else
		f->choice->doubtful = true;
}

/* Whether the value that begins before a token ends there. */
static bool ends_value(const struct python_token *t)
{
	return (t->kind == PYTHON_SIGN && t->text.length && strchr(",)]}:=", *t->text.text)) ||
	       token_is_any(t, "if else");
}

void choice_token(struct python_file *f, unsigned at)
{
	const struct python_token *t = token_at(f, at);
	unsigned past = at + 1;
	struct python_value v;

	if (!f->choice)
		return;
	/* Names that get a value inside an expression are not tracked. */
	if (t->kind == PYTHON_SIGN && span_starts(t->text, ":") &&
	    (t->text.length > 1 || is_at(f, at + 1, f->text.count, "=")))
		f->choice->doubtful = true;
	if (t->kind != PYTHON_STRING && t->kind != PYTHON_FORMAT)
		return;
	if (choice_names_list(f, at))
		f->choice->doubtful = true;
	if (!span_starts(t->text, "cuda:"))
		return;
	if (!choice_is_used(f, at)) {
		f->choice->doubtful = true;
		return;
	}
	while (past < f->text.count && !ends_value(token_at(f, past)))
		past = token_at(f, past)->past;
	v = python_value(f, at, past);
	if (v.meaning == MEANS_UNKNOWN)
		f->choice->doubtful = true;
	else
		choice_device(f, at, past, v, python_device_used(f, at));
}

void choice_statement(struct python_file *f)
{
	struct span chain;

	if (!f->choice || !f->text.count)
		return;
	/* A case is not treated as a branch here. */
	if (token_is(token_at(f, 0), "case") && token_is(token_at(f, f->text.count - 1), ":"))
		f->choice->doubtful = true;
	/* A global name that a function assigns is not the file's own. */
	if (token_is_any(token_at(f, 0), "global nonlocal"))
		for (unsigned i = 1; i < f->text.count; i++)
			if (python_chain(f, i, &chain) &&
			    (!is_passed(f, i, i + 1) || span_has_any(chain, "dev")))
				f->choice->doubtful = true;
}

/* --- calls ---------------------------------------------------------------------------------- */

/* Accelerator() sets the device of its local rank modulo the number of visible GPUs, unless it is
 * given another. */
static void call_accelerator(struct python_file *f, unsigned at, unsigned open)
{
	f->choice->doubtful |=
		python_has_argument(f, open, "cpu", -1) || python_hides_arguments(f, open);
	choice_set(f, at, (struct python_value){.meaning = MEANS_LOCAL_MODULO});
}

static void call_device(struct python_file *f, unsigned at, unsigned open)
{
	struct python_value v = python_value(f, at, token_at(f, open)->past);
	struct python_argument a, second;
	unsigned next = open + 1;
	bool used = python_device_used(f, at);

	if (python_argument(f, open, &next, &a) && !python_argument(f, open, &next, &second))
		choice_device(f, a.first, a.past, v, used);
	else
		choice_device(f, at, token_at(f, open)->past, v, used);
}

void choice_call(struct python_file *f, const char *path, unsigned at, unsigned open)
{
	static const char *const numbering[] = {"rank", "store", "init_method"};

	if (!f->choice)
		return;
	if (span_is_any(span_of(path),
			"torch.cuda.device torch.cuda.device_of torch.set_default_device "
			"torch.nn.DataParallel torch.accelerator.device_index "
			"torch.nn.parallel.DataParallel torch.cuda._set_device setattr getattr "
			"exec eval __import__ functools.partial") ||
	    span_starts_any(span_of(path), "os.exec os.spawn os.posix_spawn importlib. runpy."))
		f->choice->doubtful = true;
	if (streq(path, "torch.device"))
		call_device(f, at, open);
	if (streq(path, "accelerate.Accelerator"))
		call_accelerator(f, at, open);
	/* A mesh of devices sets that of the local rank. */
	if (starts_with(path, "torch.distributed.") && text_ends(path, ".init_device_mesh"))
		choice_set(f, at, (struct python_value){.meaning = MEANS_LOCAL_RANK});
	for (size_t i = 0;
	     streq(path, "torch.distributed.init_process_group") && i < ARRAY_SIZE(numbering); i++)
		f->choice->numbers |= python_has_argument(f, open, numbering[i], -1);
	f->choice->doubtful |= python_has_argument(f, open, "device_map", -1);
}

/* --- the answer ---------------------------------------------------------------------------- */

static bool same_value(struct python_value a, struct python_value b)
{
	return a.meaning == b.meaning && (a.meaning != MEANS_DEVICE || a.number == b.number);
}

/* What decides: set_device, unless that is one device for every process, everything names its own,
 * and nothing uses the current one. */
static enum python_pick decides(const struct python_choice *c, bool distributed)
{
	enum python_pick best = PICK_CURRENT;
	bool named = false, current = distributed || c->passed;

	for (size_t i = 0; i < c->count; i++) {
		best = c->picks[i].pick < best ? c->picks[i].pick : best;
		named |= c->picks[i].pick == PICK_NAMES;
		current |= c->picks[i].pick == PICK_CURRENT ||
			   (c->picks[i].pick == PICK_SETS &&
			    c->picks[i].value.meaning != MEANS_DEVICE);
	}
	return best == PICK_SETS && named && !current ? PICK_NAMES : best;
}

/* The position of the pick that decides, plus one; 0: none. */
static size_t deciding(const struct python_file *f)
{
	const struct python_choice *c = f->choice;
	enum python_pick best = decides(c, f->facts.distributed);
	size_t found = 0;
	bool used = false;

	for (size_t i = 0; i < c->count; i++)
		if (c->picks[i].pick == best && !c->picks[i].may &&
		    functions_certain(f, c->picks[i].function)) {
			found = found ? found : i + 1;
			used |= c->picks[i].used;
		}
	if (!used)
		return 0;
	/* Without set_device the current device may differ from the named one. */
	for (size_t i = 0; found && i < c->count; i++)
		if (c->picks[i].pick == PICK_CURRENT
			    ? best == PICK_NAMES
			    : c->picks[i].pick >= best &&
				      !same_value(c->picks[i].value, c->picks[found - 1].value))
			return 0;
	return found;
}

static bool is_doubtful(const struct python_file *f)
{
	const struct python_choice *c = f->choice;

	/* Variables of rank and GPU that it sets may be those of another process. */
	return observation_sets(f, "CUDA_VISIBLE_DEVICES RANK LOCAL_RANK", true) || c->doubtful ||
	       f->names.changed || f->full || f->text.broken || f->text.cut || f->facts.spawns ||
	       f->facts.own_list || observation_first(f, OBSERVED_PARALLEL);
}

static bool is_known_device(const struct python_file *f, size_t found)
{
	const struct python_choice *c = f->choice;
	const struct python_value *v = &c->picks[found - 1].value;

	if ((v->meaning == MEANS_RANK || v->meaning == MEANS_MODULO) && c->numbers)
		return false;
	/* An imported package may show each rank only its own GPU. */
	if (v->meaning == MEANS_DEVICE && c->foreign)
		return false;
	if (v->meaning == MEANS_CUDA && (c->foreign || c->passed || !f->facts.torch))
		return false;
	return c->picks[found - 1].pick != PICK_NAMES || !c->passed || !c->foreign;
}

struct python_device choice_answer(const struct python_file *f)
{
	struct python_choice *c = f->choice;
	const struct python_value *v;
	struct python_device device = {.line = 0};
	size_t found = is_doubtful(f) ? 0 : deciding(f);

	if (!found || !is_known_device(f, found))
		return device;
	v = &c->picks[found - 1].value;
	device.line = c->picks[found - 1].line;
	snprintf(device.text, sizeof(device.text), "%s",
		 v->meaning == MEANS_LOCAL_RANK     ? "cuda:%l"
		 : v->meaning == MEANS_RANK         ? "cuda:%r"
		 : v->meaning == MEANS_MODULO       ? "cuda:modulo"
		 : v->meaning == MEANS_LOCAL_MODULO ? "cuda:local-modulo"
						    : "cuda");
	if (v->meaning == MEANS_DEVICE)
		snprintf(device.text, sizeof(device.text), "cuda:%lld", (long long)v->number);
	return device;
}
