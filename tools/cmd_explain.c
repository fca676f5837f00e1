/* SPDX-License-Identifier: MIT */
/* gpumap explain: which physical GPU a program will use, and why. */
#include "command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/color.h"
#include "cli/explain_value.h"
#include "cli/machine.h"
#include "cli/which_machine.h"
#include "live/process.h"
#include "report/report.h"
#include "text.h"
#include "word_hints.h"

struct explain {
	struct output output;
	gpumap_request *request;
	struct question question;
	const char *pid; /* --pid */
};

const struct option_row explain_rows[] = {
	INVENTORY_ROW(TEXT_TO(struct explain, question.what)),
	{"--pid", "PID", "explain the running process PID from its environment and cgroup",
	 TEXT_TO(struct explain, pid)},
	{"--ask-driver", NULL, "measure CUDA's order on this machine",
	 FLAG_TO(struct explain, question.ask_driver)},
	{"--format", "text|json|svg|" EXPLAIN_VALUES,
	 "output format; svg is a picture; the others are one value for a script: of the device, "
	 "or of the whole list with commas",
	 0},
	{"--json", NULL, "the same as --format json", 0},
	{NULL, NULL, NULL, 0},
};

static const char help[] =
	"usage: gpumap [explain] [OPTIONS]\n"
	"\n"
	"Shows which physical GPU a program will use and why. It does not start the\n"
	"program. Anything not given as an option is read from the environment.\n"
	"\n"
	"  gpumap --visible 2,3,4,5 --device 1\n"
	"  gpumap --inventory node7.txt --mode dp --device-ids 2,3 --device 2 --batch 10\n"
	"  gpumap --prefix 0 --script-export 1 --in-code 3\n"
	"  CUDA_VISIBLE_DEVICES=$(gpumap --inventory host --visible 2,3 --format uuids)\n"
	"  gpumap --pid 4711 --json\n"
	"\n" OPTIONS_HERE "\n"
	"The answer is about the machine that --inventory or GPUMAP_INVENTORY names. If\n"
	"neither is given, it depends on the visible list:\n"
	"  from an option           gpumap assumes that the listed devices exist\n"
	"  from the environment     about this host; if it has no GPU, gpumap assumes\n"
	"                           that the listed devices exist\n"
	"  there is no list         about this host; if it has no GPU, there is no answer\n"
	"\n"
	"LIST is a value of CUDA_VISIBLE_DEVICES. VAR=VALUE sets another variable,\n"
	"such as CUDA_DEVICE_ORDER=PCI_BUS_ID; VAR?=VALUE sets it only if it is not set\n"
	"yet, and -VAR unsets it. The options that take a LIST may be repeated. The\n"
	"options from --visible to --strict are also read from the environment:\n"
	"GPUMAP_MODE=dp is --mode dp.\n"
	"\n"
	"Exit status: 0 answered, 1 the answer is an error or is not known, 2 malformed\n"
	"input.\n";

/* "--set-device" is the key "set_device". */
static int set_key(struct explain *explain, const char *option, const char *value)
{
	char key[32];
	size_t n = 0;

	for (const char *c = option + 2; *c && n + 1 < sizeof(key); c++)
		key[n++] = *c == '-' ? '_' : *c;
	key[n] = '\0';
	return gpumap_request_set(explain->request, key, value ? value : "yes", option,
				  explain->output.report);
}

static int refuse_word(char **words, gpumap_report *report)
{
	CLEANUP(strbuf_free) struct strbuf fix = {0};

	return operand_refuse(
		*words,
		word_hint(&fix, words, "gpumap explains options; gpumap run starts a program"),
		report);
}

static int read_options(struct explain *explain, int argc, char **argv)
{
	gpumap_report *report = explain->output.report;
	struct options options;
	const char *name;

	options_init(&options, "explain", explain_rows, explain, REQUEST_KEYS, argc, argv);
	while ((name = options_next_own(&options, &explain->output, help)))
		if (!*name && starts_with(options.operand, "cuda:"))
			options.code = set_key(explain, "--device", options.operand);
		else if (!*name)
			options.code = refuse_word(options_rest(&options), report);
		else
			options.code = set_key(explain, name, options.value);
	return options.code;
}

/* Adds the statements that are not options: those of this environment, or of the process's. */
static int read_environ(struct explain *explain)
{
	gpumap_report *report = explain->output.report;

	if (explain->pid) {
		int r = process_is_run(explain->pid, report);

		return r == GPUMAP_OK ? process_environ(explain->request, explain->pid, report) : r;
	}
	return gpumap_request_set_environ(explain->request, (const char *const *)environ, report);
}

static int find_machine(struct explain *explain)
{
	gpumap_report *report = explain->output.report;
	struct question *question = &explain->question;
	int r;

	question->request = explain->request;
	question->what = machine_named(question->what, question->ask_driver);
	r = question_machine(question, report);
	if (r == GPUMAP_OK && explain->pid)
		r = process_views(explain->request, explain->pid, question_host(question), report);
	if (r == GPUMAP_OK && explain->pid)
		r = process_of_run(explain->request, explain->pid, question->machine, report);
	return r;
}

/* Whether the text is about a process of this host. */
static bool is_about_process(const struct explain *explain)
{
	const char *what = explain->question.what;

	return explain->pid && explain->output.format == GPUMAP_FORMAT_TEXT &&
	       (!what || streq(what, "host"));
}

static int answer(struct explain *explain, bool *answered)
{
	gpumap_report *report = explain->output.report;
	OWNED(mapping) *mapping = NULL;
	CLEANUP_FREE char *text = NULL;
	int r = gpumap_resolve(&mapping, explain->request, explain->question.machine, report);

	if (r != GPUMAP_OK)
		return r;
	*answered = gpumap_mapping_int(mapping, GPUMAP_MAPPING_ANSWERED) == 1;
	r = question_compare(&explain->question, mapping, report);
	if (r == GPUMAP_OK && explain->output.value) {
		if (*answered)
			r = explain_value(mapping, explain->output.value, answered, report);
		return r;
	}
	if (r == GPUMAP_OK)
		r = gpumap_mapping_format(&text, mapping, explain->output.format, color_flags(),
					  report);
	if (r == GPUMAP_OK && *answered && is_about_process(explain) && !explain->question.machine)
		printf("this host has no GPU; of those that the list of process %s names, ",
		       explain->pid);
	else if (r == GPUMAP_OK && *answered && is_about_process(explain) &&
		 process_has_no_gpu(explain->pid))
		printf("process %s holds no GPU now; if it starts CUDA, ", explain->pid);
	if (r == GPUMAP_OK)
		r = print_text(text, report);
	return r;
}

int cmd_explain(int argc, char **argv)
{
	struct explain explain = {.output = {.format = wanted_format(argc, argv)}};
	gpumap_report *report;
	bool answered = false;
	int r;

	report = report_begin();
	explain.output.report = report;
	explain.request = new_request();
	r = explain.request ? read_options(&explain, argc, argv) : GPUMAP_ENOMEM;
	if (r == GPUMAP_OK)
		r = read_environ(&explain);
	if (r == GPUMAP_OK)
		r = find_machine(&explain);
	if (r == GPUMAP_OK)
		r = answer(&explain, &answered);
	question_free(&explain.question);
	gpumap_request_free(explain.request);
	return finish(&explain.output, r, answered);
}
