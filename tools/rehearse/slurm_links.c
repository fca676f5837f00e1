/* SPDX-License-Identifier: MIT */
/* Puts the commands of Slurm that a rehearsal answers into its PATH. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rehearse/pretended.h"
#include "rehearse/slurm.h"
#include "rehearse/slurm_commands.h"
#include "strbuf.h"
#include "text.h"
#include "text/words.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} links[] = {{"sbatch", rehearse_sbatch}, {"scontrol", rehearse_scontrol}, {"srun", rehearse_srun}};

/* As bash exports its functions. */
static bool export_function(const char *name, const char *path)
{
	CLEANUP(strbuf_free) struct strbuf body = {0};
	char variable[64];

	snprintf(variable, sizeof(variable), "BASH_FUNC_%s%%%%", name);
	strbuf_puts(&body, "() {  ");
	words_quote(&body, path);
	strbuf_puts(&body, " \"$@\"\n}");
	return !body.failed && setenv(variable, body.text, 1) == 0;
}

bool slurm_links(const char *folder, const char *self)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/bin", folder) >= (int)sizeof(path) - 16 ||
	    mkdir(path, 0700) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		char name[PATH_MAX + 16];

		snprintf(name, sizeof(name), "%s/%s", path, links[i].name);
		if (symlink(self, name) < 0 || !export_function(links[i].name, name))
			return false;
	}
	snprintf(path + strlen(path), sizeof(path) - strlen(path), "/slurm.conf");
	if (setenv("SLURM_CONF", path, 1) < 0)
		return false;
	*strrchr(path, '/') = '\0';
	return pretended_put_before("PATH", path, "/usr/bin:/bin");
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
