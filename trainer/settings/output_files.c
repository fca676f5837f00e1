/* SPDX-License-Identifier: MIT */
/* See output_files.h. */
#include "settings/output_files.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "text.h"

enum { MAX_TARGETS = 5, PATH = 4096 };

struct targets {
	int count;
	enum row_id row[MAX_TARGETS];
	char path[MAX_TARGETS][PATH];
};

static void add(struct targets *targets, enum row_id row, const char *path, const char *ending)
{
	if (!path)
		return;
	targets->row[targets->count] = row;
	snprintf(targets->path[targets->count++], PATH, "%s%s", path, ending);
}

/* For a file that does not exist yet: its folder, and the start of its name. */
static bool find_folder(const char *path, struct stat *folder, const char **name)
{
	char text[PATH];

	*name = file_name(path);
	snprintf(text, sizeof(text), "%.*s", *name > path ? (int)(*name - path) : 1,
		 *name > path ? path : ".");
	return stat(text, folder) == 0;
}

static bool is_same(const char *a, const char *b)
{
	const char *name[2];
	struct stat of[2];
	bool there = stat(a, &of[0]) == 0;

	if (there != (stat(b, &of[1]) == 0))
		return false;
	if (!there && strcmp(a, b) == 0)
		return true;
	if (!there && (!find_folder(a, &of[0], &name[0]) || !find_folder(b, &of[1], &name[1]) ||
		       strcmp(name[0], name[1]) != 0))
		return false;
	return of[0].st_dev == of[1].st_dev && of[0].st_ino == of[1].st_ino &&
	       (!there || S_ISREG(of[0].st_mode));
}

bool targets_differ(const struct arguments_raw *raw, const struct settings *settings,
		    struct train_error *error)
{
	const char *profile = settings->profile_steps ? settings->profile_to : NULL;
	struct targets targets = {.count = 0};

	add(&targets, ROW_weights, settings->weights, "");
	add(&targets, ROW_metrics, settings->metrics, "");
	add(&targets, ROW_plot, settings->plot, "");
	add(&targets, ROW_profile_to, profile, ".svg");
	add(&targets, ROW_profile_to, profile, ".json");
	for (int i = 0; i < targets.count; i++)
		for (int j = i + 1; j < targets.count; j++)
			if (targets.row[i] != targets.row[j] &&
			    is_same(targets.path[i], targets.path[j]))
				return train_fail(error, TRAIN_BAD_INPUT,
						  "%.200s and %.200s both name the file '%.64s'; "
						  "give each its own",
						  raw_origin(raw, targets.row[i]),
						  raw_origin(raw, targets.row[j]), targets.path[j]);
	return true;
}
