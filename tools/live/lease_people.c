/* SPDX-License-Identifier: MIT */
/* See lease_people.h. */
#include "live/lease_people.h"

#include "explain/json.h"
#include "inventory/inventory.h"
#include "lease/holders.h"
#include "memory.h"

void lease_people_read(struct lease_kept *ret, const int64_t *pids, size_t count)
{
	CLEANUP_FREE gpumap_process **all = xcalloc(count + 1, sizeof(*all));

	*ret = (struct lease_kept){xcalloc(count + 1, sizeof(*ret->processes)), count};
	for (size_t i = 0; i < count; i++) {
		ret->processes[i] = process_of(pids[i]);
		all[i] = &ret->processes[i];
	}
	processes_describe(all, count);
}

void lease_kept_read(struct lease_kept *ret, const gpumap_claim *claim, int64_t owner)
{
	size_t count;
	CLEANUP_FREE int64_t *pids = lease_kept_by(&count, claim, owner);

	lease_people_read(ret, pids, count);
}

void lease_kept_free(struct lease_kept *kept)
{
	for (size_t i = 0; i < kept->count; i++)
		process_clear(&kept->processes[i]);
	free(kept->processes);
	*kept = (struct lease_kept){0};
}

json_t *lease_person_json(const gpumap_process *p)
{
	if (!p)
		return json_null();
	return JSON_OBJECT(
		{"pid", json_number(gpumap_process_int(p, GPUMAP_PROCESS_PID))},
		{"uid", json_number(gpumap_process_int(p, GPUMAP_PROCESS_UID))},
		{"user", json_text(gpumap_process_str(p, GPUMAP_PROCESS_USER))},
		{"started", json_text(gpumap_process_str(p, GPUMAP_PROCESS_START))},
		{"command", json_text(gpumap_process_str(p, GPUMAP_PROCESS_COMMAND))},
		{"container", json_text(gpumap_process_str(p, GPUMAP_PROCESS_CONTAINER))});
}

json_t *lease_kept_json(const struct lease_kept *kept)
{
	return JSON_LIST(i, kept->count, lease_person_json(&kept->processes[i]));
}
