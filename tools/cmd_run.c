/* SPDX-License-Identifier: MIT */
/* gpumap run: starts the ranks of a program here, and supervises them. */
#include "command.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/out_of_memory.h"
#include "memory.h"
#include "pick/lease_here.h"
#include "plan/job.h"
#include "job/plan_hosts.h"
#include "job/plan_lease.h"
#include "job/plan_open.h"
#include "job/plan_show.h"
#include "readfile.h"
#include "rehearse/slurm.h"
#include "report/report.h"
#include "job/run_record.h"
#include "job/run_plan.h"
#include "job/run_sweep.h"

struct command_run {
	struct plan_options options;
	const char *sweep, *again, *rehearse;
	struct run run;
	gpumap_report *report;
};

const struct option_row run_rows[] = {
	PLAN_OPTION_ROWS(struct command_run, options),
	{"--sweep", "NAME",
	 "start a run for every combination of the values in the section [sweep NAME] of the "
	 "profile file",
	 TEXT_TO(struct command_run, sweep)},
	{"--again", "FILE",
	 "repeat an earlier run; FILE is its record: run-ID.json in its log folder, the folder for "
	 "its last run, or the file of --manifest",
	 TEXT_TO(struct command_run, again)},
	{"--dry-run", NULL, "print the plan, and start nothing",
	 FLAG_TO(struct command_run, run.dry)},
	{"--manifest", "FILE",
	 "write the record (manifest) of the run, its plan and how each rank ended, to FILE; "
	 "default: run-ID.json in the log folder, if there is one",
	 TEXT_TO(struct command_run, run.manifest)},
	{"--rehearse", "MACHINE",
	 "run it as gpumap rehearse does, on the GPUs of a machine that is not there: 8xH100 or a "
	 "recorded one",
	 TEXT_TO(struct command_run, rehearse)},
	{"--verify", NULL,
	 "compare the ranks with the plan, as gpumap verify does, once they have used their GPUs, "
	 "and print what differs",
	 FLAG_TO(struct command_run, run.verify)},
	{"--json", NULL,
	 "print the record of the run as JSON at its end; the ranks' output then goes to standard "
	 "error; with --dry-run print the plan as JSON",
	 FLAG_TO(struct command_run, run.json)},
	{NULL, NULL, NULL, 0},
};

/* The options of the short help. */
static const char *const max_used[] = {
	"--gpus",  "--ranks",   "--wait",    "--device",  "--share",   "--mode", "--profile",
	"--hosts", "--timeout", "--log-dir", "--console", "--dry-run", NULL};

static const char help[] =
	"usage: gpumap run [OPTIONS] [--] [PROGRAM [ARGUMENT...]]\n"
	"\n"
	"Makes a plan as gpumap plan does, starts the ranks of this host, and supervises\n"
	"them. The ranks get the variables that torchrun sets, such as RANK. A plan that\n"
	"cannot work is rejected before anything starts, also because of the code of a\n"
	"FILE.py; --lint warn starts it all the same. If a rank fails, gpumap ends the\n"
	"others and returns the failed rank's exit status. When the run ends, gpumap also\n"
	"ends the processes that the ranks started.\n"
	"\n"
	"  gpumap run --gpus 2,3,4,5 train.py --epochs 10\n"
	"  gpumap run --gpus free:2 --wait train.py\n"
	"  gpumap run --profile cifar-ddp --log-dir logs\n"
	"  gpumap run --nproc-per-node 4 --master-port 29500 train.py   (as torchrun)\n"
	"  gpumap run --inventory 4 --device cuda:%l -- sh -c 'echo $LOCAL_RANK'\n"
	"\n" OPTIONS_HERE "\n"
	"gpumap config --gpus 2,3 >gpumap.ini writes a first profile.\n"
	"gpumap plan --origin shows every setting, and where its value comes from.\n"
	"\n"
	"Exit status: 0, or that of the first rank that failed (128+N for signal N); 124\n"
	"the time limit was reached, or the time of --wait ran out; 125 gpumap refused the\n"
	"plan or had an error; 126 the program cannot be executed; 127 it was not found.\n";

/* Whether --dry-run is given anywhere: then a mistake has the exit status of a dry run. */
static bool wants_dry_run(int argc, char **argv)
{
	for (int i = 1; i < argc && !streq(argv[i], "--"); i++)
		if (streq(argv[i], "--dry-run") || streq(argv[i], "--dry_run"))
			return true;
	return false;
}

static int read_options(struct command_run *c, int argc, char **argv)
{
	struct output output = {.report = c->report};
	struct options options;
	const char *name;

	options_init(&options, "run", run_rows, c, PROFILE_KEYS, argc, argv);
	options.first = max_used;
	while ((name = options_next_own(&options, &output, help))) {
		if (!*name) {
			c->options.program = options_rest(&options);
			plan_remark_options(&options, &c->options, c->report);
			break;
		}
		options.code = plan_option(&c->options, name, options.value, c->report);
	}
	if (options.code == OPTIONS_HELP)
		return OPTIONS_HELP;
	if (c->run.manifest && streq(c->run.manifest, "-")) {
		c->run.json = true;
		c->run.manifest = NULL;
	}
	if (options.code == GPUMAP_OK)
		return plan_options_settle(&c->options, true, c->report);
	c->run.dry = wants_dry_run(argc, argv);
	return options.code;
}

static int exclusive(const struct command_run *c)
{
	const bool dry = c->run.dry, plan = c->options.file, manifest = c->run.manifest;
	const struct {
		bool both;
		const char *option, *fix, *why;
	} pairs[] = {
		{dry && manifest, "--manifest", "leave it out; gpumap plan -o writes the plan",
		 "nothing is started by --dry-run, and nothing recorded"},
		{dry && c->rehearse, "--rehearse", "write --inventory for the machine of a plan",
		 "nothing is started by --dry-run, and nothing rehearsed"},
		{c->sweep && manifest, "--manifest",
		 "leave it out: each run's is in its log folder",
		 "a sweep has a record for each of its runs"},
		{c->again && (plan || c->sweep), "--again", "leave the others out",
		 "the record has all settings"},
		{c->sweep && plan, "--sweep", "leave the others out",
		 "a sweep makes its own plans"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (pairs[i].both)
			return report_fail(c->report, GPUMAP_EINPUT, FINDING_EXCLUSIVE_KEYS,
					   ABOUT(.origin = pairs[i].option, .fix = pairs[i].fix),
					   "%s", pairs[i].why);
	return c->again ? plan_check_alone(&c->options, "--again", c->again, c->report) : GPUMAP_OK;
}

static int run_again(struct command_run *c)
{
	int r = record_read(&c->run.plan, c->again, c->report);

	if (r == GPUMAP_OK)
		plan_judge(c->run.plan, c->report);
	if (r == GPUMAP_OK)
		r = plan_node(&c->run.node, c->run.plan, c->options.node_rank, c->report);
	if (r == GPUMAP_OK)
		plan_judge_inside(c->run.plan, c->run.node, -1, c->report);
	if (r == GPUMAP_OK)
		plan_check_busy(c->run.plan, c->run.node, NULL, c->report);
	return r;
}

static int open_plan(struct command_run *c)
{
	int r;

	c->options.starts = !c->run.dry;
	c->options.chooses = true;
	c->options.lints = c->options.looks = true;
	c->options.lease = c->run.dry ? NULL : &c->run.lease;
	c->options.machine = &c->run.machine;
	r = c->again ? run_again(c) : plan_open(&c->run.plan, &c->run.node, &c->options, c->report);
	if (r != GPUMAP_OK || c->run.dry || c->run.lease || !c->run.plan->lease)
		return r;
	/* The plan was read, and its GPUs are not leased yet. */
	r = run_check(&c->run, c->report);
	return r == GPUMAP_OK ? plan_lease_again(&c->run.lease, c->run.plan, c->report) : r;
}

/* --dry-run: the exit status is that of gpumap plan. */
static int show(struct command_run *c, int r)
{
	int status;

	if (r == GPUMAP_OK)
		r = exclusive(c);
	if (r == GPUMAP_OK && c->sweep) {
		status = run_sweep(&c->options, c->sweep, &c->run, c->report);
		gpumap_report_free(c->report);
		return status;
	}
	status = run_show(&c->run, r == GPUMAP_OK ? open_plan(c) : r, c->report);
	run_free(&c->run);
	return status;
}

/* Warns if nothing shows that the other nodes are started: a step's task, or a number of its own.
 */
static void remind_of_nodes(const struct command_run *c)
{
	int64_t hosts = gpumap_plan_int(c->run.plan, GPUMAP_PLAN_HOSTS);

	if (hosts < 2 || c->run.node < 0 || c->options.node_rank || getenv("SLURM_STEP_NUM_NODES"))
		return;
	report_add(
		c->report, FINDING_OTHER_NODES,
		ABOUT(.fix = "start the same command there, as gpumap uses no ssh: srun "
			     "--ntasks-per-node=1 gpumap run ..., or by hand with --node-rank N"),
		"only the ranks of host %lld are started here; the ranks of %lld other host%s have "
		"to be started there",
		(long long)c->run.node, (long long)hosts - 1, hosts == 2 ? "" : "s");
}

/* A run that never began reports its reason too. */
static int own_failure(const struct command_run *c, int code)
{
	print_report(&(struct output){.report = c->report}, 0);
	if (c->run.json)
		run_print_refusal(&c->run, c->report);
	return status_of_lease(code, c->report);
}

/* Opens closed standard streams, so that a file that is opened later does not become one. The
 * ranks' output is then lost, but a record that was asked for is not lost silently. An output that
 * cannot be written is an error to report, and does not end the process; the ranks get the usual
 * signals. */
static void settle_streams(bool json)
{
	signal(SIGPIPE, SIG_IGN);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", json && fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

static int run(struct command_run *c)
{
	int r = exclusive(c), status;

	if (r == GPUMAP_OK && c->sweep)
		return run_sweep(&c->options, c->sweep, &c->run, c->report);
	if (r == GPUMAP_OK)
		r = open_plan(c);
	if (r == GPUMAP_OK)
		remind_of_nodes(c);
	status = r == GPUMAP_OK ? run_plan(&c->run, c->report) : own_failure(c, r);
	run_free(&c->run);
	return status;
}

/* gpumap rehearse --inventory MACHINE -- gpumap run ...: this command again, in the rehearsal. */
static int rehearse(const struct command_run *c, int argc, char **argv)
{
	char self[PATH_MAX], name[] = "rehearse", option[] = "--inventory", end[] = "--";
	CLEANUP_FREE char *machine = xstrdup(c->rehearse);
	char *head[] = {name, option, machine, end, self};
	CLEANUP_FREE char **words = xcalloc((size_t)argc + ARRAY_SIZE(head) + 1, sizeof(*words));
	int status = STATUS_OWN_FAILURE;

	if (read_link(self, sizeof(self), "/proc/self/exe")) {
		memcpy(words, head, sizeof(head));
		memcpy(words + ARRAY_SIZE(head), argv, (size_t)argc * sizeof(*argv));
		status = cmd_rehearse(argc + (int)ARRAY_SIZE(head), words);
	}
	return status;
}

int cmd_run(int argc, char **argv)
{
	struct command_run c = {.run = {.words = argv, .node = -1}};
	int r, status;

	out_of_memory_ends(wants_dry_run(argc, argv) ? STATUS_MALFORMED : STATUS_OWN_FAILURE);
	c.report = report_begin();
	r = read_options(&c, argc, argv);
	/* --json after the options is the program's. */
	if (r < GPUMAP_OK)
		c.run.json = wanted_format(argc, argv) == GPUMAP_FORMAT_JSON;
	if (r == GPUMAP_OK && c.rehearse && !c.run.dry && !getenv(REHEARSE_FOLDER)) {
		gpumap_report_free(c.report);
		return rehearse(&c, argc, argv);
	}
	settle_streams(c.run.json);
	if (r == OPTIONS_HELP)
		return finish(&(struct output){.report = c.report}, r, true);
	/* run_show() frees the report. */
	if (c.run.dry)
		return show(&c, r);
	status = r == GPUMAP_OK ? run(&c) : own_failure(&c, r);
	gpumap_report_free(c.report);
	return status;
}
