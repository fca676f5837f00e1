/* SPDX-License-Identifier: MIT */
/* The forms in which each object can be written out. */
#include "explain/explain.h"

#include "explain/json.h"
#include "explain/plan.h"
#include "inventory/inventory.h"
#include "profile/profile.h"

int format_finish(char **ret, struct strbuf *buf)
{
	char *text = strbuf_take(buf);

	if (!text)
		return GPUMAP_ENOMEM;
	*ret = text;
	return GPUMAP_OK;
}

bool format_flags_known(unsigned flags)
{
	return !(flags & ~(GPUMAP_FORMAT_FLAG_COLORS | GPUMAP_FORMAT_FLAG_ORIGINS));
}

EXPORT int gpumap_mapping_format(char **ret, const gpumap_mapping *mapping,
				 enum gpumap_format format, unsigned flags,
				 const gpumap_report *report)
{
	struct strbuf buf = {.styled = flags & GPUMAP_FORMAT_FLAG_COLORS};

	if (!format_flags_known(flags))
		return GPUMAP_EINPUT;
	if (format == GPUMAP_FORMAT_TEXT)
		mapping_text(&buf, mapping, report);
	else if (format == GPUMAP_FORMAT_JSON)
		mapping_json(&buf, mapping, report);
	else if (format == GPUMAP_FORMAT_SVG)
		mapping_svg(&buf, mapping, report);
	else
		return GPUMAP_EINPUT;
	return format_finish(ret, &buf);
}

EXPORT int gpumap_inventory_format(char **ret, const gpumap_inventory *inventory,
				   enum gpumap_format format, unsigned flags,
				   const gpumap_report *report)
{
	CLEANUP(strbuf_free) struct strbuf buf = {0};
	const char *too_long = NULL;
	int limit;

	if (!format_flags_known(flags))
		return GPUMAP_EINPUT;
	if (format == GPUMAP_FORMAT_JSON)
		inventory_json(&buf, inventory, report);
	else if (format == GPUMAP_FORMAT_INI && inventory)
		too_long = snapshot_write(&buf, inventory, &limit);
	else
		return GPUMAP_EINPUT;
	return too_long && !buf.failed ? GPUMAP_ELIMIT : format_finish(ret, &buf);
}

EXPORT int gpumap_profile_format_keys(char **ret, const gpumap_profile *profile,
				      const char *const *keys, enum gpumap_format format,
				      unsigned flags, const gpumap_report *report)
{
	struct strbuf buf = {0};

	if (format != GPUMAP_FORMAT_JSON || !format_flags_known(flags))
		return GPUMAP_EINPUT;
	profile_json(&buf, profile, keys, report);
	return format_finish(ret, &buf);
}

EXPORT int gpumap_profile_format(char **ret, const gpumap_profile *profile,
				 enum gpumap_format format, unsigned flags,
				 const gpumap_report *report)
{
	struct strbuf buf = {0};

	if (format != GPUMAP_FORMAT_INI)
		return gpumap_profile_format_keys(ret, profile, NULL, format, flags, report);
	if (!format_flags_known(flags) || !profile)
		return GPUMAP_EINPUT;
	profile_write(&buf, profile, flags & GPUMAP_FORMAT_FLAG_ORIGINS);
	return format_finish(ret, &buf);
}

EXPORT int gpumap_plan_format(char **ret, const gpumap_plan *plan, enum gpumap_format format,
			      unsigned flags, const gpumap_report *report)
{
	struct strbuf buf = {.styled = flags & GPUMAP_FORMAT_FLAG_COLORS};

	if (!format_flags_known(flags))
		return GPUMAP_EINPUT;
	if (format == GPUMAP_FORMAT_TEXT && plan) {
		plan_text(&buf, plan, flags & GPUMAP_FORMAT_FLAG_ORIGINS);
	} else if (format == GPUMAP_FORMAT_JSON) {
		json_dump(&buf, plan_json(plan, report));
	} else if (format == GPUMAP_FORMAT_SVG) {
		plan_svg(&buf, plan, report);
	} else if (format != GPUMAP_FORMAT_TEXT) {
		return GPUMAP_EINPUT;
	}
	return format_finish(ret, &buf);
}
