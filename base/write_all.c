/* SPDX-License-Identifier: MIT */
/* Writes all bytes to a descriptor, whatever interrupts it. */
#include "write_all.h"

#include <unistd.h>

#include "base.h"

size_t write_all(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;
	size_t done = 0;

	while (done < size) {
		ssize_t n = UNINTERRUPTED(write(fd, at + done, size - done));

		if (n == 0)
			errno = ENOSPC;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

const char *write_remedy(int error)
{
	if (error == EFBIG)
		return "raise the limit of the size of files: ulimit -f unlimited";
	return error == ENOSPC || error == EDQUOT ? "free some space" : NULL;
}
