/* SPDX-License-Identifier: MIT */
/* See collective.h. */
#include "config.h"

#include "collective/collective.h"

#include <string.h>

static const struct collective *const collectives[] = {
	&collective_self,
	&collective_shm,
	&collective_peer,
#if defined(HAVE_CUDA_BACKEND) && defined(HAVE_NCCL)
	&collective_nccl,
#endif
};

const struct collective *collective_find(const char *name, struct train_error *error)
{
	for (size_t i = 0; i < sizeof(collectives) / sizeof(*collectives); i++)
		if (strcmp(collectives[i]->name, name) == 0)
			return collectives[i];
	if (strcmp(name, "mpi") == 0)
		return collective_mpi_find(error);
	if (strcmp(name, "nccl") == 0)
		train_fail(error, TRAIN_NO_BACKEND,
			   "collective 'nccl': this build has self, shm and peer; build with CUDA "
			   "and NCCL (see configure --help)");
	else
		train_fail(error, TRAIN_NO_BACKEND,
			   "collective '%s': there is self, shm, peer, mpi and nccl", name);
	return NULL;
}

const char *collective_auto(const struct rendezvous_options *options, bool simulated)
{
	if (options->world == 1)
		return "self";
	if (!simulated)
		return options->ranks == options->world ? "peer" : "nccl";
	return options->local == options->world ? "shm" : "mpi";
}

/* Whether the collective supports the devices. */
static bool fits(const struct collective *collective, const char *backend, bool simulated,
		 struct train_error *error)
{
	if (!collective->on_devices && !simulated)
		return train_fail(
			error, TRAIN_BAD_INPUT,
			"--collective %s: it reads memory of the host, and GPUs have their "
			"own; leave it out, or write --collective nccl",
			collective->name);
	if (simulated && strcmp(collective->name, "nccl") == 0)
		return train_fail(
			error, TRAIN_BAD_INPUT,
			"--collective nccl: it is for GPUs, and backend %s simulates them; "
			"leave it out, or write --backend cuda",
			backend);
	return true;
}

const struct collective *collective_choose(const char *name,
					   const struct rendezvous_options *options,
					   const char *backend, bool simulated,
					   struct train_error *error)
{
	const struct collective *collective;

	if (strcmp(name, "auto") == 0)
		name = collective_auto(options, simulated);
	collective = collective_find(name, error);
	return collective && fits(collective, backend, simulated, error) ? collective : NULL;
}
