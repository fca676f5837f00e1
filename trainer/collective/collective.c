/* SPDX-License-Identifier: MIT */
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
