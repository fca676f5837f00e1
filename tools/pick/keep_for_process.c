/* SPDX-License-Identifier: MIT */
/* Keeps a lease for a process that is no child: --hold, --shell, --adopt. */
#include "pick/keep_for_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "closing.h"
#include "container.h"
#include "launch/guard_command_line.h"
#include "launch/leave_caller.h"
#include "lease/revoke.h"
#include "pick/find_shell.h"
#include "pick/lease_here.h"
#include "process_handle.h"
#include "process_path.h"
#include "readfile.h"
#include "report/report.h"
#include "strbuf.h"
#include "text.h"
#include "write_all.h"

enum {
	LOOK_MS = 200, /* how often /proc is asked, where the kernel has no pidfd */
	MAX_LIST = 1 << 20
};

/* The two processes, while there are two. */
struct handover {
	struct pick_keep *keep;
	const struct lease_limits *limits;
	pick_take *take;
	void *data;
	const struct output *output;
	struct process_handle kept_for;
	int list[2]; /* from the guard: the list, once the lease is taken */
	int stay[2]; /* to the guard: a byte, once the list is printed */
};

const char *pick_keeps(const struct pick_keep *keep)
{
	return keep->adopt ? "--adopt" : keep->hold ? "--hold" : keep->shell ? "--shell" : NULL;
}

int pick_keep_check(const struct pick_keep *keep, bool program, const char *chooses,
		    gpumap_report *report)
{
	const char *name = pick_keeps(keep);

	if (name && program)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.origin = name, .fix = "leave it out, or the program"),
				   "a program holds the lease itself");
	if (keep->adopt && (keep->hold || keep->shell))
		return report_fail(
			report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			ABOUT(.origin = "--adopt", .fix = "leave out one of them"),
			"the process that is adopted holds the lease, and %s names another",
			keep->hold ? "--hold" : "--shell");
	if (keep->adopt && chooses)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.origin = "--adopt", .fix = "leave it out"),
				   "the process has its GPUs already, so '%s' chooses nothing",
				   chooses);
	return GPUMAP_OK;
}

/* --- the process that holds ------------------------------------------------------------- */

static int refuse(const struct handover *h, long long pid, const char *why, const char *fix)
{
	report_add(h->output->report, FINDING_HOLD_PROCESS,
		   ABOUT(.origin = pick_keeps(h->keep), .fix = fix), "process %lld %s", pid, why);
	return STATUS_MALFORMED;
}

static int refuse_shell(const char *why, gpumap_report *report)
{
	report_add(report, FINDING_HOLD_PROCESS,
		   ABOUT(.origin = "--shell",
			 .fix = "write eval \"$(gpumap pick 2 --shell)\", or name the process, as "
				"in --hold $$"),
		   "%s", why);
	return STATUS_MALFORMED;
}

/* The lease is one's own, but when it ends is not. */
static void remark_foreign(const struct handover *h)
{
	struct stat st;

	if (geteuid() != 0 && stat(PROCESS_FOLDER(h->kept_for.pid), &st) == 0 &&
	    st.st_uid != geteuid())
		report_add(h->output->report, FINDING_HOLD_FOREIGN,
			   ABOUT(.origin = pick_keeps(h->keep)),
			   "process %d belongs to another user: the lease is yours, and ends when "
			   "that process does",
			   (int)h->kept_for.pid);
}

static int open_holder(struct handover *h, long long pid)
{
	int error = process_handle_open(&h->kept_for, (pid_t)pid);

	if (error == ESRCH)
		return refuse(h, pid, "does not exist here, or has ended",
			      container_hides_processes()
				      ? "processes have other numbers in a container: name one "
					"that ps shows here"
				      : "name a process that ps shows, as in --hold $$");
	if (error == EINVAL)
		return refuse(h, pid, "is a thread", "name the process that it belongs to");
	if (error == EACCES)
		return refuse(h, pid, "is running, but /proc hides it from this user",
			      "run gpumap as the user of the process, or as root");
	if (error == EXDEV)
		return refuse(h, pid,
			      "cannot be seen: /proc has the processes of another pid namespace",
			      "mount /proc in this one, as unshare --mount-proc does");
	if (error)
		return refuse(h, pid, strerror(error), NULL);
	h->keep->pid = h->kept_for.pid;
	remark_foreign(h);
	return STATUS_ANSWERED;
}

static int open_named(struct handover *h, const char *number)
{
	int64_t pid = span_number(span_of(number), INT32_MAX);

	if (pid > 0)
		return open_holder(h, pid);
	report_add(h->output->report, FINDING_BAD_OPTION,
		   ABOUT(.origin = pick_keeps(h->keep), .fix = "write the number of a process"),
		   "no process number: '%s'", QUOTE(span_of(number)));
	return STATUS_MALFORMED;
}

static int find_holder(struct handover *h)
{
	gpumap_report *report = h->output->report;
	pid_t pid;

	if (h->keep->hold || h->keep->adopt)
		return open_named(h, h->keep->hold ? h->keep->hold : h->keep->adopt);
	if (isatty(STDOUT_FILENO))
		return refuse_shell("no shell evaluates what is printed on a terminal", report);
	pid = shell_find();
	return pid > 0 ? open_holder(h, pid)
		       : refuse_shell("it cannot be seen which process is the shell", report);
}

static int cannot_start(gpumap_report *report)
{
	report_add(report, FINDING_LAUNCH, NULL, "the guard of the lease cannot be started: %s",
		   strerror(errno));
	return STATUS_MALFORMED;
}

/* --- the guard -------------------------------------------------------------------------- */

/* Only SIGTERM and SIGKILL end it. Returns a descriptor that is readable after SIGTERM; -1 with
 * errno. */
static int block_signals(void)
{
	sigset_t all, term;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	return signalfd(-1, &term, SFD_CLOEXEC);
}

/* Leaves the terminal, the folder and all descriptors of the caller. Returns what block_signals()
 * does; -1 with errno. */
static int leave_caller(const struct handover *h, const gpumap_lease *lease,
			const struct lease_end *end)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), signals = -1;
	CLEANUP_FREE int *held = null >= 0 ? lease_descriptors(lease) : NULL;

	if (held)
		signals = block_signals();
	if (signals >= 0) {
		const int keep[] = {h->kept_for.fd, h->kept_for.folder, h->list[1], h->stay[0],
				    end->timer,     end->note.fd,       signals};

		fflush(NULL);
		setsid();
		process_title("gpumap-lease", h->kept_for.pid);
		/* Its user may revoke it: where Yama is in use, only a parent could. */
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
		drop_inherited(null, keep, ARRAY_SIZE(keep), held);
	}
	return signals;
}

/* The majors of Linux's terminals: the console and serial lines, and pseudo-terminals. */
static bool is_terminal(dev_t device)
{
	return major(device) == 4 || major(device) == 5 ||
	       (major(device) >= 136 && major(device) <= 143);
}

/* Opens the terminal of a process; -1. What is not a terminal is not opened: a device can react to
 * that, and a file may be one that its user could not write. */
static int open_terminal(pid_t pid)
{
	struct stat st;
	int fd = -1, found;

	for (int i = STDERR_FILENO; i >= 0 && fd < 0; i--) {
		found = open(PROCESS_PATH(pid, "fd/%d", i), O_PATH | O_CLOEXEC);
		if (found < 0)
			continue;
		if (fstat(found, &st) == 0 && S_ISCHR(st.st_mode) && is_terminal(st.st_rdev))
			fd = open(PROCESS_PATH(PROCESS_SELF, "fd/%d", found),
				  O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
		close(found);
	}
	return fd;
}

static void tell_terminal(pid_t pid, const char *text)
{
	CLEANUP_CLOSE int fd = open_terminal(pid);

	if (fd >= 0 && isatty(fd))
		dprintf(fd, "gpumap: %s\n", text);
}

/* Returns when the process has ended, when SIGTERM came, or when the lease has ended; false: the
 * lease. */
static bool wait_for_end(const struct process_handle *kept_for, struct lease_end *end, int signals)
{
	struct pollfd ends[] = {
		{kept_for->fd, POLLIN, 0}, {end->timer, POLLIN, 0}, {signals, POLLIN, 0}};
	char text[LEASE_END_TEXT];

	while (!process_handle_ended(kept_for)) {
		const char *told;

		if (poll(ends, ARRAY_SIZE(ends), kept_for->fd >= 0 ? -1 : LOOK_MS) <= 0)
			continue;
		if (ends[2].revents)
			return true;
		if (!(ends[1].revents & POLLIN))
			continue;
		told = lease_end_look(end, text);
		if (told)
			tell_terminal(kept_for->pid, told);
		if (end->timer < 0)
			return false;
	}
	return true;
}

/* A lease that is not shown to anyone, or that nothing holds, ends with this process. */
static void guard(struct handover *h) __attribute__((noreturn));
static void guard(struct handover *h)
{
	gpumap_lease *lease = NULL;
	struct lease_end end;
	char *list = NULL, byte;
	int status = h->take(&lease, &list, h->data), signals;
	size_t length = list ? strlen(list) : 0, printed;

	print_report(h->output, h->keep->printed);
	if (status != STATUS_ANSWERED)
		_exit(status);
	printed = gpumap_report_count(h->output->report);
	if (!lease_end_begin(&end, h->limits, lease, getpid()) ||
	    (signals = leave_caller(h, lease, &end)) < 0) {
		status = cannot_start(h->output->report);
		print_report(h->output, printed);
		gpumap_lease_free(lease);
		_exit(status);
	}
	/* From here on the end of pick shows in h->stay. */
	prctl(PR_SET_PDEATHSIG, 0);
	if (write_all(h->list[1], list, length + 1) != length + 1) {
		gpumap_lease_free(lease);
		_exit(STATUS_OWN_FAILURE);
	}
	close(h->list[1]);
	/* The process may have left jobs in the background, which are inside the lease. */
	if (UNINTERRUPTED(read(h->stay[0], &byte, 1)) == 1 &&
	    wait_for_end(&h->kept_for, &end, signals))
		lease_let_go(lease);
	lease_end_close(&end);
	gpumap_lease_free(lease);
	_exit(0);
}

/* --- pick ------------------------------------------------------------------------------- */

static int was_killed(gpumap_report *report)
{
	report_add(report, FINDING_LAUNCH, NULL, "the guard of the lease was killed");
	return STATUS_MALFORMED;
}

/* What became of a guard that did not give a list. */
static int status_of_guard(pid_t pid, gpumap_report *report)
{
	int status = 0;

	UNINTERRUPTED(waitpid(pid, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : was_killed(report);
}

/* `guard` is the process that keeps the lease. */
static bool print_list(const struct handover *h, const char *list, pid_t guard)
{
	struct strbuf line = {0};

	if (h->keep->shell)
		shell_export(&line, list, guard);
	else
		strbuf_printf(&line, "%s\n", list);
	return print_buffer(&line, h->output->report) == GPUMAP_OK;
}

/* Until the guard has a list, or has ended. False: the process that is to hold has ended. */
static bool wait_for_list(const struct handover *h)
{
	struct pollfd ready[] = {{h->list[0], POLLIN, 0}, {h->kept_for.fd, POLLIN, 0}};

	do {
		if (poll(ready, ARRAY_SIZE(ready), h->kept_for.fd >= 0 ? -1 : LOOK_MS) > 0 &&
		    ready[0].revents)
			return true;
	} while (!process_handle_ended(&h->kept_for));
	return false;
}

static int refuse_ended(const struct handover *h)
{
	return refuse(h, h->kept_for.pid, "has ended meanwhile", "name a process that is running");
}

/* The guard ends unless it is told to stay. */
static int follow(const struct handover *h, pid_t pid)
{
	CLEANUP_FREE char *list = NULL;
	size_t size = 0;
	int error;

	if (!wait_for_list(h)) {
		/* A job that waits for no one would keep its place in the queue. */
		kill(pid, SIGKILL);
		UNINTERRUPTED(waitpid(pid, NULL, 0));
		return refuse_ended(h);
	}
	error = read_all(h->list[0], MAX_LIST, &list, &size);
	if (error) {
		report_add(h->output->report, FINDING_LAUNCH, NULL,
			   "the guard of the lease cannot be read: %s", strerror(error));
		return STATUS_MALFORMED;
	}
	if (!size || list[size - 1])
		return status_of_guard(pid, h->output->report);
	if (process_handle_ended(&h->kept_for))
		return refuse_ended(h);
	if (!print_list(h, list, pid))
		return STATUS_MALFORMED;
	return write_all(h->stay[1], "", 1) == 1 ? STATUS_ANSWERED : was_killed(h->output->report);
}

static int start(struct handover *h)
{
	struct sigaction standard = {.sa_handler = SIG_DFL}, ignore = {.sa_handler = SIG_IGN};
	pid_t own = getpid(), pid;

	h->keep->printed = print_report(h->output, 0);
	fflush(NULL);
	/* With SIGCHLD ignored there is nothing to wait for. */
	sigaction(SIGCHLD, &standard, NULL);
	pid = fork();
	if (pid == 0) {
		close(h->list[0]);
		close(h->stay[1]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != own)
			_exit(STATUS_OWN_FAILURE);
		guard(h);
	}
	close_variable(&h->list[1]);
	close_variable(&h->stay[0]);
	/* A guard that is gone shows as an error of write(2). */
	sigaction(SIGPIPE, &ignore, NULL);
	return pid > 0 ? follow(h, pid) : cannot_start(h->output->report);
}

int pick_keep(struct pick_keep *keep, const struct lease_limits *limits, pick_take *take,
	      void *data, const struct output *output)
{
	struct handover h = {.keep = keep,
			     .limits = limits,
			     .take = take,
			     .data = data,
			     .output = output,
			     .kept_for = {.fd = -1, .folder = -1},
			     .list = {-1, -1},
			     .stay = {-1, -1}};
	int status = find_holder(&h);

	if (status == STATUS_ANSWERED &&
	    (pipe2(h.list, O_CLOEXEC) < 0 || pipe2(h.stay, O_CLOEXEC) < 0))
		status = cannot_start(output->report);
	if (status == STATUS_ANSWERED)
		status = start(&h);
	for (int i = 0; i < 2; i++) {
		close_variable(&h.list[i]);
		close_variable(&h.stay[i]);
	}
	process_handle_close(&h.kept_for);
	return status;
}
