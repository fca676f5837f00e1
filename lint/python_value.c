/* SPDX-License-Identifier: MIT */
/* The value of an expression, as far as it matters for the choice of a GPU. */
#include "lint/python_file.h"

#include "request/rank_identity.h"

enum { MAX_NESTING = 6 };

unsigned python_find(const struct python_file *f, unsigned first, unsigned past, const char *words)
{
	while (first < past && !token_is_any(token_at(f, first), words))
		first++;
	return first < past ? first : past;
}

unsigned python_find_beside(const struct python_file *f, unsigned first, unsigned past,
			    const char *words)
{
	while (first < past && !token_is_any(token_at(f, first), words))
		first = token_at(f, first)->past;
	return first < past ? first : past;
}

unsigned python_last_bracket(const struct python_file *f, unsigned first, unsigned past)
{
	while (first < past && (token_at(f, first)->past != past || past == first + 1))
		first = token_at(f, first)->past;
	return first < past ? first : past;
}

unsigned python_value_end(const struct python_file *f, unsigned first, unsigned past)
{
	while (first < past && !token_is_any(token_at(f, first), ", ) ] } ="))
		first = token_at(f, first)->past;
	return first;
}

unsigned python_chain(const struct python_file *f, unsigned at, struct span *ret)
{
	const struct python_token *t = token_at(f, at);

	if (at >= f->text.count || t->kind != PYTHON_NAME)
		return 0;
	*ret = t->text;
	for (at++; at + 1 < f->text.count && token_is(token_at(f, at), ".") &&
		   token_at(f, at + 1)->kind == PYTHON_NAME;
	     at += 2) {
		const struct span *last = &token_at(f, at + 1)->text;

		ret->length = (size_t)(last->text + last->length - ret->text);
	}
	return at;
}

struct span python_whole_chain(const struct python_file *f, unsigned first, unsigned past)
{
	struct span chain = NO_SPAN, found;
	unsigned end = first < past ? python_chain(f, first, &found) : 0;

	if (end && end >= past && (past - first) % 2 &&
	    token_at(f, past - 1)->kind == PYTHON_NAME) {
		const struct span *last = &token_at(f, past - 1)->text;

		chain = span_to(found, last->text + last->length);
	}
	return chain;
}

const char *python_path(const struct python_file *f, struct span chain, char ret[MAX_PATH])
{
	struct span head = {chain.text, span_before(chain, ".")};
	const struct python_value *import = names_get(&f->names, head, 0);
	size_t length = 0;

	if (import && import->meaning == MEANS_PATH) {
		length = import->text.length;
		chain = span_from(chain, chain.text + head.length);
	}
	ret[0] = '\0';
	if (length + chain.length >= MAX_PATH)
		return ret;
	if (length)
		memcpy(ret, import->text.text, length);
	memcpy(ret + length, chain.text, chain.length);
	ret[length + chain.length] = '\0';
	return ret;
}

/* --- arguments ---------------------------------------------------------------------- */

bool python_argument(const struct python_file *f, unsigned open, unsigned *at,
		     struct python_argument *ret)
{
	unsigned last = token_at(f, open)->past - 1, i = *at;

	if (i >= last)
		return false;
	*ret = (struct python_argument){.first = i};
	if (token_at(f, i)->kind == PYTHON_NAME && is_at(f, i + 1, last, "=")) {
		ret->name = token_at(f, i)->text;
		ret->first = i + 2;
	}
	ret->past = python_find_beside(f, ret->first, last, ",");
	*at = ret->past + 1;
	return true;
}

bool python_argument_find(const struct python_file *f, unsigned open, const char *name, int place,
			  struct python_argument *ret)
{
	unsigned at = open + 1;

	for (int i = 0; python_argument(f, open, &at, ret); i++)
		if (ret->name.text ? span_is(ret->name, name) : i == place)
			return true;
	return false;
}

bool python_has_argument(const struct python_file *f, unsigned open, const char *name, int place)
{
	return python_argument_find(f, open, name, place, &(struct python_argument){0});
}

struct python_value python_argument_value(const struct python_file *f, unsigned open,
					  const char *name, int place)
{
	struct python_argument a;

	return python_argument_find(f, open, name, place, &a) ? python_value(f, a.first, a.past)
							      : python_unknown;
}

bool python_hides_arguments(const struct python_file *f, unsigned open)
{
	struct python_argument a;
	unsigned at = open + 1;

	while (python_argument(f, open, &at, &a))
		if (token_is_any(token_at(f, a.first), "* **"))
			return true;
	return false;
}

/* --- values ------------------------------------------------------------------------- */

static struct python_value value(const struct python_file *f, unsigned first, unsigned past,
				 int depth);

struct python_value python_variable(struct span name)
{
	enum rank_variable_meaning variable = rank_variable_meaning(name);
	struct python_value ret = {.meaning = MEANS_DERIVED, .text = name};

	if (variable == RANK_VARIABLE_RANK || variable == RANK_VARIABLE_LOCAL_RANK) {
		ret.meaning = variable == RANK_VARIABLE_RANK ? MEANS_RANK : MEANS_LOCAL_RANK;
		ret.unsure = !span_is_any(name, "RANK LOCAL_RANK");
		ret.written = true;
	} else if (span_is(name, "CUDA_VISIBLE_DEVICES")) {
		ret.part = PART_LIST;
	}
	return ret;
}

/* The N of "cuda:N". */
static struct python_value device_of(struct python_value index)
{
	switch (index.meaning) {
	case MEANS_NUMBER:
		index.meaning = MEANS_DEVICE;
		return index;
	case MEANS_RANK:
	case MEANS_LOCAL_RANK:
	case MEANS_MODULO:
		index.written = false;
		return index;
	case MEANS_UNKNOWN: /* of a parameter */
		return index;
	default:
		if (index.part != PART_ENTRY && index.part != PART_LIST)
			return python_unknown;
		index.part = PART_ENTRY;
		return index;
	}
}

static struct python_value text_value(struct span text)
{
	struct python_value ret = {.meaning = MEANS_TEXT, .text = text};

	if (span_is(text, "cuda"))
		ret.meaning = MEANS_CUDA;
	else if (span_is(text, "cpu"))
		ret.meaning = MEANS_CPU;
	if (!span_skip(&text, "cuda:"))
		return ret;
	ret.number = span_number(text, INT32_MAX);
	if (ret.number >= 0)
		ret.meaning = MEANS_DEVICE;
	return ret;
}

/* The value of a name, from the innermost function that has it. */
static struct python_value name_value(const struct python_file *f, struct span name)
{
	const struct python_value *v;
	struct python_value ret;
	int before = -1, here = f->blocks[f->depth].function;

	for (int i = f->depth; i >= 0; i--) {
		if (f->blocks[i].function == before)
			continue;
		before = f->blocks[i].function;
		v = names_get(&f->names, name, before);
		if (!v)
			continue;
		ret = v->meaning == MEANS_PATH ? python_unknown : *v;
		/* An attribute of an object, and a number that may change before the function runs
		 * or between iterations. */
		if ((memchr(name.text, '.', name.length) || ret.meaning == MEANS_NUMBER) &&
		    (ret.function != here || f->blocks[f->depth].repeated))
			ret.unsure = true;
		/* Code between may have made it a number. */
		if (memchr(name.text, '.', name.length) && ret.function != here)
			ret.written = false;
		return ret;
	}
	return python_unknown;
}

/* str(value) */
static struct python_value as_text(struct python_value v)
{
	v.written = v.meaning == MEANS_RANK || v.meaning == MEANS_LOCAL_RANK;
	return v;
}

/* The variable of os.environ['NAME']. */
static struct python_value variable_in(struct span text)
{
	if (!span_skip(&text, "os.environ[") || text.length < 4 ||
	    text.text[text.length - 1] != ']' || !strchr("'\"", *text.text) ||
	    text.text[text.length - 2] != *text.text)
		return python_unknown;
	return python_variable((struct span){text.text + 1, text.length - 3});
}

/* f"cuda:{name}" and f"{name}". */
static struct python_value format_value(const struct python_file *f, struct span text)
{
	bool device = span_skip(&text, "cuda:");
	struct python_value v;

	if (text.length < 3 || *text.text != '{' || text.text[text.length - 1] != '}')
		return python_unknown;
	text = span_trim((struct span){text.text + 1, text.length - 2});
	v = variable_in(text);
	if (v.meaning == MEANS_UNKNOWN && span_before(text, "{}()[]!:,") < text.length)
		return python_unknown;
	if (v.meaning == MEANS_UNKNOWN)
		v = name_value(f, text);
	return device ? device_of(v) : as_text(v);
}

/* Whether the fallback for an unset variable, as for a single rank, is the first rank. */
static bool is_first(struct python_value v)
{
	return v.meaning == MEANS_NONE ||
	       (v.meaning == MEANS_NUMBER && (v.number == 0 || v.number == -1)) ||
	       (v.meaning == MEANS_TEXT && span_is_any(v.text, "0 -1"));
}

static struct python_value getter_value(const struct python_file *f, const char *path,
					unsigned name, unsigned open, unsigned at, int depth)
{
	struct python_value v = python_variable(token_at(f, name)->text);
	struct python_argument second;

	/* After it the list is no longer set. */
	if (streq(path, "os.environ.pop"))
		v.part = PART_NONE;
	if (streq(path, "os.environ.pop") ||
	    (python_argument(f, open, &at, &second) &&
	     !is_first(value(f, second.first, second.past, depth))))
		v.unsure = true;
	return v;
}

/* int(v), str(v), torch.device(v) */
static struct python_value converted(const char *path, struct python_value v)
{
	if (streq(path, "str"))
		return as_text(v);
	if (!streq(path, "int"))
		return v;
	v.written = false;
	/* The whole list is a number only if it has one entry. */
	v.part = v.part == PART_LIST ? PART_ENTRY : v.part;
	return v;
}

/* Whether a communicator of MPI is one of a host, by its name. */
static bool is_local_communicator(const char *path)
{
	return span_has_any(span_of(path), "local node shared shm intra host");
}

/* A rank that a call without arguments returns. */
static struct python_value rank_call_value(const struct python_file *f, const char *path)
{
	const char *last = objects_last(path);
	struct python_value rank = {.meaning = MEANS_RANK, .unsure = true};
	struct python_value local = {.meaning = MEANS_LOCAL_RANK, .unsure = true};
	bool horovod = starts_with(path, "horovod.");

	rank.unsure = !streq(path, "torch.distributed.get_rank");
	local.unsure = !streq(path, "torch.distributed.get_node_local_rank");
	if (streq(last, "Get_rank")) {
		if (is_local_communicator(path))
			return local;
		return f->training.splits && !text_ends(path, "COMM_WORLD.Get_rank")
			       ? python_unknown
			       : rank;
	}
	if (streq(last, "get_rank") || (horovod && streq(last, "rank")))
		return rank;
	if (span_is_any(span_of(last), "get_local_rank get_node_local_rank") ||
	    (horovod && streq(last, "local_rank")))
		return local;
	return python_unknown;
}

/* MPI.COMM_WORLD.rank, and comm.rank in a program that has only that communicator. */
static struct python_value attribute_value(const struct python_file *f, struct span chain)
{
	struct python_value ret = {.meaning = MEANS_RANK, .unsure = true, .text = chain};
	char path[MAX_PATH];

	if (chain.length < 6 || memcmp(chain.text + chain.length - 5, ".rank", 5) != 0)
		return python_unknown;
	if (streq(python_path(f, chain, path), "mpi4py.MPI.COMM_WORLD.rank"))
		return ret;
	return span_is(chain, "comm.rank") && !f->training.splits &&
			       streq(python_path(f, span_of("MPI"), path), "mpi4py.MPI")
		       ? ret
		       : python_unknown;
}

static struct python_value call_value(const struct python_file *f, const char *path, unsigned open,
				      int depth)
{
	struct python_argument a, second;
	unsigned at = open + 1;
	bool any = python_argument(f, open, &at, &a);

	if (!any && rank_call_value(f, path).meaning != MEANS_UNKNOWN)
		return rank_call_value(f, path);
	if (!any && python_counts_devices(path))
		return (struct python_value){.meaning = MEANS_COUNT};
	if (!any || a.name.text)
		return python_unknown;
	if (span_is_any(span_of(path), "os.environ.get os.getenv os.environ.pop") &&
	    a.past == a.first + 1 && token_at(f, a.first)->kind == PYTHON_STRING)
		return getter_value(f, path, a.first, open, at, depth);
	if (span_is_any(span_of(path), "list tuple map")) {
		bool map = streq(path, "map") && python_argument(f, open, &at, &second);
		struct python_value v =
			value(f, map ? second.first : a.first, map ? second.past : a.past, depth);

		return v.part == PART_ENTRIES ? v : python_unknown;
	}
	if (streq(path, "torch.device")) {
		if (python_argument(f, open, &at, &second)) {
			struct python_value v =
				device_of(value(f, second.first, second.past, depth));

			v.unsure |= value(f, a.first, a.past, depth).meaning != MEANS_CUDA;
			return v;
		}
		if (value(f, a.first, a.past, depth).meaning == MEANS_NUMBER)
			return device_of(value(f, a.first, a.past, depth));
	}
	if (span_is_any(span_of(path), "int str torch.device"))
		return converted(path, value(f, a.first, a.past, depth));
	return python_unknown;
}

/* The value of a method's call: net.cuda(1), net.to("cuda:1"), "cuda:{}".format(n). */
static struct python_value method_value(const struct python_file *f, unsigned first, unsigned past,
					int depth)
{
	struct python_value v = {.meaning = MEANS_MODULE, .number = -1};
	struct python_value given = {.meaning = MEANS_CUDA};
	struct python_argument a;
	unsigned open = python_last_bracket(f, first, past), at;

	if (!is_at(f, open, past, "(") || open < first + 3 || !is_at(f, open - 2, past, "."))
		return python_unknown;
	at = open + 1;
	if (python_argument(f, open, &at, &a))
		given = value(f, a.first, a.past, depth);
	if (token_is(token_at(f, open - 1), "format") && token_at(f, first)->kind == PYTHON_STRING)
		return span_is(token_at(f, first)->text, "cuda:{}") ? device_of(given)
								    : python_unknown;
	if (given.meaning == MEANS_NUMBER)
		given = device_of(given);
	if (!token_is_any(token_at(f, open - 1), "cuda to"))
		return python_unknown;
	if (given.meaning == MEANS_DEVICE)
		v.number = given.number;
	return given.meaning == MEANS_DEVICE || given.meaning == MEANS_CUDA ? v : python_unknown;
}

/* [int(x) for x in LIST] */
static struct python_value comprehension_value(const struct python_file *f, unsigned first,
					       unsigned past, int depth)
{
	unsigned in = python_find_beside(f, first, past, "in");
	unsigned end = python_find_beside(f, in, past, "if");

	return in < past ? value(f, in + 1, end, depth) : python_unknown;
}

/* The visible list's parts: LIST.split(","), LIST.split(",")[0]. */
static struct python_value part_value(const struct python_file *f, unsigned first, unsigned past,
				      int depth)
{
	struct python_value v;
	unsigned open = python_last_bracket(f, first, past);

	if (open == past)
		return python_unknown;
	if (open == first && token_is(token_at(f, open), "[")) {
		v = comprehension_value(f, first + 1, past - 1, depth);
		return v.part == PART_ENTRIES ? v : python_unknown;
	}
	if (open > first && token_is(token_at(f, open), "[")) {
		v = value(f, first, open, depth);
		if (v.part == PART_ENTRIES && python_find(f, open + 1, past, ":") < past)
			return v;
		v.part = v.part == PART_NONE ? PART_NONE : PART_ENTRY;
		return v.part == PART_NONE ? python_unknown : v;
	}
	if (open < first + 3 || !is_at(f, open - 2, past, ".") ||
	    !token_is_any(token_at(f, open - 1), "strip split"))
		return python_unknown;
	v = value(f, first, open - 2, depth);
	if (v.part != PART_NONE && token_is(token_at(f, open - 1), "strip"))
		return v;
	if (v.part != PART_LIST || !token_is(token_at(f, open - 1), "split"))
		return python_unknown;
	v.part = PART_ENTRIES;
	return v;
}

/* An expression that ends with a bracket. */
static struct python_value group_value(const struct python_file *f, unsigned first, unsigned past,
				       int depth)
{
	struct python_value v = method_value(f, first, past, depth);

	if (!f->training.lists)
		return v;
	return v.meaning == MEANS_UNKNOWN ? part_value(f, first, past, depth) : v;
}

static struct python_value primary_value(const struct python_file *f, unsigned first, unsigned past,
					 int depth)
{
	const struct python_token *t = token_at(f, first);
	char path[MAX_PATH];
	struct span chain = python_whole_chain(f, first, past);
	unsigned end;

	if (past == first + 1 && t->kind == PYTHON_NUMBER) {
		struct python_value v = {.meaning = MEANS_NUMBER,
					 .number = span_number(t->text, INT32_MAX),
					 .text = t->text};

		return v.number < 0 ? python_unknown : v;
	}
	if (past == first + 1 && t->kind == PYTHON_STRING)
		return t->plain ? text_value(t->text) : python_unknown;
	if (past == first + 1 && t->kind == PYTHON_FORMAT)
		return format_value(f, t->text);
	if (past == first + 2 && token_is(t, "-") && token_at(f, first + 1)->kind == PYTHON_NUMBER)
		return (struct python_value){.meaning = MEANS_NUMBER, .number = -1};
	if (past == first + 1 && token_is(t, "None"))
		return (struct python_value){.meaning = MEANS_NONE};
	if (chain.text) {
		struct python_value v = name_value(f, chain);

		return v.meaning == MEANS_UNKNOWN && !v.number ? attribute_value(f, chain) : v;
	}
	end = python_chain(f, first, &chain);
	if (!end)
		return group_value(f, first, past, depth);
	if (end > past)
		return python_unknown;
	if (token_at(f, end)->past != past)
		return group_value(f, first, past, depth);
	python_path(f, chain, path);
	if (is_at(f, end, past, "[") && streq(path, "os.environ") && past == end + 3 &&
	    token_at(f, end + 1)->kind == PYTHON_STRING)
		return python_variable(token_at(f, end + 1)->text);
	if (is_at(f, end, past, "(")) {
		struct python_value v = call_value(f, path, end, depth);

		if ((v.meaning == MEANS_RANK || v.meaning == MEANS_LOCAL_RANK) && !v.text.text)
			v.text = chain;
		/* The number of a parameter is kept. */
		return v.meaning == MEANS_UNKNOWN && !v.number ? group_value(f, first, past, depth)
							       : v;
	}
	return is_at(f, end, past, "[") ? group_value(f, first, past, depth) : python_unknown;
}

/* a if c else b: the value if GPUs are used. */
static struct python_value choice_value(const struct python_file *f, unsigned first, unsigned at,
					unsigned past, int depth)
{
	struct python_value a = value(f, first, at, depth), b;
	char path[MAX_PATH];
	struct span chain;
	unsigned end = python_chain(f, at + 1, &chain);
	bool sure = end && is_at(f, end, past, "(") && is_at(f, end + 2, past, "else") &&
		    (streq(python_path(f, chain, path), "torch.cuda.is_available") ||
		     streq(path, "torch.accelerator.is_available"));

	at = python_find_beside(f, at, past, "else");
	b = at < past ? value(f, at + 1, past, depth) : python_unknown;
	a.unsure |= !sure;
	if (python_constant(&b))
		return a;
	b.unsure = true;
	return python_constant(&a) ? b : python_unknown;
}

static struct python_value binary_value(const struct python_file *f, unsigned first, unsigned at,
					unsigned past, int depth)
{
	struct python_value a = value(f, first, at, depth), b = value(f, at + 1, past, depth);
	bool percent = token_is(token_at(f, at), "%");

	if (a.meaning == MEANS_TEXT &&
	    (percent ? span_is_any(a.text, "cuda:%d cuda:%s cuda:%i")
		     : span_is(a.text, "cuda:") && token_is(token_at(f, at), "+")))
		return device_of(b);
	if (percent && a.meaning == MEANS_RANK && b.meaning == MEANS_COUNT)
		return (struct python_value){.meaning = MEANS_MODULO,
					     .unsure = a.unsure || b.unsure};
	return python_unknown;
}

static bool is_operator(const struct python_token *t)
{
	if (t->kind == PYTHON_NAME && span_is_any(t->text, "or and not in is lambda for"))
		return true;
	return t->kind == PYTHON_SIGN && strchr("%+-*/|&<>=!^@,:", *t->text.text);
}

static struct python_value value(const struct python_file *f, unsigned first, unsigned past,
				 int depth)
{
	unsigned op = 0;

	if (first >= past || past - first > MAX_VALUE || depth > MAX_NESTING)
		return python_unknown;
	if (is_bracket(f, first, past, "("))
		return value(f, first + 1, past - 1, depth + 1);
	for (unsigned i = first; i < past; i = token_at(f, i)->past) {
		if (token_is(token_at(f, i), "if"))
			return choice_value(f, first, i, past, depth + 1);
		if (!op && i > first && is_operator(token_at(f, i)))
			op = i;
	}
	if (op)
		return binary_value(f, first, op, past, depth + 1);
	return primary_value(f, first, past, depth + 1);
}

struct python_value python_value(const struct python_file *f, unsigned first, unsigned past)
{
	return value(f, first, past, 0);
}
