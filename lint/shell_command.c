/* SPDX-License-Identifier: MIT */
/* A command that starts a program, and the variables that reach it. */
#include "lint/shell_script.h"

#include "lint/environment.h"
#include "request/request.h"
#include "suggest.h"

/* Programs that never use a GPU. */
static bool is_harmless(struct span s)
{
	return span_is_any(
		base_name(s),
		"cd echo printf true : test [ pwd pushd "
		"popd shift ulimit umask hash type false mkdir cp "
		"mv rm ln ls cat date sleep tee grep sed awk head tail cut sort uniq wc tr "
		"seq hostname uname whoami which touch chmod find tar "
		"unzip wget curl git pip pip3 clear module ml "
		"conda basename dirname readlink realpath nvidia-smi scontrol squeue free "
		"df du ps shopt alias mktemp rsync logger nproc");
}

/* NAME=0 cd src && python ...: the variable is set for cd. */
static void report_wasted(struct shell *sh, struct command *c)
{
	const struct prefix *p = command_prefix(c, span_of(tracked_name(TRACKED_LIST)));

	if (p && span_is_any(word_text(c, 0), "cd pushd echo sleep mkdir date clear"))
		shell_report(sh, FINDING_NOT_EXPORTED, p->set.at, "S2",
			     "put it before the program that needs it, or export it",
			     "%s holds for %.*s alone", SHOW(p->name, p->set.value),
			     (int)word_text(c, 0).length, word_text(c, 0).text);
}

/* python FILE, but not a module, which may be a launcher. */
static bool command_is_python(const struct command *c, size_t i)
{
	struct span s = word_text(c, i);

	if (!is_python(s))
		return is_python_file(s);
	while (++i < c->count && word_text(c, i).length && *word_text(c, i).text == '-')
		if (span_is(word_text(c, i), "-m"))
			return false;
	return i < c->count;
}

/* Reports a variable that is set but not exported, so that the program does not get it. */
static void report_not_exported(struct shell *sh, const struct run *run)
{
	for (int i = 0; i < TRACKED_COUNT; i++) {
		struct shell_var *var = &sh->vars[i];
		struct setting now = shell_setting(sh, var);
		bool read = i == TRACKED_LIST ? run->c->reads_list : var->referenced;

		/* Launchers set the variables of ranks themselves. */
		if (i >= TRACKED_PORT && !command_is_python(run->c, run->first))
			continue;

		if (now.state != SET_VALUE || now.reported || read ||
		    command_prefix(run->c, var->name) ||
		    (now.exported != EXPORT_INHERITED && now.exported != EXPORT_NO))
			continue;
		var->now.reported = true;
		shell_report(sh, FINDING_NOT_EXPORTED, now.at, "S2",
			     "write export before it, or put it before the command on its line",
			     "%s is not exported: %s in line %d does not see it%s",
			     SHOW(var->name, now.value),
			     QUOTE(base_name(word_text(run->c, run->first))),
			     run->c->words[run->first].at.line,
			     now.exported == EXPORT_NO ? "" : " unless the caller has exported it");
	}
}

/* Notes the exported variables as used by the program; a prefix can hide one. */
static void use(struct shell *sh, const struct command *c)
{
	for (int i = 0; i < TRACKED_COUNT; i++) {
		struct shell_var *var = &sh->vars[i];
		const struct prefix *p = command_prefix(c, var->name);

		if (p && is_given(&var->now) && !var->now.used &&
		    !span_same(p->set.value, var->now.value)) {
			if (!var->now.over.line)
				var->now.over = p->set.at;
		} else {
			var->now.used = true;
		}
	}
}

/* Prefixes are assignments for this command only. */
static void check_prefixes(struct shell *sh, const struct run *run)
{
	const struct command *c = run->c;

	for (size_t i = 0; i < c->prefix_count; i++) {
		const struct prefix *p = &c->prefixes[i];

		if (span_is(p->name, tracked_name(TRACKED_LIST)))
			shell_check_list(sh, p->set.value, p->set.at);
		else if (span_is(p->name, tracked_name(TRACKED_ORDER)))
			shell_check_order(sh, p->set.value, p->set.at);
		/* One that is invented may be the script's own. */
		if (misspelt_variable(p->name) ||
		    (unread_variable(p->name) && !p->argument && run->first < c->count &&
		     is_gpu_program(c, run->first)))
			shell_report_unread(sh, p->name, p->set.at);
	}
}

static bool calls_function(struct shell *sh, struct span name)
{
	if (!sh->functions || !shell_var(sh, name)->function)
		return false;
	sh->called = ++sh->serial;
	for (int i = 0; i < TRACKED_COUNT; i++)
		sh->vars[i].now.used = true;
	return true;
}

/* Programs that start others on other nodes. */
static bool starts_elsewhere(struct span s)
{
	return span_is_any(base_name(s),
			   "ssh pdsh clush pssh parallel parallel-ssh ansible xargs aprun "
			   "jsrun mpirun_rsh pbsdsh");
}

/* Programs after which the folder is another one, or has more files. */
static bool moves(struct span s)
{
	return span_is_any(base_name(s), "cd pushd popd git wget curl tar unzip cp mv ln rsync scp "
					 "tee ssh install");
}

void shell_run(struct shell *sh, struct command *c, bool background)
{
	struct run run = {.c = c, .background = background};

	if (calls_function(sh, word_text(c, 0))) {
		slurm_check_list(sh, &run);
		return;
	}
	shell_join(sh, c);
	shell_unwrap(sh, &run);
	shell_container(sh, &run);
	check_prefixes(sh, &run);
	if (run.first >= c->count)
		return;
	if (is_program(word_text(c, run.first), "sbatch"))
		shell_wrap(sh, &run);
	sh->moved |= moves(word_text(c, run.first));
	if (is_harmless(word_text(c, run.first))) {
		report_wasted(sh, c);
		/* tail -f continues until the user ends it, and the script. */
		sh->watched |= is_program(word_text(c, run.first), "tail");
		if (is_program(word_text(c, run.first), "tail") && !background)
			jobs_may_have_ended(sh);
		return;
	}
	sh->remote |= starts_elsewhere(word_text(c, run.first));
	if (!is_program(word_text(c, run.first), "srun") && !run.foreign)
		slurm_check_list(sh, &run);
	if (!is_gpu_program(c, run.first) || run.foreign) {
		use(sh, c);
		shell_string(sh, &run, run.first);
		return;
	}
	sh->program = ++sh->serial;
	if (!run.cleared)
		report_not_exported(sh, &run);
	use(sh, c);
	shell_program(sh, &run);
}
