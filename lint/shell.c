/* SPDX-License-Identifier: MIT */
/* See shell.h. */
#include "lint/shell_script.h"
#include "memory.h"

void lint_started_free(struct lint_started *started)
{
	arena_free(&started->arena);
	memset(started, 0, sizeof(*started));
}

static void shell_free(struct shell *sh)
{
	for (int i = 0; i < SHELL_COMMANDS; i++) {
		strbuf_free(&sh->commands[i].text);
		free(sh->commands[i].words);
		free(sh->commands[i].prefixes);
		free(sh->commands[i].inner);
	}
	free(sh->vars);
	hash_index_free(&sh->index);
	free(sh->trail);
	arena_free(&sh->arena);
	free(sh);
}

/* Lines with Windows line ends: the shell reads the carriage return as a part of the last word. */
static void check_returns(struct shell *sh)
{
	const char *end = sh->text.text + sh->text.length, *at = sh->text.text;
	struct place first = {0};
	size_t count = 0;
	int line = 1;

	for (const char *n; at < end && (n = memchr(at, '\n', (size_t)(end - at)));
	     at = n + 1, line++) {
		if (n == at || n[-1] != '\r')
			continue;
		if (!count++)
			first = (struct place){line, (int)(n - at)};
	}
	if (count)
		shell_report(
			sh, FINDING_CARRIAGE_RETURN, first, NULL,
			"remove them: sed -i 's/\\r$//' FILE",
			"%zu line%s with \\r\\n: the shell takes \\r for a part of the last word",
			count, count == 1 ? " ends" : "s end");
}

/* The language of a script by its first line, if it is not a shell of the Bourne family; else NULL.
 */
static const char *other_language(struct span text)
{
	static const char *const names[] = {"csh",   "tcsh",   "fish", "python", "perl",    "ruby",
					    "tclsh", "expect", "awk",  "node",   "Rscript", "lua"};
	struct span line;

	if (!span_starts(text, "#!") || !span_split(&text, '\n', &line))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t length = strlen(names[i]);
		const char *at = memmem(line.text, line.length, names[i], length);

		if (at && (at[-1] == '/' || at[-1] == ' '))
			return names[i];
	}
	return NULL;
}

static int walk(struct shell *sh, int line)
{
	struct lexer lx = {.text = sh->text.text, .end = sh->text.length, .line = line};

	for (int i = 0; i < TRACKED_COUNT; i++)
		shell_var(sh, span_of(tracked_name((enum tracked)i)));
	shell_push(sh, FRAME_SCRIPT, (struct place){1, 1});
	slurm_comments(sh);
	sh->moved = sh->batch && (span_has(sh->text, "--chdir") || span_has(sh->text, "SBATCH -D"));
	shell_walk(sh, &lx);
	if (sh->crowded)
		return report_fail(sh->report, GPUMAP_ELIMIT, FINDING_LIMIT,
				   ABOUT(.origin = sh->origin), "more than %d different names",
				   SHELL_VARS);
	if (lx.state == LEXER_TOO_DEEP)
		return report_fail(sh->report, GPUMAP_ELIMIT, FINDING_LIMIT,
				   ABOUT(.origin = sh->origin, .line = lx.wrong.line,
					 .column = lx.wrong.column),
				   "too deeply nested");
	if (lx.state == LEXER_UNCLOSED) {
		shell_report(sh, FINDING_UNCLOSED, lx.wrong, NULL, "close it",
			     "this is not closed: %s is missing, and what follows was not read",
			     lx.missing);
	} else {
		jobs_end(sh);
		nodes_end(sh);
		shell_unused(sh);
	}
	return GPUMAP_OK;
}

/* Walks over the text, which begins in that line of `origin`. */
static int walk_text(struct span text, const char *origin, int line, int64_t visible,
		     struct lint_started *started, gpumap_report *report)
{
	struct shell *sh = xcalloc(1, sizeof(*sh));
	int r;

	sh->text = text;
	sh->origin = origin;
	sh->report = report;
	sh->started = started;
	sh->visible = visible;
	sh->slurm = slurm_unknown();
	if (line == 1)
		check_returns(sh);
	r = walk(sh, line);
	shell_free(sh);
	return r;
}

int lint_shell_from(struct span text, const char *origin, int line, struct lint_started *started,
		    gpumap_report *report)
{
	return text.length ? walk_text(text, origin, line, -1, started, report) : GPUMAP_OK;
}

int lint_shell(struct span text, const char *origin, int64_t visible, struct lint_started *started,
	       gpumap_report *report)
{
	const char *other = other_language(text);

	if (!text.length)
		return GPUMAP_OK;
	if (text.length > GPUMAP_MAX_FILE)
		return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT, ABOUT(.origin = origin),
				   "the script has more than %u bytes", GPUMAP_MAX_FILE);
	if (other) {
		report_add(report, FINDING_NOT_A_SHELL,
			   ABOUT(.origin = origin, .line = 1, .column = 1,
				 .fix = "give a script of sh, bash, dash, ksh or zsh"),
			   "a script of %s, which is not read here", other);
		return GPUMAP_OK;
	}
	return walk_text(text, origin, 1, visible, started, report);
}
