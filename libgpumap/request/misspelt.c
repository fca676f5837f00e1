/* SPDX-License-Identifier: MIT */
/* Rule S7: a variable whose name is nearly one that decides, which no program reads. */
#include "report/report.h"
#include "request/request.h"
#include "suggest.h"

/* jsrun and others number variables: CUDA_VISIBLE_DEVICES0. */
static bool numbered(struct span name, const char *variable)
{
	size_t i = strlen(variable);

	if (!span_starts(name, variable))
		return false;
	if (i < name.length && name.text[i] == '_')
		i++;
	if (i == name.length)
		return false;
	while (i < name.length && is_digit(name.text[i]))
		i++;
	return i == name.length;
}

/* Variables of other makers, whose names are near but not misspelt. */
static bool of_others(struct span name)
{
	return span_is_any(name, "MUSA_VISIBLE_DEVICES MUSA_DEVICE_ORDER HPU_VISIBLE_DEVICES "
				 "XPU_VISIBLE_DEVICES NPU_VISIBLE_DEVICES TPU_VISIBLE_DEVICES "
				 "MLU_VISIBLE_DEVICES GCU_VISIBLE_DEVICES");
}

const char *misspelt_variable(struct span name)
{
	enum variable known;
	char copy[64];
	struct span upper = {copy, name.length};

	if (variable_find(name, &known) || name.length >= sizeof(copy))
		return NULL;
	/* Lower case is a mistake too: names of variables are exact. */
	for (size_t i = 0; i < name.length; i++)
		copy[i] = name.text[i] >= 'a' && name.text[i] <= 'z' ? (char)(name.text[i] - 32)
								     : name.text[i];
	for (size_t i = 0; i <= VARIABLE_NVIDIA_VISIBLE; i++) {
		const char *known_name = variable_name((enum variable)i);

		if (edit_distance(upper, known_name, 2) <= 2 && !numbered(upper, known_name))
			return of_others(name) ? NULL : known_name;
	}
	return NULL;
}

void misspelt_report(struct span name, const char *near, gpumap_report *report)
{
	if (near)
		report_add(report, FINDING_MISSPELT_VARIABLE,
			   ABOUT(.rule = "S7", .origin = "environment",
				 .fix = DID_YOU_MEAN(near, NULL)),
			   "no program reads %s", QUOTE(name));
}

void variable_report_misspelt(struct span name, gpumap_report *report)
{
	misspelt_report(name, misspelt_variable(name), report);
}

void environ_report_misspelt(const char *const *envp, gpumap_report *report)
{
	for (; *envp; envp++) {
		struct span name = {*envp, strcspn(*envp, "=")};

		variable_report_misspelt(name, report);
	}
}
