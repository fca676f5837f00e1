/* SPDX-License-Identifier: MIT */
/* Why a program cannot be executed, in words that help more than an errno. */
#include "launch.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/report.h"

static void say(struct program_fault *ret, const char *text, const char *fix)
{
	snprintf(ret->text, sizeof(ret->text), "%s", text);
	snprintf(ret->fix, sizeof(ret->fix), "%s", fix);
}

/* A FILE.py is executed itself only by --no-python. */
#define PYTHON_FIX "leave out --no-python, or begin it with a line such as #!/usr/bin/env python3"

/* What is wrong with a file that is there. */
static void look_at(struct program_fault *ret, const char *path, mode_t mode, int error)
{
	bool python = is_python_file(span_of(path));
	char interpreter[256];

	program_interpreter(path, interpreter);
	if (S_ISDIR(mode)) {
		say(ret, strerror(EISDIR), "name a program in it");
	} else if (error == EACCES && access(path, X_OK)) {
		say(ret, strerror(error),
		    python ? "leave out --no-python, or make it executable with chmod +x"
			   : "chmod +x makes a file executable");
	} else if (*interpreter && access(interpreter, X_OK)) {
		say(ret,
		    FORMAT("its interpreter '%.200s': %s", QUOTE(span_of(interpreter)),
			   strerror(errno)),
		    "correct its #! line");
	} else if (error == ENOEXEC && python) {
		say(ret, "it has no #! line", PYTHON_FIX);
	}
}

void program_fault(struct program_fault *ret, const char *name, const char *folder, int error)
{
	bool relative = *name != '/' && folder, from_path = !strchr(name, '/');
	char path[4096];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s%s", relative ? folder : "", relative ? "/" : "", name);
	ret->there = *name && stat(path, &st) == 0;
	say(ret, strerror(error),
	    error == E2BIG    ? "pass long lists in a file"
	    : error == EACCES ? "chmod +x makes a file executable"
	    : error != ENOENT ? ""
	    : from_path       ? "check its name and PATH; if it is a script, check the program of "
				"its #! line"
			      : "check its name, and " SETTING("workdir"));
	if (ret->there && !from_path) {
		look_at(ret, path, st.st_mode, error);
	} else if (ret->there && error == ENOENT && S_ISREG(st.st_mode)) {
		say(ret, "it is in the folder, but not in PATH",
		    FORMAT("write ./%.200s", QUOTE(span_of(name))));
	}
}
