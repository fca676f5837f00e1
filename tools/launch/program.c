/* SPDX-License-Identifier: MIT */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

static const char *path_of(char *const *envp)
{
	for (; envp && *envp; envp++)
		if (starts_with(*envp, "PATH="))
			return *envp + strlen("PATH=");
	return "/usr/local/bin:/usr/bin:/bin";
}

/* Without this check execve(2) would fail with ENOENT for a missing interpreter, when it is too
 * late. */
static int check_interpreter(const char *head)
{
	char name[256];
	size_t length;

	head += 2 + strspn(head + 2, " \t");
	length = strcspn(head, " \t\r\n");
	if (!head[length] || !length) /* cut, or empty: the kernel decides */
		return 0;
	memcpy(name, head, length);
	name[length] = '\0';
	return access(name, X_OK) == 0 ? 0 : errno;
}

static int check_file(const char *path, bool *script)
{
	char head[256];
	struct stat st;
	ssize_t n;
	int fd;

	*script = false;
	if (stat(path, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return EACCES;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) /* a file may be executable but not readable */
		return 0;
	n = read(fd, head, sizeof(head) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	head[n] = '\0';
	if (starts_with(head, "#!"))
		return check_interpreter(head);
	*script = strlen(head) == (size_t)n;
	return 0;
}

int program_find(const char *name, char *const *envp, char *ret, size_t room, bool *script)
{
	int error = ENOENT, r;
	const char *path;
	size_t length;

	*script = false;
	if (!*name)
		return ENOENT;
	if (strchr(name, '/')) {
		if ((size_t)snprintf(ret, room, "%s", name) >= room)
			return ENAMETOOLONG;
		return check_file(ret, script);
	}
	for (path = path_of(envp);; path += length + 1) {
		length = strcspn(path, ":");
		if ((size_t)snprintf(ret, room, "%.*s%s%s", (int)length, path, length ? "/" : "./",
				     name) < room) {
			r = check_file(ret, script);
			if (r == 0)
				return 0;
			if (r == EACCES)
				error = r;
		}
		if (!path[length])
			return error;
	}
}
