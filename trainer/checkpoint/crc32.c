/* SPDX-License-Identifier: MIT */
/* See crc32.h. */
#include "checkpoint/crc32.h"

#include <string.h>

static const uint32_t polynomial = 0xedb88320;

void crc32_begin(struct crc32 *crc)
{
	crc->value = 0;
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t rest = byte;

		for (int bit = 0; bit < 8; bit++)
			rest = rest >> 1 ^ (rest & 1 ? polynomial : 0);
		crc->table[0][byte] = rest;
	}
	for (int k = 1; k < 16; k++)
		for (int byte = 0; byte < 256; byte++) {
			uint32_t rest = crc->table[k - 1][byte];

			crc->table[k][byte] = rest >> 8 ^ crc->table[0][rest & 0xff];
		}
}

/* The CRC of four bytes with `after` bytes after them. */
static inline uint32_t four(const struct crc32 *crc, uint32_t bytes, int after)
{
	return crc->table[after + 3][bytes & 0xff] ^ crc->table[after + 2][bytes >> 8 & 0xff] ^
	       crc->table[after + 1][bytes >> 16 & 0xff] ^ crc->table[after][bytes >> 24];
}

/* 16 bytes at a time, because the look-ups of one step do not wait for each other. */
void crc32_add(struct crc32 *crc, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint32_t value = ~crc->value;

	for (; size >= 16; size -= 16, at += 16) {
		uint32_t words[4];

		memcpy(words, at, sizeof(words));
		value = four(crc, words[0] ^ value, 12) ^ four(crc, words[1], 8) ^
			four(crc, words[2], 4) ^ four(crc, words[3], 0);
	}
	for (; size; size--, at++)
		value = value >> 8 ^ crc->table[0][(value ^ *at) & 0xff];
	crc->value = ~value;
}
