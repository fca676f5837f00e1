/* SPDX-License-Identifier: MIT */
#include "explain/plan.h"

#include "explain/json.h"

EXPORT int gpumap_plan_text(char **ret, const gpumap_plan *plan, const gpumap_report *report,
			    enum gpumap_format format, int origins)
{
	struct strbuf buf = {.styled = format == GPUMAP_COLORED_TEXT};
	bool failed = false;
	char *text;

	if (format == GPUMAP_FORMAT_JSON) {
		json_t *o = plan_json(plan, report, &failed);

		json_dump(&buf, o, failed);
	} else if (format == GPUMAP_FORMAT_SVG) {
		plan_svg(&buf, plan, report);
	} else if (plan) {
		plan_text(&buf, plan, origins);
	}
	text = strbuf_take(&buf);
	if (!text)
		return GPUMAP_ENOMEM;
	*ret = text;
	return GPUMAP_OK;
}
