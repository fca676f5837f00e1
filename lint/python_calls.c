/* SPDX-License-Identifier: MIT */
/* Calls that choose devices, make groups of ranks, or read arguments. */
#include "lint/python_file.h"

static bool one_of(const char *const *names, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++)
		if (streq(names[i], path))
			return true;
	return false;
}
#define ONE_OF(names, path) one_of(names, ARRAY_SIZE(names), path)

/* The first CUDA call of a block initialises the driver (rule S1). */
static void initialise(struct python_file *f, unsigned at, unsigned open)
{
	struct python_block *b = block_now(f);
	const struct python_token *t = token_at(f, at);
	const struct span *last = &token_at(f, open)->text;

	f->facts.cuda = true;
	if (b->initialised.text || f->deferred || !f->facts.torch)
		return;
	b->initialised_line = t->line;
	b->initialised = (struct span){t->text.text, (size_t)(last->text - t->text.text)};
}

static void see_number(struct python_file *f, int64_t number)
{
	struct python_facts *facts = &f->facts;

	facts->several = facts->several || (facts->number && facts->number != number + 1);
	facts->number = number + 1;
}

void python_device(struct python_file *f, unsigned at, struct python_value v, bool bare)
{
	struct observation *s;

	switch (v.meaning) {
	case MEANS_NUMBER:
		v.meaning = MEANS_DEVICE;
		break;
	case MEANS_LOCAL_RANK:
	case MEANS_UNKNOWN:
	case MEANS_DERIVED:
	case MEANS_MODULE:
		f->facts.chooses = true;
		return;
	case MEANS_RANK:
	case MEANS_MODULO:
		f->facts.chooses = true;
		break;
	case MEANS_DEVICE:
	case MEANS_CUDA:
		break;
	default:
		return;
	}
	f->facts.cuda = true;
	if (v.meaning == MEANS_DEVICE)
		see_number(f, v.number);
	if (bare && v.meaning == MEANS_DEVICE)
		return;
	s = observation_add(f, v.meaning == MEANS_CUDA ? OBSERVED_CURRENT : OBSERVED_DEVICE,
			    token_at(f, at));
	if (s)
		s->value = v;
}

static bool is_bare(const struct python_file *f, const struct python_argument *a)
{
	struct span chain;

	return python_chain(f, a->first, &chain) == a->past;
}

/* net.cuda(...) and net.to(...) */
static void call_move(struct python_file *f, unsigned at, unsigned open)
{
	bool cuda = token_is(token_at(f, at), "cuda");
	struct python_value v = {.meaning = MEANS_CUDA};
	char path[MAX_PATH];
	struct python_argument a;
	struct span chain;
	bool named = python_argument_find(f, open, "device", 0, &a);

	if (named)
		v = python_value(f, a.first, a.past);
	else if (!cuda)
		return;
	/* tensor.to(torch.float16) */
	if (named && v.meaning == MEANS_UNKNOWN && python_chain(f, a.first, &chain) == a.past &&
	    starts_with(python_path(f, chain, path), "torch."))
		return;
	if (cuda && v.meaning == MEANS_NONE)
		v.meaning = MEANS_CUDA;
	choice_device(f, named ? a.first : at, named ? a.past : at + 1, v);
	if (cuda || v.meaning == MEANS_CUDA || v.meaning == MEANS_DEVICE)
		initialise(f, at, open);
	/* A keyword is seen where it stands. */
	if (!named || !a.name.text)
		python_device(f, at, v, named && is_bare(f, &a));
}

static void call_set_device(struct python_file *f, unsigned at, unsigned open)
{
	struct python_argument a;
	struct observation *s;

	initialise(f, at, open);
	f->facts.sets_device = true;
	if (!python_argument_find(f, open, "device", 0, &a)) {
		choice_set(f, at, (struct python_value){.meaning = MEANS_UNKNOWN});
		return;
	}
	s = observation_add(f, OBSERVED_SET_DEVICE, token_at(f, at));
	if (!s)
		return;
	s->value = python_value(f, a.first, a.past);
	if (s->value.meaning == MEANS_NUMBER)
		s->value.meaning = MEANS_DEVICE;
	if (s->value.meaning == MEANS_DEVICE)
		see_number(f, s->value.number);
	f->facts.chooses = f->facts.chooses || s->value.meaning != MEANS_DEVICE;
	choice_set(f, at, s->value);
}

/* device_ids=[0, 1] as "0,1"; one that is no number gives its value instead. */
static void see_ids(struct python_file *f, struct observation *s, unsigned open)
{
	struct python_argument a, id;
	struct python_value v;
	unsigned at;
	const char *ids = "";

	if (!python_argument_find(f, open, "device_ids", 1, &a) ||
	    !token_is(token_at(f, a.first), "[") || token_at(f, a.first)->past != a.past)
		return;
	for (at = a.first + 1; python_argument(f, a.first, &at, &id) && ids; s->id_count++) {
		v = python_value(f, id.first, id.past);
		choice_device(f, id.first, id.past, v);
		if (v.meaning != MEANS_NUMBER && v.meaning != MEANS_DEVICE) {
			s->value = v;
			f->facts.chooses = true;
			ids = NULL;
		} else if (s->id_count == MAX_VALUE) {
			ids = NULL;
		} else {
			ids = arena_printf(&f->arena, "%s%s%lld", ids, *ids ? "," : "",
					   (long long)v.number);
		}
	}
	s->ids = ids && *ids ? ids : NULL;
}

/* DataParallel(net).to("cuda:1") moves net too. */
static struct python_value moved_module(const struct python_file *f, unsigned at, unsigned open)
{
	unsigned dot = token_at(f, open)->past, past = f->text.count;

	if (!is_at(f, dot, past, ".") || !is_at(f, dot + 2, past, "("))
		return (struct python_value){.meaning = MEANS_UNKNOWN};
	return python_value(f, at, token_at(f, dot + 2)->past);
}

static void call_parallel(struct python_file *f, enum observation_kind kind, unsigned at,
			  unsigned open)
{
	struct observation *s = observation_add(f, kind, token_at(f, at));
	struct python_argument a;

	if (!s)
		return;
	s->all_ids = !python_argument_find(f, open, "device_ids", 1, &a) ||
		     python_value(f, a.first, a.past).meaning == MEANS_NONE;
	f->facts.chooses = f->facts.chooses || !s->all_ids;
	see_ids(f, s, open);
	if (kind == OBSERVED_PARALLEL)
		s->module = moved_module(f, at, open);
	if (s->module.meaning != MEANS_MODULE && python_argument_find(f, open, "module", 0, &a))
		s->module = python_value(f, a.first, a.past);
	f->facts.distributed = f->facts.distributed || kind == OBSERVED_DISTRIBUTED;
}

static void call_rendezvous(struct python_file *f, unsigned open)
{
	struct python_argument a;
	struct python_value v;
	struct observation *s;

	f->facts.distributed = true;
	if (!python_argument_find(f, open, "init_method", 1, &a))
		return;
	v = python_value(f, a.first, a.past);
	if (v.meaning != MEANS_TEXT || !span_starts(v.text, "tcp://"))
		return;
	s = observation_add(f, OBSERVED_RENDEZVOUS, token_at(f, a.first));
	if (s)
		s->value = v;
}

static void call_argument(struct python_file *f, unsigned at, unsigned open)
{
	struct python_argument a;
	unsigned next = open + 1, dash = 0, line = 0, seen = 0;
	struct observation *s;

	while (python_argument(f, open, &next, &a) && !a.name.text) {
		const struct python_token *t = token_at(f, a.first);

		if (t->kind != PYTHON_STRING || a.past != a.first + 1)
			continue;
		dash = span_is(t->text, "--local-rank") ? a.first : dash;
		line = span_is(t->text, "--local_rank") ? a.first : line;
		seen = dash ? dash : line;
	}
	s = seen ? observation_add(f, OBSERVED_ARGUMENT, token_at(f, at)) : NULL;
	if (!s)
		return;
	s->name = token_at(f, seen)->text;
	s->both = dash && line;
	if (python_argument_find(f, open, "default", -1, &a))
		s->value = python_value(f, a.first, a.past);
}

static void call_method(struct python_file *f, unsigned at, unsigned open)
{
	const struct python_token *t = token_at(f, at);

	if (token_is(t, "cuda") || token_is(t, "to"))
		call_move(f, at, open);
	else if (token_is(t, "add_argument"))
		call_argument(f, at, open);
	else if (token_is(t, "parse_args") && token_at(f, open)->past == open + 2)
		observation_add(f, OBSERVED_PARSE, t);
	else if (token_is(t, "parse_known_args"))
		f->facts.known_alone = true;
}

static bool is_distributed(const char *path)
{
	const char *last = strrchr(path, '.');

	return starts_with(path, "torch.") && last && streq(last, ".DistributedDataParallel");
}

void python_call(struct python_file *f, const char *path, unsigned at, unsigned open)
{
	static const char *const starts[] = {"torch.cuda.init",
					     "torch.cuda.current_device",
					     "torch.cuda.get_device_name",
					     "torch.cuda.get_device_properties",
					     "torch.cuda.get_device_capability",
					     "torch.cuda.synchronize",
					     "torch.cuda.mem_get_info",
					     "torch.cuda.current_stream",
					     "torch.cuda.is_available"};
	static const char *const parallels[] = {"torch.nn.DataParallel",
						"torch.nn.parallel.DataParallel",
						"torch.nn.parallel.data_parallel.DataParallel"};
	static const char *const spawners[] = {"torch.multiprocessing.spawn",
					       "torch.multiprocessing.start_processes",
					       "torch.multiprocessing.Process",
					       "multiprocessing.Process",
					       "subprocess.run",
					       "subprocess.Popen",
					       "subprocess.call",
					       "subprocess.check_call",
					       "os.system"};
	struct python_argument a;

	if (!path) {
		call_method(f, at, open);
		return;
	}
	choice_call(f, path, at, open);
	if (ONE_OF(starts, path))
		initialise(f, at, open);
	if (streq(path, "torch.cuda.set_device") ||
	    streq(path, "torch.accelerator.set_device_index"))
		call_set_device(f, at, open);
	else if (streq(path, "torch.device") || streq(path, "torch.cuda.device")) {
		/* Its whole expression tells which: "cuda", and an index behind it. */
		bool string = streq(path, "torch.device");
		bool given = python_argument_find(f, open, "device", 0, &a);

		if (given)
			python_device(f, at,
				      string ? python_value(f, at, token_at(f, open)->past)
					     : python_value(f, a.first, a.past),
				      false);
	} else if (ONE_OF(parallels, path))
		call_parallel(f, OBSERVED_PARALLEL, at, open);
	else if (is_distributed(path))
		call_parallel(f, OBSERVED_DISTRIBUTED, at, open);
	else if (streq(path, "torch.distributed.init_process_group"))
		call_rendezvous(f, open);
	else if (ONE_OF(spawners, path))
		f->facts.spawns = true;
	else if (starts_with(path, "os."))
		python_environ_call(f, path, open);
}
