/* SPDX-License-Identifier: MIT */
/*
 * A job with a lease: owner FOLDER MILLISECONDS SLOTS [child]
 *
 * For each GPU or MIG instance of CUDA_VISIBLE_DEVICES it locks parts of a file of its own kind
 * (fcntl), which the kernel releases before the lease. Byte N is the N-th job on the GPU; byte 100
 * + K is that a job allows K jobs. More jobs than one of them allows are an overlap: status 9, and
 * a file in FOLDER. With SLOTS 1 the job has whole GPUs. With "child" the program ends at once, and
 * a child does this. If RACE_JOB names the job, it writes down when it began and ended, in
 * FOLDER/records.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64, ALLOWS = 100 };

static bool lock(int fd, short type, long byte)
{
	struct flock one = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

	return fcntl(fd, F_SETLK, &one) == 0;
}

/* Whether another job has locked the byte. */
static bool is_locked(int fd, long byte)
{
	struct flock one = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

	return fcntl(fd, F_GETLK, &one) == 0 && one.l_type != F_UNLCK;
}

/* Whether the jobs on the GPU are as many as all of them allow. */
static bool join(int fd, long slots)
{
	long mine = -1, jobs = 1;

	if (!lock(fd, F_RDLCK, ALLOWS + slots))
		return false;
	for (long i = 0; i < MOST && mine < 0; i++)
		mine = lock(fd, F_WRLCK, i) ? i : -1;
	for (long i = 0; i < MOST; i++)
		jobs += i != mine && is_locked(fd, i);
	for (long k = 1; k < jobs; k++)
		if (k == slots || is_locked(fd, ALLOWS + k))
			return false;
	return mine >= 0;
}

static int hold(const char *folder, const char *gpu, int length, long slots)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/gpu-%.*s", folder, length, gpu);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0 && join(fd, slots))
		return 0;
	snprintf(path, sizeof(path), "%s/overlap-%.*s-%d", folder, length, gpu, (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT, 0666);
	return 9;
}

/* One write is one line, also with many writers. */
static int record(const char *folder, const char *what, const char *list, const char *slots)
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
	length = snprintf(line, sizeof(line), "%s %s %lld%09ld %s %s\n", what, job,
			  (long long)now.tv_sec, now.tv_nsec, list, slots);
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

	if (argc < 4 || !list)
		return 8;
	if (argc > 4 && fork() != 0)
		return 0;
	ms = strtol(argv[2], NULL, 10);
	pause.tv_sec = ms / 1000;
	pause.tv_nsec = ms % 1000 * 1000000L;
	while (*rest && !status) {
		size_t length = strcspn(rest, ",");

		status = hold(argv[1], rest, (int)length, strtol(argv[3], NULL, 10));
		rest += length + (rest[length] == ',');
	}
	if (!status)
		status = record(argv[1], "began", list, argv[3]);
	nanosleep(&pause, NULL);
	return status ? status : record(argv[1], "ended", "", "");
}
