/* SPDX-License-Identifier: MIT */
/* Finds and loads the module of MPI when it is needed. */
#include "config.h"

#include "collective/collective.h"

#ifdef HAVE_MPI
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "collective/mpi_module.h"
#include "readfile.h"

#ifndef PKGLIBDIR
#error "PKGLIBDIR is the folder of the module"
#endif

/* A program that is built but not installed is in the folder above libtool's folder with the
 * module, or in that. No installation has a folder of this name. */
static void *open_built(void)
{
	static const char folder[] = "/.libs";
	const size_t end = sizeof(folder) - 1;
	char path[PATH_MAX], *slash;

	slash = read_link(path, sizeof(path), "/proc/self/exe") ? strrchr(path, '/') : NULL;
	if (!slash)
		return NULL;
	if ((size_t)(slash - path) >= end && memcmp(slash - end, folder, end) == 0)
		slash -= end;
	snprintf(slash, sizeof(path) - (size_t)(slash - path), "%s/%s", folder,
		 COLLECTIVE_MPI_MODULE);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The path of the loader comes first: LD_LIBRARY_PATH names the build's, for tests. */
const struct collective *collective_mpi_find(struct train_error *error)
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

const struct collective *collective_mpi_find(struct train_error *error)
{
	train_fail(error, TRAIN_NO_BACKEND,
		   "collective 'mpi': this build has self, shm and peer; build with Open MPI "
		   "(libopenmpi-dev)");
	return NULL;
}

#endif
