/* SPDX-License-Identifier: MIT */
/* A recorded machine all of whose files are the input: texts, the loader's cache, registers of PCI
 * bridges, and a library of ELF. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/doctor.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/fuzz-doctor-XXXXXX";
static int input = -1;

#define SITE "/v/lib/python3.11/site-packages/"

/* These are links to the input. */
static const char *const links[] = {
	"/etc/os-release",
	"/etc/ld.so.cache",
	"/etc/hostname",
	"/proc/version",
	"/proc/modules",
	"/proc/uptime",
	"/proc/self/limits",
	"/proc/self/mounts",
	"/proc/self/status",
	"/proc/self/cgroup",
	"/proc/self/environ",
	"/proc/net/unix",
	"/proc/driver/nvidia/gpus/0000:07:00.0/information",
	"/sys/fs/cgroup/devices/devices.list",
	"/sys/bus/pci/devices/0000:07:00.0/local_cpulist",
	"/sys/bus/pci/devices/0000:07:00.0/numa_node",
	"/sys/bus/pci/devices/0000:06:00.0/config",
	"/usr/local/cuda/version.json",
	"/usr/local/cuda/version.txt",
	"/var/log/dmesg",
	"/dev/nvidia0",
	"/tmp/nvidia-mps/control",
	"/v/pyvenv.cfg",
	SITE "torch/lib/libtorch_cuda.so",
	SITE "tensorflow/python/platform/build_info.py",
};

/* These are as on a machine with a GPU. */
static const struct {
	const char *path, *text;
} texts[] = {
	{"/proc/driver/nvidia/version", "NVRM version: Module  570.86.15  x\n"},
	{"/sys/bus/pci/devices/0000:07:00.0/vendor", "0x10de\n"},
	{"/sys/bus/pci/devices/0000:07:00.0/class", "0x030200\n"},
	{"/sys/bus/pci/devices/0000:06:00.0/class", "0x060400\n"},
	{"/v/bin/python3.11", "\177ELF"},
	{SITE "tensorflow/__init__.py", ""},
	{SITE "torch/version.py", "__version__ = '2.5.1'\ncuda = '12.4'\n"},
};

/* The path below the root, whose folders are made. */
static const char *below(const char *path)
{
	static char full[512];

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *p = full + sizeof(root); (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		if (mkdir(full, 0700) != 0 && errno != EEXIST)
			abort();
	}
	return full;
}

static int drop(const char *path, const struct stat *about, int kind, struct FTW *walk)
{
	return remove(path);
}

static void drop_root(void)
{
	nftw(root, drop, 8, FTW_DEPTH | FTW_PHYS);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (!mkdtemp(root) || atexit(drop_root) != 0)
		abort();
	input = open(below("/input"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		if (symlink("/input", below(links[i])) != 0)
			abort();
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		FILE *file = fopen(below(texts[i].path), "w");

		if (!file || fputs(texts[i].text, file) < 0 || fclose(file) != 0)
			abort();
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const nothing[] = {NULL}, *const program[] = {"/v/bin/python3.11", NULL};
	struct doctor_options options = {.root = root, .environ = nothing, .program = program};
	struct doctor *doctor = NULL;
	struct strbuf text = {0};

	if (ftruncate(input, 0) != 0 || pwrite(input, data, size, 0) != (ssize_t)size)
		abort();
	if (doctor_new(&doctor, &options, NULL) == GPUMAP_OK) {
		doctor_text(&text, doctor);
		doctor_json(&text, doctor);
		doctor_free(doctor);
	}
	strbuf_free(&text);
	return 0;
}
