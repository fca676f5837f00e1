/* SPDX-License-Identifier: MIT */
/* Limits of this process that jobs on GPUs run into. */
#include "check.h"
#include "cpuset.h"

enum { SHM_LEAST = 512 }; /* MiB: below this DeepSpeed's report warns; Docker's default is 64 */

/* Other containers than these have the host's. */
static const char *larger_shm(const struct facts *facts)
{
	const char *container = facts->container.sight == SEEN ? facts->container.text : "";

	if (streq(container, "Kubernetes"))
		return "mount an emptyDir of medium Memory at /dev/shm in the pod";
	if (span_is_any(span_of(container), "Docker Podman"))
		return "start the container with --shm-size=8g or more, or with --ipc=host";
	return "mount it larger: mount -o remount,size=8g /dev/shm; start a container with "
	       "--shm-size=8g or more, or with --ipc=host";
}

void check_shm(const struct facts *facts, struct verdict *verdict)
{
	const struct fact *shm = &facts->shm;

	if (!has_gpu(facts))
		return;
	if (is_unseen(verdict, shm, "the size of /dev/shm"))
		return;
	fine(verdict);
	if (shm->sight == ABSENT)
		wrong(verdict, "mount a tmpfs there",
		      "/dev/shm does not exist, so neither NCCL nor data loaders can share memory");
	else if (shm->number >= 0 && shm->number < (int64_t)SHM_LEAST << 20)
		wrong(verdict, larger_shm(facts),
		      "/dev/shm has %lld MiB: NCCL and data loaders with workers fail when it is "
		      "full (bus error)",
		      (long long)shm->number >> 20);
	else if (facts->shm_free.sight == SEEN && facts->shm_free.number < 64ll << 20)
		wrong(verdict, "remove what ended programs left there (ls -l /dev/shm)",
		      "/dev/shm has %lld MiB left of %lld MiB",
		      (long long)facts->shm_free.number >> 20, (long long)shm->number >> 20);
}

void check_memlock(const struct facts *facts, struct verdict *verdict)
{
	const struct fact *limit = &facts->memlock;

	if (facts->infiniband.sight != SEEN || !facts->infiniband.number || !has_gpu(facts) ||
	    facts->ipc_lock)
		return;
	if (is_unseen(verdict, limit, "the limit of locked memory"))
		return;
	fine(verdict);
	if (limit->number >= 0 && limit->number < 1ll << 30)
		wrong(verdict,
		      "raise it: ulimit -l unlimited, memlock in /etc/security/limits.conf, "
		      "LimitMEMLOCK=infinity (systemd), or docker run --ulimit memlock=-1",
		      "%lld KiB may be locked, but InfiniBand has to lock the buffers of NCCL",
		      (long long)limit->number >> 10);
}

void check_address_space(const struct facts *facts, struct verdict *verdict)
{
	const struct fact *limit = &facts->address_space;

	if (!has_gpu(facts) || is_unseen(verdict, limit, "the limit of the address space"))
		return;
	fine(verdict);
	if (limit->number >= 0)
		wrong(verdict, "run ulimit -v unlimited, or limit memory by a cgroup instead",
		      "the address space is limited to %lld MiB, but the driver reserves more than "
		      "the GPUs' memory in it (CUDA reports out of memory)",
		      (long long)limit->number >> 20);
}

void check_lease_folder(const struct facts *facts, struct verdict *verdict)
{
	const struct fact *leases = &facts->leases;

	if (leases->sight != SEEN || !has_gpu(facts))
		return;
	fine(verdict);
	if (leases->number >= 0)
		wrong(verdict, arena_printf(verdict->arena, ON_HOST "chown root %s", leases->text),
		      "%s, the folder of leases, belongs to the user %lld, who can end those of "
		      "slots and MIG instances",
		      leases->text, (long long)leases->number);
}

/* Whether two lists have a number in common; true if one of them is malformed. */
static bool lists_meet(struct arena *arena, const char *a, const char *b)
{
	struct cpu_set first, second;

	if (!cpu_set_parse(arena, &first, span_of(a)) || !cpu_set_parse(arena, &second, span_of(b)))
		return true;
	return cpu_set_meet(first, second);
}

void check_cpus(const struct facts *facts, struct verdict *verdict)
{
	bool any = false;

	for (size_t i = 0; i < facts->pci_count; i++) {
		const struct pci_gpu *gpu = &facts->pci[i];

		if (!gpu->used || !gpu->near_cpus)
			continue;
		if (is_unseen(verdict, &facts->cpus, "the CPUs of this process"))
			return;
		any = true;
		if (lists_meet(verdict->arena, gpu->near_cpus, facts->cpus.text))
			continue;
		wrong(verdict, "ask the scheduler for CPUs near the GPU",
		      "the GPU %s is near the CPUs %s, but this process may use only %s",
		      gpu->address, gpu->near_cpus, facts->cpus.text);
		return;
	}
	if (any)
		fine(verdict);
}
