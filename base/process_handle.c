/* SPDX-License-Identifier: MIT */
/* See process_handle.h. */
#include "process_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "closing.h"
#include "process_path.h"
#include "process_stat.h"
#include "readfile.h"
#include "text.h"

#ifndef SYS_pidfd_open /* in headers older than the kernel; all machines have this number */
#define SYS_pidfd_open 434
#endif

int process_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* /proc/PID also exists for the number of a thread. */
static bool is_thread(pid_t pid)
{
	return syscall(SYS_tgkill, pid, pid, 0) < 0 && errno == ESRCH;
}

/* Not where a pid namespace was made, and /proc was not mounted in it. */
static bool is_own_proc(void)
{
	char target[32];

	return read_link(target, sizeof(target), "/proc/self") &&
	       span_number(span_of(target), INT32_MAX) == getpid();
}

int process_handle_open(struct process_handle *ret, pid_t pid)
{
	struct process_handle handle = {pid, 0, -1, -1};
	struct process_stat stat;

	if (!is_own_proc())
		return EXDEV;
	if (!process_stat_read(&stat, pid))
		return process_exists(pid) ? EACCES : ESRCH;
	if (stat.dead)
		return ESRCH;
	if (is_thread(pid))
		return process_stat_read(&stat, pid) ? EINVAL : ESRCH;
	handle.start = stat.start;
	/* Without a pidfd /proc shows the end. Sandboxes refuse the call with various errors. */
	handle.fd = process_pidfd(pid);
	if (handle.fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return errno;
	if (handle.fd < 0)
		handle.folder = open(PROCESS_FOLDER(pid), O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* The number may have been another process's by the time of the call. */
	if (!process_stat_read(&stat, pid) || stat.start != handle.start ||
	    process_handle_ended(&handle)) {
		process_handle_close(&handle);
		return ESRCH;
	}
	*ret = handle;
	return 0;
}

bool process_handle_ended(const struct process_handle *handle)
{
	struct pollfd end = {handle->fd, POLLIN, 0};
	struct process_stat stat;

	if (handle->fd >= 0)
		return poll(&end, 1, 0) > 0;
	return !process_stat_read(&stat, handle->pid) || stat.dead || stat.start != handle->start;
}

void process_handle_close(struct process_handle *handle)
{
	close_variable(&handle->fd);
	close_variable(&handle->folder);
}
