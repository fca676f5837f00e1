/* SPDX-License-Identifier: MIT */
/*
 * gpumap-ask-driver fastest|pci: prints which devices the CUDA driver counts, in its order, without
 * a visible list. It is a separate process because the driver reads its environment once, may hang
 * or crash, and keeps devices open. The form of the answer is described in
 * libgpumap/inventory/driver.h.
 */
#include "cuda-driver.h"

static int failed(const char *function, int code)
{
	printf("failed\t%s\t%d\n", function, code);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* The driver's message may have several lines. */
static int missing(const char *why)
{
	printf("missing\t%.*s\n", (int)strcspn(why, "\n"), why);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int print_device(const struct cuda_driver *driver, int ordinal)
{
	struct cuda_uuid uuid;
	char text[37], address[32] = "";
	int device, code = driver->get(&device, ordinal);

	if (code)
		return failed("cuDeviceGet", code);
	code = driver->uuid(&uuid, device);
	if (code)
		return failed("cuDeviceGetUuid", code);
	code = driver->pci(address, sizeof(address), device);
	if (code)
		return failed("cuDeviceGetPCIBusId", code);
	cuda_uuid_text(text, &uuid);
	printf("device\t%d\t%s\t%s\n", ordinal, text, address);
	return -1;
}

static int ask(void)
{
	struct cuda_driver driver;
	const char *why = cuda_load(&driver);
	int code, version, count;

	if (why)
		return missing(why);
	code = driver.init(0);
	if (code)
		return failed("cuInit", code);
	code = driver.version(&version);
	if (code)
		return failed("cuDriverGetVersion", code);
	printf("driver\t%d\n", version);
	code = driver.count(&count);
	if (code)
		return failed("cuDeviceGetCount", code);
	for (int i = 0; i < count; i++) {
		int status = print_device(&driver, i);

		if (status >= 0)
			return status;
	}
	printf("end\t%d\n", count);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	int bad = 0;

	if (argc != 2 || (strcmp(argv[1], "fastest") != 0 && strcmp(argv[1], "pci") != 0)) {
		fprintf(stderr, "usage: gpumap-ask-driver fastest|pci\n"
				"It answers gpumap inventory --ask-driver.\n");
		return 2;
	}
	bad |= unsetenv("CUDA_VISIBLE_DEVICES");
	if (strcmp(argv[1], "pci") == 0)
		bad |= setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
	else
		bad |= unsetenv("CUDA_DEVICE_ORDER");
	if (bad) {
		perror("gpumap-ask-driver");
		return EXIT_FAILURE;
	}
	printf("gpumap-ask-driver\t1\n");
	return ask();
}
