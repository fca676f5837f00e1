/* SPDX-License-Identifier: MIT */
/* The devices of each mode, and of a rank, a stage or a process with one device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/names.h"
#include "model/model.h"
#include "place/place_query.h"

static bool find_single(struct place_query *f, struct train_error *error)
{
	if (!place_resolve(f, error) || !place_answered(f, error) || !place_add_chosen(f, error))
		return false;
	place_keep(f);
	return true;
}

/* DataParallel rejects a device that is given twice (GM032), which --allow-share allows. */
static bool refused_share(const struct place_query *f)
{
	for (size_t i = 0; i < gpumap_report_count(f->report); i++) {
		const gpumap_finding *finding = gpumap_report_get(f->report, i);

		if (strcmp(gpumap_finding_str(finding, GPUMAP_FINDING_ID), "GM032") == 0)
			return true;
	}
	return false;
}

static bool find_dp(struct place_query *f, struct train_error *error)
{
	const gpumap_entry *master;

	if (!place_resolve(f, error))
		return false;
	f->as_stages = f->settings->allow_share && refused_share(f);
	if (f->as_stages && (!place_state(f, "mode", "mp", error) || !place_resolve(f, error)))
		return false;
	if (!place_answered(f, error) ||
	    !place_add_replicas(f, gpumap_mapping_replica_count(f->mapping), error))
		return false;
	master = gpumap_mapping_master(f->mapping);
	while (master && f->place->master + 1 < f->place->count &&
	       f->place->devices[f->place->master].logical !=
		       gpumap_entry_int(master, GPUMAP_ENTRY_LOGICAL))
		f->place->master++;
	place_keep(f);
	return true;
}

static int count_ids(const char *ids)
{
	int count = 1;

	for (; *ids; ids++)
		count += *ids == ',';
	return count;
}

/* The number of stages in --stages, which has the layers between them; 0: not given. */
static int stages_wanted(const struct settings *settings)
{
	return *settings->stages ? count_ids(settings->stages) + 1 : 0;
}

/* The model's first layer if --stages begins with it, where it cannot be cut. */
static const char *first_named(const struct settings *settings)
{
	struct train_error error = {.status = TRAIN_OK};
	const struct model_spec *spec = model_find(settings->model, &error);
	const char *first = spec ? spec->layers[0].name : "";
	size_t length = strlen(first);

	return length && strcspn(settings->stages, ",") == length &&
			       strncmp(settings->stages, first, length) == 0
		       ? first
		       : NULL;
}

static bool check_stages(const struct place_query *f, size_t stages, struct train_error *error)
{
	int wanted = stages_wanted(f->settings);
	const char *first = wanted ? first_named(f->settings) : NULL;

	if (stages > TRAIN_MAX_STAGES)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%zu stages, more than %d; choose devices with --device-ids",
				  stages, TRAIN_MAX_STAGES);
	if (wanted && (size_t)wanted != stages)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "--stages: '%.64s' makes %d stages, but there %s %zu %s%s%s%s",
				  f->settings->stages, wanted, stages == 1 ? "is" : "are", stages,
				  f->place->world > 1 ? "rank" : "device", stages == 1 ? "" : "s",
				  first ? "; leave out the first layer, " : "", first ? first : "");
	return true;
}

static bool find_stages(struct place_query *f, struct train_error *error)
{
	size_t wanted = (size_t)stages_wanted(f->settings), count;

	if (!place_resolve(f, error) || !place_answered(f, error))
		return false;
	count = gpumap_mapping_replica_count(f->mapping);
	if (wanted && wanted < count && !f->command->device_ids)
		count = wanted;
	if (!check_stages(f, count, error) || !place_add_replicas(f, count, error))
		return false;
	f->place->world = f->place->ranks = f->place->local_world = f->place->count;
	place_keep(f);
	return true;
}

/* The i-th of "2,1,3". */
static void id_at(char *text, size_t size, const char *ids, int i)
{
	while (i-- > 0)
		ids += strcspn(ids, ",") + 1;
	snprintf(text, size, "%.*s", (int)strcspn(ids, ","), ids);
}

/* The statements that a program started for each rank would make. */
static bool state_rank(struct place_query *f, int rank, const char *ids, struct train_error *error)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", rank);
	if (!place_state(f, "local_rank", text, error))
		return false;
	if (!ids)
		return true;
	id_at(text, sizeof(text), ids, rank);
	return place_state(f, "device_ids", text, error) &&
	       (f->command->device || place_state(f, "device", text, error));
}

bool place_all_devices(const struct place_query *f)
{
	for (size_t i = 0; i < gpumap_mapping_step_count(f->mapping); i++) {
		const gpumap_step *step = gpumap_mapping_step(f->mapping, i);

		if (strcmp(gpumap_step_str(step, GPUMAP_STEP_RULE), "S5") == 0)
			return true;
	}
	return false;
}

/* A list of one device is a choice. */
static void remark_one_device(struct place_query *f)
{
	const char *more = "; for four: --inventory 4";

	f->named_host = place_all_devices(f) && !f->inventory;
	if (!place_all_devices(f))
		more = "";
	else if (f->named_host)
		more = "; for four: --inventory 4; for the GPUs of this host, if it has any: "
		       "--inventory host";
	fprintf(stderr, "gpumap-train: remark: one device is visible, so there is one rank%s\n",
		more);
}

/* Thread ranks: one on each visible device, or on those of --device-ids. */
static bool find_threads(struct place_query *f, struct train_error *error)
{
	const char *ids = f->command->device_ids;
	int count = 1;

	if (gpumap_request_identity_int(f->command->request, GPUMAP_IDENTITY_LOCAL_RANK) >= 0)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "--local-rank: no launcher started this process, and it has all "
				  "ranks; leave it out, or choose devices with --device-ids");
	if (ids && strchr(ids, '%'))
		ids = NULL;
	for (int rank = 0; rank < count; rank++) {
		if (!state_rank(f, rank, ids, error) || !place_resolve(f, error) ||
		    !place_answered(f, error) || !place_add_chosen(f, error))
			return false;
		place_keep(f);
		if (rank == 0 && ids)
			count = count_ids(ids);
		else if (rank == 0)
			count = (int)gpumap_mapping_visible_count(f->mapping);
	}
	f->place->world = f->place->ranks = f->place->local_world = f->place->count;
	if (count == 1)
		remark_one_device(f);
	return true;
}

/* A list for this rank only (gpumap run --share isolate, srun --gpus-per-task) has one device, and
 * the trainer uses it. Ranks cannot see whether all were given the same one. */
static bool resolve_rank(struct place_query *f, struct train_error *error)
{
	const char *machine = f->command->inventory;

	if (!place_resolve(f, error))
		return false;
	if (f->place->local_rank == 0 || f->command->device || f->command->device_ids ||
	    gpumap_mapping_visible_count(f->mapping) != 1)
		return true;
	/* A machine with one device has none for the next rank; "host" shows the granted one. */
	if (machine && strcmp(machine, "host") != 0 && gpumap_inventory_count(f->inventory) == 1)
		return true;
	return place_state(f, "device", "0", error) && place_resolve(f, error);
}

/* One rank of a launcher. Stages are ranks like those of ddp, with one device each, unless
 * --device-ids lists the stages' devices. */
static bool find_process(struct place_query *f, struct train_error *error)
{
	bool mp = f->settings->mode == MODE_MP, listed = mp && f->command->device_ids;
	struct place *place = f->place;

	if (mp && !check_stages(f, (size_t)place->world, error))
		return false;
	if ((mp && !listed && !place_state(f, "mode", "ddp", error)) || !resolve_rank(f, error) ||
	    !place_answered(f, error))
		return false;
	if (listed && !gpumap_mapping_replica(f->mapping, (size_t)place->local_rank))
		return train_fail(error, TRAIN_BAD_INPUT,
				  "--device-ids: '%.64s' has no device for local rank %d",
				  f->command->device_ids, place->local_rank);
	if (!(listed ? place_add(f, gpumap_mapping_replica(f->mapping, (size_t)place->local_rank),
				 error)
		     : place_add_chosen(f, error)))
		return false;
	place_keep(f);
	return true;
}

bool place_find_devices(struct place_query *f, struct train_error *error)
{
	bool process = f->place->launcher[0] != '\0';

	switch (f->settings->mode) {
	case MODE_SINGLE:
		return find_single(f, error);
	case MODE_DP:
		return find_dp(f, error);
	case MODE_DDP:
		return process ? find_process(f, error) : find_threads(f, error);
	default:
		return f->place->world > 1 ? find_process(f, error) : find_stages(f, error);
	}
}
