/* SPDX-License-Identifier: MIT */
/* The library of `gpumap pretend`, asked through its own functions. */
#ifndef GM_PRETENDED_H
#define GM_PRETENDED_H

#include <dlfcn.h>
#include <string.h>

#include "inventory/nvml.h"
#include "unit.h"

static void *library;

static inline void load(void)
{
	library = dlopen(PRETENDED, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(library, "%s", dlerror());
	unsetenv("GPUMAP_PRETEND_TEXT");
	unsetenv("GPUMAP_PRETEND_INVENTORY");
	unsetenv("GPUMAP_PRETEND_USE");
}

static inline void unload(void)
{
	dlclose(library);
}

/* Calls a function of the library by its name. */
#define CALL(name, types, ...) (((enum nvml_return(*) types)function(#name))(__VA_ARGS__))

static inline void (*function(const char *name))(void)
{
	void *p = dlsym(library, name);
	void (*f)(void);

	ck_assert_msg(p, "%s is missing", name);
	memcpy(&f, &p, sizeof(f));
	return f;
}

#define DEVICE struct nvml_handle *

static inline DEVICE gpu(unsigned int index)
{
	DEVICE device = NULL;

	ck_assert_int_eq(
		CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned int, DEVICE *), index, &device),
		NVML_SUCCESS);
	return device;
}

static inline void start(const char *variable, const char *value)
{
	setenv(variable, value, 1);
	ck_assert_int_eq(CALL(nvmlInit_v2, (void)), NVML_SUCCESS);
}

#endif
