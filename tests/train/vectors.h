/* SPDX-License-Identifier: MIT */
/* For test vectors: rows of a table, and FNV-1a of 64 bits, which stands for a long array. */
#ifndef TRAIN_VECTORS_H
#define TRAIN_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

static inline uint64_t fnv1a(const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3u;
	return hash;
}

#endif
