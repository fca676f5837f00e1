/* SPDX-License-Identifier: MIT */
/* See place.h. */
#include "place/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/names.h"
#include "model/model.h"
#include "place/place_query.h"
#include "settings/print_findings.h"
#include "place/run_name.h"

/* --- the launcher ---------------------------------------------------------------------------- */

static int known(int64_t number, int otherwise)
{
	return number >= 0 ? (int)number : otherwise;
}

static bool find_rank(struct place *place, const struct command_line *command,
		      struct train_error *error)
{
	const gpumap_request *request = command->request;
	const struct settings *settings = &command->settings;
	int64_t rank = gpumap_request_identity_int(request, GPUMAP_IDENTITY_RANK);
	int64_t nodes = gpumap_request_identity_int(request, GPUMAP_IDENTITY_NODES);
	const char *launcher = gpumap_request_identity_str(request, GPUMAP_IDENTITY_LAUNCHER);

	place->world = place->local_world = place->ranks = 1;
	if (rank < 0 && nodes > 1 && settings->mode >= MODE_DDP)
		return train_fail(
			error, TRAIN_BAD_INPUT,
			"RANK and WORLD_SIZE number %lld nodes, not ranks; start the ranks "
			"of each node by torchrun or gpumap exec (rule R2)",
			(long long)nodes);
	if (rank < 0)
		return true;
	snprintf(place->launcher, sizeof(place->launcher), "%s", launcher);
	place->rank = (int)rank;
	place->world = known(gpumap_request_identity_int(request, GPUMAP_IDENTITY_WORLD_SIZE), 1);
	place->local_rank =
		known(gpumap_request_identity_int(request, GPUMAP_IDENTITY_LOCAL_RANK), 0);
	place->local_world = known(gpumap_request_identity_int(request, GPUMAP_IDENTITY_LOCAL_SIZE),
				   nodes == 1 || place->world == 1 ? place->world : 0);
	return place->world <= 1 ||
	       settings_fit_world(settings, place->rank, place->world, launcher, error);
}

/* Ranks of other machines cannot reach the memory of this one. */
static bool check_collective(const struct place *place, const struct settings *settings,
			     struct train_error *error)
{
	if (strcmp(settings->collective, "shm") != 0 || place->local_world == 0 ||
	    place->local_world == place->world)
		return true;
	return train_fail(
		error, TRAIN_BAD_INPUT,
		"--collective shm: %d of %d ranks are on this machine (%s); use --collective "
		"mpi for several machines",
		place->local_world, place->world, place->launcher);
}

/* Ranks of other machines, and those that MPI connects, need no name. */
static bool find_rendezvous(struct place *place, const struct command_line *command,
			    struct train_error *error)
{
	if (place->world == 1 || place->local_world == 1 ||
	    strcmp(command->settings.collective, "mpi") == 0)
		return true;
	return run_name(place->rendezvous, sizeof(place->rendezvous), place->launcher,
			command->envp, error);
}

bool place_rank(struct place *place, const struct command_line *command, struct train_error *error)
{
	*place = (struct place){.count = 0};
	return find_rank(place, command, error) &&
	       check_collective(place, &command->settings, error) &&
	       find_rendezvous(place, command, error);
}

/* --- the machine ----------------------------------------------------------------------------- */

/* Simulated devices need only names; a GPU must exist. */
static bool open_inventory(struct place_query *f, struct train_error *error)
{
	const char *what = f->command->inventory;
	FINDINGS *report = findings_new();
	int code;

	if (!what && !backend_simulates(f->settings->backend))
		what = "host";
	if (!what)
		return true;
	code = gpumap_inventory_open(&f->inventory, what, report);
	if (code != GPUMAP_OK)
		findings_fail(report, code, error);
	else if (f->place->rank == 0)
		findings_print(report, NULL);
	return code == GPUMAP_OK;
}

/* Without a list one could expect the machine of gpumap pretend, which has to be asked for. */
static void remark_pretended(const struct place_query *f)
{
	bool pretended = getenv("GPUMAP_PRETEND_INVENTORY") || getenv("GPUMAP_PRETEND_TEXT");

	if (pretended && !f->inventory && f->place->rank == 0 && place_all_devices(f) &&
	    !f->named_host)
		fprintf(stderr, "gpumap-train: remark: the machine of gpumap pretend is not used; "
				"--inventory host takes its GPUs\n");
}

bool place_devices(struct place *place, const struct command_line *command,
		   struct train_error *error)
{
	struct place_query f = {.place = place, .command = command, .settings = &command->settings};
	bool good = open_inventory(&f, error) && place_find_devices(&f, error);

	if (good)
		remark_pretended(&f);
	place_drop(&f);
	gpumap_inventory_free(f.inventory);
	return good;
}
