/* SPDX-License-Identifier: MIT */
/* The program and its arguments from the command line: they are quoted, so that nothing in them is
 * expanded. */
#include "job/plan_open.h"

#include <unistd.h>

#include "profile/profile.h"
#include "report/report.h"
#include "text/words.h"

static void put_word(struct strbuf *buf, const char *word)
{
	strbuf_puts(buf, buf->length ? " " : "");
	words_quote(buf, word);
}

int plan_set_program(gpumap_profile *profile, const struct plan_options *options,
		     gpumap_report *report)
{
	const char *python = environ_nonempty((const char *const *)environ, "PYTHON_EXEC");
	CLEANUP(strbuf_free) struct strbuf buf = {0};
	char **word = options->program;
	int r = GPUMAP_OK;

	if (options->module && !word)
		return report_fail(
			report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			ABOUT(.origin = options->module, .fix = "write it after the options"),
			"no module is named");
	if (options->module) {
		put_word(&buf, python ? python : "python3");
		put_word(&buf, "-u");
		put_word(&buf, "-m");
	}
	for (; word && *word; word++)
		put_word(&buf, *word);
	if (buf.length)
		r = gpumap_profile_set(profile, "command", buf.text, "command line", report);
	if (r == GPUMAP_OK)
		r = profile_set_python(profile, options->no_python ? "" : python, report);
	return r;
}
