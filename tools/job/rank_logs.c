/* SPDX-License-Identifier: MIT */
/* See rank_logs.h. */
#include "job/rank_logs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "closing.h"
#include "report/report.h"
#include "request/profile_keys.h"
#include "trust.h"

/* --- names ------------------------------------------------------------------------------ */

static bool is_log_name(const gpumap_plan *plan, const char *file, gpumap_report *report)
{
	const struct speech speech = job_speech(plan);

	if (!strchr(file, '/') && !streq(file, ".") && !streq(file, ".."))
		return true;
	report_add(report, FINDING_LOG_OPEN,
		   ABOUT(.origin = plan->settings.log_file.origin, .speech = &speech,
			 .fix = "write folders into " SETTING("log_dir") ", where macros work too"),
		   SETTING("log_file = '%s'") " is not the name of a file", QUOTE(span_of(file)));
	return false;
}

static bool has_logs(const gpumap_plan *plan, int64_t rank)
{
	static const char *const keys[] = {"log_dir", "redirects", "tee"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *value = gpumap_plan_setting(plan, keys[i], rank);

		if (value && *value)
			return true;
	}
	return false;
}

bool rank_logs_check(const gpumap_plan *plan, gpumap_report *report)
{
	/* Without exceptions ranks are alike. */
	size_t count = plan->exception_count ? plan->world_size : 1;
	bool good = true;

	for (size_t i = 0; i < count && good; i++)
		good = !has_logs(plan, (int64_t)i) ||
		       is_log_name(plan, gpumap_plan_setting(plan, "log_file", (int64_t)i), report);
	return good;
}

/* --- files ------------------------------------------------------------------------------ */

static int bad_folder(const struct rank_logs *logs, const char *folder, const char *what)
{
	return report_fail(logs->report, GPUMAP_EFILE, FINDING_LOG_OPEN,
			   ABOUT(.origin = logs->plan->settings.log_dir.origin,
				 .fix = "name a folder that this user may write to"),
			   "the log folder '%s' cannot be %s: %s", QUOTE(span_of(folder)), what,
			   strerror(errno));
}

static int make_folder(struct rank_logs *logs, const char *folder)
{
	CLEANUP_CLOSE int fd = -1;
	char *path;

	if (logs->made && streq(logs->made, folder))
		return GPUMAP_OK;
	if (log_check_links(folder, logs->plan->settings.log_dir.origin, logs->report) != GPUMAP_OK)
		return GPUMAP_EFILE;
	path = arena_strdup(logs->arena, folder);
	if (!path)
		return report_nomem(logs->report);
	fd = open_unplanted(arena_printf(logs->arena, "%s/.", path), O_PATH, true);
	if (fd < 0)
		return bad_folder(logs, folder, "made");
	if (faccessat(fd, ".", W_OK | X_OK, 0))
		return bad_folder(logs, folder, "written to");
	logs->made = path;
	return GPUMAP_OK;
}

/* Makes a new folder where torchrun would, for files without a log_dir. */
static int make_logs(struct rank_logs *logs)
{
	const struct speech speech = job_speech(logs->plan);
	const char *tmp = getenv("TMPDIR");
	char *path;

	if (logs->folder)
		return GPUMAP_OK;
	path = arena_printf(logs->arena, "%s/gpumap-logs-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!path)
		return report_nomem(logs->report);
	if (!mkdtemp(path))
		return bad_folder(logs, path, "made");
	logs->folder = path;
	report_add(logs->report, FINDING_LOG_PLACE,
		   ABOUT(.origin = logs->plan->settings.tee.origin
					   ? logs->plan->settings.tee.origin
					   : logs->plan->settings.redirects.origin,
			 .speech = &speech,
			 .fix = "write " SETTING("log_dir = DIR") " for another folder"),
		   "the log files are in '%s'", QUOTE(span_of(path)));
	return GPUMAP_OK;
}

/* Which of the rank's streams go into files, and which go only there: as torchrun decides, unless
 * both are left to the defaults. */
static int find_streams(const struct rank_logs *logs, const struct launch_rank *rank, int *hidden)
{
	const char *redirects = gpumap_plan_setting(logs->plan, "redirects", rank->rank);
	const char *tee = gpumap_plan_setting(logs->plan, "tee", rank->rank);
	const char *folder = gpumap_plan_setting(logs->plan, "log_dir", rank->rank);
	int only, shown;

	*hidden = 0;
	if (!(redirects && *redirects) && !(tee && *tee))
		return folder && *folder ? STREAM_OUT | STREAM_ERR : 0;
	only = redirects && *redirects ? streams_parse(span_of(redirects), rank->local_rank) : 0;
	shown = tee && *tee ? streams_parse(span_of(tee), rank->local_rank) : 0;
	*hidden = only & ~shown;
	return only | shown;
}

static int log_path(struct rank_logs *logs, int rank, const char *stream, const char **ret)
{
	CLEANUP_FREE char *folder = NULL, *file = NULL;
	int r = gpumap_plan_expand_setting(&folder, logs->plan, "log_dir", rank, stream,
					   logs->report);

	if (r == GPUMAP_OK && !*folder) {
		free(folder);
		r = make_logs(logs);
		folder = r == GPUMAP_OK ? strdup(logs->folder) : NULL;
		if (r == GPUMAP_OK && !folder)
			r = report_nomem(logs->report);
	}
	if (r == GPUMAP_OK && *folder)
		r = gpumap_plan_expand_setting(&file, logs->plan, "log_file", rank, stream,
					       logs->report);
	/* Folders below log_dir are made; outside of it logs would be lost or hit other files. */
	if (r == GPUMAP_OK && *folder && !is_log_name(logs->plan, file, logs->report))
		r = GPUMAP_EINPUT;
	if (r == GPUMAP_OK && *folder)
		r = make_folder(logs, folder);
	if (r == GPUMAP_OK && *folder) {
		*ret = arena_printf(logs->arena, "%s/%s", folder, file);
		r = *ret ? GPUMAP_OK : report_nomem(logs->report);
	}
	return r;
}

int rank_logs_make(struct rank_logs *logs, struct launch_rank *rank)
{
	int hidden, logged = find_streams(logs, rank, &hidden), r = GPUMAP_OK;
	const char *none;

	if (logged < 0 || hidden < 0)
		return report_fail(logs->report, GPUMAP_EINPUT, FINDING_NOT_A_PLAN,
				   ABOUT(.fix = "write it anew with gpumap plan -o"),
				   "rank %d: redirects or tee is malformed", rank->rank);
	rank->out_hidden = hidden & STREAM_OUT;
	rank->err_hidden = hidden & STREAM_ERR;
	/* The folder is still needed for the record. */
	if (!logged && *gpumap_plan_setting(logs->plan, "log_dir", rank->rank))
		r = log_path(logs, rank->rank, "stdout", &none);
	if (r == GPUMAP_OK && (logged & STREAM_OUT))
		r = log_path(logs, rank->rank, "stdout", &rank->out_path);
	if (r == GPUMAP_OK && (logged & STREAM_ERR))
		r = log_path(logs, rank->rank, "stderr", &rank->err_path);
	return r;
}

void rank_logs_discard(const struct rank_logs *logs, const struct launch *launch)
{
	struct stat st;

	for (size_t l = 0; logs->folder && l < launch->count; l++) {
		const char *paths[] = {launch->ranks[l].out_path, launch->ranks[l].err_path};

		for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
			if (paths[i] && starts_with(paths[i], logs->folder) &&
			    stat(paths[i], &st) == 0 && !st.st_size)
				unlink(paths[i]);
	}
}
