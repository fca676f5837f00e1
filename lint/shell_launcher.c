/* SPDX-License-Identifier: MIT */
/* The arguments of launchers: the ranks, the port, the devices and the program. */
#include "lint/shell_script.h"

#include <stddef.h>

enum meaning {
	TAKES_NOTHING,
	TAKES_VALUE,
	TAKES_TWO,
	RANKS,     /* on this host */
	PROCESSES, /* on all hosts together */
	NODES,
	PORT,
	IDS,
	FILTER, /* chooses devices or hosts in another way */
	HOSTS,
	NO_PORT, /* the launcher finds the port */
	NO_PORT_VALUE,
	ENDPOINT, /* HOST:PORT */
	ADDRESS,
	RENDEZVOUS_ID,
	NODE_RANK,
	CPU,
	MODULE,
	PASSES_NOTHING /* does not pass --local_rank */
};

struct option {
	const char *name; /* without dashes at its front, and with _ as - */
	enum meaning meaning;
};

static const struct option torchrun[] = {{"nproc-per-node", RANKS},
					 {"nnodes", NODES},
					 {"master-port", PORT},
					 {"master-addr", ADDRESS},
					 {"standalone", NO_PORT},
					 {"rdzv-backend", NO_PORT_VALUE},
					 {"rdzv-endpoint", ENDPOINT},
					 {"rdzv-id", RENDEZVOUS_ID},
					 {"node-rank", NODE_RANK},
					 {"rdzv-conf", TAKES_VALUE},
					 {"m", MODULE},
					 {"module", MODULE},
					 {"no-python", TAKES_NOTHING},
					 {"run-path", TAKES_NOTHING},
					 {"use-env", PASSES_NOTHING},
					 {"virtual-local-rank", TAKES_NOTHING},
					 {NULL, TAKES_VALUE}};

static const struct option accelerate[] = {{"num-processes", PROCESSES},
					   {"num-machines", NODES},
					   {"gpu-ids", IDS},
					   {"main-process-port", PORT},
					   {"main-process-ip", ADDRESS},
					   {"cpu", CPU},
					   {"use-cpu", CPU},
					   {"tpu", CPU},
					   {"config-file", HOSTS},
					   {"m", MODULE},
					   {"module", MODULE},
					   {"multi-gpu", TAKES_NOTHING},
					   {"no-python", TAKES_NOTHING},
					   {"use-deepspeed", FILTER},
					   {"use-fsdp", TAKES_NOTHING},
					   {"debug", TAKES_NOTHING},
					   {"q", TAKES_NOTHING},
					   {"quiet", TAKES_NOTHING},
					   {"same-network", TAKES_NOTHING},
					   {"mps", CPU},
					   {"enable-cpu-affinity", TAKES_NOTHING},
					   {"use-xpu", CPU},
					   {"use-megatron-lm", TAKES_NOTHING},
					   {NULL, TAKES_VALUE}};

static const struct option deepspeed[] = {{"num-gpus", RANKS},
					  {"num-nodes", NODES},
					  {"master-port", PORT},
					  {"include", IDS},
					  {"i", IDS},
					  {"exclude", FILTER},
					  {"e", FILTER},
					  {"hostfile", HOSTS},
					  {"H", HOSTS},
					  {"module", MODULE},
					  {"no-python", TAKES_NOTHING},
					  {"no-local-rank", PASSES_NOTHING},
					  {"no-ssh", TAKES_NOTHING},
					  {"no-ssh-check", TAKES_NOTHING},
					  {"force-multi", TAKES_NOTHING},
					  {"save-pid", TAKES_NOTHING},
					  {"bind-cores-to-rank", TAKES_NOTHING},
					  {"elastic-training", TAKES_NOTHING},
					  {"q", TAKES_NOTHING},
					  {NULL, TAKES_VALUE}};

static const struct option mpirun[] = {{"np", PROCESSES},
				       {"n", PROCESSES},
				       {"c", PROCESSES},
				       {"H", HOSTS},
				       {"host", HOSTS},
				       {"hosts", HOSTS},
				       {"hostfile", HOSTS},
				       {"machinefile", HOSTS},
				       {"f", HOSTS},
				       {"ppn", HOSTS},
				       {"N", HOSTS},
				       {"npernode", HOSTS},
				       {"map-by", HOSTS},
				       {"mca", TAKES_TWO},
				       {"genv", TAKES_TWO},
				       {"env", TAKES_TWO},
				       {"prtemca", TAKES_TWO},
				       {"allow-run-as-root", TAKES_NOTHING},
				       {"oversubscribe", TAKES_NOTHING},
				       {"tag-output", TAKES_NOTHING},
				       {"report-bindings", TAKES_NOTHING},
				       {"q", TAKES_NOTHING},
				       {"v", TAKES_NOTHING},
				       {"verbose", TAKES_NOTHING},
				       {"display-map", TAKES_NOTHING},
				       {"l", TAKES_NOTHING},
				       {NULL, TAKES_VALUE}};

static const struct option gpumap_run[] = {{"nproc-per-node", RANKS},
					   {"ranks", RANKS},
					   {"nnodes", NODES},
					   {"master-port", PORT},
					   {"standalone", NO_PORT},
					   {"m", MODULE},
					   {"no-python", TAKES_NOTHING},
					   {"pass-local-rank", TAKES_NOTHING},
					   {NULL, TAKES_VALUE}};

static const struct option *options_of(enum lint_launcher launcher)
{
	switch (launcher) {
	case LINT_ACCELERATE:
		return accelerate;
	case LINT_DEEPSPEED:
		return deepspeed;
	case LINT_MPIRUN:
		return mpirun;
	case LINT_GPUMAP:
		return gpumap_run;
	default:
		return torchrun;
	}
}

static bool same_option(struct span s, const char *name)
{
	if (strlen(name) != s.length)
		return false;
	for (size_t i = 0; i < s.length; i++)
		if (name[i] != (s.text[i] == '_' ? '-' : s.text[i]))
			return false;
	return true;
}

static enum meaning look_up(const struct option *options, struct span name)
{
	while (options->name && !same_option(name, options->name))
		options++;
	return options->name || name.length != 1 ? options->meaning : TAKES_VALUE;
}

static int64_t number(struct span s)
{
	return span_known(s) ? span_number(s, 1000000) : -1;
}

/* 2, or 2:4 for at least two; -1: not known. */
static int64_t node_number(struct span s)
{
	struct span least;
	int64_t count;

	if (!span_known(s) || !memchr(s.text, ':', s.length))
		return number(s);
	span_split(&s, ':', &least);
	count = number(least);
	return count > 1 ? count : -1;
}

/* HOST:PORT, or HOST. */
static void take_endpoint(struct launch *launch, struct span s, struct place at)
{
	const char *colon = s.length ? memrchr(s.text, ':', s.length) : NULL;

	launch->no_port = true;
	launch->port = -1;
	launch->port_at = launch->address_at = at;
	launch->address = s;
	if (!colon)
		return;
	launch->address.length = (size_t)(colon - s.text);
	if (span_known(s))
		launch->port =
			number((struct span){colon + 1, s.length - (size_t)(colon + 1 - s.text)});
}

/* The members that options without more set. */
static const size_t flags[] = {
	[FILTER] = offsetof(struct launch, filtered),
	[HOSTS] = offsetof(struct launch, hosts),
	[RENDEZVOUS_ID] = offsetof(struct launch, rendezvous_id),
	[NODE_RANK] = offsetof(struct launch, numbered),
	[CPU] = offsetof(struct launch, cpu),
	[MODULE] = offsetof(struct launch, module),
};

static void take(struct launch *launch, enum meaning meaning, struct span value, struct place at)
{
	switch (meaning) {
	case RANKS:
	case PROCESSES:
		launch->nproc_given = true;
		launch->nproc = number(value);
		launch->nproc_text = value;
		launch->nproc_at = at;
		break;
	case NODES:
		launch->nnodes = node_number(value);
		break;
	case PORT:
		launch->port = number(value);
		launch->port_at = at;
		break;
	case NO_PORT:
		launch->no_port = launch->agrees = true;
		break;
	case NO_PORT_VALUE:
		launch->no_port = true;
		launch->agrees = span_known(value) && !span_is(value, "static");
		launch->numbered |= !span_known(value);
		break;
	case ENDPOINT:
		launch->endpoint = true;
		take_endpoint(launch, value, at);
		break;
	case ADDRESS:
		launch->address = value;
		launch->address_at = at;
		break;
	case IDS:
		launch->ids_given = true;
		launch->ids = value;
		launch->ids_at = at;
		break;
	case PASSES_NOTHING:
		launch->passes = false;
		break;
	default:
		if (meaning < ARRAY_SIZE(flags) && flags[meaning])
			*(bool *)((char *)launch + flags[meaning]) = true;
		break;
	}
}

static bool takes_word(enum meaning meaning)
{
	return meaning != TAKES_NOTHING && meaning != NO_PORT && meaning != CPU &&
	       meaning != MODULE && meaning != PASSES_NOTHING && meaning != FILTER;
}

/* Reads one option. Returns the next word. */
static size_t read_option(const struct command *c, size_t i, const struct option *options,
			  struct launch *launch)
{
	struct span name = word_text(c, i), value;
	struct place at = c->words[i].at;
	const char *equals = memchr(name.text, '=', name.length);
	enum meaning meaning;
	const char *source;
	bool derived;

	while (name.length && *name.text == '-')
		name = (struct span){name.text + 1, name.length - 1};
	if (equals)
		name.length = (size_t)(equals - name.text);
	meaning = look_up(options, name);
	derived = c->words[i].derived || (!equals && i + 1 < c->count && c->words[i + 1].derived);
	if (meaning == PORT || meaning == ENDPOINT)
		launch->port_derived = derived;
	else if (meaning == RANKS || meaning == PROCESSES)
		launch->nproc_derived = derived;
	else if (meaning == IDS)
		launch->ids_derived = derived;
	source = c->words[i].source;
	if (!equals && i + 1 < c->count)
		source = c->words[i + 1].source;
	if (meaning == RANKS || meaning == PROCESSES)
		launch->nproc_source = source;
	else if (meaning == IDS)
		launch->ids_source = source;
	else if (meaning == ENDPOINT || meaning == ADDRESS)
		launch->address_source = source;
	if (equals) {
		value = (struct span){equals + 1,
				      word_text(c, i).length -
					      (size_t)(equals + 1 - word_text(c, i).text)};
		take(launch, meaning, value, at);
		return i + 1;
	}
	if (meaning == FILTER && launch->launcher != LINT_ACCELERATE)
		i++;
	value = word_text(c, i + 1);
	/* An unknown option takes a value if one can follow. */
	if (meaning == TAKES_VALUE &&
	    ((value.length && *value.text == '-') || is_python_file(value)))
		return i + 1;
	take(launch, meaning, value, at);
	return i + 1 + takes_word(meaning) + (meaning == TAKES_TWO);
}

/* --NAME=..., whatever the value is. */
static bool has_value(struct span s)
{
	const char *equals = s.length ? memchr(s.text, '=', s.length) : NULL;

	return equals && *s.text == '-' &&
	       span_known((struct span){s.text, (size_t)(equals - s.text)});
}

void launch_read(const struct command *c, size_t first, struct launch *launch)
{
	const struct option *options = options_of(launch->launcher);
	size_t i = first;

	while (i < c->count) {
		struct span s = word_text(c, i);

		if (span_is(s, "--")) {
			i++;
			break;
		}
		/* What follows --nnodes= is hardly several words. */
		launch->loose |= (c->words[i].loose && !has_value(s)) ||
				 (s.length && *s.text == SHELL_UNKNOWN);
		if ((c->words[i].loose && !has_value(s)) ||
		    (s.length && *s.text == SHELL_UNKNOWN)) {
			i++;
		} else if (s.length > 1 && *s.text == '-') {
			i = read_option(c, i, options, launch);
		} else {
			break;
		}
	}
	launch->program = i < c->count ? i : c->count;
}

const char *lint_launcher_name(enum lint_launcher launcher)
{
	static const char *const names[] = {
		[LINT_DIRECT] = "the shell",
		[LINT_TORCHRUN] = "torchrun",
		[LINT_TORCH_LAUNCH] = "torch.distributed.launch",
		[LINT_ACCELERATE] = "accelerate",
		[LINT_DEEPSPEED] = "deepspeed",
		[LINT_MPIRUN] = "mpirun",
		[LINT_SRUN] = "srun",
		[LINT_GPUMAP] = "gpumap run",
	};

	return names[launcher];
}
