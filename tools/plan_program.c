/* SPDX-License-Identifier: MIT */
/* What a profile leaves open of its program, read from the program itself. */
#include "plan_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lint/python.h"
#include "readfile.h"
#include "report.h"
#include "strbuf.h"

enum { MOST_PROGRAM = 4 << 20 };

const char *plan_script(const char *const *arguments, size_t count)
{
	const char *slash = count ? strrchr(arguments[0], '/') : NULL;
	size_t length, i = 1;

	if (!count || !starts_with(slash ? slash + 1 : arguments[0], "python"))
		return NULL;
	/* Those options of python that are letters without a value. */
	for (; i < count && *arguments[i] == '-'; i++)
		if (!arguments[i][1] ||
		    arguments[i][1 + strspn(arguments[i] + 1, "bBdEiIOPqsSuvx")])
			return NULL;
	length = i < count ? strlen(arguments[i]) : 0;
	return length > 3 && streq(arguments[i] + length - 3, ".py") ? arguments[i] : NULL;
}

static const char *value(const gpumap_profile *profile, const char *key)
{
	return gpumap_profile_str(profile, key, GPUMAP_SETTING_VALUE);
}

/* Whether the profile says nothing of how the program picks, and each rank is to pick one. */
static bool is_open(const gpumap_profile *profile)
{
	static const char *const keys[] = {"device",  "set_device",    "device_ids",
					   "in_code", "script_export", "script_inline",
					   "prefix"};
	const char *mode = value(profile, "mode"), *folder = value(profile, "workdir");

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!streq(gpumap_profile_str(profile, keys[i], GPUMAP_SETTING_ORIGIN), "default"))
			return false;
	return (streq(mode, "ddp") || streq(mode, "single")) && !strchr(folder, '%');
}

/* NULL: it cannot be read, or nobody should wait for it. */
static char *program_text(const char *path, size_t *size)
{
	struct stat status;
	char *text = NULL;

	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode) ||
	    read_file(path, false, MOST_PROGRAM, &text, size))
		return NULL;
	return text;
}

int plan_read_program(gpumap_profile *profile, gpumap_report *report)
{
	size_t count = gpumap_profile_argument_count(profile), size = 0;
	const char **arguments = calloc(count + 1, sizeof(*arguments)), *script, *folder;
	struct python_device device = {.text = ""};
	struct strbuf path = {0}, origin = {0};
	char *text = NULL;
	int r = arguments ? GPUMAP_OK : GPUMAP_ENOMEM;

	for (size_t i = 0; arguments && i < count; i++)
		arguments[i] = gpumap_profile_argument(profile, i);
	script = arguments && is_open(profile) ? plan_script(arguments, count) : NULL;
	if (script && !strchr(script, '%')) {
		folder = value(profile, "workdir");
		if (*script != '/' && *folder && !streq(folder, "."))
			strbuf_printf(&path, "%s/", folder);
		strbuf_puts(&path, script);
		text = path.failed ? NULL : program_text(path.text, &size);
		if (text)
			r = lint_python_device((struct span){text, size}, &device);
		strbuf_printf(&origin, "%s:%d", script, device.line);
		r = path.failed || origin.failed ? GPUMAP_ENOMEM : r;
	}
	if (r == GPUMAP_OK && *device.text)
		r = gpumap_profile_set(profile, "device", device.text, origin.text, report);
	strbuf_free(&path);
	strbuf_free(&origin);
	free(text);
	free((void *)arguments);
	return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
}
