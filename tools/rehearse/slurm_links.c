/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rehearse/slurm.h"
#include "rehearse/slurm_commands.h"
#include "text.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} links[] = {{"sbatch", rehearse_sbatch}, {"scontrol", rehearse_scontrol}, {"srun", rehearse_srun}};

bool slurm_links(const char *folder, const char *self)
{
	const char *before = getenv("PATH");
	char path[PATH_MAX], *joined;
	bool ok;

	if (snprintf(path, sizeof(path), "%s/bin", folder) >= (int)sizeof(path) - 16 ||
	    mkdir(path, 0700) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		char name[PATH_MAX + 16];

		snprintf(name, sizeof(name), "%s/%s", path, links[i].name);
		if (symlink(self, name) < 0)
			return false;
	}
	if (asprintf(&joined, "%s:%s", path, before ? before : "/usr/bin:/bin") < 0)
		return false;
	ok = setenv("PATH", joined, 1) == 0;
	free(joined);
	return ok;
}

int (*slurm_link(const char *name))(int argc, char **argv)
{
	if (!getenv(REHEARSE_FOLDER))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		if (streq(file_name(name), links[i].name))
			return links[i].run;
	return NULL;
}
