/* SPDX-License-Identifier: MIT */
/* The gpumap command: finds the subcommand, or says what a word means. */
#include "config.h"

#include "command.h"
#include "command_aliases.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/out_of_memory.h"
#include "cli/output.h"
#include "rehearse/slurm.h"
#include "report/report.h"
#include "request/request.h"
#include "suggest.h"
#include "word_hints.h"

static const struct command commands[] = {
#define COMMAND(name, summary, keys, operands) {#name, summary, cmd_##name},
#include "commands.def"
#undef COMMAND
};

static void help(FILE *file)
{
	fputs("gpumap shows which physical GPU a program will use and why, and starts jobs.\n"
	      "\n"
	      "usage: gpumap [COMMAND] [OPTIONS]\n"
	      "\n"
	      "  gpumap --visible 2,3,4,5 --device 1\n"
	      "  CUDA_VISIBLE_DEVICES=2,1,3 gpumap --mode dp\n"
	      "  gpumap --pid 4711\n"
	      "  gpumap run --gpus 2,3,4,5 train.py\n"
	      "\n"
	      "commands\n",
	      file);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(file, "  %-12s%s\n", commands[i].name, commands[i].summary);
	fputs("\n"
	      "gpumap COMMAND --help lists the options of a command, and gpumap rules ID\n"
	      "explains the id at the end of a message. gpumap OPTIONS is short for gpumap\n"
	      "explain OPTIONS. Without arguments, gpumap explains the environment if it selects\n"
	      "GPUs or a rank; otherwise it prints this text.\n"
	      "\n"
	      "In short: gpumap cuda:1, gpumap who 2, gpumap free, gpumap uuid 3, gpumap indices,\n"
	      "gpumap mig, gpumap pid 4711, gpumap stale, gpumap check FILE, gpumap why LOGS,\n"
	      "gpumap GM009. For Python, the wheel libgpumap-*.whl has the module gpumap.\n"
	      "Manuals: gpumap(1), which lists the others.\n",
	      file);
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (streq(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static int unknown_command(int argc, char **argv)
{
	const char *names[ARRAY_SIZE(commands) + 1] = {0};
	struct output output = {.format = wanted_format(argc, argv)};
	const char *near, *otherwise = "gpumap run PROGRAM starts a program, "
				       "gpumap --help lists the commands";
	CLEANUP(strbuf_free) struct strbuf fix = {0};
	int code;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		names[i] = commands[i].name;
	near = suggest(span_of(argv[1]), names);
	otherwise = DID_YOU_MEAN(near, otherwise);
	output.report = report_begin();
	code = report_fail(output.report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			   ABOUT(.fix = word_hint(&fix, argv + 1, otherwise)),
			   !is_command_alias(argv[1]) ? "no such command: '%s'"
			   : argc > 2                 ? "'%s' does not take '%s'"
						      : "'%s' needs another word",
			   QUOTE(span_of(argv[1])), argc > 2 ? QUOTE(span_of(argv[2])) : "");
	return finish(&output, code, false);
}

/* Options that answer without a command. */
static bool is_end(const char *word)
{
	return streq(word, "--version") || streq(word, "-V") || streq(word, "--help") ||
	       streq(word, "-h");
}

/* `--color always`: explain reports how to write it. */
static bool is_color(const char *word)
{
	return streq(word, "auto") || streq(word, "always") || streq(word, "never");
}

/* Options of every command may precede its name; they are moved after it. */
static const char *take_command(int argc, char **argv)
{
	int i = 1;

	while (i < argc && (streq(argv[i], "--json") || streq(argv[i], "--color") ||
			    starts_with(argv[i], "--color=")))
		i++;
	if (i == 1 || i == argc || (*argv[i] == '-' && !is_end(argv[i])) ||
	    (streq(argv[i - 1], "--color") && is_color(argv[i])))
		return argv[1];
	for (char *first = argv[i]; i > 1; i--) {
		argv[i] = argv[i - 1];
		argv[i - 1] = first;
	}
	return argv[1];
}

/* help COMMAND, help ID. Options of every command may precede the word. */
static int help_about(int argc, char **argv)
{
	int i = 2, words = 2;
	CLEANUP_FREE char **meant = NULL;
	const struct command *command;

	while (i + 1 < argc && *argv[i] == '-')
		i++;
	command = find(argv[i]);
	if (command)
		return command->run(2, (char *[]){argv[i], (char[]){"--help"}, NULL});
	if (ID_FIX(argv[i], NULL))
		return cmd_rules(argc - 1, argv + 1);
	meant = command_of_alias(&words, (char *[]){argv[0], argv[i], NULL});
	command = meant ? find(meant[1]) : NULL;
	if (command)
		return command->run(2, (char *[]){argv[i], (char[]){"--help"}, NULL});
	return unknown_command(argc - i + 1, argv + i - 1);
}

static void do_nothing(int signal)
{
	(void)signal;
}

/* A write past the limit of ulimit -f fails then, and is reported. Programs that are started have
 * the usual signal, because execve(2) resets handlers. */
static void survive_file_limit(void)
{
	struct sigaction now, handled = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};

	if (sigaction(SIGXFSZ, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
		sigaction(SIGXFSZ, &handled, NULL);
}

static int answer(const char *first, int argc, char **argv)
{
	const struct command *command = find(first);

	if (streq(first, "--version") || streq(first, "-V")) {
		printf("gpumap %s\n", gpumap_version());
		return finish_help();
	}
	if (streq(first, "help") && argc > 2)
		return help_about(argc, argv);
	if (streq(first, "help") || streq(first, "--help") || streq(first, "-h")) {
		help(stdout);
		return finish_help();
	}
	if (command && argc > 1)
		return command->run(argc - 1, argv + 1);
	if (command)
		return command->run(argc, argv);
	if (*first == '-')
		return cmd_explain(argc, argv);
	return unknown_command(argc, argv);
}

int main(int argc, char **argv)
{
	int (*linked)(int, char **) = argc ? slurm_link(argv[0]) : NULL;
	const char *alone = environ_states((const char *const *)environ) ? "explain" : "help";
	const char *first = argc > 1 ? take_command(argc, argv) : alone;
	CLEANUP_FREE char **meant = NULL;

	survive_file_limit();
	out_of_memory_ends(STATUS_MALFORMED);
	if (linked)
		return linked(argc, argv);
	meant = argc > 1 ? command_of_alias(&argc, argv) : NULL;
	return meant ? answer(meant[1], argc, meant) : answer(first, argc, argv);
}
