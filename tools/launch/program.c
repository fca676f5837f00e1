/* SPDX-License-Identifier: MIT */
/* Finds the file of a program, as execvp does. */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "closing.h"
#include "text.h"

enum { HEAD = 256 };

/* The beginning of the file, ended by a NUL. Its length; 0: it is empty or cannot be read. */
static size_t read_head(const char *path, char head[HEAD])
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, head, HEAD - 1);

	head[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

/* Takes it out of the file's beginning. */
static const char *interpreter_in(char head[HEAD])
{
	char *name = head + 2 + strspn(head + 2, " \t");
	size_t length = strcspn(name, " \t\r\n");

	if (!name[length]) /* cut: the kernel decides */
		return "";
	name[length] = '\0';
	return name;
}

void program_interpreter(const char *path, char ret[HEAD])
{
	char head[HEAD];
	const char *name = "";

	if (read_head(path, head) && starts_with(head, "#!"))
		name = interpreter_in(head);
	memcpy(ret, name, strlen(name) + 1);
}

static int check_file(const char *path, bool *script)
{
	char head[HEAD];
	const char *interpreter;
	struct stat st;
	size_t n;

	*script = false;
	if (stat(path, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return EACCES;
	n = read_head(path, head); /* a file may be executable but not readable */
	if (starts_with(head, "#!")) {
		/* Without this check execve(2) would fail with ENOENT for a missing interpreter,
		 * when it is too late. */
		interpreter = interpreter_in(head);
		return *interpreter && access(interpreter, X_OK) ? errno : 0;
	}
	*script = n && strlen(head) == n;
	/* A shell would take the program's statements for commands. */
	return *script && is_python_file(span_of(path)) ? ENOEXEC : 0;
}

int program_find(const char *name, char *const *envp, char *ret, size_t room, bool *script)
{
	int error = ENOENT, r;
	const char *path = environ_find((const char *const *)envp, "PATH");
	size_t length;

	*script = false;
	if (!*name)
		return ENOENT;
	if (strchr(name, '/')) {
		if ((size_t)snprintf(ret, room, "%s", name) >= room)
			return ENAMETOOLONG;
		return check_file(ret, script);
	}
	for (path = path ? path : "/usr/local/bin:/usr/bin:/bin";; path += length + 1) {
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
