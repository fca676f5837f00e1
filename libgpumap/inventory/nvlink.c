/* SPDX-License-Identifier: MIT */
/*
 * nvidia-smi nvlink -s: the lines of nvidia-smi -L, each followed by the links of that GPU. The
 * list has the links' speeds but not their other ends, so neighbours stay unknown.
 */
#include "inventory/recorded.h"

static bool is_link(struct span s)
{
	int64_t link;

	if (!span_skip(&s, "Link "))
		return false;
	link = take_number(&s);
	return link >= 0 && span_skip(&s, ":") && s.length && is_space(*s.text);
}

static int read_line(struct recorded *r, const struct line *line)
{
	struct span s = line->body;

	if (!is_link(s) && !(span_starts(s, "NVML: Unable to retrieve N") && span_has(s, "ink ")))
		return 0;
	if (r->list.gpu < 0)
		recorded_partial(r, "record it again, from the start",
				 "the line of a link's GPU is missing");
	return 1;
}

const struct format nvlink_format = {.name = "nvidia-smi nvlink -s", .line = read_line};
