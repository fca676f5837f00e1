/* SPDX-License-Identifier: MIT */
/* The version of the library. */
#include "config.h"

#include "gpumap.h"

#include "base.h"

EXPORT const char *gpumap_version(void)
{
	return PACKAGE_VERSION;
}

EXPORT const char *gpumap_strerror(int code)
{
	switch (code) {
#define CODE_TEXT(value, name, meaning) \
	case value: \
		return meaning;
		GPUMAP_CODES(CODE_TEXT)
#undef CODE_TEXT
	default:
		return "unknown code";
	}
}
