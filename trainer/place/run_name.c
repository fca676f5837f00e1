/* SPDX-License-Identifier: MIT */
/* See run_name.h. */
#include "place/run_name.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "settings/arguments_raw.h"
#include "text.h"

enum { MAX_VARIABLES = 4 };

/* A row distinguishes runs if its first variable is set. */
static const struct {
	const char *launcher, *variables[MAX_VARIABLES];
} table[] = {
	{"torch",
	 {"MASTER_PORT", "MASTER_ADDR", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"}},
	{"Open MPI", {"PMIX_NAMESPACE"}},
	{"Open MPI", {"OMPI_MCA_ess_base_jobid"}},
	{"Slurm step", {"SLURM_STEP_ID", "SLURM_JOB_ID", "SLURM_RESTART_COUNT"}},
	{"Flux", {"FLUX_JOB_ID"}},
	{"PALS", {"PALS_APID"}},
};

enum { ROWS_OF_TABLE = sizeof(table) / sizeof(*table) };

/* The end of the text included. */
static uint64_t mix(uint64_t hash, const char *text)
{
	return hash_bytes(hash, text, strlen(text) + 1);
}

static int find_row(const char *launcher, const char *const *envp)
{
	int any = -1;

	for (int i = ROWS_OF_TABLE - 1; i >= 0; i--)
		if (environ_nonempty(envp, table[i].variables[0]))
			any = i;
	for (int i = 0; i < ROWS_OF_TABLE; i++)
		if (strcmp(table[i].launcher, launcher) == 0 &&
		    environ_nonempty(envp, table[i].variables[0]))
			return i;
	return any;
}

bool run_name(char *name, size_t size, const char *launcher, const char *const *envp,
	      struct train_error *error)
{
	uint64_t hash = HASH_START;
	int row = find_row(launcher, envp);

	if (row < 0)
		return train_fail(
			error, TRAIN_BAD_INPUT,
			"%s: no variable distinguishes this run from others on this machine: set "
			"MASTER_PORT to the same free port for all ranks",
			launcher);
	for (int i = 0; i < MAX_VARIABLES && table[row].variables[i]; i++) {
		const char *value = environ_nonempty(envp, table[row].variables[i]);

		hash = mix(mix(hash, table[row].variables[i]), value ? value : "");
	}
	snprintf(name, size, "%016" PRIx64, hash);
	return true;
}
