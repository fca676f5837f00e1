/* SPDX-License-Identifier: MIT */
#include "run_ranks.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/job.h"
#include "plan_open.h"
#include "profile_keys.h"
#include "rank_place.h"

#define RESTART_COUNT "TORCHELASTIC_RESTART_COUNT="

/* State while ranks are made, one by one. */
struct maker {
	struct run_ranks *ret;
	const gpumap_plan *plan;
	const char *name;
	gpumap_report *report;
	const char *made; /* the last folder that was made */
};

/* --- the environment ----------------------------------------------------------------- */

struct environment {
	struct arena *arena;
	char **entries;
	size_t count, room;
};

static size_t name_length(const char *entry)
{
	return strcspn(entry, "=");
}

static bool is_named(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return name_length(entry) == length && strncmp(entry, name, length) == 0;
}

static int change(const char *name, const char *value, void *data)
{
	struct environment *e = data;
	char *entry = value ? arena_printf(e->arena, "%s=%s", name, value) : NULL;
	size_t i = 0;
	char **grown;

	while (i < e->count && !is_named(e->entries[i], name))
		i++;
	if (!value) {
		if (i < e->count)
			e->entries[i] = e->entries[--e->count];
		return GPUMAP_OK;
	}
	grown = arena_room(e->arena, e->entries, e->count + 1, &e->room, sizeof(*grown));
	if (!grown || !entry)
		return GPUMAP_ENOMEM;
	e->entries = grown;
	e->entries[i] = entry;
	e->count += i == e->count;
	return GPUMAP_OK;
}

static int make_environment(struct maker *m, size_t l)
{
	struct environment e = {.arena = &m->ret->arena};
	int r;

	while (environ[e.count])
		e.count++;
	e.room = e.count + 32;
	e.entries = arena_alloc(e.arena, e.room, sizeof(*e.entries));
	if (!e.entries)
		return report_nomem(m->report);
	memcpy(e.entries, environ, e.count * sizeof(*e.entries));
	r = gpumap_plan_variable_each(m->plan, (int64_t)(m->ret->first + l),
				      (const char *const *)environ, change, &e);
	if (r != GPUMAP_OK)
		return r == GPUMAP_ENOMEM ? report_nomem(m->report) : r;
	for (size_t i = 0; i < e.count; i++)
		if (starts_with(e.entries[i], RESTART_COUNT)) {
			e.entries[i] = arena_alloc(e.arena, 1, sizeof(RESTART_COUNT) + 24);
			m->ret->restart_counts[l] = e.entries[i];
			if (e.entries[i])
				snprintf(e.entries[i], sizeof(RESTART_COUNT) + 24,
					 RESTART_COUNT "0");
		}
	e.entries[e.count] = NULL;
	m->ret->ranks[l].envp = e.entries;
	return GPUMAP_OK;
}

/* --- logs ------------------------------------------------------------------------------- */

static int bad_folder(const struct maker *m, const char *folder, const char *what)
{
	return report_fail(m->report, GPUMAP_EFILE, FINDING_LOG_OPEN,
			   ABOUT(.origin = job_origin(m->plan, "log_dir"),
				 .fix = "name a folder that this user may write to"),
			   "the log folder '%s' cannot be %s: %s", QUOTE(span_of(folder)), what,
			   strerror(errno));
}

static int make_folder(struct maker *m, const char *folder)
{
	char *path;

	if (m->made && streq(m->made, folder))
		return GPUMAP_OK;
	if (log_check_links(folder, job_origin(m->plan, "log_dir"), m->report) != GPUMAP_OK)
		return GPUMAP_EFILE;
	path = arena_strdup(&m->ret->arena, folder);
	if (!path)
		return report_nomem(m->report);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
	if (mkdir(path, 0777) && errno != EEXIST)
		return bad_folder(m, folder, "made");
	/* With the last slash, access(2) accepts only folders. */
	if (access(arena_printf(&m->ret->arena, "%s/", path), W_OK | X_OK))
		return bad_folder(m, folder, "written to");
	m->made = path;
	return GPUMAP_OK;
}

/* Makes a new folder where torchrun would, for files without a log_dir. */
static int make_logs(struct maker *m)
{
	const char *tmp = getenv("TMPDIR");
	char *path;

	if (m->ret->logs)
		return GPUMAP_OK;
	path = arena_printf(&m->ret->arena, "%s/gpumap-logs-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!path)
		return report_nomem(m->report);
	if (!mkdtemp(path))
		return bad_folder(m, path, "made");
	m->ret->logs = path;
	report_add(m->report, FINDING_LOG_PLACE,
		   ABOUT(.origin = job_origin(m->plan, "tee") ? job_origin(m->plan, "tee")
							      : job_origin(m->plan, "redirects"),
			 .speech = &m->ret->speech,
			 .fix = "write " SETTING("log_dir = DIR") " for another folder"),
		   "the log files are in '%s'", QUOTE(span_of(path)));
	return GPUMAP_OK;
}

/* Which of the rank's streams go into files, and which go only there: as torchrun decides, unless
 * both are left to the defaults. */
static int find_streams(const struct maker *m, size_t l, int *hidden)
{
	int64_t rank = (int64_t)(m->ret->first + l);
	const char *redirects = gpumap_plan_setting(m->plan, "redirects", rank);
	const char *tee = gpumap_plan_setting(m->plan, "tee", rank);
	const char *folder = gpumap_plan_setting(m->plan, "log_dir", rank);
	int only, shown;

	*hidden = 0;
	if (!(redirects && *redirects) && !(tee && *tee))
		return folder && *folder ? STREAM_OUT | STREAM_ERR : 0;
	only = redirects && *redirects ? streams_parse(span_of(redirects), (int64_t)l) : 0;
	shown = tee && *tee ? streams_parse(span_of(tee), (int64_t)l) : 0;
	*hidden = only & ~shown;
	return only | shown;
}

static int log_path(struct maker *m, size_t l, const char *stream, const char **ret)
{
	int64_t rank = (int64_t)(m->ret->first + l);
	char *folder = NULL, *file = NULL;
	int r = gpumap_plan_expand_setting(&folder, m->plan, "log_dir", rank, stream, m->report);

	if (r == GPUMAP_OK && !*folder) {
		free(folder);
		r = make_logs(m);
		folder = r == GPUMAP_OK ? strdup(m->ret->logs) : NULL;
		if (r == GPUMAP_OK && !folder)
			r = report_nomem(m->report);
	}
	if (r == GPUMAP_OK && *folder)
		r = gpumap_plan_expand_setting(&file, m->plan, "log_file", rank, stream, m->report);
	/* Folders below log_dir are made; outside of it logs would be lost or hit other files. */
	if (r == GPUMAP_OK && *folder && !plan_log_name(m->plan, file, m->report))
		r = GPUMAP_EINPUT;
	if (r == GPUMAP_OK && *folder)
		r = make_folder(m, folder);
	if (r == GPUMAP_OK && *folder) {
		*ret = arena_printf(&m->ret->arena, "%s/%s", folder, file);
		r = *ret ? GPUMAP_OK : report_nomem(m->report);
	}
	free(folder);
	free(file);
	return r;
}

/* --- one rank --------------------------------------------------------------------------- */

static int make_output(struct maker *m, size_t l)
{
	struct launch_rank *rank = &m->ret->ranks[l];
	int hidden, logged = find_streams(m, l, &hidden), r = GPUMAP_OK;
	const char *none;

	if (logged < 0 || hidden < 0)
		return report_fail(m->report, GPUMAP_EINPUT, FINDING_NOT_A_PLAN,
				   ABOUT(.fix = "write it anew with gpumap plan -o"),
				   "rank %d: redirects or tee is malformed", rank->rank);
	rank->out_hidden = hidden & STREAM_OUT;
	rank->err_hidden = hidden & STREAM_ERR;
	/* The folder is still needed for the record. */
	if (!logged && *gpumap_plan_setting(m->plan, "log_dir", rank->rank))
		r = log_path(m, l, "stdout", &none);
	if (r == GPUMAP_OK && (logged & STREAM_OUT))
		r = log_path(m, l, "stdout", &rank->out_path);
	if (r == GPUMAP_OK && (logged & STREAM_ERR))
		r = log_path(m, l, "stderr", &rank->err_path);
	return r;
}

static int make_rank(struct maker *m, size_t l)
{
	struct launch_rank *rank = &m->ret->ranks[l];
	struct job_rank at;
	int r;

	job_rank_at(m->plan, (int64_t)(m->ret->first + l), &at);
	if (m->name)
		rank->tag = arena_printf(&m->ret->arena, "[%s:%lld] ", m->name, (long long)at.rank);
	r = rank_place(rank, &m->ret->arena, m->plan, &at, m->report);
	if (r == GPUMAP_OK)
		r = job_arguments(&m->ret->arguments[l], m->plan, &at, m->report);
	if (r == GPUMAP_OK)
		r = make_environment(m, l);
	if (r == GPUMAP_OK)
		r = make_output(m, l);
	rank->argv = m->ret->arguments[l];
	return r;
}

/* --- the launch --------------------------------------------------------------------------- */

static int count_restart(void *data, int restarted)
{
	struct run_ranks *ranks = data;

	for (size_t l = 0; l < ranks->launch.count; l++)
		if (ranks->restart_counts[l])
			snprintf(ranks->restart_counts[l], sizeof(RESTART_COUNT) + 24,
				 RESTART_COUNT "%d", restarted);
	return GPUMAP_OK;
}

static struct key_value setting(const struct maker *m, enum profile_key_id id)
{
	return job_value(m->plan, id, (int64_t)m->ret->first);
}

static void forward_signals(sigset_t *set, int64_t signals)
{
	sigemptyset(set);
	for (int i = 1; i < NSIG; i++)
		if (signal_set_has(signals, i))
			sigaddset(set, i);
}

static void make_launch(struct maker *m)
{
	static const enum launch_console consoles[] = {
		[PLAN_CONSOLE_RAW] = LAUNCH_RAW,     [PLAN_CONSOLE_PREFIX] = LAUNCH_PREFIX,
		[PLAN_CONSOLE_RANK0] = LAUNCH_RANK0, [PLAN_CONSOLE_COLLAPSE] = LAUNCH_COLLAPSE,
		[PLAN_CONSOLE_NONE] = LAUNCH_NONE,
	};
	static const enum launch_on_fail fails[] = {
		[PLAN_ON_FAIL_KILL] = LAUNCH_KILL,
		[PLAN_ON_FAIL_WAIT] = LAUNCH_WAIT,
		[PLAN_ON_FAIL_RESTART] = LAUNCH_RESTART,
	};
	struct launch *launch = &m->ret->launch;

	launch->kill_signal = (int)setting(m, PKEY_PROFILE_kill_signal).number;
	launch->grace_ms = setting(m, PKEY_PROFILE_kill_grace).number;
	launch->timeout_ms = setting(m, PKEY_PROFILE_timeout).number;
	launch->on_fail = fails[setting(m, PKEY_PROFILE_on_fail).word];
	launch->restarts = job_restarts(m->plan);
	forward_signals(&launch->forward, setting(m, PKEY_PROFILE_forward).number);
	launch->console = consoles[setting(m, PKEY_PROFILE_console).word];
	launch->before = count_restart;
	launch->data = m->ret;
}

int run_ranks_make(struct run_ranks *ret, const gpumap_plan *plan, int64_t node, const char *name,
		   gpumap_report *report)
{
	const struct plan_host *host = job_host(plan, node);
	struct maker m = {.ret = ret, .plan = plan, .name = name, .report = report};
	size_t count = host->layout->count;
	int r = GPUMAP_OK;

	*ret = (struct run_ranks){.first = host->first_rank, .launch.count = count};
	ret->ranks = arena_alloc(&ret->arena, count + 1, sizeof(*ret->ranks));
	ret->restart_counts = arena_alloc(&ret->arena, count + 1, sizeof(char *));
	ret->arguments = arena_alloc(&ret->arena, count + 1, sizeof(char **));
	if (!ret->ranks || !ret->restart_counts || !ret->arguments) {
		ret->launch.count = 0;
		return report_nomem(report);
	}
	ret->launch.ranks = ret->ranks;
	ret->speech = job_speech(plan);
	make_launch(&m);
	ret->launch.speech = &ret->speech;
	for (size_t l = 0; l < count && r == GPUMAP_OK; l++)
		r = make_rank(&m, l);
	return r == GPUMAP_OK && ret->arena.failed ? report_nomem(report) : r;
}

void run_ranks_no_logs(const struct run_ranks *ranks)
{
	struct stat st;

	for (size_t l = 0; ranks->logs && l < ranks->launch.count; l++) {
		const char *paths[] = {ranks->ranks[l].out_path, ranks->ranks[l].err_path};

		for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
			if (paths[i] && starts_with(paths[i], ranks->logs) &&
			    stat(paths[i], &st) == 0 && !st.st_size)
				unlink(paths[i]);
	}
}

void run_ranks_free(struct run_ranks *ranks)
{
	/* Removes it only if it is empty. */
	if (ranks->logs)
		rmdir(ranks->logs);
	for (size_t l = 0; ranks->arguments && l < ranks->launch.count; l++) {
		for (size_t i = 0; ranks->arguments[l] && ranks->arguments[l][i]; i++)
			free(ranks->arguments[l][i]);
		free(ranks->arguments[l]);
	}
	arena_free(&ranks->arena);
}
