/* SPDX-License-Identifier: MIT */
/* Rule H1: the lists of AMD's GPUs. HIP's counts inside that of ROCR. */
#include "resolve/resolve.h"

bool amd_empty_is_unset(const struct resolver *resolver, enum variable variable)
{
	return resolver->dialect == DIALECT_HIP && variable != VARIABLE_ROCR_VISIBLE;
}

bool amd_list_counts(const struct resolver *resolver, enum variable variable)
{
	const struct effective *list = &resolver->effective[variable];

	return list->set && (*list->value || !amd_empty_is_unset(resolver, variable));
}

void amd_report_unread(struct resolver *resolver)
{
	const gpumap_request *request = resolver->request;
	const struct statement *amd = NULL;

	for (size_t i = 0; i < request->count; i++) {
		const struct statement *s = &request->statements[i];

		if (s->variable == VARIABLE_CUDA_VISIBLE || s->source != SOURCE_ENVIRONMENT)
			return;
		if (s->variable == VARIABLE_HIP_VISIBLE || s->variable == VARIABLE_ROCR_VISIBLE)
			amd = s;
	}
	if (amd && !dialect_reads(resolver->dialect, amd->variable))
		report_add(resolver->report, FINDING_IGNORED_KEY,
			   ABOUT(.rule = "H1", .origin = amd->origin,
				 .fix = "for a program on AMD's GPUs set GPUMAP_DIALECT=hip, or "
					"give --dialect hip to gpumap explain"),
			   "%s is not read in dialect %s", variable_name(amd->variable),
			   request_dialect_name(request));
}

int amd_enter_rocr(struct resolver *resolver)
{
	const struct effective *rocr = &resolver->effective[VARIABLE_ROCR_VISIBLE];

	return rocr->set ? view_enter(resolver, DIALECT_ROCR, rocr, "ROCR") : GPUMAP_OK;
}

static void explain_hip(struct resolver *resolver, const struct effective *list)
{
	const struct effective *rocr = &resolver->effective[VARIABLE_ROCR_VISIBLE];

	if (list == &resolver->effective[VARIABLE_CUDA_VISIBLE])
		step_add(resolver, "H1", list->origin,
			 "CUDA_VISIBLE_DEVICES takes the place of HIP_VISIBLE_DEVICES");
	if (!rocr->set)
		return;
	step_add(resolver, "H1", list->origin,
		 "HIP's numbers count in the view of ROCR_VISIBLE_DEVICES");
	if (view_list_repeats(list, rocr->value))
		report_add(resolver->report, FINDING_DOUBLE_FILTER,
			   ABOUT(.rule = "H1", .origin = list->origin,
				 .fix = "set one of the two, or count from 0 in the inner one"),
			   "%s filters twice: its numbers count inside ROCR_VISIBLE_DEVICES=%s",
			   QUOTE(span_of(list->value)), QUOTE(span_of(rocr->value)));
}

const struct effective *amd_hip_list(struct resolver *resolver)
{
	enum variable variable = amd_list_counts(resolver, VARIABLE_HIP_VISIBLE)
					 ? VARIABLE_HIP_VISIBLE
					 : VARIABLE_CUDA_VISIBLE;
	const struct effective *list = &resolver->effective[variable];

	if (amd_list_counts(resolver, variable)) {
		explain_hip(resolver, list);
		return list;
	}
	step_add(resolver, "S5", NULL,
		 resolver->request->has_environ ? "neither HIP_VISIBLE_DEVICES nor "
						  "CUDA_VISIBLE_DEVICES is set: every device"
						: NO_LIST_GIVEN);
	return NULL;
}
