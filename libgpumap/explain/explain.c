/* SPDX-License-Identifier: MIT */
#include "explain/explain.h"

static int finish(char **ret, struct strbuf *buf)
{
	char *text = strbuf_take(buf);

	if (!text)
		return GPUMAP_ENOMEM;
	*ret = text;
	return GPUMAP_OK;
}

EXPORT int gpumap_explain(char **ret, const gpumap_mapping *mapping, const gpumap_report *report,
			  enum gpumap_format format)
{
	struct strbuf buf = {.styled = format == GPUMAP_COLORED_TEXT};

	switch (format) {
	case GPUMAP_FORMAT_TEXT:
	case GPUMAP_COLORED_TEXT:
		explain_text(&buf, mapping, report);
		break;
	case GPUMAP_FORMAT_JSON:
		explain_json(&buf, mapping, report);
		break;
	case GPUMAP_FORMAT_SVG:
		explain_svg(&buf, mapping, report);
		break;
	default:
		return GPUMAP_EINPUT;
	}
	return finish(ret, &buf);
}

EXPORT int gpumap_inventory_json(char **ret, const gpumap_inventory *inventory,
				 const gpumap_report *report)
{
	struct strbuf buf = {0};

	inventory_json(&buf, inventory, report);
	return finish(ret, &buf);
}
