/* SPDX-License-Identifier: MIT */
/* What libcuda says about this process. It is asked only if it is loaded already, and by functions
 * that initialise nothing. */
#include "module.h"

#include <dlfcn.h>
#include <stdio.h>

#include "base.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 3 };

struct driver {
	int (*count)(int *count);
	int (*get)(int *device, int ordinal);
	int (*uuid)(unsigned char uuid[16], int device);
	int (*current)(int *device);
};

static bool find(const void *library, const char *name, void *function)
{
	*(void **)function = dlsym((void *)(uintptr_t)library, name);
	return *(void **)function;
}

/* "8-4-4-4-12" hexadecimal digits: GPU- or MIG- before them is not known here. */
static PyObject *uuid_value(const void *from, size_t ordinal)
{
	const struct driver *driver = from;
	unsigned char bytes[16];
	char text[40], *end = text;
	int device;

	if (!driver->get || !driver->uuid || driver->get(&device, (int)ordinal) != SUCCESS ||
	    driver->uuid(bytes, device) != SUCCESS)
		return text_value(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(bytes); i++)
		end += snprintf(end, 4, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				bytes[i]);
	return text_value(text);
}

/* (True, UUIDs of cuda:0 on or None for those that it does not say, the current device or -1) if
 * CUDA has started in this process, (False,
 * (), -1) if not, (None, (), -1) if libcuda does not say. */
static PyObject *state_of(const void *library)
{
	struct driver driver;
	int count = 0, current = -1, r;

	if (!find(library, "cuDeviceGetCount", &driver.count))
		return Py_BuildValue("(O()i)", Py_None, -1);
	r = driver.count(&count);
	/* cuInit fails without a device. */
	if (r != SUCCESS || count < 1)
		return Py_BuildValue("(O()i)", r == NOT_INITIALIZED ? Py_False : Py_None, -1);
	if (find(library, "cuCtxGetDevice", &driver.current) && driver.current(&current) != SUCCESS)
		current = -1;
	find(library, "cuDeviceGet", &driver.get);
	if (!find(library, "cuDeviceGetUuid_v2", &driver.uuid))
		find(library, "cuDeviceGetUuid", &driver.uuid);
	return Py_BuildValue("(ONi)", Py_True, tuple_of((size_t)count, uuid_value, &driver),
			     current);
}

PyObject *cuda_of_process(PyObject *module, PyObject *unused)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	PyObject *ret;

	if (!library)
		return Py_BuildValue("(O()i)", Py_False, -1);
	ret = state_of(library);
	dlclose(library);
	return ret;
}
