/* SPDX-License-Identifier: MIT */
/*
 * The facts about a machine and a command that the records of tests/gpu have:
 *
 *	facts                            the driver and its GPUs
 *	facts watch UUID FILE COMMAND... runs COMMAND; its seconds and the memory of that GPU go to
 *FILE
 *	facts libraries NAME...          which libraries the loader takes for these names
 *
 * Lines of fields that tabs divide: "driver 580.65.06", "cuda 13.0", "gpu 0 NAME UUID PCI BYTES
 * CAPABILITY"; watch: "seconds 1.234", "memory BYTES", the most that was in use meanwhile beyond
 *what was before ("memory -": NVML does not report it). Memory is the whole device's: with what the
 *context and the libraries take, and with that of any other process.
 *
 * libraries: "library NAME PATH VERSION", which is asked of the library.
 *
 * Status: 77 and one line with the reason where there is no GPU; that of COMMAND.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda-driver.h"

enum { NOT_HERE = 77, POLL_NS = 2000000, COMPUTE_MAJOR = 75, COMPUTE_MINOR = 76 };

/* Of NVML's stable binary interface. */
struct nvml_memory {
	unsigned long long total, unused, used;
};

struct nvml {
	int (*init)(void);
	int (*driver_version)(char *text, unsigned size);
	int (*by_uuid)(const char *uuid, void **device);
	int (*memory)(void *device, struct nvml_memory *memory);
};

static bool load_nvml(struct nvml *nvml)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
	*(void **)&nvml->init = dlsym(library, "nvmlInit_v2");
	*(void **)&nvml->driver_version = dlsym(library, "nvmlSystemGetDriverVersion");
	*(void **)&nvml->by_uuid = dlsym(library, "nvmlDeviceGetHandleByUUID");
	*(void **)&nvml->memory = dlsym(library, "nvmlDeviceGetMemoryInfo");
	return nvml->init && nvml->driver_version && nvml->by_uuid && nvml->memory &&
	       nvml->init() == 0;
}

static int not_here(const char *format, int code)
{
	printf(format, code);
	putchar('\n');
	return NOT_HERE;
}

static void print_gpu(const struct cuda_driver *driver, int ordinal)
{
	int (*total)(size_t *, int) = NULL, (*attribute)(int *, int, int) = NULL;
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	char name[256] = "?", pci[32] = "?", uuid[37] = "?";
	struct cuda_uuid bytes;
	int device, major = 0, minor = 0;
	size_t memory = 0;

	if (driver->get(&device, ordinal) != 0)
		return;
	*(void **)&total = dlsym(library, "cuDeviceTotalMem_v2");
	*(void **)&attribute = dlsym(library, "cuDeviceGetAttribute");
	driver->name(name, sizeof(name), device);
	driver->pci(pci, sizeof(pci), device);
	if (driver->uuid(&bytes, device) == 0)
		cuda_uuid_text(uuid, &bytes);
	if (total)
		total(&memory, device);
	if (attribute) {
		attribute(&major, COMPUTE_MAJOR, device);
		attribute(&minor, COMPUTE_MINOR, device);
	}
	printf("gpu\t%d\t%s\tGPU-%s\t%s\t%zu\t%d.%d\n", ordinal, name, uuid, pci, memory, major,
	       minor);
}

static int print_facts(void)
{
	struct cuda_driver driver;
	struct nvml nvml;
	char version[128] = "?";
	int code, cuda = 0, count = 0;

	if (cuda_load(&driver))
		return not_here("no NVIDIA driver (libcuda.so.1)", 0);
	code = driver.init(0);
	if (code == 0)
		code = driver.count(&count);
	if (code != 0 || count == 0)
		return not_here("the driver has no device (code %d)", code);
	if (load_nvml(&nvml))
		nvml.driver_version(version, sizeof(version));
	driver.version(&cuda);
	printf("driver\t%s\ncuda\t%d.%d\n", version, cuda / 1000, cuda % 1000 / 10);
	for (int i = 0; i < count; i++)
		print_gpu(&driver, i);
	return 0;
}

/* --- watch ------------------------------------------------------------------------ */

static unsigned long long used(const struct nvml *nvml, void *device)
{
	struct nvml_memory memory = {0};

	return device && nvml->memory(device, &memory) == 0 ? memory.used : 0;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int status_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int watch(const char *uuid, const char *name, char **command)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	unsigned long long before, max, current;
	struct nvml nvml;
	void *device = NULL;
	double begin;
	int status;
	FILE *file;
	pid_t child, done;

	if (!load_nvml(&nvml) || nvml.by_uuid(uuid, &device) != 0)
		device = NULL;
	before = max = used(&nvml, device);
	begin = now();
	child = fork();
	if (child == 0) {
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	while ((done = waitpid(child, &status, WNOHANG)) == 0 || (done < 0 && errno == EINTR)) {
		current = used(&nvml, device);
		max = current > max ? current : max;
		nanosleep(&pause, NULL);
	}
	file = done == child ? fopen(name, "w") : NULL;
	if (!file) {
		perror(name);
		return 99;
	}
	fprintf(file, "seconds\t%.3f\n", now() - begin);
	if (device)
		fprintf(file, "memory\t%llu\n", max - before);
	else
		fprintf(file, "memory\t-\n");
	return fclose(file) == 0 ? status_of(status) : 99;
}

/* --- libraries --------------------------------------------------------------------- */

static void print_library(const char *name)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL), *cudnn, *cublas, *nccl;
	char *path = NULL;
	Dl_info info;
	int code = 0;
	long version = 0;

	if (!library) {
		printf("library\t%s\t-\t%s\n", name, dlerror());
		return;
	}
	cudnn = dlsym(library, "cudnnGetVersion");
	cublas = dlsym(library, "cublasLtGetVersion");
	nccl = dlsym(library, "ncclGetVersion");
	if (cudnn || cublas)
		version = (long)((size_t(*)(void))(cudnn ? cudnn : cublas))();
	else if (nccl && ((int (*)(int *))nccl)(&code) == 0)
		version = code;
	if ((cudnn || cublas || nccl) && dladdr(cudnn ? cudnn : cublas ? cublas : nccl, &info))
		path = realpath(info.dli_fname, NULL);
	printf("library\t%s\t%s\t%ld\n", name, path ? path : "-", version);
	free(path);
}

int main(int argc, char **argv)
{
	if (argc == 1)
		return print_facts();
	if (argc > 4 && strcmp(argv[1], "watch") == 0)
		return watch(argv[2], argv[3], argv + 4);
	if (argc > 2 && strcmp(argv[1], "libraries") == 0) {
		for (int i = 2; i < argc; i++)
			print_library(argv[i]);
		return 0;
	}
	fprintf(stderr, "usage: facts [libraries NAME... | watch UUID FILE COMMAND...]\n");
	return 2;
}
