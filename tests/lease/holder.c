/* SPDX-License-Identifier: MIT */
/*
 * A job with a lease: holder FOLDER MILLISECONDS [child]
 *
 * For each GPU of CUDA_VISIBLE_DEVICES it locks a file of its own kind (fcntl), which the kernel
 * releases before the lease. A lock that another job has is an overlap: status 9, and a file in
 * FOLDER. With "child" the program ends at once, and a child does this. If RACE_JOB names the job,
 * it writes down when it began and ended, in FOLDER/records.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int lock(const char *folder, long gpu)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/gpu-%ld", folder, gpu);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0 && fcntl(fd, F_SETLK, &whole) == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/overlap-%ld-%d", folder, gpu, (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT, 0666);
	return 9;
}

/* One write is one line, also with many writers. */
static int record(const char *folder, const char *what, const char *list)
{
	const char *job = getenv("RACE_JOB");
	char line[4096];
	struct timespec now;
	int fd, length;

	if (!job)
		return 0;
	snprintf(line, sizeof(line), "%s/records", folder);
	fd = open(line, O_WRONLY | O_APPEND | O_CLOEXEC);
	clock_gettime(CLOCK_MONOTONIC, &now);
	length = snprintf(line, sizeof(line), "%s %s %lld%09ld %s\n", what, job,
			  (long long)now.tv_sec, now.tv_nsec, list);
	if (fd < 0 || write(fd, line, (size_t)length) != length)
		return 7;
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES"), *rest = list;
	struct timespec pause = {0, 0};
	long ms;
	int status = 0;

	if (argc < 3 || !list)
		return 8;
	if (argc > 3 && fork() != 0)
		return 0;
	ms = strtol(argv[2], NULL, 10);
	pause.tv_sec = ms / 1000;
	pause.tv_nsec = ms % 1000 * 1000000L;
	while (*rest && !status) {
		char *end;

		status = lock(argv[1], strtol(rest, &end, 10));
		rest = *end == ',' ? end + 1 : end;
	}
	if (!status)
		status = record(argv[1], "began", list);
	nanosleep(&pause, NULL);
	return status ? status : record(argv[1], "ended", "");
}
