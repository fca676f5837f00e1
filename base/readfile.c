/* SPDX-License-Identifier: MIT */
/* Reads whole files, their beginnings, and links. */
#include "readfile.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "closing.h"
#include "memory.h"

enum { FIRST_ROOM = 16384 };

static int fill(int fd, size_t max, char **text, size_t *room, size_t *size)
{
	for (;;) {
		ssize_t n;

		if (*size + 1 >= *room) {
			char *grown = xrealloc(*text, *room * 2);

			if (!grown)
				return ENOMEM;
			*text = grown;
			*room *= 2;
		}
		n = UNINTERRUPTED(read(fd, *text + *size, *room - *size - 1));
		if (n <= 0)
			return n < 0 ? errno : 0;
		*size += (size_t)n;
		if (*size > max)
			return EFBIG;
	}
}

int read_all(int fd, size_t max, char **ret, size_t *size)
{
	size_t room = FIRST_ROOM, length = 0;
	char *text = xmalloc(room);
	int error = text ? fill(fd, max, &text, &room, &length) : ENOMEM;

	if (error) {
		free(text);
		return error;
	}
	text[length] = '\0';
	*ret = text;
	*size = length;
	return 0;
}

int read_file(const char *path, bool standard_input, size_t max, char **text, size_t *size)
{
	CLEANUP_CLOSE int fd = -1;

	if (standard_input && streq(path, "-"))
		return read_all(STDIN_FILENO, max, text, size);
	fd = UNINTERRUPTED(open(path, O_RDONLY | O_CLOEXEC));
	return fd < 0 ? errno : read_all(fd, max, text, size);
}

ssize_t read_start(char *ret, size_t size, const char *path)
{
	CLEANUP_CLOSE int fd = UNINTERRUPTED(open(path, O_RDONLY | O_CLOEXEC));
	ssize_t n = fd < 0 ? -1 : UNINTERRUPTED(read(fd, ret, size - 1));

	ret[n > 0 ? n : 0] = '\0';
	return n;
}

bool read_link(char *ret, size_t size, const char *path)
{
	ssize_t n = readlink(path, ret, size);

	if (n >= 0 && (size_t)n >= size) {
		errno = ENAMETOOLONG;
		n = -1;
	}
	ret[n > 0 ? n : 0] = '\0';
	return n >= 0;
}
