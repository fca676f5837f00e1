/* SPDX-License-Identifier: MIT */
/* See run_sweep.h. */
#include "job/run_sweep.h"

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/out_of_memory.h"
#include "cli/output.h"
#include "launch/bind.h"
#include "pick/lease_here.h"
#include "reap.h"
#include "report/report.h"
#include "strbuf.h"
#include "job/sweep.h"
#include "text/expand.h"

/* --- what to run ---------------------------------------------------------------------- */

static const gpumap_section *find_sweep(const gpumap_profile *profile, const char *name)
{
	const gpumap_section *s;

	for (size_t i = 0; (s = gpumap_profile_section(profile, "sweep", i)); i++)
		if (streq(gpumap_section_str(s, GPUMAP_SECTION_NAME), name))
			return s;
	return NULL;
}

static int refuse(struct sweep *s, const char *origin, const char *fix, const char *text)
{
	return report_fail(s->report, GPUMAP_EINPUT, FINDING_SWEEP,
			   ABOUT(.origin = origin, .fix = fix), "%s", text);
}

/* The profile is that of the sweep, whatever the file's default is. */
static int open_sweep(struct sweep *s, const char *name)
{
	OWNED(profile) *any = NULL;
	const gpumap_section *section;
	size_t before = gpumap_report_count(s->report);
	int r = profile_open(&any, &s->options.profile, s->report);

	section = r == GPUMAP_OK ? find_sweep(any, name) : NULL;
	/* The profile that is opened next reports the same. */
	if (section)
		report_keep(s->report, before, NULL, NULL);
	if (r != GPUMAP_OK)
		return r;
	if (!section)
		r = gpumap_profile_set_sweep(any, name, 0, s->report);
	else if (!s->options.profile.profile)
		s->options.profile.profile = arena_strdup(&s->arena, sweep_profile(section));
	if (r == GPUMAP_OK)
		r = profile_open(&s->profile, &s->options.profile, s->report);
	if (r == GPUMAP_OK)
		s->section = find_sweep(s->profile, name);
	return r;
}

/* A fault of the profile would affect every run. */
static int check_first(struct sweep *s, const char *name)
{
	int r;

	if (s->options.program || s->options.module)
		return GPUMAP_OK;
	r = gpumap_profile_set_sweep(s->profile, name, 0, s->report);
	return r == GPUMAP_OK ? gpumap_profile_check(s->profile, s->report) : r;
}

static void find_variable(void *data, struct span name)
{
	struct sweep *s = data;
	const char *variable;

	for (size_t v = 0; (variable = gpumap_sweep_variable(s->section, v)); v++)
		s->parts = s->parts || span_is(name, variable);
}

/* Each run gets a part of one machine's GPUs, so none can name its own. */
static int check_parts(struct sweep *s)
{
	static const char *const keys[] = {"gpus", "inventory"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *text = gpumap_profile_setting(s->profile, keys[i], GPUMAP_SETTING_TEXT);

		/* Runs lease GPUs, each its own. */
		if (i == 0 && starts_with(text ? text : "", "free:"))
			continue;
		if (text)
			expand_each_variable(span_of(text), find_variable, s);
		if (s->parts)
			return refuse(
				s,
				gpumap_profile_setting(s->profile, keys[i], GPUMAP_SETTING_ORIGIN),
				"write jobs = 1, or the same for all runs",
				"runs at a time share out the GPUs, and each run names its own");
	}
	return GPUMAP_OK;
}

static int check(struct sweep *s)
{
	const char *port = gpumap_profile_setting(s->profile, "master_port", GPUMAP_SETTING_VALUE);
	const char *origin =
		gpumap_profile_setting(s->profile, "master_port", GPUMAP_SETTING_ORIGIN);
	bool fixed = !streq(port, "auto");

	if (*gpumap_profile_setting(s->profile, "hosts", GPUMAP_SETTING_VALUE) || s->options.nnodes)
		return refuse(s, gpumap_profile_setting(s->profile, "hosts", GPUMAP_SETTING_ORIGIN),
			      "run it on each host, or one combination over all",
			      "a sweep runs on one host, and hosts are named");
	if (fixed && s->jobs > 1)
		return refuse(s, origin,
			      rendezvous_free_port(origin) ? rendezvous_free_port(origin)
							   : "write " SETTING("master_port = auto"),
			      "runs at a time need ports of their own");
	return s->jobs > 1 ? check_parts(s) : GPUMAP_OK;
}

/* Makes the names of runs, which are those of their folders and records: without slashes, and
 * without half a character. */
static void name_runs(struct sweep *s, const char *name)
{
	size_t n = strlen(name);

	if (n >= sizeof(s->stem))
		for (n = sizeof(s->stem) - 1; n && ((unsigned char)name[n] & 0xc0) == 0x80;)
			n--;
	for (size_t i = 0; i < n; i++)
		s->stem[i] = name[i] == '/' ? '_' : name[i];
	for (size_t i = 0; i < s->count; i++) {
		snprintf(s->runs[i].name, sizeof(s->runs[i].name), "%s-%zu", s->stem, i);
		s->runs[i].status = -1;
	}
}

static int prepare(struct sweep *s, const char *name)
{
	int r = open_sweep(s, name);

	if (r != GPUMAP_OK)
		return r;
	s->count = gpumap_sweep_combination_count(s->section);
	s->jobs = (size_t)gpumap_sweep_jobs(s->section);
	if (s->jobs > s->count)
		s->jobs = s->count;
	r = check(s);
	if (r == GPUMAP_OK)
		r = check_first(s, name);
	if (r != GPUMAP_OK)
		return r;
	s->runs = arena_alloc(&s->arena, s->count, sizeof(*s->runs));
	s->shares = arena_alloc(&s->arena, s->jobs, sizeof(*s->shares));
	s->running = arena_alloc(&s->arena, s->jobs, sizeof(struct combination *));
	if (!s->runs || !s->shares || !s->running)
		return report_nomem(s->report);
	name_runs(s, name);
	return s->jobs > 1
		       ? sweep_share(&s->arena, s->shares, s->jobs, &s->options, name, s->report)
		       : GPUMAP_OK;
}

/* --- one run ------------------------------------------------------------------------------ */

/* Each run has a folder of its own. */
static int set_logs(struct sweep *s)
{
	const char *log_dir = gpumap_profile_setting(s->profile, "log_dir", GPUMAP_SETTING_VALUE);
	const char *text = gpumap_profile_setting(s->profile, "log_dir", GPUMAP_SETTING_TEXT);
	bool expanded = strcmp(log_dir, text) != 0; /* and not expanded a second time */
	CLEANUP(strbuf_free) struct strbuf buf = {0};

	if (strstr(log_dir, "%j"))
		return GPUMAP_OK;
	for (const char *c = log_dir; *c; c++)
		strbuf_printf(&buf, expanded && c[0] == '$' && c[1] == '{' ? "$%c" : "%c", *c);
	for (const char *c = s->stem; !*log_dir && *c; c++)
		strbuf_printf(&buf, *c == '%' ? "%%%%" : "%c", *c);
	strbuf_puts(&buf, *log_dir ? "/%j" : "-logs/%j");
	return buf.failed
		       ? report_nomem(s->report)
		       : gpumap_profile_set(s->profile, "log_dir", buf.text, "--sweep", s->report);
}

/* In a child: applies its share of the machine. */
static int take_share(struct sweep *s, const struct share *share)
{
	struct launch_rank part = {.argv = NULL};

	/* Binding ranks reports cores that are not allowed. */
	if (rank_bind(&part, &s->arena, share->cpus, NULL, false))
		rank_settle(&part);
	return share->gpus
		       ? gpumap_profile_set(s->profile, "gpus", share->gpus, "--sweep", s->report)
		       : GPUMAP_OK;
}

/* Runs in the child, where it can change everything. */
static int run_one(struct sweep *s, size_t i)
{
	const char *name = gpumap_section_str(s->section, GPUMAP_SECTION_NAME);
	struct run run = *s->like;
	int r, status;

	run.machine = NULL; /* the parent frees its own */
	run.lease = NULL;
	/* The findings of the sweep were already shown. */
	out_of_memory_ends(run.dry ? STATUS_MALFORMED : STATUS_OWN_FAILURE);
	s->report = report_begin();
	run.name = s->runs[i].name;
	s->options.chooses = s->options.looks = true;
	s->options.again = i > 0;
	s->options.lease = run.dry ? NULL : &run.lease;
	run.json = run.dry && s->like->json;
	if (s->like->json && !run.dry) /* the sweep prints the JSON of all runs together */
		dup2(STDERR_FILENO, STDOUT_FILENO);
	r = take_share(s, &s->shares[s->runs[i].job]);
	if (r == GPUMAP_OK)
		r = gpumap_profile_set_sweep(s->profile, name, i, s->report);
	if (r == GPUMAP_OK)
		r = set_logs(s);
	if (r == GPUMAP_OK)
		r = plan_from(&run.plan, &run.node, s->profile, &s->options, s->report);
	if (r != GPUMAP_OK) {
		print_report(&(struct output){.report = s->report}, 0);
		return run.dry ? STATUS_MALFORMED : status_of_lease(r, s->report);
	}
	if (run.dry && !run.json)
		printf("%s%s: ", i ? "\n" : "", run.name);
	if (run.dry)
		status = run_show(&run, GPUMAP_OK, s->report);
	else
		status = run_plan(&run, s->report);
	run_free(&run);
	return status;
}

static void start(struct sweep *s, size_t i)
{
	struct combination *c = &s->runs[i];
	pid_t parent = getpid();

	while (s->running[c->job])
		c->job++;
	fflush(stdout);
	clock_gettime(CLOCK_REALTIME, &c->started);
	c->pid = fork();
	if (c->pid == 0) {
		/* The sweep's group gets signals from a terminal or timeout(1), and passes them on
		 * once. A terminal with tostop would stop a group that is not in the foreground. */
		setpgid(0, 0);
		signal(SIGTTOU, SIG_IGN);
		/* If this process dies its guard ends the ranks, as if it had been killed itself.
		 */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(STATUS_OWN_FAILURE);
		sigprocmask(SIG_SETMASK, &s->before, NULL);
		exit(run_one(s, i));
	}
	if (c->pid < 0) {
		sweep_log(s, i, "cannot be started: %s", strerror(errno));
		c->status = STATUS_OWN_FAILURE;
		return;
	}
	setpgid(c->pid, c->pid); /* in parent and child, because either may come first */
	s->running[c->job] = c;
	s->running_count++;
	if (s->shares[c->job].gpus)
		sweep_log(s, i, "starts on %s", s->shares[c->job].named);
	else
		sweep_log(s, i, "starts");
}

/* --- all of them ---------------------------------------------------------------------------- */

static void ended(struct sweep *s, pid_t pid, int how)
{
	for (size_t j = 0; j < s->jobs; j++) {
		struct combination *c = s->running[j];

		if (!c || c->pid != pid)
			continue;
		clock_gettime(CLOCK_REALTIME, &c->ended);
		c->status = reap_status(how);
		s->running[j] = NULL;
		s->running_count--;
		sweep_log(s, (size_t)(c - s->runs),
			  c->status ? "failed with status %d" : "ended with status %d", c->status);
	}
}

static void pass_on(struct sweep *s, int sig)
{
	for (size_t j = 0; j < s->jobs; j++)
		if (s->running[j])
			kill(s->running[j]->pid, sig);
}

static void take_signal(struct sweep *s, const siginfo_t *info)
{
	int how;
	pid_t pid;

	if (info->si_signo == SIGCHLD) {
		while ((pid = waitpid(-1, &how, WNOHANG)) > 0)
			ended(s, pid, how);
		return;
	}
	pass_on(s, info->si_signo);
	if (info->si_signo != SIGUSR1 && info->si_signo != SIGUSR2 && !s->stopped) {
		s->stopped = info->si_signo;
		fprintf(stderr, "gpumap: stopping the sweep: %zu of %zu were started\n", s->next,
			s->count);
	}
}

static void run_all(struct sweep *s)
{
	siginfo_t info;

	while (s->running_count || (s->next < s->count && !s->stopped)) {
		while (s->next < s->count && !s->stopped && s->running_count < s->jobs)
			start(s, s->next++);
		if (s->running_count && sigwaitinfo(&s->caught, &info) > 0)
			take_signal(s, &info);
	}
}

/* Shows the plan of each run. Returns the status of the first that cannot be started. */
static int show_all(struct sweep *s)
{
	int status = 0, how = 0;

	for (size_t i = 0; i < s->count; i++) {
		pid_t pid;

		s->runs[i].job = i % s->jobs;
		fflush(stdout);
		pid = fork();
		if (pid == 0)
			exit(run_one(s, i));
		if (pid < 0 || waitpid(pid, &how, 0) < 0 || !WIFEXITED(how))
			return STATUS_MALFORMED;
		status = status ? status : WEXITSTATUS(how);
	}
	return status;
}

int run_sweep(const struct plan_options *options, const char *name, const struct run *like,
	      gpumap_report *report)
{
	struct sweep s = {.options = *options, .like = like, .report = report};
	int r = prepare(&s, name), status = STATUS_OWN_FAILURE;
	size_t shown = print_report(&(struct output){.report = report}, 0);

	if (like->dry) {
		status = r == GPUMAP_OK ? show_all(&s) : STATUS_MALFORMED;
	} else if (r == GPUMAP_OK) {
		out_of_memory_returns();
		reap_signals(&s.caught, &s.before);
		run_all(&s);
		sigprocmask(SIG_SETMASK, &s.before, NULL);
		status = sweep_conclude(&s);
		if (like->json && !sweep_print(&s, status) && !status)
			status = STATUS_OWN_FAILURE;
		print_report(&(struct output){.report = report}, shown);
	} else if (like->json) {
		run_print_refusal(like, report);
	}
	gpumap_profile_free(s.profile);
	arena_free(&s.arena);
	return status;
}
