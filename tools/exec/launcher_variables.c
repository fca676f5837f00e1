/* SPDX-License-Identifier: MIT */
/* The variables that the rank's program gets, and those of other launchers that it loses. */
#include "exec.h"

#include <unistd.h>

#include "job/rank_rows.h"

const char *exec_variable(const char *name)
{
	return environ_nonempty((const char *const *)environ, name);
}

/* Whether a variable is true under the launcher that set it: torchrun's store listens, and it
 * restarts ranks. */
static bool is_launchers(const struct exec *exec, const char *name)
{
	return exec->row && streq(exec->row, "torch") &&
	       (starts_with(name, "TORCHELASTIC_") || starts_with(name, "ROLE_")) && getenv(name);
}

static int note(const char *name, const char *value, void *data)
{
	struct exec *exec = data;
	const char *now = getenv(name);
	size_t i = 0;

	while (i < exec->change_count && !streq(exec->changes[i].name, name))
		i++;
	if (i == exec->change_count) {
		if (is_launchers(exec, name) || (value ? now && streq(now, value) : !now))
			return GPUMAP_OK;
		ARRAY_NEXT(exec->changes, exec->change_count, exec->change_room)->name =
			arena_strdup(&exec->arena, name);
	}
	exec->changes[i].value = arena_strdup(&exec->arena, value);
	return GPUMAP_OK;
}

/* MPI programs use the first row that agrees. The variables of all other rows are unset. */
static void unset_rows(struct exec *exec)
{
	const char *name, *kept = NULL;

	for (size_t i = 0; i < exec->row_count && !kept; i++)
		if (exec_agrees(exec, &exec->rows[i]))
			kept = exec->rows[i].row;
	for (size_t i = 0; i < exec->row_count; i++)
		for (size_t k = 0; !exec_agrees(exec, &exec->rows[i]) &&
				   (name = rank_identity_row_variable(exec->rows[i].row, k));
		     k++)
			if (!kept || !rank_row_has(kept, name))
				note(name, NULL, exec);
}

int exec_change(struct exec *exec)
{
	unset_rows(exec);
	return job_environ(exec->plan, &exec->rank, (const char *const *)environ, note, exec);
}
