/* SPDX-License-Identifier: MIT */
/* See run_ranks.h. */
#include "job/run_ranks.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "job/plan_open.h"
#include "job/rank_place.h"
#include "plan/job.h"
#include "request/profile_keys.h"

#define RESTART_COUNT "TORCHELASTIC_RESTART_COUNT="

/* State while ranks are made, one by one. */
struct maker {
	struct run_ranks *ret;
	const gpumap_plan *plan;
	const char *name;
	gpumap_report *report;
};

/* --- the environment ----------------------------------------------------------------- */

struct environment {
	struct arena *arena;
	char **entries;
	size_t count, room;
};

static int change(const char *name, const char *value, void *data)
{
	struct environment *e = data;
	char *entry = value ? arena_printf(e->arena, "%s=%s", name, value) : NULL;
	size_t i = 0;
	char **grown;

	while (i < e->count && !entry_is_named(e->entries[i], name))
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

/* --- one rank --------------------------------------------------------------------------- */

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
		r = rank_logs_make(&m->ret->logs, rank);
	rank->argv = m->ret->arguments[l];
	return r;
}

/* --- the launch --------------------------------------------------------------------------- */

static int count_restart(void *data, int restarted)
{
	struct run_ranks *ranks = data;

	for (size_t l = 0; l < ranks->launch.count; l++) {
		run_live_rank(&ranks->live, l, NULL);
		if (ranks->restart_counts[l])
			snprintf(ranks->restart_counts[l], sizeof(RESTART_COUNT) + 24,
				 RESTART_COUNT "%d", restarted);
	}
	return GPUMAP_OK;
}

static void show_rank(void *data, size_t index, const struct launch_exit *rank)
{
	const struct run_ranks *ranks = data;

	run_live_rank(&ranks->live, index, rank);
}

static const struct plan_setting *setting(const struct maker *m, enum profile_key_id id)
{
	return job_setting(m->plan, id, (int64_t)m->ret->first);
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
	static const char *const shown[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", RUN_ID,
					    RUN_RANK, NULL};
	struct launch *launch = &m->ret->launch;

	launch->kill_signal = (int)setting(m, PKEY_PROFILE_kill_signal)->number;
	launch->grace_ms = setting(m, PKEY_PROFILE_kill_grace)->number;
	launch->timeout_ms = setting(m, PKEY_PROFILE_timeout)->number;
	launch->on_fail = fails[setting(m, PKEY_PROFILE_on_fail)->word];
	launch->restarts = job_restarts(m->plan);
	forward_signals(&launch->forward, setting(m, PKEY_PROFILE_forward)->number);
	launch->console = consoles[setting(m, PKEY_PROFILE_console)->word];
	launch->shown = shown;
	launch->before = count_restart;
	launch->changed = show_rank;
	launch->data = m->ret;
}

int run_ranks_make(struct run_ranks *ret, const gpumap_plan *plan, int64_t node, const char *name,
		   gpumap_report *report)
{
	const struct plan_host *host = job_host(plan, node);
	struct maker m = {.ret = ret, .plan = plan, .name = name, .report = report};
	size_t count = host->layout->count;
	int r = GPUMAP_OK;

	*ret = (struct run_ranks){.first = host->first_rank,
				  .launch.count = count,
				  .live.fd = -1,
				  .logs = {.arena = &ret->arena, .plan = plan, .report = report}};
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
	if (r == GPUMAP_OK && !ret->arena.failed)
		run_live_open(&ret->live, gpumap_plan_str(plan, GPUMAP_PLAN_RUN), ret->ranks,
			      count);
	return r == GPUMAP_OK && ret->arena.failed ? report_nomem(report) : r;
}

void run_ranks_watch(pid_t launcher)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != launcher)
		_exit(STATUS_OWN_FAILURE);
	setvbuf(stderr, NULL, _IOFBF, BUFSIZ);
}

void run_ranks_free(struct run_ranks *ranks)
{
	/* Removes it only if it is empty. */
	if (ranks->logs.folder)
		rmdir(ranks->logs.folder);
	for (size_t l = 0; ranks->arguments && l < ranks->launch.count; l++)
		job_free_arguments(&ranks->arguments[l]);
	run_live_close(&ranks->live);
	arena_free(&ranks->arena);
}
