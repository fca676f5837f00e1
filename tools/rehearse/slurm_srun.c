/* SPDX-License-Identifier: MIT */
/*
 * A step: its tasks on each node, and the GPUs that each task sees. As with Slurm, a step has its
 * GPUs alone unless --overlap says otherwise, and waits until as many are free.
 */
#include "rehearse/slurm_commands.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "hostlist.h"
#include "rehearse/slurm.h"

struct step {
	struct slurm_wish wish;
	struct slurm_size size;
	int number;
	int job_gpus[SLURM_GPUS_MAX]; /* on each node */
	int64_t job_count;
	int gpus[SLURM_NODES_MAX][SLURM_GPUS_MAX];
	int locks[SLURM_NODES_MAX][SLURM_GPUS_MAX];
	char nodes[64], counts[512];
	char **argv;
	pid_t *tasks; /* by rank; 0: it has ended */
};

/* --- its size --------------------------------------------------------------------------- */

static void read_job_gpus(struct step *step)
{
	struct span rest = span_of(getenv(REHEARSE_JOB)), piece;

	while (rest.text && span_split(&rest, ',', &piece) && step->job_count < SLURM_GPUS_MAX)
		if (piece.length)
			step->job_gpus[step->job_count++] =
				(int)span_number(piece, SLURM_GPUS_MAX - 1);
}

static void inherit_text(struct slurm_wish *wish, const char *option, const char *variable)
{
	const char *value = getenv(variable);

	if (value)
		slurm_take(&wish->slurm,
			   &(struct slurm_option){span_of(option), span_of(value), 1});
}

/* Options of srun that the job's variables give. An own option for GPUs replaces the job's. */
static void inherit(struct slurm_wish *wish)
{
	struct slurm *slurm = &wish->slurm;

	if (!slurm_asks_for_gpus(slurm) && wish->tasks_per_gpu < 0) {
		inherit_text(wish, "gpus", "SLURM_GPUS");
		inherit_text(wish, "gpus-per-node", "SLURM_GPUS_PER_NODE");
		inherit_text(wish, "gpus-per-task", "SLURM_GPUS_PER_TASK");
		wish->tasks_per_gpu = slurm_number("SLURM_NTASKS_PER_GPU");
	}
	if (!slurm->bind.text)
		inherit_text(wish, "gpu-bind", "SLURM_GPU_BIND");
}

/* SLURM_NTASKS of the job overrules all but srun's own --ntasks. */
static int64_t step_tasks(const struct slurm_wish *wish, int64_t nodes)
{
	const struct slurm *slurm = &wish->slurm;
	int64_t of_job = slurm_number("SLURM_NTASKS");

	if (slurm->tasks > 0)
		return slurm->tasks;
	if (of_job > 0)
		return of_job;
	if (slurm->tasks_per_node > 0)
		return slurm->tasks_per_node * nodes;
	if (wish->tasks_per_gpu > 0 && slurm->total > 0)
		return wish->tasks_per_gpu * slurm->total;
	of_job = slurm_number("SLURM_NTASKS_PER_NODE");
	return of_job > 0 ? of_job * nodes : nodes;
}

/* Slurm says so too, and goes on. */
static void drop_tasks_per_node(struct slurm_wish *wish, const struct slurm_size *size)
{
	struct slurm *slurm = &wish->slurm;

	if (slurm->tasks_per_node < 1 || slurm->tasks_per_node * size->nodes == size->tasks ||
	    slurm->has_tasks)
		return;
	fprintf(stderr,
		"gpumap: srun: Slurm ignores --ntasks-per-node=%lld, because SLURM_NTASKS=%lld of "
		"the job overrules it; write --ntasks=%lld too\n",
		(long long)slurm->tasks_per_node, (long long)size->tasks,
		(long long)(slurm->tasks_per_node * size->nodes));
	slurm->tasks_per_node = -1;
	slurm->has_tasks_per_node = false;
}

static int64_t step_gpus(const struct step *step)
{
	const struct slurm *slurm = &step->wish.slurm;

	if (slurm->per_node >= 0)
		return slurm->per_node;
	if (slurm->per_task >= 0)
		return slurm->per_task * slurm_tasks_of(&step->size, 0);
	if (slurm->total >= 0)
		return (slurm->total + step->size.nodes - 1) / step->size.nodes;
	return step->job_count;
}

/* Tasks that each node takes: as many as the job has there. False: they are not enough. */
static bool make_room(struct slurm_size *size, const struct slurm *slurm)
{
	const char *counts = getenv("SLURM_TASKS_PER_NODE");
	int64_t all = 0;

	for (int64_t i = 0; i < size->nodes; i++) {
		size->room[i] = counts ? counts_at(span_of(counts), i) : 0;
		if (slurm->tasks_per_node > 0 && slurm->tasks_per_node < size->room[i])
			size->room[i] = slurm->tasks_per_node;
		all += size->room[i];
	}
	return all >= size->tasks;
}

static int settle(struct step *step)
{
	struct slurm_wish *wish = &step->wish;
	struct slurm_size *size = &step->size;
	int64_t of_job = slurm_number("SLURM_JOB_NUM_NODES");

	inherit(wish);
	if (wish->other.text)
		return slurm_refuse("srun", "leave it out", "%s", QUOTE(wish->other));
	size->nodes = wish->slurm.nodes > 0 ? wish->slurm.nodes : of_job;
	if (size->nodes < 1 || size->nodes > of_job)
		return slurm_refuse("srun", "ask for fewer", "%lld nodes, and the job has %lld",
				    (long long)size->nodes, (long long)of_job);
	size->tasks = step_tasks(wish, size->nodes);
	if (size->tasks > SLURM_TASKS_MAX)
		return slurm_refuse("srun", "ask for fewer", "%lld tasks", (long long)size->tasks);
	if (size->tasks < size->nodes)
		size->nodes = size->tasks;
	drop_tasks_per_node(wish, size);
	if (!make_room(size, &wish->slurm))
		return slurm_refuse("srun", "write --ntasks too, as --ntasks=1",
				    "%lld tasks are more than the job has on %lld node%s: Slurm "
				    "would not start the step",
				    (long long)size->tasks, (long long)size->nodes,
				    size->nodes == 1 ? "" : "s");
	size->gpus = step_gpus(step);
	if (size->gpus > step->job_count)
		return slurm_refuse("srun", "ask for fewer, or give the job more",
				    "the step asks for %lld GPUs of a node, and the job has %lld",
				    (long long)size->gpus, (long long)step->job_count);
	slurm_counts(step->counts, sizeof(step->counts), size, 1);
	slurm_node_list(step->nodes, sizeof(step->nodes), of_job);
	if (size->nodes < of_job)
		snprintf(step->nodes, sizeof(step->nodes),
			 size->nodes == 1 ? "127.0.0.1" : "127.0.0.[1-%lld]",
			 (long long)size->nodes);
	return STATUS_ANSWERED;
}

/* --- its GPUs ---------------------------------------------------------------------------- */

static int open_in_folder(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", getenv(REHEARSE_FOLDER), name);
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static void give_back(struct step *step)
{
	for (int64_t node = 0; node < step->size.nodes; node++)
		for (int64_t i = 0; i < step->size.gpus; i++)
			if (step->locks[node][i] > 0) {
				close(step->locks[node][i]);
				step->locks[node][i] = 0;
			}
}

/* Whether each node has enough that are free; these are taken. */
static bool take_gpus(struct step *step)
{
	for (int64_t node = 0; node < step->size.nodes; node++) {
		int64_t count = 0;

		for (int64_t i = 0; i < step->job_count && count < step->size.gpus; i++) {
			char name[64];
			int fd;

			snprintf(name, sizeof(name), "gpu-%lld-%d", (long long)node,
				 step->job_gpus[i]);
			fd = step->wish.overlap ? 0 : open_in_folder(name);
			if (fd < 0 || (fd > 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)) {
				if (fd > 0)
					close(fd);
				continue;
			}
			step->locks[node][count] = fd;
			step->gpus[node][count++] = step->job_gpus[i];
		}
		if (count < step->size.gpus) {
			give_back(step);
			return false;
		}
	}
	return true;
}

/* The number of the step, from 0. `gate` is a file that has the next. */
static int next_number(int gate)
{
	char text[16] = "";
	ssize_t length = pread(gate, text, sizeof(text) - 1, 0);
	int64_t number =
		length > 0 ? span_number((struct span){text, (size_t)length}, INT32_MAX - 1) : 0;

	length = snprintf(text, sizeof(text), "%lld", (long long)number + 1);
	if (pwrite(gate, text, (size_t)length, 0) != length)
		return (int)number;
	return (int)number;
}

static int wait_for_gpus(struct step *step)
{
	const struct timespec pause = {.tv_nsec = 100000000};
	int gate = open_in_folder("step");
	bool taken, told = false;

	if (gate < 0)
		return slurm_refuse("srun", NULL, "%s: %s", getenv(REHEARSE_FOLDER),
				    strerror(errno));
	for (;;) {
		flock(gate, LOCK_EX);
		taken = take_gpus(step);
		if (taken)
			step->number = next_number(gate);
		flock(gate, LOCK_UN);
		if (taken)
			break;
		if (!told)
			fprintf(stderr,
				"gpumap: srun: the GPUs are those of another step, so this one "
				"waits until that ends; --overlap shares them\n");
		told = true;
		nanosleep(&pause, NULL);
	}
	close(gate);
	return STATUS_ANSWERED;
}

/* The i-th of a list of numbers, which repeats. */
static struct span nth(struct span list, int64_t i)
{
	struct span rest = list, piece;
	int64_t count = 0;

	while (span_split(&rest, ',', &piece))
		count++;
	rest = list;
	for (i %= count; span_split(&rest, ',', &piece) && i; i--)
		;
	return piece;
}

/* What follows the colon of a value of --gpu-bind; .text NULL: nothing. */
static struct span argument(struct span bind)
{
	struct span before;

	if (!span_split(&bind, ':', &before))
		return (struct span){NULL, 0};
	return bind;
}

/* The GPUs of the i-th task of a node, by --gpu-bind (rule L5). Returns how many, -1: the list is
 * not set. */
static int64_t own_gpus(const struct step *step, const int *gpus, int64_t i, int *ret)
{
	const struct slurm_wish *wish = &step->wish;
	struct span bind = wish->slurm.bind.text ? wish->slurm.bind : span_of(""), value;
	int64_t count = step->size.gpus, each = wish->slurm.per_task, n = 0;

	if (span_starts(bind, "verbose,") || span_starts(bind, "v,"))
		span_split(&bind, ',', &(struct span){0});
	value = argument(bind);
	if (span_is(bind, "none"))
		return -1;
	if (value.text && span_starts(bind, "map")) {
		ret[0] = (int)span_number(nth(value, i), SLURM_GPUS_MAX - 1);
		return ret[0] >= 0;
	}
	if (value.text && span_starts(bind, "mask")) {
		char text[32];
		unsigned long long mask;

		snprintf(text, sizeof(text), "%.*s", (int)nth(value, i).length, nth(value, i).text);
		mask = strtoull(text, NULL, 16);
		for (int gpu = 0; gpu < 64; gpu++)
			if (mask >> gpu & 1)
				ret[n++] = gpu;
		return n;
	}
	if (count > 0 && ((value.text && span_starts(bind, "single:")) ||
			  (!bind.length && wish->tasks_per_gpu > 0))) {
		int64_t tasks =
			bind.length ? span_number(value, SLURM_TASKS_MAX) : wish->tasks_per_gpu;

		ret[0] = gpus[(tasks > 0 ? i / tasks : i) % count];
		return 1;
	}
	if (value.text && span_starts(bind, "per_task:"))
		each = span_number(value, SLURM_GPUS_MAX);
	else if (bind.length)
		each = -1;
	if (each < 1 || count < 1) {
		memcpy(ret, gpus, (size_t)count * sizeof(*gpus));
		return count;
	}
	for (; n < each; n++)
		ret[n] = gpus[(i * each + n) % count];
	return n;
}

/* --- its tasks --------------------------------------------------------------------------- */

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
	int64_t count = own_gpus(step, step->gpus[node], i, gpus);

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
	slurm_node(name, sizeof(name), slurm_number("SLURM_JOB_NUM_NODES"), node);
	slurm_set_number("SLURM_PROCID", first + i);
	slurm_set_number("SLURM_LOCALID", i);
	slurm_set_number("SLURM_NODEID", node);
	setenv("SLURM_GTIDS", ids, 1);
	setenv("SLURMD_NODENAME", name, 1);
	set_gpus(step, node, i);
}

static void become(const struct step *step, const sigset_t *before, bool input)
	__attribute__((noreturn));
static void become(const struct step *step, const sigset_t *before, bool input)
{
	int why, null = input ? -1 : open("/dev/null", O_RDONLY);

	if (null >= 0)
		dup2(null, STDIN_FILENO);
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
				become(step, before, rank == 0);
			}
			step->tasks[rank] = pid;
		}
	}
	return STATUS_ANSWERED;
}

static void signal_tasks(const struct step *step, int signal)
{
	for (int64_t rank = 0; rank < step->size.tasks; rank++)
		if (step->tasks[rank] > 0)
			kill(step->tasks[rank], signal);
}

static int64_t rank_of(const struct step *step, pid_t pid)
{
	int64_t rank = 0;

	while (rank < step->size.tasks && step->tasks[rank] != pid)
		rank++;
	return rank;
}

/* The status of a task that has ended. */
static int ended(struct step *step, pid_t pid, int how)
{
	int64_t rank = rank_of(step, pid);
	int status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);

	if (rank < step->size.tasks)
		step->tasks[rank] = 0;
	if (status)
		fprintf(stderr, "gpumap: srun: task %lld ended with status %d\n", (long long)rank,
			status);
	if (status && step->wish.kill)
		signal_tasks(step, SIGTERM);
	return status;
}

/* The highest status of a task; with --kill-on-bad-exit that of the first that failed. */
static int wait_for_tasks(struct step *step, const sigset_t *caught)
{
	int highest = 0, how;
	siginfo_t info;

	for (;;) {
		pid_t pid = waitpid(-1, &how, WNOHANG);

		if (pid < 0)
			return highest;
		if (pid > 0) {
			int status = ended(step, pid, how);

			if (!highest || (status > highest && !step->wish.kill))
				highest = status;
		} else if (sigwaitinfo(caught, &info) > 0 && info.si_signo != SIGCHLD &&
			   info.si_code <= 0) {
			/* A terminal signals the tasks itself. */
			signal_tasks(step, info.si_signo);
		}
	}
}

static int run(struct step *step)
{
	static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD};
	sigset_t caught, before;
	int status;

	step->tasks = calloc((size_t)step->size.tasks, sizeof(*step->tasks));
	if (!step->tasks)
		return STATUS_OWN_FAILURE;
	sigemptyset(&caught);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&caught, signals[i]);
	sigprocmask(SIG_BLOCK, &caught, &before);
	set_step(step);
	status = start(step, &before);
	if (status != STATUS_ANSWERED)
		signal_tasks(step, SIGKILL);
	status = wait_for_tasks(step, &caught);
	free(step->tasks);
	return status;
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
	struct step *step = calloc(1, sizeof(*step));
	size_t end;
	int status;

	(void)argc;
	if (!step)
		return STATUS_OWN_FAILURE;
	step->wish = (struct slurm_wish){
		.slurm = slurm_unknown(), .cpus_per_task = -1, .tasks_per_gpu = -1};
	slurm_wish_words(&step->wish, argv, &end);
	step->argv = argv + end;
	status = *step->argv ? STATUS_ANSWERED
			     : slurm_refuse("srun", "name one", "srun has no program");
	if (status == STATUS_ANSWERED && !getenv(REHEARSE_JOB)) {
		struct slurm_wish job = step->wish;

		status = slurm_begin("srun", &job, file_name(*step->argv));
		forget_wishes();
	}
	if (status == STATUS_ANSWERED) {
		read_job_gpus(step);
		status = settle(step);
	}
	if (status == STATUS_ANSWERED)
		status = wait_for_gpus(step);
	if (status == STATUS_ANSWERED)
		status = run(step);
	free(step);
	return status;
}
