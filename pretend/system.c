/* SPDX-License-Identifier: MIT */
/* Start and end of the library, and facts about the whole system. */
#include "pretend.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "inventory/nvml.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct machine *_Atomic the_machine;
static atomic_uint users; /* calls of nvmlInit without their nvmlShutdown */

/* A machine stays until the library is unloaded: one thread may use it while another shuts down. */
__attribute__((destructor)) static void unload(void)
{
	struct machine *before;

	for (struct machine *m = the_machine; m; m = before) {
		before = m->before;
		machine_free(m);
		free(m);
	}
}

const struct machine *machine_get(void)
{
	return atomic_load(&users) ? atomic_load(&the_machine) : NULL;
}

/* MIG can be changed while a program runs. */
static enum nvml_return load(void)
{
	struct machine *machine = calloc(1, sizeof(*machine));
	enum nvml_return r = machine ? machine_load(machine) : NVML_ERROR_MEMORY;

	if (r != NVML_SUCCESS) {
		free(machine);
		return r;
	}
	machine->before = the_machine;
	atomic_store(&the_machine, machine);
	return r;
}

static enum nvml_return start(void)
{
	enum nvml_return r = NVML_SUCCESS;

	pthread_mutex_lock(&lock);
	if (!the_machine)
		r = load();
	else if (machine_changed(the_machine))
		load();
	if (r == NVML_SUCCESS)
		atomic_fetch_add(&users, 1);
	pthread_mutex_unlock(&lock);
	return r;
}

SERVE_AS(start(), nvmlInit, void)
SERVE_AS(start(), nvmlInit_v2, void)

SERVE(nvmlInitWithFlags, unsigned int flags)
{
	return start();
}

SERVE(nvmlShutdown, void)
{
	enum nvml_return r = NVML_ERROR_UNINITIALIZED;

	pthread_mutex_lock(&lock);
	if (atomic_load(&users)) {
		atomic_fetch_sub(&users, 1);
		r = NVML_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

EXPORT const char *nvmlErrorString(enum nvml_return code);
EXPORT const char *nvmlErrorString(enum nvml_return code)
{
	return nvml_text(code);
}

enum nvml_return give_text(char *ret, unsigned int size, const char *text)
{
	if (!ret)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (strlen(text) >= size)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(ret, text, strlen(text) + 1);
	return NVML_SUCCESS;
}

static const char *driver_of(const struct machine *machine)
{
	return machine->inventory->driver ? machine->inventory->driver : NVML_MADE_UP_DRIVER;
}

SERVE(nvmlSystemGetDriverVersion, char *text, unsigned int size)
{
	const struct machine *machine = machine_get();

	if (!machine)
		return NVML_ERROR_UNINITIALIZED;
	return give_text(text, size, driver_of(machine));
}

static enum nvml_return give_cuda_version(int *version)
{
	const struct machine *machine = machine_get();
	int cuda;

	if (!machine)
		return NVML_ERROR_UNINITIALIZED;
	if (!version)
		return NVML_ERROR_INVALID_ARGUMENT;
	cuda = nvml_cuda_of_driver(driver_of(machine));
	if (!cuda)
		return NVML_ERROR_NOT_SUPPORTED;
	*version = cuda;
	return NVML_SUCCESS;
}

SERVE_AS(give_cuda_version(version), nvmlSystemGetCudaDriverVersion, int *version)
SERVE_AS(give_cuda_version(version), nvmlSystemGetCudaDriverVersion_v2, int *version)

/* The real version is the driver's, after the major version of CUDA: "12.570.124.06". */
SERVE(nvmlSystemGetNVMLVersion, char *text, unsigned int size)
{
	const struct machine *machine = machine_get();
	char version[128];

	if (!machine)
		return NVML_ERROR_UNINITIALIZED;
	snprintf(version, sizeof(version), "%d.%s", nvml_cuda_of_driver(driver_of(machine)) / 1000,
		 driver_of(machine));
	return give_text(text, size, version);
}

SERVE(nvmlSystemGetProcessName, unsigned int pid, char *name, unsigned int size)
{
	return machine_get() ? NVML_ERROR_NOT_FOUND : NVML_ERROR_UNINITIALIZED;
}
