/* SPDX-License-Identifier: MIT */
/* Calls that choose devices, make groups of ranks, or read arguments. */
#include "lint/launchers.h"
#include "lint/python_file.h"

static void use_cuda(struct python_file *f)
{
	f->facts.cuda = true;
	functions_use_cuda(f);
}

/* The first CUDA call of a block that certainly initialises the driver does so (rule S1). */
static void initialise(struct python_file *f, unsigned at, unsigned open)
{
	struct python_block *b = block_now(f);
	const struct python_token *t = token_at(f, at);
	struct span call = span_to(t->text, token_at(f, open)->text.text);

	use_cuda(f);
	if (f->deferred ||
	    (b->initialised.text && (!python_may_count(b->initialised) || python_may_count(call))))
		return;
	b->initialised_line = t->line;
	b->initialised = call;
}

static void see_number(struct python_file *f, int64_t number)
{
	struct python_facts *facts = &f->facts;

	facts->several |= facts->number && facts->number != number + 1;
	facts->number = number + 1;
}

/* net.cuda and net.to */
static bool is_move(const struct python_file *f, unsigned at)
{
	return at && token_is(token_at(f, at - 1), ".") && token_is_any(token_at(f, at), "cuda to");
}

/* A device by the rank or a number that the command line gives. Of many such places the first are
 * enough. */
static void see_numbered(struct python_file *f, unsigned at, struct python_value v,
			 const struct python_count *count)
{
	struct observation *s;

	if (f->numbered++ >= MAX_VALUE)
		return;
	s = observation_add(f, OBSERVED_NUMBERED, token_at(f, at));
	s->value = v;
	s->size = count;
}

void python_device(struct python_file *f, unsigned at, struct python_value v, bool bare)
{
	struct observation *s;

	ordinal_device(f, at, v);
	switch (v.meaning) {
	case MEANS_NUMBER:
		v.meaning = MEANS_DEVICE;
		break;
	case MEANS_LOCAL_RANK:
		f->training.picks_local = true;
		f->facts.chooses = true;
		if (is_move(f, at) || python_device_used(f, at))
			see_numbered(f, at, v, NULL);
		return;
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
	use_cuda(f);
	if (v.meaning == MEANS_DEVICE)
		see_number(f, v.number);
	if (bare && v.meaning == MEANS_DEVICE)
		return;
	s = observation_add(f, v.meaning == MEANS_CUDA ? OBSERVED_CURRENT : OBSERVED_DEVICE,
			    token_at(f, at));
	s->value = v;
	s->loose = !is_move(f, at) && !python_device_used(f, at);
}

static bool is_bare(const struct python_file *f, const struct python_argument *a)
{
	struct span chain;

	return python_chain(f, a->first, &chain) == a->past;
}

static void see_used(struct python_file *f, unsigned at, const struct python_argument *a,
		     struct python_value v)
{
	struct observation *s = observation_add(f, OBSERVED_USED, token_at(f, at));

	python_chain(f, a->first, &s->ranked);
	s->value = v;
}

/* net.cuda(...) and net.to(...) */
static void call_move(struct python_file *f, unsigned at, unsigned open)
{
	bool cuda = token_is(token_at(f, at), "cuda");
	struct python_value v = {.meaning = MEANS_CUDA};
	const struct python_count *count = NULL;
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
	choice_device(f, named ? a.first : at, named ? a.past : at + 1, v, true);
	if (f->facts.torch && (cuda || v.meaning == MEANS_CUDA || v.meaning == MEANS_DEVICE))
		initialise(f, at, open);
	if (cuda || v.meaning == MEANS_CUDA)
		use_cuda(f);
	if (named && v.meaning == MEANS_UNKNOWN && f->numbered < MAX_VALUE)
		count = python_count(f, a.first, a.past);
	if (count)
		see_numbered(f, at, v, count);
	if (named && v.meaning == MEANS_DEVICE && !v.unsure && is_bare(f, &a))
		see_used(f, at, &a, v);
	/* The device of a keyword is noted where the keyword is. */
	if (!named || !a.name.text)
		python_device(f, at, v, named && is_bare(f, &a));
}

static void call_set_device(struct python_file *f, unsigned at, unsigned open)
{
	struct python_argument a;
	struct observation *s;

	initialise(f, at, open);
	if (!python_argument_find(f, open, "device", 0, &a)) {
		choice_set(f, at, python_unknown);
		return;
	}
	ordinal_device(f, at, python_value(f, a.first, a.past));
	s = observation_add(f, OBSERVED_SET_DEVICE, token_at(f, at));
	s->value = python_value(f, a.first, a.past);
	s->size = python_count(f, a.first, a.past);
	if (s->value.meaning == MEANS_NUMBER)
		s->value.meaning = MEANS_DEVICE;
	if (s->value.meaning == MEANS_DEVICE)
		see_number(f, s->value.number);
	f->facts.chooses |= s->value.meaning != MEANS_DEVICE;
	f->training.picks_local |= s->value.meaning == MEANS_LOCAL_RANK;
	choice_set(f, at, s->value);
}

/* device_ids=[0, 1] as "0,1". An entry that is not a number returns its value instead. */
static void see_ids(struct python_file *f, struct observation *s, unsigned open)
{
	struct python_argument a, id;
	struct python_value v;
	unsigned at;

	if (!python_argument_find(f, open, "device_ids", 1, &a))
		return;
	v = python_ids(f, a.first, a.past);
	if (v.meaning == MEANS_IDS && !v.unsure) {
		s->ids = arena_strndup(&f->arena, v.text.text, v.text.length);
		s->id_count = (size_t)v.number;
		/* A name's numbers choose no device yet, as far as this place shows. */
	}
	if (!is_bracket(f, a.first, a.past, "["))
		return;
	for (at = a.first + 1; python_argument(f, a.first, &at, &id);) {
		v = python_value(f, id.first, id.past);
		choice_device(f, id.first, id.past, v, true);
		if (v.meaning == MEANS_NUMBER || v.meaning == MEANS_DEVICE)
			continue;
		s->value = v;
		if (is_bare(f, &id))
			python_chain(f, id.first, &s->ranked);
		f->facts.chooses = true;
		return;
	}
}

/* DataParallel(net).to("cuda:1") also moves net. */
static struct python_value moved_module(const struct python_file *f, unsigned at, unsigned open)
{
	unsigned dot = token_at(f, open)->past, past = f->text.count;

	if (!is_at(f, dot, past, ".") || !is_at(f, dot + 2, past, "("))
		return python_unknown;
	return python_value(f, at, token_at(f, dot + 2)->past);
}

static void call_parallel(struct python_file *f, enum observation_kind kind, unsigned at,
			  unsigned open)
{
	struct observation *s;

	ordinal_ids(f, open);
	s = observation_add(f, kind, token_at(f, at));
	s->all_ids = !python_has_argument(f, open, "device_ids", 1) ||
		     python_argument_value(f, open, "device_ids", 1).meaning == MEANS_NONE;
	f->facts.chooses |= !s->all_ids;
	see_ids(f, s, open);
	if (kind == OBSERVED_PARALLEL)
		s->module = moved_module(f, at, open);
	if (s->module.meaning != MEANS_MODULE)
		s->module = python_argument_value(f, open, "module", 0);
	f->facts.distributed |= kind == OBSERVED_DISTRIBUTED;
}

/* What init_process_group is told about ranks: how many there are, and which this one is. */
static struct observation *see_group(struct python_file *f, unsigned at, unsigned open)
{
	struct observation *s = observation_add(f, OBSERVED_GROUP, token_at(f, at));
	struct python_argument a;

	f->facts.distributed = f->facts.groups = true;
	if (python_argument_find(f, open, "rank", 4, &a)) {
		s->value = python_value(f, a.first, a.past);
		s->ranked = python_whole_chain(f, a.first, a.past);
		f->facts.numbers_ranks |= s->value.meaning == MEANS_UNKNOWN;
	}
	s->size = python_argument_count(f, open, "world_size", 3);
	s->elsewhere = s->own = python_has_argument(f, open, "store", 5);
	return s;
}

static void call_rendezvous(struct python_file *f, unsigned at, unsigned open)
{
	struct observation *group, *s;
	struct python_argument a;
	struct python_value v;

	/* A group of ranks that are not there. */
	if (python_argument_find(f, open, "backend", 0, &a) &&
	    span_is(token_at(f, a.first)->text, "fake"))
		return;
	group = see_group(f, at, open);
	if (!python_argument_find(f, open, "init_method", 1, &a))
		return;
	v = python_value(f, a.first, a.past);
	if (v.meaning != MEANS_TEXT || !span_starts(v.text, "env://"))
		group->elsewhere = v.meaning != MEANS_NONE;
	if (group->elsewhere)
		group->own = v.meaning != MEANS_TEXT || !span_starts(v.text, "tcp://");
	if (v.meaning != MEANS_TEXT || !span_starts(v.text, "tcp://"))
		return;
	s = observation_add(f, OBSERVED_RENDEZVOUS, token_at(f, a.first));
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
	python_option(f, open);
	if (!seen)
		return;
	s = observation_add(f, OBSERVED_ARGUMENT, token_at(f, at));
	s->name = token_at(f, seen)->text;
	s->both = dash && line;
	s->value = python_argument_value(f, open, "default", -1);
	/* Who reads it by another name is not followed. */
	if (python_argument_find(f, open, "dest", -1, &a) &&
	    !span_is(token_at(f, a.first)->text, "local_rank"))
		f->facts.reads_argument = true;
}

static void call_method(struct python_file *f, unsigned at, unsigned open)
{
	const struct python_token *t = token_at(f, at);

	if (token_is_any(t, "cuda to"))
		call_move(f, at, open);
	else if (token_is(t, "add_argument"))
		call_argument(f, at, open), ordinal_default(f, open);
	else if (token_is(t, "parse_args") && token_at(f, open)->past == open + 2)
		observation_add(f, OBSERVED_PARSE, t);
	else if (token_is_any(t, "parse_args set_defaults add_subparsers"))
		f->facts.odd_options = true;
	else if (token_is(t, "parse_known_args"))
		f->facts.known_alone = true;
}

static bool is_distributed(const char *path)
{
	return starts_with(path, "torch.") && text_ends(path, ".DistributedDataParallel");
}

/* Whether a call makes a tensor on a GPU: torch.zeros(1, device="cuda"). */
static bool makes_tensor(const struct python_file *f, const char *path, unsigned open)
{
	struct python_value v;

	if (!span_is_any(span_of(path),
			 "torch.zeros torch.ones torch.empty torch.full torch.rand torch.randn "
			 "torch.arange torch.tensor torch.randint torch.eye torch.as_tensor"))
		return false;
	v = python_argument_value(f, open, "device", -1);
	return (v.meaning == MEANS_CUDA || v.meaning == MEANS_DEVICE) && !v.unsure;
}

/* Whether a call initialises CUDA: of PyTorch, JAX or TensorFlow. */
static bool initialises(const struct python_file *f, const char *path, unsigned open)
{
	if (!span_starts_any(span_of(path), "torch. jax. tensorflow."))
		return false;
	return span_is_any(
		       span_of(path),
		       "torch.cuda.init torch.cuda.current_device torch.cuda.get_device_name "
		       "torch.cuda.get_device_properties torch.cuda.get_device_capability "
		       "torch.cuda.synchronize torch.cuda.mem_get_info torch.cuda.current_stream "
		       "torch.cuda.is_available torch.accelerator.current_device_index "
		       "torch.accelerator.synchronize jax.devices jax.local_devices "
		       "jax.device_count jax.local_device_count jax.process_index "
		       "jax.process_count jax.default_backend jax.device_put jax.random.PRNGKey "
		       "jax.random.key jax.numpy.array jax.numpy.asarray jax.numpy.zeros "
		       "jax.numpy.ones jax.numpy.full jax.numpy.arange jax.numpy.eye "
		       "jax.numpy.linspace tensorflow.config.list_physical_devices "
		       "tensorflow.config.list_logical_devices "
		       "tensorflow.config.get_visible_devices "
		       "tensorflow.config.set_visible_devices "
		       "tensorflow.config.experimental.list_physical_devices "
		       "tensorflow.config.experimental.list_logical_devices "
		       "tensorflow.config.experimental.set_visible_devices "
		       "tensorflow.config.experimental.set_memory_growth "
		       "tensorflow.test.is_gpu_available tensorflow.test.gpu_device_name "
		       "tensorflow.Session tensorflow.compat.v1.Session "
		       "tensorflow.python.client.device_lib.list_local_devices") ||
	       makes_tensor(f, path, open);
}

/* --- processes ------------------------------------------------------------------------ */

/* Whether a command is one that starts no ranks: its first word is known, and neither Python, a
 * shell nor a launcher. */
static bool is_foreign(const struct python_file *f, unsigned open)
{
	const struct python_token *t;
	struct python_argument a;
	struct span word;
	unsigned at = open + 1;

	if (!python_argument(f, open, &at, &a))
		return false;
	t = token_at(f, a.first);
	if (token_is(t, "[") && t->past > a.first + 2)
		t = token_at(f, a.first + 1);
	if (t->kind != PYTHON_STRING && t->kind != PYTHON_FORMAT)
		return false;
	word = span_trim(t->text);
	word.length = span_before(word, " \t\n\v\f\r");
	if (span_starts_any(word, "python sbatch ray bash sh env nohup sudo cd xargs ssh docker "
				  "CUDA_ conda source"))
		return false;
	for (const struct launcher_program *p = launcher_programs; p->name; p++)
		if (span_starts(word, p->name))
			return false;
	return word.length && span_before(word, "{%=/") == word.length && !is_python_file(word) &&
	       !(word.length > 3 && span_is(span_from(word, word.text + word.length - 3), ".sh"));
}

/* The function that is the argument `name`. */
static struct span function_name(const struct python_file *f, unsigned open, const char *name,
				 int place)
{
	struct python_argument a;

	return python_argument_find(f, open, name, place, &a)
		       ? python_whole_chain(f, a.first, a.past)
		       : NO_SPAN;
}

/* args=(a, b): what the function gets, after `before` arguments that the call itself gives it. */
static void see_given(struct python_file *f, struct observation *s, unsigned open, int place,
		      size_t before)
{
	struct python_argument a, member;
	unsigned at;

	if (!python_argument_find(f, open, "args", place, &a) ||
	    !is_bracket(f, a.first, a.past, "( ["))
		return;
	s->given = arena_alloc(&f->arena, MAX_GIVEN, sizeof(*s->given));
	for (size_t i = 0; i < before; i++)
		s->given[s->given_count++] = NULL;
	for (at = a.first + 1;
	     s->given_count < MAX_GIVEN && python_argument(f, a.first, &at, &member);) {
		if (is_at(f, member.first, member.past, "*"))
			return;
		s->given[s->given_count++] = python_count(f, member.first, member.past);
	}
}

static void see_spawn(struct python_file *f, unsigned at, unsigned open)
{
	struct observation *s = observation_add(f, OBSERVED_SPAWN, token_at(f, at));

	s->target = function_name(f, open, "fn", 0);
	s->size = python_argument_count(f, open, "nprocs", 2);
	see_given(f, s, open, 1, 1);
}

/* Process() in the body of a loop, or in a list that is made of a loop. */
static void see_process(struct python_file *f, unsigned at, unsigned open)
{
	struct observation *s = observation_add(f, OBSERVED_PROCESS, token_at(f, at));
	unsigned behind = token_at(f, open)->past, past = f->text.count;

	s->target = function_name(f, open, "target", 1);
	see_given(f, s, open, 3, 0);
	s->size = block_now(f)->rounds;
	s->ranked = block_now(f)->counter;
	for (int i = f->depth - 1; i >= 0 && f->blocks[i].function == s->function; i--)
		s->nested |= f->blocks[i].repeated;
	if (!is_at(f, behind, past, "for"))
		return;
	s->ranked = token_at(f, behind + 1 < past ? behind + 1 : behind)->text;
	behind = python_find(f, behind, past, "in");
	s->size = behind < past ? python_rounds(f, behind, past) : NULL;
}

/* A call that starts processes; false: it does not. */
static bool call_process(struct python_file *f, const char *path, unsigned at, unsigned open)
{
	bool spawns;

	if (span_is_any(span_of(path), "subprocess.run subprocess.Popen subprocess.call os.system "
				       "subprocess.check_output subprocess.check_call "
				       "subprocess.getoutput os.popen")) {
		f->facts.spawns |= !is_foreign(f, open);
		python_command(f, open);
		return true;
	}
	spawns = span_is_any(span_of(path),
			     "torch.multiprocessing.spawn torch.multiprocessing.start_processes "
			     "torch.multiprocessing.spawn.spawn");
	if (!spawns &&
	    !span_is_any(span_of(path),
			 "torch.multiprocessing.Process torch.multiprocessing.get_context "
			 "multiprocessing.Process multiprocessing.get_context "
			 "accelerate.notebook_launcher accelerate.debug_launcher"))
		return false;
	f->facts.spawns = f->facts.spawns_ranks = true;
	if (spawns)
		see_spawn(f, at, open);
	else if (text_ends(path, "multiprocessing.Process"))
		see_process(f, at, open);
	return true;
}

/* torch.device() and torch.cuda.device(): the whole expression decides: "cuda", and an index
 * after it. */
static void call_device(struct python_file *f, const char *path, unsigned at, unsigned open)
{
	struct python_argument a;

	/* torch.device("cuda", number) */
	if (streq(path, "torch.device"))
		ordinal_argument(f, open, "index", 1);
	if (python_argument_find(f, open, "device", 0, &a))
		python_device(f, at,
			      streq(path, "torch.device")
				      ? python_value(f, at, token_at(f, open)->past)
				      : python_value(f, a.first, a.past),
			      false);
}

/* Whether a call sets the current device, perhaps in its block alone. */
static bool sets_device(const struct python_file *f, const char *path, unsigned open)
{
	if (token_is_any(token_at(f, open - 1), "set_device set_device_index set_device_idx "
						"set_default_device init_device_mesh"))
		return true;
	return path &&
	       (span_is_any(
			span_of(path),
			"torch.cuda.device torch.cuda.device_of torch.accelerator.device_index") ||
		(streq(path, "torch.distributed.init_process_group") &&
		 python_has_argument(f, open, "device_id", -1)));
}

void python_call(struct python_file *f, const char *path, unsigned at, unsigned open)
{
	training_call(f, path, at, open);
	f->facts.sets_device |= sets_device(f, path, open);
	if (!path) {
		call_method(f, at, open);
		return;
	}
	choice_call(f, path, at, open);
	/* All other functions are in modules. */
	if (!strchr(path, '.'))
		return;
	frameworks_call(f, path, at, open);
	/* Most are not of these packages. */
	if (!span_starts_any(
		    span_of(path),
		    "torch. os. subprocess. multiprocessing. accelerate. jax. tensorflow. dotenv."))
		return;
	if (initialises(f, path, open))
		initialise(f, at, open);
	if (streq(path, "torch.distributed.init_process_group"))
		ordinal_argument(f, open, "rank", -1);
	if (span_is_any(span_of(path), "torch.cuda.set_device torch.accelerator.set_device_index "
				       "torch.accelerator.set_device_idx"))
		call_set_device(f, at, open);
	else if (span_is_any(span_of(path), "torch.device torch.cuda.device"))
		call_device(f, path, at, open);
	else if (span_is_any(span_of(path), "torch.nn.DataParallel torch.nn.parallel.DataParallel "
					    "torch.nn.parallel.data_parallel.DataParallel"))
		call_parallel(f, OBSERVED_PARALLEL, at, open);
	else if (is_distributed(path))
		call_parallel(f, OBSERVED_DISTRIBUTED, at, open);
	else if (streq(path, "torch.distributed.init_process_group"))
		call_rendezvous(f, at, open);
	else if (streq(path, "accelerate.Accelerator"))
		f->facts.accelerator = true;
	else if (streq(path, "dotenv.load_dotenv") && python_has_argument(f, open, "override", -1))
		python_environ_replace(f);
	else if (!call_process(f, path, at, open) && starts_with(path, "os."))
		python_environ_call(f, path, at, open);
}
