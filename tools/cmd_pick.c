/* SPDX-License-Identifier: MIT */
/* gpumap pick: chooses free GPUs, and keeps them for a program. */
#include "command.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/out_of_memory.h"
#include "live/run_planned.h"
#include "memory.h"
#include "pick/container_client.h"
#include "pick/run_program.h"
#include "pick/keep_for_process.h"
#include "pick/lease_here.h"
#include "report/report.h"
#include "strbuf.h"
#include "write_all.h"

struct arguments {
	struct output output;
	gpumap_claim *claim;
	struct pick_keep keep;
	struct lease_limits limits;
	bool uuid, malformed;
	size_t printed;              /* of the report's findings */
	const char *count, *chooses; /* NULL; the last option that chooses GPUs */
	char **program;
	char **words; /* of `program`, if they are not argv's */
};

const struct option_row pick_rows[] = {
	{"--from", "LIST", "choose only from these GPUs, numbers of nvidia-smi or UUIDs", 0},
	{"--prefer", "LIST",
	 "choose these GPUs first, in this order, and others if they are not free", 0},
	{"--near", NULL, "choose the best connected free GPUs: NVLink, then one NUMA node", 0},
	{"--slots", "SLOTS",
	 "how many jobs, this one included, may share each GPU; 1: the GPUs are leased as a whole",
	 0},
	{"--mig", "yes|no|PROFILE",
	 "whether MIG instances are leased rather than GPUs; PROFILE: those of this MIG profile, "
	 "such as 1g.10gb",
	 0},
	{"--wait", "yes|no|DURATION",
	 "wait for free GPUs; DURATION: at most that long, such as 10m", 0},
	{"--ignore", "NAME,...", "processes of these programs do not make a GPU busy, such as Xorg",
	 0},
	{"--min-free", "BYTES",
	 "a GPU is free only if this much of its memory is free, such as 20G (GiB; 20GB and 20GiB "
	 "are the same)",
	 0},
	{"--max-used", "BYTES",
	 "a GPU is free only if less memory than this is in use; default: 512M, with --min-free "
	 "no limit",
	 0},
	{"--free-memory", "BYTES", "the earlier name of --max-used", 0},
	{"--max-load", "PERCENT", "a GPU with a higher load is not free", 0},
	{"--uuid", NULL, "write the list as UUIDs", FLAG_TO(struct arguments, uuid)},
	{"--for", "DURATION",
	 "end the lease after this time, such as 8h; the program is warned, not stopped, and "
	 "others may then take its GPUs",
	 0},
	{"--idle", "DURATION",
	 "end the lease like --for, after this long without load, such as 30m", 0},
	{"--shell", NULL,
	 "print a line that exports the list, for eval; the lease lasts until the shell ends",
	 FLAG_TO(struct arguments, keep.shell)},
	{"--hold", "PID", "keep the lease until process PID ends",
	 TEXT_TO(struct arguments, keep.hold)},
	{"--adopt", "PID",
	 "lease the GPUs already used by process PID and those below it, until PID ends; N is "
	 "not given",
	 TEXT_TO(struct arguments, keep.adopt)},
	{NULL, NULL, NULL, 0},
};

static const char help[] =
	"usage: gpumap pick N|all [OPTIONS] [-- PROGRAM [ARGUMENT...]]\n"
	"       gpumap pick --adopt PID\n"
	"\n"
	"Chooses N free GPUs, or all that are free, and leases them to PROGRAM, which gets\n"
	"their list in CUDA_VISIBLE_DEVICES, in ascending order. No other pick, and no\n"
	"gpumap run --gpus free:COUNT, gets them until the program and all that it started\n"
	"are gone. A GPU is free if it has no lease and no process, and less than 512 MiB\n"
	"of its memory is in use. Without PROGRAM, --shell, --hold or --adopt, the list is\n"
	"printed and the lease ends at once.\n"
	"\n"
	"Waiting jobs are served in order. A later job may take GPUs that a waiting one\n"
	"cannot use. With GPUs that it could use only later, a waiting job is overtaken at\n"
	"most 8 times.\n"
	"\n"
	"  gpumap pick 2 -- python3 train.py\n"
	"  gpumap pick 4 --wait --near -- torchrun --nproc-per-node 4 train.py\n"
	"  gpumap pick 1 --from 0,1 --wait 2h -- ./solver\n"
	"  gpumap pick 1 --from 0 --slots 4 -- ./small-job\n"
	"  gpumap pick 1 --mig=1g.10gb -- ./small-job\n"
	"  gpumap pick 2 -- docker run --rm {docker} IMAGE\n"
	"  eval \"$(gpumap pick 2 --shell)\"\n"
	"\n" OPTIONS_HERE "\n"
	"In PROGRAM's arguments {docker} stands for docker's option --gpus with the leased\n"
	"GPUs, and {cdi} for --device options of podman or docker. The lease then lasts\n"
	"until the container has ended.\n"
	"\n"
	"Exit status: that of the program (128+N for signal N); 124 the time of --wait ran\n"
	"out; 125 too few GPUs are free, or gpumap had an error; 126 the program cannot be\n"
	"executed; 127 it was not found. Without PROGRAM: 0 success; 1 too few GPUs are\n"
	"free, also after --wait; 2 malformed input.\n";

static int claim_option(struct arguments *a, const char *name, const char *value)
{
	static const struct {
		const char *option, *key;
	} keys[] = {{"--from", "from"},         {"--prefer", "prefer"},
		    {"--near", "near"},         {"--slots", "slots"},
		    {"--mig", "mig"},           {"--wait", "wait"},
		    {"--ignore", "ignore"},     {"--min-free", "min_free"},
		    {"--max-used", "max_used"}, {"--free-memory", "max_used"},
		    {"--max-load", "max_load"}, {"--for", "for"}};

	if (streq(name, "--free-memory"))
		report_add(
			a->output.report, FINDING_OPTION_RENAMED,
			ABOUT(.origin = name, .fix = "write --max-used; --min-free is the memory "
						     "that has to be free"),
			"the name of this option is now --max-used");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (streq(name, keys[i].option)) {
			if (!streq(name, "--slots") && !streq(name, "--for"))
				a->chooses = keys[i].option;
			return gpumap_claim_set(a->claim, keys[i].key, value ? value : "yes", name,
						a->output.report);
		}
	return GPUMAP_OK;
}

static int refuse_operand(const char *count, const struct options *options, gpumap_report *report)
{
	const char *operand = options->operand;

	return report_fail(
		report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
		ABOUT(.fix = is_digit(*operand)
				     ? "write a time with its unit, as in --wait 10m, and -- "
				       "before a program"
				     : FORMAT("write -- before it: gpumap pick %.16s -- %.64s",
					      QUOTE(span_of(count)), QUOTE(span_of(operand)))),
		"'%s' is not expected", QUOTE(span_of(operand)));
}

/* A FILE.py that cannot be executed is started by Python, as gpumap run does. */
static char **with_python(struct arguments *a, char **program)
{
	static char python[] = "python3";
	size_t count = 0;

	if (!is_python_file(span_of(*program)) || access(*program, R_OK) < 0 ||
	    (strchr(*program, '/') && access(*program, X_OK) == 0))
		return program;
	while (program[count])
		count++;
	a->words = xcalloc(count + 2, sizeof(*a->words));
	a->words[0] = python;
	memcpy(a->words + 1, program, count * sizeof(*program));
	return a->words;
}

static int set_count(struct arguments *a)
{
	if (!is_digit(*a->count) || !strchr(a->count, ','))
		return gpumap_claim_set(a->claim, "count", a->count, "N", a->output.report);
	return report_fail(a->output.report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			   ABOUT(.fix = FORMAT("write all --from %.100s for these GPUs",
					       QUOTE(span_of(a->count)))),
			   "'%s' is a list, not a number of GPUs", QUOTE(span_of(a->count)));
}

static int read_options(struct arguments *a, int argc, char **argv)
{
	gpumap_report *report = a->output.report;
	struct options options;
	const char *name;
	int r;

	options_init(&options, "pick", pick_rows, a, NO_KEYS, argc, argv);
	while ((name = options_next_own(&options, &a->output, help))) {
		if (!*name && (a->count || options.ended)) {
			if (!options.ended)
				return refuse_operand(a->count, &options, report);
			a->program = with_python(a, options_rest(&options));
			break;
		}
		if (!*name) {
			a->count = options.operand;
			options.code = set_count(a);
		} else {
			options.code = lease_limits_option(&a->limits, name, options.value, report);
			if (options.code == GPUMAP_OK)
				options.code = claim_option(a, name, options.value);
		}
	}
	if (options.code != GPUMAP_OK)
		return options.code;
	if (options.ended && !a->program)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.fix = "write the program, or leave out --"),
				   "there is no program after --");
	if (lease_limits_given(&a->limits) && !a->program && !pick_keeps(&a->keep))
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.origin = lease_limits_given(&a->limits),
					 .fix = "write a program, --shell or --hold PID"),
				   "nothing keeps the lease that long");
	r = pick_keep_check(&a->keep, a->program, a->count ? a->count : a->chooses, report);
	if (r != GPUMAP_OK)
		return r;
	if (!a->count && !a->keep.adopt)
		return report_fail(
			report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			ABOUT(.fix = "write for example gpumap pick 2 -- python3 train.py"),
			"how many GPUs? the number is missing");
	return a->program ? pick_container_check(a->program, report) : GPUMAP_OK;
}

/* NULL after its error. */
static char *list_of(const struct arguments *a, const gpumap_lease *lease)
{
	CLEANUP(strbuf_free) struct strbuf list = {0};
	char *text;

	for (size_t i = 0; i < gpumap_lease_count(lease); i++) {
		const gpumap_device *gpu = gpumap_lease_device(lease, i);
		const char *uuid = gpumap_device_str(gpu, GPUMAP_DEVICE_UUID);

		if (a->uuid && !uuid) {
			report_add(a->output.report, FINDING_BAD_OPTION,
				   ABOUT(.origin = "--uuid", .fix = "leave it out"),
				   "the UUID of GPU %lld is not known",
				   (long long)gpumap_device_int(gpu, GPUMAP_DEVICE_PHYSICAL));
			return NULL;
		}
		strbuf_printf(&list, "%s%s", i ? "," : "", a->uuid ? uuid : "");
	}
	text = a->uuid ? strbuf_take(&list) : strdup(gpumap_lease_visible(lease));
	if (!text)
		report_nomem(a->output.report);
	return text;
}

/* Prints the list, which the end of this process makes anyone's. */
static int print_list(const struct arguments *a, const char *list)
{
	struct strbuf line = {0};

	strbuf_printf(&line, "%s\n", list);
	if (print_buffer(&line, a->output.report) != GPUMAP_OK)
		return STATUS_NO;
	report_add(a->output.report, FINDING_LEASE_ENDS,
		   ABOUT(.fix = "to reserve them, write -- and the program behind the same line: "
				"gpumap pick ... -- python3 train.py"),
		   "these GPUs are free now, but not reserved");
	return STATUS_ANSWERED;
}

/* `program`: there is one, whose status would be returned. */
static int status_of(const struct arguments *a, int code, bool program)
{
	if (!program)
		return a->malformed || code == GPUMAP_EFILE || code == GPUMAP_ENOMEM ||
				       report_lacks_memory(a->output.report)
			       ? STATUS_MALFORMED
			       : STATUS_NO;
	return status_of_lease(code, a->output.report);
}

/* For pick_keep too. */
static int take(gpumap_lease **lease, char **list, void *data)
{
	struct arguments *a = data;
	gpumap_report *report = a->output.report;
	int r;

	r = lease_here(a->claim, report);
	/* Without them the lease ends with pick. */
	if (r == GPUMAP_OK && (a->program || pick_keeps(&a->keep)))
		r = lease_limits_bound(&a->limits, a->claim, report);
	if (r == GPUMAP_OK)
		r = a->keep.adopt ? gpumap_lease_adopt(lease, a->claim, a->keep.pid, report)
				  : lease_take(lease, a->claim, report);
	if (r != GPUMAP_OK)
		return status_of(a, r, a->program);
	/* The process that is adopted may be of a run itself. */
	if (!a->keep.adopt)
		run_warn_planned(*lease, report);
	out_of_memory_returns();
	a->limits.claim = a->claim;
	r = lease_limits_check(&a->limits, *lease, report);
	if (r == GPUMAP_OK) {
		*list = list_of(a, *lease);
		r = *list ? GPUMAP_OK : GPUMAP_ENOMEM;
	}
	if (r == GPUMAP_OK)
		return STATUS_ANSWERED;
	gpumap_lease_free(*lease);
	return status_of(a, r, a->program);
}

static int pick(struct arguments *a)
{
	gpumap_lease *lease = NULL;
	CLEANUP_FREE char *list = NULL;
	int status;

	if (pick_keeps(&a->keep)) {
		status = pick_keep(&a->keep, &a->limits, take, a, &a->output);
		a->printed = a->keep.printed;
		return status;
	}
	status = take(&lease, &list, a);
	if (status != STATUS_ANSWERED)
		return status;
	/* A remark is of use before the program runs, which can take days. */
	a->printed = print_report(&a->output, 0);
	if (a->program)
		return pick_run(lease, list, a->program, &a->limits, a->output.report);
	status = print_list(a, list);
	gpumap_lease_free(lease);
	return status;
}

/* Before the options are read as far as the program. */
static bool has_word(char **argv, const char *word)
{
	while (*argv && !streq(*argv, word) && !streq(*argv, "--"))
		argv++;
	return *argv && streq(*argv, word);
}

/* eval of nothing succeeds, and a script with set -e would continue without a lease. */
static void print_failure(void)
{
	static const char text[] = "false\n";

	write_all(STDOUT_FILENO, text, sizeof(text) - 1);
}

/* A closed descriptor 0, 1 or 2 would become one of the lease's. It is still neither read nor
 * written. */
static void open_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_PATH);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int cmd_pick(int argc, char **argv)
{
	struct arguments a = {0};
	bool program = has_word(argv, "--");
	bool evaluated = has_word(argv, "--shell") && !program && !isatty(STDOUT_FILENO);
	int r, status;

	out_of_memory_ends(program ? STATUS_OWN_FAILURE : STATUS_MALFORMED);
	if (evaluated)
		out_of_memory_calls(print_failure);
	open_standard();
	a.output.report = report_begin();
	if (gpumap_claim_new(&a.claim) != GPUMAP_OK)
		memory_ran_out();
	r = read_options(&a, argc, argv);
	a.malformed = r != GPUMAP_OK;
	if (r == OPTIONS_HELP)
		status = finish_help();
	else
		status = r == GPUMAP_OK ? pick(&a) : status_of(&a, r, program);
	if (status != STATUS_ANSWERED && evaluated)
		print_failure();
	print_report(&a.output, a.printed);
	free(a.words);
	gpumap_claim_free(a.claim);
	gpumap_report_free(a.output.report);
	return status;
}
