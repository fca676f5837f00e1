/* SPDX-License-Identifier: MIT */
/*
 * gpumap rehearse --inventory MACHINE -- PROGRAM ARGUMENTS: the program finds a pretended machine
 * as under gpumap pretend, and each Python in it the package gpumap_rehearse, which gives PyTorch
 * the GPUs of that machine. Each process records what it does in a folder; this one judges that at
 * the end.
 */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/machine.h"
#include "cli/out_of_memory.h"
#include "installed_path.h"
#include "quantity.h"
#include "readfile.h"
#include "reap.h"
#include "rehearse/pretended.h"
#include "rehearse/rehearse.h"
#include "rehearse/slurm.h"
#include "remove_tree.h"
#include "report/report.h"
#include "text/writefile.h"
#include "write_all.h"

/* Seconds between looks at a program that runs, and how long a rank waits for others unsaid. */
enum { LOOK = 3, LONG_WAIT = 12 };

struct command_rehearse {
	struct output output;
	const char *machine, *steps, *file;
	int64_t memory; /* in bytes; 0: that of the machine */
	char **argv;
	char folder[PATH_MAX];   /* of the records; "": there is none yet */
	bool own_leases;         /* its folder of leases is not the user's */
	gpumap_report *waits;    /* what was printed while the program ran */
	sigset_t caught, before; /* signals, while there are folders to remove */
};

const struct option_row rehearse_rows[] = {
	INVENTORY_ROW(TEXT_TO(struct command_rehearse, machine)),
	{"--steps", "N", "end each rank gently after N steps of an optimizer",
	 TEXT_TO(struct command_rehearse, steps)},
	{"--memory", "BYTES", "let each GPU have so much memory, such as 80G", 0},
	{"--report", "FILE",
	 "write what was found, as a picture if FILE ends in .svg, else as JSON",
	 TEXT_TO(struct command_rehearse, file)},
	{NULL, NULL, NULL, 0},
};

static const char help[] =
	"usage: gpumap rehearse [OPTIONS] [--] PROGRAM [ARGUMENT...]\n"
	"\n"
	"Runs a PyTorch program as it is on GPUs that are not there. PyTorch computes on the\n"
	"CPU, and finds the GPUs of a recorded or synthetic machine: devices, lists, errors\n"
	"and memory of tensors are theirs. At the end it says where everything was. No GPU,\n"
	"no driver and no change of the program is needed. On a host with GPUs the machine\n"
	"is that host unless --inventory names another.\n"
	"\n"
	"  gpumap rehearse --inventory 4xA100 -- python3 train.py\n"
	"  gpumap rehearse --inventory 8xH100 --steps 3 -- torchrun --nproc-per-node 8 train.py\n"
	"  gpumap rehearse --inventory 4xA100 -- sbatch job.sh\n"
	"\n" OPTIONS_HERE;

static int failed(gpumap_report *report, const char *origin, const char *why, const char *fix)
{
	return report_fail(report, STATUS_OWN_FAILURE, FINDING_REHEARSE,
			   ABOUT(.origin = origin, .fix = fix), "cannot rehearse: %s", why);
}

/* --- the command line ------------------------------------------------------------------- */

static int64_t memory_of(const char *value, gpumap_report *report)
{
	int64_t bytes = span_bytes(span_of(value));

	if (bytes < 0)
		option_refuse("--memory", value, "write for example --memory 80G", report);
	return bytes;
}

static int read_options(struct command_rehearse *c, int argc, char **argv, bool *done)
{
	gpumap_report *report = c->output.report;
	struct options options;
	const char *name;
	int64_t steps;

	options_init(&options, "rehearse", rehearse_rows, c, NO_KEYS, argc, argv);
	while ((name = options_next_own(&options, &c->output, help)) && *name) {
		c->memory = memory_of(options.value, report);
		options.code = c->memory < 0 ? GPUMAP_EINPUT : GPUMAP_OK;
	}
	*done = options.code == OPTIONS_HELP;
	if (options.code != GPUMAP_OK)
		return *done ? STATUS_ANSWERED : STATUS_MALFORMED;
	c->machine = machine_named(c->machine, 0);
	if (!c->machine && machine_host_gpus())
		c->machine = "host";
	if (!c->machine)
		return report_fail(
			report, STATUS_MALFORMED, FINDING_BAD_OPTION,
			ABOUT(.fix = "write for example --inventory 8xH100"),
			"which machine? this one has no GPU, and --inventory is missing");
	if (!name)
		return report_fail(report, STATUS_MALFORMED, FINDING_BAD_OPTION,
				   ABOUT(.fix = "write for example -- python3 train.py"),
				   "no program is named");
	if (c->steps && option_number("--steps", c->steps, "a number", 1, INT32_MAX, &steps,
				      report) != GPUMAP_OK)
		return STATUS_MALFORMED;
	c->argv = options_rest(&options);
	return STATUS_ANSWERED;
}

/* --- the environment -------------------------------------------------------------------- */

static int make_folder(struct command_rehearse *c)
{
	if (pretended_folder(c->folder))
		return STATUS_ANSWERED;
	return failed(c->output.report, pretended_parent(), strerror(errno),
		      "set TMPDIR to a folder that can be written");
}

/* While this process lives, for srun, which has no way to see that it was killed. */
static bool lock_folder(const struct command_rehearse *c)
{
	char path[PATH_MAX + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/" REHEARSE_LOCK, c->folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		flock(fd, LOCK_EX);
	return fd >= 0;
}

static int set_environment(struct command_rehearse *c)
{
	gpumap_report *report = c->output.report;
	char boot[PATH_MAX], self[PATH_MAX];
	int status = make_folder(c);

	if (status != STATUS_ANSWERED)
		return status;
	if (!installed_path(boot, sizeof(boot), "rehearse/tree/boot/sitecustomize.py",
			    REHEARSEDIR "/boot/sitecustomize.py"))
		return failed(report, boot, "the Python part is missing",
			      "install gpumap with make install");
	*strrchr(boot, '/') = '\0';
	if (!read_link(self, sizeof(self), "/proc/self/exe"))
		return failed(report, "/proc/self/exe", strerror(errno), NULL);
	/* torch.compile would hand CPU code to a compiler. */
	if (!lock_folder(c) || !pretended_put_before("PYTHONPATH", boot, NULL) ||
	    setenv(REHEARSE_FOLDER, c->folder, 1) < 0 || unsetenv(REHEARSE_JOB) < 0 ||
	    !slurm_links(c->folder, self) || setenv("GPUMAP_REHEARSE_COMMAND", self, 1) < 0 ||
	    setenv("GPUMAP_REHEARSE_STEPS", c->steps ? c->steps : "0", 1) < 0 ||
	    setenv("GPUMAP_REHEARSE_MEMORY", FORMAT("%lld", (long long)c->memory), 1) < 0 ||
	    setenv("TORCHDYNAMO_DISABLE", "1", 1) < 0)
		return failed(report, NULL, strerror(errno), NULL);
	return STATUS_ANSWERED;
}

/* From here on a signal may end this process: it leaves nothing. Those that came when the program
 * had ended were for that. */
static void leave(const struct command_rehearse *c)
{
	const struct timespec now = {.tv_sec = 0};

	if (*c->folder)
		remove_tree(c->folder);
	if (c->own_leases && getenv("GPUMAP_LEASES"))
		remove_tree(getenv("GPUMAP_LEASES"));
	while (sigtimedwait(&c->caught, NULL, &now) > 0)
		;
	sigprocmask(SIG_SETMASK, &c->before, NULL);
}

/* --- the program ------------------------------------------------------------------------ */

static void become(char **argv, const sigset_t *before, int failed) __attribute__((noreturn));
static void become(char **argv, const sigset_t *before, int failed)
{
	int why;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigprocmask(SIG_SETMASK, before, NULL);
	execvp(*argv, argv);
	why = errno;
	write_all(failed, &why, sizeof(why));
	_exit(status_of_error(why));
}

/* Its pid. -1 with errno: it cannot be started. */
static pid_t start(char **argv, const sigset_t *before)
{
	int failed[2], why = 0;
	pid_t pid;

	if (pipe2(failed, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		become(argv, before, failed[1]);
	close(failed[1]);
	if (pid < 0) {
		why = errno;
	} else if (read(failed[0], &why, sizeof(why)) == sizeof(why)) {
		waitpid(pid, NULL, 0);
		pid = -1;
	}
	close(failed[0]);
	errno = why;
	return pid;
}

/* Says once of each rank that waits for others longer than usual. */
static void look_at_waits(const struct command_rehearse *c, double *told)
{
	CLEANUP(rehearsal_free) struct rehearsal rehearsal = {.argv = c->argv};
	OWNED(report) *report = report_begin();
	double until = (double)time(NULL) - LONG_WAIT;

	if (report) {
		rehearsal_read(&rehearsal, c->folder, NULL);
		rehearsal_judge_waits(&rehearsal, *told, until, report);
		print_report(&(struct output){.report = report}, 0);
		report_copy_all(c->waits, report, FINDING_COUNT);
	}
	*told = until;
}

/* Signals of the terminal reach the program themselves; others are passed on. Returns its status
 * as a shell has it. */
static int wait_for(const struct command_rehearse *c, pid_t pid)
{
	const struct timespec pause = {.tv_sec = LOOK};
	double told = 0;
	siginfo_t info;
	pid_t ended;
	int how;

	for (;;) {
		if (sigtimedwait(&c->caught, &info, &pause) < 0) {
			look_at_waits(c, &told);
			continue;
		}
		if (info.si_signo != SIGCHLD && info.si_code <= 0)
			kill(pid, info.si_signo);
		while ((ended = waitpid(-1, &how, WNOHANG)) > 0)
			if (ended == pid)
				return reap_status(how);
	}
}

static void signal_children(int signal)
{
	CLEANUP_FREE char *text = NULL;
	struct span rest, word;
	int64_t pid;
	size_t size;

	if (read_file(FORMAT("/proc/self/task/%d/children", (int)getpid()), false, 1 << 20, &text,
		      &size))
		return;
	for (rest = span_of(text); span_split(&rest, ' ', &word);) {
		pid = span_number(span_trim(word), INT32_MAX);
		if (pid > 0)
			kill((pid_t)pid, signal);
	}
}

/* What a job of Slurm leaves behind ends with it. */
static void end_rest(void)
{
	const struct timespec pause = {.tv_nsec = 50000000};

	for (int round = 0; round < 100; round++) {
		pid_t pid;

		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0)
			return;
		signal_children(round < 40 ? SIGTERM : SIGKILL);
		nanosleep(&pause, NULL);
	}
}

static int run(const struct command_rehearse *c, int *status)
{
	const bool job = slurm_link(*c->argv);
	pid_t pid;

	if (job)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	fflush(NULL);
	pid = start(c->argv, &c->before);
	if (pid < 0) {
		int why = errno;

		report_add(c->output.report, FINDING_REHEARSE,
			   ABOUT(.fix = access(*c->argv, F_OK) == 0 ? "write python3 or sh before "
								      "it, or make it executable"
					: why == ENOENT             ? "install it, or give its path"
								    : NULL),
			   "cannot run '%s': %s", QUOTE(span_of(*c->argv)), strerror(why));
		return status_of_error(why);
	}
	*status = wait_for(c, pid);
	if (job)
		end_rest();
	return STATUS_ANSWERED;
}

/* --- the report ------------------------------------------------------------------------- */

static int write_report(const struct command_rehearse *c, const struct rehearsal *rehearsal)
{
	CLEANUP(strbuf_free) struct strbuf buf = {0};

	if (text_ends(c->file, ".svg"))
		rehearsal_svg(&buf, rehearsal, c->output.report);
	else
		rehearsal_json(&buf, rehearsal, c->output.report);
	return buf.failed ? report_nomem(c->output.report)
			  : write_file(c->file, (struct span){buf.text, buf.length}, "the report",
				       c->output.report);
}

/* On standard error, since standard output is the program's. */
static void write_text(const struct command_rehearse *c, const struct rehearsal *rehearsal)
{
	CLEANUP(strbuf_free) struct strbuf buf = {.styled = false};

	if (rehearsal->imported)
		rehearsal_text(&buf, rehearsal);
	if (!buf.failed)
		fputs(buf.text ? buf.text : "", stderr);
	else
		report_nomem(c->output.report);
}

static bool is_same(const gpumap_finding *a, const gpumap_finding *b)
{
	return streq(gpumap_finding_str(a, GPUMAP_FINDING_TEXT),
		     gpumap_finding_str(b, GPUMAP_FINDING_TEXT)) &&
	       text_same(gpumap_finding_str(a, GPUMAP_FINDING_ORIGIN),
			 gpumap_finding_str(b, GPUMAP_FINDING_ORIGIN)) &&
	       gpumap_finding_int(a, GPUMAP_FINDING_LINE) ==
		       gpumap_finding_int(b, GPUMAP_FINDING_LINE);
}

/* Findings from the i-th on, but those that were printed while the program ran. */
static void print_new(const struct command_rehearse *c, size_t i)
{
	OWNED(report) *report = report_begin();
	size_t waits = gpumap_report_count(c->waits);

	if (!report) {
		out_of_memory_say();
		return;
	}
	for (; i < gpumap_report_count(c->output.report); i++) {
		const gpumap_finding *finding = gpumap_report_get(c->output.report, i);
		size_t w = 0;

		while (w < waits && !is_same(finding, gpumap_report_get(c->waits, w)))
			w++;
		if (w == waits)
			report_copy(report, finding);
	}
	print_report(&(struct output){.report = report}, 0);
}

static int conclude(const struct command_rehearse *c, struct rehearsal *rehearsal, bool all_read)
{
	gpumap_report *report = c->output.report;
	bool written;

	rehearsal_judge(rehearsal, report);
	write_text(c, rehearsal);
	written = !c->file || write_report(c, rehearsal) == GPUMAP_OK;
	if (rehearsal->status)
		return rehearsal->status;
	if (!all_read || !written || report_lacks_memory(report))
		return STATUS_OWN_FAILURE;
	return gpumap_report_worst(report) == GPUMAP_SEVERITY_ERROR ? STATUS_NO : STATUS_ANSWERED;
}

static int rehearse(struct command_rehearse *c)
{
	CLEANUP(rehearsal_free)
	struct rehearsal rehearsal = {.argv = c->argv, .machine = c->machine};
	size_t shown = print_report(&c->output, 0);
	bool all_read = false;
	int status;

	out_of_memory_returns();
	reap_signals(&c->caught, &c->before);
	status = set_environment(c);
	if (status == STATUS_ANSWERED)
		status = run(c, &rehearsal.status);
	if (status == STATUS_ANSWERED)
		all_read = rehearsal_read(&rehearsal, c->folder, c->output.report) == GPUMAP_OK;
	leave(c);
	if (status == STATUS_ANSWERED)
		status = conclude(c, &rehearsal, all_read);
	print_new(c, shown);
	return status;
}

int cmd_rehearse(int argc, char **argv)
{
	struct command_rehearse c = {.own_leases =
					     !getenv("GPUMAP_LEASES") || !*getenv("GPUMAP_LEASES")};
	bool done = false;
	int status;

	out_of_memory_ends(STATUS_OWN_FAILURE);
	c.output.report = report_begin();
	c.waits = report_begin();
	status = read_options(&c, argc, argv, &done);
	if (status == STATUS_ANSWERED && done) {
		gpumap_report_free(c.waits);
		return finish(&c.output, GPUMAP_OK, true);
	}
	if (status == STATUS_ANSWERED)
		status = pretended_machine(c.machine, c.output.report);
	if (status == STATUS_ANSWERED)
		status = rehearse(&c);
	else
		print_report(&c.output, 0);
	gpumap_report_free(c.waits);
	gpumap_report_free(c.output.report);
	return status;
}
