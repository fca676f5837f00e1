/* SPDX-License-Identifier: MIT */
/* The blocks around a statement: in which function it is, and whether all ranks execute it. */
#include "lint/python_file.h"

/* Whether a condition is true only for some ranks, or for some ways to start the file. */
static bool guards(const struct python_token *t)
{
	return t->kind == PYTHON_NAME &&
	       span_has_any(
		       t->text,
		       "rank main_proc master world distrib ddp gpu parallel is_main device_count");
}

/* A block inside of the current one, of that function, with what holds there too. */
static struct python_block inner(struct python_file *f, int function, int indent)
{
	const struct python_block *around = block_now(f);
	bool same = around->function == function;

	return (struct python_block){
		.indent = indent,
		.function = function,
		.may = around->may,
		.otherwise = around->otherwise,
		.guarded = around->guarded,
		.repeated = same && around->repeated,
		.attempt = same ? around->attempt : 0,
		.least = around->least,
		.owner = around->owner,
		.method = around->method,
		.selected = around->selected,
	};
}

static void push(struct python_file *f, struct python_block block)
{
	if (f->depth == MAX_BLOCKS)
		return;
	block.number = ++f->training.blocks;
	f->blocks[++f->depth] = block;
}

/* Adds the variable of the environment that a token of a condition is about. */
static void look(struct python_looked *looked, const struct python_file *f, unsigned at)
{
	const struct python_token *t = token_at(f, at);
	struct python_value v;

	if (t->kind == PYTHON_STRING)
		python_environ_look(looked, t->text);
	if (t->kind != PYTHON_NAME || !f->facts.names_variables)
		return;
	v = python_value(f, at, at + 1);
	if (v.meaning == MEANS_RANK || v.meaning == MEANS_LOCAL_RANK)
		looked->launcher = true;
	else if (v.meaning == MEANS_DERIVED)
		python_environ_look(looked, v.text);
}

static void join(struct python_looked *looked, struct python_looked more)
{
	looked->list |= more.list;
	looked->launcher |= more.launcher;
}

/* Whether the condition is that GPUs are missing: not torch.cuda.is_available(), or
 * torch.cuda.device_count() < 2. If it leaves, what follows is for machines that have them. */
static bool lacks_gpus(const struct python_file *f, unsigned past)
{
	bool denied = is_at(f, 1, past, "not");
	char path[MAX_PATH];
	struct span chain;
	unsigned end = python_chain(f, 1 + denied, &chain), after;
	bool count;

	if (!is_at(f, 0, past, "if") || !end || !is_at(f, end, past, "("))
		return false;
	python_path(f, chain, path);
	count = python_counts_devices(path);
	after = token_at(f, end)->past;
	if (denied)
		return after == past &&
		       (count ||
			span_is_any(span_of(path),
				    "torch.cuda.is_available torch.accelerator.is_available"));
	if (!count || after + 2 != past || token_at(f, after + 1)->kind != PYTHON_NUMBER)
		return false;
	return is_at(f, after, past, "<") || is_at(f, after, past, "<=") ||
	       (is_at(f, after, past, "==") && span_is(token_at(f, after + 1)->text, "0"));
}

/* The devices that the condition torch.cuda.device_count() > 1 asks for, which begins at `at`; -1:
 * it is another condition with that number. */
static int64_t least_devices(const struct python_file *f, unsigned at, unsigned past)
{
	unsigned after = token_at(f, at + 1)->past;
	struct python_value v = {.meaning = MEANS_UNKNOWN};

	if (after >= past || is_at(f, after, past, "and"))
		return 1;
	if (after + 2 <= past)
		v = python_value(f, after + 1, after + 2);
	if (v.meaning != MEANS_NUMBER || v.unsure ||
	    (after + 2 < past && !is_at(f, after + 2, past, "and")))
		return -1;
	return is_at(f, after, past, ">")                                   ? v.number + 1
	       : is_at(f, after, past, ">=") || is_at(f, after, past, "==") ? v.number
									    : -1;
}

/* How many devices the conditions of a block ask for: those of its head, and those around it. */
static int64_t asked_devices(const struct python_file *f, const struct python_block *around,
			     bool otherwise, unsigned past)
{
	int64_t least = around->least, asked;

	for (unsigned i = 1; i < past; i++) {
		if (!is_at(f, i, past, "device_count"))
			continue;
		asked = otherwise || is_at(f, 1, past, "not") || !is_at(f, i + 1, past, "(")
				? -1
				: least_devices(f, i, past);
		least = least < 0 || asked < 0 ? -1 : asked > least ? asked : least;
	}
	return least;
}

/* if, elif, else, case, except, while: their blocks may not be executed. */
static void push_branch(struct python_file *f, unsigned past, int indent)
{
	const struct python_block *around = block_now(f), *before = around + 1;
	bool otherwise = !token_is_any(token_at(f, 0), "if while");
	struct python_block b = inner(f, around->function, indent);

	b.may = true;
	b.otherwise |= otherwise;
	b.repeated |= token_is(token_at(f, 0), "while");
	b.branch = !token_is(token_at(f, 0), "while");
	b.lacking = lacks_gpus(f, past);
	b.least = asked_devices(f, around, otherwise, past);
	b.selected |= guard_selects(f, past);
	for (unsigned i = 1; i < past; i++) {
		const struct python_token *t = token_at(f, i);

		if (token_is_any(t, "__name__ is_available"))
			b.may = around->may || otherwise;
		b.guarded |= guards(t);
		look(&b.tested, f, i);
	}
	/* The other case of the conditions before, or of what was tried. */
	if (otherwise && f->depth < MAX_BLOCKS && before->indent == indent) {
		b.least = before->least ? -1 : b.least;
		b.read = before->read;
		b.selected |= before->selected;
		join(&b.tested, before->tested);
		join(&b.tested, before->read);
	}
	push(f, b);
}

/* A program that ends because GPUs are missing is for machines that have them. What is raised is
 * an error, which is not looked at. */
static void end_program(struct python_file *f)
{
	int function = block_now(f)->function, i = f->depth;

	for (; i >= 0 && f->blocks[i].function == function && !f->blocks[i].lacking; i--)
		f->blocks[i].ended = true;
	if (function && (i < 0 || f->blocks[i].function != function))
		f->own.list[function - 1].ends = true;
}

void python_leave(struct python_file *f, unsigned first, unsigned past)
{
	const struct python_block *b = block_now(f);
	bool ends = f->ends || token_is(token_at(f, first), "raise");
	bool returns = is_at(f, first, past, "return"), cuts;

	if (!f->deferred && (f->ends || (ends && is_at(f, first + 1, past, "SystemExit"))))
		end_program(f);
	/* The rest of the block around is the other case of the condition. */
	if (!f->depth || !b->branch ||
	    !(ends || token_is_any(token_at(f, first), "return continue break")))
		return;
	join(&f->blocks[f->depth - 1].tested, b->tested);
	/* What follows is for another number of devices, which is not computed. */
	if (b->least)
		f->blocks[f->depth - 1].least = -1;
	else if (b->lacking && !f->blocks[f->depth - 1].least)
		f->blocks[f->depth - 1].least = 1;
	/* A program that ends there is started in another way. */
	cuts = !ends && !b->lacking;
	for (int i = f->depth - 1; i >= 0 && f->blocks[i].function == b->function; i--) {
		struct python_block *around = &f->blocks[i];

		around->selected |= b->selected;
		around->left |= returns && !(b->lacking && !b->least);
		around->cut |= cuts && (returns || i == f->depth - 1);
	}
	if (cuts)
		f->blocks[f->depth - 1].guarded |= b->guarded;
}

static void define(struct python_file *f, unsigned open, int indent)
{
	int function = ++f->functions;
	struct python_argument a;
	unsigned at = open + 1;
	int64_t place = 0;

	while (is_at(f, open, f->text.count, "(") && python_argument(f, open, &at, &a)) {
		unsigned first = a.name.text ? a.first - 2 : a.first;

		while (first < a.past && token_at(f, first)->kind != PYTHON_NAME)
			first++;
		if (first < a.past)
			names_set(
				&f->names, token_at(f, first)->text, function,
				(struct python_value){.meaning = MEANS_UNKNOWN, .number = ++place});
	}
	push(f, inner(f, function, indent));
}

unsigned python_head(const struct python_file *f)
{
	unsigned i = 0;
	bool lambda = false,
	     compound =
		     token_is_any(token_at(f, 0),
				  "if elif else for while with try def class async finally except");

	for (; compound && i < f->text.count; i = token_at(f, i)->past) {
		if (token_is(token_at(f, i), "lambda"))
			lambda = true;
		else if (token_is(token_at(f, i), ":") && !lambda)
			return i;
		else if (token_is(token_at(f, i), ":"))
			lambda = false;
	}
	return 0;
}

/* for a, b in VALUES: the names are not known, except one that takes the entries of the list. */
static void name_loop(struct python_file *f, unsigned first, unsigned in, unsigned past)
{
	struct python_value v = {.meaning = MEANS_UNKNOWN};

	if (in == first + 1 && in < past)
		v = python_value(f, in + 1, past);
	if (v.part == PART_ENTRIES)
		v.part = PART_ENTRY;
	else
		v = python_unknown;
	for (unsigned i = first; i < in; i++)
		names_set(&f->names, token_at(f, i)->text, block_now(f)->function, v);
}

/* try:, with contextlib.suppress():, with pytest.raises(): and the like. */
static bool catches(const struct python_file *f, unsigned first, unsigned past)
{
	return is_at(f, first, past, "try") ||
	       (is_at(f, first, past, "with") &&
		python_find(f, first, past,
			    "suppress raises assertRaises assertRaisesRegex FakeTensorMode") <
			past);
}

static void begin_loop(struct python_file *f, struct python_block *b, unsigned first, unsigned past)
{
	unsigned in = python_find(f, first, past, "in");

	b->repeated = true;
	/* A loop over the devices that there are may have no iteration. */
	b->may |= python_find(f, first, past, "device_count") < past;
	b->rounds = in + 1 < past ? python_rounds(f, in, past) : NULL;
	if (b->rounds)
		b->counter = token_at(f, first)->text;
	name_loop(f, first, in, past);
}

void python_enter(struct python_file *f, unsigned colon, int indent)
{
	unsigned first = token_is(token_at(f, 0), "async");
	bool patched =
		f->patched || (is_at(f, first, colon, "with") && python_environ_patched(f, colon));

	f->patched = false;
	if (token_is_any(token_at(f, 0), "if elif else while except")) {
		push_branch(f, colon, indent);
		training_enter(f, colon);
		return;
	}
	if (is_at(f, first, colon, "def")) {
		unsigned open = first + 2;

		/* def f[T](...) */
		if (is_at(f, open, colon, "["))
			open = token_at(f, open)->past;
		functions_define(f, token_at(f, first + 1)->text, f->functions + 1);
		define(f, open, indent);
	} else {
		struct python_block b = inner(f, block_now(f)->function, indent);

		if (is_at(f, first, colon, "for"))
			begin_loop(f, &b, first + 1, colon);
		b.member = is_at(f, first, colon, "class");
		b.caught = catches(f, first, colon);
		push(f, b);
		if (is_at(f, first, colon, "try"))
			block_now(f)->attempt = f->depth;
	}
	block_now(f)->patched = block_now(f)->patched || patched;
	training_enter(f, colon);
}
