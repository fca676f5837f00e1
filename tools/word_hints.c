/* SPDX-License-Identifier: MIT */
/* See word_hints.h. */
#include "word_hints.h"

#include "cli/foreign_option.h"
#include "cli/hint_line.h"
#include "command.h"
#include "text.h"
#include "text/words.h"

/* Longer words are not looked up. */
enum { MAX_WORD = 64 };

struct word_hint {
	const char *words; /* separated by blanks, in lower case */
	const char *fix;
};

#define LIST "--gpus --gpu --devices --gpu-ids -g #,"

/* Words that mean something else if the line has one of `with` (line_has()). */
static const struct {
	const char *words, *with, *fix;
} specials[] = {
	{"free available idle", "#",
	 "gpumap ps --gpus {#|2} shows whether GPU {#|2} is free; gpumap pick {#|2} -- PROGRAM "
	 "keeps "
	 "{#|2} free GPUs for the program"},
	{"sbatch srun", ".sh",
	 "gpumap lint {.sh|job.sh} checks the script, gpumap rehearse --inventory 8xH100 -- @ "
	 "{.sh|job.sh} tries it without Slurm; gpumap emit @ writes one"},
	{"sbatch srun", "-n --ntasks",
	 "gpumap emit @ --nnodes {--nodes -N --nnodes|1} --ranks N --inventory {--gpus-per-node|8} "
	 "{.py|train.py} writes it for Slurm, N the ranks of each host; gpumap run starts ranks "
	 "itself"},
	{"torchrun", "--nnodes --node-rank",
	 "gpumap run {...|} starts it, on each host with its number as --node-rank N; gpumap plan "
	 "{...|} shows what it will do, and gpumap emit torchrun writes a command of torchrun"},
	{"torchrun", ".py -m --module",
	 "gpumap run {...|} starts it, gpumap plan {...|} shows what it will do; gpumap emit "
	 "torchrun --ranks {--nproc-per-node|4} {.py|train.py} writes a command of torchrun"},
	{"which what where map mapping resolve ask answer trace describe show",
	 "--ranks --nproc --nproc-per-node --world-size --nnodes --nodes --hosts -n -np rank ranks",
	 "gpumap plan {.py|train.py} shows which rank runs where, and takes such options"},
	{"device", "#",
	 "gpumap --device {#|1} explains cuda:{#|1} of this environment; gpumap uuid {#|1} and "
	 "gpumap who {#|1} are about GPU {#|1} of this machine"},
	{"who whose", "# --gpu --gpus -g -i --id",
	 "gpumap who {# --gpu --gpus -g -i --id|0} shows who uses that GPU"},
	{"why ignored debug explain-error", "rank ranks --rank",
	 "gpumap run names the rank that failed first and shows its last lines; with --log-dir DIR "
	 "they are in DIR/rank-00003.stderr.log, and gpumap verify DIR tells how the last run "
	 "ended"},
};

/* Words that are no command. */
static const struct word_hint word_hints[] = {
	{"list ls devices device gpus gpu cards card show info query smi nvidia-smi count "
	 "hardware machine host hosts node model models",
	 "gpumap inventory lists the GPUs of this machine"},
	{"free available idle",
	 "gpumap pick all lists the free GPUs, gpumap pick 2 -- PROGRAM keeps two for the program; "
	 "gpumap ps shows what is in use"},
	{"status is are is-free isfree busy in-use",
	 "gpumap ps --gpus {#|2} shows whether GPU {#|2} is free, and who uses it; gpumap pick all "
	 "lists the free GPUs"},
	{"usage util utilization monitor watch nvitop gpustat",
	 "gpumap ps shows what is in use, and gpumap ps --follow keeps showing it"},
	{"topo topology nvlink links", "gpumap inventory --json has the links between GPUs"},
	{"top processes process pid who",
	 "gpumap ps shows the processes of each GPU; gpumap --pid N explains the process N"},
	{"launch start spawn submit execute",
	 "gpumap run {.py|train.py} starts a rank on each GPU, gpumap run --gpus {" LIST
	 "|2,3} {.py|train.py} only on those"},
	{"torchrun",
	 "gpumap run --nproc-per-node 4 train.py starts the job, by the same options; gpumap emit "
	 "torchrun --ranks 4 train.py writes a command of torchrun"},
	{"sbatch srun",
	 "gpumap emit @ --nnodes {--nodes -N --nnodes|1} --ranks {--ntasks-per-node "
	 "--gpus-per-node|8} --inventory {--gpus-per-node|8} {.py|train.py} writes it for Slurm; "
	 "gpumap run starts ranks itself"},
	{"mpiexec", "gpumap run starts ranks itself; gpumap emit mpirun writes a command"},
	{"slurm", "gpumap emit srun or sbatch writes a command or a script"},
	{"train", "gpumap run train.py starts a program; gpumap-train is the trainer"},
	{"use select set choose pick",
	 "gpumap run --gpus {" LIST
	 "|2,3} {.py|train.py} starts a program there; gpumap --visible {" LIST
	 "|2,3} explains the list"},
	{"diagnose validate debug test troubleshoot fix analyze analyse scan audit",
	 "gpumap doctor checks this machine, gpumap lint reports mistakes in programs and scripts, "
	 "gpumap verify compares a running job with its plan"},
	{"which what where map mapping resolve ask answer trace describe",
	 "gpumap --visible 2,3,4,5 --device 1 answers that"},
	{"why ignored", "gpumap verify FOLDER tells how the last run with logs there ended; gpumap "
			"lint {.py|train.py} "
			"finds mistakes in a program, gpumap --visible 2,3 --device 1 gives the "
			"reasons for a GPU, "
			"gpumap rules ID explains a message"},
	{"preview schedule simulate layout placement binding bindings affinity rank ranks dry-run "
	 "dryrun",
	 "gpumap plan train.py shows which rank runs where"},
	{"fake mock emulate imitate", "gpumap pretend --inventory 8xH100 -- PROGRAM"},
	{"export convert translate write generate",
	 "gpumap emit LAUNCHER writes a plan as another launcher's command"},
	{"profile profiles settings setting options env environment vars",
	 "gpumap config shows a profile's settings, gpumap explain what this environment means"},
	{"rule finding findings error errors code codes message messages explain-error",
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

static const char *known(char **words)
{
	const char *found = intended(span_of(*words));
	struct span value;

	for (size_t i = 0; !found && i < ARRAY_SIZE(specials); i++)
		if (span_among(span_of(*words), specials[i].words) &&
		    line_has(words, span_of(specials[i].with), &value))
			found = specials[i].fix;
	for (size_t i = 0; !found && i < ARRAY_SIZE(word_hints); i++)
		if (span_among(span_of(*words), word_hints[i].words))
			found = word_hints[i].fix;
	return found;
}

static const char commands[] =
#define COMMAND(name, summary, keys, operands) #name " "
#include "commands.def"
#undef COMMAND
	;

static bool is_launcher(const char *word)
{
	const gpumap_target *target;

	for (size_t i = 0; (target = gpumap_target_get(i)); i++)
		if (streq(gpumap_target_str(target, GPUMAP_TARGET_NAME), word))
			return true;
	return false;
}

const char *word_hint(struct strbuf *ret, char **words, const char *otherwise)
{
	const char *word = *words, *pattern = lacks_option(word), *found = known(words);

	if (strlen(word) > MAX_WORD || strlen(QUOTE(span_of(word))) != strlen(word))
		return otherwise;
	if (ID_FIX(word, NULL))
		pattern = "gpumap rules @ explains it";
	else if (*word && span_is_any(span_of(word), commands))
		pattern = "the command comes first: gpumap @ ...";
	else if (!pattern && !found && is_launcher(word))
		pattern =
			"gpumap run starts ranks itself; gpumap emit @ writes a command or script "
			"for that launcher";
	else if (!pattern && is_program(word))
		pattern = "gpumap plan @ shows its GPUs, gpumap run @ starts it";
	else if (!pattern && span_among(span_of(word), "python python3"))
		pattern = words[1] && text_ends(words[1], ".py")
				  ? "gpumap run {...|} starts it"
				  : "gpumap run @ ... starts it; " PYTHON_JSON "; " PYTHON_MODULE;
	else if (!pattern && span_among(span_of(word), "bash sh uv conda"))
		pattern = "gpumap run @ ... starts it";
	else if (!pattern && text_ends(word, ".json"))
		pattern = "gpumap run --again @ repeats the run of a record, gpumap plan --plan @ "
			  "shows a plan";
	else if (!pattern && text_ends(word, ".ini"))
		pattern = "gpumap run --config @ starts it, gpumap lint @ checks it";
	pattern = pattern ? pattern : found;
	if (!pattern)
		return otherwise;
	hint_fill(ret, pattern, words);
	return ret->text;
}
