/* SPDX-License-Identifier: MIT */
#include "kernels/flat_chunk.h"

#include "kernels/launch.h"

int64_t chunk_cut(struct chunk *chunks, int64_t first, int64_t elements, void *copy,
		  enum value_type copy_type)
{
	int64_t end = first + elements, n = 0;

	for (int64_t at = first, next; at < end; at = next, n++) {
		next = launch_min(at - at % CHUNK_ELEMENTS + CHUNK_ELEMENTS, end);
		if (!chunks)
			continue;
		chunks[n].first = at;
		chunks[n].copy =
			copy ? (char *)copy + (size_t)(at - first) * value_bytes(copy_type) : NULL;
		chunks[n].count = (int32_t)(next - at);
		chunks[n].copy_type = copy_type;
	}
	return n;
}
