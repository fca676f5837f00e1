/* SPDX-License-Identifier: MIT */
/* The program of a plan: whether it exists, and how it picks its device. */
#include "job/plan_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/options.h"
#include "closing.h"
#include "launch/launch.h"
#include "lint/python.h"
#include "memory.h"
#include "plan/job.h"
#include "profile/profile.h"
#include "job/rank_place.h"
#include "report/report.h"
#include "rootfile.h"
#include "strbuf.h"

enum { MAX_PROGRAM = 4 << 20 };

const char *plan_script(const char *const *arguments, size_t count)
{
	size_t i = 1;

	if (!count || !starts_with(file_name(arguments[0]), "python"))
		return NULL;
	/* Skips options of python that are letters without a value. */
	for (; i < count && *arguments[i] == '-'; i++)
		if (!arguments[i][1] ||
		    arguments[i][1 + strspn(arguments[i] + 1, "bBdEiIOPqsSuvx")])
			return NULL;
	return i < count && is_python_file(span_of(arguments[i])) ? arguments[i] : NULL;
}

/* --- whether it exists ----------------------------------------------------------------- */

/* The path of a file, as a program that is started in `folder` (NULL: here) finds it. */
static char *path_from(const char *folder, const char *file)
{
	struct strbuf path = {0};

	if (*file != '/' && folder)
		strbuf_printf(&path, "%s/", folder);
	strbuf_puts(&path, file);
	return strbuf_take(&path);
}

/* Why python cannot read the FILE.py of a command, started in `folder` (NULL: here), as an errno;
 * 0: it can, or there is no such file. */
static int script_error(const char *const *argv, const char *folder, const char **script)
{
	CLEANUP_FREE char *path = NULL;
	size_t count = 0;

	while (argv[count])
		count++;
	*script = plan_script(argv, count);
	if (!*script || (folder && access(folder, X_OK)))
		return 0;
	path = path_from(folder, *script);
	return path && access(path, R_OK) ? errno : 0;
}

/* "PATH=..."; NULL: it is unset. */
static int keep_path(const char *name, const char *value, void *data)
{
	char **path = data;

	if (!streq(name, "PATH"))
		return 0;
	free(*path);
	*path = NULL;
	if (value)
		xasprintf(path, "PATH=%s", value);
	return 0;
}

/* Why the rank's program cannot be executed, as an errno; 0: it can. */
static int program_error(const gpumap_plan *plan, int64_t rank, const char *name)
{
	CLEANUP_FREE char *path = NULL;
	char found[4096];
	bool script;

	keep_path("PATH", getenv("PATH"), &path);
	gpumap_plan_variable_each(plan, rank, (const char *const *)environ, keep_path, &path);
	return program_find(name, (char *[]){path, NULL}, found, sizeof(found), &script);
}

/* What a rank needs for its start, in the order of the checks. */
enum need { NEED_FOLDER, NEED_SCRIPT, NEED_PROGRAM };

/* The first need that the rank lacks. */
struct lack {
	enum need need;
	const char *name;
	int error; /* 0: it lacks nothing */
};

/* Checks in the rank's folder, because relative names and a relative PATH refer to it. */
static struct lack lack_of(const gpumap_plan *plan, const struct launch_rank *rank)
{
	struct lack lack = {.name = rank->folder};
	CLEANUP_CLOSE int here = lack.name ? open(".", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (lack.name && (here < 0 || chdir(lack.name)))
		lack.error = errno;
	if (!lack.error) {
		lack.need = NEED_SCRIPT;
		lack.error = script_error((const char *const *)rank->argv, NULL, &lack.name);
	}
	if (!lack.error) {
		lack.need = NEED_PROGRAM;
		lack.name = rank->argv[0];
		lack.error = program_error(plan, rank->rank, lack.name);
	}
	if (here >= 0 && fchdir(here) && !lack.error)
		lack = (struct lack){NEED_FOLDER, ".", errno};
	return lack;
}

static const char *script_fix(int error)
{
	return error == ENOENT ? "check its name, and " SETTING("workdir") : NULL;
}

int plan_check_script(const struct launch_rank *rank, const struct speech *speech,
		      gpumap_report *report)
{
	const char *script;
	int error = script_error((const char *const *)rank->argv, rank->folder, &script);

	if (error)
		report_add(report, FINDING_NOT_STARTED,
			   ABOUT(.fix = script_fix(error), .speech = speech),
			   "rank %d: %s cannot read '%s': %s", rank->rank, rank->argv[0],
			   QUOTE(span_of(script)), strerror(error));
	return error;
}

/* Refuses as the start would. */
static void refuse_lack(const struct launch_rank *rank, const struct lack *lack,
			const struct speech *speech, gpumap_report *report)
{
	if (lack->need == NEED_SCRIPT)
		plan_check_script(rank, speech, report);
	else
		launch_refuse(rank, lack->need == NEED_PROGRAM ? STAGE_FIND : STAGE_FOLDER,
			      lack->error, speech, report);
}

static void remark_lack(const struct launch_rank *rank, const struct lack *lack,
			const struct speech *speech, gpumap_report *report)
{
	const char *fix = lack->need == NEED_SCRIPT ? script_fix(lack->error)
						    : launch_stage_fix(STAGE_FOLDER, lack->error);
	struct program_fault fault;

	program_fault(&fault, lack->name, rank->folder, lack->error);
	if (lack->need == NEED_PROGRAM)
		fix = *fault.fix ? fault.fix : NULL;
	report_add(report, FINDING_PROGRAM_MISSING, ABOUT(.fix = fix, .speech = speech),
		   "rank %d could not start on this host: the %s '%s': %s", rank->rank,
		   lack->need == NEED_FOLDER ? "folder" : "program", QUOTE(span_of(lack->name)),
		   lack->need == NEED_PROGRAM ? fault.text : strerror(lack->error));
}

/* Whether the rank can start here; if not, *lacks is set after a finding. */
static int seek(const gpumap_plan *plan, int64_t number, bool starts, bool *lacks,
		gpumap_report *report)
{
	const struct speech speech = job_speech(plan);
	struct launch_rank rank = {.rank = 0};
	CLEANUP(arena_free) struct arena arena = {0};
	CLEANUP(job_free_arguments) char **argv = NULL;
	struct job_rank at;
	struct lack lack;
	int r;

	job_rank_at(plan, number, &at);
	r = job_arguments(&argv, plan, &at, report);
	if (r == GPUMAP_OK)
		r = rank_place(&rank, &arena, plan, &at, report);
	if (r == GPUMAP_OK) {
		rank.argv = argv;
		lack = lack_of(plan, &rank);
		*lacks = lack.error != 0;
		if (lack.error)
			(starts ? refuse_lack : remark_lack)(&rank, &lack, &speech, report);
	}
	return r;
}

int plan_seek_program(const gpumap_plan *plan, int64_t node, gpumap_report *report)
{
	const struct plan_host *host = job_host(plan, node);
	bool lacks = false;

	if (!host || !host->layout->count || !plan->answered || !plan->argument_count)
		return GPUMAP_OK;
	if (job_setting(plan, PKEY_PROFILE_inventory, (int64_t)host->first_rank)->word !=
	    PLAN_INVENTORY_HOST)
		return GPUMAP_OK;
	return seek(plan, (int64_t)host->first_rank, false, &lacks, report);
}

int plan_check_programs(const gpumap_plan *plan, int64_t node, gpumap_report *report)
{
	const struct plan_host *host = job_host(plan, node);
	bool lacks = false;
	int r = GPUMAP_OK;

	for (size_t l = 0; l < host->layout->count && r == GPUMAP_OK && !lacks; l++)
		r = seek(plan, (int64_t)(host->first_rank + l), true, &lacks, report);
	return r == GPUMAP_OK && lacks ? GPUMAP_EINPUT : r;
}

static bool sets_path(const gpumap_profile *profile)
{
	for (size_t i = 0; i < gpumap_profile_variable_count(profile); i++)
		if (streq(gpumap_profile_variable(profile, i, GPUMAP_SETTING_NAME), "PATH"))
			return true;
	return false;
}

int plan_seek_file(const gpumap_profile *profile, gpumap_report *report)
{
	const char *name = gpumap_profile_argument(profile, 0);
	const char *folder = gpumap_profile_setting(profile, "workdir", GPUMAP_SETTING_VALUE);
	struct program_fault fault = {.there = false};
	CLEANUP_FREE char *path = NULL;
	char found[4096];
	bool script;
	int error;

	if (!name || strchr(name, '%') || strchr(folder, '%') ||
	    (!strchr(name, '/') && sets_path(profile)))
		return GPUMAP_OK;
	folder = *folder ? folder : NULL;
	path = strchr(name, '/') ? path_from(folder, name) : strdup(name);
	if (!path)
		return report_nomem(report);
	error = program_find(path, environ, found, sizeof(found), &script);
	if (error)
		program_fault(&fault, name, folder, error);
	if (fault.there)
		report_add(report, FINDING_PROGRAM_MISSING,
			   ABOUT(.fix = *fault.fix ? fault.fix : NULL,
				 .origin = gpumap_profile_setting(profile, "command",
								  GPUMAP_SETTING_ORIGIN)),
			   "the program '%s' could not start on this host: %s",
			   QUOTE(span_of(name)), fault.text);
	return GPUMAP_OK;
}

/* --- how it picks its device ------------------------------------------------------------ */

static const char *value(const gpumap_profile *profile, const char *key)
{
	return gpumap_profile_setting(profile, key, GPUMAP_SETTING_VALUE);
}

/* Whether the profile has no value for how the program picks its device, and each rank is to pick
 * one. */
static bool is_open(const gpumap_profile *profile)
{
	int mode = profile_key_value(profile, PKEY_PROFILE_mode).word;

	for (enum profile_key_id i = SETTING_FIRST; i < SETTING_END; i++)
		if (key_picks_device(i) && profile_states(profile, i))
			return false;
	return (mode == PLAN_DDP || mode == PLAN_SINGLE) && !strchr(value(profile, "workdir"), '%');
}

/* NULL: it cannot be read, or reading it could take long. */
static char *program_text(const char *path, size_t *size)
{
	char *text;

	return root_read("", path, MAX_PROGRAM, &text, size) ? NULL : text;
}

/* Whether a small file is Python by its name, or begins as scripts do. */
static bool is_code(const char *path)
{
	struct stat status;
	char head[2] = "";
	CLEANUP_CLOSE int fd =
		stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= MAX_PROGRAM
			? open(path, O_RDONLY | O_CLOEXEC)
			: -1;

	return fd >= 0 && (is_python_file(span_of(path)) || text_ends(path, ".sh") ||
			   (read(fd, head, 2) == 2 && head[0] == '#' && head[1] == '!'));
}

char *plan_code_path(const char *folder, const char *file)
{
	char *path = path_from(*folder && !streq(folder, ".") ? folder : NULL, file);

	if (is_code(path))
		return path;
	free(path);
	return NULL;
}

/* Whether an empty value resets the key. */
static bool is_reset(const gpumap_profile *profile, enum profile_key_id key)
{
	return !profile_states(profile, key) &&
	       !streq(gpumap_profile_setting(profile, profile_key(key)->key.name,
					     GPUMAP_SETTING_ORIGIN),
		      "default");
}

int plan_read_program(gpumap_profile *profile, const char **missing, gpumap_report *report)
{
	size_t count = gpumap_profile_argument_count(profile), size = 0;
	CLEANUP_FREE const char **arguments = xcalloc(count + 1, sizeof(*arguments));
	const char *script, *folder;
	struct python_device device = {.text = ""};
	CLEANUP(strbuf_free) struct strbuf origin = {0};
	CLEANUP_FREE char *path = NULL, *text = NULL;

	for (size_t i = 0; i < count; i++)
		arguments[i] = gpumap_profile_argument(profile, i);
	script = is_open(profile) ? plan_script(arguments, count) : NULL;
	if (script && !strchr(script, '%')) {
		folder = value(profile, "workdir");
		path = path_from(*folder && !streq(folder, ".") ? folder : NULL, script);
		text = program_text(path, &size);
		if (missing && !text && access(path, F_OK) && errno == ENOENT)
			*missing = script;
		if (text)
			device = lint_python_device((struct span){text, size});
		strbuf_printf(&origin, "%s:%d", script, device.line);
	}
	if (*device.text)
		return gpumap_profile_set(profile, "device", device.text, origin.text, report);
	if (is_reset(profile, PKEY_PROGRAM_device))
		return gpumap_profile_set(profile, "device", "", "default", report);
	return GPUMAP_OK;
}

void plan_remark_missing(const gpumap_plan *plan, const char *missing, gpumap_report *report)
{
	if (missing && report_has(report, FINDING_UNKNOWN_USE) &&
	    plan->settings.inventory.word != PLAN_INVENTORY_HOST)
		report_add(report, FINDING_PROGRAM_MISSING, ABOUT(.fix = script_fix(ENOENT)),
			   "'%s' is not on this host, so gpumap cannot read how it picks its "
			   "device",
			   QUOTE(span_of(missing)));
}

/* --- options that it gets ---------------------------------------------------------------- */

/* Whether the text has the name of an option, with - or _. */
static bool mentions(struct span text, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i + length <= text.length; i++) {
		size_t k = 0;

		while (k < length &&
		       (text.text[i + k] == name[k] || (text.text[i + k] == '_' && name[k] == '-')))
			k++;
		if (k == length)
			return true;
	}
	return false;
}

/* Whether the script, as the program finds it, has the name of an option, or cannot be read. */
static bool script_mentions(const struct plan_options *plan, const char *script, const char *name)
{
	CLEANUP_FREE char *path =
		path_from(profile_option_value(&plan->profile, "--workdir"), script);
	size_t size = 0;
	CLEANUP_FREE char *text = path ? program_text(path, &size) : NULL;

	return !text || mentions((struct span){text, size}, name);
}

void plan_remark_options(const struct options *options, const struct plan_options *plan,
			 gpumap_report *report)
{
	const char *const *words = (const char *const *)plan->program;
	const char *script, *name;
	size_t count = 0, i = 0;
	bool out;

	while (words[count])
		count++;
	script = is_python_file(span_of(words[0])) ? words[0] : plan_script(words, count);
	if (options->ended || !script)
		return;
	while (words[i] != script)
		i++;
	for (i++; i < count && !streq(words[i], "--"); i++) {
		/* Of the short options this one alone has no other meaning for launchers. */
		out = streq(words[i], "-o");
		name = out || starts_with(words[i], "--") ? options_name(options, words[i]) : NULL;
		if (!name || streq(name, "--help") ||
		    script_mentions(plan, script, out ? name : name + 2))
			continue;
		report_add(report, FINDING_IGNORED_KEY,
			   ABOUT(.origin = name,
				 .fix = out ? "write it before the program, and for a picture "
					      ">FILE after the command; if the program is to get "
					      "it, write -- before the program"
					    : "write it before the program; if the program is to "
					      "get it, write -- before the program"),
			   "it has no effect on gpumap: it is after %s, which does not mention it",
			   QUOTE(span_of(script)));
		return;
	}
}
