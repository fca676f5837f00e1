/* SPDX-License-Identifier: MIT */
/* gpumap completion: prints the script of a shell, and answers what such a script asks. */
#include "command.h"

#include "complete.h"
#include "completion/scripts.h"
#include "report/report.h"

static const char help[] =
	"usage: gpumap completion bash|zsh|fish\n"
	"\n"
	"Prints a script that completes the words of gpumap in this shell. Packages install\n"
	"it; without one, load it in the file that the shell reads when it starts. The\n"
	"words come from gpumap itself: its options and their values, profiles, GPUs,\n"
	"rules and messages.\n"
	"\n"
	"  source <(gpumap completion bash)             in ~/.bashrc\n"
	"  source <(gpumap completion zsh)              in ~/.zshrc, after compinit\n"
	"  gpumap completion fish | source              in ~/.config/fish/config.fish\n"
	"\n" OPTIONS_HERE "\n"
	"Exit status: 0 success, 2 no such shell, or malformed options.\n";

/* What the scripts ask: --words SHELL WORD..., the words of the line as far as the cursor. */
static int answer(int argc, char **argv, gpumap_report *report)
{
	struct completion c = {0};

	complete_line(&c, argc - 3, argv + 3, streq(argv[2], "bash"));
	return print_buffer(&c.text, report);
}

static int print_script(const char *shell, gpumap_report *report)
{
	static const char *const scripts[] = {completion_bash, completion_zsh, completion_fish};
	static const char words[] = "bash|zsh|fish";
	int place, r;

	if (!shell)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.fix = "write bash, zsh or fish"), "no shell is named");
	r = option_word("the shell", words, shell, &place, report);
	return r == GPUMAP_OK ? print_text(scripts[place], report) : r;
}

int cmd_completion(int argc, char **argv)
{
	struct output output = {0};
	struct options options;
	const char *shell = NULL, *fix = "name one shell, as in gpumap completion bash";
	int r;

	output.report = report_begin();
	if (argc > 2 && streq(argv[1], "--words")) {
		r = answer(argc, argv, output.report);
		return finish(&output, r, true);
	}
	options_init(&options, "completion", completion_rows, NULL, NO_KEYS, argc, argv);
	while (options_next_own(&options, &output, help))
		if (shell)
			options.code = operand_refuse(options.operand, fix, output.report);
		else
			shell = options.operand;
	r = options.code == GPUMAP_OK ? print_script(shell, output.report) : options.code;
	return finish(&output, r, true);
}
