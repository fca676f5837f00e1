/* SPDX-License-Identifier: MIT */
/* The environment, arguments, folder and cores of the rank's program. */
#include "exec.h"

#include <stdio.h>
#include <unistd.h>

#include "cpuset.h"
#include "job/rank_place.h"
#include "report/report.h"

/* --- variables --------------------------------------------------------------------------- */

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
		exec->changes =
			array_room(exec->changes, i, &exec->change_room, sizeof(*exec->changes));
		exec->changes[i].name = arena_strdup(&exec->arena, name);
		exec->change_count++;
	}
	exec->changes[i].value = arena_strdup(&exec->arena, value);
	return GPUMAP_OK;
}

static bool in_row(const char *row, const char *name)
{
	const char *own;

	for (size_t i = 0; (own = rank_identity_row_variable(row, i)); i++)
		if (streq(own, name))
			return true;
	return false;
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
			if (!kept || !in_row(kept, name))
				note(name, NULL, exec);
}

static int change_variables(struct exec *exec)
{
	unset_rows(exec);
	return job_environ(exec->plan, &exec->rank, (const char *const *)environ, note, exec);
}

/* --- cores --------------------------------------------------------------------------------- */

static bool inside(struct cpu_set part, struct cpu_set whole)
{
	for (size_t i = 0; i < cpu_set_end(part); i++)
		if (cpu_set_has(part, i) && !cpu_set_has(whole, i))
			return false;
	return true;
}

/* Cores outside of those that the launcher left belong to others. */
int exec_bind(struct exec *exec)
{
	const struct speech speech = job_speech(exec->plan);
	struct plan_slot *slot = &exec->slot;
	struct cpu_set wanted, own;
	bool known;

	if (!slot->cpus)
		return GPUMAP_OK;
	known = cpu_set_allowed(&exec->arena, &own);
	/* rank_place() refuses a malformed list. */
	if (!cpu_set_parse(&exec->arena, &wanted, span_of(slot->cpus)))
		return GPUMAP_OK;
	if (!known || inside(wanted, own))
		return GPUMAP_OK;
	if (!exec->plan->settings.cpu_bind.origin) {
		slot->cpus = slot->nodes = NULL;
		return GPUMAP_OK;
	}
	wanted = cpu_set_and(&exec->arena, wanted, own);
	if (cpu_set_size(wanted)) {
		slot->cpus = cpu_set_print(&exec->arena, wanted);
		return GPUMAP_OK;
	}
	return report_fail(
		exec->report, GPUMAP_EINPUT, FINDING_EXEC_CPUS,
		ABOUT(.origin = exec->plan->settings.cpu_bind.origin, .speech = &speech,
		      .fix = "write " SETTING(
			      "cpu_bind = none") ", or let the launcher bind to nothing"),
		"rank %lld may use none of the cores %s that the plan gives it: the "
		"launcher left it %s",
		(long long)exec->rank.rank, slot->cpus, cpu_set_print(&exec->arena, own));
}

/* --- the whole ------------------------------------------------------------------------------ */

/* On a node without a given number of ranks the job's ranks count. */
static bool nests(const struct exec *exec)
{
	int64_t ranks = exec->rank.local_size >= 0 ? exec->rank.local_size : exec->rank.world_size;
	size_t count = 0;

	while (exec->arguments[count])
		count++;
	return plan_nests((const char *const *)exec->arguments, count, (size_t)ranks, exec->report);
}

int exec_prepare(struct exec *exec)
{
	int r = exec_bind(exec);

	if (!exec->rank.host)
		exec->rank.host = exec->here;
	if (r == GPUMAP_OK)
		r = change_variables(exec);
	if (r == GPUMAP_OK)
		r = job_arguments(&exec->arguments, exec->plan, &exec->rank, exec->report);
	if (r == GPUMAP_OK && !exec->arguments[0])
		r = report_fail(exec->report, GPUMAP_EINPUT, FINDING_NO_PROGRAM,
				ABOUT(.fix = "write it after --"),
				"no program: neither the command line nor the profile has one");
	if (r == GPUMAP_OK && nests(exec))
		r = GPUMAP_EINPUT;
	exec->launch.argv = exec->arguments;
	return r == GPUMAP_OK ? rank_place(&exec->launch, &exec->arena, exec->plan, &exec->rank,
					   exec->report)
			      : r;
}

int exec_make(struct exec *exec)
{
	int r = exec_identify(exec);

	if (r == GPUMAP_OK)
		r = exec_plan(exec);
	if (r == GPUMAP_OK)
		r = exec_meet(exec);
	if (r == GPUMAP_OK)
		r = exec_prepare(exec);
	return r;
}

void exec_free(struct exec *exec)
{
	for (size_t i = 0; exec->arguments && exec->arguments[i]; i++)
		free(exec->arguments[i]);
	free((void *)exec->arguments);
	free(exec->changes);
	gpumap_plan_free(exec->plan);
	gpumap_plan_free(exec->node_plan);
	arena_free(&exec->arena);
}
