/* SPDX-License-Identifier: MIT */
/* See color.h. */
#include "cli/color.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/options.h"
#include "text.h"

/* --color applies to everything that the process writes. */
enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
static int color;

bool color_on(int fd)
{
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

	if (color != COLOR_AUTO)
		return color == COLOR_ALWAYS;
	return !(no_color && *no_color) && !(terminal && streq(terminal, "dumb")) && isatty(fd);
}

unsigned color_flags(void)
{
	return color_on(STDOUT_FILENO) ? GPUMAP_FORMAT_FLAG_COLORS : 0;
}

int color_option(const char *value, gpumap_report *report)
{
	return option_word("--color", "auto|always|never", value ? value : "always", &color,
			   report);
}
