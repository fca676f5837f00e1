/* SPDX-License-Identifier: MIT */
/* The tasks of a step: their environment, their start, and their end. */
#include "rehearse/slurm_commands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/out_of_memory.h"
#include "cli/output.h"
#include "closing.h"
#include "reap.h"
#include "rehearse/slurm_step.h"

static void set_step(const struct step *step)
{
	const struct slurm_size *size = &step->size;

	slurm_set_number("SLURM_NTASKS", size->tasks);
	slurm_set_number("SLURM_NPROCS", size->tasks);
	slurm_set_number("SLURM_NNODES", size->nodes);
	slurm_set_number("SLURM_STEP_ID", step->number);
	slurm_set_number("SLURM_STEPID", step->number);
	slurm_set_number("SLURM_STEP_NUM_TASKS", size->tasks);
	slurm_set_number("SLURM_STEP_NUM_NODES", size->nodes);
	setenv("SLURM_STEP_TASKS_PER_NODE", step->counts, 1);
	setenv("SLURM_TASKS_PER_NODE", step->counts, 1);
	setenv("SLURM_STEP_NODELIST", step->nodes, 1);
	if (step->wish.slurm.has_tasks_per_node)
		slurm_set_number("SLURM_NTASKS_PER_NODE", step->wish.slurm.tasks_per_node);
	if (step->wish.cpus_per_task > 0)
		slurm_set_number("SLURM_CPUS_PER_TASK", step->wish.cpus_per_task);
	slurm_export(step->wish.exports);
}

static void set_gpus(const struct step *step, int64_t node, int64_t i)
{
	int gpus[SLURM_GPUS_MAX];
	char list[SLURM_GPUS_MAX * 4];
	int64_t count = step_own_gpus(step, step->gpus[node], i, gpus);

	if (step->size.gpus)
		slurm_set_number("SLURM_GPUS_ON_NODE", step->size.gpus);
	else
		unsetenv("SLURM_GPUS_ON_NODE");
	unsetenv("SLURM_STEP_GPUS");
	if (count < 0) {
		unsetenv("CUDA_VISIBLE_DEVICES");
		slurm_not_rehearsed(
			"--gpu-bind=none: whether Slurm keeps the GPUs of other jobs away");
		return;
	}
	slurm_list(list, sizeof(list), gpus, count);
	setenv("CUDA_VISIBLE_DEVICES", list, 1);
	if (count)
		setenv("SLURM_STEP_GPUS", list, 1);
}

static void set_task(const struct step *step, int64_t node, int64_t i, int64_t first)
{
	char name[32], ids[SLURM_TASKS_MAX * 5];
	int ranks[SLURM_TASKS_MAX];
	int64_t tasks = slurm_tasks_of(&step->size, node);

	for (int64_t t = 0; t < tasks; t++)
		ranks[t] = (int)(first + t);
	slurm_list(ids, sizeof(ids), ranks, tasks);
	slurm_node(name, sizeof(name), step->job_nodes, step->first + node);
	slurm_set_number("SLURM_PROCID", first + i);
	slurm_set_number("SLURM_LOCALID", i);
	slurm_set_number("SLURM_NODEID", node);
	setenv("SLURM_GTIDS", ids, 1);
	setenv("SLURMD_NODENAME", name, 1);
	set_gpus(step, node, i);
}

static void become(const struct step *step, const sigset_t *before, int64_t rank)
	__attribute__((noreturn));
static void become(const struct step *step, const sigset_t *before, int64_t rank)
{
	int why;

	if (step->groups)
		setpgid(0, 0);
	/* When srun is killed. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	input_take(&step->input, rank);
	sigprocmask(SIG_SETMASK, before, NULL);
	execvp(*step->argv, step->argv);
	why = errno;
	slurm_refuse("srun", why == ENOENT ? "install it, or give its path" : NULL, "%s: %s",
		     QUOTE(span_of(*step->argv)), strerror(why));
	_exit(status_of_error(why));
}

static int start(struct step *step, const sigset_t *before)
{
	int64_t rank = 0;

	fflush(NULL);
	for (int64_t node = 0; node < step->size.nodes; node++) {
		int64_t first = rank;

		for (int64_t i = 0; i < slurm_tasks_of(&step->size, node); i++, rank++) {
			pid_t pid = fork();

			if (pid < 0)
				return slurm_refuse("srun", NULL, "task %lld cannot be started: %s",
						    (long long)rank, strerror(errno));
			if (pid == 0) {
				set_task(step, node, i, first);
				become(step, before, rank);
			}
			if (step->groups)
				setpgid(pid, pid);
			step->tasks[rank] = (struct task){pid, true};
			step->running++;
		}
	}
	return STATUS_ANSWERED;
}

/* `running`: tasks that have not ended; else also what the others have left in their groups. */
static void signal_tasks(const struct step *step, int signal, bool running)
{
	for (int64_t rank = 0; rank < step->size.tasks; rank++) {
		const struct task *task = &step->tasks[rank];

		if (task->pid > 0 && (task->running || !running))
			kill(step->groups ? -task->pid : task->pid, signal);
	}
}

/* Whether the task has ended, with *status. It is not reaped, so that no other process gets its
 * number before what it has left is ended by that. */
static bool has_ended(const struct task *task, int *status)
{
	siginfo_t info = {.si_pid = 0};

	if (!task->running ||
	    waitid(P_PID, (id_t)task->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || !info.si_pid)
		return false;
	*status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
	return true;
}

/* Takes the tasks that have ended. *highest is the highest status; with --kill-on-bad-exit that of
 * the first that failed, after which the others end. */
static void take_ended(struct step *step, int *highest)
{
	for (int64_t rank = 0; rank < step->size.tasks; rank++) {
		int status;

		if (!has_ended(&step->tasks[rank], &status))
			continue;
		step->tasks[rank].running = false;
		step->running--;
		if (!status)
			continue;
		fprintf(stderr, "gpumap: srun: task %lld ended with status %d\n", (long long)rank,
			status);
		if (!*highest || (status > *highest && !step->wish.kill))
			*highest = status;
		if (step->wish.kill)
			signal_tasks(step, SIGTERM, true);
	}
}

/* Whether gpumap rehearse was killed. */
static bool rehearsal_ended(void)
{
	CLEANUP_CLOSE int fd = step_open(REHEARSE_LOCK);

	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static int wait_for_tasks(struct step *step, const sigset_t *caught)
{
	const struct timespec patience = {.tv_sec = 5};
	int highest = 0;
	siginfo_t info;

	for (take_ended(step, &highest); step->running; take_ended(step, &highest)) {
		int got = sigtimedwait(caught, &info, &patience);

		/* A terminal signals tasks itself that have no group of their own. */
		if (got > 0 && got != SIGCHLD && (step->groups || info.si_code <= 0))
			signal_tasks(step, got, true);
		else if (got < 0 && ((highest && step->wish.kill) || rehearsal_ended()))
			signal_tasks(step, SIGKILL, true);
	}
	return highest;
}

static int run(struct step *step)
{
	CLEANUP_FREE struct task *tasks = calloc((size_t)step->size.tasks, sizeof(*tasks));
	sigset_t caught, before;
	int status, failed;

	out_of_memory_returns();
	step->tasks = tasks;
	if (!tasks)
		return STATUS_OWN_FAILURE;
	if (!input_open(&step->input, step->size.tasks))
		return slurm_refuse("srun", errno == EMFILE ? SLURM_MORE_FILES : NULL,
				    "standard input: %s", strerror(errno));
	step->groups = step->input.kind != INPUT_TERMINAL;
	reap_signals(&caught, &before);
	set_step(step);
	failed = start(step, &before);
	input_copy(&step->input);
	if (failed)
		signal_tasks(step, SIGKILL, true);
	status = wait_for_tasks(step, &caught);
	/* Slurm ends what the tasks of a step have left. */
	if (step->groups)
		signal_tasks(step, SIGKILL, false);
	input_close(&step->input);
	return failed ? failed : status;
}

/* srun that has a job of its own exports neither its GPUs nor options for them. */
static void forget_wishes(void)
{
	static const char *const names[] = {"SLURM_JOB_GPUS",      "SLURM_GPUS",
					    "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK",
					    "SLURM_GPU_BIND",      "SLURM_NTASKS_PER_GPU"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
}

int rehearse_srun(int argc, char **argv)
{
	CLEANUP_FREE struct step *step = calloc(1, sizeof(*step));
	size_t end;
	int status;

	(void)argc;
	if (!step)
		return STATUS_OWN_FAILURE;
	step->wish = SLURM_WISH_NOTHING;
	slurm_wish_words(&step->wish, argv, false, &end);
	step->argv = argv + end;
	status = *step->argv ? STATUS_ANSWERED
			     : slurm_refuse("srun", "name one", "srun has no program");
	if (status == STATUS_ANSWERED && !getenv(REHEARSE_JOB)) {
		struct slurm_wish job = step->wish;

		status = slurm_begin("srun", &job, file_name(*step->argv));
		forget_wishes();
	}
	if (status == STATUS_ANSWERED)
		status = step_settle(step);
	if (status == STATUS_ANSWERED)
		status = step_wait(step);
	if (status == STATUS_ANSWERED)
		status = run(step);
	return status;
}
