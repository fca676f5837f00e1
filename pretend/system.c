/* SPDX-License-Identifier: MIT */
/* Start and end of the library, and facts about the whole system. */
#include "pretend.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "inventory/nvml.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct machine the_machine;
static atomic_uint users; /* calls of nvmlInit without their nvmlShutdown */

/* The machine stays until the library is unloaded: one thread may use it while another shuts down.
 */
__attribute__((destructor)) static void unload(void)
{
	machine_free(&the_machine);
}

const struct machine *machine_get(void)
{
	return atomic_load(&users) ? &the_machine : NULL;
}

static enum nvml_return start(void)
{
	enum nvml_return r = NVML_SUCCESS;

	pthread_mutex_lock(&lock);
	if (!the_machine.units)
		r = machine_load(&the_machine);
	if (r == NVML_SUCCESS)
		atomic_fetch_add(&users, 1);
	pthread_mutex_unlock(&lock);
	return r;
}

SERVE(nvmlInit, void)
{
	return start();
}

SERVE(nvmlInit_v2, void)
{
	return start();
}

SERVE(nvmlInitWithFlags, unsigned int flags)
{
	(void)flags; /* "no GPU is not an error", "do not attach": both apply here */
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

/* The newest CUDA for each branch of drivers, as nvidia-smi prints it; from the table in NVIDIA's
 * release notes. */
static int cuda_version(const char *driver)
{
	static const struct {
		int branch, cuda;
	} rows[] = {
		{590, 13010}, {580, 13000}, {575, 12090}, {570, 12080}, {565, 12070}, {560, 12060},
		{555, 12050}, {550, 12040}, {545, 12030}, {535, 12020}, {530, 12010}, {525, 12000},
		{520, 11080}, {515, 11070}, {510, 11060}, {495, 11050}, {470, 11040}, {465, 11030},
		{460, 11020}, {455, 11010}, {450, 11000}, {440, 10020}, {418, 10010}, {410, 10000},
		{396, 9020},  {390, 9010},  {384, 9000},  {375, 8000},  {352, 7050},  {346, 7000},
	};
	long branch = driver ? strtol(driver, NULL, 10) : 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (branch >= rows[i].branch)
			return rows[i].cuda;
	return 0;
}

static enum nvml_return give_cuda_version(int *version)
{
	const struct machine *machine = machine_get();
	int cuda;

	if (!machine)
		return NVML_ERROR_UNINITIALIZED;
	if (!version)
		return NVML_ERROR_INVALID_ARGUMENT;
	cuda = cuda_version(driver_of(machine));
	if (!cuda)
		return NVML_ERROR_NOT_SUPPORTED;
	*version = cuda;
	return NVML_SUCCESS;
}

SERVE(nvmlSystemGetCudaDriverVersion, int *version)
{
	return give_cuda_version(version);
}

SERVE(nvmlSystemGetCudaDriverVersion_v2, int *version)
{
	return give_cuda_version(version);
}

/* The real version is the driver's, after the major version of CUDA: "12.570.124.06". */
SERVE(nvmlSystemGetNVMLVersion, char *text, unsigned int size)
{
	const struct machine *machine = machine_get();
	char version[128];

	if (!machine)
		return NVML_ERROR_UNINITIALIZED;
	snprintf(version, sizeof(version), "%d.%s", cuda_version(driver_of(machine)) / 1000,
		 driver_of(machine));
	return give_text(text, size, version);
}

SERVE(nvmlSystemGetProcessName, unsigned int pid, char *name, unsigned int size)
{
	(void)pid;
	(void)name;
	(void)size;
	return machine_get() ? NVML_ERROR_NOT_FOUND : NVML_ERROR_UNINITIALIZED;
}
