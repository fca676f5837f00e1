/* SPDX-License-Identifier: MIT */
/* The public view of rankenv.h. */
#include "request/rankenv.h"

EXPORT const char *gpumap_request_identity_str(const gpumap_request *request,
					       enum gpumap_identity_str_attr attr)
{
	struct rank_identity rows[RANKENV_ROWS];

	if (!request || attr != GPUMAP_IDENTITY_LAUNCHER || !rankenv_read(rows, request, NULL))
		return NULL;
	return rows[0].row;
}

static int64_t local_rank(const gpumap_request *request, const struct rank_identity *identity)
{
	int64_t given = request_number(request, KEY_local_rank);

	return given >= 0 ? given : identity->local_rank;
}

EXPORT int64_t gpumap_request_identity_int(const gpumap_request *request,
					   enum gpumap_identity_int_attr attr)
{
	struct rank_identity rows[RANKENV_ROWS] = {{.rank = -1,
						    .size = -1,
						    .local_rank = -1,
						    .local_size = -1,
						    .node_rank = -1,
						    .nodes = -1}};

	if (!request)
		return -1;
	rankenv_read(rows, request, NULL);
	switch (attr) {
	case GPUMAP_IDENTITY_RANK:
		return rows[0].rank;
	case GPUMAP_IDENTITY_WORLD_SIZE:
		return rows[0].size;
	case GPUMAP_IDENTITY_LOCAL_RANK:
		return local_rank(request, &rows[0]);
	case GPUMAP_IDENTITY_LOCAL_SIZE:
		return rows[0].local_size;
	case GPUMAP_IDENTITY_NODE_RANK:
		return rows[0].node_rank;
	case GPUMAP_IDENTITY_NODES:
		return rows[0].nodes;
	default:
		return -1;
	}
}
