/* SPDX-License-Identifier: MIT */
/*
 * A job with a lease: holder FOLDER MILLISECONDS [child]
 *
 * For each GPU of CUDA_VISIBLE_DEVICES it locks a file of its own kind (fcntl), which the kernel
 * releases before the lease. A lock that another job has is an overlap: status 9, and a file in
 * FOLDER. With "child" the program ends at once, and a child does this.
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

int main(int argc, char **argv)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
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
	while (*list && !status) {
		char *end;

		status = lock(argv[1], strtol(list, &end, 10));
		list = *end == ',' ? end + 1 : end;
	}
	nanosleep(&pause, NULL);
	return status;
}
