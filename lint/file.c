/* SPDX-License-Identifier: MIT */
/* The files of one run, in the order in which they are read. */
#include "lint/files.h"

#include "lint/python.h"
#include "report/report.h"

/* Programs are read after what starts them, which knows their launcher. */
enum turn { STARTERS, PROGRAMS };

static void lint_text(const struct lint *lint, struct span text, struct seen_file *file,
		      enum lint_kind kind)
{
	if (kind == LINT_NOTEBOOK) {
		lint_notebook(lint, text, file);
		return;
	}
	/* A profile's reader reports that itself. */
	if (kind != LINT_PROFILE && span_is_utf16(text)) {
		report_add(lint->found, FINDING_SYNTAX,
			   ABOUT(.origin = file->path, .line = 1, .fix = "save the file as UTF-8"),
			   "the file is UTF-16, which %s does not read",
			   kind == LINT_SHELL ? "the shell" : "Python");
		return;
	}
	seen_comments(file, text, kind);
	if (kind == LINT_PROFILE)
		lint_profiles(lint, text, file);
	else if (kind == LINT_SHELL)
		lint_script(lint, text, file);
	else
		lint_program(lint, text, file);
}

/* --as is not the remedy for a file that is not read: the answer would be "no findings". */
static int refuse_unknown(const struct lint *lint, const char *path, struct span text)
{
	const char *what = lint_other_kind(path, text);

	if (what)
		return report_fail(lint->failures, GPUMAP_EINPUT, FINDING_NOT_LINTED,
				   ABOUT(.origin = path,
					 .fix = "name the scripts and programs that it starts"),
				   "this is %s, which lint does not read", what);
	return report_fail(lint->failures, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			   ABOUT(.origin = path, .fix = "write --as profile, shell or python"),
			   "neither its name nor its first line shows what it is");
}

static int lint_one(const struct lint *lint, const char *path, enum turn turn)
{
	enum lint_kind kind = lint->as ? lint->as : lint_kind_by_name(path);
	struct span read;
	struct seen_file *file = seen_file(lint->seen, path);
	/* Standard input and pipes can be read once, and what was read is known. */
	bool input = !file->known;
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	int r;

	if (file->read || (kind == LINT_PYTHON && !input && turn == STARTERS) ||
	    (turn == PROGRAMS && file->started && !lint->launcher))
		return GPUMAP_OK;
	r = lint_read(&text, &size, path, lint->failures);
	read = (struct span){text, size};
	if (r == GPUMAP_OK && kind == LINT_UNKNOWN)
		kind = lint_kind_of(path, read);
	else if (r == GPUMAP_OK && lint->as)
		kind = lint_kind_beside(kind, path, read);
	if (r == GPUMAP_OK && kind == LINT_UNKNOWN)
		r = refuse_unknown(lint, path, read);
	file->read = r != GPUMAP_OK || input || turn == PROGRAMS || kind != LINT_PYTHON;
	lint->seen->starts = lint->seen->crowded = lint->seen->bytes = 0;
	if (r == GPUMAP_OK && file->read)
		lint_text(lint, read, file, kind);
	return r;
}

/* The paths, with the programs of folders in their place. */
static int expand(const struct lint *lint, struct lint_paths *ret, const char *const *paths,
		  size_t count)
{
	int r = GPUMAP_OK;

	for (size_t i = 0; i < count; i++) {
		int one = GPUMAP_OK;

		if (lint_is_folder(paths[i]))
			one = lint_folder(ret, paths[i], lint->found, lint->failures);
		else
			lint_add_path(ret, paths[i]);
		r = one == GPUMAP_OK ? r : one;
	}
	return r;
}

int lint_files(const struct lint *given, const char *const *paths, size_t count)
{
	CLEANUP(seen_free) struct lint_seen seen = {.count = 0};
	struct lint_paths all = {.count = 0};
	struct lint lint = *given;
	int r;

	lint.seen = &seen;
	r = expand(&lint, &all, paths, count);
	/* A file that cannot be read hides nothing that the others have. */
	for (int turn = STARTERS; turn <= PROGRAMS; turn++) {
		for (size_t i = 0; i < all.count; i++) {
			int one = lint_one(&lint, all.list[i], (enum turn)turn);

			r = one == GPUMAP_OK ? r : one;
		}
	}
	for (size_t i = 0; i < seen.count; i++)
		ignores_report(&seen.files[i]->ignores, seen.files[i]->path,
			       seen.files[i]->kind == LINT_PYTHON ? seen.files[i]->job : JOB_KNOWN,
			       lint.found);
	arena_free(&all.arena);
	return r;
}

void lint_planned(const struct python_start *planned, const char *path, gpumap_report *found)
{
	CLEANUP(seen_free) struct lint_seen seen = {.count = 0};
	OWNED(report) *failures = new_report();
	const struct lint lint = {.found = found,
				  .failures = failures,
				  .inventory = planned->inventory,
				  .planned = planned,
				  .seen = &seen};

	lint_one(&lint, path, PROGRAMS);
}
