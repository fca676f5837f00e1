/* SPDX-License-Identifier: MIT */
/*
 * Objects of the library that are freed where their variable ends: OWNED(plan) *plan = NULL;
 * give_plan(ret, plan, r) ends the making of one, with the code of that: it is the caller's, or
 * after a failure it is freed.
 */
#ifndef GM_OWNED_H
#define GM_OWNED_H

#include "base.h"
#include "gpumap.h"

#define OWNED(type) CLEANUP(free_##type) gpumap_##type

#define OWNED_TYPE(type) \
	static inline void free_##type(gpumap_##type **object) \
	{ \
		gpumap_##type##_free(*object); \
	} \
	static inline int give_##type(gpumap_##type **ret, gpumap_##type *object, int r) \
	{ \
		if (r == GPUMAP_OK) \
			*ret = object; \
		else \
			gpumap_##type##_free(object); \
		return r; \
	}
OWNED_TYPE(claim)
OWNED_TYPE(inventory)
OWNED_TYPE(lease)
OWNED_TYPE(mapping)
OWNED_TYPE(plan)
OWNED_TYPE(profile)
OWNED_TYPE(report)
OWNED_TYPE(request)
#undef OWNED_TYPE

/* A new object; NULL without memory, which is all that can be missing. */
#define NEW_TYPE(type) \
	static inline gpumap_##type *new_##type(void) \
	{ \
		gpumap_##type *object = NULL; \
\
		return gpumap_##type##_new(&object) == GPUMAP_OK ? object : NULL; \
	}
NEW_TYPE(report)
NEW_TYPE(request)
#undef NEW_TYPE

#endif
