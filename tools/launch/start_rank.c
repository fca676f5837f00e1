/* SPDX-License-Identifier: MIT */
/* From fork to exec: a rank before it becomes its program. */
#include "bind.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "console.h"
#include "exit_status.h"

struct becoming {
	const struct launch_rank *rank;
	size_t index;
	int statuses;
	char path[PATH_MAX];
	bool script;
};

static void send_status(const struct becoming *b, enum stage stage, int error)
{
	struct guard_message status = {
		.event = GUARD_REFUSED, .rank = (int32_t)b->index, .stage = stage, .error = error};

	/* Shorter than PIPE_BUF, so it is written whole or not at all. Without a guard no process
	 * reads it. */
	if (write(b->statuses, &status, sizeof(status)) != sizeof(status))
		_exit(STATUS_OWN_FAILURE);
}

static void refuse(const struct becoming *b, enum stage stage, int error) __attribute__((noreturn));
static void refuse(const struct becoming *b, enum stage stage, int error)
{
	send_status(b, stage, error);
	_exit(status_of_error(error));
}

/* The rank dies with its guard, however the guard dies; the launcher ends the rank's children. */
static void die_with(pid_t guard)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != guard)
		_exit(STATUS_OWN_FAILURE);
}

/* Without a pipe its output is that of the caller. */
static void connect_output(const struct process_state *state, const struct stream *outputs)
{
	if (dup2(state->null, STDIN_FILENO) < 0 ||
	    (outputs[0].writer >= 0 && dup2(outputs[0].writer, STDOUT_FILENO) < 0) ||
	    (outputs[1].writer >= 0 && dup2(outputs[1].writer, STDERR_FILENO) < 0))
		_exit(STATUS_OWN_FAILURE);
}

/* Of this process alone: the descriptors' flags are not shared with the guard. */
static void inherit(const int *held)
{
	for (; held && *held >= 0; held++)
		if (fcntl(*held, F_SETFD, 0) < 0)
			_exit(STATUS_OWN_FAILURE);
}

/* Uses the system call: the C library keeps signals 32 and 33 for itself, and some callers ignore
 * them. */
static void reset_signals(bool hup_ignored)
{
	static const unsigned long standard[16]; /* SIG_DFL, no flags, no mask: all zero */
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGHUP || !hup_ignored)
			syscall(SYS_rt_sigaction, sig, standard, NULL, NSIG / 8);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void execute(struct becoming *b)
{
	const struct launch_rank *rank = b->rank;
	char **argv, name[] = "sh";
	size_t count = 0;

	execve(b->path, rank->argv, rank->envp);
	if (errno != ENOEXEC || !b->script)
		return;
	while (rank->argv[count])
		count++;
	argv = calloc(count + 2, sizeof(*argv));
	if (!argv)
		return;
	argv[0] = name;
	argv[1] = b->path;
	memcpy(argv + 2, rank->argv + 1, count * sizeof(*argv));
	execve("/bin/sh", argv, rank->envp);
}

enum stage rank_settle(const struct launch_rank *rank)
{
	if (rank->folder && chdir(rank->folder) < 0)
		return STAGE_FOLDER;
	if (rank->cpus && syscall(SYS_sched_setaffinity, 0, rank->cpus_size, rank->cpus) < 0)
		return STAGE_CPUS;
	if (rank->mem_nodes &&
	    syscall(SYS_set_mempolicy, rank->mem_policy, rank->mem_nodes, rank->mem_bits) < 0)
		return STAGE_MEMORY;
	return STAGE_READY;
}

void rank_become(const struct launch *launch, const struct process_state *state,
		 const struct stream *outputs, size_t index, pid_t guard, int statuses, int gate)
{
	struct becoming b = {.rank = &launch->ranks[index], .index = index, .statuses = statuses};
	enum stage stage;
	char byte;
	int error;

	setsid();
	die_with(guard);
	connect_output(state, outputs);
	inherit(launch->held);
	setrlimit(RLIMIT_NOFILE, &state->files);
	stage = rank_settle(b.rank);
	if (stage != STAGE_READY)
		refuse(&b, stage, errno);
	error = program_find(b.rank->argv[0], b.rank->envp, b.path, sizeof(b.path), &b.script);
	if (error)
		refuse(&b, STAGE_FIND, error);
	send_status(&b, STAGE_READY, 0);
	if (read(gate, &byte, 1) != 1)
		_exit(STATUS_OWN_FAILURE);
	reset_signals(state->hup_ignored);
	execute(&b);
	refuse(&b, STAGE_EXEC, errno);
}
