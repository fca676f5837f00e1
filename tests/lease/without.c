/* SPDX-License-Identifier: MIT */
/* Runs a program as a kernel would that lacks a system call: without NAME PROGRAM [ARGUMENT...]
 * Status 77: this kernel has no filter for system calls. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned int number; /* the same on all machines */
} calls[] = {{"pidfd_open", 434}, {"pidfd_getfd", 438}};

static int refuse(unsigned int number)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(calls) / sizeof(*calls); i++) {
		if (strcmp(argv[1], calls[i].name) != 0)
			continue;
		if (refuse(calls[i].number))
			return 77;
		execvp(argv[2], argv + 2);
	}
	return 78;
}
