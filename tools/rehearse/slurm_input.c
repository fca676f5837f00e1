/* SPDX-License-Identifier: MIT */
/* See slurm_input.h. */
#include "rehearse/slurm_input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "write_all.h"

bool input_open(struct slurm_input *input, int64_t tasks)
{
	struct stat about;

	*input = (struct slurm_input){.tasks = tasks};
	if (isatty(STDIN_FILENO)) {
		input->kind = INPUT_TERMINAL;
		return true;
	}
	if (tasks == 1 || fstat(STDIN_FILENO, &about) < 0 || S_ISCHR(about.st_mode))
		return true;
	input->kind = S_ISREG(about.st_mode) ? INPUT_FILE : INPUT_COPIED;
	if (input->kind == INPUT_FILE)
		return true;
	input->pipes = calloc((size_t)tasks * 2, sizeof(*input->pipes));
	for (int64_t i = 0; input->pipes && i < tasks; i++)
		if (pipe2(input->pipes + 2 * i, O_CLOEXEC) < 0) {
			int why = errno;

			input->tasks = i;
			input_close(input);
			errno = why;
			return false;
		}
	return input->pipes;
}

static void put(int fd)
{
	if (fd >= 0)
		dup2(fd, STDIN_FILENO);
}

void input_take(const struct slurm_input *input, int64_t rank)
{
	off_t at;

	switch (input->kind) {
	case INPUT_INHERITED:
		return;
	case INPUT_TERMINAL:
		if (rank > 0)
			put(open("/dev/null", O_RDONLY | O_CLOEXEC));
		return;
	case INPUT_FILE:
		at = lseek(STDIN_FILENO, 0, SEEK_CUR);
		put(open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC));
		lseek(STDIN_FILENO, at, SEEK_SET);
		return;
	case INPUT_COPIED:
		put(input->pipes[2 * rank]);
		return;
	}
}

/* A task that reads no more is left out. */
static void copy(const struct slurm_input *input) __attribute__((noreturn));
static void copy(const struct slurm_input *input)
{
	char block[4096];
	ssize_t length;

	signal(SIGPIPE, SIG_IGN);
	while ((length = read(STDIN_FILENO, block, sizeof(block))) > 0)
		for (int64_t i = 0; i < input->tasks; i++) {
			int *end = &input->pipes[2 * i + 1];

			if (*end >= 0 && write_all(*end, block, (size_t)length) != (size_t)length) {
				close(*end);
				*end = -1;
			}
		}
	_exit(0);
}

static void close_ends(const struct slurm_input *input, int which)
{
	for (int64_t i = 0; input->pipes && i < input->tasks; i++)
		if (input->pipes[2 * i + which] >= 0) {
			close(input->pipes[2 * i + which]);
			input->pipes[2 * i + which] = -1;
		}
}

void input_copy(struct slurm_input *input)
{
	if (input->kind != INPUT_COPIED)
		return;
	close_ends(input, 0);
	input->copier = fork();
	if (input->copier == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		copy(input);
	}
	close_ends(input, 1);
}

void input_close(struct slurm_input *input)
{
	close_ends(input, 0);
	close_ends(input, 1);
	if (input->copier > 0) {
		kill(input->copier, SIGKILL);
		waitpid(input->copier, NULL, 0);
	}
	free(input->pipes);
	input->pipes = NULL;
}
