/* SPDX-License-Identifier: MIT */
/*
 * Starts the ranks of this host, watches them, and ends them all.
 *
 *	launch_run() ---fork---> guard ---fork---> rank, rank, ...
 *	 console, logs,           their parent and subreaper:
 *	 signals, limits          collects every exit, ends every process
 *
 * If launch_run() is killed with SIGKILL, the guard survives and kills everything that the ranks
 * started, in whatever group or session. The ranks are also in a cgroup of
 * their own, where one can be made. If the guard is killed or stopped as well, a third process, the
 * keeper, kills that cgroup (rank_cgroup.h).
 *
 * A rank has a session of its own, no blocked signal, the default disposition of every signal
 * (SIGHUP stays ignored if it was, for nohup) and an empty standard input. From
 * the caller it inherits the resource limits, the file descriptors without close-on-exec, and those
 * of `held`. No program starts until the programs of all ranks have been found to be executable.
 *
 * TERM, INT, HUP and QUIT to the caller stop the ranks. All ranks get `kill_signal` at once; those
 * that are left `grace_ms` later get SIGKILL. Another INT or QUIT in that time kills them at once.
 * Signals of `forward` do not stop the ranks, but go to the process groups of all ranks. A signal
 * that the caller ignores when the run begins stays ignored. After the run the caller has its old
 * signal dispositions.
 *
 * The caller must have only one thread, and must not wait for children of its own during the run.
 */
#ifndef GM_LAUNCH_H
#define GM_LAUNCH_H

#include "gpumap.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

/* The effect of a failing rank (a status other than 0, or a signal) on the others. */
enum launch_on_fail {
	LAUNCH_KILL,   /* the other ranks are stopped */
	LAUNCH_WAIT,   /* the other ranks keep running */
	LAUNCH_RESTART /* all ranks are stopped and started again, at most `restarts` times */
};

enum launch_console {
	LAUNCH_RAW,      /* unchanged output; without log files the ranks write it directly */
	LAUNCH_PREFIX,   /* whole lines, each after its rank's tag */
	LAUNCH_RANK0,    /* rank 0 alone, without tags */
	LAUNCH_COLLAPSE, /* as PREFIX, but equal lines of several ranks are shown once: [0-7] */
	LAUNCH_NONE      /* nothing */
};

struct launch_rank {
	char *const *argv;
	char *const *envp;  /* the whole environment; its PATH finds argv[0] */
	const char *folder; /* NULL: the caller's. argv[0] may be relative to it */
	int rank, local_rank;
	const char *tag; /* NULL: "[RANK] " */

	/* Files to which its output is appended; NULL: none. Both may be the same file, and ranks
	 * may share it. */
	const char *out_path, *err_path;
	bool out_hidden, err_hidden; /* goes only to the file */

	/* As for sched_setaffinity(2) and set_mempolicy(2); NULL: those of the caller. */
	const void *cpus;
	size_t cpus_size; /* bytes */
	const unsigned long *mem_nodes;
	unsigned long mem_bits;
	int mem_policy; /* MPOL_... */
};

struct launch_exit;

/* The title of the guard, before " of LAUNCHER", and what begins the part of a rank. */
#define GUARD_TITLE "rank-guard"
#define SHOWN_PROCESS "process="

struct launch {
	const struct launch_rank *ranks;
	size_t count;

	int kill_signal;             /* 0: SIGTERM */
	int64_t grace_ms;            /* between the signal and SIGKILL; 0: SIGKILL at once */
	int64_t timeout_ms;          /* of the whole run, restarts included; 0: none */
	enum launch_on_fail on_fail; /* applied 100 ms after the first failure */
	int restarts;
	sigset_t forward; /* sigemptyset() it if there are none */
	enum launch_console console;
	bool styled;                 /* the launcher's lines on stderr get a terminal's styles */
	const struct speech *speech; /* how findings name settings; NULL: by keys */

	/* Descriptors, ended by -1, that the caller has open with close-on-exec. The ranks inherit
	 * them; guard and keeper have them open until every process of the ranks is gone. NULL:
	 * none. */
	const int *held;

	/* Names of variables, ended by NULL: while the ranks run, every user can see these of each
	 * rank, in the command line of the guard (guard_command_line.h). NULL: none. */
	const char *const *shown;

	/* Called before each start with the number of restarts so far, so that the caller can set
	 * TORCHELASTIC_RESTART_COUNT in its own ranks. A result other than GPUMAP_OK ends the run.
	 * May be NULL. */
	int (*before)(void *data, int restarted);
	/* Called when the rank at `index` has started, and when it has ended, so that the caller
	 * can show it. It must not wait. May be NULL. */
	void (*changed)(void *data, size_t index, const struct launch_exit *rank);
	void *data;
};

/* Why the ranks ended. */
enum launch_cause {
	LAUNCH_DONE,      /* they ended by themselves, or because a rank failed */
	LAUNCH_SIGNALLED, /* `signal` stopped them */
	LAUNCH_TIMED_OUT,
	LAUNCH_REFUSED, /* a program, folder or binding is wrong, and no rank was started */
	LAUNCH_BROKEN   /* the launcher itself failed */
};

/* How one rank ended, in the last start. */
struct launch_exit {
	pid_t pid;                /* 0: it was never forked */
	int64_t start_ns, end_ns; /* CLOCK_MONOTONIC; 0: never */
	struct timespec started, ended;
	int status;       /* exit status; -1: a signal ended it, or its end was not seen */
	int signal;       /* the signal that ended it; 0: none */
	bool dumped;      /* with a core dump */
	bool first;       /* failed by itself within 100 ms of the first failure */
	bool stopped;     /* ended while it was being stopped */
	char *last_lines; /* of its standard error, or else its output; "" or NULL: none */
};

struct launch_result {
	int status; /* see launch_run() */
	enum launch_cause cause;
	int signal;         /* of LAUNCH_SIGNALLED */
	int restarts;       /* how often all ranks were started again */
	size_t left_behind; /* processes that outlived their rank and were stopped */
	bool in_cgroup;     /* the ranks had a cgroup of their own */
	struct launch_exit *ranks;
	size_t count;
};

/* Starts, watches and ends the ranks; all of their processes are gone when it returns.
 * *result is always set; free it with launch_result_free. result->status is that of the
 * first failing rank (the lowest, if several were seen at once; 128+N for signal N), 128+N
 * when signal N stopped the run, 124 after the time limit, 126 or 127 when a program cannot be
 * executed or found, 125 when the launcher failed, else 0.
 * GPUMAP_OK if all could be started and watched, else GPUMAP_EINPUT, GPUMAP_EFILE or
 * GPUMAP_ENOMEM. Every failure is in the report. */
int launch_run(const struct launch *launch, struct launch_result *result, gpumap_report *report);
void launch_result_free(struct launch_result *result);

/* Writes to `text`, and returns, what to print on `fd` before a line of the launcher. With
 * LAUNCH_RAW a rank may have left the cursor of the terminal in the middle of a line. The text
 * moves it to the beginning of the next line; if it is at a beginning already, it stays there. If
 * the width of the terminal is not known, the text is always a newline. Without LAUNCH_RAW, or
 * without a terminal, the text is "". */
enum { FRESH_LINE = 1024 };
const char *launch_fresh_line(char text[FRESH_LINE], const struct launch *launch, int fd);

/* Checks the path of a log file or of its folder. GPUMAP_EFILE and a finding: a part of it is a
 * symbolic link that another user may have planted (planted_link() in trust.h). */
int log_check_links(const char *path, const char *origin, gpumap_report *report);

/* The last lines of a log file, as in the summary below. NULL: none, it cannot be read, or it has
 * been written to last before `from` or after `until`, by another run. The caller frees them. */
char *log_last_lines(const char *path, const struct timespec *from, const struct timespec *until);

/* Prints the last lines of the ranks that failed first, at most `ranks` of them, unless the console
 * has shown them; then where their output is, and which ranks were ended because of them. */
void launch_summary(const struct launch *launch, const struct launch_result *result, size_t ranks,
		    FILE *file);

/* What a rank's process does before it is its program. */
enum stage {
	STAGE_READY,
	STAGE_FORK,
	STAGE_FOLDER,
	STAGE_CPUS,
	STAGE_MEMORY,
	STAGE_FIND,
	STAGE_EXEC
};

/* What to do if a stage fails with an errno; NULL: nothing that helps everywhere. Not of the
 * program's stages. */
const char *launch_stage_fix(enum stage stage, int error);
/* Reports a rank that was not started, because a stage failed. Returns the exit status. */
int launch_refuse(const struct launch_rank *rank, enum stage stage, int error,
		  const struct speech *speech, gpumap_report *report);

/* Writes to `ret`, of `room` bytes, the path of the file to execute for `name`. It searches the
 * PATH of `envp`, as execvp(3) does.
 * Returns 0, or the errno that explains why no file can be executed. *script: the file is text
 * without "#!", which /bin/sh executes. */
int program_find(const char *name, char *const *envp, char *ret, size_t room, bool *script);

/* Why a program cannot be executed. */
struct program_fault {
	char text[320];
	char fix[320]; /* ""; not known */
	bool there;    /* its file exists: it cannot be executed wherever the program is started */
};
/* What `error`, an errno of program_find() or of execve(2), means for `name`, started in `folder`
 * (NULL: here). */
void program_fault(struct program_fault *ret, const char *name, const char *folder, int error);

/* The interpreter after #!, in `ret` of 256 bytes; "" if the file has none, or it is cut off. */
void program_interpreter(const char *path, char ret[256]);

#endif
