/* SPDX-License-Identifier: MIT */
/* sbatch in a rehearsal: reads the script's options, and runs it at once. */
#include "rehearse/slurm_commands.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/out_of_memory.h"
#include "cli/output.h"
#include "readfile.h"
#include "rehearse/slurm.h"
#include "write_all.h"

enum { MAX_SCRIPT = 4 << 20 };

static int refuse_file(const char *path, int why)
{
	return slurm_refuse("sbatch", why == ENOENT ? "give the path of the script" : NULL,
			    "'%s': %s", QUOTE(span_of(path)), strerror(why));
}

/* Why Slurm refuses the script; NULL: it does not. */
static const char *fault_of(const char *text, size_t size, const char **fix)
{
	if (!starts_with(text, "#!")) {
		*fix = "write #!/bin/bash in its first line";
		return "does not begin with #!, as a batch script has to";
	}
	if (strstr(text, "\r\n")) {
		*fix = "dos2unix removes them";
		return "has line ends of DOS, which Slurm refuses";
	}
	*fix = "tr -d '\\000' removes them";
	return strlen(text) < size ? "has zero bytes, which Slurm refuses" : NULL;
}

/* The text of the script, or of --wrap, which the caller frees; NULL after a message. */
static char *script_text(const struct slurm_wish *wish, const char *path)
{
	const char *fault, *fix;
	char *text = NULL;
	size_t size;
	int why;

	if (wish->wrap.text) {
		if (asprintf(&text, "#!/bin/sh\n%.*s\n", (int)wish->wrap.length, wish->wrap.text) <
		    0)
			text = NULL;
		return text;
	}
	why = read_file(path ? path : "-", true, MAX_SCRIPT, &text, &size);
	if (why) {
		refuse_file(path ? path : "-", why);
		return NULL;
	}
	fault = fault_of(text, size, &fix);
	if (!fault)
		return text;
	free(text);
	slurm_refuse("sbatch", fix, "%s %s", path ? QUOTE(span_of(path)) : "standard input", fault);
	return NULL;
}

/* --- the script ------------------------------------------------------------------------- */

/* Slurm runs a copy, so a script that looks for files beside itself fails there as here. */
static bool write_copy(char path[PATH_MAX], const char *text)
{
	int fd;
	bool ok;

	snprintf(path, PATH_MAX, "%s/slurm_script_XXXXXX", getenv(REHEARSE_FOLDER));
	fd = mkostemp(path, O_CLOEXEC);
	ok = fd >= 0 && write_all(fd, text, strlen(text)) == strlen(text);
	if (fd >= 0 && close(fd) < 0)
		ok = false;
	return ok;
}

/* Slurm gives a script no input. */
static void close_input(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (fd > STDIN_FILENO) {
		dup2(fd, STDIN_FILENO);
		close(fd);
	}
}

static int run(char *text, char **arguments, int count)
{
	char path[PATH_MAX], *interpreter, *option, *saved = NULL;
	CLEANUP_FREE char **argv = calloc((size_t)count + 4, sizeof(*argv));
	int n = 0, why;

	if (!argv || !write_copy(path, text))
		return slurm_refuse("sbatch", "set TMPDIR to a folder that can be written",
				    "%s: %s", getenv(REHEARSE_FOLDER), strerror(errno));
	*strchrnul(text, '\n') = '\0';
	interpreter = strtok_r(text + 2, " \t", &saved);
	option = interpreter ? strtok_r(NULL, "", &saved) : NULL;
	if (interpreter)
		argv[n++] = interpreter;
	if (option)
		argv[n++] = option;
	argv[n++] = path;
	for (int i = 0; i < count; i++)
		argv[n++] = arguments[i];
	close_input();
	errno = ENOENT;
	if (interpreter)
		execv(interpreter, argv);
	why = errno;
	slurm_refuse("sbatch", "name one in the first line, as #!/bin/bash", "%s: %s",
		     interpreter ? QUOTE(span_of(interpreter)) : "no interpreter", strerror(why));
	return status_of_error(why);
}

int rehearse_sbatch(int argc, char **argv)
{
	struct slurm_wish wish = SLURM_WISH_NOTHING, options = SLURM_WISH_NOTHING;
	CLEANUP_FREE char *text = NULL;
	const char *path;
	bool given;
	size_t end;
	int status;

	out_of_memory_returns();
	slurm_wish_words(&options, argv, true, &end);
	path = argv[end];
	if (getenv(REHEARSE_JOB)) {
		slurm_not_rehearsed("sbatch in a job: %s was not submitted",
				    path ? path : "--wrap");
		return STATUS_ANSWERED;
	}
	text = script_text(&options, path);
	if (!text)
		return STATUS_NO;
	/* Options of the command line overrule those of the script. */
	slurm_wish_comments(&wish, span_of(text));
	slurm_wish_words(&wish, argv, true, &end);
	status = slurm_begin("sbatch", &wish, path ? file_name(path) : "wrap");
	if (status == STATUS_ANSWERED)
		status = slurm_enter("sbatch", &wish);
	given = path && !options.wrap.text;
	if (status == STATUS_ANSWERED)
		status = run(text, argv + end + given, given ? argc - (int)end - 1 : 0);
	return status;
}
