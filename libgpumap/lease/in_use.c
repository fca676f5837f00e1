/* SPDX-License-Identifier: MIT */
/* Whether a GPU or a MIG instance that no lease keeps is free. */
#include "lease/lease.h"
#include "lease/units.h"

void lease_terms_free(struct lease_terms *terms)
{
	free(terms->ignore);
}

/* The memory in use that does not count; -1: not known. If the driver does not tell what it keeps
 * for itself, which is up to a few percent, that counts as used. */
static int64_t little_memory(const gpumap_device *gpu)
{
	const int64_t little = 512 << 20;
	int64_t total = gpumap_device_int(gpu, GPUMAP_DEVICE_MEMORY);
	bool exact = gpumap_device_int(gpu, GPUMAP_DEVICE_MEMORY_RESERVED) >= 0;

	if (total < 0)
		return -1;
	return exact && little < total / 20 ? little : total / 20;
}

/* Processes that are hidden may compute with little memory, or as ignored ones. If the load is not
 * known, only a GPU without both is free. */
static enum lease_state state_of_load(const struct lease_terms *terms, const gpumap_device *gpu)
{
	int64_t load = gpumap_device_int(gpu, GPUMAP_DEVICE_UTILIZATION);

	if (terms->max_load < 0 || (load >= 0 && load <= terms->max_load))
		return LEASE_FREE;
	if (load >= 0)
		return LEASE_LOADED;
	return gpumap_device_process_count(gpu) == 0 &&
			       gpumap_device_int(gpu, GPUMAP_DEVICE_MEMORY_USED) <
				       little_memory(gpu)
		       ? LEASE_FREE
		       : LEASE_LOAD_HIDDEN;
}

/* In some compute modes one process only can use the GPU. If MPS serves it, that is its server. */
static bool admits_one(const gpumap_device *gpu)
{
	int64_t mode = gpumap_device_int(gpu, GPUMAP_DEVICE_COMPUTE_MODE);

	if (mode != GPUMAP_COMPUTE_MODE_EXCLUSIVE_PROCESS &&
	    mode != GPUMAP_COMPUTE_MODE_EXCLUSIVE_THREAD)
		return false;
	for (int i = 0; i < gpumap_device_process_count(gpu); i++) {
		const gpumap_process *process = gpumap_device_process(gpu, (size_t)i);

		if ((gpumap_process_int(process, GPUMAP_PROCESS_TYPES) & GPUMAP_PROCESS_TYPE_MPS) ||
		    process_is_named(process, "nvidia-cuda-mps-server"))
			return false;
	}
	return true;
}

static int64_t memory_free(const gpumap_device *gpu)
{
	int64_t free_bytes = gpumap_device_int(gpu, GPUMAP_DEVICE_MEMORY_FREE);
	int64_t total = gpumap_device_int(gpu, GPUMAP_DEVICE_MEMORY);
	int64_t used = gpumap_device_int(gpu, GPUMAP_DEVICE_MEMORY_USED);

	return free_bytes >= 0 || total < 0 || used < 0 ? free_bytes : total - used;
}

int64_t lease_memory_most(const gpumap_device *gpu)
{
	int64_t total = gpumap_device_int(gpu, GPUMAP_DEVICE_MEMORY);
	int64_t reserved = gpumap_device_int(gpu, GPUMAP_DEVICE_MEMORY_RESERVED);

	return total >= 0 && reserved > 0 ? total - reserved : total;
}

bool lease_is_large(const struct lease_terms *terms, const gpumap_device *gpu)
{
	int64_t most = lease_memory_most(gpu);

	return most < 0 || most >= terms->min_free;
}

/* Whether the memory is as the job asks for, of which `used` bytes count as in use. */
static enum lease_state state_of_memory(const struct lease_terms *terms, const gpumap_device *gpu,
					int64_t used, int64_t limit)
{
	if (terms->min_free >= 0 && memory_free(gpu) < 0)
		return LEASE_UNKNOWN;
	if (terms->min_free >= 0 && memory_free(gpu) < terms->min_free)
		return LEASE_FULL;
	return limit >= 0 && used >= limit ? LEASE_IN_USE : state_of_load(terms, gpu);
}

/* The processes of a GPU with slots are there by right. */
static enum lease_state state_beside(const struct lease_terms *terms, const gpumap_device *gpu)
{
	int64_t used = gpumap_device_int(gpu, GPUMAP_DEVICE_MEMORY_USED);

	if (admits_one(gpu))
		return LEASE_IN_USE;
	if (terms->max_used >= 0 && used < 0)
		return LEASE_UNKNOWN;
	return state_of_memory(terms, gpu, used, terms->max_used);
}

/* The compute instances of a GPU instance share its memory. What the processes of the others have
 * is there by right. */
static int64_t memory_beside(const gpumap_device *unit)
{
	const gpumap_device *gpu = unit->gpu;
	int64_t sum = 0;

	for (size_t m = 0; is_instance(unit) && unit->gi >= 0 && m < gpu->mig_count; m++) {
		const gpumap_device *other = &gpu->mig[m];

		if (other->gi != unit->gi || other->mig_position == unit->mig_position)
			continue;
		for (size_t i = 0; i < other->process_count; i++) {
			const gpumap_process *p = gpumap_device_process(other, i);

			sum += p->memory > 0 ? p->memory : 0;
		}
	}
	return sum;
}

/* A process because of which the GPU is not free; NULL: there is none. */
static const gpumap_process *blocker(const struct lease_terms *terms, const gpumap_device *gpu)
{
	for (int i = 0; i < gpumap_device_process_count(gpu); i++)
		if (!process_is_named(gpumap_device_process(gpu, (size_t)i), terms->ignore))
			return gpumap_device_process(gpu, (size_t)i);
	return NULL;
}

enum lease_state lease_state_of(const struct lease_terms *terms, const gpumap_device *gpu,
				bool shared)
{
	int64_t used = gpumap_device_int(gpu, GPUMAP_DEVICE_MEMORY_USED);
	int64_t limit =
		terms->max_used >= 0 || terms->min_free >= 0 ? terms->max_used : little_memory(gpu);

	if (gpumap_device_int(gpu, GPUMAP_DEVICE_COMPUTE_MODE) == GPUMAP_COMPUTE_MODE_PROHIBITED)
		return LEASE_IN_USE;
	if (shared)
		return state_beside(terms, gpu);
	if (gpumap_device_int(gpu, GPUMAP_DEVICE_PROCESSES_COMPLETE) != 1)
		return LEASE_UNKNOWN;
	if (blocker(terms, gpu))
		return LEASE_IN_USE;
	if (used < 0 || (limit < 0 && terms->min_free < 0))
		return LEASE_UNKNOWN;
	for (int i = 0; i < gpumap_device_process_count(gpu); i++) {
		int64_t memory = gpumap_process_int(gpumap_device_process(gpu, (size_t)i),
						    GPUMAP_PROCESS_MEMORY);

		used -= memory > 0 ? memory : 0;
	}
	if (terms->max_used < 0)
		used -= memory_beside(gpu);
	/* Memory shows processes that are not in the list. */
	return state_of_memory(terms, gpu, used, limit);
}

void lease_tell_use(struct strbuf *buf, const struct lease_terms *terms, const gpumap_device *gpu,
		    bool shared)
{
	const gpumap_process *process = shared ? NULL : blocker(terms, gpu);

	if (gpumap_device_int(gpu, GPUMAP_DEVICE_COMPUTE_MODE) == GPUMAP_COMPUTE_MODE_PROHIBITED)
		strbuf_puts(buf, " (its compute mode prohibits programs)");
	else if (process) {
		strbuf_puts(buf, " by ");
		process_tell(buf, process);
	} else if (shared && admits_one(gpu))
		strbuf_puts(buf, " (its compute mode admits one process)");
	else if (!lease_is_large(terms, gpu))
		strbuf_printf(buf, " (it has %lld MiB)", (long long)(lease_memory_most(gpu) >> 20));
	else if (terms->min_free >= 0 && memory_free(gpu) < terms->min_free)
		strbuf_printf(buf, " (less than %lld MiB of its memory are free)",
			      (long long)(terms->min_free >> 20));
	else
		strbuf_puts(buf, " (memory in use, of no process that is visible)");
}
