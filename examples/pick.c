/* SPDX-License-Identifier: MIT */
/*
 * Leases free GPUs, waits for them if it must, and runs a program with them.
 *
 * 	pick COUNT PROGRAM [ARGUMENT...]	such as: pick 2 python3 train.py
 *
 * Build it with: cc pick.c $(pkg-config --cflags --libs libgpumap)
 */
#include <fcntl.h>
#include <gpumap.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int say_wait(const char *text, void *data)
{
	(void)data;
	if (text)
		fprintf(stderr, "pick: waiting: %s\n", text);
	return 0; /* another value would end the wait */
}

static int take(gpumap_lease **lease, const char *count, gpumap_report *report)
{
	gpumap_claim *claim = NULL;
	int r = gpumap_claim_new(&claim);

	if (r == GPUMAP_OK)
		r = gpumap_claim_set(claim, "count", count, "COUNT", report);
	if (r == GPUMAP_OK)
		r = gpumap_claim_set(claim, "wait", "1h", "pick", report);
	/* For a folder that is not the default: the library itself reads no environment. */
	if (r == GPUMAP_OK && getenv("GPUMAP_LEASES"))
		r = gpumap_claim_set(claim, "folder", getenv("GPUMAP_LEASES"), "GPUMAP_LEASES",
				     report);
	/* A visible list, a scheduler or an outer lease limits the choice. */
	if (r == GPUMAP_OK)
		r = gpumap_claim_set_environ(claim, (const char *const *)environ, report);
	if (r == GPUMAP_OK)
		r = gpumap_lease_take(lease, claim, say_wait, NULL, report);
	gpumap_claim_free(claim);
	return r;
}

/* The program inherits the descriptors, so it keeps the lease even if this process is killed. */
static void become_program(const gpumap_lease *lease, char **argv)
{
	char keeper[16];
	int fd;

	for (size_t i = 0; (fd = gpumap_lease_descriptor(lease, i)) >= 0; i++)
		fcntl(fd, F_SETFD, 0);
	snprintf(keeper, sizeof(keeper), "%d", (int)getppid());
	setenv("CUDA_VISIBLE_DEVICES", gpumap_lease_visible(lease), 1);
	setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
	setenv("GPUMAP_LEASE", keeper, 1);
	execvp(*argv, argv);
	perror(*argv);
	_exit(127);
}

static int run(const gpumap_lease *lease, char **argv)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		become_program(lease, argv);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("pick");
		return 125;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	gpumap_report *report = NULL;
	gpumap_lease *lease = NULL;
	int r, status = 125;

	if (argc < 3) {
		fputs("usage: pick COUNT PROGRAM [ARGUMENT...]\n", stderr);
		return 2;
	}
	r = gpumap_report_new(&report);
	if (r == GPUMAP_OK)
		r = take(&lease, argv[1], report);
	for (size_t i = 0; i < gpumap_report_count(report); i++)
		fprintf(stderr, "pick: %s\n",
			gpumap_finding_str(gpumap_report_get(report, i), GPUMAP_FINDING_TEXT));
	if (r == GPUMAP_OK)
		status = run(lease, argv + 2);
	/* The lease ends here, if the program has left no process that has it open. */
	gpumap_lease_free(lease);
	gpumap_report_free(report);
	return status;
}
