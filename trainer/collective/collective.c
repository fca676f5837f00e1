/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "collective/collective.h"

#include <string.h>

#ifdef HAVE_MPI
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "collective/mpi_module.h"
#endif

static const struct collective *const collectives[] = {
	&collective_self,
	&collective_shm,
	&collective_peer,
#if defined(HAVE_CUDA_BACKEND) && defined(HAVE_NCCL)
	&collective_nccl,
#endif
};

#ifdef HAVE_MPI

#ifndef PKGLIBDIR
#error "PKGLIBDIR is the folder of the module"
#endif

/* A program that was built but not installed lies above libtool's folder, where the module is, or
 * in it. Nobody installs a folder of this name. */
static void *open_built(void)
{
	static const char folder[] = "/.libs";
	const size_t end = sizeof(folder) - 1;
	char path[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	if ((size_t)(slash - path) >= end && memcmp(slash - end, folder, end) == 0)
		slash -= end;
	snprintf(slash, sizeof(path) - (size_t)(slash - path), "%s/%s", folder,
		 COLLECTIVE_MPI_MODULE);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The path of the loader comes first: LD_LIBRARY_PATH names the build's, for tests. */
static const struct collective *find_mpi(struct train_error *error)
{
	void *module = dlopen(COLLECTIVE_MPI_MODULE, RTLD_NOW | RTLD_LOCAL);
	const char *version;

	if (!module)
		module = open_built();
	if (!module)
		module = dlopen(PKGLIBDIR "/" COLLECTIVE_MPI_MODULE, RTLD_NOW | RTLD_LOCAL);
	if (!module) {
		train_fail(error, TRAIN_NO_BACKEND,
			   "collective 'mpi': %s: install Open MPI (openmpi-bin)", dlerror());
		return NULL;
	}
	version = dlsym(module, "collective_mpi_version");
	if (version && strcmp(version, PACKAGE_VERSION) == 0)
		return dlsym(module, "collective_mpi");
	train_fail(error, TRAIN_NO_BACKEND,
		   "collective 'mpi': %s is of version %s and this is " PACKAGE_VERSION
		   ": install both again",
		   COLLECTIVE_MPI_MODULE, version ? version : "?");
	return NULL;
}

#else

static const struct collective *find_mpi(struct train_error *error)
{
	train_fail(error, TRAIN_NO_BACKEND,
		   "collective 'mpi': this build has self, shm and peer; build with Open MPI "
		   "(libopenmpi-dev)");
	return NULL;
}

#endif

const struct collective *collective_find(const char *name, struct train_error *error)
{
	for (size_t i = 0; i < sizeof(collectives) / sizeof(*collectives); i++)
		if (strcmp(collectives[i]->name, name) == 0)
			return collectives[i];
	if (strcmp(name, "mpi") == 0)
		return find_mpi(error);
	if (strcmp(name, "nccl") == 0)
		train_fail(error, TRAIN_NO_BACKEND,
			   "collective 'nccl': this build has self, shm and peer; build with CUDA "
			   "and NCCL (see configure --help)");
	else
		train_fail(error, TRAIN_NO_BACKEND,
			   "collective '%s': there is self, shm, peer, mpi and nccl", name);
	return NULL;
}

bool collective_fork(struct communicator *comm, struct train_error *error)
{
	return !comm->calls->fork || comm->calls->fork(comm, error);
}

bool collective_join(struct communicator *comm, struct train_error *error)
{
	return !comm->calls->join || comm->calls->join(comm, error);
}
