/* SPDX-License-Identifier: MIT */
#include "nvml_library.h"

#include "dynlib.h"

const char *nvml_text(enum nvml_return code)
{
	switch (code) {
#define RETURN_TEXT(value, name, text) \
	case name: \
		return text;
		NVML_RETURNS(RETURN_TEXT)
#undef RETURN_TEXT
	default:
		return "unknown error";
	}
}

static const struct dynlib_function functions[] = {
#define FUNCTION(need, member, function) \
	{#function, offsetof(struct nvml, member), (need) == NVML_WANTED},
	NVML_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

enum nvml_return nvml_open(struct nvml *ret, const char **missing)
{
	ret->library = dynlib_open(NVML_LIBRARY, functions, ARRAY_SIZE(functions), ret, missing);
	if (ret->library)
		return NVML_SUCCESS;
	return *missing ? NVML_ERROR_FUNCTION_NOT_FOUND : NVML_ERROR_LIBRARY_NOT_FOUND;
}
