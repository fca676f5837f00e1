/* SPDX-License-Identifier: MIT */
/* Finds the GPU that a UUID, or the beginning of one, names: for visible lists, and for the key
 * gpus. */
#ifndef GM_VISIBLE_UUID_H
#define GM_VISIBLE_UUID_H

#include "visible/visible.h"

/* The known UUIDs of a view, sorted. */
struct uuid_names {
	const struct visible_view *view;
	int *by_uuid, *by_mig; /* positions in the view */
	size_t known, known_migs;
	bool ignore_case; /* of GPUs */
	bool plain;       /* GPU- occurs only at the beginning of UUIDs */
};

/* GPUMAP_ENOMEM; free them with uuids_free, also then. */
int uuids_sort(struct uuid_names *names, const struct visible_view *view, bool ignore_case);
void uuids_free(struct uuid_names *names);

/* The GPU whose UUID begins with the text: END_NOT and its position in *gpu. */
enum visible_end uuids_find_gpu(const struct uuid_names *names, struct span text, int *gpu);
/* HIP looks for the text anywhere in the UUID and takes the first device. */
enum visible_end uuids_find_substring(const struct uuid_names *names, struct span text, int *gpu);
/* The MIG instance that MIG-UUID or MIG-GPU-UUID/GI/CI names: its position in *mig (mig.c). */
enum visible_end uuids_find_mig(const struct uuid_names *names, struct span text, int *mig);

#endif
