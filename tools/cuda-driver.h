/* SPDX-License-Identifier: MIT */
/*
 * The few entry points of libcuda.so.1 that list devices. None of them creates a context. The
 * declarations are gpumap's own; the numbers and layouts are part of the driver's stable binary
 * interface.
 */
#ifndef GM_CUDA_DRIVER_H
#define GM_CUDA_DRIVER_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cuda_uuid {
	unsigned char bytes[16];
};

struct cuda_driver {
	int (*init)(unsigned flags);
	int (*version)(int *version);
	int (*count)(int *count);
	int (*get)(int *device, int ordinal);
	int (*name)(char *name, int size, int device);
	int (*uuid)(struct cuda_uuid *uuid, int device);
	int (*pci)(char *address, int size, int device);
};

/* Loads libcuda.so.1. Returns NULL, or why it cannot. The library stays loaded until the process
 * ends. */
static inline const char *cuda_load(struct cuda_driver *driver)
{
	const struct {
		const char *name;
		void **function;
	} wanted[] = {
		{"cuInit", (void **)&driver->init},
		{"cuDriverGetVersion", (void **)&driver->version},
		{"cuDeviceGetCount", (void **)&driver->count},
		{"cuDeviceGet", (void **)&driver->get},
		{"cuDeviceGetName", (void **)&driver->name},
		{"cuDeviceGetPCIBusId", (void **)&driver->pci},
	};
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return dlerror();
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		*wanted[i].function = dlsym(library, wanted[i].name);
		if (!*wanted[i].function)
			return dlerror();
	}
	/* The second version gives a MIG instance's own UUID. */
	*(void **)&driver->uuid = dlsym(library, "cuDeviceGetUuid_v2");
	if (!driver->uuid)
		*(void **)&driver->uuid = dlsym(library, "cuDeviceGetUuid");
	return driver->uuid ? NULL : dlerror();
}

/* "8-4-4-4-12" hexadecimal digits. */
static inline void cuda_uuid_text(char ret[37], const struct cuda_uuid *uuid)
{
	char *p = ret;

	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*p++ = '-';
		p += snprintf(p, 3, "%02x", uuid->bytes[i]);
	}
}

#endif
