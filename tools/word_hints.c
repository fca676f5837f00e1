/* SPDX-License-Identifier: MIT */
/* See word_hints.h. */
#include "word_hints.h"

#include <stdio.h>

#include "cli/foreign_option.h"
#include "command.h"
#include "strbuf.h"
#include "text.h"
#include "text/words.h"

/* Longer words are not looked up. */
enum { MAX_WORD = 64 };

struct direction {
	const char *words; /* separated by blanks, in lower case */
	const char *remedy;
};

/* Words that are no command. */
static const struct direction words[] = {
	{"list ls devices device gpus gpu cards card show info query smi nvidia-smi count "
	 "hardware machine host hosts node model models",
	 "gpumap inventory lists the GPUs of this machine"},
	{"free available idle",
	 "gpumap pick all lists the free GPUs, gpumap pick 2 -- PROGRAM keeps two for the program; "
	 "gpumap ps shows what is in use"},
	{"status is-free isfree busy in-use",
	 "gpumap ps --gpus 2 shows who uses GPU 2; gpumap pick all lists the free GPUs"},
	{"usage util utilization monitor watch nvitop gpustat",
	 "gpumap ps shows what is in use, and gpumap ps --follow keeps showing it"},
	{"topo topology nvlink links", "gpumap inventory --json has the links between GPUs"},
	{"top processes process pid who",
	 "gpumap ps shows the processes of each GPU; gpumap --pid N explains the process N"},
	{"launch start spawn submit execute",
	 "gpumap run train.py starts a rank on each GPU, gpumap run --gpus 2,3 train.py only on "
	 "GPUs 2 and 3"},
	{"torchrun",
	 "gpumap run --nproc-per-node 4 train.py starts the job, by the same options; gpumap "
	 "emit torchrun --ranks 4 train.py writes a command of torchrun"},
	{"mpiexec", "gpumap run starts ranks itself; gpumap emit mpirun writes a command"},
	{"slurm", "gpumap emit srun or sbatch writes a command or a script"},
	{"train", "gpumap run train.py starts a program; gpumap-train is the trainer"},
	{"use select set choose pick visible",
	 "gpumap run --gpus 2,3 train.py starts a program there; gpumap --visible 2,3 explains the "
	 "list"},
	{"check diagnose validate debug test troubleshoot fix",
	 "gpumap doctor checks this machine, gpumap lint reports mistakes in programs and scripts, "
	 "gpumap verify compares a running job with its plan"},
	{"which what where map mapping resolve ask answer trace describe",
	 "gpumap explain answers that: gpumap --visible 2,3,4,5 --device 1"},
	{"why ignored",
	 "gpumap explain gives the reasons for a GPU, as in gpumap --visible 2,3 --device 1; "
	 "gpumap lint train.py finds mistakes in a program, gpumap rules ID explains a message"},
	{"preview schedule simulate layout rank ranks dry-run dryrun",
	 "gpumap plan train.py shows which rank runs where"},
	{"fake mock emulate imitate", "gpumap pretend --inventory 8xH100 -- PROGRAM"},
	{"export convert translate write generate",
	 "gpumap emit LAUNCHER writes a plan as another launcher's command"},
	{"profile profiles settings setting options env environment vars",
	 "gpumap config shows a profile's settings, gpumap explain what this environment means"},
	{"rule finding findings error errors code codes message messages",
	 "gpumap rules ID explains a message, as in gpumap rules GM009"},
	{"version", "gpumap --version shows it"},
	{"json text color colour", "use an option: gpumap --json or --color"},
	{"man manual doc docs usage commands",
	 "gpumap --help lists the commands, and the manual is gpumap(1)"},
	{"single dp ddp mp fsdp dataparallel distributed",
	 "the mode is an option: gpumap --mode ddp"},
};

static bool is_program(const char *word)
{
	return text_ends(word, ".py") || text_ends(word, ".sh") || starts_with(word, "./") ||
	       starts_with(word, "/");
}

/* The remedy for a number, a list, a device, a machine or a variable without its option, with @ for
 * the word; NULL if the word is something else. */
static const char *lacks_option(const char *word)
{
	size_t digits = strspn(word, "0123456789"), list = strspn(word, "0123456789,- ");

	if (digits && !word[digits])
		return digits > 3 ? "write gpumap --pid @ for that process"
				  : "write --device @ for cuda:@, or --visible @ for a list";
	if (digits && !word[list])
		return "write --visible @ for the list, --device N for a device in it";
	if (digits && word[digits] == 'x')
		return "write --inventory @";
	if (starts_with(word, "cuda:"))
		return "write --device @";
	if (starts_with(word, "GPU-") || starts_with(word, "MIG-"))
		return "write --visible @";
	if (strchr(word, '='))
		return "write the variable before: @ gpumap ...";
	return NULL;
}

static void fill_in(struct remedy *ret, const char *pattern, const char *word)
{
	struct strbuf buf = {0};

	for (; *pattern; pattern++)
		if (*pattern == '@')
			words_quote(&buf, word);
		else
			strbuf_add(&buf, pattern, 1);
	snprintf(ret->text, sizeof(ret->text), "%s", buf.text ? buf.text : "");
	strbuf_free(&buf);
}

static bool is_command(const char *word)
{
	static const char *const names[] = {
#define COMMAND(name, summary, keys, operands) #name,
#include "commands.def"
#undef COMMAND
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(names[i], word))
			return true;
	return false;
}

static bool is_launcher(const char *word)
{
	const gpumap_target *target;

	for (size_t i = 0; (target = gpumap_target_get(i)); i++)
		if (streq(gpumap_target_str(target, GPUMAP_TARGET_NAME), word))
			return true;
	return false;
}

const char *word_direction(struct remedy *ret, const char *word, const char *otherwise)
{
	const char *pattern = lacks_option(word);
	const char *found = intended(span_of(word));

	for (size_t i = 0; !found && i < ARRAY_SIZE(words); i++)
		if (span_among(span_of(word), words[i].words))
			found = words[i].remedy;
	if (strlen(word) > MAX_WORD || strlen(QUOTE(span_of(word))) != strlen(word))
		return otherwise;
	if (id_remedy(ret, word, NULL))
		return ret->text;
	if (is_command(word))
		pattern = "the command comes first: gpumap @ ...";
	else if (!pattern && !found && is_launcher(word))
		pattern =
			"gpumap run starts ranks itself; gpumap emit @ writes a command or script "
			"for that launcher";
	else if (!pattern && is_program(word))
		pattern = "gpumap plan @ shows its GPUs, gpumap run @ starts it";
	else if (!pattern && span_among(span_of(word), "python python3"))
		pattern = "gpumap run @ ... starts it; " PYTHON_MODULE;
	else if (!pattern && span_among(span_of(word), "bash sh uv conda"))
		pattern = "gpumap run @ ... starts it";
	else if (!pattern && text_ends(word, ".json"))
		pattern = "gpumap run --again @ repeats the run of a record, gpumap plan --plan @ "
			  "shows a plan";
	else if (!pattern && text_ends(word, ".ini"))
		pattern = "gpumap run --config @ starts it, gpumap lint @ checks it";
	if (!pattern)
		return found ? found : otherwise;
	fill_in(ret, pattern, word);
	return ret->text;
}
