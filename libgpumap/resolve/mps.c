/* SPDX-License-Identifier: MIT */
/* Rule L4: the list of an MPS server, inside which its clients count. */
#include "resolve/resolve.h"

int mps_enter(struct resolver *resolver)
{
	const char *server = resolver->request->values[KEY_mps_server];
	struct effective effective = {
		.set = true,
		.value = server,
		.origin = resolver->request->origins[KEY_mps_server],
	};
	int r;

	if (!server)
		return GPUMAP_OK;
	r = view_enter(resolver, DIALECT_DRIVER, &effective, "MPS server");
	if (r != GPUMAP_OK)
		return r;
	step_add(resolver, "L4", effective.origin,
		 arena_printf(resolver->arena,
			      "the MPS server sees %s; the client's numbers count in that",
			      QUOTE(span_of(server))));
	if (view_list_repeats(&resolver->effective[VARIABLE_CUDA_VISIBLE], server))
		answer_no(resolver, FINDING_MPS_REPEATED,
			  ABOUT(.rule = "L4",
				.origin = resolver->effective[VARIABLE_CUDA_VISIBLE].origin,
				.fix = "unset the client's list, or use UUIDs in both"),
			  "the client repeats the MPS server's list %s, but its numbers count "
			  "inside it",
			  QUOTE(span_of(server)));
	return GPUMAP_OK;
}
