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

/* The options of a launcher that mean the same: their names without dashes at their front, and with
 * _ as -. */
struct options {
	enum meaning meaning;
	const char *names;
};

enum { MAX_OPTIONS = 16 };

/* The options of each launcher; others take a value. */
static const struct options launchers[][MAX_OPTIONS] = {
	[LINT_TORCHRUN] = {{RANKS, "nproc-per-node"},
			   {NODES, "nnodes"},
			   {PORT, "master-port"},
			   {ADDRESS, "master-addr"},
			   {NO_PORT, "standalone"},
			   {NO_PORT_VALUE, "rdzv-backend"},
			   {ENDPOINT, "rdzv-endpoint"},
			   {RENDEZVOUS_ID, "rdzv-id"},
			   {NODE_RANK, "node-rank"},
			   {MODULE, "m module"},
			   {PASSES_NOTHING, "use-env"},
			   {TAKES_NOTHING, "no-python run-path virtual-local-rank"}},
	[LINT_ACCELERATE] = {{PROCESSES, "num-processes"},
			     {NODES, "num-machines"},
			     {IDS, "gpu-ids"},
			     {PORT, "main-process-port"},
			     {ADDRESS, "main-process-ip"},
			     {HOSTS, "config-file"},
			     {MODULE, "m module"},
			     {FILTER, "use-deepspeed"},
			     {CPU, "cpu use-cpu tpu mps use-xpu"},
			     {TAKES_NOTHING, "multi-gpu no-python use-fsdp debug q quiet "
					     "same-network enable-cpu-affinity use-megatron-lm"}},
	[LINT_DEEPSPEED] = {{RANKS, "num-gpus"},
			    {NODES, "num-nodes"},
			    {PORT, "master-port"},
			    {IDS, "include i"},
			    {FILTER, "exclude e"},
			    {HOSTS, "hostfile H"},
			    {MODULE, "module"},
			    {PASSES_NOTHING, "no-local-rank"},
			    {TAKES_NOTHING, "no-python no-ssh no-ssh-check force-multi save-pid "
					    "bind-cores-to-rank elastic-training q"}},
	[LINT_MPIRUN] = {{PROCESSES, "np n c"},
			 {HOSTS, "H host hosts hostfile machinefile f ppn N npernode map-by"},
			 {TAKES_TWO, "mca genv env prtemca"},
			 {TAKES_NOTHING, "allow-run-as-root oversubscribe tag-output "
					 "report-bindings q v verbose display-map l"}},
	[LINT_GPUMAP] = {{RANKS, "nproc-per-node ranks"},
			 {NODES, "nnodes"},
			 {PORT, "master-port"},
			 {NO_PORT, "standalone"},
			 {MODULE, "m"},
			 {TAKES_NOTHING, "no-python pass-local-rank"}},
};

static bool same_option(struct span s, struct span name)
{
	if (name.length != s.length)
		return false;
	for (size_t i = 0; i < s.length; i++)
		if (name.text[i] != (s.text[i] == '_' ? '-' : s.text[i]))
			return false;
	return true;
}

static enum meaning look_up(enum lint_launcher launcher, struct span option)
{
	bool torch = launcher == LINT_TORCH_LAUNCH;
	const struct options *of = launchers[torch ? LINT_TORCHRUN : launcher];

	for (; of->names; of++) {
		struct span names = span_of(of->names), name;

		while (span_split(&names, ' ', &name))
			if (same_option(option, name))
				return of->meaning;
	}
	return TAKES_VALUE;
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
static void take_endpoint(struct launch *launch, const struct setting *given)
{
	struct span s = given->value;
	const char *colon = s.length ? memrchr(s.text, ':', s.length) : NULL;

	launch->no_port = launch->endpoint = true;
	launch->port = -1;
	launch->port_option = launch->address = *given;
	if (!colon)
		return;
	launch->address.value = span_to(s, colon);
	if (span_known(s))
		launch->port = number(span_from(s, colon + 1));
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

static void take(struct launch *launch, enum meaning meaning, const struct setting *given)
{
	struct span value = given->value;

	switch (meaning) {
	case RANKS:
	case PROCESSES:
		launch->nproc = number(value);
		launch->ranks = *given;
		break;
	case NODES:
		launch->nnodes = node_number(value);
		break;
	case PORT:
		launch->port = number(value);
		launch->port_option = *given;
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
		take_endpoint(launch, given);
		break;
	case ADDRESS:
		launch->address = *given;
		break;
	case IDS:
		launch->ids = *given;
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
static size_t read_option(const struct command *c, size_t i, struct launch *launch)
{
	struct span name = word_text(c, i);
	const char *equals = memchr(name.text, '=', name.length);
	const struct word *word = &c->words[i], *next = i + 1 < c->count ? word + 1 : word;
	enum meaning meaning;
	struct setting given = {.state = SET_VALUE,
				.exported = EXPORT_YES,
				.value = word_text(c, i + 1),
				.at = word->at,
				.derived = word->derived || (!equals && next->derived),
				.source = equals ? word->source : next->source};

	if (equals)
		given.value = span_from(name, equals + 1);
	while (span_skip(&name, "-"))
		;
	if (equals)
		name = span_to(name, equals);
	meaning = look_up(launch->launcher, name);
	if (equals) {
		take(launch, meaning, &given);
		return i + 1;
	}
	if (meaning == FILTER && launch->launcher != LINT_ACCELERATE)
		given.value = word_text(c, ++i + 1);
	/* An unknown option takes a value if one can follow. */
	if (meaning == TAKES_VALUE &&
	    ((given.value.length && *given.value.text == '-') || is_python_file(given.value)))
		return i + 1;
	take(launch, meaning, &given);
	return i + 1 + takes_word(meaning) + (meaning == TAKES_TWO);
}

/* --NAME=..., whatever the value is. */
static bool has_value(struct span s)
{
	const char *equals = s.length ? memchr(s.text, '=', s.length) : NULL;

	return equals && *s.text == '-' && span_known(span_to(s, equals));
}

void launch_read(const struct command *c, size_t first, struct launch *launch)
{
	size_t i = first;

	while (i < c->count) {
		struct span s = word_text(c, i);

		if (span_is(s, "--")) {
			i++;
			break;
		}
		/* What follows --nnodes= is hardly several words. */
		if ((c->words[i].loose && !has_value(s)) ||
		    (s.length && *s.text == SHELL_UNKNOWN)) {
			launch->loose = true;
			i++;
		} else if (is_option(s)) {
			i = read_option(c, i, launch);
		} else {
			break;
		}
	}
	launch->program = i < c->count ? i : c->count;
}
