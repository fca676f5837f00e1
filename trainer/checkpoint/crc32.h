/* SPDX-License-Identifier: MIT */
/*
 * CRC-32, as zlib's crc32() and Python's zlib.crc32 count it: the polynomial 0x04c11db7 with the
 * lowest bit first (0xedb88320), all ones before and inverted after. It detects every change within
 * 32 successive bits, and any other with a probability of 1 - 2^-32.
 */
#ifndef TRAIN_CRC32_H
#define TRAIN_CRC32_H

#include <stddef.h>
#include <stdint.h>

struct crc32 {
	uint32_t value;          /* of the bytes so far; 0 of none */
	uint32_t table[16][256]; /* [k][b]: the CRC of byte b with k bytes after it */
};

void crc32_begin(struct crc32 *crc);
void crc32_add(struct crc32 *crc, const void *bytes, size_t size);

#endif
