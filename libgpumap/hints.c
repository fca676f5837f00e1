/* SPDX-License-Identifier: MIT */
/* Rules L2, L3 and L5: variables that are seen but decide nothing. */
#include "resolve.h"

static void slurm_lists(struct resolver *resolver)
{
	static const enum variable lists[] = {VARIABLE_SLURM_STEP_GPUS, VARIABLE_SLURM_JOB_GPUS};
	bool gpus = false;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct statement *s = request_said(resolver->request, lists[i]);

		if (!s)
			continue;
		gpus = true;
		step_add(resolver, "L3", s->origin,
			 arena_printf(resolver->arena,
				      "%s=%s is in the host's numbers: not used here",
				      variable_name(lists[i]), QUOTE(span_of(s->value))));
	}
	if (!gpus && request_said(resolver->request, VARIABLE_SLURM_JOB) &&
	    !resolver->holding[VARIABLE_CUDA_VISIBLE].set && !resolver->request->values[KEY_cgroup])
		report_add(resolver->report, FINDING_ADVICE_ONLY,
			   ABOUT(.rule = "L5", .origin = "environment",
				 .fix = "ask for GPUs: --gpus-per-node=N"),
			   "this Slurm job was granted no GPU, and without a device cgroup it sees "
			   "all");
}

/* A host's list counts in the wrong view inside a container. */
static void leaked_list(struct resolver *resolver)
{
	const struct holding *list = &resolver->holding[VARIABLE_CUDA_VISIBLE];
	const gpumap_mapping *mapping = resolver->mapping;

	if (!resolver->request->values[KEY_container] || !list->set || !mapping->ended_text ||
	    !resolver->view.count)
		return;
	if (!mapping->ended_reason || !streq(mapping->ended_reason, "no such device"))
		return;
	report_add(resolver->report, FINDING_LEAKED_LIST,
		   ABOUT(.rule = "L2", .origin = list->origin,
			 .fix = "do not pass the host's list into a container, or use UUIDs"),
		   "the container has %zu GPU%s, numbered from 0: %s looks like the host's numbers",
		   resolver->view.count, resolver->view.count == 1 ? "" : "s",
		   QUOTE(span_of(list->value)));
}

void hints_report(struct resolver *resolver)
{
	const struct statement *nvidia = request_said(resolver->request, VARIABLE_NVIDIA_VISIBLE);

	slurm_lists(resolver);
	leaked_list(resolver);
	if (nvidia && !resolver->request->values[KEY_container])
		report_add(
			resolver->report, FINDING_REQUEST_NOT_PROOF,
			ABOUT(.rule = "L2", .origin = nvidia->origin,
			      .fix = "give --container LIST for the host's numbers"),
			"NVIDIA_VISIBLE_DEVICES=%s asks the container runtime for devices; what it "
			"granted is what nvidia-smi shows inside",
			QUOTE(span_of(nvidia->value)));
}
